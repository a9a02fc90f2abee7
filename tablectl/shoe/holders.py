"""Who has a device file open, from `/proc`: a second reader steals bytes, and nothing on the line shows it.

A lock keeps out only those who ask for it, and what root opens nothing keeps out. Without being root one sees the processes of
one's own user alone.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import NamedTuple

__all__ = ["Holder", "holders", "is_pseudo_terminal"]

_PROC = "/proc"
_PSEUDO = range(136, 144)  # the major numbers that Linux gives to the devices under /dev/pts


class Holder(NamedTuple):
    """A process that has the file open."""

    pid: int
    command: str

    def __str__(self) -> str:
        """`minicom (pid 4711)`."""
        return f"{self.command} (pid {self.pid})"


def holders(path: str | os.PathLike[str]) -> list[Holder]:
    """The processes that have this device open, ourselves too, by their number. None where there is no such file.

    A device is known by its number, so that another name of it makes no difference. A program at the other side of a
    pseudo-terminal is the device itself, and no holder.
    """
    try:
        there = os.stat(path)
    except OSError:
        return []
    wanted = _identity(there)
    index = os.minor(there.st_rdev) if is_pseudo_terminal(there) else None
    found = []
    for name in _listed(_PROC):
        if name.isdigit() and _has_open(name, wanted) and (index is None or not _is_other_side(name, index)):
            found.append(Holder(int(name), _command(name)))
    return sorted(found)


def is_pseudo_terminal(found: os.stat_result) -> bool:
    """Whether this is a device under `/dev/pts`, with a program on its other side."""
    return stat.S_ISCHR(found.st_mode) and os.major(found.st_rdev) in _PSEUDO


def _identity(found: os.stat_result) -> tuple[int, ...]:
    if stat.S_ISCHR(found.st_mode) and not is_pseudo_terminal(found):
        return (found.st_rdev,)
    return found.st_dev, found.st_ino  # each container numbers its pseudo-terminals anew


def _has_open(pid: str, wanted: tuple[int, ...]) -> bool:
    folder = f"{_PROC}/{pid}/fd"
    for number in _listed(folder):
        with suppress(OSError):  # closed meanwhile
            if os.readlink(f"{folder}/{number}").startswith("/") and _identity(os.stat(f"{folder}/{number}")) == wanted:
                return True
    return False


def _is_other_side(pid: str, index: int) -> bool:
    """Whether a process has the master of this pseudo-terminal open."""
    folder = f"{_PROC}/{pid}/fd"
    for number in _listed(folder):
        with suppress(OSError):
            if os.readlink(f"{folder}/{number}").endswith("/ptmx"):
                with open(f"{_PROC}/{pid}/fdinfo/{number}", encoding="ascii") as file:
                    if any(line.split() == ["tty-index:", str(index)] for line in file):
                        return True
    return False


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # another user's, or it has ended
        return []


def _command(pid: str) -> str:
    try:
        with open(f"{_PROC}/{pid}/comm", errors="replace") as file:
            return file.read().strip() or "?"
    except OSError:
        return "?"
