"""Frames that stand before a known byte: `lines` and `records`."""

from __future__ import annotations

import re
from functools import lru_cache

from tablectl.shoe.checksums import MarkedChecksum
from tablectl.shoe.frames import ByteSet, Candidate, Frame, HexByte, Size, byte_set, unhex, unknown_checksum

__all__ = ["Ended", "Lines", "Records"]


class Ended(Frame, frozen=True, kw_only=True):
    """A frame that stands before the byte `end`. `filler` may stand between frames and means nothing."""

    end: HexByte
    longest: Size
    filler: ByteSet | None = None

    def least(self) -> int:
        """The fewest bytes a frame can have, end byte and all."""
        return 2

    def filling(self) -> bytes:
        """The bytes that mean nothing between frames."""
        return _sorted(self.filler or "")

    def find(self, buffer: bytes, low: int, end: int) -> Candidate | None:
        """The frame that ends at `end`, just behind its end byte, and begins at or after `low`; None when there is none."""
        raise NotImplementedError


class Lines(Ended, frozen=True, kw_only=True, tag="lines"):
    """Lines of text, each ended by the byte `end`.

    A line begins after the last byte that is not in `body`, so that noise outside that set cuts nothing but itself. Printable
    noise that runs into a line takes the line with it: a tail of it might be another message.
    """

    body: ByteSet
    checksum: MarkedChecksum | None = None

    def filling(self) -> bytes:
        """See `Ended.filling`: an end byte with nothing before it is an empty line."""
        return Ended.filling(self) + unhex(self.end)

    def find(self, buffer: bytes, low: int, end: int) -> Candidate | None:
        """See `Ended.find`."""
        allowed, filler = _sorted(self.body), _sorted(self.filler or "")
        line = buffer[low : end - 1].rstrip(filler)
        start = low + len(line.rstrip(allowed))
        body = buffer[start : low + len(line)]
        if not body or (start == low and low and buffer[low - 1] in allowed):  # nothing, or the tail of a line too long
            return None
        body, why = self.checksum.strip(body) if self.checksum else (body, "")
        return Candidate(start, end, end, self.name, body, why, False)

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        if byte_set(self.body) & set(self.filling()):
            return "body", "holds bytes that end a line or stand between lines"
        return unknown_checksum(self.checksum)

    def build(self, body: bytes) -> bytes:
        """See `Frame.build`: with its checksum only where that is required."""
        total = self.checksum.over(body) if self.checksum and self.checksum.required else b""
        return body + total + unhex(self.end)


class Records(Ended, frozen=True, kw_only=True, tag="records"):
    """Records in a text stream, found by `pattern` (a regular expression), each ended by the byte `end`, its last one.

    The longest record that fits a message is taken; what ran into it from before is noise.
    `shortest` is the fewest bytes a record can have. `around` is written before and after one.
    """

    pattern: str
    shortest: Size
    around: str = ""

    def least(self) -> int:
        """See `Ended.least`."""
        return self.shortest

    def find(self, buffer: bytes, low: int, end: int) -> Candidate | None:
        """See `Ended.find`: the earliest beginning from which all that follows is one record."""
        match = _whole(self.pattern, self.end).search(buffer, low, end)
        return Candidate(match.start(), end, match.start() + 1, self.name, match[0], "", False) if match else None

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        try:
            re.compile(self.pattern.encode("latin-1"))
        except (re.error, UnicodeEncodeError) as error:
            return "pattern", f"no regular expression: {error}"
        if not self.around.isascii():
            return "around", "is not ASCII"
        return None

    def build(self, body: bytes) -> bytes:
        """See `Frame.build`."""
        around = self.around.encode("latin-1")
        return around + body + around


@lru_cache(maxsize=64)
def _sorted(allowed: str) -> bytes:
    return bytes(sorted(byte_set(allowed)))


@lru_cache(maxsize=64)
def _whole(pattern: str, end: str) -> re.Pattern[bytes]:
    return re.compile(b"(?:" + pattern.encode("latin-1") + b")(?<=" + re.escape(unhex(end)) + rb")\Z", re.DOTALL)
