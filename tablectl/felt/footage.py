"""Raw video, where a house asks for it: all that each camera sees, in files of ten minutes, the oldest removed. It ships off."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import cv2

from tablectl.felt.view import Picture
from tablectl.instants import from_micros

__all__ = ["FPS", "Footage"]

FPS: Final = 5.0
"""Pictures a second that are kept."""
SEGMENT: Final = 600_000_000
"""Microseconds of one file."""


class _Open(NamedTuple):
    """A file that is being written; it gets its name when it is closed."""

    writer: cv2.VideoWriter
    draft: Path
    until: int
    size: tuple[int, int]


class Footage:
    """Video in `folder`, at most `keep_mb` megabytes. For one thread. A disk that takes no more loses video, and nothing else."""

    def __init__(self, folder: Path, keep_mb: float) -> None:
        self._folder = folder
        self._keep = keep_mb * 1e6
        self._open: dict[str, _Open] = {}

    def add(self, camera: str, at: int, picture: Picture) -> None:
        """A picture, taken `at` microseconds since 1970."""
        size = (picture.shape[1], picture.shape[0])
        known = self._open.get(camera)
        if known is not None and (at >= known.until or size != known.size):
            self._finish(camera)
            known = None
        if known is None:
            with suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
            name = from_micros(at)[:19].replace(":", "")
            draft = self._folder / f".new-{name}-{camera}.mp4"
            writer = cv2.VideoWriter(str(draft), cv2.VideoWriter.fourcc(*"mp4v"), FPS, size)
            known = self._open[camera] = _Open(writer, draft, at + SEGMENT, size)
        known.writer.write(picture)

    def close(self) -> None:
        """End the files that are open."""
        for camera in list(self._open):
            self._finish(camera)

    def _finish(self, camera: str) -> None:
        known = self._open.pop(camera)
        known.writer.release()
        with suppress(OSError):
            os.replace(known.draft, known.draft.with_name(known.draft.name.removeprefix(".new-")))
            files = sorted(self._folder.glob("[!.]*.mp4"))  # by name, which is by time
            left = sum(path.stat().st_size for path in files)
            for path in files[:-1]:
                if left <= self._keep:
                    break
                left -= path.stat().st_size
                path.unlink()
