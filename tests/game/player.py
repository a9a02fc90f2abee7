"""Everybody at a table in one: asks it what is due, and chooses what happens next; rightly, or as it goes wrong at tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args

import msgspec
from hypothesis import strategies as st

from tablectl.cards import PACK, Card
from tablectl.game.round import hands_of
from tablectl.game.table import Table
from tablectl.houses.rules import House
from tablectl.instants import from_micros
from tablectl.observations import (
    Ack,
    Action,
    Bet,
    CardDrawn,
    Collected,
    CutCard,
    Decision,
    Felt,
    FeltKind,
    Insurance,
    Link,
    NoMoreBets,
    Observation,
    Paid,
    Ruling,
    Seat,
    ShoeFault,
    ShoeLoaded,
    TableState,
    Tick,
)
from tablectl.places import BoxPlace, Place

__all__ = ["NAMES", "Draw", "Player"]

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]
NAMES = ("Ana", "Ben", "Eve")

BELOW = tuple(st.integers(0, max(0, most - 1)) for most in range(64))
"""The whole numbers below each; made once, since that is what takes time."""


class Player:
    """Everybody at a table: asks it what is due, and chooses what happens next."""

    def __init__(self, draw: Draw[Any], house: House) -> None:
        self.draw = draw
        self.table = Table(house)
        self.seen: list[Observation] = []
        self.out: Counter[Card] = Counter()
        self.clock = draw(st.none() | st.just(0))
        self.faces = draw(st.sampled_from(FACES))

    def chance(self, one_in: int) -> bool:
        return not self.draw(BELOW[one_in])

    def pick(self, *choices: T) -> T:
        chosen: int = self.draw(BELOW[len(choices)])
        return choices[chosen]

    def happens(self, observation: Observation) -> None:
        """Stamp an observation, and let the table take it in."""
        if self.clock is not None and observation.at is None:
            self.clock += self.pick(0, 1, 400_000, 3_000_000)
            observation = msgspec.structs.replace(observation, at=from_micros(1_796_014_000_000_000 + self.clock))
        if isinstance(observation, ShoeLoaded):
            self.out.clear()
        self.seen.append(observation)
        self.table.feed(observation)

    def card(self) -> Card:
        """A card that can still be in the shoe."""
        card: Card = self.draw(self.faces)
        while self.out[card] == 6:
            card = PACK[(PACK.index(card) + 1) % len(PACK)]
        self.out[card] += 1
        return card

    def next(self) -> Observation:
        """What somebody does who does nothing wrong."""
        table = self.table
        match table.phase:
            case "closed":
                return TableState(state="open")
            case "shuffling":
                return ShoeLoaded(decks=6, cut=True)
            case "betting":
                return self.before_the_deal()
            case "suspended":
                return self.ruling()
        if self.chance(12):
            return self.beside_the_game()
        due = table.due()
        if due.insurance:
            return self.insurance(due.insurance.box, due.insurance.stake // 2)
        if due.hand:
            return self.decision(due.hand.box, due.hand.number, due.allowed)
        place = due.card if self.chance(3) else None
        return CardDrawn(card=self.card(), to=place, source=self.pick(None, "shoe"))

    def before_the_deal(self) -> Observation:
        table = self.table
        if not table.round_open and self.chance(6):
            other: list[Observation] = [CutCard(), ShoeLoaded(decks=6, cut=True), TableState(state="closed")]
            return self.pick(*other)
        boxes = table.stakes.boxes(table.rules)
        if len(boxes) >= table.rules.min_boxes and not self.chance(3):
            may_open = table.round_open and table.dealt_since_load
            return CardDrawn(card=self.card()) if may_open and self.chance(3) else NoMoreBets()
        free = [box for box in range(1, 8) if not table.stakes.on(box)]
        if not free:
            return NoMoreBets()
        return Bet(box=self.pick(*free), amount=self.pick(1000, 100, 105, 1001, 2500), by=self.pick(None, *NAMES))

    def insurance(self, box: int, half: int) -> Observation:
        if self.chance(2):
            return Insurance(box=box, amount=0)
        exactly = self.table.rules.insurance_max == "exactly_half"
        return Insurance(box=box, amount=half if exactly else self.pick(half, half // 2, 1))

    def decision(self, box: int, hand: int, allowed: tuple[Action, ...]) -> Observation:
        if self.chance(8):
            return CardDrawn(card=self.card())  # a card without a word is a hit
        if self.chance(8):
            return CardDrawn(card=self.card(), to=self.further_on())  # a card further on: this hand stands
        action = self.pick(*allowed)
        return Decision(box=box, hand=hand if self.chance(2) else None, action=action)

    def further_on(self) -> Place:
        """Where a card may go that means that the hands before stand."""
        table, here = self.table, self.table.snapshot()
        place: Place | None = None
        while (acting := table.due().hand) is not None:
            place = BoxPlace(acting.box, acting.number) if place is None or self.chance(2) else place
            table.feed(Decision(box=acting.box, action="stand"))
            after = table.due()
            if table.phase == "dealer":
                place = "dealer"
            elif after.card:
                place = after.card
            elif after.hand and self.chance(2):
                place = BoxPlace(after.hand.box, after.hand.number)
            else:
                continue
            break
        table.restore(here)
        assert place is not None
        return place

    def beside_the_game(self) -> Observation:
        """What happens at a table and changes nothing in the game."""
        hands = [hand for hand in self.table.round.hands if hand.result is not None]
        hand = self.pick(*hands) if hands else None
        box, number = (hand.box, hand.number) if hand else (1, 0)
        others: list[Observation] = [
            Tick(),
            *([Collected(box=box, hand=number)] if hand else []),  # one that plays would be missed
            Seat(box=box, player=self.pick(*NAMES), state=self.pick("taken", "left")),
            Link(device="pad", state="up"),
        ]
        if self.table.round_open and self.table.phase not in ("betting", "shuffling", "burning"):
            others.append(CutCard())
        return self.pick(*others)

    def ruling(self) -> Observation:
        """What a supervisor may decide, sensible or not."""
        table, by = self.table, self.pick(*NAMES)
        if table.faults and self.chance(2):
            return ShoeFault(code=table.faults[0][0], cleared=True)
        alert = self.pick(None, *(alert.id for alert in table.blockers))
        do = self.pick(*RULINGS)
        hand = self.pick(*table.round.hands) if table.round.hands else None
        card = self.card() if do == "correct" else None
        to: Place | None = self.place() if do in ("move", "correct") else None
        draw = self.draw(st.none() | st.integers(0, 5)) if do == "correct" else None
        box, number = (hand.box, hand.number) if hand and do in ("void_hand", "correct") else (None, None)
        return Ruling(do=do, by=by, alert=alert, box=box, hand=number, to=to, card=card, draw=draw)

    def place(self) -> Place:
        """A place on this table."""
        places: list[Place] = ["dealer", "burn", *(BoxPlace(hand.box, hand.number) for hand in self.table.round.hands)]
        return self.pick(*places)

    # What goes wrong

    def mishap(self) -> Observation:
        """Something that goes wrong, as it does at tables."""
        table = self.table
        box = self.pick(*(hand.box for hand in table.round.hands), 1, 4, 7)
        hand = self.pick(None, *(hand.number for hand in hands_of(table.round, box)), 1)
        action = self.pick(*get_args(Action))
        wrong: tuple[Callable[[], Observation], ...] = (
            lambda: CardDrawn(card=self.card(), to=BoxPlace(box, hand)),
            lambda: CardDrawn(card=self.card(), to=self.place()),
            lambda: CardDrawn(card=self.card()),
            lambda: CardDrawn(card=Card.UNREAD, to=self.pick(None, self.place())),
            lambda: Decision(box=box, hand=hand, action=action, by=self.pick(None, *NAMES)),
            lambda: Insurance(box=box, amount=self.pick(0, 500, 501, 10**9), even_money=self.pick(False, True)),
            lambda: Bet(box=box, amount=self.pick(0, 50, 1000), by=self.pick(None, *NAMES), kind=self.pick(*KINDS)),
            lambda: NoMoreBets(),
            lambda: ShoeLoaded(decks=self.pick(6, 6, 8), cut=self.pick(True, False)),
            lambda: CutCard(),
            lambda: TableState(state=self.pick("closed", "open")),
            lambda: ShoeFault(code=self.pick("jam", "pulled_back"), cleared=self.pick(False, True)),
            lambda: Link(device="shoe", state=self.pick("up", "down"), why=self.pick("", "corrupt: 2 frames")),
            lambda: Paid(box=box, hand=hand or 0),
            lambda: Collected(box=box, hand=hand or 0),
            lambda: Felt(kind="placed", to=self.place(), card=self.pick(None, self.card()), ago=self.pick(0, 1, 3)),
            lambda: Felt(kind=self.pick(*get_args(FeltKind)), to=self.place(), card=self.card(), ago=self.pick(None, 0, 2)),
            lambda: Ack(alert=table.alerts or 1, by="Eve"),
            lambda: Seat(box=box, player=self.pick(*NAMES), state=self.pick("taken", "left")),
        )
        return self.pick(*wrong)()


Ruled = Literal["accept", "burn", "move", "void_hand", "void_round", "correct"]
RULINGS: tuple[Ruled, ...] = ("accept", *get_args(Ruled))
KINDS: tuple[Literal["chips", "cash", "word", "carried"], ...] = ("chips", "cash", "word", "carried")
FACES: tuple[st.SearchStrategy[Card], ...] = tuple(
    st.sampled_from([card for card in PACK if card[0] in ranks]) for ranks in ("A23456789TJQK", "A89TJ", "AT8", "2345A")
)
"""What the shoes are made of: whole packs, and packs that make pairs, blackjacks, insurance and long hands."""
