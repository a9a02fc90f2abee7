"""The table's side of watching its felt: the thread `tablectl-felt` keeps a watcher process, and delivers what that reports.

A watcher that ends, or says nothing for a while, is ended and another is started, with growing pauses. Nothing here looks at a
picture, so that a card of the shoe has the table's process for itself.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from tablectl.errors import InputError
from tablectl.felt.evidence import Keep
from tablectl.felt.reports import Report, Settings, Stop, encode, read_report

__all__ = ["WatcherDown", "Watching", "WatchingEvent", "WatchingPatience"]

LONGEST: Final = 1_000_000
"""Bytes that a line may have."""
MODULE: Final = "tablectl.felt.watcher"


class WatcherDown(msgspec.Struct, frozen=True, tag="watcher_down"):
    """The process ended, or was ended as it said nothing; another is started. The felt is not seen until a camera is back."""

    at: int
    why: str


WatchingEvent = Report | WatcherDown


class WatchingPatience(NamedTuple):
    """How long things may take, in seconds."""

    start: float = 60.0
    """Until the first report: the networks are loaded, a felt is rendered."""
    silence: float = 15.0
    first_retry: float = 0.5
    last_retry: float = 30.0
    stop: float = 15.0
    """For evidence that is being written."""


class Watching:
    """A watcher for `settings`. `deliver` gets its reports in the thread `tablectl-felt`, in their order; it may block.

    `clock` gives microseconds since 1970 UTC. Nothing is raised.
    """

    def __init__(
        self,
        settings: Settings,
        deliver: Callable[[WatchingEvent], object],
        *,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        patience: WatchingPatience = WatchingPatience(),  # noqa: B008 (a NamedTuple cannot be changed)
    ) -> None:
        self._settings = settings
        self._deliver = deliver
        self._clock = clock
        self._patience = patience
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None  # under the lock
        self._began = False  # the process has reported something
        self._thread = threading.Thread(target=self._run, name="tablectl-felt", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def keep(self, order: Keep) -> bool:
        """Ask for the evidence of an alert, and do not wait: a `Kept` follows. False: there is no watcher to ask."""
        return self._ask(encode(order))

    def close(self) -> None:
        """Let the watcher finish what it writes, and end it."""
        self._stopping.set()
        if not self._began:
            self._kill()  # it still loads, and has nothing to finish
        self._ask(encode(Stop()))
        if self._thread.ident is not None:
            self._thread.join(self._patience.stop)
        self._kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _ask(self, line: bytes) -> bool:
        with self._lock:
            if self._process is None or self._process.stdin is None:
                return False
            try:
                return os.write(self._process.stdin.fileno(), line) == len(line)
            except OSError:  # it is full, or gone
                return False

    def _kill(self) -> None:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.kill()

    # The thread

    def _run(self) -> None:
        delay = self._patience.first_retry
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                why = self._watch()
            except OSError as fault:
                why = f"cannot be started: {fault.strerror}"
            if self._stopping.is_set():
                return
            self._deliver(WatcherDown(self._clock(), why))
            if time.monotonic() - began > 10 * self._patience.last_retry:
                delay = self._patience.first_retry  # it had been well
            self._stopping.wait(delay)
            delay = min(2 * delay, self._patience.last_retry)

    def _watch(self) -> str:
        """One watcher, from its start to its end; gives why it ended."""
        environment = {**os.environ, "OPENCV_LOG_LEVEL": "SILENT", "OPENCV_FFMPEG_LOGLEVEL": "-8", "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(  # noqa: S603 (ourselves)
            [sys.executable, "-m", MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        os.write(process.stdin.fileno(), encode(self._settings))
        os.set_blocking(process.stdin.fileno(), False)  # who asks does not wait
        with self._lock:
            self._process, self._began = process, False
            if self._stopping.is_set():  # it was asked for before it was there
                process.kill()
        why = ""
        try:
            why = self._listen(process)
        finally:
            with self._lock:
                self._process = None
            if process.poll() is None and why:
                process.kill()
            try:
                code = process.wait(self._patience.stop)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            words = process.stderr.read()[-2000:].decode(errors="replace").strip().rpartition("\n")[2]
            for pipe in (process.stdin, process.stdout, process.stderr):
                with suppress(OSError):
                    pipe.close()
        return why or f"it ended with code {code}" + (f": {words}" if words else "")

    def _listen(self, process: subprocess.Popen[bytes]) -> str:
        """Deliver what it reports until it ends; gives why it is to be ended, "" when it ended by itself."""
        assert process.stdout is not None
        pending, limit = b"", self._patience.start
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            last = time.monotonic()
            while True:
                ready = selector.select(0.5)
                if not ready:
                    if time.monotonic() - last > limit:
                        return f"it said nothing for {limit:g} s"
                    continue
                data = os.read(process.stdout.fileno(), 65536)
                if not data:
                    return ""
                last, limit = time.monotonic(), self._patience.silence
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    try:
                        report = read_report(line)
                    except InputError as fault:
                        return f"it cannot be understood: {fault.message}"
                    self._began = True
                    self._deliver(report)
                if len(pending) > LONGEST:
                    return "it cannot be understood: a line without an end"
