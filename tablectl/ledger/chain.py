"""The chain of a ledger: each entry is bound to all before it, so that none can be changed, moved or taken out unseen.

An entry's leaf is SHA-256 of a zero byte, its number and kind as a line, and its body: the leaf hash of RFC 6962. Its link is
SHA-256 of the link before it and its leaf; before the first stand 32 zero bytes. Whoever changes an entry has to make every later
link anew, which a signed head (`tablectl.ledger.checkpoint`) then contradicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import NamedTuple

__all__ = ["SIZE", "START", "Break", "Linked", "leaf", "link", "walk"]

SIZE = 32
"""Bytes of a leaf and of a link."""

START = bytes(SIZE)
"""What the first link is made with."""

Row = tuple[object, object, object, object]
"""An entry as it is kept: number, kind in UTF-8, body, link. In a file that is damaged each may be anything."""


class Break(Exception):
    """The first entry that is not what was written: its number, and what is wrong with it."""

    def __init__(self, seq: int, what: str):
        super().__init__(f"entry {seq} {what}")
        self.seq = seq
        self.what = what


class Linked(NamedTuple):
    """An entry whose link was found to be right."""

    seq: int
    kind: str
    body: bytes
    leaf: bytes
    chain: bytes


def leaf(seq: int, kind: str, body: bytes) -> bytes:
    """The leaf of an entry."""
    return sha256(b"\x00%d %b\n%b" % (seq, kind.encode(), body)).digest()


def link(before: bytes, leaf: bytes) -> bytes:
    """The link of the entry that has this leaf and follows the one with the link `before`."""
    return sha256(before + leaf).digest()


def walk(rows: Iterable[Row]) -> Iterator[Linked]:
    """Follow entries from the first, in the order of their numbers. Raises `Break` at the first that is not what was written."""
    last, chain = 0, START
    for seq, raw, body, kept in rows:
        if seq != last + 1 or not isinstance(seq, int):
            raise Break(last + 1, "is missing")
        if not isinstance(raw, bytes) or not isinstance(body, bytes):
            raise Break(seq, "is not what was written: it has no kind or no body")
        try:
            kind = raw.decode()
        except UnicodeDecodeError:
            raise Break(seq, "is of a kind that is no text") from None
        found = leaf(seq, kind, body)
        chain = link(chain, found)
        if chain != kept:
            raise Break(seq, "is not what was written: it does not fit its link of the chain")
        yield Linked(seq, kind, body, found, chain)
        last = seq
