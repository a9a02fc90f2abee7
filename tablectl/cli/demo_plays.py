"""What `tablectl demo` plays to a live table: recorded sessions, or rounds that are dealt by chance; cards laid on a felt too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol

from tablectl.cli.demo_felt import DemoFelt
from tablectl.cli.demo_watch import Watch
from tablectl.cli.live_table import SUPERVISOR
from tablectl.emulator.device import VirtualDevice
from tablectl.emulator.mistakes import MISTAKES
from tablectl.emulator.table import EmulatedTable
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.observations import CardDrawn, NoMoreBets, Observation
from tablectl.recording.importers import open_log
from tablectl.recording.native import profiles_of
from tablectl.recording.player import paced
from tablectl.recording.sources import Decoding, Seen
from tablectl.resources import data_folder
from tablectl.shoe import profile as profiles
from tablectl.shoe.decoder import Decoder

__all__ = ["SESSIONS", "Dealt", "Play", "Recorded"]

SESSIONS: Final = {"fr": "French", "es": "Spanish"}
DEALT: Final = 0.3
"""Seconds between two things that a dealer does, where rounds are dealt."""
IN_TURN: Final = ("first_cards", "second_cards")
"""While these are dealt, the next card goes to another place: it may be laid while the last one is being looked at."""
HAND: Final = 0.1
"""Seconds, of those between two things recorded, that a dealer needs to lay a card: he waits no more than the rest of them."""
REST: Final = 2.8
"""Seconds for which a card is waited for to be seen at rest. In a little more the table would say that it is missing."""
CHIPS: Final = 0.8
"""The same for chips: not all that happens to them is told."""


class Play(Protocol):
    """What is shown: whose, on which makes of devices, and how the devices are made to speak."""

    title: str
    house: str

    @property
    def profiles(self) -> Mapping[str, str]:
        """The makes of the devices, by port."""

    def devices(self, folder: Path) -> AbstractContextManager[Mapping[str, VirtualDevice]]:
        """The devices, in `folder`, while the context is entered."""

    def go(self, watch: Watch, speed: float, felt: DemoFelt | None) -> None:
        """Let them speak, and have `watch` look on meanwhile; `felt` is shown a dealer's own table after each thing he did."""


class Recorded:
    """One of the recorded sessions, byte for byte; at its pace, or as fast as the cameras see its cards come to rest."""

    def __init__(self, house: str) -> None:
        self.house = house
        self.title = f"The {SESSIONS[house]} session"
        self._log = open_log(data_folder("samples") / f"{house}.rec")
        self.profiles = profiles_of(self._log.header)
        self._devices: Mapping[str, VirtualDevice] = {}

    @contextmanager
    def devices(self, folder: Path) -> Iterator[Mapping[str, VirtualDevice]]:
        """The devices: virtual ones."""
        with ExitStack() as stack:
            self._devices = {port: stack.enter_context(VirtualDevice(port, folder)) for port in self.profiles}
            yield self._devices

    def go(self, watch: Watch, speed: float, felt: DemoFelt | None) -> None:
        """Send the recording's bytes."""
        table = Table(rules.load(self.house).house)  # the dealer's own: where he lays each card
        decoding = Decoding({port: Decoder(profiles.load(name).profile, port) for port, name in self.profiles.items()})
        for chunk in paced(self._log, speed, watch.look, watch.clock):
            self._devices[chunk.port].send(chunk.data)
            for seen in decoding.take(chunk):
                if felt is not None and isinstance(seen, Seen):
                    table.feed(seen.observation)
                    _lay(felt, watch, table, seen.observation)
            watch.look(0.0)


class Dealt:
    """Random rounds, as a dealer deals them who makes mistakes now and then, or none."""

    def __init__(self, house: str, shoe: str, rounds: int, seed: int, wrong: bool) -> None:
        self.house = house
        self.title = f"{rounds} dealt round{'s' if rounds > 1 else ''}"
        self.profiles = {"shoe": shoe, "pad": "dealer-pad"}
        self._rounds = rounds
        self._seed = seed
        self._wrong = wrong
        self._table: EmulatedTable | None = None

    @contextmanager
    def devices(self, folder: Path) -> Iterator[Mapping[str, VirtualDevice]]:
        """The devices: those of an emulated table."""
        mistakes = tuple(MISTAKES) if self._wrong else ()
        with EmulatedTable(
            folder, self.house, self.profiles["shoe"], seed=self._seed, rounds=self._rounds, mistakes=mistakes, every=1,
            supervisor=SUPERVISOR,
        ) as table:  # fmt: skip
            self._table = table
            yield table.devices

    def go(self, watch: Watch, speed: float, felt: DemoFelt | None) -> None:
        """Deal."""
        table = self._table
        assert table is not None, "its devices come first"
        table.pause = DEALT / speed
        while table.dealer.closed < self._rounds and (said := table.step()) is not None:
            if felt is not None:
                _lay(felt, watch, table.table, said)
            watch.look(0.0)


def _lay(felt: DemoFelt, watch: Watch, table: Table, done: Observation) -> None:
    """Lay what the dealer did on the felt, and wait for the cameras as he would for his own eyes."""
    felt.after(table, done)
    if isinstance(done, CardDrawn):
        ahead = 1 if table.phase in IN_TURN else 0
        if not watch.until(lambda felt: felt.is_at_rest(ahead), REST, hand=HAND) and not watch.is_suspended:
            watch.unplug()
    elif isinstance(done, NoMoreBets):
        watch.until(lambda felt: felt.is_staked, CHIPS)
    if watch.is_suspended and table.phase != "suspended":
        watch.excuse()
