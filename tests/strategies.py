"""What hypothesis makes for the tests: any observation at all, and whole tables' streams from good play to pure noise.

`play` follows `Table.due`: nobody at the table does anything wrong. `mishaps` does so too, but now and then something goes wrong
as it does at tables (a card on another box, an unread one, a late bet), and rulings put it right. `noise` is anything that
`decode` lets through, in any order. A failing stream prints as JSON lines that `tablectl play` can read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import msgspec
from hypothesis import Phase, settings
from hypothesis import strategies as st

from tablectl import observations
from tablectl.cards import PACK, Card
from tablectl.game.irregularities import CATALOGUE
from tablectl.game.round import hands_of
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.houses.rules import House, Rules
from tablectl.instants import from_micros
from tablectl.observations import (
    Ack,
    Action,
    Bet,
    CardDrawn,
    Collected,
    CutCard,
    Decision,
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

__all__ = ["HOUSES", "Stream", "a_few", "any_observation", "mishaps", "noise", "play", "smallest", "some_house", "very_many"]

HOUSES = {name: rules.load(name).house for name in rules.names()}

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""Hypothesis takes minutes to shrink a stream, choice by choice; `smallest` takes seconds, observation by observation."""

a_few = settings(max_examples=120, derandomize=True, phases=UNSHRUNK)
"""Every day: always the same examples, so that a run fails for what was changed and for nothing else."""

very_many = settings(max_examples=5000, phases=UNSHRUNK)
"""Now and then, with `make test-slow`: always others."""


@dataclass(frozen=True)
class Stream:
    """What a table of one house sees."""

    house: House
    seen: tuple[Observation, ...]

    def __repr__(self) -> str:
        shipped = HOUSES[self.house.name]
        others = [f"# rules: {key} = {value!r}" for key, value in _plain(self.house.rules) - _plain(shipped.rules)]
        others += [f"# alerts: {code} = {said}" for code, said in self.house.alerts.items()]
        return "\n".join([f"# house {self.house.name}", *others, *(observations.encode(one).decode() for one in self.seen), ""])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # so that hypothesis prints it like this too


def _plain(house_rules: Rules) -> set[tuple[str, Any]]:
    return set(msgspec.structs.asdict(house_rules).items())


def smallest(stream: Stream, fails: Callable[[Stream], bool]) -> Stream:
    """A stream that still fails though nothing more can be left out of it: halves first, then quarters, at last one by one."""
    seen = stream.seen
    step = max(1, len(seen) // 2)
    while True:
        before, at = seen, 0
        while at < len(seen):
            shorter = seen[:at] + seen[at + step :]
            if fails(Stream(stream.house, shorter)):
                seen = shorter
            else:
                at += step
        if step == 1 and seen == before:
            return Stream(stream.house, seen)
        step = max(1, step // 2)


# Any observation: made from the types themselves, so that a new field is tried on the day it is added

NAMES = ("Ana", "Ben", "Eve")
LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "alert": st.integers(1, 6),
    "amount": st.sampled_from((0, 50, 100, 333, 500, 1000, 1001)),
    "by": st.sampled_from(NAMES),
    "code": st.sampled_from(("pulled_back", "foreign_card", "jam")),
    "decks": st.just(6),
    "device": st.sampled_from(("shoe", "pad")),
    "hand": st.integers(0, 3),
    "layout": st.sampled_from(({}, {"decks": 6}, {"tie": "lose"}, {"dealer_stands": "all_17", "no_such_key": True})),
    "player": st.sampled_from(NAMES),
    "why": st.sampled_from(("corrupt: 3 frames", "unplugged", "")),
}
"""What makes sense in a field; half of the time it is something else that its type allows."""

MOMENTS = st.integers(0, 10**9) | st.integers(-(10**16), 10**17)
TIMES = st.none() | MOMENTS.map(lambda micros: from_micros(1_796_014_000_000_000 + micros))


def of_type(kind: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
    """Any value of a type as msgspec sees it. Raises `TypeError` for a type that no observation has yet."""
    match kind:
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.IntType():
            least = kind.ge if kind.ge is not None else -(2**63)
            return st.integers(least, kind.le if kind.le is not None else 2**63 - 1)
        case msgspec.inspect.StrType():
            return st.text(st.characters(codec="utf-8"), min_size=kind.min_length or 0, max_size=kind.max_length or 90)
        case msgspec.inspect.EnumType():
            return st.sampled_from(list(kind.cls))
        case msgspec.inspect.LiteralType():
            return st.sampled_from(kind.values)
        case msgspec.inspect.UnionType():
            return st.one_of(*(of_type(one) for one in kind.types))
        case msgspec.inspect.DictType():
            return st.dictionaries(of_type(kind.key_type), of_type(kind.value_type), max_size=3)
        case msgspec.inspect.StructType():
            return st.builds(kind.cls, **{field.name: of_field(field) for field in kind.fields})
    raise TypeError(f"no strategy for {kind}")


def of_field(field: msgspec.inspect.Field) -> st.SearchStrategy[Any]:
    """Any value of a field, the likely ones more often."""
    if field.name == "at":
        return TIMES
    values = of_type(field.type)
    if field.name in LIKELY:
        values = LIKELY[field.name] | values
    return values if field.required else st.just(field.default) | values


any_observation: st.SearchStrategy[Observation] = st.one_of(
    *(of_type(msgspec.inspect.type_info(kind)) for kind in get_args(Observation))
)


# Houses

shipped_house: st.SearchStrategy[House] = st.sampled_from([HOUSES[name] for name in sorted(HOUSES)])
SOME: dict[str, st.SearchStrategy[Any]] = {
    "min_boxes": st.integers(1, 3),
    "burn_cards": st.integers(0, 3),
    "table_max": st.sampled_from(("none", 2000)),
    "blackjack_pays": st.sampled_from(("3:2", "6:5", "1:1", "2:1")),
    "insurance_pays": st.sampled_from(("2:1", "3:2")),
    "double_on": st.sampled_from(("any", (9, 10, 11), (10, 11), (4, 20))),
    "max_hands": st.sampled_from((2, 4, "unlimited")),
    "max_hands_aces": st.sampled_from((1, 2)),
    "smallest_chip": st.sampled_from((1, 50, 300)),
}
"""The rules that are numbers or ratios; those that are words or yes and no take every value that their type knows."""


@st.composite
def some_house(draw: Draw[Any]) -> House:
    """A house that nobody ships, with other rules, other words about what suspends it, and some alerts switched off."""
    house: House = draw(shipped_house)
    kinds = {field.name: field.type for field in msgspec.inspect.type_info(Rules).fields}  # type: ignore[attr-defined]
    changed = {}
    for name in draw(st.lists(st.sampled_from(sorted(kinds)), max_size=8, unique=True)):
        if name in SOME:
            changed[name] = draw(SOME[name])
        elif isinstance(kinds[name], msgspec.inspect.LiteralType | msgspec.inspect.BoolType):
            changed[name] = draw(of_type(kinds[name]))
    said = draw(st.dictionaries(st.sampled_from(sorted(CATALOGUE)), st.sampled_from(("off", "alert", "suspend")), max_size=3))
    return msgspec.structs.replace(house, rules=msgspec.structs.replace(house.rules, **changed), alerts=said)


@st.composite
def noise(draw: Draw[Any]) -> Stream:
    """Anything, in any order."""
    return Stream(draw(shipped_house | some_house()), tuple(draw(st.lists(any_observation, max_size=60))))


# Play

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
        hands = self.table.round.hands
        hand = self.pick(*hands) if hands else None
        box, number = (hand.box, hand.number) if hand else (1, 0)
        others: list[Observation] = [
            Tick(),
            Collected(box=box, hand=number),
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


@st.composite
def play(draw: Draw[Any]) -> Stream:
    """Some rounds in which nobody does anything wrong, in a house that ships."""
    house = draw(shipped_house)
    player = Player(draw, house)
    if player.chance(2):
        player.happens(ShoeLoaded(decks=6, cut=True))
    for _ in range(draw(st.integers(1, 90))):
        player.happens(player.next())
    return Stream(house, tuple(player.seen))


@st.composite
def mishaps(draw: Draw[Any], houses: st.SearchStrategy[House] = shipped_house) -> Stream:
    """Some rounds in which this and that goes wrong, and now and then something that makes no sense at all."""
    house = draw(houses)
    player = Player(draw, house)
    rarely = draw(st.sampled_from((3, 8, 20)))
    for _ in range(draw(st.integers(1, 90))):
        if not player.chance(rarely):
            player.happens(player.next())
        else:
            player.happens(draw(any_observation) if player.chance(4) else player.mishap())
    return Stream(house, tuple(player.seen))
