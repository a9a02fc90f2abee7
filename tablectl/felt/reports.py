"""What the table and the process that watches its felt say to each other: one JSON object a line, over two pipes.

The watcher says what was tracked, how each camera does, that it lives, and what evidence was kept. The table asks for evidence,
and for an end. A pipe that is closed is the end, too.
"""

from __future__ import annotations

import msgspec

from tablectl.errors import InputError
from tablectl.felt.evidence import Keep, Kept
from tablectl.felt.sighting import Tracked

__all__ = [
    "Alive",
    "Asked",
    "CameraSays",
    "Happened",
    "Report",
    "Settings",
    "SourceSettings",
    "Stands",
    "Stop",
    "encode",
    "read_asked",
    "read_report",
]


class SourceSettings(msgspec.Struct, frozen=True):
    """One camera, as the configuration has it; paths are absolute."""

    name: str
    source: str
    fps: float = 15.0


class Settings(msgspec.Struct, frozen=True, tag="settings"):
    """The first line that a watcher is told: what to look at. `evidence` is a folder; None keeps none."""

    calibration: str
    cameras: tuple[SourceSettings, ...]
    evidence: str | None = None
    evidence_keep_days: float | None = None
    evidence_keep_mb: float | None = None
    video: str | None = None
    video_keep_mb: float = 50_000


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Finish the evidence that is waited for, and end."""


Asked = Settings | Keep | Stop


class Happened(msgspec.Struct, frozen=True, tag="happened"):
    """What following completed, with the sighting's time (microseconds since 1970)."""

    at: int
    events: tuple[Tracked, ...]


class CameraSays(msgspec.Struct, frozen=True, tag="camera"):
    """A camera changed: `back`, `lost`, `dark`, `frozen` or `ended`. `sees` tells whether any camera sees the felt now."""

    at: int
    camera: str
    state: str
    why: str
    sees: bool


class Stands(msgspec.Struct, frozen=True, tag="stands"):
    """Whether a camera stands where it was calibrated, said when that changes: a state of `tablectl.felt.drift.Drift`."""

    at: int
    camera: str
    state: str
    mm: float | None


class Alive(msgspec.Struct, frozen=True, tag="alive"):
    """Said each second: frames looked at and places read since the last, and the longest look in milliseconds."""

    at: int
    frames: int
    read: int
    slowest_ms: float


Report = Happened | CameraSays | Stands | Alive | Kept

_ENCODER = msgspec.json.Encoder()
_REPORTS: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)
_ASKED: msgspec.json.Decoder[Asked] = msgspec.json.Decoder(Asked)


def encode(said: Report | Asked) -> bytes:
    """One line, with its end."""
    return _ENCODER.encode(said) + b"\n"


def read_report(line: bytes) -> Report:
    """What the watcher says. Raises `InputError`."""
    try:
        return _REPORTS.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise InputError(f"no report: {fault}") from None


def read_asked(line: bytes) -> Asked:
    """What the table asks. Raises `InputError`."""
    try:
        return _ASKED.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise InputError(f"nothing that can be asked: {fault}") from None
