"""Frames that begin with known bytes: `delimited`, `fixed`, `length_prefixed`.

A false start is left behind at the next one. Where to look is written as regular expressions, so that noise costs next to
nothing: one for a whole frame, one for what may still become a frame when more bytes come.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from tablectl.shoe.checksums import Checksum
from tablectl.shoe.frames import ByteSet, Candidate, Frame, Hex, Size, byte_class, byte_set, unhex, unknown_checksum

__all__ = ["Delimited", "Fixed", "LengthPrefixed", "Marked"]

Atom = tuple[bytes, int, int]
"""A character class, and the fewest and most times it stands."""


class Marked(Frame, frozen=True, kw_only=True):
    """A frame that begins with the bytes `start`."""

    start: Hex
    checksum: Checksum | None = None

    @property
    def size(self) -> int:
        """The most bytes a whole frame can have."""
        raise NotImplementedError

    def head(self, group: str) -> bytes:
        """A pattern for a whole frame (or the part of it that tells its length); it sets the empty group `group`."""
        atoms = self.atoms()
        mark = len(unhex(self.start))
        return _joined(atoms[:mark]) + b"(?P<" + group.encode() + b">)" + _joined(atoms[mark:])

    def partial(self) -> bytes:
        """A pattern for what may still become such a frame when more bytes come."""
        atoms = self.atoms()
        prefixes = []
        for index, (kind, low, high) in enumerate(atoms):
            most = high if index < len(atoms) - 1 else low - 1
            least = 1 if index == 0 else 0
            if most >= least:
                prefixes.append(_joined([*atoms[:index], (kind, least, most)]))
        return b"(?:" + b"|".join(prefixes) + b")" if prefixes else b"(?!)"

    def atoms(self) -> list[Atom]:
        """The frame as a row of character classes."""
        raise NotImplementedError

    def candidate(self, buffer: bytes, start: int, end: int) -> Candidate | None:
        """The frame that begins at `start`, whose head ends at `end`; None when more bytes are needed to tell."""
        raise NotImplementedError

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        return unknown_checksum(self.checksum)

    def _judged(self, buffer: bytes, start: int, inner: int, outer: int, finish: bytes) -> Candidate:
        """The frame whose body is `buffer[inner:outer]`, with its checksum tested."""
        body, mark = buffer[inner:outer], unhex(self.start)
        end = outer + len(finish)
        why = ""
        if self.checksum:
            stated = buffer[end : end + self.checksum.size]
            end += self.checksum.size
            why = self.checksum.wrong(buffer[start : start + len(mark)], buffer[start + len(mark) : outer], finish, stated)
        return Candidate(start, end, start + 1, self.name, body, why)


class Delimited(Marked, frozen=True, kw_only=True, tag="delimited"):
    """A body between start and end bytes, with a checksum after them or none.

    `body` is the set of bytes it may hold. It should leave out the start byte, so that no false start can swallow a true
    one; where it is not given, all bytes but the first of `start` and of `end` are allowed. `longest` counts the whole frame.
    """

    end: Hex
    longest: Size
    body: ByteSet | None = None

    @property
    def size(self) -> int:
        """See `Marked.size`."""
        return self.longest

    def atoms(self) -> list[Atom]:
        """See `Marked.atoms`."""
        start, end = unhex(self.start), unhex(self.end)
        allowed = byte_set(self.body) - {end[0]} if self.body else set(range(256)) - {start[0], end[0]}
        return [*_literal(start), (byte_class(allowed), 1, self._room()), *_literal(end), *_sum_atoms(self.checksum)]

    def _room(self) -> int:
        return self.longest - len(unhex(self.start)) - len(unhex(self.end)) - (self.checksum.size if self.checksum else 0)

    def candidate(self, buffer: bytes, start: int, end: int) -> Candidate:
        """See `Marked.candidate`."""
        finish = unhex(self.end)
        outer = end - (self.checksum.size if self.checksum else 0) - len(finish)
        return self._judged(buffer, start, start + len(unhex(self.start)), outer, finish)

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        found = Marked.flaw(self)
        if found is None and self._room() < 1:
            return "longest", f"{self.longest} bytes leave no room for a body"
        return found

    def build(self, body: bytes) -> bytes:
        """See `Frame.build`."""
        start, end = unhex(self.start), unhex(self.end)
        return start + body + end + (self.checksum.over(start, body, end) if self.checksum else b"")


class Fixed(Marked, frozen=True, kw_only=True, tag="fixed"):
    """Start bytes, a body of exactly `length` bytes (0: the start bytes are all), end bytes or none, a checksum or none."""

    length: Annotated[int, msgspec.Meta(ge=0, le=4000)]
    body: ByteSet | None = None
    end: Hex | None = None

    @property
    def size(self) -> int:
        """See `Marked.size`."""
        return sum(high for _, _, high in self.atoms())

    def atoms(self) -> list[Atom]:
        """See `Marked.atoms`."""
        allowed = byte_set(self.body) if self.body else set(range(256))
        body: list[Atom] = [(byte_class(allowed), self.length, self.length)] if self.length else []
        return [*_literal(unhex(self.start)), *body, *_literal(unhex(self.end or "")), *_sum_atoms(self.checksum)]

    def candidate(self, buffer: bytes, start: int, end: int) -> Candidate:
        """See `Marked.candidate`."""
        inner = start + len(unhex(self.start))
        return self._judged(buffer, start, inner, inner + self.length, unhex(self.end or ""))

    def build(self, body: bytes) -> bytes:
        """See `Frame.build`."""
        start, end = unhex(self.start), unhex(self.end or "")
        return start + body + end + (self.checksum.over(start, body, end) if self.checksum else b"")


class LengthPrefixed(Marked, frozen=True, kw_only=True, tag="length_prefixed"):
    """Start bytes, a length of `length_bytes` bytes, a body, a checksum or none. The sum takes in the length.

    The length `counts` the body alone, body and checksum, or the whole frame. A false start can hold a true frame back
    until as many bytes came as its length says, `longest` at most; none is lost by it.
    """

    length_bytes: Literal[1, 2]
    order: Literal["big", "little"]
    counts: Literal["body", "body_and_checksum", "whole"]
    longest: Size

    @property
    def size(self) -> int:
        """See `Marked.size`."""
        return self.longest

    def atoms(self) -> list[Atom]:
        """The part that tells the length."""
        return [*_literal(unhex(self.start)), (rb"[\x00-\xff]", self.length_bytes, self.length_bytes)]

    def _around(self) -> int:
        """What the stated length counts besides the body."""
        size = self.checksum.size if self.checksum else 0
        if self.counts == "whole":
            return len(unhex(self.start)) + self.length_bytes + size
        return size if self.counts == "body_and_checksum" else 0

    def candidate(self, buffer: bytes, start: int, end: int) -> Candidate | None:
        """See `Marked.candidate`."""
        stated = int.from_bytes(buffer[end - self.length_bytes : end], self.order)
        outer = end + stated - self._around()
        last = outer + (self.checksum.size if self.checksum else 0)
        if outer < end or last - start > self.longest:
            return Candidate(start, end, start + 1, self.name, b"", f"length {stated} cannot be")
        if last > len(buffer):
            return None
        return self._judged(buffer, start, end, outer, b"")

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        found = Marked.flaw(self)
        if found is None and len(self.build(b"x")) > self.longest:
            return "longest", f"{self.longest} bytes leave no room for a body"
        return found

    def build(self, body: bytes) -> bytes:
        """See `Frame.build`."""
        start = unhex(self.start)
        body = (len(body) + self._around()).to_bytes(self.length_bytes, self.order) + body
        return start + body + (self.checksum.over(start, body, b"") if self.checksum else b"")


def _literal(data: bytes) -> list[Atom]:
    return [(re.escape(data[index : index + 1]), 1, 1) for index in range(len(data))]


def _sum_atoms(checksum: Checksum | None) -> list[Atom]:
    if checksum is None:
        return []
    kind, count = checksum.pattern()
    return [(kind, count, count)]


def _joined(atoms: list[Atom]) -> bytes:
    return b"".join(kind if (low, high) == (1, 1) else kind + b"{%d,%d}" % (low, high) for kind, low, high in atoms)
