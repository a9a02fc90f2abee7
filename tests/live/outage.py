"""A broker that fails in every way while a table plays: `python -m tests.live.outage [HOURS]` prints what was found.

Stopped, killed, restarted without what it knew, frozen, slow, refusing the table, refusing what it says: in each the time from a
message on the line to its entry in the ledger must be what it is beside a healthy broker, and afterwards everything must arrive,
in order and once by id. Then one long outage: so many simulated hours at speed, over which memory must be flat; and one over the
beginning of a new day.
"""

from __future__ import annotations

import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from tablectl.ledger.reader import Reader
from tests.broker import Broker
from tests.live.running import Stage, Subscriber, assert_told, assert_whole, configured, ledgers, notices, staged, until
from tests.live.soak import Fast, assert_flat
from tests.live.speed import Sample

__all__ = ["TROUBLES", "Found", "Slow", "long_outage", "prove"]

STEPS: Final = 60
"""Messages that are measured at a time."""
SLACK: Final = 0.05
"""Seconds by which half of the messages may take longer in an outage: what a busy machine does by itself."""
WAITS: Final = 1.0
"""Seconds: a table that waits for its broker waits longer than this."""
SLOW: Final = 4000
"""Bytes a second through a slow line."""


class Slow:
    """A TCP line to a broker that carries what is sent unhindered, or `rate` bytes a second each way."""

    def __init__(self, port: int) -> None:
        self.rate = 0
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._to), 5)
                except OSError:
                    near.close()
                    continue
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(self.rate // 10 or 65536):
                if self.rate:
                    time.sleep(len(data) / self.rate)
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._server.close()


class Line(NamedTuple):
    """The broker, and the line that leads to it."""

    broker: Broker
    slow: Slow


@contextmanager
def well(line: Line) -> Iterator[None]:
    yield


@contextmanager
def stopped(line: Line) -> Iterator[None]:
    line.broker.stop()
    yield
    line.broker.start()


@contextmanager
def killed(line: Line) -> Iterator[None]:
    line.broker.kill()
    yield
    line.broker.start()


@contextmanager
def emptied(line: Line) -> Iterator[None]:
    line.broker.stop()
    (line.broker.folder / "mosquitto.db").unlink(missing_ok=True)
    line.broker.start()
    yield


@contextmanager
def frozen(line: Line) -> Iterator[None]:
    line.broker.freeze()
    yield
    line.broker.thaw()


@contextmanager
def slow(line: Line) -> Iterator[None]:
    line.slow.rate = SLOW
    yield
    line.slow.rate = 0


@contextmanager
def _configured(line: Line, settings: str) -> Iterator[None]:
    before = line.broker._settings
    line.broker.stop()
    line.broker._settings = settings
    line.broker.start()
    yield
    line.broker.stop()
    line.broker._settings = before
    line.broker.start()


@contextmanager
def shut(line: Line) -> Iterator[None]:
    """It wants a password, and the table has none."""
    with _configured(line, "allow_anonymous false"):
        yield


@contextmanager
def barred(line: Line) -> Iterator[None]:
    """It lets the table in, and takes nothing from it."""
    access = line.broker.folder / "access"
    access.write_text("topic read #\n")
    access.chmod(0o644)
    with _configured(line, f"acl_file {access}"):
        yield


TROUBLES: Final = {
    "well": well,
    "stopped": stopped,
    "killed": killed,
    "restarted empty": emptied,
    "frozen": frozen,
    "slow": slow,
    "wrong password": shut,
    "access list": barred,
}


class Found(NamedTuple):
    """Seconds from a message on the line to its entry in the ledger, beside a healthy broker and in trouble; and afterwards."""

    before: list[float]
    meanwhile: list[float]
    backlog: int
    """Notices that were in the ledger and had not come when the trouble was over."""
    arrived: float
    """Until all had."""
    notices: int
    repeats: int


def prove(folder: Path, name: str, *, steps: int = STEPS, seconds: float = 60.0) -> Found:
    """One trouble. Raises `AssertionError` for what is not as it must be."""
    broker = Broker(folder / "broker", persistent=True)
    broker.folder.mkdir(parents=True)
    with broker:
        line = Line(broker, Slow(broker.port))
        with (
            Subscriber(broker.port) as subscriber,
            staged(folder, broker=_through(line), subscriber=subscriber, gap=0.0) as stage,
        ):
            measured(stage, 20)
            assert_told(stage.file, subscriber)
            before = measured(stage, steps)
            with TROUBLES[name](line):
                meanwhile = measured(stage, steps)
                behind = sum(1 for _ in notices(stage.file)) - len(subscriber.told())
            began = time.monotonic()
            told = assert_told(stage.file, subscriber, seconds)
            arrived = time.monotonic() - began
            assert stage.program.stop() == 0, stage.program.log()
            assert_told(stage.file, subscriber)
            assert_whole(stage.file)
        line.slow.close()
    found = Found(before, meanwhile, behind, arrived, told, subscriber.repeats)
    assert max(meanwhile) < WAITS, f"a message waited for {max(meanwhile):.2f} s"
    assert statistics.median(meanwhile) < 2 * statistics.median(before) + SLACK, "the table is slower in an outage"
    return found


def _through(line: Line) -> Broker:
    """The broker as the table sees it: behind the slow line."""
    seen = Broker(line.broker.folder)
    seen.port = line.slow.port
    return seen


def measured(stage: Stage, steps: int) -> list[float]:
    """Deal so many messages, each when the last is in the ledger; gives the seconds that each took."""
    taken = []
    with Reader(ledgers(stage.file)[-1]) as reader:
        for _ in range(steps):
            last, began = reader.last(), time.monotonic()
            stage.emulated.step()
            while reader.last() == last:
                assert time.monotonic() < began + 10, stage.program.log()
                time.sleep(0.0005)
            taken.append(time.monotonic() - began)
    return taken


class Outage(NamedTuple):
    """A long outage: the samples of the process while the broker was away, and the notices that came when it was there."""

    samples: list[Sample]
    notices: int
    arrived: float


def long_outage(folder: Path, *, days: int, hours: float, seconds: float, say: Callable[[str], object] = print) -> Outage:
    """So many days of so many hours without a broker; then it is there, and all must arrive, ledger after ledger."""
    broker = Broker(folder / "broker")
    broker.folder.mkdir(parents=True)
    file = configured(folder, broker=broker.url)
    with Fast(file, days, hours) as fast:
        samples = fast.played(seconds)
        with broker, Subscriber(broker.port) as subscriber:
            assert file.config.broker is not None
            assert broker.url == file.config.broker.url, "somebody took the broker's port meanwhile"
            until(lambda: len(ledgers(file)) >= days, 5, "a ledger a day")
            began = time.monotonic()
            wanted = sum(1 for _ in notices(file))
            while len(subscriber.messages) < wanted:  # counted, not looked at: that would keep so many from coming
                assert time.monotonic() < began + seconds, f"{len(subscriber.messages)} messages of {wanted} came"
                time.sleep(0.2)
            assert_told(file, subscriber)
            arrived = time.monotonic() - began
            assert fast.stop() == 0, fast.log()[-3000:]
            told = assert_told(file, subscriber)
            assert_whole(file)
    return Outage(samples, told, arrived)


def _ms(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"{statistics.median(ordered) * 1000:>7.1f} {ordered[int(len(ordered) * 0.99)] * 1000:>7.1f}"


def main(arguments: list[str]) -> int:
    """All troubles, then the long outage."""
    failed = 0
    print("byte to ledger, ms  before: p50     p99  in it: p50     p99  backlog  arrived s  notices  repeats")
    for name in TROUBLES:
        with _folder() as folder:
            try:
                found = prove(folder, name, seconds=120)
            except AssertionError as error:
                failed += 1
                print(f"{name:<18} FAILED: {error}", flush=True)
                continue
        print(
            f"{name:<18}  {_ms(found.before):>19}  {_ms(found.meanwhile):>17} {found.backlog:>8} {found.arrived:>10.1f} "
            f"{found.notices:>8} {found.repeats:>8}",
            flush=True,
        )
    with _folder() as folder:
        over = long_outage(folder, days=2, hours=0.05, seconds=120)
        print(f"over a new day: {over.notices} notices of 2 ledgers arrived in order in {over.arrived:.1f} s", flush=True)
    hours = float(arguments[0]) if arguments else 24.0
    with _folder() as folder:
        long = long_outage(folder, days=1, hours=hours, seconds=7200)
        for sample in long.samples:
            print(f"hour {sample.hours:>5.1f}  {sample.messages:>7} messages  {sample.rss / 1e6:>6.1f} MB", flush=True)
        print(f"{long.notices} notices arrived in order in {long.arrived:.1f} s")
        assert_flat(long.samples[min(1, len(long.samples) - 1) :])
    return 1 if failed else 0


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tablectl-outage-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
