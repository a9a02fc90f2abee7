"""Reading observations from a file of JSON lines, whatever is in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import BinaryIO

import click

from tablectl.errors import InputError
from tablectl.observations import Observation, decode

__all__ = ["MAX_LINE", "Lines", "observations"]

MAX_LINE = 1 << 20
"""A longer line is no observation; it is passed over without being held in memory."""


class Lines:
    """The observations of a file, each with its place (`FILE:LINE`). Bad lines are told on stderr and passed over.

    `exit_code` is 1 once a line was bad, or when the file held no observation at all.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.exit_code = 0
        self._good = 0

    def __iter__(self) -> Iterator[tuple[str, Observation]]:
        """Read on; raises `InputError` when the file cannot be read."""
        try:
            with _open(self.name) as file:
                yield from self._read(file)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", where=self.name) from None
        if not self._good and not self.exit_code:
            self._bad(InputError("holds no observation", where=self.name))

    def _read(self, file: BinaryIO) -> Iterator[tuple[str, Observation]]:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE and not line.endswith(b"\n"):
                while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                self._bad(InputError(f"is longer than {MAX_LINE} bytes", where=self.name, line=number))
                continue
            text = line.strip()
            if not text or text.startswith(b"#"):
                continue
            try:
                observation = decode(text, where=self.name, number=number)
            except InputError as error:
                self._bad(error)
                continue
            self._good += 1
            yield f"{self.name}:{number}", observation

    def _bad(self, error: InputError) -> None:
        self.exit_code = 1
        click.echo(f"tablectl: {error}", err=True)


def observations(name: str) -> Lines:
    """The observations of a file; `-` is stdin."""
    return Lines(name)


def _open(name: str) -> BinaryIO:
    return sys.stdin.buffer if name == "-" else open(name, "rb")
