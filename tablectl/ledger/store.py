"""Writing the ledger: what was seen, and what was said of it, in the order in which it happened.

Entries are numbered from 1 without a gap. The first is the pin (`tablectl.ledger.pin`); then each observation is followed by the
notices it caused, all as the exact bytes that were encoded. An entry waits in memory until `commit`, and the file is locked only
while a batch is written, so that the publisher's cursor and a long replay do not hinder each other. A batch that could not be
written (a full disk) waits on and is tried again at the next `commit`.

Beside the entries the file keeps the latest pin, `state`, `prompt` and `status`, written with the entries they came with: what
MQTT retains, and has to be told again when the broker has forgotten it; the latest checkpoint; and what else its writer has to
find again (`Ledger.keep`).

Each entry carries its link of the chain (`tablectl.ledger.chain`), and the ledger knows its head: how many entries are committed,
the last one's link, and the root of their Merkle tree. `Ledger.checkpoint` signs it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self

import msgspec

from tablectl.errors import ConfigError, LedgerError
from tablectl.ledger import chain as chains
from tablectl.ledger import pin as pins
from tablectl.ledger import schema
from tablectl.ledger.checkpoint import Checkpoint, origin
from tablectl.ledger.keys import Signer
from tablectl.ledger.lock import WriterLock
from tablectl.ledger.merkle import Frontier
from tablectl.ledger.pin import Pin
from tablectl.ledger.signed_note import Note

__all__ = ["Head", "Ledger"]


class _Named(msgspec.Struct, frozen=True):
    notice: str


_name_of = msgspec.json.Decoder(_Named).decode
_RETAINED = frozenset({"prompt", "status"})

Kind = Literal["pin", "observation", "notice", "command", "key", "evidence"]
_ADD = "INSERT INTO entries VALUES (?, ?, ?, ?)"
_KEEP = """INSERT INTO latest VALUES (?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, body = excluded.body, digest = excluded.digest"""
_OURS = _RETAINED | {"pin", "checkpoint"}


class Head(NamedTuple):
    """A ledger as far as it is committed: how many entries, the last one's link of the chain, and the root of their tree."""

    size: int
    chain: bytes
    root: bytes


class _Added(NamedTuple):
    """An entry that waits for `commit`."""

    seq: int
    kind: Kind
    body: bytes
    chain: bytes
    leaf: bytes


class Ledger:
    """The one writer of a ledger file; it belongs to the thread that made it. Use `create` or `resume`.

    `session` begins the ids of its messages; `last` is the number of the last entry, committed or not; `begun` the pin of its
    first entry, `pin` the one in force; `origin` the first line of its checkpoints.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: WriterLock, found: _Found):
        self.path = path
        self.begun = found.begun
        self.pin = found.pin
        self.session = found.session
        self.origin = origin(found.begun.table, found.session)
        self.last = found.frontier.size
        self._chain = found.chain
        self._committed = (found.frontier, found.chain)
        self._connection = connection
        self._lock = lock
        self._waiting: list[_Added] = []
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
                    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640))
                    made = True
                connection = schema.connect(path, durable=True)
                try:
                    schema.lay_out(connection, pins.encode(pin))
                    found = _found(connection, path)
                except BaseException:
                    connection.close()
                    raise
            except BaseException:
                if made:
                    path.unlink(missing_ok=True)
                lock.release()
                raise
        return cls(path, connection, lock, found)

    @classmethod
    def resume(cls, path: Path, pin: Pin | None = None) -> Self:
        """Go on with a ledger, all of which is read once: every entry has to fit the chain.

        Raises `LedgerError` when it cannot be opened, is damaged (it names the first bad entry), is being written by another
        program, or (where `pin` is given) is of another table or house. Other software, profiles or sources than before are
        pinned by a further entry, which waits for the first commit; what is said of a ledger's beginning is not said again.
        """
        with schema.faults(path):
            if not path.is_file():
                raise LedgerError("there is no such ledger", where=str(path))
            lock = WriterLock(path)
            try:
                connection = schema.connect(path, durable=True)
                try:
                    schema.check(connection, path)
                    found = _found(connection, path)
                    if pin is not None:
                        _same_game(found.pin, pin, path)
                except BaseException:
                    connection.close()
                    raise
            except BaseException:
                lock.release()
                raise
        ledger = cls(path, connection, lock, found)
        if pin is not None:
            ledger.repin(pin)
        return ledger

    def repin(self, pin: Pin) -> bool:
        """Pin what has changed since the pin in force, by a further entry that waits for the first commit; False: nothing has.

        What is said of a ledger's beginning is not said again.
        """
        same = {name: getattr(self.pin, name) for name in ("opened", *pins.BEGINNING)}
        if msgspec.structs.replace(pin, **same) == self.pin:
            return False
        self.pin = msgspec.structs.replace(pin, **dict.fromkeys(pins.BEGINNING))
        body = pins.encode(self.pin)
        self._latest["pin"] = (self._add("pin", body), body)
        return True

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

    def note(self, kind: Literal["command", "key", "evidence"], body: bytes) -> int:
        """Add what is no observation and no notice: a command that came, a key that signs from here on, pictures that were kept.

        Gives its number. Nothing is written before `commit`. A `key` entry's body is `tablectl.ledger.checkpoint.succession`.
        """
        return self._add(kind, body)

    def keep(self, name: str, body: bytes) -> None:
        """Write a value with the next commit, in place of the last one of this name: `Reader.latest` finds it again.

        It is no entry and nothing vouches for it. Raises `ValueError` for a name that the ledger itself writes.
        """
        if name in _OURS:
            raise ValueError(f"{name!r} is written by the ledger itself")
        self._latest[name] = (self.last, body)

    def _add(self, kind: Kind, body: bytes) -> int:
        seq = self.last + 1
        leaf = chains.leaf(seq, kind, body)
        chain = chains.link(self._chain, leaf)
        self._waiting.append(_Added(seq, kind, body, chain, leaf))
        self.last, self._chain = seq, chain
        return seq

    @property
    def waiting(self) -> int:
        """How many entries wait for `commit`."""
        return len(self._waiting)

    def commit(self) -> int:
        """Write what waits, to the disk, and give the number of the last entry: from now on it exists.

        Raises `LedgerError` when it cannot be written; then none of it is, and all of it waits on.
        """
        if self._waiting or self._latest:
            with self._transaction() as connection:
                # Interrupted after the last COMMIT, before we had noted it: what is written is not written again.
                written: int = connection.execute("SELECT max(seq) FROM entries").fetchone()[0]
                connection.executemany(_ADD, [entry[:4] for entry in self._waiting if entry.seq > written])
                connection.executemany(_KEEP, [_kept(name, seq, body) for name, (seq, body) in self._latest.items()])
            self._note_committed()
            self._waiting.clear()
            self._latest.clear()
        return self.last

    def _note_committed(self) -> None:
        """The head moves to the last entry; in one step, so that an interruption leaves it where it was or where it is to be."""
        frontier, chain = self._committed[0].copy(), self._committed[1]
        for entry in self._waiting:
            if entry.seq > frontier.size:
                frontier.add(entry.leaf)
                chain = entry.chain
        self._committed = (frontier, chain)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it on the disk, or nothing. Raises `LedgerError`."""
        connection = self._connection
        with schema.faults(self.path):
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):  # the first fault is the one to tell
                        connection.execute("ROLLBACK")
                raise

    def head(self) -> Head:
        """Where the ledger stands, as far as it is committed."""
        frontier, chain = self._committed
        return Head(frontier.size, chain, frontier.root)

    def checkpoint(self, signer: Signer, at: str, extensions: Sequence[str] = ()) -> bytes:
        """Sign the head, keep it in the file (also as the latest `checkpoint`) and give the signed note.

        `at` is when, a time of `tablectl.instants`; it and the extensions, a line each, are signed too. Where this size has been
        signed already, what was signed then is given again: of one size there is one checkpoint. What waits for `commit` is not
        in it. Raises `LedgerError` when it cannot be written, or was signed by another key.
        """
        head = self.head()
        with self._transaction() as connection:
            row = connection.execute("SELECT body FROM checkpoints WHERE size = ?", (head.size,)).fetchone()
            if row is not None:
                before: bytes = row[0]
                if not signer.verifier.signed(Note.parse(before)):
                    raise LedgerError(f"its first {head.size} entries are signed by another key", where=str(self.path))
                return before
            note = Checkpoint(self.origin, head.size, head.root, at, tuple(extensions)).signed(signer)
            connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?)", (head.size, at, note))
            connection.execute(_KEEP, _kept("checkpoint", head.size, note))
        return note

    def close(self) -> None:
        """Commit what waits and let go of the file. Raises `LedgerError` as `commit` does; the file is let go of all the same."""
        try:
            self.commit()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the file, and of what waits."""
        self._connection.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Commit also when something went wrong: what was seen was seen."""
        self.close()


def _kept(name: str, seq: int, body: bytes) -> tuple[str, int, bytes, bytes]:
    """A row of `latest`. Its digest finds a byte that went bad; who changes the row on purpose can make it anew."""
    return name, seq, body, chains.leaf(seq, name, body)


class _Found(NamedTuple):
    """What a file is found to hold: its first pin and the one in force, the session, and where tree and chain stand."""

    begun: Pin
    pin: Pin
    session: str
    frontier: Frontier
    chain: bytes


def _found(connection: sqlite3.Connection, path: Path) -> _Found:
    """Read all entries and follow the chain. Raises `LedgerError` that names the first bad one.

    Signatures are not looked at, which takes keys; but the roots that were signed have to be those of the entries.
    """
    frontier, chain, latest = Frontier(), chains.START, b""
    first = b""
    signed: dict[int, bytes] = dict(schema.read(connection, path, "SELECT size, body FROM checkpoints", int, bytes))
    try:
        for entry in chains.walk(connection.execute(schema.ROWS)):
            frontier.add(entry.leaf)
            chain = entry.chain
            if entry.kind == "pin":
                first, latest = first or entry.body, entry.body
            note = signed.pop(entry.seq, None)
            if note is not None and Checkpoint.parse(Note.parse(note).text).root != frontier.root:
                raise chains.Break(entry.seq, "or one before it is not what was signed: the checkpoint there has another root")
        if signed:
            raise chains.Break(frontier.size + 1, f"is missing: a checkpoint signed {max(signed)}")
    except chains.Break as fault:
        raise LedgerError(f"is damaged: {fault}", where=str(path)) from None
    except LedgerError as error:
        raise LedgerError(f"is damaged: a checkpoint {error.message}", where=str(path)) from None
    kept = connection.execute("SELECT body FROM latest WHERE name = 'pin'").fetchone()
    if kept is None or kept[0] != latest:
        raise LedgerError("is damaged: its latest pin is not that of its entries", where=str(path))
    try:
        return _Found(pins.decode(first), pins.decode(latest), pins.session(first), frontier, chain)
    except (msgspec.DecodeError, TypeError, ConfigError) as error:
        raise LedgerError("is damaged: its pin cannot be read", where=str(path)) from error


def _same_game(before: Pin, now: Pin, path: Path) -> None:
    """See that the table and the house are those of the ledger. Raises `LedgerError`."""
    if now.table != before.table:
        raise LedgerError(f"is the record of table {before.table}, not of {now.table}", where=str(path))
    if now.house != before.house:
        rules = f"other rules ({before.house.name})" if now.house.name == before.house.name else f"the house {before.house.name}"
        raise LedgerError(
            f"was begun under {rules}, not under {now.house.name} as it is now: begin a new ledger", where=str(path)
        )
