"""One live camera: its newest picture, and what becomes of it, whatever its driver does.

A thread of its own asks the camera, and is watched from outside: by who takes what the camera has to say. A driver that never
returns costs that thread, which is given up, and the camera is opened again in another. When too many threads hang so, the
camera `is_stuck`, and only a new process helps: that is why a table watches its felt in one of its own (`tablectl.felt.watcher`).

A picture is decoded when somebody waits for one, so a slow reader gets the newest and not what piled up; only a file waits. A
camera tells of itself what changes: `Back` when it is well (the first time too), before that `Lost`, `Dark` or `Frozen`. While it
is well pictures come.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from types import TracebackType
from typing import NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from tablectl.errors import TablectlError
from tablectl.felt.capture import Source, checked_source, opened, shown
from tablectl.felt.looks import look_at
from tablectl.felt.view import Picture

__all__ = ["Back", "Camera", "CameraEvent", "CameraPatience", "CameraState", "Dark", "Ended", "Frame", "Frozen", "Lost"]


class CameraState(msgspec.Struct, frozen=True, kw_only=True):
    """A change in how a camera does; `camera` is its name, `at` microseconds since 1970 UTC, `why` in words."""

    camera: str
    at: int
    why: str


class Back(CameraState, frozen=True, tag="back"):
    """It is well, and pictures follow."""


class Lost(CameraState, frozen=True, tag="lost"):
    """It cannot be opened, sends nothing, or pictures of another size. It is tried again."""


class Dark(CameraState, frozen=True, tag="dark"):
    """It sends pictures on which nothing can be seen: the lights are out, or it is covered."""


class Frozen(CameraState, frozen=True, tag="frozen"):
    """It sends one picture again and again. It is opened anew."""


class Ended(CameraState, frozen=True, tag="ended"):
    """A video or a folder is at its end; nothing follows."""


class Frame(NamedTuple):
    """A picture, taken `at` microseconds since 1970 UTC; `number` counts all that the camera sent."""

    camera: str
    at: int
    number: int
    picture: Picture


CameraEvent = Frame | Back | Lost | Dark | Frozen | Ended


class CameraPatience(NamedTuple):
    """How long things may take, in seconds."""

    open: float = 12.0
    """More than FFmpeg is given, so that its own words are heard where it has any."""
    picture: float = 6.0
    """From one picture to the next."""
    dark: float = 0.5
    frozen: float = 10.0
    """A camera on the network may send nothing new of a still scene until its next whole picture."""
    first_retry: float = 0.5
    last_retry: float = 10.0
    threads: int = 3
    """Threads that may hang before the camera is stuck."""


class _Attempt:
    """One thread's time with the camera. `since` is when what it does now began (monotonic), None while it waits on us."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self.since: float | None = None
        self.limit = 0.0
        self.doing = ""


class _Again(Exception):
    """The camera is to be opened anew; what is wrong has been told."""


class Camera:
    """One camera. `start` it, then `take` what it has to say, often: that is what watches it too.

    `fps` is how many pictures a second are decoded at the most; of a file or folder none is passed over. `size` is the width and
    height that its pictures must have; None takes those of the first. `source` opens it (a rendered felt); left out, `address`
    says what it is. `clock` gives microseconds since 1970 UTC. Raises `DeviceError` for an address that can be none.
    """

    def __init__(
        self,
        name: str,
        address: str,
        *,
        fps: float = 15.0,
        size: tuple[int, int] | None = None,
        source: Callable[[], Source] | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        patience: CameraPatience = CameraPatience(),  # noqa: B008 (a NamedTuple cannot be changed)
    ) -> None:
        self.name = name
        self.address = address if source else checked_source(address)
        self._open = source or (lambda: opened(address, self._size))
        self._gap = 1 / fps
        self._size = size
        self._clock = clock
        self._patience = patience
        self._news = threading.Condition()
        # Under the condition:
        self._events: deque[CameraEvent] = deque()
        self._frame: Frame | None = None
        self._handed = 0.0
        self._wanted = False
        self._live = True
        self._state: type[CameraState] | None = None
        self._why = ""
        self._attempt: _Attempt | None = None
        self._hung: list[threading.Thread] = []
        self._delay = patience.first_retry
        self._retry_at: float | None = None
        self._closed = False
        # The thread's:
        self._number = 0
        self._taken = 0.0
        self._sample: NDArray[np.uint8] | None = None
        self._same_since = self._dark_since = 0.0

    def start(self) -> None:
        """Begin to open it."""
        with self._news:
            self._begin()

    def take(self, seconds: float) -> CameraEvent | None:
        """What it has to say next, or its newest picture, waiting at most `seconds` for it; None: nothing."""
        until = time.monotonic() + seconds
        with self._news:
            if self._live and self._frame is not None and until - seconds - self._handed > max(0.1, 2 * self._gap):
                self._frame = None  # it waited while its reader was busy
            while True:
                self._watch()
                if self._events and not (self._frame is not None and isinstance(self._events[0], Ended)):
                    return self._events.popleft()
                if self._frame is not None:
                    frame, self._frame = self._frame, None
                    return frame
                left = until - time.monotonic()
                self._wanted = not self._closed
                self._news.notify_all()
                if left <= 0 or self._closed:
                    return None
                self._news.wait(min(left, 0.25))  # a thread that hangs wakes nobody

    @property
    def is_stuck(self) -> bool:
        """Whether so many threads hang in its driver that only a new process helps."""
        with self._news:
            return self._stuck()

    @property
    def is_well(self) -> bool:
        """Whether it sends pictures on which something is to be seen."""
        return self._state is Back

    def close(self) -> None:
        """Ask nothing more of it. A thread that hangs is left behind, and ends when its driver lets it."""
        with self._news:
            self._closed = True
            attempt, self._attempt = self._attempt, None
            self._frame = None
            self._events.clear()
            self._news.notify_all()
        if attempt is not None and attempt.thread is not None:
            attempt.thread.join(1.0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # From outside: all of it under the condition.

    def _begin(self) -> None:
        attempt = _Attempt()
        attempt.thread = threading.Thread(target=self._run, args=(attempt,), name=f"tablectl-{self.name}", daemon=True)
        self._attempt = attempt
        self._retry_at = None
        attempt.thread.start()

    def _watch(self) -> None:
        """See whether the thread hangs, and begin another when it is time to."""
        attempt, now = self._attempt, time.monotonic()
        if attempt is not None and attempt.since is not None and now - attempt.since > attempt.limit:
            self._attempt = None
            if attempt.thread is not None:
                self._hung.append(attempt.thread)
            self._turn(Lost, f"{attempt.doing} took more than {attempt.limit:g} s, and has not returned")
            self._retry_at = now + self._later()
        if self._retry_at is not None and now >= self._retry_at and not self._closed:
            if self._stuck():
                self._turn(Lost, f"its driver keeps {len(self._hung)} threads for ever: only a new process helps")
                self._retry_at = now + self._patience.last_retry
            else:
                self._begin()

    def _stuck(self) -> bool:
        self._hung = [thread for thread in self._hung if thread.is_alive()]
        return len(self._hung) >= self._patience.threads

    def _later(self) -> float:
        delay, self._delay = self._delay, min(2 * self._delay, self._patience.last_retry)
        return delay

    def _turn(self, state: type[CameraState], why: str) -> None:
        """Tell how it does, where that is new."""
        if state is self._state and (state is not Lost or why == self._why):
            return
        self._state, self._why = state, why
        if state not in (Back, Ended):
            self._frame = None
        self._events.append(state(camera=self.name, at=self._clock(), why=why))  # type: ignore[arg-type]
        while len(self._events) > 100:  # nobody takes them
            self._events.popleft()
        self._news.notify_all()

    # In the thread.

    def _run(self, mine: _Attempt) -> None:
        while self._is_on(mine):
            why = None
            try:
                self._doing(mine, "opening it", self._patience.open)
                with closing(self._open()) as source:
                    why = self._attend(mine, source)
            except _Again:
                pass
            except TablectlError as error:
                why = error.message
            except Exception as error:  # whatever it is: a thread that died would be a camera lost in silence
                why = f"{type(error).__name__}: {error}"
            with self._news:
                if self._attempt is not mine:
                    return
                mine.since = None
                if why is not None:
                    self._turn(Lost, why)
                if self._state is Ended:
                    return
                until = time.monotonic() + self._later()
                while self._attempt is mine and (left := until - time.monotonic()) > 0:
                    self._news.wait(left)

    def _is_on(self, mine: _Attempt) -> bool:
        return self._attempt is mine

    def _doing(self, mine: _Attempt, what: str, limit: float) -> None:
        with self._news:
            mine.since, mine.doing, mine.limit = time.monotonic(), what, limit

    def _attend(self, mine: _Attempt, source: Source) -> str | None:
        """Take pictures until asked to stop. Gives why it stopped by itself, None when asked; raises `_Again`."""
        with self._news:
            self._live = source.live
        while self._is_on(mine):
            if not source.live and not self._awaited(mine):  # of a file nothing is passed over
                return None
            self._doing(mine, "waiting for a picture", self._patience.picture)
            if not source.grab():
                if not source.live:
                    with self._news:
                        if self._attempt is mine:
                            self._turn(Ended, "it is at its end")
                    return None
                return "it sends no more pictures"
            at, now = self._clock(), time.monotonic()
            self._number += 1
            if self._wanted and (not source.live or now - self._taken >= self._gap * 0.9):
                picture = source.retrieve()
                if picture is None:
                    return "a picture cannot be decoded"
                self._taken = now
                self._judge(mine, source, Frame(self.name, at, self._number, picture), now)
        return None

    def _awaited(self, mine: _Attempt) -> bool:
        """Wait until somebody waits for a picture; False when asked to stop."""
        with self._news:
            mine.since = None
            while self._attempt is mine and not self._wanted:
                self._news.wait(0.25)
            return self._attempt is mine

    def _judge(self, mine: _Attempt, source: Source, frame: Frame, now: float) -> None:
        """Hand a picture on, or tell what is wrong with it."""
        rows, columns = frame.picture.shape[:2]
        look = look_at(frame.picture)
        same = source.live and self._sample is not None and np.array_equal(look.sample, self._sample)
        self._sample = look.sample
        with self._news:
            if self._attempt is not mine:
                raise _Again
            self._size = self._size or (columns, rows)
            if (columns, rows) != self._size:
                self._turn(Lost, f"its pictures are {columns}x{rows}, not {self._size[0]}x{self._size[1]}")
                raise _Again
            if not same:
                self._same_since = now
            if now - self._same_since >= self._patience.frozen:
                self._turn(Frozen, f"its picture has not changed by a bit for {now - self._same_since:.0f} s")
                self._same_since = now
                raise _Again
            if self._state is Frozen and same:
                return
            if look.dark is None:
                self._dark_since = 0.0
                self._delay = self._patience.first_retry
                self._turn(Back, f"{shown(self.address)} sends {columns}x{rows}")
                self._frame, self._wanted, self._handed = frame, False, time.monotonic()
                self._news.notify_all()
                return
            self._dark_since = self._dark_since or now
            if now - self._dark_since >= self._patience.dark:
                self._turn(Dark, look.dark)
