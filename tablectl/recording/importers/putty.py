r"""PuTTY, session log type 2 ("All session output"): a heading each time the log was opened, then raw bytes.

::

    =~=~=~=~=~=~=~=~=~=~=~= PuTTY log 2026.11.30 04:49:04 =~=~=~=~=~=~=~=~=~=~=~=\r\n

A heading's time is when logging began, not when a byte came, so it is no byte's time: `--start` gives one. A log that PuTTY
appended to has several headings; none is traffic. Type 1 ("Printable output") begins alike and has lost the control characters
and more. A log without a single control character but tabs and line ends may be one, which is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablectl.recording.chunks import Chunk
from tablectl.recording.logs import Head, Importer, Line, Reading

__all__ = ["IMPORTER"]

_RULE = rb"=~=~=~=~=~=~=~=~=~=~=~="
_HEADING = re.compile(_RULE + rb" PuTTY log \d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d " + _RULE + rb"\r?\n")
_LONGEST = 2 * len(_RULE) + len(" PuTTY log 2026.11.30 04:49:04 \r\n")
_PRINTABLE = bytes(code for code in range(256) if code >= 0x20 and code != 0x7F) + b"\t\n\v\f\r"


def sniff(head: Head) -> bool:
    """It begins with a heading."""
    return _HEADING.match(head.data) is not None


def read(reading: Reading) -> Iterator[Chunk]:
    """The bytes between the headings, in pieces."""
    if not sniff(reading.head):
        reading.bad("it does not begin with PuTTY's heading", Line(1, b"\n"))
    reading.recognised = True
    at = reading.stamps.start
    kept, printable = b"", True
    for block in reading.blocks():
        *parts, last = _HEADING.split(kept + block)
        held = min(len(last), _LONGEST - 1)  # a heading may go on in the next block
        kept = last[len(last) - held :]
        data = b"".join(parts) + last[: len(last) - held]
        printable = printable and not data.translate(None, _PRINTABLE)
        yield from reading.chunks(at, True, data)
    printable = printable and not kept.translate(None, _PRINTABLE)
    yield from reading.chunks(at, True, kept)
    if printable:
        reading.warn(
            "there is no control character in it: if PuTTY logged 'printable output' (type 1), bytes are lost without a trace"
        )


IMPORTER = Importer("PuTTY", read, sniff)
