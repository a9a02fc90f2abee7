"""Legal rounds told step by step: what was seen, and what was due just before. Each card says where it went.

`Teller.tell` makes one from a seed: a shoe is loaded and burned, boxes are staked, a round is played to its close, and the next
one is staked. A `Manner` steers what comes, so that rare things (a fifth hand, a tie, an ace for the dealer) need no luck; the
round stays legal.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from tablectl.cards import PACK, Card
from tablectl.game.round import Round
from tablectl.game.table import Due, Table
from tablectl.houses import rules
from tablectl.instants import from_micros, to_micros
from tablectl.notices import PhaseName
from tablectl.observations import Action, Bet, CardDrawn, Decision, Insurance, NoMoreBets, Observation, ShoeLoaded
from tablectl.places import BoxPlace, Place

__all__ = ["IN_DEAL", "Manner", "Seen", "Story", "Teller", "any_action"]

IN_DEAL: tuple[PhaseName, ...] = ("first_cards", "second_cards", "players", "dealer")
"""The phases in which cards of a round come."""

BEGINS = to_micros("2027-03-01T20:00:00.000000Z")
STEP = 250_000

Wish = Callable[[Place, Round], str | None]
"""The ranks one of which the next card is to have, as in `AKQ`; None: any."""

Choice = Callable[[Due, random.Random], Action]


def any_action(due: Due, rng: random.Random) -> Action:
    """A random legal action."""
    return rng.choice(due.allowed)


@dataclass(frozen=True)
class Manner:
    """How a round goes: how many boxes, what they stake (None: anything), what cards come, what the hands do."""

    boxes: tuple[int, int] = (2, 5)
    stake: int | None = None
    wish: Wish = lambda _place, _round: None
    choice: Choice = any_action


@dataclass(frozen=True)
class Seen:
    """One observation, and the table just before it."""

    observation: Observation
    due: Due
    phase: PhaseName
    round: Round

    @property
    def place(self) -> Place | None:
        """Where a card went; None for what is no card."""
        return self.observation.to if isinstance(self.observation, CardDrawn) else None


@dataclass
class Story:
    """A round from the loading of the shoe to the stakes of the next.

    `closed` is the index of the first observation after the close, `round` the round as it closed, `carried` what stays on the
    boxes, `rest` the cards still in the shoe.
    """

    house: str
    seen: list[Seen] = field(default_factory=list)
    closed: int = 0
    round: Round = field(default_factory=lambda: Round(0))
    carried: dict[int, int] = field(default_factory=dict)
    rest: list[Card] = field(default_factory=list)

    @property
    def observations(self) -> list[Observation]:
        """What was seen, alone."""
        return [seen.observation for seen in self.seen]

    def dealt(self, *phases: PhaseName) -> list[int]:
        """The indices of the round's cards that came in these phases."""
        return [i for i, seen in enumerate(self.seen) if seen.place is not None and seen.phase in phases]

    def after(self, index: int) -> Round:
        """The round as it was after the observation at `index`."""
        return self.round if index + 1 >= self.closed else self.seen[index + 1].round

    @property
    def stakes(self) -> dict[int, int]:
        """What lies on the boxes at the deal."""
        return {hand.box: hand.first_stake for hand in self.round.hands}


class Teller:
    """Tells legal rounds of one house, all at one table that is put back to its beginning."""

    def __init__(self, house: str) -> None:
        self.house = house
        self.table = Table(rules.load(house).house)
        self._fresh = self.table.snapshot()

    def fresh(self) -> Table:
        """The table, as if nothing had happened."""
        self.table.restore(self._fresh)
        return self.table

    def tell(self, rng: random.Random, manner: Manner) -> Story:
        """A round of this manner."""
        table, story, now = self.fresh(), Story(self.house), BEGINS
        decks = table.rules.decks
        story.rest = list(PACK) * decks
        rng.shuffle(story.rest)

        def see(observation: Observation) -> None:
            nonlocal now
            timed = replace(observation, at=from_micros(now))
            now += STEP
            story.seen.append(Seen(timed, table.due(), table.phase, table.round))
            table.feed(timed)

        def stake() -> None:
            for box in sorted(rng.sample(range(1, 8), rng.randint(*manner.boxes))):
                see(Bet(box=box, amount=manner.stake or 100 * rng.randint(1, 50)))
            see(NoMoreBets())

        see(ShoeLoaded(decks=decks, cut=True))
        while table.phase == "burning":
            see(CardDrawn(card=story.rest.pop(), to="burn", source="shoe"))
        stake()
        while table.round_open:
            due = table.due()
            if due.insurance is not None:
                see(Insurance(box=due.insurance.box, amount=rng.choice((0, due.insurance.stake // 2))))
            elif due.hand is not None:
                see(Decision(box=due.hand.box, hand=due.hand.number, action=manner.choice(due, rng)))
            else:
                assert due.card is not None, table.phase
                card = _draw(story.rest, manner.wish(due.card, table.round))
                see(CardDrawn(card=card, to=_in_full(due.card), source="shoe"))
        story.closed, story.round, story.carried = len(story.seen), table.round, dict(table.stakes.carried)
        stake()
        return story


def _draw(rest: list[Card], ranks: str | None) -> Card:
    """The next card of the shoe, or the next one that has one of these ranks."""
    if ranks:
        for index in range(len(rest) - 1, -1, -1):
            if rest[index][0] in ranks:
                return rest.pop(index)
    return rest.pop()


def _in_full(place: Place) -> Place:
    return BoxPlace(place.box, place.hand or 0) if isinstance(place, BoxPlace) else place
