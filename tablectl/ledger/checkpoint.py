"""Checkpoints: signed heads of a ledger, in the form of C2SP tlog-checkpoint; and how one signing key follows another.

::

    tablectl/v1/SITE/PIT/TABLE/SESSION
    SIZE
    BASE64 of the Merkle root
    at TIME
    further lines, where there are any

    — KEY BASE64

The first line says which ledger, the session telling the days of a table apart; blanks and letters beyond ASCII in names are
percent-encoded. Whoever signed two heads of which the one does not extend the other has lied, and both notes prove it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self
from urllib.parse import quote

import msgspec

from tablectl.errors import ConfigError, LedgerError
from tablectl.ledger.keys import SIGNS, Signer, Verifier
from tablectl.ledger.merkle import SIZE
from tablectl.ledger.pin import TableName
from tablectl.ledger.signed_note import Note, of_base64, to_base64

__all__ = ["Checkpoint", "KeyEntry", "key_name", "origin", "signers", "succeeds", "succession", "vouches_for"]

_AT = "at "


class Checkpoint(msgspec.Struct, frozen=True):
    """A ledger's head: which ledger, how many entries, and the root of their tree; then when it was signed, and further lines.

    `at` is a time (`tablectl.instants`), "" in a checkpoint that says none.
    """

    origin: str
    size: int
    root: bytes
    at: str = ""
    extensions: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a note's text strictly. Raises `LedgerError`."""
        lines = text.split("\n")
        if len(lines) < 4 or lines.pop() or not all(lines):
            raise _none("it is three lines or more, none of them empty")
        if not lines[1].isascii() or not lines[1].isdigit() or str(int(lines[1][:20])) != lines[1]:
            raise _none("its size is no number")
        try:
            root = of_base64(lines[2])
        except ValueError:
            root = b""
        if len(root) != SIZE:
            raise _none("its root is no SHA-256")
        rest = lines[3:]
        at = rest.pop(0).removeprefix(_AT) if rest and rest[0].startswith(_AT) else ""
        return cls(lines[0], int(lines[1]), root, at, tuple(rest))

    @property
    def text(self) -> str:
        """What is signed. Raises `ValueError` when a part of it is no line."""
        rest = ([_AT + self.at] if self.at else []) + list(self.extensions)
        if any(not line or any(letter < " " for letter in line) for line in (self.origin, *rest)):
            raise ValueError("a line of a checkpoint is not empty and has no control characters")
        return "".join(f"{line}\n" for line in (self.origin, str(self.size), to_base64(self.root), *rest))

    def signed(self, signer: Signer) -> bytes:
        """The signed note."""
        return signer.sign(Note(self.text)).encode()


class KeyEntry(msgspec.Struct, frozen=True):
    """The body of a `key` entry: the public key that signs from here on, and a note that says so.

    The note's text is the ledger's origin and `key VKEY`. The new key signs it, and so does the one that it follows, if any.
    """

    key: str
    note: str

    @classmethod
    def parse(cls, body: bytes) -> tuple[Verifier, Note]:
        """The new key and its note, which is still to be checked. Raises `LedgerError`."""
        try:
            entry = msgspec.json.decode(body, type=cls)
            verifier = Verifier.parse(entry.key)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ConfigError) as error:
            raise LedgerError(f"is no key entry: {error}") from None
        return verifier, Note.parse(entry.note.encode("utf-8", "surrogatepass"))


def origin(table: TableName, session: str) -> str:
    """The first line of a ledger's checkpoints."""
    return f"{key_name(table)}/{session}"


def key_name(table: TableName) -> str:
    """What a table's key is called; the one that follows it is called the same, and has another id."""
    return "/".join(["tablectl/v1", *(quote(name) for name in (table.site, table.pit, table.table))])


def vouches_for(key: Verifier, table: TableName) -> bool:
    """Whether a key may sign this table's ledgers: it is called after it, and so after no other."""
    return key.use == SIGNS and key.name == key_name(table)


def succession(origin: str, new: Signer, old: Signer | None = None) -> bytes:
    """The body of a `key` entry: from here on `new` signs, which follows `old` where the ledger had a key before."""
    note = Note(_succession_text(origin, new.verifier))
    for signer in (old, new):
        note = signer.sign(note) if signer else note
    return msgspec.json.encode(KeyEntry(new.verifier.vkey, note.encode().decode()))


def succeeds(body: bytes, origin: str, before: Verifier | None) -> Verifier:
    """The key that a `key` entry brings into force after `before`. Raises `LedgerError` where it is not rightly signed."""
    verifier, note = KeyEntry.parse(body)
    if note.text != _succession_text(origin, verifier):
        raise LedgerError("names another ledger or another key than its note")
    if verifier.use != SIGNS or verifier.name != origin.rpartition("/")[0]:
        raise LedgerError(f"is not this table's, but called {verifier.name}")
    if not verifier.signed(note):
        raise LedgerError("is not signed by the new key")
    if before is not None and not before.signed(note):
        raise LedgerError("is not signed by the key before it")
    return verifier


def signers(note: Note, verifiers: Iterable[Verifier]) -> Sequence[Verifier]:
    """Who of these signed a note. Raises `LedgerError` when a signature of one of them is wrong."""
    signed: list[Verifier] = []
    for verifier in verifiers:
        right = verifier.signed(note)
        if right is False:
            raise LedgerError(f"has a false signature of {verifier.name}")
        if right:
            signed.append(verifier)
    return signed


def _succession_text(origin: str, new: Verifier) -> str:
    return f"{origin}\nkey {new.vkey}\n"


def _none(why: str) -> LedgerError:
    return LedgerError(f"is no checkpoint: {why}")
