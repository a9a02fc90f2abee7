"""Ten table-days at speed: `python -m tests.live.soak [DAYS [HOURS]]` prints what the process holds, hour by hour.

Each day begins a ledger that follows the last; a broker and a subscriber hear all of it. Memory, files and threads must be as
many in the last days as they were after the first; afterwards every day verifies and is made again from its recordings.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tablectl.config import ConfigFile
from tests.broker import Broker
from tests.live.running import Subscriber, assert_whole, configured, ledgers, until
from tests.live.speed import Sample, samples_of

__all__ = ["Fast", "assert_flat", "soak"]

GROWTH = 12_000_000
"""Bytes by which memory may differ between the day after the first and the last: what an allocator keeps back, no more."""


class Fast:
    """The daemon at speed, as a process."""

    def __init__(self, file: ConfigFile, days: int, hours: float, *, seed: int = 1) -> None:
        words = [sys.executable, "-m", "tests.live.speed", str(file.path), str(days), str(hours), str(seed)]
        self._out = file.path.with_name("speed.log")
        with self._out.open("wb") as out:
            self._process = subprocess.Popen(words, stdout=out, stderr=out, cwd=Path(__file__).parents[2])

    def log(self) -> str:
        return self._out.read_text()

    def samples(self) -> list[Sample]:
        return samples_of(self.log())

    def played(self, seconds: float) -> list[Sample]:
        """Wait until all was played."""
        deadline = time.monotonic() + seconds
        while "\ndone\n" not in self.log():
            assert self._process.poll() is None, self.log()[-3000:]
            assert time.monotonic() < deadline, self.log()[-3000:]
            time.sleep(0.1)
        return self.samples()

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)

    def __enter__(self) -> Fast:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def assert_flat(samples: Sequence[Sample], growth: int = GROWTH) -> None:
    """What the process holds in the last sample is what it held in the first, but for so much memory."""
    first, last = samples[0], samples[-1]
    assert last.rss - first.rss < growth, f"memory grew from {first.rss} to {last.rss}"
    assert last.descriptors <= first.descriptors + 2, f"open files: {first.descriptors}, then {last.descriptors}"
    assert last.threads <= first.threads + 1, f"threads: {first.threads}, then {last.threads}"


def soak(folder: Path, *, days: int, hours: float, say: Callable[[str], object], seconds: float) -> list[Sample]:
    """So many days of so many hours; gives the samples."""
    with Broker(folder / "broker") as broker, Subscriber(broker.port, keep=False) as subscriber:
        file = configured(folder, broker=broker.url)
        with Fast(file, days, hours) as fast:
            told = 0
            deadline = time.monotonic() + seconds
            while "\ndone\n" not in fast.log():
                assert time.monotonic() < deadline, fast.log()[-3000:]
                told = _tell(fast.samples(), told, say)
                if fast._process.poll() is not None:
                    break
                time.sleep(0.2)
            samples = fast.played(5)
            _tell(samples, told, say)
            counted = -1
            while counted != subscriber.count:  # the broker has the rest
                counted = subscriber.count
                time.sleep(1.0)
            assert fast.stop() == 0, fast.log()[-3000:]
        until(lambda: len(ledgers(file)) == days, 1, "a ledger a day")
        size = assert_whole(file)
        say(
            f"{size} entries in {days} ledgers verify and are made again from their recordings; {subscriber.count} messages heard"
        )
    return samples


def _tell(samples: Sequence[Sample], told: int, say: Callable[[str], object]) -> int:
    for sample in samples[told:]:
        say(
            f"day {sample.day + 1:>2}  hour {sample.hours:>5.2f}  {sample.messages:>8} messages  {sample.rss / 1e6:>6.1f} MB  "
            f"{sample.descriptors:>3} files  {sample.threads:>2} threads  {sample.seconds:>7.1f} s"
        )
    return len(samples)


def main(arguments: list[str]) -> int:
    """The soak; the exit code says whether all was flat."""
    days = int(arguments[0]) if arguments else 10
    hours = float(arguments[1]) if len(arguments) > 1 else 8.0
    folder = Path(tempfile.mkdtemp(prefix="tablectl-soak-"))
    try:
        samples = soak(folder, days=days, hours=hours, say=lambda line: print(line, flush=True), seconds=7200)
        assert_flat([sample for sample in samples if sample.day >= min(1, days - 1)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
