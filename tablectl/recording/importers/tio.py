r"""tio --log with --timestamp: a stamp for each line, or, with --output-mode hex, for each burst.

::

    [2026-11-30T04:44:45.355] ...bytes as they came, up to a line feed
    [04:44:30.304] ...            (24hour: the day comes from --start)
    [1796013998.868] ...          (epoch)
    [2026-11-30T04:46:33.870] 02 43 2c 41 53 2c 30 30 31 03 0d 0a \r\n

In line mode the stamp is that of the line's first byte: a frame that has no line feed joins the next one and its time.
`24hour-start` and `24hour-delta` look like `24hour` and cannot be told from it; their times would be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablectl.recording.chunks import CHUNK_LIMIT, Chunk
from tablectl.recording.logs import Head, Importer, Line, Reading

__all__ = ["HEX", "LINES"]

_STAMP = re.compile(rb"\[((?:\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\d\.\d{3,6}|\d{9,11}\.\d{3,6})\] ")
_LONGEST = 32
_PAIRS = re.compile(rb"(?:[0-9a-fA-F]{2} )*(?:[0-9a-fA-F]{2})? ?")
_NO_STAMP = "the line does not begin with a time in brackets"


def sniff_hex(head: Head) -> bool:
    """Every line is a stamp and pairs of hexadecimal digits, each followed by a blank."""
    rows = [line.encode("latin-1") for line in head.lines if line]
    stamps = [_STAMP.match(row) for row in rows]
    return bool(rows) and all(stamp and _PAIRS.fullmatch(row, stamp.end()) for stamp, row in zip(stamps, rows, strict=True))


def sniff_lines(head: Head) -> bool:
    """It begins with a stamp."""
    return _STAMP.match(head.data) is not None


def read_hex(reading: Reading) -> Iterator[Chunk]:
    """One chunk for each stamp."""
    for line in reading.rows():
        row = line.data.rstrip(b"\r\n")
        if not row:
            continue
        stamp = _STAMP.match(row)
        if stamp is None:
            reading.bad(_NO_STAMP, line, "time")
            continue
        pairs = row[stamp.end() :]
        if line.torn and not _PAIRS.fullmatch(pairs):
            reading.torn(line.number, "half a byte")
            pairs = pairs[:-1]
        if not _PAIRS.fullmatch(pairs):
            reading.bad("these are no bytes in hexadecimal", line, "bytes")
            continue
        try:
            at = reading.stamps.read(stamp[1].decode())
        except ValueError as error:
            reading.bad(str(error), line, "time")
            continue
        yield from reading.chunks(at, True, bytes.fromhex(pairs.decode()))


def read_lines(reading: Reading) -> Iterator[Chunk]:
    """One chunk for each line; its line feed belongs to it."""
    at: int | None = None
    first, unstamped = 0, 0
    for line in reading.lines(CHUNK_LIMIT):
        data = line.data
        if line.first:
            stamp = _STAMP.match(data)
            if stamp is None:
                if not reading.recognised or _torn_stamp(line):
                    reading.bad(_NO_STAMP, line, "time")
                    continue
                first = first or line.number
                unstamped += 1
            else:
                data = data[stamp.end() :]
                try:
                    at = reading.stamps.read(stamp[1].decode())
                except ValueError as error:
                    reading.bad(f"{error}; the line got the time of the one before", line, "time")
        yield from reading.chunks(at, True, data)
    if unstamped:
        reading.warn(f"lines without a time of their own got that of the line before: {unstamped}, the first is line {first}")


LINES = Importer("tio", read_lines, sniff_lines)
HEX = Importer("tio --output-mode hex", read_hex, sniff_hex)


def _torn_stamp(line: Line) -> bool:
    """The file ends in the middle of a stamp."""
    return line.torn and len(line.data) < _LONGEST and line.data.startswith(b"[") and b"]" not in line.data[:-1]
