"""Bookmarks in a video system: the moments of alerts and rulings, marked on the cameras that look at the table.

A video system is an adapter (`tablectl.feeds.marking.VideoSystem`): it takes one bookmark for one camera. A new one is one new
file, and one line in `ADAPTERS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from tablectl.feeds.feeding import Declined
from tablectl.feeds.marking import Access, Bookmark, VideoSystem
from tablectl.feeds.milestone import Milestone
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.export.speaking import Spoken
from tablectl.notices import Alert, Severity

__all__ = ["ADAPTERS", "GRAVITY", "Bookmarks"]

ADAPTERS: Final[dict[str, Callable[[Access], VideoSystem]]] = {"milestone": Milestone}
"""The video systems by name."""

GRAVITY: Final[dict[Severity, int]] = {"info": 0, "warning": 1, "critical": 2}
_LONGEST_HEADER: Final = 100


class Bookmarks:
    """A video system that is told of a table. `cameras` are its own names for them; all get each bookmark.

    A bookmark begins `before` and ends `after` seconds from what happened. Alerts below `least` are left out.
    """

    def __init__(
        self, system: VideoSystem, where: str, cameras: Sequence[str], *, before: float, after: float, least: Severity = "warning"
    ) -> None:
        self.where = where
        self._system = system
        self._cameras = cameras
        self._before = round(before * 1_000_000)
        self._after = round(after * 1_000_000)
        self._least = GRAVITY[least]
        self._marked: tuple[str, set[str]] = ("", set())

    def tell(self, one: Selected, told: Spoken) -> None:
        """Mark one thing on all cameras; what has no time cannot be marked. Raises `Unreachable`, `Declined`."""
        if one.at is None or (isinstance(told.about, Alert) and GRAVITY[told.about.severity] < self._least):
            return
        if self._marked[0] != one.id:
            self._marked = one.id, set()
        bookmark = self._bookmark(one, told, one.at)
        declined: Declined | None = None
        for camera in self._cameras:
            if camera in self._marked[1]:
                continue  # when the last try ended at another camera
            try:
                self._system.add(bookmark, camera)
            except Declined as why:
                declined = Declined(f"camera {camera}: {why}")
            self._marked[1].add(camera)
        if declined is not None:
            raise declined

    def _bookmark(self, one: Selected, told: Spoken, at: int) -> Bookmark:
        lines = [told.text, f"{one.table}, round {one.round}"]
        if isinstance(told.about, Alert):
            lines.append(f"{told.about.severity} {told.about.code}, alert {told.about.id}")
            lines.append(f"{told.about.remedy.text} ({told.about.remedy.cite})")
        lines.append(f"ledger {one.id}")
        header = f"{one.table.table}: {told.text}"
        if len(header) > _LONGEST_HEADER:
            header = header[: _LONGEST_HEADER - 1] + "…"
        return Bookmark(one.id, at - self._before, at, at + self._after, header, "\n".join(lines))

    def rest(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """There is no connection to end."""
