"""What each hand may do now, and the named rule for each no.

`refusal` answers for one action; `allowed` lists what the acting hand may do, in the order in which it is offered. The dealer's
prompt, the check of a decision, the emulator and the tests all ask here, so the rule stands in one place.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, get_args

from tablectl.cards import Rank, unread
from tablectl.game.hand import are_aces, is_pair, total
from tablectl.game.round import Hand, Round, hands_of
from tablectl.houses.rules import Rules
from tablectl.notices import Operand
from tablectl.observations import Action

__all__ = ["ACTIONS", "Refusal", "allowed", "awaits_card", "may_stand", "refusal"]

ACTIONS: tuple[Action, ...] = get_args(Action)
"""In the order in which they are offered: hit, stand, double, split, surrender."""


class Refusal(NamedTuple):
    """Why an action is refused: the row of the house rules, and the numbers that decided."""

    rule: str
    operands: dict[str, Operand]


def awaits_card(hand: Hand, round_: Round) -> bool:
    """Whether this hand, or another of its box, waits for a split's second card that comes before any decision (R29)."""
    if len(hand.cards) < 2:
        return True
    return hand.split and any(other.owed == "split" for other in hands_of(round_, hand.box))


def may_stand(hand: Hand, round_: Round) -> bool:
    """Whether a card for somebody further on can mean that this hand stands."""
    return hand.owed is None and not awaits_card(hand, round_)


def refusal(hand: Hand, action: Action, round_: Round, rules: Rules) -> Refusal | None:
    """Why the hand whose turn it is may not do this; None when it may."""
    if awaits_card(hand, round_):
        return Refusal("R29", {"count": len(hand.cards)})
    if action == "double":
        return _double(hand, rules)
    if action == "split":
        return _split(hand, round_, rules)
    if action == "surrender":
        return _surrender(hand, round_, rules)
    return None


def allowed(hand: Hand, round_: Round, rules: Rules) -> tuple[Action, ...]:
    """All that the hand whose turn it is may do."""
    if awaits_card(hand, round_):
        return ()
    if len(hand.cards) > 2:
        return ACTIONS[:2]  # every other action is for the first two cards
    actions: list[Action] = ["hit", "stand"]
    if _double(hand, rules) is None:
        actions.append("double")
    if (is_pair(hand.cards, same=rules.split_on) or unread(hand.cards)) and _split(hand, round_, rules) is None:
        actions.append("split")
    if rules.surrender != "no" and _surrender(hand, round_, rules) is None:
        actions.append("surrender")
    return tuple(actions)


def _double(hand: Hand, rules: Rules) -> Refusal | None:
    """R19, R20, R21, R28."""
    if len(hand.cards) != 2:
        return Refusal("R19", {"count": len(hand.cards)})
    if hand.split and not rules.double_after_split:
        return Refusal("R28", {})
    if rules.double_on == "any":
        return None
    count, soft = total(hand.cards)
    if count is None:
        return None  # a card of it is unread: not known to be wrong
    if soft and rules.double_soft:
        count -= 10
    if count in rules.double_on:
        return None
    return Refusal("R21" if soft else "R19", {"total": count, "allowed": _texts(rules.double_on)})


@lru_cache(maxsize=64)
def _texts(numbers: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(map(str, numbers))


def _split(hand: Hand, round_: Round, rules: Rules) -> Refusal | None:
    """R22, R23, R24."""
    if len(hand.cards) != 2 or (total(hand.cards).value is not None and not is_pair(hand.cards, same=rules.split_on)):
        return Refusal("R22", {"count": len(hand.cards)})
    hands = len(hands_of(round_, hand.box))
    if are_aces(hand.cards) and rules.max_hands_aces != "unlimited" and hands >= rules.max_hands_aces:
        return Refusal("R24", {"hands": hands, "most": rules.max_hands_aces})
    if rules.max_hands != "unlimited" and hands >= rules.max_hands:
        return Refusal("R23", {"hands": hands, "most": rules.max_hands})
    return None


def _surrender(hand: Hand, round_: Round, rules: Rules) -> Refusal | None:
    """R30: unsplit hands only, on the first two cards."""
    if rules.surrender == "no" or hand.split or len(hand.cards) != 2:
        return Refusal("R30", {"count": len(hand.cards)})
    if rules.surrender == "not_against_ace" and round_.dealer[:1] and round_.dealer[0].rank is Rank.ACE:
        return Refusal("R30", {"dealer": str(round_.dealer[0])})
    return None
