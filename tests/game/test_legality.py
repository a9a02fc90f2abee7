"""What a hand may do, and which rule says no: what the shipped houses never show, since no round of theirs can."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game.legality import ACTIONS, allowed, refusal
from tablectl.game.round import Hand, Round
from tablectl.houses.rules import Rules
from tests.strategies import HOUSES


def rules(house: str, **changed: Any) -> Rules:
    return replace(HOUSES[house].rules, **changed)


def hand(text: str, number: int = 0, **known: Any) -> Hand:
    return replace(Hand(1, number, 1000, 1000, tuple(map(Card, text.split())), split=number > 0), **known)


def may(hands: Hand | tuple[Hand, ...], house: Rules, dealer: str = "6D") -> str:
    """What the first of a box's hands may do, `double R19` where it may not."""
    hands = hands if isinstance(hands, tuple) else (hands,)
    round_ = Round(1, hands=hands, dealer=(Card(dealer),))
    said = [(action, refusal(hands[0], action, round_, house)) for action in ACTIONS]
    assert allowed(hands[0], round_, house) == tuple(action for action, no in said if no is None)
    return " ".join(action if no is None else f"{action}:{no.rule}" for action, no in said)


@pytest.mark.parametrize(
    ("house", "text", "said"),
    [
        ("fr", "TS 6H", "hit stand double:R19 split:R22 surrender:R30"),
        ("fr", "6S 5H", "hit stand double split:R22 surrender:R30"),
        ("fr", "AS 8H", "hit stand double:R21 split:R22 surrender:R30"),
        ("fr", "KS QH", "hit stand double:R19 split:R22 surrender:R30"),
        ("es", "KS QH", "hit stand double:R19 split surrender:R30"),
        ("es", "5S 5H", "hit stand double split surrender:R30"),
        ("lt", "AS 8H", "hit stand double split:R22 surrender"),
        ("lt", "2S 3H 4D", "hit stand double:R19 split:R22 surrender:R30"),
    ],
)
def test_the_first_two_cards(house: str, text: str, said: str) -> None:
    assert may(hand(text), rules(house)) == said


def test_a_house_that_counts_soft_hands_low_for_doubling() -> None:
    assert "double:R21" in may(hand("AS 8H"), rules("fr"))
    assert "double " in may(hand("AS 8H"), rules("fr", double_soft=True))
    assert "double:R21" in may(hand("AS 5H"), rules("fr", double_soft=True)), "ace and 5 are 6"


def test_a_house_without_a_double_after_a_split() -> None:
    box = (hand("6S 5H", 1), hand("6D", 2))
    assert "double " in may(box, rules("fr"))
    assert "double:R28" in may(box, rules("fr", double_after_split=False))


def test_how_often_a_box_may_split() -> None:
    eights = [hand("8S 8H", number) for number in range(1, 6)]
    assert "split " in may((*eights[:2],), rules("fr"))
    assert "split:R23" in may((*eights[:3],), rules("fr"))
    assert "split " in may((*eights[:4],), rules("lt"))
    assert "split:R23" in may((*eights,), rules("lt"))
    assert "split " in may((*eights,), rules("es"))


def test_aces_are_split_once_and_in_a_house_that_lets_them_more_often() -> None:
    aces = [hand("AS AH", number) for number in range(1, 4)]
    for house in ("fr", "es", "lt"):
        assert "split " in may(hand("AS AH"), rules(house))
        assert "split:R24" in may((*aces[:2],), rules(house))
    assert "split " in may((*aces[:2],), rules("es", max_hands_aces=3))
    assert "split:R24" in may((*aces,), rules("es", max_hands_aces=3))
    assert "split " in may((*aces,), rules("es", max_hands_aces="unlimited"))


@pytest.mark.parametrize(
    ("surrender", "against_six", "against_ace"),
    [
        ("no", "surrender:R30", "surrender:R30"),
        ("any_card", "surrender", "surrender"),
        ("not_against_ace", "surrender", "surrender:R30"),
        ("void_on_dealer_blackjack", "surrender", "surrender"),
    ],
)
def test_the_ways_to_surrender(surrender: str, against_six: str, against_ace: str) -> None:
    house = rules("lt", surrender=surrender)
    assert may(hand("TS 6H"), house, "6D").split()[-1] == against_six
    assert may(hand("TS 6H"), house, "AD").split()[-1] == against_ace
    assert may(hand("TS 6H", 1), house, "6D").split()[-1] == "surrender:R30", "never a split hand"
    assert may(hand("TS 2H 4D"), house, "6D").split()[-1] == "surrender:R30", "never after a third card"


def test_a_hand_that_waits_for_a_splits_second_card_decides_nothing() -> None:
    waits = " ".join(f"{action}:R29" for action in ACTIONS)
    assert may((hand("8S", 1), hand("8H 3D", 2)), rules("fr")) == waits
    assert may((hand("8S 3H", 1), hand("8H", 2, owed="split")), rules("lt")) == waits, "the box's other hand waits for its own"


def test_nobody_is_refused_for_a_card_that_nobody_read() -> None:
    assert may(hand("8S ??"), rules("fr")) == "hit stand double split surrender:R30"
