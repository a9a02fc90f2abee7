"""A table's messages as the publisher makes them, without a broker: a game, its notices, and the state after each observation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

import msgspec

from tablectl.display.heard import Heard
from tablectl.display.view import path_of
from tablectl.game.table import Table
from tablectl.game.view import encode as encode_view
from tablectl.houses import rules
from tablectl.instants import from_micros, to_micros
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.ledger.pin import encode as encode_pin
from tablectl.mqtt.messages import Message, Messages
from tablectl.notices import encode
from tablectl.observations import Observation, decode

__all__ = ["BEGINS", "NAME", "SPLIT", "Telling", "Told", "another", "hears"]

NAME = TableName("hall", "main", "t 7")
BEGINS = to_micros("2026-11-30T06:00:00Z")
SECOND = 1_000_000

SPLIT: list[dict[str, Any]] = [
    {"event": "bet", "box": 1, "amount": 1000},
    {"event": "bet", "box": 3, "amount": 2000},
    {"event": "no_more_bets"},
    *({"event": "card", "card": card} for card in ("AS", "8H", "6C", "KD", "8D")),
    {"event": "decision", "box": 3, "action": "split"},
    *({"event": "card", "card": card} for card in ("3C", "TH", "TC")),
]
"""Box 1 has a blackjack, box 3 has split eights; the observations of a round at a French table."""


_NUMBERS = count(8)


def another() -> TableName:
    """A table, alone in its pit, of which no test has heard yet."""
    number = next(_NUMBERS)
    return TableName("hall", f"pit {number}", f"t {number}")


class Told(NamedTuple):
    """A message, and the channel on which it came."""

    channel: str
    message: Message


class Telling:
    """A table that tells all it says. `begins` is what it told when it began."""

    def __init__(self, house: str = "fr", name: TableName = NAME, session: str = "0123456789abcdef") -> None:
        loaded = rules.load(house)
        self.table = Table(loaded.house)
        self.name = name
        self.path = path_of(name)
        self._messages = Messages(name, session)
        self.begins: list[Told] = []
        self._seq = 1
        self._at = BEGINS
        self.pin = encode_pin(
            Pin(software="tablectl", table=name, house=Pinned(house, None), language=loaded.house.language, profiles={})
        )

    def begin(self) -> Iterator[Told]:
        """What a broker retains of it."""
        self.begins = [*self._retained()]
        yield from self.begins

    def _retained(self) -> Iterator[Told]:
        yield Told("info", self._messages.of_pin(1, self.pin))
        yield Told("status", self.presence("online"))
        yield Told("state", self._messages.of_state(self._seq, encode_view(self.table)))

    def presence(self, word: Any, connection: str = "c1", seq: int | None = None) -> Message:
        seq = self._seq if seq is None else seq
        return self._messages.of_presence(word, "connected", connection=connection, seq=seq, status=None, at=None)

    def feed(self, *seen: dict[str, Any], states: bool = True) -> Iterator[Told]:
        """Observations, a second apart; what is told of each, then the state."""
        for one in seen:
            self._at += SECOND
            observation = decode(msgspec.json.encode({"at": from_micros(self._at), **one}))
            yield from self.seen(observation, states=states)

    def seen(self, observation: Observation, *, states: bool = True) -> Iterator[Told]:
        """One observation."""
        self._seq += 1
        for notice in self.table.feed(observation):
            self._seq += 1
            message = self._messages.of_notice(self._seq, encode(notice))
            yield Told(message.topic.removeprefix(f"{self._messages.base}/"), message)
        if states:
            yield Told("state", self._messages.of_state(self._seq, encode_view(self.table)))


def hears(heard: Heard, told: Iterable[Told], at: int = 0) -> None:
    """Hand them to a listener."""
    for channel, message in told:
        heard.hear(channel, message.payload, at)
