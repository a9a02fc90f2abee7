r"""jpnevulator --read: bytes in hexadecimal, with a heading for each burst where `--timing-print` was given.

::

    2026-11-30 04:47:52.318752: SHOE
    00000000\t02 43 2C 41 53 2C 30 30 31 03 0D 0A            \t.C,AS,001...

The counter before the first tab (`--byte-count`) and the letters after the last one (`--ascii`) are there on demand, and so is
the name in the heading (`--tty NAME:ALIAS`, `--pass`). The name says on which line the bytes came *in*. So the bytes under the
device's own name are from it, and those under any other are what it was sent. The device is the name that equals the port
(`SHOE` is `shoe`, `/dev/ttyUSB0` is `ttyUSB0`); where none does, the first that speaks is taken for it, which is said, and
`swap` means the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablectl.recording.chunks import CHUNK_LIMIT, Chunk
from tablectl.recording.logs import Head, Importer, Line, Reading

__all__ = ["IMPORTER"]

_HEADING = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{1,9}):(?: (.*))?", re.ASCII | re.DOTALL)
_ROW = re.compile(r"(?:[0-9A-Fa-f]{8}\t)?([0-9A-Fa-f]{2}(?: [0-9A-Fa-f]{2})*) *(?:\t.*)?", re.ASCII | re.DOTALL)

_NAMES = 8


def sniff(head: Head) -> bool:
    """A heading, and bytes under it."""
    first, second = [*head.lines, "", ""][:2]
    return bool(_HEADING.fullmatch(first) and (not second or _ROW.fullmatch(second)))


def read(reading: Reading) -> Iterator[Chunk]:
    """One chunk for each heading."""
    device = _device(reading)
    at: int | None = None
    from_device = True
    counted: bool | None = None
    data = bytearray()
    for line in reading.rows():
        text = line.text
        heading = _HEADING.fullmatch(text)
        if heading:
            yield from reading.chunks(at, from_device, bytes(data)) if data else ()
            data.clear()
            day, clock, fraction, name = heading.groups()
            try:
                at = reading.stamps.moment(day, clock, fraction)
            except ValueError as error:
                reading.bad(f"{error}; what follows keeps the time before it", line, "time")
            from_device = device is None or (name or "").strip() == device
            reading.recognised = True
        elif text.strip():
            row = _row(line, counted)
            if row is None:
                reading.bad("these are no bytes in hexadecimal", line, "bytes")
                continue
            data += row
            counted = "\t" in text[:9]
            reading.recognised = True
            if len(data) >= CHUNK_LIMIT:
                yield from reading.chunks(at, from_device, bytes(data))
                data.clear()
    if data:
        yield from reading.chunks(at, from_device, bytes(data))


IMPORTER = Importer("jpnevulator", read, sniff)


def _device(reading: Reading) -> str | None:
    """Which of the headings' names is the device; None where it does not matter."""
    if not any(_name(line) for line in reading.head.lines):
        return None
    names: list[str] = []
    for line in reading.again().rows():
        name = None if line.torn else _name(line.text)
        if name is not None and name not in names and len(names) < _NAMES:
            names.append(name)
    port = reading.options.port.casefold()
    for name in names:
        if port in (name.casefold(), name.rpartition("/")[2].casefold()):
            return name
    if names:
        reading.warn(
            f"its headings name {' and '.join(names)}, and not {reading.options.port!r}: {names[0]} was taken for the device"
            " (--port NAME or --swap says otherwise)"
        )
    return names[0] if names else None


def _name(text: str) -> str | None:
    """The name in a heading, which may be empty; None for any other line."""
    heading = _HEADING.fullmatch(text)
    return None if heading is None else (heading[4] or "").strip()


def _row(line: Line, counted: bool | None) -> bytes | None:
    """The bytes of a row. `counted` says whether the rows before it had a counter; None when there were none."""
    text = line.text
    match = _ROW.fullmatch(text)
    if line.torn:
        if "\t" not in text[:9] and (counted or (counted is None and not text.strip("0"))):
            return None  # cut off in the middle of the counter
        if text == "20":
            return None  # the beginning of a heading, or a byte: rather none than one that never was
        if text[-2:-1] == " ":
            match = match or _ROW.fullmatch(text[:-1])  # cut off in the middle of a byte
    return bytes.fromhex(match[1]) if match else None
