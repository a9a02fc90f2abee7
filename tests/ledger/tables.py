"""A table's ledgers for a witness: real files, signed, and told as a live table tells them."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tablectl.instants import from_micros
from tablectl.ledger.checkpoint import Checkpoint, key_name, succession
from tablectl.ledger.keys import Signer
from tablectl.ledger.pin import Follows, Pin, Pinned, TableName
from tablectl.ledger.published import LATEST, Announcer, follows_line, prove
from tablectl.ledger.reader import Reader
from tablectl.ledger.signed_note import of_base64
from tablectl.ledger.store import Ledger

__all__ = ["NAME", "TOPIC", "Day"]

NAME = TableName("hall", "main", "t07")
TOPIC = "tablectl/v1/hall/main/t07/audit/checkpoint"
PIN = Pin(software="tablectl 0.1.0", table=NAME, house=Pinned("fr", "ab" * 32), language="fr", profiles={})


class Day:
    """One ledger being written. `follows` is the day before, closed."""

    def __init__(self, path: Path, signer: Signer | None = None, *, follows: Follows | None = None, resume: bool = False):
        self.path = path
        self.signer = signer or Signer.make(key_name(NAME))
        self._extensions = () if follows is None else (follows_line(follows),)
        pin = msgspec.structs.replace(PIN, opened=path.name, follows=follows, signer=self.signer.verifier.vkey)
        self.ledger = Ledger.resume(path) if resume else Ledger.create(path, pin)
        self._reader = Reader(path)
        self._announcer = Announcer(self._reader)

    @property
    def head(self) -> Follows:
        size, _, root = self.ledger.head()
        return Follows(self.ledger.session, size, root.hex())

    def grow(self, entries: int, word: str = "tick") -> None:
        for _ in range(entries):
            self.ledger.append(b'{"event":"%b","n":%d}' % (word.encode(), self.ledger.last))
        self.ledger.commit()

    def tell(self) -> bytes:
        """Sign the head, and give what is published of it."""
        note = self.ledger.checkpoint(self.signer, from_micros(self.ledger.last), self._extensions)
        payload = self._announcer.announce(note)
        self.ledger.keep(LATEST, payload)
        self.ledger.commit()
        return payload

    def grown(self, entries: int, word: str = "tick") -> bytes:
        self.grow(entries, word)
        return self.tell()

    def rotate(self, new: Signer) -> None:
        self.ledger.note("key", succession(self.ledger.origin, new, self.signer))
        self.ledger.commit()
        self.signer = new

    def proof(self, old: int, new: int) -> list[bytes]:
        return [of_base64(one) for one in prove(self._reader, old, new)]

    def lie(self, size: int, root: bytes) -> bytes:
        """A head that is none of this ledger's, signed with its key."""
        return Checkpoint(self.ledger.origin, size, root, from_micros(size), self._extensions).signed(self.signer)

    def close(self) -> None:
        self._reader.close()
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
