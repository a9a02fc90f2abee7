"""The subscriber's side of `tablectl demo`: what is heard of its tables over MQTT, shown, and held against their ledgers."""

from __future__ import annotations

import secrets
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from tablectl.cli.demo_felt import DemoFelt, Saw
from tablectl.cli.demo_screen import Screen
from tablectl.cli.live_table import SUPERVISOR
from tablectl.cli.onlooker import Onlooker
from tablectl.errors import BrokerError
from tablectl.game.view import TableView
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.ledger.reader import Reader
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import ask
from tablectl.mqtt.listener import Heard, Listener
from tablectl.mqtt.orders import RulingCommand
from tablectl.notices import Alert, Notice, RoundClosed

__all__ = ["PATIENCE", "SITE", "Ears", "Shown", "Watch"]

SITE = "demo"
SAID = frozenset({"evt", "prompt", "state", "status", "info"})
"""The topics on which a table says how it stands; others are for the audit, and for commands."""
PATIENCE = 10.0
"""Seconds for the broker to hand on what it was told; on a loopback port it needs milliseconds."""
TURN = 0.04
"""Seconds between two looks into the ledger for what the cameras see."""


class Shown(NamedTuple):
    """What was seen of a table, over MQTT: it ended in `phase`; `notices` all arrived once by id, `repeats` more than once.

    `unplugged`: its cameras lagged behind the dealer, and were taken away.
    """

    title: str
    house: str
    rounds: list[RoundClosed]
    alerts: list[Alert]
    phase: str
    notices: int
    repeats: int
    ruled: bool
    unplugged: bool
    saw: Saw | None


class Ears:
    """One listener for all tables of the demo: what is heard of one while another is shown is kept for later."""

    def __init__(self, address: Address, seconds: float = 10.0) -> None:
        self.address = address
        self._listener = Listener(address, f"tablectl/v1/{SITE}/{SITE}/#", seconds=seconds)
        self._heard: defaultdict[str, deque[Heard]] = defaultdict(deque)

    def wait(self, seconds: float) -> None:
        """Keep what arrives, waiting at most `seconds` for the first of it. Raises `BrokerError` when the broker is gone."""
        for heard in self._listener.turn(seconds):
            self._heard[heard.topic.split("/")[4]].append(heard)

    def turn(self, table: str, seconds: float) -> list[Heard]:
        """What has arrived of a table, waiting at most `seconds` for the first of it. Raises `BrokerError`."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            self.wait(0.0 if self._heard[table] else max(0.0, left))
            found = self._heard[table]
            if found or left <= 0:
                self._heard[table] = deque()
                return [*found]

    @contextmanager
    def open(self) -> Iterator[None]:
        """Keep what arrives while the block does other things: who is silent for long is hung up on. Raises `BrokerError`."""
        ended = threading.Event()
        trouble: list[BrokerError] = []

        def hear() -> None:
            try:
                while not ended.is_set():
                    self.wait(0.2)
            except BrokerError as error:
                trouble.append(error)

        thread = threading.Thread(target=hear, name="tablectl-ears", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        for error in trouble:
            raise error

    def close(self) -> None:
        """Hang up."""
        self._listener.close()


class Watch:
    """Shows what it hears of a table, and stops the session's clock for what is worth a second look, and for the felt.

    `pause` is in seconds, 0 to stop for nothing.
    """

    def __init__(self, name: TableName, ears: Ears, screen: Screen, pause: float, laid_on: DemoFelt | None = None) -> None:
        self.unplugged = False
        self._name = name
        self._base = f"tablectl/v1/{name}/"
        self._ears = ears
        self._screen = screen
        self._pause = pause
        self._felt = laid_on
        self._paused = 0.0
        self._onlooker = Onlooker()
        self._repeats = 0
        self._rounds: list[RoundClosed] = []
        self._alerts: list[Alert] = []

    def clock(self) -> float:
        """Seconds that only go forward, and not while the session is paused."""
        return time.monotonic() - self._paused

    def look(self, seconds: float) -> None:
        """Show what arrives within `seconds`, and for longer where it deserves a pause. Raises `BrokerError`."""
        until = time.monotonic() + seconds
        while True:
            for heard in self._ears.turn(self._name.table, max(0.0, until - time.monotonic())):
                channel = heard.topic.removeprefix(self._base).partition("/")[0]
                if channel not in SAID:
                    continue
                before = self._onlooker.repeats
                what = self._onlooker.hear(heard.payload)
                if channel != "status":  # a table that has nothing to tell says that again and again
                    self._repeats += self._onlooker.repeats - before
                if what is not None and self._take(what):
                    until += self._pause
                    self._paused += self._pause
            if time.monotonic() >= until:
                return

    def until(self, true: Callable[[DemoFelt], bool], seconds: float, *, hand: float = 0.0) -> bool:
        """Look on until the felt is so, or the table stands still; whether it is. The session waits too, `hand` seconds later."""
        felt = self._felt
        if felt is None:
            return True
        began, paused = time.monotonic(), self._paused
        while True:
            for card, place in felt.news():
                self._screen.lies(card, place)
            if true(felt):
                break
            if self.is_suspended or time.monotonic() - began > seconds:
                break
            self.look(TURN)
        self._paused += max(0.0, time.monotonic() - began - (self._paused - paused) - hand)
        return true(felt)

    def rule(self, do: Literal["accept", "burn"], reason: str) -> None:
        """What `tablectl rule --by CHIEF7` does. Raises `BrokerError` when the table gives no answer."""
        expires = from_micros(time.time_ns() // 1000 + 20_000_000)
        order = RulingCommand(id=secrets.token_hex(16), expires=expires, do=do, by=SUPERVISOR, reason=reason)
        ask(self._ears.address, self._name, "ruling", order, seconds=PATIENCE)

    def unplug(self) -> None:
        """Go on without the cameras: they lag behind where others use the processor, and cards would be missed."""
        assert self._felt is not None, "there are none"
        self._felt.unplug()
        self.unplugged = True
        self.until(lambda felt: not felt.is_watched, PATIENCE)

    def excuse(self) -> None:
        """Have the game go on, though the cameras have not seen what was laid."""
        self.rule("accept", "the cameras lag behind")
        until = time.monotonic() + PATIENCE
        while self.is_suspended and time.monotonic() < until:
            self.look(TURN)

    def _take(self, what: Notice | TableView) -> bool:
        """Show it, and say whether it deserves a pause."""
        self._screen.show(what)
        if isinstance(what, RoundClosed):
            self._rounds.append(what)
            return True
        if isinstance(what, Alert):
            self._alerts.append(what)
            return what.severity == "critical"
        return False

    def see_out(self, ledger: Path) -> None:
        """Wait for the rest, and see that everything in the ledger arrived. Raises `BrokerError` when it did not."""
        onlooker = self._onlooker
        deadline = time.monotonic() + PATIENCE
        while True:
            with Reader(ledger) as reader:
                said = reader.notices_after(0, reader.count_notices(0))
                wanted = [(f"{reader.session}-{entry.seq}", entry.body) for entry in said]
                last = reader.last()
            if [*onlooker.told.items()] == wanted and onlooker.view_holds >= last:
                return
            if time.monotonic() > deadline:
                break
            self.look(TURN)
        if [*onlooker.told.items()] != wanted:
            told = f"{len(wanted)} notices were told, not the same {len(onlooker.told)} arrived"
            raise BrokerError(told, where=str(self._ears.address))

    @property
    def is_suspended(self) -> bool:
        """Whether the table waits for a ruling, as far as was heard."""
        return self._onlooker.view is not None and self._onlooker.view.phase == "suspended"

    def shown(self, title: str, house: str, *, ruled: bool, saw: Saw | None) -> Shown:
        """What was seen in all."""
        heard = self._onlooker
        phase = heard.view.phase if heard.view else ""
        return Shown(
            title, house, self._rounds, self._alerts, phase, len(heard.told), self._repeats, ruled, self.unplugged, saw
        )  # fmt: skip
