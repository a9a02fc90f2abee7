"""Bytes and nothing else: picocom -g, socat -r and -R, cat, and the captures of minicom and tio that look the same.

No time, no direction: all bytes are from the device (`swap`: to it), at `--start` if that was given. What a capture has lost
cannot be seen in it. So the tools that are known to lose bytes have names of their own here, and whoever gives one must say that
it is accepted; and a file that was only guessed to be raw is announced as such.
"""

from __future__ import annotations

from collections.abc import Iterator

from tablectl.recording.chunks import Chunk
from tablectl.recording.logs import Importer, Reading

__all__ = ["GUESSED", "MINICOM", "PICOCOM", "RAW", "TIO_STRIP"]

GUESSED = (
    "is no known tool's log, so it was taken for raw bytes. A capture of minicom -C or tio --log-strip looks the same and lacks"
    " CR, NUL or high bytes; --format raw says that this is none"
)


def read(reading: Reading) -> Iterator[Chunk]:
    """The file's bytes, in pieces."""
    for block in reading.blocks():
        yield from reading.chunks(reading.stamps.start, True, block)


RAW = Importer("raw bytes", read, lambda head: True)
PICOCOM = Importer("picocom -g", read)
MINICOM = Importer("minicom -C", read, lossy="minicom -C drops carriage returns, NUL and high bytes")
TIO_STRIP = Importer("tio --log-strip", read, lossy="tio --log-strip drops control characters, such as STX, ETX and CR")
