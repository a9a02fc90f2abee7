"""`tablectl play`: the rules alone. Observations in, notices out; no device, no broker."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from stat import S_ISREG
from typing import TextIO

import click

from tablectl.cli.feeding import Feeding
from tablectl.cli.lines import Lines
from tablectl.game.table import Table
from tablectl.houses.rules import load
from tablectl.texts import languages

__all__ = ["play", "to_stdout"]


@click.command(epilog="\b\nExample:\n  tablectl play --house fr round.jsonl | grep outcome")
@click.option("--house", required=True, metavar="HOUSE", help="The house's name (fr, es, lt), or the path of its TOML file.")
@click.option("--lang", type=click.Choice(languages()), help="The language of prompts and alerts.  [default: the house's]")
@click.option(
    "--supervisor", "supervisors", multiple=True, metavar="NAME", help="Who may rule; again for each.  [default: anybody]"
)
@click.argument("file", default="-", metavar="[FILE]")
def play(house: str, lang: str | None, supervisors: tuple[str, ...], file: str) -> int:
    """Play observations by a house's rules.

    Reads JSON lines from FILE (`-` or nothing: stdin) and prints notices as JSON lines. Blank lines and lines that begin with
    # are passed over. A bad line is told with its number and field, and the next one is read. Alerts of severity warning and
    critical are told on stderr as well, with the line that raised them.

    Exit code 1 when a line was bad, else 3 when there was a critical alert.
    """
    table = Table(load(house).house, language=lang, supervisors=frozenset(supervisors) or None)
    feeding = Feeding(table, write=to_stdout(at_once=file == "-" and not is_file(sys.stdin)))
    lines = Lines(file)
    for where, observation in lines:
        feeding.feed(observation, where=where)
    return lines.exit_code or feeding.exit_code


def to_stdout(*, at_once: bool) -> Callable[[bytes], object] | None:
    """Where notices are printed, `at_once` where somebody waits for each; None when there is no stdout."""
    if sys.stdout is None:
        return None
    out = sys.stdout.buffer

    def write_through(line: bytes) -> None:
        out.write(line)
        out.flush()

    return write_through if at_once else out.write


def is_file(stream: TextIO | None) -> bool:
    """Whether a stream comes from a file; else somebody at its other end may wait for each answer."""
    try:
        return stream is not None and S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False
