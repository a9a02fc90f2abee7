"""Frames that stand before a known byte: `lines` and `records`."""

from __future__ import annotations

import re

import msgspec

from tablectl.shoe.checksums import MarkedChecksum
from tablectl.shoe.frames import ByteSet, Candidate, Frame, HexByte, Size, byte_class, byte_set, unhex, unknown_checksum

__all__ = ["Ended", "Lines", "Records"]


class Ended(Frame, frozen=True, kw_only=True):
    """A frame that stands before the byte `end`. `filler` may stand between frames and means nothing."""

    end: HexByte
    longest: Size
    filler: ByteSet | None = None

    @property
    def shortest(self) -> int:
        """The fewest bytes a frame can have, end byte and all."""
        return 2

    def filling(self) -> bytes:
        """The bytes that mean nothing between frames; the end byte is one of them."""
        return bytes(sorted(byte_set(self.filler or self.end) | byte_set(self.end)))

    def suffix(self) -> bytes:
        """A pattern that ends with the end byte; its group `body` is what stands in the frame."""
        raise NotImplementedError

    def candidate(self, buffer: bytes, match: re.Match[bytes]) -> Candidate:
        """The frame that was found."""
        return Candidate(match.start(), match.end(), match.end(), self.name, match["body"], "")

    def _filler(self) -> bytes:
        return byte_class(byte_set(self.filler)) + b"{0,2}" if self.filler else b""


class Lines(Ended, frozen=True, kw_only=True, tag="lines"):
    """Lines of text, each ended by the byte `end`.

    A line begins after the last byte that is not in `body`, so that noise outside that set cuts nothing but itself. Printable
    noise that runs into a line takes the line with it: a tail of it might be another message.
    """

    body: ByteSet
    checksum: MarkedChecksum | None = None

    def suffix(self) -> bytes:
        """See `Ended.suffix`."""
        allowed = byte_class(byte_set(self.body))
        end = re.escape(unhex(self.end))
        trailing = self._filler()
        return self._filler() + b"(?<!" + allowed + b")(?P<body>" + allowed + b"{1,%d})" % self.longest + trailing + end

    def candidate(self, buffer: bytes, match: re.Match[bytes]) -> Candidate:
        """See `Ended.candidate`."""
        found = Ended.candidate(self, buffer, match)
        if self.checksum is None:
            return found
        body, why = self.checksum.strip(found.body)
        return found._replace(body=body, why=why)

    def flaw(self) -> tuple[str, str] | None:
        """See `Frame.flaw`."""
        between = byte_set(self.filler or self.end) | byte_set(self.end)
        if between & byte_set(self.body):
            return "body", "holds bytes that end a line or stand between lines"
        return unknown_checksum(self.checksum)

    def build(self, body: bytes) -> bytes:
        """See `Frame.build`: with its checksum only where that is required."""
        total = self.checksum.over(body) if self.checksum and self.checksum.required else b""
        return body + total + unhex(self.end)


class Records(Ended, frozen=True, kw_only=True, tag="records"):
    """Records in a text stream, found by `pattern` (a regular expression), each ended by the byte `end`, its last one.

    `shortest` is the fewest bytes a record can have. `around` is written before and after one.
    """

    pattern: str
    shortest_record: Size = msgspec.field(name="shortest")
    around: str = ""

    @property
    def shortest(self) -> int:
        """See `Ended.shortest`."""
        return self.shortest_record

    def suffix(self) -> bytes:
        """See `Ended.suffix`."""
        return self._filler() + b"(?P<body>(?:" + self.pattern.encode("latin-1") + b")(?<=" + re.escape(unhex(self.end)) + b"))"

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
