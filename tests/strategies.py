"""What hypothesis makes for the tests: any observation at all, and whole tables' streams from good play to pure noise.

`play` follows `Table.due`: nobody at the table does anything wrong. `mishaps` does so too, but now and then something goes wrong
as it does at tables (a card on another box, an unread one, a late bet), and rulings put it right. `noise` is anything that
`decode` lets through, in any order. A failing stream prints as JSON lines that `tablectl play` can read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tablectl import observations
from tablectl.game.irregularities import CATALOGUE
from tablectl.houses import rules
from tablectl.houses.rules import House, Rules
from tablectl.instants import from_micros
from tablectl.observations import Observation, ShoeLoaded
from tests.game.player import NAMES, Draw, Player

__all__ = ["HOUSES", "Stream", "a_few", "any_observation", "mishaps", "noise", "play", "smallest", "some_house", "very_many"]

HOUSES = {name: rules.load(name).house for name in rules.names()}

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""Hypothesis takes minutes to shrink a stream, choice by choice; `smallest` takes seconds, observation by observation."""

BUSY = (HealthCheck.too_slow, HealthCheck.data_too_large)
"""A machine that does much else is slow, and that is no failure."""

a_few = settings(max_examples=120, derandomize=True, phases=UNSHRUNK, suppress_health_check=BUSY)
"""Every day: always the same examples, so that a run fails for what was changed and for nothing else."""

very_many = settings(max_examples=3000, phases=UNSHRUNK, suppress_health_check=BUSY)
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
    if field.name in ("at", "last", "first"):  # what is decoded is a time, or refused
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
