"""A chunk: bytes that crossed a serial line together, when, on which port, and which way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from tablectl.errors import UsageError

__all__ = ["CHUNK_LIMIT", "Chunk", "Direction", "checked_port", "pieces"]

CHUNK_LIMIT = 4096
"""The bytes that one chunk holds at most. A longer burst becomes several chunks of one time."""

Direction = Literal["<", ">"]
"""`<` from the device, `>` to it."""

_PORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", re.ASCII)


class Chunk(msgspec.Struct, frozen=True):
    """Bytes of one port.

    `at` is in microseconds since 1970 UTC, or None where the log knows no time. `data` is never empty in a log, and holds at
    most `CHUNK_LIMIT` bytes. Where a burst was cut into chunks means nothing: decoders must not care.
    """

    at: int | None
    port: str
    direction: Direction
    data: bytes


def checked_port(name: str) -> str:
    """The name of a port, such as `shoe` or `pad`. Raises `UsageError` when it is none."""
    if not _PORT.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a port: letters, digits, '-', '_' and '.', at most 40")
    return name


def pieces(data: bytes) -> Iterator[bytes]:
    """Cut bytes into pieces that fit a chunk."""
    for start in range(0, len(data), CHUNK_LIMIT):
        yield data[start : start + CHUNK_LIMIT]
