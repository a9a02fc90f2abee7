"""The one queue of a live table: what its devices and cameras say, in the order in which it arrives, for the game's thread.

It is bounded. A device's thread waits while it is full, so that no card is dropped; that the table is behind is then told.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tablectl.shoe.events import Event

if TYPE_CHECKING:
    from tablectl.felt.watching import WatchingEvent

__all__ = ["ROOM", "Inbox"]

ROOM: Final = 4096
"""How many events may wait; each holds at most 4096 bytes."""
_LOOK: Final = 0.2


class Inbox:
    """Any thread may `put` and `wake`; the game's alone takes."""

    def __init__(self, room: int = ROOM) -> None:
        self._queue: queue.Queue[Event | WatchingEvent | None] = queue.Queue(room)
        self._closed = threading.Event()
        self._full = threading.Event()
        self._called = False

    def put(self, event: Event | WatchingEvent) -> None:
        """Add an event, and wait for room. Once the inbox is closed, what has no room is lost."""
        while True:
            try:
                self._queue.put(event, timeout=_LOOK)
                return
            except queue.Full:
                self._full.set()
                if self._closed.is_set():
                    return

    def wake(self) -> None:
        """Have `take` return: there is something to do besides events. Until then another call adds nothing."""
        if not self._called:
            self._called = True
            with suppress(queue.Full):  # then it returns anyway
                self._queue.put_nowait(None)

    def take(self, seconds: float) -> Event | WatchingEvent | None:
        """The next event, waiting at most `seconds` for it. None: there is none, or somebody called."""
        try:
            event = self._queue.get(timeout=seconds) if seconds > 0 else self._queue.get_nowait()
        except queue.Empty:
            event = None
        if event is None:
            self._called = False  # before what there is to do is looked at
        return event

    def was_full(self) -> bool:
        """Whether somebody had to wait for room since this was asked last."""
        full = self._full.is_set()
        self._full.clear()
        return full

    def close(self) -> None:
        """Nobody takes any more: who waits for room goes on."""
        self._closed.set()
