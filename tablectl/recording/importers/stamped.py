r"""Any other text in which every line begins with a time, such as what `ts` of moreutils writes: read by a pattern.

The pattern is a regular expression that a line begins with. Its named groups say what is what:

| group | is |
|---|---|
| `at` | the time: a date with or without zone, a time of day, seconds since 1970, or seconds since the tool began |
| `data` | the bytes as they came; when they end with the line, its line feed is one of them |
| `hex` | in place of `data`: the bytes as hexadecimal pairs, with or without blanks |
| `port` | optional: the port, in place of the one that was asked for |
| `direction` | optional: `<`, `rx`, `in`, `read`, `recv`, `from` from the device; `>`, `tx`, `out`, `write`, `send`, `to` to it |

Without a pattern it is `PATTERN`: a date or epoch seconds, one blank, the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablectl.errors import UsageError
from tablectl.recording.chunks import Chunk, checked_port
from tablectl.recording.logs import Head, Importer, Line, Reading

__all__ = ["IMPORTER", "PATTERN"]

PATTERN = r"(?P<at>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d{10}\.\d{1,9}) (?P<data>.*)"

_DEFAULT = re.compile(PATTERN.encode("ascii"))
_FROM_DEVICE = {"<", "rx", "in", "r", "read", "recv", "from"}
_TO_DEVICE = {">", "tx", "out", "w", "write", "send", "to"}


def sniff(head: Head) -> bool:
    """Every whole line begins with a date or epoch seconds and a blank."""
    return bool(head.lines) and all(_DEFAULT.match(line.encode("latin-1")) for line in head.lines)


def read(reading: Reading) -> Iterator[Chunk]:
    """One chunk for each line."""
    pattern = _compiled(reading.options.pattern)
    if reading.options.pattern is None:
        reading.warn("each line was taken for a time, a blank and the bytes (--pattern says otherwise)")
    for line in reading.rows():
        match = pattern.match(line.data.removesuffix(b"\n"))
        if match is None:
            if line.data.strip():
                reading.bad("the pattern does not fit the line", line)
            continue
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        try:
            at = reading.stamps.read(groups["at"].decode("latin-1").strip()) if "at" in groups else None
        except ValueError as error:
            reading.bad(str(error), line, "at")
            continue
        way = groups.get("direction", b"<").decode("latin-1").strip().casefold()
        if way not in _FROM_DEVICE | _TO_DEVICE:
            reading.bad(f"{way[:40]!a} is no direction", line, "direction")
            continue
        port = None
        try:
            if "port" in groups:
                port = checked_port(groups["port"].decode("latin-1").strip().lower())
        except UsageError as error:
            reading.bad(error.message, line, "port")
            continue
        data = _data(reading, line, match, groups)
        if data is not None:
            yield from reading.chunks(at, way in _FROM_DEVICE, data, port)


IMPORTER = Importer("stamped text", read, sniff)


def _data(reading: Reading, line: Line, match: re.Match[bytes], groups: dict[str, bytes]) -> bytes | None:
    if "hex" in groups:
        try:
            return bytes.fromhex(groups["hex"].decode("latin-1"))
        except ValueError:
            reading.bad("these are no bytes in hexadecimal", line, "hex")
            return None
    if "data" not in groups:
        return b""
    to_the_end = match.end("data") == len(line.data.removesuffix(b"\n"))
    return groups["data"] + (b"\n" if to_the_end and line.ended else b"")


def _compiled(pattern: str | None) -> re.Pattern[bytes]:
    if pattern is None:
        return _DEFAULT
    try:
        compiled = re.compile(pattern.encode("utf-8"))
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"{pattern!r} is no regular expression: {error}", field="--pattern") from None
    names = set(compiled.groupindex)
    unknown = names - {"at", "data", "hex", "port", "direction"}
    if unknown or not names & {"data", "hex"}:
        what = f"has an unknown group {min(unknown)!r}" if unknown else "has neither a group (?P<data>...) nor (?P<hex>...)"
        raise UsageError(f"{pattern!r} {what}", field="--pattern")
    return compiled
