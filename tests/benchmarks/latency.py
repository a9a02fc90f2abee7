"""From a card's bytes on the wire to its notice at a subscriber, beside a bare chain that does nothing in between.

Each is a process of its own with a pseudo-terminal of its own, on one broker, and there is one subscriber for all. The live
table is `tablectl run` as it ships: it records the bytes, plays by the rules of a house and commits to its ledger, both to the
disk, before it publishes. The bare chain (`bare_chain`) is pyserial and paho in one loop. A card goes to one, and when that is
quiet again to the next, so whatever the machine does besides, it does to all.

Between cards the disk alone is measured: what it takes to append to a file and have it there. The table has to do that twice, the
bare chain does not; so a third chain goes along, bare but for these two (`bare_on_disk`), to tell the disk's part from the
program's. All lie in /var/tmp, or in TMPDIR: name a folder on the disk that a table would use, for /tmp may be memory.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from tablectl.emulator.dealer import LegalPlay
from tablectl.emulator.device import VirtualDevice
from tablectl.game.table import Table
from tablectl.houses.rules import load as load_house
from tablectl.notices import Dealt, Notice
from tablectl.observations import CardDrawn
from tablectl.shoe.encoder import Encoder
from tablectl.shoe.profile import load as load_profile
from tests.benchmarks.slices import rounded
from tests.broker import Broker
from tests.table_toml import table_toml

__all__ = ["CARDS", "measure"]

CARDS: Final = 2000
QUIET: Final = 0.05
"""Seconds after a card in which nothing is asked of either: both are done with it, and no hand deals faster."""
P50_BAR: Final = 2.0
P99_BAR: Final = 10.0
DISK_EVERY: Final = 4
ROOT: Final = Path(__file__).resolve().parents[2]
BARE: Final = ("bare", "bare_on_disk")
"""The bare chains: their devices, and their topics."""
TOLD: Final = {
    "dealt": "dealt",
    "outcome": "outcome",
    "round_closed": "round",
    "phase": "phase",
    "shoe": "shoe",
    "prompt": "prompt",
}


class Onlooker:
    """The one subscriber: when the last message of each kind came, and how many have; nanoseconds of the monotonic clock."""

    def __init__(self, broker: Broker) -> None:
        self.count: Counter[str] = Counter()
        self.bytes = dict.fromkeys(BARE, 0)
        self.at = 0
        self._client = client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        client.on_message = self._take
        client.on_connect = self._subscribe
        client.on_subscribe = self._subscribed
        client.connect("127.0.0.1", broker.port)
        self.until(lambda: self.count["subscribed"] > 0)

    def _subscribe(self, client: Client, *_: Any) -> None:
        client.subscribe([(topic, 1) for topic in ("tablectl/v1/#", *BARE)])

    def _subscribed(self, *_: Any) -> None:
        self.count["subscribed"] += 1

    def _take(self, client: Any, data: Any, message: Any) -> None:
        self.at = time.monotonic_ns()
        if message.topic in self.bytes:
            self.bytes[message.topic] += len(message.payload)
        else:
            self.count[message.topic.rpartition("/")[2]] += 1

    def turn(self, seconds: float) -> None:
        """Take what comes within so many seconds; returns at the first that does."""
        connection = self._client.socket()
        assert connection is not None, "the broker hung up"
        ready, _, _ = select.select([connection], [], [], seconds)
        if ready:
            self._client.loop_read()
        while self._client.want_write():
            self._client.loop_write()
        self._client.loop_misc()

    def until(self, reached: Callable[[], bool], seconds: float = 20.0) -> None:
        """Take what comes until this holds."""
        deadline = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < deadline, f"nothing more came: {self.count}, {self.bytes}"
            self.turn(0.2)

    def rest(self, seconds: float) -> None:
        """Take what comes for so long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.turn(left)

    def close(self) -> None:
        """Hang up."""
        self._client.disconnect()


def measure(house: str, cards: int, tell: Callable[[str], None]) -> dict[str, object]:
    """Deal so many cards to each."""
    tell(f"latency: {cards} cards")
    python = [sys.executable, "-m"]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="tablectl-bench-", dir=os.environ.get("TMPDIR", "/var/tmp"))))
        broker = stack.enter_context(Broker(folder / "broker"))
        devices = {name: stack.enter_context(VirtualDevice(name, folder)) for name in ("shoe", "pad", *BARE)}
        onlooker = stack.enter_context(closing(Onlooker(broker)))
        (folder / "table.toml").write_text(table_toml(site="bench", pit="bench", name="latency", house=house, broker=broker.url))
        stack.enter_context(_running([*python, "tablectl", "run", "--quiet", "--config", str(folder / "table.toml")]))
        for name, files in zip(BARE, ([], [str(folder / "first"), str(folder / "second")]), strict=True):
            chain = [*python, "tests.benchmarks.bare_chain", str(devices[name].path), str(broker.port), name, *files]
            stack.enter_context(_running(chain))
        assert all(device.opened(20.0) for device in devices.values()), "a port was not opened"
        onlooker.until(lambda: onlooker.count["status"] > 0)
        onlooker.rest(1.0)
        disk = stack.enter_context((folder / "disk").open("ab", buffering=0))
        race = _Race(onlooker, devices, disk.fileno())
        race.run(house, cards)
    return _figures(house, race)


@contextmanager
def _running(command: Sequence[str]) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield
        assert process.poll() is None, f"{command} ended with {process.returncode}"
    finally:
        process.terminate()
        process.wait(30)


class _Race:
    """Cards to each in turn. `took` is milliseconds by the table and each bare chain, one a card, and of `disk` one every few."""

    def __init__(self, onlooker: Onlooker, devices: Mapping[str, VirtualDevice], disk: int) -> None:
        self.took: dict[str, list[float]] = {name: [] for name in ("table", *BARE, "disk")}
        self._onlooker = onlooker
        self._devices = devices
        self._disk = disk

    def run(self, house: str, cards: int) -> None:
        """Legal play; what is no card is not measured, but waited for."""
        say = {device: Encoder(load_profile(name).profile) for device, name in (("shoe", "bee-tek"), ("pad", "dealer-pad"))}
        mirror = Table(load_house(house).house)
        for observation in LegalPlay(load_house(house).house, seed=1, rounds=10**6, cut_card=False):
            notices = mirror.feed(msgspec.structs.replace(observation, at=None))
            device = "shoe" if isinstance(observation, CardDrawn) else "pad"
            frame = say[device].observation(observation)
            if not any(isinstance(notice, Dealt) for notice in notices):
                self._tell(self._devices[device], frame, notices)
                continue
            dealt = len(self.took["table"])
            for turn in range(3):
                self._time(("table", *BARE)[(dealt + turn) % 3], frame)
            if dealt % DISK_EVERY == 0:
                self._sync()
            if dealt + 1 == cards:
                return

    def _tell(self, device: VirtualDevice, frame: bytes, notices: Sequence[Notice]) -> None:
        """Say it, and wait until all that is told of it came."""
        wanted = self._onlooker.count + Counter(TOLD[tag] for tag in map(_tag, notices) if tag in TOLD)
        device.send(frame)
        self._onlooker.until(lambda: all(self._onlooker.count[topic] >= wanted[topic] for topic in TOLD.values()))
        self._onlooker.rest(QUIET / 4)

    def _time(self, side: str, frame: bytes) -> None:
        """Send a card to one side, and see how long its word takes."""
        seen = self._onlooker
        dealt, length = seen.count["dealt"] + 1, seen.bytes.get(side, 0) + len(frame)
        device = self._devices["shoe" if side == "table" else side]
        said = time.monotonic_ns()
        device.send(frame)
        seen.until(lambda: seen.count["dealt"] >= dealt if side == "table" else seen.bytes[side] >= length)
        self.took[side].append((seen.at - said) / 1e6)
        seen.rest(QUIET)

    def _sync(self) -> None:
        os.write(self._disk, b"x" * 400)
        began = time.monotonic_ns()
        os.fdatasync(self._disk)
        self.took["disk"].append((time.monotonic_ns() - began) / 1e6)


def _tag(notice: Notice) -> str:
    return str(notice.__struct_config__.tag)


def _figures(house: str, race: _Race) -> dict[str, object]:
    table, bare, on_disk, disk = (_spread(took) for took in race.took.values())
    ratio, more = table["p50"] / bare["p50"], table["p99"] - bare["p99"]
    return {
        "what": "milliseconds from a card's bytes in the pseudo-terminal to its notice at a subscriber, beside bare chains",
        "house": house,
        "cards": len(race.took["table"]),
        "bar": {"p50_of_bare": P50_BAR, "p99_more_than_bare": P99_BAR},
        "p50_of_bare": rounded(ratio),
        "p99_more_than_bare": rounded(more),
        "reached": ratio <= P50_BAR and more <= P99_BAR,
        "p50_of_bare_on_disk": rounded(table["p50"] / on_disk["p50"]),
        "p99_more_than_bare_on_disk": rounded(table["p99"] - on_disk["p99"]),
        "table": table,
        "bare": bare,
        "bare_on_disk": on_disk,
        "disk_alone": disk,
    }


def _spread(values: list[float]) -> dict[str, float]:
    ranked = sorted(values)
    return {
        "p50": rounded(ranked[len(ranked) // 2]),
        "p99": rounded(ranked[min(len(ranked) - 1, len(ranked) * 99 // 100)]),
        "most": rounded(ranked[-1]),
    }
