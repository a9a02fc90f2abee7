"""What a camera costs a card of the shoe: one deal by two live tables, one of which watches a rendered felt all the while.

As in `latency`, each is `tablectl run` with devices of its own, on one broker; a card goes to one, and when that is quiet again
to the other, first to this and first to that in turns. On the felt lies what is dealt, as at a real table: a hand is on its way
while a card leaves the shoe, lays it where the game has it go, and takes all away when the round is paid, at the pace of a
brisk dealer. That is meant to be fair, not to flatter: there are hands and fresh cards to read at every card, and fusion pairs
them with the draws; but the table is not left with draws that lie nowhere, which pile up as they never do where cards are
dealt. How many of the cards were found on the felt is told beside the times: where most are `missing` the machine was too busy
to watch, and the times say nothing. What else the felt has to say is switched off, so that nothing stops the game.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from tablectl.emulator.dealer import LegalPlay
from tablectl.emulator.device import VirtualDevice
from tablectl.felt.calibration import load as load_calibration
from tablectl.felt.layout import Layout
from tablectl.felt.staging import Arrangement, Scene, film
from tablectl.felt.virtual import write_scene
from tablectl.game.table import Table
from tablectl.game.view import view
from tablectl.houses.rules import load
from tablectl.ledger.reader import Reader
from tablectl.observations import CardDrawn, Felt
from tablectl.observations import decode as decode_observation
from tablectl.resources import named_files
from tablectl.shoe.encoder import Encoder
from tablectl.shoe.profile import load as load_profile
from tests.benchmarks.latency import QUIET, TOLD, Onlooker, _running, _spread, _tag
from tests.benchmarks.slices import rounded
from tests.broker import Broker
from tests.table_toml import table_toml

__all__ = ["measure"]

BAR: Final = 1.1
PICTURE: Final = 0.06
"""Seconds between two pictures of a hand on its way."""
REACH: Final = 3
"""Pictures in which a hand that brings a card comes, and goes: with what follows a card every half second."""
PAID: Final = 2.0
"""Seconds in which a round that is over is paid, before its cards are taken."""
SIDES: Final = ("alone", "watched")
CODES: Final = ("identity_mismatch", "card_missing", "card_appeared", "card_moved", "card_swapped", "not_collected")
CAMERAS: Final = """
[felt]
calibration = "{calibration}"

[[cameras]]
name = "main"
source = "virtual:scene.json"
"""


class _ByTable(Onlooker):
    """Counts what each table says."""

    def _take(self, client: Any, data: Any, message: Any) -> None:
        self.at = time.monotonic_ns()
        parts = message.topic.split("/")
        if len(parts) > 4:
            self.count[f"{parts[4]} {parts[-1]}"] += 1
            if parts[-1] == "status":
                devices = msgspec.json.decode(message.payload)["data"].get("devices", {})
                self.count["camera"] += "up" in str(devices.get("camera"))


def measure(house: str, cards: int, tell: Callable[[str], None]) -> dict[str, object]:
    """Deal so many cards to each."""
    tell(f"camera: {cards} cards")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="tablectl-bench-", dir=os.environ.get("TMPDIR", "/var/tmp"))))
        broker = stack.enter_context(Broker(folder / "broker"))
        onlooker = stack.enter_context(closing(_ByTable(broker)))
        said = named_files("houses")[house].read_text()
        off = "".join(f'"felt.{code}" = "off"\n' for code in CODES)
        (folder / "quiet.toml").write_text(said.replace("[alerts]\n", f"[alerts]\n{off}", 1))
        devices: dict[tuple[str, str], VirtualDevice] = {}
        for side in SIDES:
            own = folder / side
            own.mkdir()
            write_scene(own / "scene.json", Scene())
            text = table_toml(site="bench", pit="bench", name=side, house=folder / "quiet.toml", broker=broker.url)
            (own / "table.toml").write_text(text + (CAMERAS.format(calibration=house) if side == "watched" else ""))
            for name in ("shoe", "pad"):
                devices[side, name] = stack.enter_context(VirtualDevice(name, own))
            command = [sys.executable, "-m", "tablectl", "run", "--quiet", "--config", str(own / "table.toml")]
            stack.enter_context(_running(command))
        assert all(device.opened(60.0) for device in devices.values()), "a port was not opened"
        onlooker.until(lambda: onlooker.count["camera"] > 0, seconds=120.0)
        onlooker.rest(5.0)
        felt = _Felt(load_calibration(house).layout, folder / "watched" / "scene.json", onlooker)
        took = _deal(house, cards, onlooker, devices, felt)
        found = Counter(_found(folder / "watched" / "store" / "ledger"))
    alone, watched = (_spread(took[side]) for side in SIDES)
    return {
        "what": "milliseconds from a card's bytes to its notice at a subscriber, without a camera and with one",
        "house": house,
        "cards": cards,
        "bar": {"p50_of_alone": BAR},
        "p50_of_alone": rounded(watched["p50"] / alone["p50"]),
        "p99_of_alone": rounded(watched["p99"] / alone["p99"]),
        "reached": watched["p50"] <= BAR * alone["p50"],
        "on_the_felt": {kind: found[kind] for kind in ("card", "placed", "missing", "appeared")},
        **{side: _spread(took[side]) for side in SIDES},
    }


class _Felt:
    """What the watcher sees: a table's cards and chips, and the hands that bring and take them."""

    def __init__(self, layout: Layout, path: Path, onlooker: Onlooker) -> None:
        self._arrangement = Arrangement(layout)
        self._scene = Scene()
        self._path = path
        self._onlooker = onlooker

    def turn_to(self, table: Table) -> Iterator[Scene]:
        """The pictures up to how the table is now. A round's cards are taken at the next stake, a bust hand's at once."""
        now = view(table)
        swept = not now.round_open and now.phase == "betting" and any(box.staked for box in now.boxes)
        if swept:
            self._arrangement.sweep()
        before, self._scene = self._scene, self._arrangement.show(now)
        bust = [(box.box, hand.hand) for box in now.boxes for hand in box.hands if now.round_open and hand.result == "bust"]
        for key in self._arrangement.placed:
            if key[:2] in bust:
                self._arrangement.remove(key)  # seen from the next picture on
        return film(before, self._scene, steps=1 if swept else REACH)

    def show(self, pictures: Iterator[Scene]) -> None:
        """Have these seen one after the other."""
        for picture in pictures:
            write_scene(self._path, picture)
            self._onlooker.rest(PICTURE)


def _found(ledgers: Path) -> Iterator[str]:
    """What a table took in: its cards, and what its felt said of them."""
    (path,) = ledgers.glob("*.db")
    with Reader(path) as reader:
        for entry in reader.entries(limit=reader.last()):
            taken = decode_observation(entry.body) if entry.kind == "observation" else None
            if isinstance(taken, CardDrawn):
                yield "card"
            elif isinstance(taken, Felt) and (taken.kind != "placed" or taken.to is not None):
                yield taken.kind


def _deal(
    house: str,
    cards: int,
    onlooker: Onlooker,
    devices: dict[tuple[str, str], VirtualDevice],
    felt: _Felt,
) -> dict[str, list[float]]:
    """Legal play; what is no card is not measured, but waited for."""
    say = {device: Encoder(load_profile(name).profile) for device, name in (("shoe", "bee-tek"), ("pad", "dealer-pad"))}
    mirror, took = Table(load(house).house), {side: list[float]() for side in SIDES}
    for number, observation in enumerate(LegalPlay(load(house).house, seed=1, rounds=10**6, cut_card=False)):
        said = [tag for notice in mirror.feed(msgspec.structs.replace(observation, at=None)) if (tag := _tag(notice)) in TOLD]
        name = "shoe" if isinstance(observation, CardDrawn) else "pad"
        frame = say[name].observation(observation)
        pictures = felt.turn_to(mirror)
        for side in SIDES if number % 2 else SIDES[::-1]:
            felt.show(islice(pictures, 1))
            wanted = {f"{side} {TOLD[tag]}": said.count(tag) for tag in said}
            wanted = {topic: onlooker.count[topic] + count for topic, count in wanted.items()}
            dealt = onlooker.count[f"{side} dealt"] + 1
            began = time.monotonic_ns()
            devices[side, name].send(frame)
            if "dealt" in said:
                onlooker.until(lambda: onlooker.count[f"{side} dealt"] >= dealt)  # noqa: B023 (it is waited for)
                took[side].append((onlooker.at - began) / 1e6)
            onlooker.until(lambda: all(onlooker.count[topic] >= count for topic, count in wanted.items()))  # noqa: B023
            onlooker.rest(QUIET)
        felt.show(pictures)
        done = len(took[SIDES[0]]) >= cards
        if done or "round_closed" in said:
            onlooker.rest(PAID)
        if done:
            break
    return took
