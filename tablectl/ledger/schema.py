"""The ledger as an SQLite file: its tables, how it is opened, and what SQLite's complaints mean to a person.

Entries are append-only, and the file itself says so: triggers refuse a change, a removal, and a number that is not the next one
(which also stops `INSERT OR REPLACE`, whose hidden delete fires no trigger). This guards against our own mistakes and a careless
hand in the `sqlite3` shell; what is done by someone who drops the triggers is found by the chain and by signed checkpoints.

The file is in WAL mode and the writer commits with `synchronous=FULL`: what `commit` returned from survives a power cut. Readers
are other connections, one a thread, and see committed entries only.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tablectl.errors import LedgerError
from tablectl.ledger import chain

__all__ = ["BUSY_SECONDS", "ROWS", "archived", "check", "connect", "expected_layout", "faults", "lay_out", "layout", "read"]

APPLICATION = 0x7461626C
"""`tabl`: what SQLite's header says whose file this is."""

VERSION = 2
ROWS = "SELECT seq, CAST(kind AS BLOB), body, chain FROM entries ORDER BY seq"
"""All entries as `tablectl.ledger.chain.walk` takes them."""

_LEAST_ROOM = 1 << 16
"""With fewer bytes left a disk is full: SQLite's shared memory file grows by half as much at a time."""

BUSY_SECONDS = 5.0
"""How long a write waits for another connection's."""

_TABLES = """
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    kind TEXT NOT NULL CHECK (kind <> ''),
    body BLOB NOT NULL,
    chain BLOB NOT NULL CHECK (length(chain) = 32)
) STRICT;
CREATE INDEX notices ON entries (seq) WHERE kind = 'notice';
CREATE TRIGGER entries_without_gap BEFORE INSERT ON entries
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entries)
BEGIN SELECT raise(ABORT, 'an entry must have the next number'); END;
CREATE TRIGGER entries_unchanged BEFORE UPDATE ON entries
BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entries_kept BEFORE DELETE ON entries
BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END;
CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY CHECK (size > 0),
    at TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TRIGGER checkpoints_forward BEFORE INSERT ON checkpoints
WHEN NEW.size IS NULL OR NEW.size <= (SELECT coalesce(max(size), 0) FROM checkpoints) OR NEW.size > (SELECT max(seq) FROM entries)
BEGIN SELECT raise(ABORT, 'a checkpoint must be of more entries than the last, and of no more than there are'); END;
CREATE TRIGGER checkpoints_unchanged BEFORE UPDATE ON checkpoints
BEGIN SELECT raise(ABORT, 'a checkpoint is kept as it was signed'); END;
CREATE TRIGGER checkpoints_kept BEFORE DELETE ON checkpoints
BEGIN SELECT raise(ABORT, 'a checkpoint is kept as it was signed'); END;
CREATE TABLE latest (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    digest BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE cursors (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    digest BLOB NOT NULL
) STRICT, WITHOUT ROWID;
"""

_MEANINGS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_BUSY: "is locked by another program",
    sqlite3.SQLITE_LOCKED: "is locked by another program",
    sqlite3.SQLITE_NOTADB: "is no ledger: not an SQLite file",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_IOERR: "cannot be read or written",
    sqlite3.SQLITE_PERM: "may not be opened",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_TOOBIG: "an entry is too large",
}


def archived(path: Path) -> bool:
    """Whether a file was closed cleanly and lies in a folder in which we may not write: an archive, or a table's to an inspector.

    SQLite would have to write beside it.
    """
    writable = os.access(path.absolute().parent, os.W_OK, effective_ids=True)
    return not writable and not path.with_name(path.name + "-wal").exists()


def _is_full(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _LEAST_ROOM


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system complain of into a `LedgerError` that names the ledger."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None and isinstance(error, sqlite3.ProgrammingError):  # our own mistake: a connection used after it was closed
            raise
        if code is None:  # raised by the module itself, which found text that is none
            raise LedgerError(f"is damaged ({error})", where=str(path)) from error
        meaning = _MEANINGS.get(code & 0xFF, "cannot be used")
        if code & 0xFF == sqlite3.SQLITE_IOERR and _is_full(path.parent):  # SQLite says so of the file alone
            meaning = _MEANINGS[sqlite3.SQLITE_FULL]
        raise LedgerError(f"{meaning} ({error})", where=str(path)) from error
    except UnicodeDecodeError as error:  # SQLite's own complaint repeats bytes of the file
        raise LedgerError("is damaged: text that is none", where=str(path)) from error
    except OSError as error:
        raise LedgerError(f"cannot be opened: {error.strerror}", where=str(path)) from error


def connect(path: Path, *, read_only: bool = False, durable: bool = False, patience: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open a connection to an existing file, for the calling thread alone. Call it within `faults`.

    `read_only` connections refuse every change; they still open the file for writing where they may, so that the last one to
    close clears the write-ahead log away. One that is `archived` is read as it lies there. `durable` commits reach the disk
    before they return; others survive a crash of the program, not a power cut. A write waits `patience` seconds for another
    connection's.
    """
    address = f"file:{quote(str(path))}?mode=rw"
    if read_only and archived(path):
        address = f"file:{quote(str(path))}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=patience)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute("PRAGMA journal_size_limit = 16777216")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
        if not durable:  # leave moving the log into the file to the writer, which has reason to wait for the disk
            connection.execute("PRAGMA wal_autocheckpoint = 0")
    except BaseException:
        connection.close()
        raise
    return connection


def lay_out(connection: sqlite3.Connection, first: bytes) -> None:
    """Make the tables in an empty file, and the first entry with them: both are there, or neither."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _statements(_TABLES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    linked = chain.link(chain.START, chain.leaf(1, "pin", first))
    connection.execute("INSERT INTO entries VALUES (1, 'pin', ?, ?)", (first, linked))
    connection.execute("INSERT INTO latest VALUES ('pin', 1, ?, ?)", (first, chain.leaf(1, "pin", first)))
    connection.execute("COMMIT")


def read(connection: sqlite3.Connection, path: Path, query: str, *columns: type, values: Iterable[object] = ()) -> list[Any]:
    """All rows of a query, each column of the type that is given. Raises `LedgerError` for a row that was not written so."""
    rows = connection.execute(query, tuple(values)).fetchall()
    for row in rows:
        if tuple(map(type, row)) != columns:
            raise LedgerError("is damaged: it has a row of other types than were written", where=str(path))
    return rows


def layout(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """All that a file's layout holds: what it is, its name, and how it was made."""
    query = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema"
    return {(str(kind), str(name), str(made)) for kind, name, made in connection.execute(query)}


def expected_layout() -> set[tuple[str, str, str]]:
    """The layout of every ledger of this version."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_TABLES)
        return layout(connection)
    finally:
        connection.close()


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def check(connection: sqlite3.Connection, path: Path) -> bytes:
    """See that a file is a ledger of this version, and give its first entry's body.

    Reads the file's head, its first and its last entry: quick whatever its size. Raises `LedgerError`.
    """
    where = str(path)
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise LedgerError(
            "is no ledger: " + ("it is empty" if path.stat().st_size == 0 else "another program's file"), where=where
        )
    if version != VERSION:
        raise LedgerError(f"is a ledger of version {version}; this program reads version {VERSION}", where=where)
    first = read(connection, path, "SELECT kind, body FROM entries WHERE seq = 1", str, bytes)
    if not first or first[0][0] != "pin":
        raise LedgerError("is damaged: its first entry is no pin", where=where)
    read(connection, path, "SELECT kind, body FROM entries ORDER BY seq DESC LIMIT 1", str, bytes)
    body: bytes = first[0][1]
    return body
