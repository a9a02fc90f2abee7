"""What a camera costs a card of the shoe: one deal by two live tables, one of which watches a rendered felt all the while.

As in `latency`, each is `tablectl run` with devices of its own, on one broker; a card goes to one, and when that is quiet again
to the other, first to this and first to that in turns. Cards lie on the felt from the start and hands move over it, so that the
watcher has always something to read. What the felt has to say is switched off: it shows another deal than the shoe's.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from tablectl.cards import PACK
from tablectl.emulator.dealer import LegalPlay
from tablectl.emulator.device import VirtualDevice
from tablectl.felt.calibration import load as load_calibration
from tablectl.felt.staging import Arrangement, Reaching, Scene
from tablectl.felt.virtual import write_scene
from tablectl.game.table import Table
from tablectl.houses.rules import load
from tablectl.observations import CardDrawn
from tablectl.resources import named_files
from tablectl.shoe.encoder import Encoder
from tablectl.shoe.profile import load as load_profile
from tests.benchmarks.latency import QUIET, TOLD, Onlooker, _running, _spread, _tag
from tests.benchmarks.slices import rounded
from tests.broker import Broker
from tests.table_toml import table_toml

__all__ = ["measure"]

BAR: Final = 1.1
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
        scenes = _scenes(house)
        said = named_files("houses")[house].read_text()
        off = "".join(f'"felt.{code}" = "off"\n' for code in CODES)
        (folder / "quiet.toml").write_text(said.replace("[alerts]\n", f"[alerts]\n{off}", 1))
        devices: dict[tuple[str, str], VirtualDevice] = {}
        for side in SIDES:
            own = folder / side
            own.mkdir()
            write_scene(own / "scene.json", scenes[0])
            text = table_toml(site="bench", name=side, house=folder / "quiet.toml", broker=broker.url)
            (own / "table.toml").write_text(text + (CAMERAS.format(calibration=house) if side == "watched" else ""))
            for name in ("shoe", "pad"):
                devices[side, name] = stack.enter_context(VirtualDevice(name, own))
            command = [sys.executable, "-m", "tablectl", "run", "--quiet", "--config", str(own / "table.toml")]
            stack.enter_context(_running(command))
        assert all(device.opened(60.0) for device in devices.values()), "a port was not opened"
        onlooker.until(lambda: onlooker.count["camera"] > 0, seconds=120.0)
        onlooker.rest(5.0)
        took = _deal(house, cards, onlooker, devices, scenes, folder / "watched" / "scene.json")
    alone, watched = (_spread(took[side]) for side in SIDES)
    return {
        "what": "milliseconds from a card's bytes to its notice at a subscriber, without a camera and with one",
        "house": house,
        "cards": cards,
        "bar": {"p50_of_alone": BAR},
        "p50_of_alone": rounded(watched["p50"] / alone["p50"]),
        "p99_of_alone": rounded(watched["p99"] / alone["p99"]),
        "reached": watched["p50"] <= BAR * alone["p50"],
        **{side: _spread(took[side]) for side in SIDES},
    }


def _scenes(house: str) -> list[Scene]:
    """Two cards on each box; a hand that comes and goes over one after the other."""
    layout = load_calibration(house).layout
    arrangement = Arrangement(layout)
    places = [(box, index) for index in range(2) for box in range(1, 8)]
    cards = tuple(
        arrangement._laid(PACK[3 * number], box, 0, 1, index, crosswise=False) for number, (box, index) in enumerate(places)
    )
    middles = [layout.areas[box].mean(axis=0) for box in range(1, 8)]
    hands = [(Reaching(float(x), float(y) - 60 * step, -90.0),) for x, y in middles for step in range(3)]
    return [Scene(cards=cards), *(Scene(cards=cards, hands=hand) for hand in hands)]


def _deal(
    house: str,
    cards: int,
    onlooker: Onlooker,
    devices: dict[tuple[str, str], VirtualDevice],
    scenes: list[Scene],
    shown: Path,
) -> dict[str, list[float]]:
    """Legal play; what is no card is not measured, but waited for."""
    say = {device: Encoder(load_profile(name).profile) for device, name in (("shoe", "bee-tek"), ("pad", "dealer-pad"))}
    mirror, took = Table(load(house).house), {side: list[float]() for side in SIDES}
    for number, observation in enumerate(LegalPlay(load(house).house, seed=1, rounds=10**6, cut_card=False)):
        write_scene(shown, scenes[number % len(scenes)])
        said = [tag for notice in mirror.feed(msgspec.structs.replace(observation, at=None)) if (tag := _tag(notice)) in TOLD]
        name = "shoe" if isinstance(observation, CardDrawn) else "pad"
        frame = say[name].observation(observation)
        for side in SIDES if number % 2 else SIDES[::-1]:
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
        if len(took[SIDES[0]]) >= cards:
            break
    return took
