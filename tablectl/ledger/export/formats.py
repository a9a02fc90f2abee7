"""What a format is: how it is written, and what may be said about how."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import BinaryIO, NamedTuple

from tablectl.ledger.export.selecting import Selected

__all__ = ["Format", "Options"]


class Options(NamedTuple):
    """What some of the formats ask for.

    `video_start` is the moment of a video's first picture, in microseconds since 1970 UTC (None: the first entry's time);
    `language` is what is said in, instead of the table's own; `hostname`, `facility` (0 to 23) and `enterprise` (the number in
    the name of the structured data) are syslog's; `prefix` begins ONVIF's topics (None: the table's names).
    """

    video_start: int | None = None
    language: str | None = None
    hostname: str | None = None
    facility: int = 16
    enterprise: int = 32473
    prefix: str | None = None


class Format(NamedTuple):
    """A format. `write` writes entries to a file that is only written, never moved in, and gives how many things it wrote.

    `binary`: it is nothing for a terminal. `video`: it is for one video, so of one table.
    """

    write: Callable[[Iterable[Selected], BinaryIO, Options], int]
    summary: str
    binary: bool = False
    video: bool = False
