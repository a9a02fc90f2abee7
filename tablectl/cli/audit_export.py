"""`tablectl audit export`: a ledger's entries for other programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from tablectl.cli.main import say
from tablectl.errors import UsageError
from tablectl.instants import to_micros
from tablectl.ledger.export import FORMATS
from tablectl.ledger.export.formats import Format, Options
from tablectl.ledger.export.selecting import Choice, Selected, select
from tablectl.ledger.export.writing import whole_file
from tablectl.texts import languages

__all__ = ["export", "moment"]

_FILE = click.Path(path_type=Path)


def moment(text: str | None, option: str) -> int | None:
    """A time that was given, in microseconds since 1970 UTC. Raises `UsageError`, naming the option."""
    if text is None:
        return None
    try:
        return to_micros(text)
    except ValueError:
        raise UsageError(f"{text!r} is no time with a zone, such as 2026-11-30T20:15:00Z", field=option) from None


@click.command(
    epilog="\b\nExamples:\n"
    "  tablectl audit export day.ledger > day.jsonl\n"
    "  tablectl audit export ledger/*.db --format parquet -o november.parquet\n"
    "  tablectl audit export day.ledger --format webvtt --video-start 2026-11-30T20:00:00.120Z -o cam3.vtt\n"
    "  tablectl audit export day.ledger --round 17 --format csv"
)
@click.argument("ledgers", metavar="LEDGER...", nargs=-1, required=True, type=_FILE)
@click.option("--format", "format_", type=click.Choice(list(FORMATS)), help="What to write.  [default: jsonl]")
@click.option("--json", "as_json", is_flag=True, help="The same as --format jsonl.")
@click.option("--csv", "as_csv", is_flag=True, help="The same as --format csv.")
@click.option("--from", "since", metavar="TIME", help="Nothing that happened before (RFC 3339).")
@click.option("--to", "until", metavar="TIME", help="Nothing that happened then or later.")
@click.option("--table", metavar="NAME", help="Only ledgers of this table: its name, or SITE/PIT/TABLE.")
@click.option("--round", "rounds", multiple=True, type=click.IntRange(min=0), metavar="N", help="All that belongs to a round.")
@click.option("--video-start", metavar="TIME", help="When the video's first picture was taken.  [default: --from, or the first]")
@click.option("--language", type=click.Choice(languages()), help="Say it in this language.  [default: the table's]")
@click.option("--hostname", metavar="NAME", help="syslog: what machine it comes from.")
@click.option("--prefix", metavar="TOPIC", help="onvif: how the topics begin.  [default: SITE/PIT/TABLE]")
@click.option("-o", "--output", metavar="FILE", type=_FILE, help="Where to write it.  [default: stdout]")
def export(
    ledgers: Sequence[Path],
    format_: str | None,
    as_json: bool,
    as_csv: bool,
    since: str | None,
    until: str | None,
    table: str | None,
    rounds: Sequence[int],
    video_start: str | None,
    language: str | None,
    hostname: str | None,
    prefix: str | None,
    output: Path | None,
) -> None:
    """Write the entries of ledgers for other programs; docs/feeds.md describes each format.

    jsonl is the record itself, each body to the byte (one that is no JSON as `base64`); the others are views of it. Ledgers are
    only read, in the order given, and may be written to meanwhile; whether they are what was written, `audit verify` says.

    FILE is there whole or not at all.
    """
    named = {name for name, given in (("jsonl", as_json), ("csv", as_csv)) if given} | ({format_} if format_ else set())
    if len(named) > 1:
        raise UsageError("give one of --format, --json and --csv")
    chosen: Format = FORMATS[named.pop() if named else "jsonl"]
    choice = Choice(moment(since, "--from"), moment(until, "--to"), table, tuple(rounds))
    if choice.since is not None and choice.until is not None and choice.since >= choice.until:
        raise UsageError("--to lies before --from", field="--to")
    start = moment(video_start, "--video-start")
    if start is not None and not chosen.video:
        raise UsageError("is for webvtt and srt", field="--video-start")
    options = Options(start if start is not None else choice.since, language, hostname, prefix=prefix)
    if chosen.binary and output is None and sys.stdout.isatty():
        raise UsageError("is nothing for a terminal: give -o FILE", field="--format")
    selected: Iterable[Selected] = select(ledgers, choice)
    if chosen.video:
        selected = _of_one_table(selected)
    if output is None or str(output) == "-":
        chosen.write(selected, sys.stdout.buffer, options)
        return
    with whole_file(output) as file:
        count = chosen.write(selected, file, options)
    say(f"{output}: {count} {'cues' if chosen.video else 'rows' if chosen.binary else 'lines'}")


def _of_one_table(selected: Iterable[Selected]) -> Iterator[Selected]:
    """Raises `UsageError` when a second table comes: one video shows one."""
    shown = None
    for one in selected:
        if shown is not None and one.table != shown:
            raise UsageError(f"a video shows one table, and these are {shown} and {one.table}", field="--table")
        shown = one.table
        yield one
