"""The game folded again from a ledger: what was seen gives what was said, to the byte.

A table that was stopped, or killed, goes on from here, and an inspector sees here that nothing was said which the observations do
not give. The entries are read in order; the notices are made anew and held against those that stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tablectl.errors import InputError, LedgerError
from tablectl.game.table import Table
from tablectl.ledger.reader import Entry, Reader
from tablectl.notices import encode
from tablectl.observations import decode

__all__ = ["Fold", "all_entries", "refold"]

_PAGE = 2000


class Fold:
    """Entries taken in one by one. `observations` counts those folded, `last` is the number of the last entry.

    Where another kind of entry stands between an observation and its notices, or a notice is another than the observation gives,
    `take` raises `LedgerError` that names the entry.
    """

    def __init__(self, table: Table, *, where: str) -> None:
        self.table = table
        self.observations = 0
        self.last = 0
        self._where = where
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
            self._due = [encode(notice) for notice in reversed(self.table.feed(observation))]
            self.observations += 1

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


def refold(reader: Reader, table: Table, *, other: Callable[[Entry], object] | None = None) -> Fold:
    """Bring a fresh `table` to where the ledger ends. `other` is called with each entry that is neither observation nor notice.

    Raises `LedgerError` at the first entry that is not what this program, with these rules, makes of those before it.
    """
    fold = Fold(table, where=str(reader.path))
    for entry in all_entries(reader):
        fold.take(entry)
        if other is not None and entry.kind not in ("observation", "notice"):
            other(entry)
    fold.finish()
    return fold


def _differ(due: bytes, found: bytes) -> str:
    """The first place in which two notices differ, for a person."""
    at = next((index for index, (one, two) in enumerate(zip(due, found, strict=False)) if one != two), min(len(due), len(found)))
    part = slice(max(0, at - 30), at + 30)
    wanted, there = (body[part].decode(errors="replace") for body in (due, found))
    return f"{wanted!a} is due, {there!a} stands there"
