"""Reading a ledger while it is written: committed entries only, each connection for the thread that opened it.

`Reader` changes nothing. `Outbox` is a reader with cursors: how far a teller of notices (such as MQTT) has been understood.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

from tablectl.errors import LedgerError
from tablectl.ledger import chain, schema
from tablectl.ledger import pin as pins

__all__ = ["Entry", "Outbox", "Reader"]


class Entry(NamedTuple):
    """An entry: its number (from 1), its kind (`pin`, `observation`, `notice`, `command`, `key`) and its bytes."""

    seq: int
    kind: str
    body: bytes


class Reader:
    """A ledger that is only read. Every method raises `LedgerError` when the file cannot be read.

    `session` begins the ids of its messages.
    """

    _read_only: ClassVar[bool] = True
    _patience: ClassVar[float] = schema.BUSY_SECONDS

    def __init__(self, path: Path):
        self.path = path
        with schema.faults(path):
            if not path.is_file():
                raise LedgerError("there is no such ledger", where=str(path))
            self._connection = schema.connect(path, read_only=self._read_only, patience=self._patience)
            try:
                self.session = pins.session(schema.check(self._connection, path))
            except BaseException:
                self._connection.close()
                raise

    def last(self) -> int:
        """The number of the last entry."""
        with schema.faults(self.path):
            last: int = self._connection.execute("SELECT max(seq) FROM entries").fetchone()[0]
        return last

    def entries(self, after: int = 0, limit: int = 1000) -> list[Entry]:
        """At most `limit` entries of any kind that follow number `after`."""
        return self._entries("SELECT seq, kind, body FROM entries WHERE seq > ? ORDER BY seq LIMIT ?", after, limit)

    def notices_after(self, after: int, limit: int = 1000) -> list[Entry]:
        """At most `limit` notices that follow number `after`."""
        return self._entries(
            "SELECT seq, kind, body FROM entries WHERE kind = 'notice' AND seq > ? ORDER BY seq LIMIT ?", after, limit
        )

    def _entries(self, query: str, *values: int) -> list[Entry]:
        with schema.faults(self.path):
            return [Entry(*row) for row in schema.read(self._connection, self.path, query, int, str, bytes, values=values)]

    def count_notices(self, after: int) -> int:
        """How many notices follow number `after`."""
        with schema.faults(self.path):
            query = "SELECT count(*) FROM entries WHERE kind = 'notice' AND seq > ?"
            count: int = self._connection.execute(query, (after,)).fetchone()[0]
        return count

    def latest(self, name: str) -> Entry | None:
        """The latest `pin`, `state`, `prompt`, `status`, `checkpoint` or what else its writer kept by name.

        It comes with the number of the entry it is, or up to which it holds. None before the first.
        """
        with schema.faults(self.path):
            query = "SELECT seq, name, body, digest FROM latest WHERE name = ?"
            rows = schema.read(self._connection, self.path, query, int, str, bytes, bytes, values=[name])
        if not rows:
            return None
        entry, digest = Entry(*rows[0][:3]), rows[0][3]
        if chain.leaf(*entry) != digest:
            raise LedgerError(f"is damaged: its latest {name} is not what was written", where=str(self.path))
        return entry

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Outbox(Reader):
    """A reader that may move cursors, and nothing else."""

    _read_only = False
    _patience = 0.02

    def cursor(self, name: str) -> int:
        """The number up to which all notices were taken by `name`; 0 before the first.

        One that is not what was written is forgotten: all is told again, under the same ids, rather than something never.
        """
        with schema.faults(self.path):
            row = self._connection.execute("SELECT seq, digest FROM cursors WHERE name = ?", (name,)).fetchone()
            if row is None:
                return 0
            seq: object = row[0]
            if isinstance(seq, int) and chain.leaf(seq, name, b"") == row[1]:
                return seq
            self._connection.execute("DELETE FROM cursors WHERE name = ?", (name,))
        return 0

    def advance(self, name: str, seq: int) -> None:
        """Move a cursor forward; a number behind it changes nothing.

        Survives a crash of the program; after a power cut the cursor may stand further back, and what follows it is told again.
        Raises `LedgerError` also when the writer is in the way for longer than a moment: the teller is to go on and try later.
        """
        with schema.faults(self.path):
            self._connection.execute(
                "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT (name) "
                "DO UPDATE SET seq = excluded.seq, digest = excluded.digest WHERE excluded.seq > seq",
                (name, seq, chain.leaf(seq, name, b"")),
            )
