"""The loop of a feed: take what is new, tell it until it is understood, keep the place."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, Protocol

from tablectl.errors import TablectlError
from tablectl.feeds.following import Follower, Place, keep
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.export.speaking import Spoken, What, spoken

__all__ = ["Declined", "Feed", "Teller", "Unreachable"]

KEEP_SECONDS: Final = 1.0
LOOK: Final = 0.1
"""Seconds between two looks at a ledger in which nothing is new."""
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
"""Seconds until the other side is tried again: twice as long each time, and no longer than this."""


class Unreachable(Exception):
    """The other side cannot be told now; it is tried again. The text says why, for a person."""


class Declined(Exception):
    """The other side does not take this one thing, whenever it is told."""


class Teller(Protocol):
    """One who tells another system. `where` is its address, without any password."""

    where: str

    def tell(self, one: Selected, told: Spoken) -> None:
        """Tell one thing; it is understood, as far as that can be known, when this returns. Raises `Unreachable`, `Declined`."""

    def rest(self, seconds: float) -> None:
        """Wait, and keep a connection alive meanwhile. Raises nothing: what broke is seen when something is told."""

    def close(self) -> None:
        """Hang up."""


class Feed:
    """A feed at work. `wanted` are the kinds of things that are told; `place` the file that keeps how far it came.

    `say` tells a person what happens; `stopping` is asked often whether it is to end.
    """

    def __init__(
        self,
        follower: Follower,
        teller: Teller,
        wanted: Collection[What],
        *,
        language: str | None,
        place: Path | None,
        say: Callable[[str], None],
        stopping: Callable[[], bool],
    ) -> None:
        self.told = 0
        self._kept_at = 0.0
        self._follower = follower
        self._teller = teller
        self._wanted = frozenset(wanted)
        self._language = language
        self._place = place
        self._say = say
        self._stopping = stopping

    def once(self) -> None:
        """Tell what is there, and end. Raises `TablectlError` when the other side cannot be reached."""
        while batch := self._follower.take():
            for one in batch:
                try:
                    self._tell(one)
                except Unreachable as trouble:
                    raise TablectlError(f"cannot be told: {trouble}", where=self._teller.where) from None
            self._keep(batch[-1])

    def stay(self) -> None:
        """Tell what is there and what comes, until asked to stop."""
        while not self._stopping():
            batch = self._follower.take()
            if not batch:
                self._teller.rest(LOOK)
                continue
            done: Selected | None = None
            for one in batch:
                if not self._persist(one):
                    break
                done = one
            if done is not None:
                self._keep(done)

    def _persist(self, one: Selected) -> bool:
        """Tell it until it is understood; False when asked to stop before."""
        pause, trouble = FIRST_PAUSE, ""
        while not self._stopping():
            try:
                self._tell(one)
            except Unreachable as now:
                if str(now) != trouble:
                    trouble = str(now)
                    self._say(f"{self._teller.where}: nothing is told at the moment: {trouble}")
                self._wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                if trouble:
                    self._say(f"{self._teller.where}: told again, from where it was interrupted")
                return True
        return False

    def _tell(self, one: Selected) -> None:
        told = spoken(one, self._language)
        if told is None or told.what not in self._wanted:
            return
        try:
            self._teller.tell(one, told)
        except Declined as why:
            self._say(f"{self._teller.where}: does not take entry {one.entry.seq} of {one.where}: {why}")
        self.told += 1
        if time.monotonic() - self._kept_at >= KEEP_SECONDS:  # within a long batch; a crash repeats what was told since
            self._keep(one)

    def _keep(self, one: Selected) -> None:
        if self._place is not None:
            keep(self._place, Place(one.session, one.entry.seq))
            self._kept_at = time.monotonic()

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, LOOK))
