r"""socat -x -v (or -x): a heading for each block, then its bytes in hexadecimal; written to stderr.

::

    > 2026/11/30 04:43:06.000882629  length=12 from=0 to=11
     02 43 2c 41 53 2c 30 30 31 03 0d 0a              .C,AS,001...
    --

`>` went from socat's first address to its second. We take the first for the device (`socat -x -v /dev/ttyUSB0 PTY`); `swap` says
it was the second. With `-v` a row holds at most 16 bytes and ends at a line feed; with `-x` alone a row is the whole block. `-v`
alone does not hold the bytes.

**The fraction.** Six digits are microseconds. Nine digits are true ones in some versions, but 1.7.4 prints *microseconds* in
nine digits: its `.000882629` is 0.882629 s. A fraction of `.001000000` or more can only be a true one, so a single such heading
at the beginning of the file settles it. Without any, all of n headings would lie in the first thousandth of their second, which
a true clock does once in 1000 to the power of n: so the fractions are then microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablectl.recording.chunks import CHUNK_LIMIT, Chunk
from tablectl.recording.logs import Head, Importer, Line, Reading

__all__ = ["IMPORTER"]

_HEADING = re.compile(
    r"([<>]) (\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{6}|\d{9}))? +length=(\d{1,9}) from=\d+ to=\d+",
    re.ASCII,
)
_MESSAGE = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)? \S*socat\S*\[\d+\] [A-Z] ", re.ASCII)
_PAIRS = re.compile(r"(?: [0-9a-f]{2})+", re.ASCII)
_COLUMNS = 48  # of sixteen bytes, each with a blank before it
_LEAST_TRUE = 1_000_000


class _Block:
    """The block that is being read: its heading's line, how many bytes it announced, what came so far."""

    def __init__(self, number: int, at: int, from_device: bool, length: int):
        self.number = number
        self.at = at
        self.from_device = from_device
        self.length = length
        self.came = 0
        self.data = bytearray()


def sniff(head: Head) -> bool:
    """The first line that is no message of socat is a heading."""
    return _HEADING.fullmatch(next((line for line in head.lines if line and not _MESSAGE.match(line)), "")) is not None


def read(reading: Reading) -> Iterator[Chunk]:
    """One chunk for each block."""
    true = any(_fraction(line) >= _LEAST_TRUE for line in reading.head.lines)
    block: _Block | None = None
    number = 0
    for line in reading.rows():
        number, text = line.number, line.text
        heading = _HEADING.fullmatch(text)
        if heading:
            if block is not None:
                _report_short(reading, block, line)
                yield from reading.chunks(block.at, block.from_device, bytes(block.data))
            if not true and _fraction(text) >= _LEAST_TRUE:
                reading.warn("its clock shows true nanoseconds only from some line on; earlier times may be wrong")
                true = True
            block = _begin(reading, line, heading, true)
        elif text in ("", "--") or _MESSAGE.match(text):
            continue
        else:
            data = _row(text) or (_row(text[:-1].rstrip(" ")) if line.torn else None)
            if data is None:
                bare = "these are no bytes in hexadecimal; was socat run with -v but without -x?"
                reading.bad(bare, line, "bytes")
            elif block is None:
                reading.bad("these bytes belong to no heading, or are more than it says", line, "length")
            else:
                block.came += len(data)
                block.data += data
                if block.came > block.length:
                    reading.bad(f"more than the {block.length} bytes that the heading says", line, "length")
                if block.came >= block.length or len(block.data) >= CHUNK_LIMIT:
                    yield from reading.chunks(block.at, block.from_device, bytes(block.data))
                    block.data.clear()
                if block.came >= block.length:
                    block = None
    if block is not None:
        yield from reading.chunks(block.at, block.from_device, bytes(block.data))
        reading.torn(number, f"{block.came} of {block.length} bytes")


IMPORTER = Importer("socat -x -v", read, sniff)


def _fraction(text: str) -> int:
    """The nine digits of a heading's fraction as a number; 0 for any other line."""
    heading = _HEADING.fullmatch(text)
    digits = heading[6] if heading else None
    return int(digits) if digits and len(digits) == 9 else 0


def _begin(reading: Reading, line: Line, heading: re.Match[str], true: bool) -> _Block | None:
    arrow, year, month, day, clock, fraction, length = heading.groups()
    fraction = fraction or ""
    if len(fraction) == 9 and not true:
        fraction = fraction[3:]
    try:
        at = reading.stamps.moment(f"{year}-{month}-{day}", clock, fraction)
    except ValueError as error:
        reading.bad(str(error), line, "time")
        return None
    reading.recognised = True
    return _Block(line.number, at, arrow == ">", int(length)) if int(length) else None


def _report_short(reading: Reading, block: _Block, line: Line) -> None:
    message = f"only {block.came} of the {block.length} bytes that the heading says"
    reading.bad(message, Line(block.number, b"\n"), "length")


def _row(text: str) -> bytes | None:
    if _PAIRS.fullmatch(text):
        return bytes.fromhex(text)
    columns, seam = text[:_COLUMNS].rstrip(" "), text[_COLUMNS : _COLUMNS + 2]
    return bytes.fromhex(columns) if seam == "  " and _PAIRS.fullmatch(columns) else None
