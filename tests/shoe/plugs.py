"""Devices for the tests of ports: pseudo-terminals that are plugged in and out behind a link, and what a port tells of them."""

from __future__ import annotations

import os
import queue
import time
import tty
from collections.abc import Callable
from pathlib import Path

from tablectl.shoe.events import Bytes, Event
from tablectl.shoe.port import Patience
from tablectl.shoe.profile import LinkSettings

__all__ = ["LINK", "QUICK", "Plug", "Told"]

LINK = LinkSettings(9600, 8, "none", 1)
QUICK = Patience(first_retry=0.005, last_retry=0.02)


class Plug:
    """A device behind a stable name: each time it is plugged in it is another pseudo-terminal."""

    def __init__(self, link: Path):
        self.link = link
        self._ours: int | None = None

    def plug_in(self) -> str:
        """Appear; gives the name of the device file that the link now leads to."""
        self._ours, theirs = os.openpty()
        tty.setraw(theirs)
        name = os.ttyname(theirs)
        os.close(theirs)
        new = self.link.with_suffix(".new")
        new.symlink_to(name)
        new.replace(self.link)
        return name

    def send(self, data: bytes) -> None:
        """All of it, however long it takes."""
        assert self._ours is not None
        while data:
            data = data[os.write(self._ours, data) :]

    def received(self) -> bytes:
        """What was written to the device: waits for it."""
        assert self._ours is not None
        return os.read(self._ours, 65536)

    def pull(self) -> None:
        """Vanish, in the middle of whatever goes on."""
        if self._ours is not None:
            os.close(self._ours)
            self._ours = None


class Told:
    """The events of a port, in their order."""

    def __init__(self, room: int = 0) -> None:
        self.events: list[Event] = []
        self.inbox: queue.Queue[Event] = queue.Queue(room)

    def __call__(self, event: Event) -> None:
        self.inbox.put(event)

    def until(self, found: Callable[[list[Event]], bool], seconds: float = 5.0) -> list[Event]:
        """Take in what is told until it is found; gives all there was."""
        deadline = time.monotonic() + seconds
        while not found(self.events):
            try:
                self.events.append(self.inbox.get(timeout=max(0.0, deadline - time.monotonic())))
            except queue.Empty:
                raise AssertionError(f"not told within {seconds:g} s; told were {self.events[-20:]}") from None
        return self.events

    def next(self, kind: type[Event], seconds: float = 5.0) -> Event:
        """The next event of this kind after those that were taken in."""
        known = len(self.events)
        return next(
            event
            for event in self.until(lambda events: any(isinstance(event, kind) for event in events[known:]), seconds)[known:]
            if isinstance(event, kind)
        )

    def bytes(self, count: int, seconds: float = 5.0) -> bytes:
        """At least so many bytes, from the beginning."""
        return joined(self.until(lambda events: len(joined(events)) >= count, seconds))


def joined(events: list[Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, Bytes))
