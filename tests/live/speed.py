"""The real daemon at many times the speed of a table, for proofs that take days: `python -m tests.live.speed CONFIG DAYS HOURS`.

Its clock is the play's: each message a second after the last, so many hours a day; then it is quiet until the next day has begun
its ledger. The ports are real pseudo-terminals, open and silent; the bytes are put into the inbox, where their threads would put
them. Each simulated hour a line of JSON tells what the process holds (`Sample`). After the last day it waits to be stopped.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from tablectl import config
from tablectl.config import ConfigFile
from tablectl.daemon.run import Daemon
from tablectl.emulator.device import VirtualDevice
from tablectl.shoe.events import Bytes
from tests.daemon.lines import BEGINS, SECOND, chunks_of

__all__ = ["DAY", "Sample", "samples_of"]

HOUR: Final = 3600 * SECOND
DAY: Final = 24 * HOUR
ROUNDS: Final = 128
"""In an hour, about: a day ends with a round."""


class Sample(msgspec.Struct, frozen=True):
    """What the process holds: simulated hours of this day, messages so far, and what the system counts."""

    day: int
    hours: float
    messages: int
    ledgers: int
    rss: int
    descriptors: int
    threads: int
    seconds: float


def samples_of(text: str) -> list[Sample]:
    """The samples in what it printed."""
    return [msgspec.json.decode(line, type=Sample) for line in text.splitlines() if line.startswith("{")]


class Played:
    """The play, and the clock that it moves."""

    def __init__(self, file: ConfigFile, days: int, hours: float, seed: int) -> None:
        self.now = BEGINS
        self.daemon = Daemon(file, log=lambda line: print(line, flush=True), clock=lambda: self.now)
        self._file = file
        self._days, self._hours, self._seed = days, hours, seed
        self._messages = 0
        self._began = time.monotonic()

    def run(self) -> None:
        """All days, one after the other."""
        self._wait_for(1)
        for day in range(self._days):
            self.now = max(self.now, BEGINS + day * DAY)
            self._wait_for(day + 1)
            self._day(day)
        print("done", flush=True)

    def _day(self, day: int) -> None:
        begins, hour = BEGINS + day * DAY, 1
        inbox, rounds = self.daemon._inbox, max(2, int(self._hours * ROUNDS))
        for chunk in chunks_of(self._file.config.table.house, seed=self._seed + day, rounds=rounds, begins=begins):
            assert chunk.at is not None
            self.now = chunk.at
            inbox.put(Bytes(chunk.port, chunk.at, chunk.data))
            self._messages += 1
            if chunk.at >= begins + hour * HOUR:
                self._sample(day, hour)
                hour += 1
        self._settle()
        self._sample(day, (self.now - begins) / HOUR)

    def _settle(self) -> None:
        while self.daemon._inbox._queue.qsize():
            time.sleep(0.05)

    def _wait_for(self, ledgers: int) -> None:
        while self._ledgers() < ledgers:
            time.sleep(0.05)

    def _ledgers(self) -> int:
        return len(list(self._file.beside("store").glob("ledger/*.db")))

    def _sample(self, day: int, hours: float) -> None:
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        sample = Sample(
            day,
            hours,
            self._messages,
            self._ledgers(),
            int(status["VmRSS"].split()[0]) * 1024,
            len(os.listdir("/proc/self/fd")) - 1,
            int(status["Threads"]),
            round(time.monotonic() - self._began, 1),
        )
        print(msgspec.json.encode(sample).decode(), flush=True)


def _devices(file: ConfigFile) -> Iterator[VirtualDevice]:
    folder = file.beside("devices")
    folder.mkdir(exist_ok=True)
    for device in file.config.devices:
        yield VirtualDevice(device.name, folder)


def main(arguments: list[str]) -> int:
    """Play, and serve until stopped."""
    file = config.load(Path(arguments[0]))
    seed = int(arguments[3]) if len(arguments) > 3 else 1
    devices = list(_devices(file))
    played = Played(file, int(arguments[1]), float(arguments[2]), seed)
    threading.Thread(target=played.run, name="play", daemon=True).start()
    try:
        return played.daemon.run()
    finally:
        for device in devices:
            device.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
