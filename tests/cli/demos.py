"""A demo as a process: where its display is, and what it leaves behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.display.screens import Stream

__all__ = ["NOTHING", "STAYS", "Demo", "left", "nothing_left", "page_of"]

NOTHING: tuple[list[int], list[Path]] = ([], [])
STAYS = "until Ctrl-C."
"""What it says when all was dealt, and the display stays up."""


def left(temporary: Path) -> tuple[list[int], list[Path]]:
    """What is there of a demo whose TMPDIR this is: processes (no zombies), which have that from it, and files."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"TMPDIR={temporary}\0".encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
    return found, list(temporary.iterdir())


def nothing_left(temporary: Path, seconds: float = 20.0) -> bool:
    """Wait until no process of a demo is there. False: there still is one."""
    deadline = time.monotonic() + seconds
    while left(temporary)[0]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Demo:
    """`tablectl demo ARGS...` where stdout is no terminal. `lines` are those that were read so far."""

    def __init__(self, *args: str, temporary: Path) -> None:
        self._command = [sys.executable, "-m", "tablectl", "demo", *args]
        self._env = {**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self._env
        )
        return self

    def until(self, pattern: str) -> re.Match[str]:
        """Read on to a line in which this is found."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"{pattern!r} never came:\n" + "\n".join(self.lines))

    @property
    def netloc(self) -> str:
        """Where its display is: it says so at the beginning."""
        return self.until(r"^The display: http://(127\.0\.0\.1:\d+)$")[1]

    def end(self) -> int:
        """Read on to its end, and give the exit code."""
        assert self.process.stdout is not None
        self.lines += [line.rstrip("\n") for line in self.process.stdout]
        return self.process.wait(30)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


def page_of(netloc: str, table: str) -> Stream:
    """What a browser hears that shows the felt of one of its tables."""
    return Stream(netloc, f"/events/table/demo/demo/{table}", {})
