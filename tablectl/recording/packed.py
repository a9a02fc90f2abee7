"""Files that may be packed with gzip: read as what was packed, whatever their names are.

A closed recording of a live table is packed; nobody who reads one has to care. A packed file that was cut off gives what can be
unpacked of it.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["BLOCK", "unpacked", "unpacked_size"]

BLOCK = 1 << 16

_MAGIC = b"\x1f\x8b\x08"
_TRAILER = 4
"""The last bytes of a packed file say how long it was (RFC 1952), modulo 4 GiB."""


def unpacked(file: BinaryIO, torn: Callable[[str], None], bad: Callable[[str], None]) -> BinaryIO:
    """What is in a file, which is unpacked where it is packed.

    `torn` is told that a packed file ends too early, `bad` that it is damaged; either way what comes before that is read.
    """
    packed = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    return io.BufferedReader(_Unpacked(file, torn, bad), BLOCK) if packed else file


def unpacked_size(path: Path) -> int:
    """The bytes that are in a file. For one that is packed and was cut off this is only a guess. Raises `OSError`."""
    with path.open("rb") as file:
        packed = file.read(len(_MAGIC)) == _MAGIC
        size = file.seek(0, io.SEEK_END)
        if not packed or size < _TRAILER:
            return size
        file.seek(-_TRAILER, io.SEEK_END)
        return max(size, int.from_bytes(file.read(_TRAILER), "little"))


class _Unpacked(io.RawIOBase):
    """What gzip packed, ending where it cannot be unpacked further."""

    def __init__(self, file: BinaryIO, torn: Callable[[str], None], bad: Callable[[str], None]) -> None:
        self._gzip = gzip.GzipFile(fileobj=file, mode="rb")
        self._torn = torn
        self._bad = bad
        self._over = False

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Unpack the next bytes."""
        if self._over:
            return 0
        try:
            data = self._gzip.read1(len(buffer))
        except EOFError:
            self._over = True
            self._torn("the packed file ends too early")
            return 0
        except (gzip.BadGzipFile, zlib.error) as error:
            self._over = True
            self._bad(f"the packed file is damaged: {error}")
            return 0
        buffer[: len(data)] = data
        return len(data)
