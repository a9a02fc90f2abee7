"""Frames that begin with known bytes: `delimited`, `fixed`, `length_prefixed`.

A false start is left behind at the next one. Where to look is written as regular expressions, so that noise costs next to
nothing: one for a whole frame, one for what may still become a frame when more bytes come.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from tablectl.shoe.checksums import Checksum
from tablectl.shoe.frames import ByteSet, Frame, Hex, Size, byte_class, byte_set, unhex, unknown_checksum

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

    def doubtful(self) -> bool:
        """Whether it is too short to be told from noise, and taken only where no noise stands just before it."""
        return False

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

    def reach(self, buffer: bytes, start: int, end: int) -> int | None:
        """Where the frame ends that begins at `start` and whose head ends at `end`; None when it cannot be one."""
        return end

    def open(self, frame: bytes) -> tuple[bytes, str]:
        """The body of a whole frame, and what is wrong with it (empty: it is sound)."""
        start, finish, size = unhex(self.start), self._finish(), self._sum_size()
        outer = len(frame) - size - len(finish)
        body = frame[len(start) + self._prefix_size() : outer]
        if self.checksum is None:
            return body, ""
        return body, self.checksum.wrong(start, frame[len(start) : outer], finish, frame[outer + len(finish) :])

    def build(self, body: bytes) -> bytes:
        """See `Frame.build`."""
        start, finish = unhex(self.start), self._finish()
        body = self._prefix(body) + body
        frame = start + body + finish + (self.checksum.over(start, body, finish) if self.checksum else b"")
        if len(frame) > self.size:
            raise ValueError(f"{len(frame)} bytes are more than a frame {self.name!r} can have")
        return frame

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        return unknown_checksum(self.checksum)

    def _finish(self) -> bytes:
        """The end bytes."""
        return b""

    def _prefix_size(self) -> int:
        """How many bytes stand between the start bytes and the body."""
        return 0

    def _prefix(self, body: bytes) -> bytes:
        """What stands between the start bytes and this body."""
        return b""

    def _sum_size(self) -> int:
        return self.checksum.size if self.checksum else 0


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

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        found = Marked.flaw(self)
        if found is None and self._room() < 1:
            return "longest", f"{self.longest} bytes leave no room for a body"
        return found

    def _room(self) -> int:
        return self.longest - len(unhex(self.start)) - len(self._finish()) - self._sum_size()

    def _finish(self) -> bytes:
        return unhex(self.end)


class Fixed(Marked, frozen=True, kw_only=True, tag="fixed"):
    """Start bytes, a body of exactly `length` bytes (0: the start bytes are all), end bytes or none, a checksum or none.

    One that is too short to be told from noise should say `not_after_noise`: it is then taken only after a sound frame, another
    such, or at the stream's beginning.
    """

    length: Annotated[int, msgspec.Meta(ge=0, le=4000)]
    body: ByteSet | None = None
    end: Hex | None = None
    not_after_noise: bool = False

    @property
    def size(self) -> int:
        """See `Marked.size`."""
        return sum(high for _, _, high in self.atoms())

    def doubtful(self) -> bool:
        """See `Marked.doubtful`."""
        return self.not_after_noise

    def atoms(self) -> list[Atom]:
        """See `Marked.atoms`."""
        allowed = byte_set(self.body) if self.body else set(range(256))
        body: list[Atom] = [(byte_class(allowed), self.length, self.length)] if self.length else []
        return [*_literal(unhex(self.start)), *body, *_literal(self._finish()), *_sum_atoms(self.checksum)]

    def _finish(self) -> bytes:
        return unhex(self.end or "")


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

    def reach(self, buffer: bytes, start: int, end: int) -> int | None:
        """See `Marked.reach`."""
        stated = int.from_bytes(buffer[end - self.length_bytes : end], self.order)
        outer = end + stated - self._counted_besides()
        last = outer + self._sum_size()
        return last if outer >= end and last - start <= self.longest else None

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        found = Marked.flaw(self)
        if found is None and len(unhex(self.start)) + self.length_bytes + self._sum_size() >= self.longest:
            return "longest", f"{self.longest} bytes leave no room for a body"
        if found is None and self.longest > 256**self.length_bytes:
            return "longest", f"a length of {self.length_bytes} byte cannot say {self.longest}"
        return found

    def _counted_besides(self) -> int:
        """What the stated length counts besides the body."""
        if self.counts == "whole":
            return len(unhex(self.start)) + self.length_bytes + self._sum_size()
        return self._sum_size() if self.counts == "body_and_checksum" else 0

    def _prefix_size(self) -> int:
        return self.length_bytes

    def _prefix(self, body: bytes) -> bytes:
        stated = len(body) + self._counted_besides()
        if stated >= 256**self.length_bytes:
            raise ValueError(f"a frame {self.name!r} cannot say the length {stated}")
        return stated.to_bytes(self.length_bytes, self.order)


def _literal(data: bytes) -> list[Atom]:
    return [(re.escape(data[index : index + 1]), 1, 1) for index in range(len(data))]


def _sum_atoms(checksum: Checksum | None) -> list[Atom]:
    if checksum is None:
        return []
    kind, count = checksum.pattern()
    return [(kind, count, count)]


def _joined(atoms: list[Atom]) -> bytes:
    return b"".join(kind if (low, high) == (1, 1) else kind + b"{%d,%d}" % (low, high) for kind, low, high in atoms)
