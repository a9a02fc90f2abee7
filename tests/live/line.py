"""Line: what a table's lines and clock suffer, and what it makes of it.

`python -m tests.live.line` does all of it and prints figures: devices that are unplugged in the middle of a frame and come back,
a flood of noise, a second program that opens a port, and a clock that is set back. It ends at the first thing that is not as it
must be; each part can be asked for alone.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from tablectl.cards import PACK
from tablectl.config import ConfigFile
from tablectl.instants import to_micros
from tablectl.mqtt.messages import Envelope
from tablectl.notices import Alert, decode
from tablectl.observations import Bet, CardDrawn
from tablectl.recording.importers import open_log
from tests.live.clock import clocked
from tests.live.running import (
    Stage,
    Subscriber,
    assert_told,
    assert_whole,
    cards,
    ledgers,
    notices,
    observations,
    recordings_of,
    staged,
    standing,
    until,
)

__all__ = ["Clocked", "Flooded", "Shared", "Unplugged", "clock_set_back", "flooded", "shared", "unplugged"]

MB = 1_000_000
HOUR = 3600
PRESSED = b"Q1\nA9999 CHIEF7\n"
EAGER = ("tests.live.eager", "--retry", "0.05")


def alerts(file: ConfigFile, code: str) -> list[Alert]:
    """The alerts of this code in a table's ledgers."""
    found = (decode(body) for _, body in notices(file))
    return [notice for notice in found if isinstance(notice, Alert) and notice.code == code]


def alerts_heard(subscriber: Subscriber, code: str) -> list[Alert]:
    """The same, of those that a subscriber has heard."""
    found = (decode(body) for body in subscriber.told().values())
    return [notice for notice in found if isinstance(notice, Alert) and notice.code == code]


def recorded_bytes(file: ConfigFile) -> int:
    """How many bytes of devices are in a table's recordings."""
    logs = (open_log(path) for path in recordings_of(file))
    return sum(len(chunk.data) for log in logs for chunk in log if chunk.port in ("shoe", "pad"))


class Unplugged(NamedTuple):
    """How often a device was taken away, and what of the cards that were sent whole."""

    times: int
    cards: int
    kept: int
    downs: int
    slowest: float
    entries: int
    notices: int

    def lines(self) -> Iterator[str]:
        """The figures."""
        yield f"unplugged in mid-frame       {self.times} times, {self.downs} told as lost; back within {self.slowest:.2f} s"
        yield f"cards whole on the line      {self.cards}; in the ledger {self.kept}, each once, in order"
        yield f"ledger entries               {self.entries}, rebuilt to the same head; {self.notices} notices heard once by id"


def unplugged(folder: Path, times: int, seed: int) -> Unplugged:
    """Cut the devices' frames in two by unplugging them, between messages that are whole and in the midst of repeats."""
    half = (times + 1) // 2
    one = _unplugged_between(folder / "between", half, seed)
    two = _unplugged_within(folder / "within", times - half, seed)
    return Unplugged(*(max(a, b) if isinstance(a, float) else a + b for a, b in zip(one, two, strict=True)))  # type: ignore[arg-type]


def _unplugged_between(folder: Path, times: int, seed: int) -> Unplugged:
    """A message of which only the beginning came, and legal play in between: no card is lost, and the game is not disturbed."""
    draw, slowest = random.Random(seed), 0.0
    with staged(folder, module=EAGER, seed=seed, patience=20.0) as stage:
        table = stage.emulated
        for _ in range(times):
            for _ in range(draw.randint(1, 3)):
                table.step()
            port = draw.choice(("shoe", "shoe", "pad"))
            said = CardDrawn(card=draw.choice(PACK), source="shoe") if port == "shoe" else Bet(box=draw.randint(1, 7), amount=100)
            message = table.script.message(said)
            assert message is not None
            slowest = max(slowest, _cut(stage, port, message.copies[0].strip(), draw))
        while table.table.round_open:
            table.step()
        owed = [str(seen.card) for seen in table.account.owed() if isinstance(seen, CardDrawn)]
        return _ended(stage, times, owed, slowest)


def _unplugged_within(folder: Path, times: int, seed: int) -> Unplugged:
    """A shoe that sends each message three times, and goes in the middle of a repeat of what was read already."""
    draw, slowest = random.Random(seed), 0.0
    with staged(folder, module=EAGER, shoe="angel-eye-ii", seed=seed, patience=20.0) as stage:
        table = stage.emulated
        owed: list[str] = []
        cuts = 0
        for seen in table.dealer:
            message = table.script.message(seen)
            assert message is not None
            device, frame = table.devices[message.port], message.copies[0]
            time.sleep(table.gap)
            device.send(frame)
            assert device.drained(20.0)
            if isinstance(seen, CardDrawn):
                owed.append(str(seen.card))
            if message.port == "shoe" and cuts < times:
                cuts += 1
                device.send(frame * draw.randint(0, 1))
                slowest = max(slowest, _cut(stage, message.port, frame, draw))
            if cuts == times and not table.table.round_open:
                break
        return _ended(stage, times, owed, slowest)


def _cut(stage: Stage, port: str, frame: bytes, draw: random.Random) -> float:
    """Send the beginning of a frame, and take the device away; gives the seconds from its return until it was told."""
    device = stage.emulated.devices[port]
    device.send(frame[: draw.randrange(1, len(frame))])
    if draw.random() < 0.5:
        device.drained(1.0)
    heard = len(stage.subscriber.messages)
    device.unplug()
    until(lambda: _is_told(stage, heard, port, "down"), what=f"{port} down")
    time.sleep(draw.uniform(0.0, 0.03))
    heard, began = len(stage.subscriber.messages), time.monotonic()
    device.replug()
    until(lambda: _is_told(stage, heard, port, "up"), what=f"{port} up")
    return time.monotonic() - began


def _is_told(stage: Stage, after: int, port: str, state: str) -> bool:
    """Whether the table has said this of a device, in a message that followed so many."""
    statuses = (message for message in stage.subscriber.messages[after:] if message.topic.endswith("/status"))
    data = (msgspec.json.decode(msgspec.json.decode(message.payload, type=Envelope).data) for message in statuses)
    return any(said["devices"].get(port, {}).get("state") == state for said in data)


def _ended(stage: Stage, times: int, owed: list[str], slowest: float) -> Unplugged:
    """Stop the table, and see that it has what it must have."""
    assert stage.program.stop() == 0, stage.program.log()
    found = cards(stage.file)
    assert found == owed
    game = stage.emulated.table
    assert standing(stage.file) == (game.phase, game.round.number), "the game was disturbed"
    critical = [
        notice.code for _, body in notices(stage.file) if isinstance(notice := decode(body), Alert) and notice.ack_required
    ]
    assert not critical, critical
    downs = len(alerts(stage.file, "link.lost"))
    assert downs == times, f"{times} times unplugged, {downs} told"
    told = assert_told(stage.file, stage.subscriber)
    return Unplugged(times, len(owed), len(found), downs, slowest, assert_whole(stage.file), told)


class Flooded(NamedTuple):
    """What a flood of noise does. Seconds, and bytes."""

    noise: int
    recorded: int
    seconds: float
    memory_before: int
    memory_most: int
    entries: int
    ledger: int
    answers: int
    median: float
    slowest: float

    def lines(self) -> Iterator[str]:
        """The figures."""
        yield f"noise                        {self.noise / MB:.0f} MB in {self.seconds:.0f} s; {self.recorded} bytes recorded"
        yield f"memory                       {self.memory_before / MB:.0f} MB before, {self.memory_most / MB:.0f} MB at the most"
        yield f"ledger                       {self.entries} entries in all, {self.ledger / 1000:.0f} kB"
        yield f"pad answered meanwhile       {self.answers} times, median {self.median:.2f} s, slowest {self.slowest:.2f} s"


def flooded(folder: Path, noise: int, seed: int) -> Flooded:
    """Put so many bytes of noise on the shoe's line, as fast as they are read, and use the pad meanwhile."""
    draw = random.Random(seed)
    with staged(folder, shoe="angel-eye-ii", seed=seed, patience=60.0) as stage:
        table = stage.emulated
        for _ in range(12):
            table.step()
        before = stage.program.memory()
        until(lambda: len(cards(stage.file)) == len(table.account.owed()), 20)
        began = time.monotonic()
        with _pressed(stage) as answers:
            block = [draw.randbytes(4096) for _ in range(256)]
            left = noise
            while left:
                length = min(4096, left)
                assert table.shoe.send(draw.choice(block)[:length], 60.0) == length
                left -= length
            assert table.shoe.drained(60.0)
        seconds = time.monotonic() - began
        while not len(table.account.owed()) > 20:  # cards after it
            table.step()
        assert stage.program.stop(120) == 0, stage.program.log()
        most = max(answers.memory, before)
        assert cards(stage.file) == [str(seen.card) for seen in table.account.owed() if isinstance(seen, CardDrawn)]
        recorded = recorded_bytes(stage.file)
        entries = assert_whole(stage.file)
        assert_told(stage.file, stage.subscriber)
        waited = sorted(answers.seconds)
        size = sum(path.stat().st_size for path in ledgers(stage.file))
        return Flooded(noise, recorded, seconds, before, most, entries, size, len(waited), waited[len(waited) // 2], waited[-1])


class Answers:
    """How long the table took to answer its pad, in seconds each, and the most memory it held."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.memory = 0
        self.failed: BaseException | None = None


@contextmanager
def _pressed(stage: Stage) -> Iterator[Answers]:
    """Meanwhile the pad's keys are pressed, and what the table says to that is waited for. Once at least."""
    answers, stopping = Answers(), threading.Event()

    def press() -> None:
        try:
            while True:
                _press(stage, answers)
                answers.memory = max(answers.memory, stage.program.peak_memory())
                if stopping.wait(0.2):
                    return
        except BaseException as error:  # told to who looks at the answers
            answers.failed = error

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield answers
    finally:
        stopping.set()
        thread.join()
    if answers.failed is not None:
        raise answers.failed


def _press(stage: Stage, answers: Answers) -> None:
    heard = len(stage.subscriber.messages)
    began = time.monotonic()
    # No key has the first word: the table says that the line is corrupt, and with the second one that it is sound again.
    assert stage.emulated.pad.send(PRESSED) == len(PRESSED)
    until(lambda: _is_told(stage, heard, "pad", "up"), 60, "an answer")
    answers.seconds.append(time.monotonic() - began)


class Shared(NamedTuple):
    """How long it took until a second program at a port was told, in seconds, and in which words."""

    seconds: float
    text: str

    def lines(self) -> Iterator[str]:
        """The figures."""
        yield f"a second program             told after {self.seconds:.1f} s: {self.text}"


def shared(folder: Path, *, after: float = 0.0, seconds: float = 15.0) -> Shared:
    """Let another program open the shoe's port, so many seconds `after` the table did, and wait until the table tells it.

    One that is not root's is kept out by the lock: it opens the port before the table.
    """
    with staged(folder, start=False) as stage:
        early = os.geteuid() != 0
        if not early:
            stage.begin()
            time.sleep(after)
        with stage.emulated.shoe.path.open("rb", buffering=0) as port:
            other = subprocess.Popen(["sleep", "600"], stdin=port)
        try:
            if early:
                stage.begin()
            began = time.monotonic()
            until(
                lambda: any("sleep" in alert.text for alert in alerts_heard(stage.subscriber, "link.corrupt")),
                seconds,
                "an alert",
            )
            took = time.monotonic() - began
        finally:
            other.kill()
            other.wait()
        text = next(alert.text for alert in alerts_heard(stage.subscriber, "link.corrupt") if "sleep" in alert.text)
        assert f"(pid {other.pid})" in text
        stage.emulated.run(1)
        assert stage.program.stop() == 0, stage.program.log()
        assert len(cards(stage.file)) == len(stage.emulated.account.owed())
        assert_whole(stage.file)
        return Shared(took, text)


class Clocked(NamedTuple):
    """What a clock that was set did to a record."""

    told: list[int]
    cards: int
    kept: int
    ledgers: list[str]
    recordings: int
    entries: int

    def lines(self) -> Iterator[str]:
        """The figures."""
        yield f"clock set back               told: {', '.join(f'{seconds} s' for seconds in self.told)}"
        yield f"cards                        {self.cards} dealt; in the ledgers {self.kept}, in order"
        yield f"ledgers                      {', '.join(self.ledgers)}: none was begun backwards; {self.entries} entries, rebuilt"


def clock_set_back(folder: Path, seed: int, *, days: int = 2) -> Clocked:
    """Set the clock back an hour, over the beginning of the day, and start again.

    With two `days`, then set it forward to the next day, which begins another ledger, and back an hour from there.
    """
    begins = datetime.now(UTC) - timedelta(minutes=10)
    section = f'day_begins = "{begins:%H:%M}"\n'  # ten minutes ago, so that an hour ago was yesterday's
    with clocked(folder, seed=seed, table=section) as (stage, set_back):
        stage.begin()
        stage.emulated.run(1)
        set_back(HOUR)
        stage.emulated.run(1)
        _killed(stage)
        stage.begin()  # with a clock that is behind
        stage.emulated.run(1)
        assert len(ledgers(stage.file)) == 1
        if days > 1:
            set_back(-24 * HOUR)
            until(lambda: len(ledgers(stage.file)) == 2, 20, "the next day's ledger")  # after some quiet seconds
            stage.emulated.run(1)
            set_back(-23 * HOUR)
            stage.emulated.run(1)
            time.sleep(6)  # as long as a new day needs to begin
            _killed(stage)
            stage.begin()
            stage.emulated.run(1)
        assert stage.program.stop() == 0, stage.program.log()
        file, owed = stage.file, stage.emulated.account.owed()
        found = cards(file)
        assert found == [str(seen.card) for seen in owed if isinstance(seen, CardDrawn)]
        names = [path.name for path in ledgers(file)]
        assert names == [f"{(begins + timedelta(days=day)):%Y-%m-%d}.db" for day in range(days)]
        _assert_set_back(file)
        told = [int(str(alert.operands["seconds"])) for alert in alerts(file, "link.clock")]
        entries = assert_whole(file)
        assert_told(file, stage.subscriber)
        return Clocked(told, len(owed), len(found), names, len(recordings_of(file)), entries)


def _killed(stage: Stage) -> None:
    """Kill the table once it has recorded what it read: what it had only read would be gone."""
    until(lambda: len(cards(stage.file)) == len(stage.emulated.account.owed()), what="the last card")
    stage.program.kill()


def _assert_set_back(file: ConfigFile) -> None:
    """The clock was set back in the record; that the recordings' names are in order all the same shows when it is rebuilt."""
    assert len(recordings_of(file)) > 1
    times = [to_micros(seen.at) for seen in observations(file) if seen.at is not None]
    assert times != sorted(times)


PARTS = ("unplugged", "flooded", "shared", "clock")


def main() -> int:
    """Do what is asked for, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.line", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; left out: all of them")
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--noise", type=int, default=100, metavar="MB")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    for part in given.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="tablectl-line-") as name:
            folder = Path(name)
            figures: Unplugged | Flooded | Shared | Clocked
            if part == "unplugged":
                figures = unplugged(folder, given.times, given.seed)
            elif part == "flooded":
                figures = flooded(folder, given.noise * MB, given.seed)
            elif part == "shared":
                figures = shared(folder, after=2.0)  # the table has just looked, and looks every ten seconds
            else:
                figures = clock_set_back(folder, given.seed)
        print("\n".join(figures.lines()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
