"""What of which ledgers is exported: committed entries, some at a time, by table, time and round.

An entry's time is its own `at`, or where it has none (a pin, a key, an observation made by hand) that of the entry before it. An
observation is of the round of the notices that it caused, or of the last round there was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tablectl import notices as said
from tablectl import observations as seen
from tablectl.errors import InputError, LedgerError
from tablectl.instants import to_micros
from tablectl.ledger import pin as pins
from tablectl.ledger.pin import Pin, TableName
from tablectl.ledger.prove import entries_of_round
from tablectl.ledger.reader import Entry, Reader
from tablectl.notices import Notice
from tablectl.observations import Observation

__all__ = ["EVERYTHING", "Choice", "Selected", "Walk", "begun", "select"]

PAGE = 1000
"""Entries read at once: what is exported is never in memory as a whole."""


class Choice(NamedTuple):
    """What is wanted: entries not before `since` and before `until` (microseconds since 1970 UTC), of a table, of some rounds.

    `table` is its name or `SITE/PIT/TABLE`. None, and no rounds, is everything.
    """

    since: int | None = None
    until: int | None = None
    table: str | None = None
    rounds: tuple[int, ...] = ()

    def wants(self, at: int | None) -> bool:
        """Whether a time (None: before any) lies within."""
        if at is None:
            return self.since is None and self.until is None
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


EVERYTHING = Choice()


class Selected(NamedTuple):
    """An entry of a ledger, with what stands around it: its ledger's file, session and pin in force, its time and its round.

    `at` is in microseconds since 1970 UTC, None before the first time; `round` is 0 before the first round.
    """

    where: str
    session: str
    pin: Pin
    entry: Entry
    at: int | None
    round: int

    @property
    def table(self) -> TableName:
        """Whose ledger it is."""
        return self.pin.table

    @property
    def id(self) -> str:
        """The id of the message that this entry is over MQTT."""
        return f"{self.session}-{self.entry.seq}"

    def read(self) -> Notice | Observation | None:
        """What it says; None where it is neither notice nor observation.

        Raises `LedgerError`, naming file and entry, for what this version cannot read.
        """
        try:
            if self.entry.kind == "notice":
                return said.decode(self.entry.body)
            if self.entry.kind == "observation":
                return seen.decode(self.entry.body)
        except (InputError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise LedgerError(f"entry {self.entry.seq} cannot be read: {error}", where=self.where) from None
        return None


class _Head(msgspec.Struct, gc=False):
    at: str | None = None
    round: int | None = None


_NO_HEAD = _Head()
_head_of = msgspec.json.Decoder(_Head).decode


class Walk:
    """Goes along one ledger's entries in their order and tells of each its time, its round and the pin in force.

    `pin` is that of the ledger's first entry. One that follows a ledger as it grows keeps it from one call to the next.
    """

    def __init__(self, reader: Reader) -> None:
        self._where = str(reader.path)
        self._session = reader.session
        self.pin = begun(reader)
        self.at: int | None = None
        self.round = 0

    def along(self, entries: Sequence[Entry]) -> Iterator[Selected]:
        """The entries that follow those of the last call."""
        heads = [_read_head(entry) for entry in entries]
        for place, (entry, head) in enumerate(zip(entries, heads, strict=True)):
            if entry.kind == "pin":
                self.pin = _pin(entry, self._where)
            self.at = _micros(head.at, self.at)
            number = head.round
            if entry.kind == "observation" and place + 1 < len(entries) and entries[place + 1].kind == "notice":
                number = heads[place + 1].round
            self.round = self.round if number is None else number
            yield Selected(self._where, self._session, self.pin, entry, self.at, self.round)


def begun(reader: Reader) -> Pin:
    """The pin of a ledger's first entry. Raises `LedgerError`."""
    return _pin(reader.entries(limit=1)[0], str(reader.path))


def select(ledgers: Sequence[Path], choice: Choice = EVERYTHING) -> Iterator[Selected]:
    """The chosen entries of ledgers, in the order in which these are given; one that is being written, as far as it is.

    All ledgers are looked at before the first entry is given. Raises `LedgerError` when one cannot be read, none has a round that
    is asked for, or none is of that table.
    """
    wanted = [path for path in ledgers if _is_of(path, choice.table)]
    if not wanted:
        raise LedgerError(f"no ledger here is of table {choice.table!r}")
    if choice.rounds:
        yield from _of_rounds(wanted, choice)
        return
    for path in wanted:
        with Reader(path) as reader:
            for one in _walk(reader):
                if choice.wants(one.at):
                    yield one


def _is_of(path: Path, table: str | None) -> bool:
    with Reader(path) as reader:
        name = begun(reader).table
    return table is None or table in (name.table, str(name))


def _of_rounds(ledgers: Sequence[Path], choice: Choice) -> Iterator[Selected]:
    found: dict[Path, set[int]] = {}
    for path in ledgers:
        with Reader(path) as reader:
            for number in choice.rounds:
                try:
                    found.setdefault(path, set()).update(entries_of_round(_entries(reader), number))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise LedgerError(f"has a notice that cannot be read: {error}", where=str(path)) from None
    if not any(found.values()):
        rounds = ", ".join(map(str, choice.rounds))
        raise LedgerError(f"no ledger here has round {rounds}", where=str(ledgers[0]) if len(ledgers) == 1 else None)
    for path, numbers in found.items():
        if not numbers:
            continue
        with Reader(path) as reader:
            for one in _walk(reader, until=max(numbers)):
                if one.entry.seq in numbers and choice.wants(one.at):
                    yield one


def _walk(reader: Reader, until: int | None = None) -> Iterator[Selected]:
    walk = Walk(reader)
    for page in _pages(reader, until):
        yield from walk.along(page)


def _entries(reader: Reader) -> Iterator[Entry]:
    for page in _pages(reader):
        yield from page


def _pages(reader: Reader, until: int | None = None) -> Iterator[list[Entry]]:
    """All entries that are there now: a table that plays on does not keep us here.

    A page ends before an observation, so that its notices are in the same one.
    """
    after, last = 0, reader.last() if until is None else until
    held: list[Entry] = []
    while after < last:
        page = reader.entries(after, min(PAGE, last - after))
        if not page:
            raise LedgerError(f"entry {after + 1} is missing", where=str(reader.path))
        after = page[-1].seq
        held += page
        cut = len(held)
        if after < last:
            cut = next((place for place in range(cut - 1, 0, -1) if held[place].kind != "notice"), cut)
        yield held[:cut]
        del held[:cut]


def _pin(entry: Entry, where: str) -> Pin:
    try:
        return pins.decode(entry.body)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        raise LedgerError(f"is damaged: the pin, entry {entry.seq}, cannot be read", where=where) from None


def _read_head(entry: Entry) -> _Head:
    if entry.kind in ("pin", "key"):
        return _NO_HEAD
    try:
        return _head_of(entry.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NO_HEAD  # whoever has to read it says so


def _micros(at: str | None, before: int | None) -> int | None:
    if at is None:
        return before
    try:
        return to_micros(at)
    except ValueError:
        return before
