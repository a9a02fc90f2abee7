"""Signed notes (C2SP signed-note): a text, and below it a line for each who signed it.

::

    the text, one or more lines

    — NAME BASE64(4 bytes of key id, signature)

The text is signed with its last line end. A signature by a key that one does not know means nothing, and is passed over.
"""

from __future__ import annotations

import base64
import binascii
import unicodedata
from typing import Self

import msgspec

from tablectl.errors import LedgerError

__all__ = ["MAX_NOTE", "MAX_SIGNATURES", "Note", "Signature", "named", "of_base64", "to_base64"]

MAX_NOTE = 1 << 20
"""A longer note is refused, in bytes."""

MAX_SIGNATURES = 100
"""More signatures are refused."""

ID = 4
"""Bytes of a key's id."""

_DASH = "\u2014 "


class Signature(msgspec.Struct, frozen=True):
    """Whose it says it is (the key's name and id), and its bytes."""

    name: str
    id: bytes
    signature: bytes


class Note(msgspec.Struct, frozen=True):
    """A text that ends with a line end, and its signatures in their order. What it says is to be believed only once checked."""

    text: str
    signatures: tuple[Signature, ...] = ()

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Read a note strictly. Raises `LedgerError` that says why it is none."""
        if len(body) > MAX_NOTE:
            raise _no_note(f"it is longer than {MAX_NOTE} bytes")
        try:
            whole = body.decode()
        except UnicodeDecodeError:
            raise _no_note("it is no UTF-8") from None
        if any(letter < " " and letter != "\n" for letter in whole):
            raise _no_note("it has control characters")
        text, between, signed = whole.rpartition("\n\n")
        if not between:
            raise _no_note("no empty line stands between text and signatures")
        if not signed.endswith("\n"):
            raise _no_note("its last line does not end")
        lines = signed.removesuffix("\n").split("\n")
        if len(lines) > MAX_SIGNATURES:
            raise _no_note(f"it has more than {MAX_SIGNATURES} signatures")
        return cls(text + "\n", tuple(_signature(line) for line in lines))

    def encode(self) -> bytes:
        """The note as it is told and kept. A text with no signature is no note yet."""
        lines = (f"{_DASH}{one.name} {to_base64(one.id + one.signature)}\n" for one in self.signatures)
        return f"{self.text}\n{''.join(lines)}".encode()

    def with_signature(self, signature: Signature) -> Note:
        """The note with one more signature, unless it has that one already."""
        return self if signature in self.signatures else Note(self.text, (*self.signatures, signature))


def named(name: str) -> bool:
    """Whether this may be a key's name: something, without blanks, `+` or what cannot be printed."""
    return bool(name) and not any(letter == "+" or unicodedata.category(letter)[0] in "ZC" for letter in name)


def to_base64(body: bytes) -> str:
    """Standard base64, with its padding."""
    return base64.b64encode(body).decode()


def of_base64(text: str) -> bytes:
    """Read base64 that could not have been written otherwise. Raises `ValueError`."""
    try:
        body = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error
    if to_base64(body) != text:
        raise ValueError("base64 in another form than the one")
    return body


def _signature(line: str) -> Signature:
    name, _, coded = line.removeprefix(_DASH).partition(" ")
    try:
        body = of_base64(coded)
    except ValueError:
        body = b""
    if not line.startswith(_DASH) or not named(name) or len(body) <= ID:
        raise _no_note("a line below the text is no signature")
    return Signature(name, body[:ID], body[ID:])


def _no_note(why: str) -> LedgerError:
    return LedgerError(f"is no signed note: {why}")
