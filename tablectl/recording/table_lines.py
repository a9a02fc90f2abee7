"""What a live table takes in that is no device's bytes, as lines of its recording on the port `table`.

One JSON object a line, so that a recording alone rebuilds the ledger of its day:

| line | is |
|---|---|
| `{"event":"tick"}` | an observation as the contract writes it, without `at`: the time of its chunk is its `at` |
| `{"command":{...}}` | a command that was taken or refused, as the ledger holds it, byte for byte |
| `{"start":{...}}` | the daemon began |
| `{"felt":{...}}` | what following saw of the felt (`tablectl.felt.sighting`), to be fused with the shoe's cards |
| `{"evidence":{...}}` | what was kept of an alert's pictures, as the ledger holds it, byte for byte |

The header says `profile.table: table`. In such a recording the links that came up and went down are observations of this port;
none is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from tablectl.errors import InputError
from tablectl.observations import Observation, decode, encode
from tablectl.recording.logs import FAULTS_TOLD, LINE_LIMIT

__all__ = ["LIVE", "TABLE", "Lines", "Remark", "RemarkKind", "is_live", "line_of", "remark_line"]

TABLE = "table"
"""The port's name, and in the header also its profile's."""

LIVE = {f"profile.{TABLE}": TABLE}
"""What the header of a live table's recording says beside table, house and profiles."""

TOO_LONG = f"the line is longer than {LINE_LIMIT} bytes"
SHOWN = 200
"""The letters of a complaint that are shown: it may quote what it is about."""

RemarkKind = Literal["command", "start", "felt", "evidence"]

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_KINDS: dict[str, RemarkKind] = {"command": "command", "start": "start", "felt": "felt", "evidence": "evidence"}


class Remark(NamedTuple):
    """What was recorded and is no observation: where it was read, its kind, its JSON object to the byte, and when."""

    where: str
    kind: RemarkKind
    body: bytes
    at: str | None


def is_live(header: Mapping[str, str]) -> bool:
    """Whether a recording is a live table's, with lines on the port `table`."""
    return header.get(f"profile.{TABLE}") == TABLE


def line_of(observation: Observation) -> bytes:
    """The line of an observation; its `at` is left out, and belongs to the chunk."""
    return encode(msgspec.structs.replace(observation, at=None)) + b"\n"


def remark_line(kind: RemarkKind, body: bytes) -> bytes:
    """The line of a remark. Raises `ValueError` when `body` is not exactly one JSON object on one line."""
    try:
        _object(body)
    except InputError as error:
        raise ValueError(error.message) from None
    if body != body.strip() or b"\n" in body:
        raise ValueError("the object must stand on one line, with no blanks around it")
    return b'{"%s":%s}\n' % (kind.encode("ascii"), body)


class Lines:
    """The port's bytes on their way to observations and remarks.

    A line that is neither is told and passed over: `bad` counts them, and `warnings` has the first of them in words.
    """

    def __init__(self) -> None:
        self.bad = 0
        self.warnings: list[str] = []
        self._buffer = bytearray()
        self._number = 0
        self._overlong = False

    @property
    def pending(self) -> int:
        """How many bytes of an unfinished line are kept."""
        return len(self._buffer)

    def feed(self, data: bytes, at: str | None) -> Iterator[Observation | Remark]:
        """Take the next bytes, recorded at `at`; give what is now whole."""
        self._buffer += data
        if b"\n" not in data:
            self._shorten()
            return
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer[:] = rest
        for line in lines:
            self._number += 1
            if self._overlong:
                self._overlong = False
            elif len(line) > LINE_LIMIT:
                self._told(TOO_LONG, self._number)
            elif line.strip():
                try:
                    yield self._parsed(line, at)
                except InputError as error:
                    self._told(error.message if error.field is None else f"{error.field}: {error.message}", self._number)
        self._shorten()

    def finish(self) -> None:
        """No more bytes come: a line without its end was torn, and is nothing."""
        if self._buffer and not self._overlong:
            self.warnings.append(f"the last line of port {TABLE!r} has no end, so it was not taken")
        self._buffer.clear()

    def _parsed(self, line: bytes, at: str | None) -> Observation | Remark:
        if not line.startswith(b'{"event"'):
            found = _object(line)
            kind = _KINDS.get(next(iter(found), ""))
            if kind is not None and len(found) == 1:
                body = bytes(found[kind])
                _object(body, kind)
                return Remark(f"{TABLE} {at or ''}".rstrip(), kind, body, at)
        observation = decode(line)
        return observation if at is None else msgspec.structs.replace(observation, at=at)

    def _shorten(self) -> None:
        """Keep no line that is longer than any."""
        if len(self._buffer) > LINE_LIMIT:
            if not self._overlong:
                self._told(TOO_LONG, self._number + 1)
            self._overlong = True
            self._buffer.clear()

    def _told(self, message: str, number: int) -> None:
        self.bad += 1
        if self.bad <= FAULTS_TOLD:
            shown = message if len(message) <= SHOWN else f"{message[:SHOWN]}..."
            self.warnings.append(f"port {TABLE!r}, its line {number}: {shown}")


def _object(text: bytes, field: str | None = None) -> dict[str, msgspec.Raw]:
    """The values of a JSON object, unread. Raises `InputError`."""
    try:
        return _OBJECT.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"no JSON object: {error}", field=field) from None
