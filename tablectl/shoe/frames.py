"""What all framing kinds share, and how bytes and sets of bytes are written in a profile.

Bytes are written in hexadecimal (`"05"`, `"0D 0A"`), sets of bytes as ranges of them (`"20-7E 80-FF"`).
"""

from __future__ import annotations

from collections.abc import Set
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import msgspec

from tablectl.shoe.checksums import CHECKSUMS, Checksum, MarkedChecksum

__all__ = [
    "ByteSet",
    "Candidate",
    "Frame",
    "Hex",
    "HexByte",
    "Name",
    "Size",
    "byte_class",
    "byte_set",
    "unhex",
    "unknown_checksum",
]

Hex = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-F]{2}( ?[0-9A-F]{2})*$", examples=["0D 0A"])]
HexByte = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-F]{2}$", examples=["0A"])]
ByteSet = Annotated[
    str, msgspec.Meta(pattern=r"^[0-9A-F]{2}(-[0-9A-F]{2})?( [0-9A-F]{2}(-[0-9A-F]{2})?)*$", examples=["09 20-7E"])
]
Size = Annotated[int, msgspec.Meta(ge=1, le=4096)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9 _-]*$", examples=["card drawn"])]


class Candidate(NamedTuple):
    """Bytes that look like a frame: `body` is what its messages are read from, `why` what is wrong with it (empty: sound).

    `retry` is where to look on when it turns out to be no frame. A `doubtful` one is noise where noise stands just before it.
    """

    start: int
    end: int
    retry: int
    frame: str
    body: bytes
    why: str
    doubtful: bool


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """What all frames share."""

    name: Name
    sent_by: Literal["device", "host"] = "device"

    def flaw(self) -> tuple[str, str] | None:
        """A key whose value cannot be, and why; None when all is well."""
        raise NotImplementedError

    def build(self, body: bytes) -> bytes:
        """The whole frame around a body."""
        raise NotImplementedError


def unhex(text: str) -> bytes:
    """`"0D 0A"` as bytes."""
    return bytes.fromhex(text)


@lru_cache(maxsize=256)
def byte_set(text: str) -> frozenset[int]:
    """`"20-7E 80"` as the bytes it names."""
    found: set[int] = set()
    for part in text.split():
        low, _, high = part.partition("-")
        found.update(range(int(low, 16), int(high or low, 16) + 1))
    return frozenset(found)


def byte_class(allowed: Set[int]) -> bytes:
    """A character class of a regular expression."""
    return b"[" + b"".join(rb"\x%02x" % byte for byte in sorted(allowed)) + b"]" if allowed else b"(?!)"


def unknown_checksum(checksum: Checksum | MarkedChecksum | None) -> tuple[str, str] | None:
    """What `Frame.flaw` says of a checksum whose name the library does not know."""
    if checksum is not None and checksum.name not in CHECKSUMS:
        near = get_close_matches(checksum.name, CHECKSUMS, n=4, cutoff=0.3) or ["ChecksumXor8", "Checksum8", "Crc16Modbus"]
        return "checksum", f"no checksum is called {checksum.name!r}; crccheck has {', '.join(near)} and others"
    if isinstance(checksum, MarkedChecksum) and not (len(checksum.mark) == 1 and checksum.mark.isascii()):
        return "checksum", f"mark {checksum.mark!r} is not one ASCII character"
    return None
