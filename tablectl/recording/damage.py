"""Which recordings are not as they were written, and what of them is lost.

A line that is no longer one is passed over, by a table that starts as by an audit. A recording whose beginning is gone is passed
over whole, since nobody knows any more for which ledger it was made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tablectl.errors import InputError
from tablectl.recording.folder import ledger_if_any, recordings
from tablectl.recording.importers import open_log
from tablectl.recording.logs import Log

__all__ = ["Damage", "damage_of", "headless", "lost_of"]


class Damage(NamedTuple):
    """A recording, and what is wrong with it."""

    file: Path
    what: str

    def __str__(self) -> str:
        """For a line of a log."""
        return f"{self.file}: {self.what}"


def headless(folder: Path) -> Iterator[Damage]:
    """The recordings of a folder that name no ledger, though there is something in them. Raises `OSError`."""
    for path in recordings(folder):
        try:
            named = ledger_if_any(path)
        except InputError:
            continue
        if named is None and path.stat().st_size:
            yield Damage(path, "is damaged at its beginning: it does not say of which ledger it is, and is passed over")


def lost_of(log: Log) -> Damage | None:
    """What could not be read of a recording that was read to its end."""
    if not log.damaged:
        return None
    told = next((one for one in log.warnings if one.startswith(str(log.path))), "").removeprefix(f"{log.path}:").strip()
    return Damage(log.path, f"is damaged: {log.damaged} lines or blocks cannot be read, and are passed over (the first: {told})")


def damage_of(path: Path) -> Damage | None:
    """Read a recording to its end; None where all of it can be read. One that was cut off is not damaged."""
    try:
        log = open_log(path)
        if log.format != "native":
            return Damage(path, "is damaged at its beginning: it is no recording")
        deque(log, maxlen=0)
    except InputError as error:
        return Damage(path, f"is damaged: {error.message}")
    return lost_of(log)
