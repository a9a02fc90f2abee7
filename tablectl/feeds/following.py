"""Following a table's ledgers: all that is committed, from one day's file to the next, from a place that is kept in a file."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tablectl.errors import InputError, LedgerError
from tablectl.ledger.export.selecting import PAGE, Selected, Walk
from tablectl.ledger.export.writing import whole_file
from tablectl.ledger.reader import Reader

__all__ = ["Follower", "Place", "keep", "kept"]

_DAY: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:\.(\d{1,4}))?\.db", re.ASCII)


class Place(msgspec.Struct, frozen=True):
    """How far a feed was understood: the ledger, by its session, and the entry up to which all was told."""

    session: str
    entry: int


def kept(path: Path) -> Place | None:
    """The place that a file keeps; None where there is no file. Raises `InputError` for one that is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Place)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is no place of a feed: {error}", where=str(path)) from None


def keep(path: Path, place: Place) -> None:
    """Keep a place. Raises `InputError` when it cannot be written; then what stood there stands."""
    with whole_file(path) as file:
        file.write(msgspec.json.encode(place) + b"\n")


class Follower:
    """The entries of a ledger, or of a folder's ledgers one day after the other, as they are committed.

    `place` is where to go on; where its ledger is no more (`missed`), with the oldest that there is. Without one it is what
    happened from `since` on (microseconds since 1970 UTC); without either, with `new` what comes from now on, else all there is.
    A folder may be empty still. Raises `LedgerError` when a ledger cannot be read.
    """

    def __init__(self, source: Path, place: Place | None = None, *, since: int | None = None, new: bool = False) -> None:
        self.missed = False
        self._source = source
        self._reader: Reader | None = None
        self._walk: Walk | None = None
        self._path: Path | None = None
        self._seq = self._told = 0
        self._since = since if place is None else None
        ledgers = self._ledgers()
        if not source.is_dir() and not ledgers:
            raise LedgerError("there is no such ledger", where=str(source))
        if place is not None:
            self._find(ledgers, place)
        elif ledgers and since is None and new:
            self._told = self._open(ledgers[-1]).last()
        elif ledgers:
            self._open(ledgers[0])

    def _ledgers(self) -> list[Path]:
        """The ledgers that there are, the oldest first."""
        if not self._source.is_dir():
            return [self._source] if self._source.is_file() else []
        days = [(found[1], int(found[2] or 1), path) for path in self._source.iterdir() if (found := _DAY.fullmatch(path.name))]
        return [path for *_, path in sorted(days)]

    def _find(self, ledgers: list[Path], place: Place) -> None:
        for path in reversed(ledgers):
            reader = self._open(path)
            if reader.session == place.session and reader.last() >= place.entry:  # else an older copy was put back
                self._told = place.entry
                return
        self.missed = bool(ledgers)
        if ledgers:
            self._open(ledgers[0])

    def _open(self, path: Path) -> Reader:
        self.close()
        self._reader = Reader(path)
        self._walk = Walk(self._reader)
        self._path = path
        self._seq = self._told = 0
        return self._reader

    def take(self) -> list[Selected]:
        """What is new, at most some of it; empty where nothing is, for now."""
        while True:
            if self._reader is None or self._walk is None:
                ledgers = self._ledgers()
                if not ledgers:
                    return []
                self._open(ledgers[0])
                continue
            later = self._later()  # looked for first: what a ledger was closed with is then in the page
            page = self._reader.entries(self._seq, PAGE)
            if not page:
                if later is None:
                    return []
                self._open(later)
                continue
            if len(page) == PAGE:  # there is more: an observation and its notices stay together
                cut = next((at for at in range(len(page) - 1, 0, -1) if page[at].kind != "notice"), len(page))
                del page[cut:]
            self._seq = page[-1].seq
            chosen = [one for one in self._walk.along(page) if self._wants(one)]
            if chosen:
                return chosen

    def _wants(self, one: Selected) -> bool:
        """Its context is needed from a ledger's first entry on, so all are read, and those that were told before passed over."""
        if self._since is not None and (one.at is None or one.at < self._since):
            return False
        return one.entry.seq > self._told

    def _later(self) -> Path | None:
        if not self._source.is_dir():
            return None
        ledgers = self._ledgers()
        with suppress(ValueError, IndexError):
            return ledgers[ledgers.index(self._path) + 1]  # type: ignore[arg-type]
        return None

    def close(self) -> None:
        """Let go of the ledger."""
        if self._reader is not None:
            self._reader.close()
            self._reader = self._walk = None
