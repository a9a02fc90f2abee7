"""What a bookmark is, and what a video system that takes one has to be able to do."""

from __future__ import annotations

import ssl
from typing import NamedTuple, Protocol

__all__ = ["Access", "Bookmark", "VideoSystem"]


class Bookmark(NamedTuple):
    """A stretch of video with a headline. Times are in microseconds since 1970 UTC, `at` lies between the others.

    `reference` is the id of the ledger's entry: the same moment always has the same.
    """

    reference: str
    begin: int
    at: int
    end: int
    header: str
    description: str


class Access(NamedTuple):
    """Where a video system is, and who we are there. `context` is what TLS is made with, `seconds` bounds each answer."""

    url: str
    user: str
    password: str
    context: ssl.SSLContext | None = None
    seconds: float = 10.0


class VideoSystem(Protocol):
    """An adapter."""

    def add(self, bookmark: Bookmark, camera: str) -> None:
        """Add a bookmark to a camera's video.

        Raises `Unreachable` where it is worth trying again, `Declined` where the system does not take this one.
        """
