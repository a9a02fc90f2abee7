"""Checksums by name, from crccheck, and how a frame carries one.

What a maker calls "BCC" or "LRC" is one of these names, plus three settings that makers never agree on: where the sum begins,
whether it takes in the end bytes, and how it is written.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, Protocol, cast

import msgspec
from crccheck.checksum import ALLCHECKSUMCLASSES
from crccheck.crc import ALLCRCCLASSES

__all__ = ["CHECKSUMS", "Checksum", "Form", "MarkedChecksum", "calculate", "form_pattern", "width", "written"]

Form = Literal["binary_big", "binary_little", "hex_upper", "hex"]
"""How the sum is written: its bytes, or ASCII hexadecimal digits (`hex` reads either case and writes upper)."""


class Sum(Protocol):
    """What is used of a crccheck class."""

    @classmethod
    def calc(cls, data: bytes) -> int:
        """The sum over these bytes."""

    @classmethod
    def width(cls) -> int:
        """Its width in bits."""


CHECKSUMS: dict[str, type[Sum]] = {
    cls.__name__: cast("type[Sum]", cls)
    for cls in (*ALLCHECKSUMCLASSES, *ALLCRCCLASSES)
    if cls.width() % 8 == 0  # frames are made of bytes
}
"""Every checksum that a profile may name: `ChecksumXor8`, `Checksum8` (a plain sum), `Crc16Modbus` and the rest of crccheck."""


def width(name: str) -> int:
    """The sum's width in bytes."""
    return CHECKSUMS[name].width() // 8


# A shoe's vocabulary is small and every frame comes three times: most sums are asked for again and again.
@lru_cache(maxsize=8192)
def calculate(name: str, data: bytes) -> int:
    """The sum of `data`; `name` is a key of `CHECKSUMS`."""
    return int(CHECKSUMS[name].calc(data))


def form_pattern(form: Form, size: int) -> tuple[bytes, int]:
    """A character class for one written byte of the sum, and how many of them there are for a sum of `size` bytes."""
    if form == "hex_upper":
        return b"[0-9A-F]", 2 * size
    if form == "hex":
        return b"[0-9A-Fa-f]", 2 * size
    return rb"[\x00-\xff]", size


def written(value: int, form: Form, size: int) -> bytes:
    """A sum of `size` bytes as it stands in a frame."""
    if form == "binary_big":
        return value.to_bytes(size, "big")
    if form == "binary_little":
        return value.to_bytes(size, "little")
    return b"%0*X" % (2 * size, value)


class Checksum(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The checksum at the end of a frame.

    The sum begins at the start bytes (`from = "start"`) or after them, and ends with the body or takes in the end bytes
    (`through = "end"`); it is written after the end bytes.
    """

    name: str
    begins: Literal["start", "after_start"] = msgspec.field(name="from")
    through: Literal["body", "end"]
    form: Form

    def pattern(self) -> tuple[bytes, int]:
        """A character class and a count for the written sum."""
        return form_pattern(self.form, width(self.name))

    @property
    def size(self) -> int:
        """How many bytes of the frame the written sum takes."""
        return self.pattern()[1]

    def over(self, start: bytes, body: bytes, end: bytes) -> bytes:
        """The written sum of a frame that is made of these parts."""
        run = (start if self.begins == "start" else b"") + body + (end if self.through == "end" else b"")
        return written(calculate(self.name, run), self.form, width(self.name))

    def wrong(self, start: bytes, body: bytes, end: bytes, stated: bytes) -> str:
        """Why the stated sum does not fit the frame; empty when it does."""
        right = self.over(start, body, end)
        if stated == right or (self.form == "hex" and stated.upper() == right):
            return ""
        binary = self.form.startswith("binary")
        shown = [(part.hex().upper() if binary else part.decode("latin-1")) for part in (stated, right)]
        return f"checksum {shown[0]}, but the bytes give {shown[1]}"


class MarkedChecksum(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The checksum of a line: written after a mark such as `*`, over all that stands before the mark."""

    name: str
    mark: str
    form: Literal["hex_upper", "hex"]
    required: bool

    def strip(self, line: bytes) -> tuple[bytes, str]:
        """The line without its checksum, and why that is wrong (empty: it is right, or absent and not required)."""
        mark = self.mark.encode("latin-1")
        body, found, stated = line.rpartition(mark)
        if not found:
            return line, f"no checksum after {self.mark!r}" if self.required else ""
        right = written(calculate(self.name, body), self.form, width(self.name))
        if stated == right or (self.form == "hex" and stated.upper() == right):
            return body, ""
        return body, f"checksum {stated.decode('latin-1')}, but the bytes give {right.decode('latin-1')}"

    def over(self, body: bytes) -> bytes:
        """Mark and written sum for a line."""
        return self.mark.encode("latin-1") + written(calculate(self.name, body), self.form, width(self.name))
