"""The native recording: text, one chunk a line, so that `grep`, `sort`, `tail` and a pair of eyes can read it.

::

    # tablectl recording 1
    # house: fr
    # profile.shoe: bee-tek
    (1796014107.421005) shoe < 05 31 44 90 AE 03 42 38

Seconds and six digits since 1970 UTC, the port, `<` from the device or `>` to it, the bytes. A line that begins with `#` is a
comment. Above the first chunk, `# key: value` says what the recording is of:

| key | value |
|---|---|
| `table`, `house` | whose it is, and by which rules it was played |
| `profile.PORT` | the firmware profile that decodes this port |
| `zone` | the zone of the clock on the wall |
| `time` | `none`: the log knew no times; what stands in their place only counts the chunks, so that `sort` keeps the order |
| `source.N` | the log that was imported |
| `ledger` | the ledger of a live table that this was recorded for |
| `calibration`, `deck` | what the cameras measured by, and the deck enrolled in it: name and SHA-256, as in the pin |

In the recording of a live table `profile.table: table` stands for no firmware: what is on that port, `table_lines` tells.

Seconds are written with at least ten digits, so that text order is time order. `grep` loses the header: a recording without one
is read, and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import IO, NamedTuple

from tablectl.errors import InputError, UsageError
from tablectl.ledger.pin import Pinned
from tablectl.recording.chunks import CHUNK_LIMIT, Chunk, Direction, checked_port, pieces
from tablectl.recording.logs import Head, Importer, Line, Reading
from tablectl.recording.stamps import LATEST
from tablectl.recording.table_lines import LIVE

__all__ = [
    "FIRST_LINE",
    "IMPORTER",
    "NO_TIMES",
    "Writer",
    "header_lines",
    "header_of",
    "line_of",
    "pinned_lines",
    "pinned_of",
    "profiles_of",
]

FIRST_LINE = "# tablectl recording 1"
NO_TIMES = {"time": "none"}
"""The header of a recording whose log knew no times."""

_VERSION = re.compile(r"# tablectl recording (\S+)")
_HEADER = re.compile(r"# ?([a-z][A-Za-z0-9_.-]*): (.*)")
_CHUNK = re.compile(
    r"\((\d{1,12})\.(\d{6})\) ([A-Za-z0-9][A-Za-z0-9_.-]{0,39}) ([<>]) ((?:[0-9A-Fa-f]{2} )*[0-9A-Fa-f]{2})", re.ASCII
)
_PINNED = re.compile(r"(.+) ([0-9a-f]{64})", re.ASCII)
_SAFE_DIGITS = 11  # of seconds: twelve may be later than the year 9999
_TIME = re.compile(r"\((\d{1,12})\.(\d{6})\)", re.ASCII)


class Writer:
    """Writes a recording to a binary stream, flushing nothing: when to do that is the caller's to know.

    A chunk without a time takes the time of the one before it. Raises `UsageError` for a header or a port that no line can hold.
    """

    def __init__(self, out: IO[bytes], header: Mapping[str, str] | None = None):
        self._out = out
        header = header or {}
        self._counts = header.get("time") == NO_TIMES["time"]
        self._last = 0
        out.write(header_lines(header))

    def write(self, chunk: Chunk) -> None:
        """Write one chunk, in as many lines as its length asks for."""
        checked_port(chunk.port)
        for piece in pieces(chunk.data):
            if self._counts:
                at, self._last = self._last, self._last + 1
            else:
                at = self._last = self._last if chunk.at is None else chunk.at
            self._out.write(line_of(at, chunk.port, chunk.direction, piece))


def header_lines(header: Mapping[str, str]) -> bytes:
    """What a recording begins with. Raises `UsageError` for a key or a value that no line can hold."""
    lines = [FIRST_LINE]
    for key, value in header.items():
        line = f"# {key}: {value.strip()}"
        if not _HEADER.fullmatch(line) or not value.isprintable():
            raise UsageError(f"the header line {line!r} does not fit a recording")
        lines.append(line)
    return "".join(f"{line}\n" for line in lines).encode()


def line_of(at: int, port: str, direction: Direction, data: bytes) -> bytes:
    """The line of a chunk: `at` in microseconds since 1970, at most `CHUNK_LIMIT` bytes."""
    seconds, micros = divmod(at, 1_000_000)
    return f"({seconds:010d}.{micros:06d}) {port} {direction} {data.hex(' ').upper()}\n".encode("ascii")


def header_of(head: Head) -> dict[str, str]:
    """What a recording says of itself above its first chunk."""
    found: dict[str, str] = {}
    for line in head.lines:
        if not line.startswith("#"):
            break
        match = _HEADER.fullmatch(line.encode("latin-1").decode("utf-8", errors="replace"))
        if match:
            found[match[1]] = match[2].strip()
    return found


def profiles_of(header: Mapping[str, str]) -> dict[str, str]:
    """The firmware profile of each port that the header names; what a live table says itself has none."""
    named = {key: name for key, name in header.items() if (key, name) not in LIVE.items()}
    return {key.removeprefix("profile."): name for key, name in named.items() if key.startswith("profile.")}


def pinned_lines(calibration: Pinned | None, deck: Pinned | None) -> dict[str, str]:
    """What the header says of a table's cameras, that of the ledger's pin: `NAME SHA-256` each; nothing where there is none."""
    found = {"calibration": calibration, "deck": deck}
    return {key: f"{pinned.name} {pinned.digest}" for key, pinned in found.items() if pinned is not None}


def pinned_of(header: Mapping[str, str]) -> tuple[Pinned | None, Pinned | None]:
    """The calibration and the deck that the header names; None where it names none, as before they were written down."""
    matches = (_PINNED.fullmatch(header.get(key, "")) for key in ("calibration", "deck"))
    calibration, deck = (Pinned(match[1], match[2]) if match else None for match in matches)
    return calibration, deck


def sniff(head: Head) -> bool:
    """The first line says so, or the first line that is no comment is a chunk."""
    if head.data.startswith(b"# tablectl recording "):
        return True
    first = next((line for line in head.lines if line and not line.startswith("#")), "")
    return not isinstance(_parsed(first), _Fault)


def read(reading: Reading) -> Iterator[Chunk]:
    """The chunks of a recording. A bad line is reported and passed over."""
    untimed = header_of(reading.head).get("time") == NO_TIMES["time"]
    as_it_is = not untimed and not reading.options.swap
    for line in reading.rows():
        text = line.text
        if text.startswith("#"):
            if line.number == 1:
                _check_version(reading, line)
            continue
        if not text.strip() and line.ended:
            continue
        parsed = _parsed(text)
        if isinstance(parsed, _Fault) and reading.recognised and line.torn and parsed.rest is not None:
            parsed = _parsed(parsed.rest)  # a byte was cut in half: the whole ones before it arrived
        if isinstance(parsed, _Fault):
            reading.bad(parsed.message, line, parsed.field)
            continue
        if not line.ended:
            reading.torn(line.number, "the last line has no end, so bytes may be missing from it")
        if not reading.recognised:
            reading.warn(f"it does not begin with {FIRST_LINE!r}, so it says nothing of table, house and profiles")
            reading.recognised = True
        if as_it_is and len(parsed.data) <= CHUNK_LIMIT:
            yield parsed
        else:
            at = None if untimed else parsed.at
            yield from reading.chunks(at, parsed.direction == "<", parsed.data, parsed.port)


IMPORTER = Importer("tablectl (native recording)", read, sniff)


class _Fault(NamedTuple):
    """Why a line is no chunk; `rest` is the line without its last half byte, where that is the reason."""

    field: str | None
    message: str
    rest: str | None = None


def _check_version(reading: Reading, line: Line) -> None:
    match = _VERSION.fullmatch(line.text)
    if match is None:
        return
    if match[1] != "1":
        raise InputError(f"recording version {match[1]} is not known, only 1", where=str(reading.path), line=1)
    reading.recognised = True


def _parsed(text: str) -> Chunk | _Fault:
    plain = _CHUNK.fullmatch(text)
    if plain and len(plain[1]) <= _SAFE_DIGITS:
        way: Direction = "<" if plain[4] == "<" else ">"
        return Chunk(int(plain[1] + plain[2]), plain[3], way, bytes.fromhex(plain[5]))
    parts = text.split(" ", 3)
    if len(parts) < 4:
        return _Fault(None, "expected (SECONDS.MICROS) PORT < BYTES")
    time, port, direction, data = parts
    match = _TIME.fullmatch(time)
    at = int(match[1]) * 1_000_000 + int(match[2]) if match else LATEST + 1
    if at > LATEST:
        return _Fault("time", f"{_short(time)} is no time such as (1796014107.421005)")
    try:
        checked_port(port)
    except UsageError as error:
        return _Fault("port", _short(error.message))
    if direction not in ("<", ">"):
        return _Fault("direction", f"{_short(direction)} is neither < nor >")
    way = "<" if direction == "<" else ">"
    try:
        found = bytes.fromhex(data)
    except ValueError:
        whole = data.rpartition(" ")[0]
        return _Fault("bytes", "these are no bytes in hexadecimal pairs", f"{time} {port} {direction} {whole}")
    if not found:
        return _Fault("bytes", "there are no bytes")
    return Chunk(at, port, way, found)


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else f"{text[:40]}...")
