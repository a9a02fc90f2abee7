"""Which processes are there: to see that none is left."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

__all__ = ["gone", "named"]


def named(words: object) -> list[int]:
    """The processes (no zombies) whose command line has these words, such as the folder they work in."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(words) in (place / "cmdline").read_text(errors="replace"):
                found.append(int(place.name))
    return found


def gone(words: object, seconds: float = 10.0) -> bool:
    """Wait until there is no such process. False: there still is one."""
    deadline = time.monotonic() + seconds
    while named(words):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
