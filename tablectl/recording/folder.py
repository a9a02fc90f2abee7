"""The recordings of a live table in their folder: what they are called, in which order, and which belong to a ledger.

A file is named by when it was begun, `20261130T102715.123456Z.rec`, or `.rec.gz` once it is packed. The order of the names is the
order in which they were written, even where the clock was set back. What stands before the suffix names the recording for good.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tablectl.errors import InputError
from tablectl.recording.logs import head_of
from tablectl.recording.native import header_of

__all__ = [
    "PACKED",
    "PLAIN",
    "Position",
    "begun_at",
    "find",
    "ledger_if_any",
    "ledger_of",
    "name_of",
    "of_ledger",
    "recordings",
    "stem_of",
]

PLAIN = ".rec"
PACKED = ".rec.gz"

_NAME = re.compile(r"(\d{8}T\d{6}\.\d{6}Z)(\.rec|\.rec\.gz)", re.ASCII)
_FORM = "%Y%m%dT%H%M%S.%fZ"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Position(NamedTuple):
    """A place in a recording: the file's name when it was written, and how many bytes of it come before, unpacked."""

    file: str
    offset: int


def name_of(at: int) -> str:
    """The name of a recording that begins at this time, in microseconds since 1970 UTC."""
    return f"{_EPOCH + at * _MICROSECOND:{_FORM}}{PLAIN}"


@lru_cache(maxsize=256)  # the live table asks at each commit
def stem_of(name: str) -> str | None:
    """What names a recording, packed or not; None for a file that is none."""
    match = _NAME.fullmatch(name)
    return match[1] if match and _micros(match[1]) is not None else None


def begun_at(path: Path) -> int:
    """When a recording was begun by its name, in microseconds since 1970 UTC. Raises `ValueError` when it is none."""
    at = _micros(stem_of(path.name) or "")
    if at is None:
        raise ValueError(f"{path.name!r} is no recording's name")
    return at


def _micros(stem: str) -> int | None:
    try:
        moment = datetime.strptime(stem, _FORM).replace(tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // _MICROSECOND


def recordings(folder: Path) -> list[Path]:
    """The recordings of a folder, oldest first. One that was being packed when the power failed is there once, as it was."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):  # a name comes before the same with .gz
        stem = stem_of(path.name)
        if stem is not None:
            found.setdefault(stem, path)
    return list(found.values())


def find(folder: Path, name: str) -> Path | None:
    """The file of a recording that was once written under this name, which may be packed by now; None when it is gone."""
    stem = stem_of(name)
    candidates = (folder / f"{stem}{suffix}" for suffix in (PLAIN, PACKED))
    return next((path for path in candidates if path.exists()), None)


def of_ledger(folder: Path, name: str) -> list[Path]:
    """The recordings that were made for the ledger of this name, in the order in which they were written.

    One whose beginning is damaged names none, see `damage`. Raises `InputError` when a file cannot be read.
    """
    try:
        return [path for path in recordings(folder) if ledger_if_any(path) == name]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(folder)) from None


def ledger_if_any(path: Path) -> str | None:
    """The ledger that a recording names; None also for one that is damaged at its beginning.

    Raises `InputError` where we may not read it, `OSError`.
    """
    try:
        return ledger_of(path)
    except InputError:
        if not os.access(path, os.R_OK):
            raise
        return None


def ledger_of(path: Path) -> str | None:
    """The ledger that a recording names; None for one whose header was never written. Raises `InputError`, `OSError`."""
    return header_of(head_of(path)).get("ledger") if path.stat().st_size else None
