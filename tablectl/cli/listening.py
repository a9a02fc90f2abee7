"""A replayed table that takes rulings: orders from MQTT into the game between two observations, each answered once committed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from tablectl.cli.asked import asked_to_stop
from tablectl.cli.session import RULED, Session
from tablectl.game.table import Table
from tablectl.instants import from_micros, to_micros
from tablectl.mqtt.commands import Commands
from tablectl.mqtt.desk import Desk
from tablectl.mqtt.judgement import Order
from tablectl.observations import Observation
from tablectl.recording.sources import Seen

__all__ = ["Listening"]

LOOK = 0.2
"""Seconds after which a table that was asked to stop notices."""


class Listening:
    """Between a session and those who command it. It belongs to the game's thread, and reads the clocks for it.

    A ruling in a replay is stamped in the time of the recording: that of the last observation and what has passed since, `speed`
    times as fast, so that it stands between its neighbours and no clock seems to go back. A recording without times gives none.
    """

    def __init__(self, session: Session, table: Table, commands: Commands, speed: float):
        self._session = session
        self._commands = commands
        self._speed = speed
        self._desk = Desk(table, self._feed)
        self._last: tuple[int, float] | None = None

    def take(self, seen: Seen) -> None:
        """Feed an observation of the recording, then what was commanded meanwhile."""
        self._session.take(seen)
        at = seen.observation.at
        if at is not None:
            self._last = (to_micros(at), time.monotonic())
        self.wait(0.0)

    def wait(self, seconds: float) -> None:
        """Do what is commanded, until `seconds` have passed and nothing waits."""
        until = time.monotonic() + seconds
        while True:
            taken = self._commands.take(until - time.monotonic())
            if isinstance(taken, Order):
                self._carry_out(taken)
            elif taken is None and time.monotonic() >= until:
                return

    def stay(self) -> None:
        """Do what is commanded until asked to stop, by SIGINT or SIGTERM; what is being done then is done to its end."""
        with asked_to_stop() as stopping:
            while not stopping():
                self.wait(LOOK)

    def _carry_out(self, order: Order) -> None:
        response = self._desk.carry_out(order, at=self._now(), now=time.time_ns() // 1000)
        self._commands.answer(order, response)

    def _feed(self, observation: Observation) -> Sequence[bytes]:
        lines = self._session.take(Seen(RULED, observation))
        self._session.commit()
        sys.stdout.flush()
        return lines

    def _now(self) -> str | None:
        if self._last is None:
            return None
        at, since = self._last
        return from_micros(at + int((time.monotonic() - since) * self._speed * 1_000_000))
