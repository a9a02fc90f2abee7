"""The ledgers of the tables as surveillance asks them: a round by its number or by a time, what proves it, alerts and rulings.

A gaming day has a ledger, and a table goes on counting its rounds from one to the next. What a round's number or a time means is
found by an index of each ledger, which is read once and then only as far as the ledger has grown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

import msgspec

from tablectl.display.records import Line, Proof, Record, lines_of
from tablectl.display.view import path_of
from tablectl.errors import LedgerError, TablectlError
from tablectl.instants import to_micros
from tablectl.ledger import pin as pins
from tablectl.ledger.checkpoint import Checkpoint
from tablectl.ledger.pin import Pin, TableName
from tablectl.ledger.prove import entries_of_round, prove
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.signed_note import Note

__all__ = ["Found", "Incident", "Ledgers", "on_record"]

MOST_INCIDENTS: Final = 1000
"""Alerts and rulings of a table that are told at once, the newest."""
_INCIDENTS: Final = ("alert", "ruling", "ack")


class Found(NamedTuple):
    """A round, and the name of the ledger that has it."""

    number: int
    ledger: str


class Incident(msgspec.Struct, frozen=True):
    """An alert, ruling or acknowledgement on record: the table's path, the language of its words, its ledger and its round."""

    table: str
    lang: str
    ledger: str
    round: int
    line: Line


class _Head(msgspec.Struct, frozen=True):
    notice: str = ""
    at: str | None = None
    round: int = 0
    to: msgspec.Raw = msgspec.Raw(b"null")


_head = msgspec.json.Decoder(_Head).decode


class _Index:
    """What stands where in a ledger, as far as it was read: `rounds` are those that were dealt or closed in it."""

    def __init__(self, pin: Pin) -> None:
        self.pin = pin
        self.rounds: set[int] = set()
        self.incidents: list[tuple[int, Line]] = []
        self._after = 0
        self._last = 0
        self._begun: list[tuple[int, int]] = []

    def read_on(self, reader: Reader) -> None:
        """Take in what was written since. Raises `LedgerError`."""
        for entry in _entries(reader, self._after):
            self._after = entry.seq
            if entry.kind == "notice":
                self._notice(entry)
            if any(b'"%b"' % name.encode() in entry.body for name in _INCIDENTS):
                self.incidents += [
                    (self._last, line) for line in lines_of([entry], self.pin.language) if line.event in _INCIDENTS
                ]

    def _notice(self, entry: Entry) -> None:
        head = _head(entry.body)
        if head.notice == "round_closed" or (head.notice == "dealt" and bytes(head.to).startswith(b"{")):
            self.rounds.add(head.round)
        self._last = max(self._last, head.round)
        if head.at is not None and (not self._begun or head.round > self._begun[-1][1]):
            self._begun.append((to_micros(head.at), head.round))

    def round_at(self, at: int) -> int | None:
        """The round that was on, or the last before it; what was burned before the first is told with it. None: nothing yet."""
        index = bisect_right(self._begun, at, key=lambda one: one[0]) - 1
        if index < 0:
            return None
        later = (number for _, number in self._begun[index:] if number)
        return next(later, None)


class Ledgers:
    """The ledgers in a folder and those below it, of whichever tables. Every method reads files: not for the event loop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._indices: dict[Path, _Index] = {}
        self._lock = Lock()

    def of(self, table: TableName) -> list[Path]:
        """A table's ledgers, the newest first. A file that is no ledger is passed over."""
        found = []
        for path in self.folder.rglob("*.db"):
            pin = self._pin(path)
            if pin is not None and pin.table == table:
                found.append((pin.opened or "", path.name, path))
        return [path for *_, path in sorted(found, reverse=True)]

    def tables(self) -> list[TableName]:
        """The tables of which there is a ledger."""
        pins = (self._pin(path) for path in self.folder.rglob("*.db"))
        return sorted({pin.table for pin in pins if pin is not None}, key=str)

    def _pin(self, path: Path) -> Pin | None:
        if path not in self._indices:
            try:
                with Reader(path) as reader:
                    self._indices[path] = _Index(pins.decode(reader.entries(0, 1)[0].body))
            except (TablectlError, msgspec.DecodeError, IndexError):
                return None
        return self._indices[path].pin

    def _read(self, path: Path) -> _Index:
        index = self._indices[path]
        with self._lock, Reader(path) as reader:
            index.read_on(reader)
        return index

    def _with_round(self, table: TableName, number: int, ledger: str | None) -> tuple[Path, set[int]] | None:
        """The newest ledger (or the one of that name) that has the round, and its entries; a round may only have been begun."""
        paths = [path for path in self.of(table) if ledger in (None, path.name)]
        dealt = (path for path in paths if number in self._read(path).rounds)
        path = next(dealt, paths[0] if paths else None)
        if path is None:
            return None
        with Reader(path) as reader:
            numbers = set(entries_of_round(_entries(reader), number))
        return (path, numbers) if numbers else None

    def round(self, table: TableName, number: int, ledger: str | None = None) -> Record | None:
        """The newest round of that number, with its proof; None where no ledger has one. Raises `LedgerError`."""
        found = self._with_round(table, number, ledger)
        if found is None:
            return None
        path, numbers = found
        with Reader(path) as reader:
            entries = [entry for entry in _entries(reader, min(numbers) - 1) if entry.seq in numbers]
        pin = self._indices[path].pin
        lines = tuple(_own(list(lines_of(entries, pin.language))))
        return Record(table, pin.language, pin.house.name, number, lines, _proof(path, numbers))

    def proof(self, table: TableName, number: int, ledger: str | None = None) -> bytes | None:
        """What proves a round to `tablectl audit check-proof`. Raises `LedgerError` where there is no proof yet."""
        found = self._with_round(table, number, ledger)
        return None if found is None else prove(*found)

    def round_at(self, table: TableName, at: str) -> Found | None:
        """The round that was on at a time, or the last before it; None before all ledgers. Raises `LedgerError`."""
        wanted = to_micros(at)
        for path in self.of(table):
            number = self._read(path).round_at(wanted)
            if number is not None:
                return Found(number, self._ledger_of(table, number, path).name)
        return None

    def _ledger_of(self, table: TableName, number: int, path: Path) -> Path:
        """Where the round was dealt: before a day's first round the last one's number is told."""
        earlier = self.of(table)
        return next((one for one in earlier[earlier.index(path) :] if number in self._read(one).rounds), path)

    def incidents(self, table: TableName, since: str = "", until: str = "") -> list[Incident]:
        """The alerts, rulings and acknowledgements from `since` to `until`; the newest last, and of many only the newest.

        Without `since` they are those of the two newest ledgers: of the gaming day and the one before. Raises `LedgerError`.
        """
        found: list[Incident] = []
        for turn, path in enumerate(self.of(table)):
            if turn > 1 and not since:
                break
            index = self._read(path)
            if not until or (index.pin.opened or "")[: len(until)] <= until:
                said = [
                    Incident(path_of(table), index.pin.language, path.name, number, line)
                    for number, line in index.incidents
                    if since <= (line.at or "") and (not until or (line.at or "")[: len(until)] <= until)
                ]
                found = said + found
            if len(found) >= MOST_INCIDENTS or (since and (index.pin.opened or "") <= since):
                break
        return found[-MOST_INCIDENTS:]


def on_record(ledgers: Ledgers, since: str = "", until: str = "") -> bytes:
    """What is on record of all tables, as JSON for the page. A table whose ledgers cannot be read is passed over."""
    found: list[Incident] = []
    for name in ledgers.tables():
        try:
            found += ledgers.incidents(name, since, until)
        except LedgerError:
            continue
    return msgspec.json.encode(found)


def _proof(path: Path, numbers: set[int]) -> Proof:
    first, last = min(numbers), max(numbers)
    with Reader(path) as reader:
        head = reader.latest("checkpoint")
    if head is None or head.seq < last:
        return Proof(path.name, first, last)
    try:
        note = msgspec.json.decode(prove(path, numbers))["checkpoint"]
        size = Checkpoint.parse(Note.parse(note.encode()).text).size
    except LedgerError as error:
        return Proof(path.name, first, last, trouble=error.message)
    return Proof(path.name, first, last, size, note)


def _own(lines: Sequence[Line]) -> list[Line]:
    """Without the stakes that were laid for the next round, when this one was over."""
    over = max((index for index, line in enumerate(lines) if line.event == "round_closed"), default=len(lines))
    return [line for index, line in enumerate(lines) if index < over or line.event != "bet"]


def _entries(reader: Reader, after: int = 0) -> Iterator[Entry]:
    while entries := reader.entries(after):
        yield from entries
        after = entries[-1].seq
