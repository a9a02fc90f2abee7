"""ser2net's trace-both with hexdump: eight bytes a row, `term` from the device and `tcp` to it.

::

    2026/11/30 04:48:30 OPEN (ipv4,127.0.0.1,53218)
    2026/11/30 04:48:32 term 02 43 2c 41 53 2c 30 30  |.C,AS,00|

The time (`timestamp`) is there on demand, and knows whole seconds only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablectl.recording.chunks import Chunk
from tablectl.recording.logs import Head, Importer, Reading

__all__ = ["IMPORTER"]

_STAMP = r"(?:(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d) )?"
_ROW = re.compile(_STAMP + r"(term|tcp) +((?:[0-9a-fA-F]{2} +)+)\|(.*)\|", re.ASCII | re.DOTALL)
_EVENT = re.compile(_STAMP + r"(?:OPEN|CLOSE) .*", re.ASCII)


def sniff(head: Head) -> bool:
    """The first line is bytes, or a connection that opens or closes."""
    first = next(iter(head.lines), "")
    return bool(_ROW.fullmatch(first) or _EVENT.fullmatch(first))


def read(reading: Reading) -> Iterator[Chunk]:
    """One chunk for each row."""
    for line in reading.rows():
        text = line.text
        row = _ROW.fullmatch(text)
        if row is None:
            if _EVENT.fullmatch(text):
                reading.recognised = True
            elif text:
                reading.bad("this is neither bytes (term or tcp) nor OPEN nor CLOSE", line)
            continue
        year, month, day, clock, side, pairs, letters = row.groups()
        data = bytes.fromhex(pairs)
        if len(letters) != len(data):
            reading.bad(f"{len(data)} bytes beside {len(letters)} letters", line, "bytes")
            continue
        at = None
        if year:
            try:
                at = reading.stamps.moment(f"{year}-{month}-{day}", clock, "")
            except ValueError as error:
                reading.bad(str(error), line, "time")
                continue
            reading.warn("its times are whole seconds: beside another port, what came first within a second is not known")
        yield from reading.chunks(at, side == "term", data)


IMPORTER = Importer("ser2net", read, sniff)
