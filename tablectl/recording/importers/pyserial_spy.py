"""pyserial's spy:// port: sixteen bytes a row, with the seconds since the port was opened.

::

    000001.606 RX   0000  02 43 2C 41 53 2C 30 30  31 03 0D 0A              .C,AS,001...
    000001.607 TX   0000  06                                                .

`--start` is when the port was opened; without it the bytes have no times. A row is written when the read returns, so it is late
by up to the read's time-out. Rows of one read belong together by their offset. `raw` mode has no rows and is a raw file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablectl.recording.chunks import CHUNK_LIMIT, Chunk
from tablectl.recording.logs import Head, Importer, Reading

__all__ = ["IMPORTER"]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ROW = re.compile(r"(\d{6,9})\.(\d{3}) (RX|TX) +([0-9A-F]{4,12})  ([0-9A-F ]{49})(?: .*)?", re.ASCII | re.DOTALL)
_OTHER = re.compile(r"\d{6,9}\.\d{3} (?:RX +<empty>|(?!RX|TX)[A-Z-]{2,5} .*)", re.ASCII)


def sniff(head: Head) -> bool:
    """The first line is bytes, an empty read, or a control line's call."""
    first = _COLOUR.sub("", next(iter(head.lines), ""))
    return bool(_ROW.fullmatch(first) or _OTHER.fullmatch(first))


def read(reading: Reading) -> Iterator[Chunk]:
    """One chunk for each read or write."""
    stamps = reading.stamps
    at: int | None = None
    side = ""
    data = bytearray()
    due = 0  # the offset of the row that would belong to the bytes at hand
    for line in reading.rows():
        text = _COLOUR.sub("", line.text).rstrip(" ")
        row = _ROW.fullmatch(text.ljust(len("000000.000 RX   0000  ") + 49))
        if row is None:
            if _OTHER.fullmatch(text):
                reading.recognised = True
            elif text:
                reading.bad("this is neither RX nor TX nor a control line's call", line)
            continue
        seconds, fraction, direction, offset, pairs = row.groups()
        if line.torn:
            reading.torn(line.number, "the row has no end, so bytes may be missing from it")
            pairs = pairs.rstrip(" ")
            if f" {pairs}"[-2:-1] == " ":
                pairs = pairs[:-1]  # half a byte
        try:
            came = bytes.fromhex(pairs)
        except ValueError:
            reading.bad("these are no bytes in hexadecimal", line, "bytes")
            continue
        if data and (direction != side or int(offset, 16) != due or len(data) >= CHUNK_LIMIT):
            yield from reading.chunks(at, side == "RX", bytes(data))
            data.clear()
        if not data:
            side = direction
            try:
                at = stamps.elapsed(seconds, fraction)
            except ValueError as error:
                reading.bad(str(error), line, "time")
                continue
        data += came
        due = int(offset, 16) + len(came)
        reading.recognised = True
    if data:
        yield from reading.chunks(at, side == "RX", bytes(data))


IMPORTER = Importer("pyserial spy://", read, sniff)
