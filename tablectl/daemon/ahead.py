"""Waiting for the disk while the game goes on: a thread of its own syncs the recording as soon as there is something new in it.

So the disk works while a chunk is decoded and played, and when the ledger is about to be committed most of the wait is over. What
must be on the disk before the ledger still is: `wait` returns no sooner.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

__all__ = ["Ahead"]


class Ahead:
    """Calls `sync` in the thread `tablectl-sync`, which begins with the first call. One thread alone may use it.

    A `sync` that raises has to do so again until what it could not sync is given up, as that of `Keeper` does.
    """

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._asked: SimpleQueue[bool] = SimpleQueue()
        self._done: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._under_way = False
        self._behind = True  # something may have been written that no sync has seen

    def begin(self) -> None:
        """Something was written: begin to sync it, unless a sync is under way, which may not see it."""
        if self._under_way and self._done.empty():
            self._behind = True
            return
        self.rest()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tablectl-sync", daemon=True)
            self._thread.start()
        self._behind, self._under_way = False, True
        self._asked.put(True)

    def wait(self) -> None:
        """See that all that was written is on the disk. Raises what `sync` raises."""
        self.rest()
        if self._behind:
            self._sync()
            self._behind = False

    def rest(self) -> None:
        """Return when no sync is under way."""
        if self._under_way:
            self._under_way = False
            self._behind = not self._done.get() or self._behind

    def close(self) -> None:
        """End the thread."""
        self.rest()
        if self._thread is not None:
            self._asked.put(False)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while self._asked.get():
            try:
                self._sync()
            except Exception:  # whatever it is: `wait` tries itself, and tells
                self._done.put(False)
            else:
                self._done.put(True)
