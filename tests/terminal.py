"""A terminal for a command to run on: a pseudo-terminal that is its controlling one, and the screen that a person would see."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Screen", "Terminal"]

TABLECTL = [sys.executable, "-m", "tablectl"]
NO_BREAK_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
_SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")


class Screen:
    """What a terminal of `columns` by `rows` shows. Knows what our programs send, and fails on what it does not know.

    `lines` are the rows that scrolled off and those of the screen; `frames` what stood on the other screen, each time that it was
    drawn anew from the top, and `jolted` whether that ever scrolled; `colours` the numbers of all colours and styles used.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.gone: list[str] = []
        self.frames: list[list[str]] = []
        self.colours: set[str] = set()
        self.cursor = True
        self.jolted = False
        self.other = False
        self._main: tuple[list[list[str]], int, int] | None = None
        self._clear()

    def _clear(self) -> None:
        self._cells = [[" "] * self.columns for _ in range(self.rows)]
        self._row = self._column = 0

    @property
    def shown(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._cells]

    @property
    def lines(self) -> list[str]:
        return [*self.gone, *self.shown]

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text):
            letter = text[at]
            if letter == "\x1b":
                match = _SEQUENCE.match(text, at)
                assert match, f"what is {text[at : at + 12]!r}?"
                self._obey(match[1], match[2])
                at = match.end()
                continue
            at += 1
            if letter == "\r":
                self._column = 0
            elif letter == "\n":
                self._feed_line()
            else:
                assert letter.isprintable() or letter in NO_BREAK_SPACES, f"what is {letter!r}?"
                if self._column == self.columns:
                    self._column = 0
                    self._feed_line()
                self._cells[self._row][self._column] = letter
                self._column += 1

    def _feed_line(self) -> None:
        if self._row < self.rows - 1:
            self._row += 1
            return
        top = self._cells.pop(0)
        self._cells.append([" "] * self.columns)
        if self.other:
            self.jolted = True
        else:
            self.gone.append("".join(top).rstrip())

    def _obey(self, numbers: str, what: str) -> None:
        match numbers, what:
            case _, "m":
                self.colours |= set(numbers.split(";"))
            case "?25", ("h" | "l"):
                self.cursor = what == "h"
            case "?1049", "h":
                self._main = (self._cells, self._row, self._column)
                self.other = True
                self._clear()
            case "?1049", "l":
                assert self._main is not None
                self._keep_frame()
                self.other = False
                self._cells, self._row, self._column = self._main
            case "", "H":
                self._keep_frame()
                self._row = self._column = 0
            case _:
                raise AssertionError(f"what is CSI {numbers}{what}?")

    def _keep_frame(self) -> None:
        if self.other and any(self.shown):
            self.frames.append(self.shown)


class Terminal:
    """`tablectl ARGS...` on a terminal of its own. A context manager; leaving it closes the terminal and sees that it ends."""

    def __init__(self, *args: str, columns: int = 80, rows: int = 24, cwd: Path | None = None, env: dict[str, str] | None = None):
        self.screen = Screen(columns, rows)
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        surroundings = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        # A child of its own session that opens a terminal has it as its controlling one, so that keys and hang-ups are signals.
        begin = ["setsid", "--ctty", *TABLECTL, *args]
        self.process = subprocess.Popen(
            begin,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**surroundings, "TERM": "xterm-256color", **(env or {})},
        )
        os.close(theirs)

    def until(self, words: str, seconds: float = 30.0) -> None:
        """Look on until `words` are on the screen."""
        deadline = time.monotonic() + seconds
        while not any(words in line for line in self.screen.shown):
            assert self._read(deadline - time.monotonic()), f"{words!r} never came:\n" + "\n".join(self.screen.lines)

    def end(self, seconds: float = 60.0) -> int:
        """Look on until it ends, and give its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def hang_up(self) -> None:
        """Close the terminal, as when its window is closed."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says EIO where the other side has closed
            return False
        text, self._rest = self._whole(data)
        self.screen.feed(text)
        return bool(data)

    _rest = b""

    def _whole(self, data: bytes) -> tuple[str, bytes]:
        """What has arrived as far as it is whole: a read may end within a letter or a sequence."""
        data = self._rest + data
        end = len(data)
        escape = data.rfind(b"\x1b")
        if escape >= 0 and not re.match(rb"\x1b\[[?\d;]*[A-Za-z]", data[escape:]):
            end = escape
        while True:
            try:
                return data[:end].decode(), data[end:]
            except UnicodeDecodeError as error:
                end = error.start

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.hang_up()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            raise
