"""Random rounds that break no rule: what a careful dealer and random players would do, asked of `Table.due()`.

Seeded, so that the same seed gives the same session on any machine. Used by the benchmarks and by long tests.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec

from tablectl.cards import PACK, Card
from tablectl.game.table import Table
from tablectl.houses.rules import House
from tablectl.instants import from_micros, to_micros
from tablectl.observations import Bet, CardDrawn, CutCard, Decision, Insurance, NoMoreBets, Observation, ShoeLoaded

__all__ = ["LegalPlay"]

STEP = 250_000
LOW = 78  # a quarter of six packs: more than any round needs


class LegalPlay:
    """A table of one house at which everybody keeps to the rules. Iterating gives its observations, for so many rounds.

    `boxes` is how many are staked, at the least and at the most; `begins` gives the first observation a time, and each further
    one a quarter of a second more. `cut_card` False is a shoe that has none, or cannot report it: it is changed in time all the
    same.
    """

    def __init__(
        self,
        house: House,
        *,
        seed: int,
        rounds: int,
        boxes: tuple[int, int] = (2, 7),
        begins: str | None = None,
        cut_card: bool = True,
    ) -> None:
        self.table = Table(house)
        self._random = random.Random(seed)
        self._rounds = rounds
        self._boxes = boxes
        self._now = None if begins is None else to_micros(begins)
        self._cut_card = cut_card
        self._shoe: list[Card] = []

    def __iter__(self) -> Iterator[Observation]:
        """Play on, and hand out what the devices would have reported."""
        for observation in self._session():
            timed = self._stamped(observation)
            self.table.feed(timed)
            yield timed

    def _stamped(self, observation: Observation) -> Observation:
        if self._now is None:
            return observation
        at, self._now = from_micros(self._now), self._now + STEP
        return msgspec.structs.replace(observation, at=at)

    def _session(self) -> Iterator[Observation]:
        for number in range(self._rounds):
            if number == 0 or self.table.phase == "shuffling" or len(self._shoe) < LOW:
                yield from self._load()
            yield from self._stakes()
            while self.table.round_open:
                yield self._next()
                if self._cut_card and len(self._shoe) < LOW and not self.table.past_cut:
                    yield CutCard()

    def _load(self) -> Iterator[Observation]:
        decks = self.table.rules.decks
        self._shoe = list(PACK) * decks
        self._random.shuffle(self._shoe)
        yield ShoeLoaded(decks=decks, cut=True)
        while self.table.phase == "burning":
            yield CardDrawn(card=self._shoe.pop(), source="shoe")

    def _stakes(self) -> Iterator[Observation]:
        count = self._random.randint(*self._boxes)
        for box in sorted(self._random.sample(range(1, 8), count)):
            yield Bet(box=box, amount=100 * self._random.randint(1, 50))
        yield NoMoreBets()

    def _next(self) -> Observation:
        due = self.table.due()
        if due.insurance is not None:
            amount = self._random.choice((0, due.insurance.stake // 2))
            return Insurance(box=due.insurance.box, amount=amount)
        if due.hand is not None:
            action = self._random.choice(due.allowed)
            return Decision(box=due.hand.box, hand=due.hand.number, action=action)
        assert due.card is not None, self.table.phase
        return CardDrawn(card=self._shoe.pop(), source="shoe")
