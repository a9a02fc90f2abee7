"""What a class of errors is, and the ways in which a legal round is changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from msgspec.structs import replace

from tablectl.game.round import Hand
from tablectl.instants import from_micros, to_micros
from tablectl.observations import Action, CardDrawn, Decision, Observation
from tablectl.places import Place
from tests.mutations.stories import IN_DEAL, Manner, Seen, Story

__all__ = [
    "CLASSES",
    "Mutated",
    "Mutation",
    "before",
    "decided",
    "decides",
    "in_play",
    "instead",
    "mutation",
    "passed_over",
    "pick",
    "refused",
    "to",
]

Mutated = tuple[list[Observation], int]
"""What the devices report, and the index from which it is no longer the legal round."""

Make = Callable[[Story, random.Random], Mutated | None]


@dataclass(frozen=True)
class Mutation:
    """A class of errors. `first` has the alerts that may come first, with the reason where it is not the class's own name."""

    name: str
    make: Make
    houses: tuple[str, ...]
    manner: Manner
    first: dict[str, str]


CLASSES: list[Mutation] = []


def mutation(own: str, /, *, houses: str = "fr es lt", manner: Manner | None = None, **others: str) -> Callable[[Make], Make]:
    """Enter a class: `own` are the codes that name it, `others` (with `__` for the dot) those that cannot be told from it."""

    def enter(make: Make) -> Make:
        first = dict.fromkeys(own.split(), "") | {code.replace("__", "."): why for code, why in others.items()}
        CLASSES.append(Mutation(make.__name__, make, tuple(houses.split()), manner or Manner(), first))
        return make

    return enter


def pick(rng: random.Random, sites: Sequence[int]) -> int | None:
    return rng.choice(sites) if sites else None


def instead(story: Story, index: int, *new: Observation) -> Mutated:
    """Something else, or nothing, in the place of one observation."""
    seen = story.observations
    at = seen[index].at
    return [*seen[:index], *(replace(one, at=one.at or at) for one in new), *seen[index + 1 :]], index


def before(story: Story, index: int, new: Observation) -> Mutated:
    """One observation more, just before another; it comes a tenth of a second earlier."""
    seen = story.observations
    earlier = from_micros(to_micros(seen[index].at or "") - 125_000)
    return [*seen[:index], replace(new, at=earlier), *seen[index:]], index


def to(story: Story, index: int, place: Place) -> Mutated:
    """A card that went elsewhere."""
    drawn = story.seen[index].observation
    assert isinstance(drawn, CardDrawn)
    return instead(story, index, replace(drawn, to=place))


def passed_over(story: Story, index: int) -> Mutated:
    """A place gets no card: each card from there on goes one place further, so that the last of the round stays in the shoe."""
    seen, cards = story.observations, [i for i in story.dealt(*IN_DEAL) if i >= index]
    for here, there in pairwise(cards):
        card, place = seen[here], story.seen[there].observation
        assert isinstance(card, CardDrawn)
        seen[there] = replace(place, card=card.card)
    return [*seen[:index], *seen[index + 1 :]], index


def decides(story: Story, suits: Callable[[Seen, Hand], bool]) -> list[int]:
    """The indices of the decisions that suit."""
    return [i for i, seen in enumerate(story.seen) if seen.due.hand is not None and suits(seen, seen.due.hand)]


def decided(story: Story, rng: random.Random, action: Action, suits: Callable[[Seen, Hand], bool]) -> Mutated | None:
    """Another decision at one of the places that suit."""
    index = pick(rng, decides(story, suits))
    if index is None:
        return None
    hand = story.seen[index].due.hand
    assert hand is not None
    return instead(story, index, Decision(box=hand.box, hand=hand.number, action=action))


def refused(seen: Seen, action: Action, rule: str) -> bool:
    no = seen.due.actions[action]
    return no is not None and no.rule == rule


def in_play(story: Story) -> range:
    """The indices from the first card of the round to the last thing of it."""
    return range(min(story.dealt("first_cards")), story.closed)
