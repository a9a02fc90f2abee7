"""Writing the ledger: what was seen, and what was said of it, in the order in which it happened.

Entries are numbered from 1 without a gap. The first is the pin (`tablectl.ledger.pin`); then each observation is followed by the
notices it caused, all as the exact bytes that were encoded. An entry waits in memory until `commit`, and the file is locked only
while a batch is written, so that the publisher's cursor and a long replay do not hinder each other. A batch that could not be
written (a full disk) waits on and is tried again at the next `commit`.

Beside the entries the file keeps the latest pin, `state`, `prompt` and `status`, written with the entries they came with:
what MQTT retains, and has to be told again when the broker has forgotten it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from tablectl.errors import LedgerError
from tablectl.ledger import pin as pins
from tablectl.ledger import schema
from tablectl.ledger.lock import WriterLock
from tablectl.ledger.pin import Pin

__all__ = ["Ledger"]


class _Named(msgspec.Struct, frozen=True):
    notice: str


_name_of = msgspec.json.Decoder(_Named).decode
_RETAINED = frozenset({"prompt", "status"})

Kind = Literal["pin", "observation", "notice"]
_ADD = "INSERT INTO entries VALUES (?, ?, ?)"
_KEEP = "INSERT INTO latest VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, body = excluded.body"


class Ledger:
    """The one writer of a ledger file; it belongs to the thread that made it. Use `create` or `resume`.

    `session` begins the ids of its messages; `last` is the number of the last entry, committed or not; `pin` the pin in force.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: WriterLock, pin: Pin, session: str, last: int):
        self.path = path
        self.pin = pin
        self.session = session
        self.last = last
        self._connection = connection
        self._lock = lock
        self._waiting: list[tuple[int, Kind, bytes]] = []
        self._latest: dict[str, tuple[int, bytes]] = {}

    @classmethod
    def create(cls, path: Path, pin: Pin) -> Self:
        """Begin a ledger in a file that does not exist yet, or is empty.

        Raises `LedgerError` when the file exists, cannot be made, or is being written.
        """
        with schema.faults(path):
            if path.exists() and path.stat().st_size:
                raise LedgerError("exists already; a ledger is never written over", where=str(path))
            lock = WriterLock(path)
            made = False
            try:
                with suppress(FileExistsError):
                    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
                    made = True
                connection = schema.connect(path, durable=True)
                try:
                    body = pins.encode(pin)
                    schema.lay_out(connection, body)
                except BaseException:
                    connection.close()
                    raise
            except BaseException:
                if made:
                    path.unlink(missing_ok=True)
                lock.release()
                raise
        return cls(path, connection, lock, pin, pins.session(body), 1)

    @classmethod
    def resume(cls, path: Path, pin: Pin | None = None) -> Self:
        """Go on with a ledger.

        Raises `LedgerError` when it cannot be opened, is damaged, is being written by another program, or (where `pin` is given)
        is of another table or house. Other software, profiles or sources than before are pinned by a further entry, which waits
        for the first commit.
        """
        with schema.faults(path):
            if not path.is_file():
                raise LedgerError("there is no such ledger", where=str(path))
            lock = WriterLock(path)
            try:
                connection = schema.connect(path, durable=True)
                try:
                    first = schema.check(connection, path)
                    last: int = connection.execute("SELECT max(seq) FROM entries").fetchone()[0]
                    before = pins.decode(connection.execute("SELECT body FROM latest WHERE name = 'pin'").fetchone()[0])
                    if pin is not None:
                        _same_game(before, pin, path)
                except (msgspec.DecodeError, TypeError) as error:
                    connection.close()
                    raise LedgerError("is damaged: its pin cannot be read", where=str(path)) from error
                except BaseException:
                    connection.close()
                    raise
            except BaseException:
                lock.release()
                raise
        ledger = cls(path, connection, lock, before, pins.session(first), last)
        if pin is not None and msgspec.structs.replace(pin, opened=before.opened) != before:
            ledger.pin = pin
            body = pins.encode(pin)
            ledger._latest["pin"] = (ledger._add("pin", body), body)
        return ledger

    def append(self, observation: bytes, notices: Sequence[bytes] = (), state: bytes | None = None) -> int:
        """Add an observation, the notices it caused, and the whole table as it is then. Gives the observation's number.

        Nothing is written before `commit`. Raises `msgspec.DecodeError`, and adds nothing, for a notice that is none.
        """
        names = [_name_of(body).notice for body in notices]
        first = self._add("observation", observation)
        for name, body in zip(names, notices, strict=True):
            seq = self._add("notice", body)
            if name in _RETAINED:
                self._latest[name] = (seq, body)
        if state is not None:
            self._latest["state"] = (self.last, state)
        return first

    def _add(self, kind: Kind, body: bytes) -> int:
        self.last += 1
        self._waiting.append((self.last, kind, body))
        return self.last

    @property
    def waiting(self) -> int:
        """How many entries wait for `commit`."""
        return len(self._waiting)

    def commit(self) -> int:
        """Write what waits, to the disk, and give the number of the last entry: from now on it exists.

        Raises `LedgerError` when it cannot be written; then none of it is, and all of it waits on.
        """
        if self._waiting:
            connection = self._connection
            with schema.faults(self.path):
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    # Interrupted after the last COMMIT, before we had noted it: what is written is not written again.
                    written: int = connection.execute("SELECT max(seq) FROM entries").fetchone()[0]
                    connection.executemany(_ADD, [entry for entry in self._waiting if entry[0] > written])
                    connection.executemany(_KEEP, [(name, seq, body) for name, (seq, body) in self._latest.items()])
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        with suppress(sqlite3.Error):  # the first fault is the one to tell
                            connection.execute("ROLLBACK")
                    raise
            self._waiting.clear()
            self._latest.clear()
        return self.last

    def close(self) -> None:
        """Commit what waits and let go of the file. Raises `LedgerError` as `commit` does; the file is let go of all the same."""
        try:
            self.commit()
        finally:
            self._connection.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Commit also when something went wrong: what was seen was seen."""
        self.close()


def _same_game(before: Pin, now: Pin, path: Path) -> None:
    """See that the table and the house are those of the ledger. Raises `LedgerError`."""
    if now.table != before.table:
        raise LedgerError(f"is the record of table {before.table}, not of {now.table}", where=str(path))
    if now.house != before.house:
        rules = f"other rules ({before.house.name})" if now.house.name == before.house.name else f"the house {before.house.name}"
        raise LedgerError(
            f"was begun under {rules}, not under {now.house.name} as it is now: begin a new ledger", where=str(path)
        )
