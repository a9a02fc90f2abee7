"""The game folded again from a ledger: what was seen gives what was said, to the byte.

A table that was stopped, or killed, goes on from here, and an inspector sees here that nothing was said which the observations do
not give. The entries are read in order; the notices are made anew and held against those that stand there. A pin that comes later
than the first changes who may rule, and the language, from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from tablectl.errors import ConfigError, InputError, LedgerError
from tablectl.game.carried import take_over
from tablectl.game.table import Table
from tablectl.houses.rules import House
from tablectl.ledger import pin as pins
from tablectl.ledger.pin import Pin
from tablectl.ledger.reader import Entry, Reader
from tablectl.notices import Notice, encode
from tablectl.observations import Observation, decode
from tablectl.texts import Texts

__all__ = ["Folding", "Watch", "all_entries", "apply_pin", "refold", "table_of"]

_PAGE = 2000

Watch = Callable[[Observation], Callable[[tuple[Notice, ...], list[bytes]], object]]
"""Hears an observation before the table takes it in; what it gives hears the notices that follow, and their bytes."""


def table_of(pin: Pin, house: House) -> Table:
    """The table with which a ledger of this first pin begins. Raises `ValueError` when what it takes over cannot be read."""
    table = Table(house, language=pin.language, supervisors=frozenset(pin.supervisors) or None)
    if pin.carried is not None:
        take_over(table, pin.carried.encode())
    return table


def apply_pin(table: Table, pin: Pin) -> None:
    """What a further pin changes for the game: who may rule, and the language."""
    table.supervisors = frozenset(pin.supervisors) or None
    table.texts = Texts.of(pin.language)


class Folding:
    """Entries taken in one by one. `observations` counts those folded, `last` is the number of the last entry.

    Where another kind of entry stands between an observation and its notices, or a notice is another than the observation gives,
    `take` raises `LedgerError` that names the entry.
    """

    def __init__(self, table: Table, *, where: str, watch: Watch | None = None) -> None:
        self.table = table
        self.observations = 0
        self.last = 0
        self._where = where
        self._watch = watch
        self._due: list[bytes] = []
        self._cause = 0

    def take(self, entry: Entry) -> None:
        """Take in the next entry."""
        self.last = entry.seq
        if entry.kind == "notice":
            if not self._due:
                raise self._fault(entry.seq, "a notice that no observation gives")
            due = self._due.pop()
            if due != entry.body:
                raise self._fault(
                    entry.seq, f"the notice is another than observation {self._cause} gives: {_differ(due, entry.body)}"
                )
            return
        self.finish(entry.seq)
        if entry.kind == "observation":
            try:
                observation = decode(entry.body)
            except InputError as error:
                raise self._fault(entry.seq, f"cannot be read as an observation: {error.message}") from None
            self._cause = entry.seq
            heard = self._watch(observation) if self._watch is not None else None
            notices = self.table.feed(observation)
            lines = [encode(notice) for notice in notices]
            if heard is not None:
                heard(notices, lines)
            self._due = lines[::-1]
            self.observations += 1
        elif entry.kind == "pin" and entry.seq > 1:
            try:
                apply_pin(self.table, pins.decode(entry.body))
            except (msgspec.DecodeError, ConfigError) as error:
                raise self._fault(entry.seq, f"cannot be read as a pin: {error}") from None

    def finish(self, seq: int | None = None) -> None:
        """See that all notices of the last observation stood there; `seq` is the entry that stands in their place."""
        if self._due:
            raise self._fault(self.last + 1 if seq is None else seq, f"a notice is missing that observation {self._cause} gives")

    def _fault(self, seq: int, message: str) -> LedgerError:
        return LedgerError(f"entry {seq}: {message}", where=self._where)


def all_entries(reader: Reader, after: int = 0) -> Iterator[Entry]:
    """All entries of a ledger that follow number `after`, a page at a time. Raises `LedgerError`."""
    while page := reader.entries(after, _PAGE):
        yield from page
        after = page[-1].seq


def refold(
    reader: Reader,
    table: Table,
    *,
    other: Callable[[Entry], object] | None = None,
    watch: Watch | None = None,
) -> Folding:
    """Bring a fresh `table` to where the ledger ends.

    `watch` hears each observation with its notices, `other` each entry that is neither. Raises `LedgerError` at the first entry
    that is not what this program, with these rules, makes of those before it.
    """
    folding = Folding(table, where=str(reader.path), watch=watch)
    for entry in all_entries(reader):
        folding.take(entry)
        if other is not None and entry.kind not in ("observation", "notice"):
            other(entry)
    folding.finish()
    return folding


def _differ(due: bytes, found: bytes) -> str:
    """The first place in which two notices differ, for a person."""
    at = next((index for index, (one, two) in enumerate(zip(due, found, strict=False)) if one != two), min(len(due), len(found)))
    part = slice(max(0, at - 30), at + 30)
    wanted, there = (body[part].decode(errors="replace") for body in (due, found))
    return f"{wanted!a} is due, {there!a} stands there"
