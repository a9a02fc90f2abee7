"""Random rounds, asked of `Table.due()`: legal ones, and such in which the dealer makes a mistake.

Seeded, so that the same seed gives the same session on any machine. `LegalPlay` breaks no rule: what a careful dealer and random
players would do. `Dealer` plays so too, but for the mistakes that are asked for; a supervisor rules on what stops the game, or it
is left open.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from tablectl.cards import PACK, Card
from tablectl.emulator.mistakes import MISTAKES, Moment
from tablectl.errors import UsageError
from tablectl.game.table import Table
from tablectl.houses.rules import House
from tablectl.instants import from_micros, to_micros
from tablectl.notices import RoundClosed
from tablectl.observations import Bet, CardDrawn, CutCard, Decision, Insurance, NoMoreBets, Observation, Ruling, ShoeLoaded

__all__ = ["LOW", "Dealer", "LegalPlay", "Made"]

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
            self._feed(timed)
            yield timed

    def _feed(self, observation: Observation) -> None:
        self.table.feed(observation)

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
                if self._cut_card_comes():
                    yield CutCard()

    def _load(self) -> Iterator[Observation]:
        yield self.new_shoe()
        while self.table.phase == "burning":
            yield self.draw()

    def new_shoe(self) -> ShoeLoaded:
        """A new shoe is put in place."""
        decks = self.table.rules.decks
        self._shoe = list(PACK) * decks
        self._random.shuffle(self._shoe)
        return ShoeLoaded(decks=decks, cut=True)

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
        return self.draw()

    def _cut_card_comes(self) -> bool:
        return self._cut_card and len(self._shoe) < LOW and not self.table.past_cut

    def draw(self) -> CardDrawn:
        """The next card of the shoe."""
        return CardDrawn(card=self._shoe.pop(), source="shoe")


class Made(NamedTuple):
    """A mistake that was made: in which round, by its name in `MISTAKES`."""

    round: int
    name: str


class Dealer(LegalPlay):
    """A dealer who makes mistakes on demand. Iterating gives what the devices report; iterating again goes on.

    After every `every` rounds, one of `mistakes` (names of `MISTAKES`) is made where it first fits; `err` asks for one. With a
    `supervisor` each is ruled on at once, in that name; None leaves it open, and the play stops there until `told` has the
    ruling. `can_say` holds a mistake, or the cut card, back from devices that cannot report it. `rounds` None goes on for ever.
    Raises `UsageError` for a mistake that is none.
    """

    def __init__(
        self,
        house: House,
        *,
        seed: int,
        rounds: int | None = None,
        boxes: tuple[int, int] | None = None,
        begins: str | None = None,
        can_say: Callable[[Observation], bool] = lambda observation: True,
        mistakes: Sequence[str] = (),
        every: int = 5,
        supervisor: str | None = "CHIEF7",
    ) -> None:
        boxes = boxes or (house.rules.min_boxes, house.rules.boxes)
        super().__init__(house, seed=seed, rounds=0, boxes=boxes, begins=begins, cut_card=can_say(CutCard()))
        self.made: list[Made] = []
        self.chance = random.Random(f"{seed} mistakes")
        self.closed = 0
        """How many rounds were closed."""
        self._most = rounds
        self._can_say = can_say
        self._mistakes = tuple(mistakes)
        self._every = every
        self._next_mistake = every - 1
        self._supervisor = supervisor
        self._wanted: str | None = None
        for name in mistakes:
            _known(name)

    def err(self, name: str) -> None:
        """Make this mistake as soon as it fits, in the place of one that is still to be made. Raises `UsageError` for none."""
        self._wanted = _known(name)

    def told(self, observation: Observation) -> None:
        """Take in what the table was told by others, such as a ruling from the pit."""
        self._feed(self._stamped(observation))

    @property
    def shoe_left(self) -> int:
        """How many cards are left in the shoe."""
        return len(self._shoe)

    def stake(self) -> list[Observation]:
        """A round's stakes, and the close of the betting."""
        return list(self._stakes())

    def _stopped(self) -> bool:
        """Whether only a ruling leads on."""
        return self.table.phase == "suspended"

    def _feed(self, observation: Observation) -> None:
        self.closed += sum(isinstance(notice, RoundClosed) for notice in self.table.feed(observation))

    def _session(self) -> Iterator[Observation]:
        yield from self._rulings()
        if self._stopped():
            return
        for observation in self._play():
            yield observation
            yield from self._rulings()
            if self._stopped():
                return

    def _rulings(self) -> Iterator[Observation]:
        """What a supervisor says to what stopped the game; where a first word does not help, that the round is void."""
        for helpless in (False, True):
            if self._supervisor is not None and self._stopped():
                yield Ruling(do="void_round", by=self._supervisor) if helpless else self._ruling(self._supervisor)

    def _play(self) -> Iterator[Observation]:
        while self._most is None or self.closed < self._most:
            if self.table.phase == "burning":
                yield from self._erring("burning") or [self.draw()]
            elif not self.table.round_open:
                yield from self._begin()
            else:
                before = self.closed
                yield from self._erring("turn") or [self._next()]
                if self._cut_card_comes():
                    yield CutCard()
                if self.closed > before:
                    yield from self._erring("closed")

    def _begin(self) -> Iterator[Observation]:
        if self._mistakes and self.closed >= self._next_mistake:
            self._next_mistake = self.closed + self._every
            self._wanted = self.chance.choice(self._mistakes)
        if not self._shoe or self.table.phase == "shuffling" or len(self._shoe) < LOW:
            yield from self._erring("load") or [self.new_shoe()]
        else:
            yield from self._erring("stakes") or self.stake()

    def _next(self) -> Observation:
        """What is due; a round that is staked and was held up before its deal goes on with the close of the betting."""
        return NoMoreBets() if self.table.phase in ("betting", "shuffling") else super()._next()

    def _erring(self, moment: Moment) -> list[Observation]:
        """What a mistake puts in the place of what is due; nothing where none is wanted, or none fits."""
        mistake = MISTAKES[self._wanted] if self._wanted else None
        if mistake is None or mistake.moment != moment or (moment == "turn" and self.chance.random() < 0.5):
            return []
        shoe = list(self._shoe)
        made = mistake.make(self) or []
        if not made or not all(map(self._can_say, made)):
            self._shoe = shoe
            return []
        self.made.append(Made(self.table.round.number, self._wanted or ""))
        self._wanted = None
        return made

    def _ruling(self, by: str) -> Ruling:
        """A ruling that fits on a pad: that what happened may stand; but a hand with an unread card has no total, and is void."""
        blocker = self.table.blockers[0]
        if blocker.code != "shoe.card_unread" or not self.table.round_open:
            return Ruling(do="accept", by=by)
        if blocker.box is None:
            return Ruling(do="void_round", by=by)
        return Ruling(do="void_hand", box=blocker.box, hand=blocker.hand or 0, by=by)


def _known(name: str) -> str:
    if name not in MISTAKES:
        raise UsageError(f"{name!r} is no mistake of the dealer's; known are {', '.join(MISTAKES)}")
    return name
