"""`tablectl stats`: the figures of a ledger, by round, shoe, shift or day."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from tablectl.cli.telling import money
from tablectl.errors import LedgerError, UsageError
from tablectl.ledger import pin as pins
from tablectl.ledger.answers import decimal
from tablectl.ledger.figures import PERIODS, By, Figures, Fold, Group, Period, groups
from tablectl.ledger.pin import Pin
from tablectl.ledger.prometheus import Meter
from tablectl.ledger.reader import Entry, Reader
from tablectl.recording.stamps import base_of

__all__ = ["COLUMNS", "stats"]

PAGE = 1000
"""Entries read at once."""

COLUMNS = ["table", "house", "by", "period", *Figures().row()]
"""The columns of CSV and the keys of JSON, in their order."""

HEADS = (
    "period from rounds hands cards rounds/h hands/h staked returned carried house_win "
    "crit warn /100 ruled median max waiting stood"
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Head(NamedTuple):
    """What all periods of a ledger share."""

    pin: Pin
    by: By
    zone: tzinfo


@click.command(
    epilog="\b\nExample:\n"
    "  tablectl stats day.ledger\n"
    "  tablectl stats day.ledger --by round --csv > rounds.csv\n"
    "  tablectl stats day.ledger --zone Europe/Vilnius --json"
)
@click.argument("ledger", metavar="LEDGER")
@click.option("--by", type=click.Choice(PERIODS), default="day", show_default=True, help="What the figures are given for.")
@click.option("--zone", metavar="ZONE", help="Whose days: Europe/Paris, +02:00.  [default: UTC]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line for each period.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values, with a line of names.")
@click.option("--prometheus", is_flag=True, help="The whole ledger, in Prometheus's text format.")
def stats(ledger: str, by: By, zone: str | None, as_json: bool, as_csv: bool, prometheus: bool) -> None:
    """Figures of a table: rounds and hands an hour, money, errors by code, seconds to a ruling, time the game stood.

    LEDGER is only read, and may be written to meanwhile. A shift is from the table's opening to its closing. Periods in which
    nothing was played and nothing went wrong are left out.
    """
    if as_json + as_csv + prometheus > 1:
        raise UsageError("give one of --json, --csv and --prometheus")
    head_zone = base_of(None, zone).zone or UTC
    with Reader(Path(ledger)) as reader:
        head = _Head(_pin(reader), by, head_zone)
        stream = groups(_entries(reader), ledger)
        if prometheus:
            meter = Meter(head.pin.table)
            for observation, notices in stream:
                meter.take(observation, notices)
            click.echo(meter.render(), nl=False)
        elif as_json:
            for period in _periods(stream, Fold(by, head_zone)):
                click.echo(json.dumps(_row(period, head), ensure_ascii=False))
        elif as_csv:
            _print_csv(_periods(stream, Fold(by, head_zone)), head)
        else:
            _show(stream, head)


def _pin(reader: Reader) -> Pin:
    entry = reader.latest("pin")
    try:
        if entry is not None:
            return pins.decode(entry.body)
    except (msgspec.DecodeError, TypeError):
        pass
    raise LedgerError("is damaged: its pin cannot be read", where=str(reader.path))


def _entries(reader: Reader) -> Iterator[Entry]:
    """All entries that are there now, some at a time: a table that plays on does not keep us here."""
    after, last = 0, reader.last()
    while after < last:
        page = reader.entries(after, min(PAGE, last - after))
        yield from page
        after = page[-1].seq


def _periods(stream: Iterable[Group], fold: Fold, total: Fold | None = None) -> Iterator[Period]:
    """Each period when it is over, and the last one as far as it has come. `total` counts along."""
    for observation, notices in stream:
        ended = fold.take(observation, notices)
        if ended is not None:
            yield ended
        if total is not None:
            total.take(observation, notices)
    last = fold.finish()
    if last is not None:
        yield last


def _row(period: Period, head: _Head) -> dict[str, object]:
    pin = head.pin
    return {"table": str(pin.table), "house": pin.house.name, "by": head.by, "period": period.name, **period.figures.row()}


def _print_csv(periods: Iterable[Period], head: _Head) -> None:
    """RFC 4180: lines end with CR LF, what is unknown is empty."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\r\n")
    rows = ([_plain(value) for value in _row(period, head).values()] for period in periods)
    for row in chain[list[object]]([[*COLUMNS]], rows):
        writer.writerow(row)
        click.echo(line.getvalue().encode(), nl=False)  # bytes, so that no system makes other line ends of it
        line.seek(0)
        line.truncate()


def _plain(value: object) -> object:
    """A value for one field of CSV: the codes become `code=count`, with blanks between."""
    return " ".join(f"{code}={count}" for code, count in value.items()) if isinstance(value, dict) else value


# For people


def _cells(period: Period, zone: tzinfo) -> list[str]:
    figures = period.figures
    row = figures.row()
    amounts = [money(amount) for amount in (figures.staked, figures.returned, figures.carried, figures.house_win)]
    answers = figures.answers
    return [
        period.name or "undated",
        _clock(figures.first, zone),
        *(str(count) for count in (figures.rounds, figures.hands, figures.cards)),
        *(str(row[name] or "-") for name in ("rounds_per_hour", "hands_per_hour")),
        *amounts,
        str(figures.alerts("critical")),
        str(figures.alerts("warning")),
        figures.errors_per_100_rounds or "-",
        str(answers.count),
        *("-" if micros is None else decimal(micros * 10, 1_000_000, 1) for micros in (answers.median, answers.largest)),
        str(figures.waiting),
        decimal(figures.stood * 10, 1_000_000, 1),
    ]


def _clock(micros: int | None, zone: tzinfo) -> str:
    if micros is None:
        return "-"
    return (_EPOCH + timedelta(microseconds=micros)).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")


def _show(stream: Iterable[Group], head: _Head) -> None:
    """The table, and below it every code with its number."""
    total = Fold("all", head.zone)
    rows = [_cells(period, head.zone) for period in _periods(stream, Fold(head.by, head.zone), total)]
    whole = total.current()
    if len(rows) > 1:
        rows.append(_cells(whole, head.zone))
    heads = [name.replace("_", " ") for name in HEADS.split()]
    title = f"{head.pin.table}, house {head.pin.house.name}, by {head.by}; seconds from alert to ruling, seconds the game stood"
    if not rows:
        click.echo(f"{head.pin.table}: nothing was played yet")
        return
    if sys.stdout.isatty():
        _show_tables(title, heads, rows)
    else:
        widths = [max(len(line[column]) for line in (heads, *rows)) for column in range(len(heads))]
        click.echo(title)
        for line in (heads, *rows):
            cells = enumerate(zip(line, widths, strict=True))
            click.echo("  ".join(cell.ljust(width) if at < 2 else cell.rjust(width) for at, (cell, width) in cells).rstrip())
    for (severity, code), count in sorted(whole.figures.codes.items()):
        click.echo(f"{severity:<8} {code:<32} {count}")


def _show_tables(title: str, heads: list[str], rows: list[list[str]]) -> None:
    """Three tables, since one would be too wide for a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(title))
    for columns in ((0, *range(1, 7)), (0, *range(7, 11)), (0, *range(11, len(heads)))):
        table = Table(box=box.SIMPLE_HEAD)
        for at in columns:
            table.add_column(heads[at], overflow="fold", justify="left" if at < 2 else "right")
        for row in rows:
            table.add_row(*(Text(row[at]) for at in columns))
        console.print(table)
