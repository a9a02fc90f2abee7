"""The thread of a serial device: what the device sends is delivered, whatever becomes of the device.

The thread waits for bytes and takes what is there; framing them is the decoder's work. It ends only when it is asked to: a device
that vanished, or a fault of ours, is one `Down`, and is tried again with growing pauses.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from types import TracebackType
from typing import NamedTuple, Self

from tablectl.shoe.events import Bytes, Down, Event, Sent, Trouble, Up
from tablectl.shoe.holders import Holder, holders
from tablectl.shoe.line import Line, NotTaken, checked_address, opened, reason
from tablectl.shoe.line_errors import LineErrors
from tablectl.shoe.profile import LinkSettings

__all__ = ["Patience", "Port"]

WAITING = 65536
"""Bytes that may wait to be sent; a device that takes none is not written to for ever."""
LOOK = 1.0
"""Seconds between two looks at the counts of line errors."""
REASONS = 20
"""So many different reasons are told while a device cannot be opened."""
_LAST_WORDS = 0.3  # seconds for which a port that was asked to stop still takes what has come in


class Patience(NamedTuple):
    """How long the thread waits, in seconds."""

    first_retry: float = 0.2
    last_retry: float = 5.0
    write: float = 1.0
    """A device that has not taken in this time what it was sent never will."""
    holders: float = 10.0
    """Between two looks at who else has the device open."""


class Port:
    """One device. `deliver` gets its events in the thread `tablectl-NAME`, in the order in which they happened.

    `deliver` may block: then nothing more is read, and the kernel (or the device) holds what comes. It must return soon once the
    port is asked to stop. An event is delivered again if it raises. `clock` gives microseconds since 1970 UTC. Nothing else is
    raised but `UsageError`, for an address that can be none.
    """

    def __init__(
        self,
        name: str,
        address: str,
        link: LinkSettings,
        deliver: Callable[[Event], object],
        *,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        patience: Patience = Patience(),  # noqa: B008 (a NamedTuple cannot be changed)
    ):
        self.name = name
        self.address = checked_address(address)
        self._link = link
        self._deliver = deliver
        self._clock = clock
        self._patience = patience
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._up = False  # under the lock, as is what waits to be sent
        self._outgoing: deque[bytes] = deque()
        self._undelivered: deque[Event] = deque()
        self._reasons: set[str] = set()
        self._others: set[Holder] = set()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name=f"tablectl-{name}", daemon=True)
        self._closed = False

    def start(self) -> None:
        """Begin: open the device, and keep it open."""
        self._thread.start()

    def write(self, data: bytes) -> bool:
        """Have bytes sent to the device, and do not wait for it: a `Sent` says when they were.

        False, and nothing is sent, while the device is not open or when too much waits to be sent.
        """
        with self._lock:
            if not self._up or self._closed or sum(map(len, self._outgoing)) + len(data) > WAITING:
                return False
            self._outgoing.append(bytes(data))
            os.eventfd_write(self._wake, 1)
        return True

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs: one that was asked to stop still delivers what has come in."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ask the thread to end, and do not wait for it."""
        self._stopping.set()
        with self._lock:
            if not self._closed:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """End the thread. Returns after a second even if `deliver` still blocks: the thread then ends with it."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join(1.0)
        with self._lock:
            if not self._closed and not self._thread.is_alive():
                self._closed = True
                os.close(self._wake)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # The thread.

    def _run(self) -> None:
        delay = self._patience.first_retry
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._catch_up()
                with closing(self._opened()) as line:
                    self._attend(line)
            except Exception as error:  # whatever it is: a thread that died would lose cards in silence
                with suppress(Exception):  # not delivered now: it will be, before anything else
                    self._lost(reason(error))
            if time.monotonic() - began > self._patience.last_retry:
                delay = self._patience.first_retry  # it had been well
            self._stopping.wait(delay)
            delay = min(2 * delay, self._patience.last_retry)

    def _opened(self) -> Line:
        return opened(self.address, self._link, write_timeout=self._patience.write, wake=self._wake)

    def _attend(self, line: Line) -> None:
        """Take and send until asked to stop. Raises what ends the link."""
        with self._lock:
            self._up = True
        self._reasons.clear()
        self._tell(Up(self.name, self._clock(), f"opened {line.where}"))
        before = line.errors()
        look = last = 0.0
        holders_look = time.monotonic() + min(LOOK, self._patience.holders)
        while True:
            stopping = self._stopping.is_set()  # before taking: what came until then is taken
            now = time.monotonic()
            data = line.take(0.0 if stopping else max(0.0, min(look, holders_look) - now))
            if data:
                self._tell(Bytes(self.name, self._clock(), data))
            self._send(line)
            if stopping:
                last = last or now
                if not data or now - last > _LAST_WORDS:
                    return
            if now >= look:
                before, look = self._look_at(line.errors(), before), now + LOOK
            if now >= holders_look and (
                not data or now >= holders_look + self._patience.holders
            ):  # it takes 20 ms: rather in a lull
                self._look_for_others(line)
                holders_look = time.monotonic() + self._patience.holders

    def _send(self, line: Line) -> None:
        while True:
            with self._lock:
                if not self._outgoing:
                    return
                data = self._outgoing.popleft()
            try:
                line.send(data)
            except NotTaken:
                self._trouble(f"{_unsent(data)}: the device took no more within {self._patience.write:g} s")
            else:
                self._tell(Sent(self.name, self._clock(), data))

    def _look_at(self, errors: LineErrors | None, before: LineErrors | None) -> LineErrors | None:
        if errors is not None and before is not None and (added := errors.since(before)):
            self._trouble(added)
        return errors

    def _look_for_others(self, line: Line) -> None:
        if line.file is None:
            return
        others = {holder for holder in holders(line.file) if holder.pid != os.getpid()}
        for holder in sorted(others - self._others):
            self._trouble(f"also open in {holder}")
        self._others = others

    # What is told.

    def _lost(self, why: str) -> None:
        """The link is down: said once, and then only what else hinders its return."""
        with self._lock:
            was_up, self._up = self._up, False
            unsent, self._outgoing = self._outgoing, deque()
        first = was_up or not self._reasons
        if why in self._reasons or len(self._reasons) >= REASONS:
            return
        self._reasons.add(why)
        at = self._clock()
        news: list[Event] = [Trouble(self.name, at, _unsent(data)) for data in unsent]
        self._tell(*news, Down(self.name, at, why) if first else Trouble(self.name, at, why))

    def _trouble(self, why: str) -> None:
        self._tell(Trouble(self.name, self._clock(), why))

    def _tell(self, *events: Event) -> None:
        self._undelivered.extend(events)
        self._catch_up()

    def _catch_up(self) -> None:
        """Deliver what is not delivered yet, the oldest first."""
        while self._undelivered:
            self._deliver(self._undelivered[0])
            self._undelivered.popleft()


def _unsent(data: bytes) -> str:
    """`not sent: 02 4F 50`, of long ones the beginning."""
    return f"not sent: {data[:20].hex(' ').upper()}" + (f" … ({len(data)} bytes)" if len(data) > 20 else "")
