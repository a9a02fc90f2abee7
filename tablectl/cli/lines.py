"""Reading observations from a file of JSON lines, whatever is in it."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tablectl.cli.main import say
from tablectl.errors import InputError
from tablectl.observations import Observation, decode

__all__ = ["MAX_LINE", "Lines"]

MAX_LINE = 1 << 20
"""A longer line is no observation; it is passed over without being held in memory."""

FAULTS_TOLD = 1000
"""So many bad lines are told one by one."""


class Lines:
    """The observations of a file, each with its place (`FILE:LINE`). Bad lines are told on stderr and passed over.

    `exit_code` is 1 once a line was bad, or when the file held no observation at all. Of very many bad lines the first are told,
    and at the end how many more there were.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.exit_code = 0
        self._good = 0
        self._bad = 0

    def check(self) -> None:
        """See that the file can be read, before anything else is done. Raises `InputError`."""
        if self.name != "-":
            with self._faults(), open(self.name, "rb"):
                pass

    def __iter__(self) -> Iterator[tuple[str, Observation]]:
        """Read on; raises `InputError` when the file cannot be read."""
        with self._faults(), _open(self.name) as file:
            yield from self._read(file)
        if self._bad > FAULTS_TOLD:
            say(f"{self.name}: and {self._bad - FAULTS_TOLD} more lines like these")
        if not self._good and not self._bad:
            self._told(InputError("holds no observation", where=self.name))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", where=self.name) from None

    def _read(self, file: BinaryIO) -> Iterator[tuple[str, Observation]]:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE and not line.endswith(b"\n"):
                while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                self._told(InputError(f"is longer than {MAX_LINE} bytes", where=self.name, line=number))
                continue
            text = line.removeprefix(codecs.BOM_UTF8).strip() if number == 1 else line.strip()
            if not text or text.startswith(b"#"):
                continue
            try:
                observation = decode(text, where=self.name, number=number)
            except InputError as error:
                self._told(error)
                continue
            self._good += 1
            yield f"{self.name}:{number}", observation

    def _told(self, error: InputError) -> None:
        self.exit_code = 1
        self._bad += 1
        if self._bad <= FAULTS_TOLD:
            say(str(error))


def _open(name: str) -> BinaryIO:
    return sys.stdin.buffer if name == "-" else open(name, "rb")
