"""A table's folder: one ledger a gaming day, the recordings beside it, and one daemon at a time.

::

    STORAGE/lock                        held while a daemon runs
    STORAGE/ledger/2026-11-30.db        the day's ledger
    STORAGE/ledger/2026-11-30.2.db      a second one of the same day, where the house's rules were changed
    STORAGE/recordings/20261130T...rec  the devices' bytes

A gaming day has the date on which it began on the wall's clock. A clock that is set back never begins a day before the last one.
"""

from __future__ import annotations

import fcntl
import os
import re
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Final, NamedTuple, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tablectl.errors import ConfigError, LedgerError

__all__ = ["MEGABYTE", "RECORD", "ROOM_AGAIN", "WRITTEN", "Day", "Storage", "day_of", "zone_of"]

MEGABYTE: Final = 1_000_000
RECORD: Final = "record"
"""What the disk is called among the devices."""
WRITTEN: Final = "written again"
"""What is said of it when the record can be written after it could not,"""
ROOM_AGAIN: Final = "room again"
"""and when there is room after there was too little."""

_LEDGER = re.compile(r"(\d{4}-\d\d-\d\d)(?:\.(\d{1,4}))?\.db", re.ASCII)


class Day(NamedTuple):
    """A ledger's place among the others: its gaming day (ISO date), and which of that day it is, from 1."""

    date: str
    part: int

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The place that a ledger's file name says; None for a name that is none."""
        match = _LEDGER.fullmatch(name)
        return cls(match[1], int(match[2] or 1)) if match else None

    @property
    def name(self) -> str:
        """The ledger's file name."""
        return f"{self.date}.db" if self.part == 1 else f"{self.date}.{self.part}.db"


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its name. Raises `ConfigError`."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(f"{name!r} is no time zone such as Europe/Vilnius") from None


def day_of(at: int, zone: ZoneInfo, begins: str) -> str:
    """The gaming day (ISO date) of a moment in microseconds since 1970; `begins` is HH:MM on the wall's clock."""
    local = datetime.fromtimestamp(at / 1_000_000, UTC).astimezone(zone)
    day = local.date()
    if local.time() < time.fromisoformat(begins):
        day -= timedelta(days=1)
    return day.isoformat()


class Storage:
    """A table's folder, locked for us from construction to `close`.

    Raises `LedgerError` when the folder cannot be made or written, or another daemon holds it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledgers = folder / "ledger"
        self.recordings = folder / "recordings"
        try:
            for path in (folder, self.ledgers, self.recordings):
                path.mkdir(mode=0o750, parents=path == folder, exist_ok=True)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as error:
            raise LedgerError(f"cannot be written: {error.strerror}", where=str(error.filename or folder)) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise LedgerError("another tablectl runs this table", where=str(folder)) from None

    def days(self) -> list[Day]:
        """The ledgers that there are, the oldest first."""
        found = (Day.parse(path.name) for path in self.ledgers.iterdir() if path.is_file())
        return sorted(day for day in found if day is not None)

    def path(self, day: Day) -> Path:
        """Where a ledger is."""
        return self.ledgers / day.name

    def next_day(self, date: str) -> Day:
        """The place of a new ledger that is begun on this gaming day."""
        last = max(self.days(), default=None)
        if last is None or date > last.date:
            return Day(date, 1)
        return Day(last.date, last.part + 1)

    def free_bytes(self) -> int:
        """How much room the file system has left for us. Raises `OSError`."""
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def room(self, least_mb: int) -> str | None:
        """What is to be said of the room, where less than so many megabytes are left; None: there is enough."""
        try:
            free = self.free_bytes() // MEGABYTE
        except OSError as error:
            return f"how much room is left cannot be seen: {error.strerror}"
        return f"low: less than {least_mb} MB are left" if free < least_mb else None

    def close(self) -> None:
        """Let another daemon have it."""
        os.close(self._lock)
