"""`tablectl import`: the serial logs of other tools to one native recording."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

import click

from tablectl.errors import ProfileError, TablectlError, UsageError
from tablectl.houses.rules import load
from tablectl.instants import from_micros
from tablectl.recording.chunks import Chunk, checked_port
from tablectl.recording.importers import IMPORTERS, open_log
from tablectl.recording.logs import Log
from tablectl.recording.native import NO_TIMES, Writer
from tablectl.recording.player import merge
from tablectl.resources import named_files

__all__ = ["import_"]

EXAMPLES = """\b
Examples:
  tablectl import shoe.log -o shoe.rec --profile bee-tek --house fr
  tablectl import shoe=fr-shoe.log pad=fr-pad.log -o day.rec --zone Europe/Paris
  tablectl import scan.txt -o - --pattern '(?P<at>\\S+) (?P<data>.*)'
"""


@click.command("import", epilog=EXAMPLES)
@click.argument("files", nargs=-1, required=True, metavar="[PORT=]FILE...")
@click.option("-o", "--out", required=True, metavar="OUT", help="Where to write the recording; - is stdout.")
@click.option("--format", metavar="FORMAT", help=f"The logs' format, else guessed: {', '.join(IMPORTERS)}.")
@click.option("--port", default="shoe", show_default=True, metavar="PORT", help="The port of a FILE that has none before it.")
@click.option("--profile", "profiles", multiple=True, metavar="[PORT=]PROFILE", help="The firmware profile that decodes a port.")
@click.option("--house", metavar="HOUSE", help="The house that the table plays by: fr, es, lt, or a TOML file.")
@click.option("--table", metavar="NAME", help="The table's name, for the recording's header.")
@click.option("--start", metavar="TIME", help="When a log without a date (or any time) begins, such as 2026-11-30T05:57:42.")
@click.option("--zone", metavar="ZONE", help="The zone of times that carry none: Europe/Paris, +01:00; UTC if not given.")
@click.option("--fd", type=click.IntRange(0), metavar="N", help="The port's file descriptor in a log of strace.")
@click.option(
    "--pattern", metavar="RE", help="Read stamped text: a regular expression with groups at, data or hex, port, direction."
)
@click.option("--swap", is_flag=True, help="Exchange from the device and to the device.")
@click.option("--lossy-ok", is_flag=True, help="Accept the log of a tool that loses bytes.")
@click.option("--json", "as_json", is_flag=True, help="Say on stdout, as JSON, what was imported.")
def import_(
    files: tuple[str, ...],
    out: str,
    format: str | None,
    port: str,
    profiles: tuple[str, ...],
    house: str | None,
    table: str | None,
    start: str | None,
    zone: str | None,
    fd: int | None,
    pattern: str | None,
    swap: bool,
    lossy_ok: bool,
    as_json: bool,
) -> int:
    """Turn other tools' serial logs into one native recording.

    Several logs are merged by time; a native recording may be one of them. Which tool wrote a log is told by its content. Lines
    that cannot be read are told and passed over. OUT is replaced at the end, when everything was read.

    Exit code 1 when a line could not be read.
    """
    if as_json and out == "-":
        raise UsageError("stdout cannot take the recording and --json; name a file", field="--out")
    named = [_split(name, port) for name in files]
    logs = [
        open_log(path, format, port=of, start=start, zone=zone, fd=fd, pattern=pattern, lossy_ok=lossy_ok, swap=swap)
        for of, path in named
    ]
    if fd is not None and all(log.format != "strace" for log in logs):
        raise UsageError("there is no log of strace among the files", field="--fd")
    header = _carried(logs)
    header |= {key: value for key, value in (("table", table), ("house", house), ("zone", zone)) if value}
    if house is not None:
        load(house)
    header |= _profiles(profiles, sorted({of for of, _ in named}))
    header |= {f"source.{number}": _source(log) for number, log in enumerate(logs, start=1)}

    tally = _Tally()
    chunks = merge(*logs)
    first = next(chunks, None)
    if first is not None and first.at is None:
        header |= NO_TIMES
    with _target(out, logs) as file:
        writer = Writer(file, header)
        for chunk in chain([] if first is None else [first], chunks):
            writer.write(chunk)
            tally.add(chunk)
    for warning in (warning for log in logs for warning in log.warnings):
        click.echo(f"tablectl: {_printable(warning)}", err=True)
    if as_json:
        click.echo(json.dumps({"out": out, "logs": [_described(log) for log in logs], **tally.summary()}))
    else:
        click.echo(f"tablectl: {tally}", err=True)
    return 1 if any(log.damaged for log in logs) else 0


class _Tally:
    """What went into the recording."""

    def __init__(self) -> None:
        self.chunks = 0
        self.bytes: Counter[tuple[str, str]] = Counter()
        self.first: int | None = None
        self.last: int | None = None

    def add(self, chunk: Chunk) -> None:
        self.chunks += 1
        self.bytes[chunk.port, chunk.direction] += len(chunk.data)
        if chunk.at is not None:
            self.first = chunk.at if self.first is None else min(self.first, chunk.at)
            self.last = chunk.at if self.last is None else max(self.last, chunk.at)

    def summary(self) -> dict[str, object]:
        ports = sorted({port for port, _ in self.bytes})
        return {
            "chunks": self.chunks,
            "bytes": {port: {"from": self.bytes[port, "<"], "to": self.bytes[port, ">"]} for port in ports},
            "first": None if self.first is None else from_micros(self.first),
            "last": None if self.last is None else from_micros(self.last),
        }

    def __str__(self) -> str:
        ways = {"<": "from", ">": "to"}
        counts = ", ".join(f"{count} bytes {ways[way]} {port}" for (port, way), count in sorted(self.bytes.items()))
        if self.first is None or self.last is None:
            return f"{counts or 'no traffic'}, without times"
        return f"{counts}, {from_micros(self.first)} to {from_micros(self.last)}"


def _split(name: str, port: str) -> tuple[str, Path]:
    """`PORT=FILE` or `FILE`; a file that exists under the whole name is that file."""
    before, equals, after = name.partition("=")
    if not equals or os.path.lexists(name) or "/" in before:
        return port, Path(name)
    return checked_port(before), Path(after)


def _profiles(given: tuple[str, ...], ports: list[str]) -> dict[str, str]:
    """The header's lines for `PORT=PROFILE`, or `PROFILE` where there is but one port."""
    found: dict[str, str] = {}
    known = named_files("firmware_profiles")
    for text in given:
        port, equals, name = text.partition("=")
        if not equals:
            if len(ports) > 1:
                raise UsageError(f"of which port is {text!r}? Write {ports[0]}={text}", field="--profile")
            port, name = ports[0], text
        if name not in known and not Path(name).is_file():
            raise ProfileError(f"no such profile; known are {', '.join(known)}, or give the path of a TOML file", where=name)
        found[f"profile.{checked_port(port)}"] = name
    return found


def _carried(logs: list[Log]) -> dict[str, str]:
    """What native recordings among the logs say of themselves; where two disagree, the first counts."""
    header: dict[str, str] = {}
    for log in logs:
        for key, value in log.header.items():
            if key in ("table", "house", "zone") or key.startswith("profile."):
                header.setdefault(key, value)
    return header


def _source(log: Log) -> str:
    where = "" if log.format == "native" else f"{log.port} "
    return _printable(f"{where}{log.path.name} ({log.format})")


def _described(log: Log) -> dict[str, object]:
    return {
        "file": str(log.path),
        "format": log.format,
        "port": None if log.format == "native" else log.port,
        "warnings": log.warnings,
        "bad_lines": log.damaged,
    }


@contextmanager
def _target(out: str, logs: list[Log]) -> Iterator[IO[bytes]]:
    """Where the recording goes: stdout, a device or pipe, or a file that appears under its name only when it is whole."""
    if out == "-":
        yield sys.stdout.buffer
        return
    path = Path(out)
    if any(path.exists() and path.samefile(log.path) for log in logs):
        raise UsageError("would be written over a log that is being read", where=out, field="--out")
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        partial = path.with_name(f"{path.name}.part")
        try:
            with partial.open("wb") as file:
                yield file
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise TablectlError(f"cannot be written: {error.strerror or error}", where=out) from None


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
