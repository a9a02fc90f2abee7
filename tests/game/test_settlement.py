"""What a hand is paid: the ratios, roundings and words of the rules that no shipped house uses. What these pay, perft shows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game.round import Hand, Round
from tablectl.game.settlement import Settlement, dealer_blackjack, natural, settle
from tablectl.houses.rules import Rules
from tests.strategies import HOUSES


def rules(house: str = "es", **changed: Any) -> Rules:
    return replace(HOUSES[house].rules, **changed)


def hand(text: str, stake: int = 1000, ended: str = "stood", **known: Any) -> Hand:
    return replace(Hand(1, 0, stake, stake, cards(text)), ended=ended, **known)


def cards(text: str) -> tuple[Card, ...]:
    return tuple(map(Card, text.split()))


def paid(hand: Hand, dealer: str, house: Rules, *, finished: bool = True) -> Settlement | None:
    return settle(hand, Round(1, hands=(hand,), dealer=cards(dealer)), house, dealer_finished=finished)


def money(hand: Hand, dealer: str, house: Rules) -> tuple[str, int, int]:
    settled = paid(hand, dealer, house)
    assert settled is not None
    return settled.result, settled.returned, settled.carried


@pytest.mark.parametrize(("pays", "returned"), [("3:2", 2500), ("6:5", 2200), ("1:1", 2000), ("2:1", 3000), ("7:5", 2400)])
def test_a_blackjack_is_paid_at_the_houses_ratio(pays: str, returned: int) -> None:
    assert money(hand("AS KH", ended="blackjack"), "9C", rules(blackjack_pays=pays)) == ("blackjack", returned, 0)


@pytest.mark.parametrize(
    ("stake", "chip", "rounding", "returned", "rounded"),
    [
        (1000, 1, "house", 2500, None),
        (1001, 1, "house", 2502, "house"),
        (1001, 1, "player", 2503, "player"),
        (1050, 50, "house", 2600, "house"),
        (1050, 50, "player", 2650, "player"),
        (1100, 50, "house", 2750, None),
    ],
)
def test_only_what_the_smallest_chip_cannot_pay_is_rounded(
    stake: int, chip: int, rounding: str, returned: int, rounded: str | None
) -> None:
    settled = paid(hand("AS KH", stake, "blackjack"), "9C", rules(smallest_chip=chip, rounding=rounding))
    assert settled is not None
    assert (settled.returned, settled.rounded) == (returned, rounded)


@pytest.mark.parametrize(("rounding", "returned"), [("house", 500), ("player", 501)])
def test_half_of_an_odd_stake_that_surrenders(rounding: str, returned: int) -> None:
    settled = paid(hand("TS 6H", 1001, "surrendered"), "9C", rules("lt", rounding=rounding), finished=False)
    assert settled is not None
    assert (settled.result, settled.returned, settled.rounded) == ("surrendered", returned, rounding)


@pytest.mark.parametrize(
    ("tie", "expected"), [("push", ("push", 1000, 0)), ("carry", ("carried", 0, 1000)), ("lose", ("lose", 0, 0))]
)
def test_equal_totals(tie: str, expected: tuple[str, int, int]) -> None:
    assert money(hand("TS 8H"), "9C 9D", rules(tie=tie)) == expected


@pytest.mark.parametrize(
    ("player", "dealer", "result"),
    [("TS 8H", "9C 8D", "win"), ("TS 8H", "9C TD", "lose"), ("TS 8H", "9C 6D TH", "win"), ("TS 2H", "9C 6D TH", "win")],
)
def test_the_higher_total_wins_and_a_dealer_who_busts_pays_all(player: str, dealer: str, result: str) -> None:
    assert money(hand(player), dealer, rules())[0] == result


def test_a_house_where_a_blackjack_is_only_21() -> None:
    house = rules(natural_beats_21=False)
    assert money(hand("AS KH", ended="blackjack"), "9C 5D 7H", house) == ("push", 1000, 0)
    assert money(hand("7S 7H 7D", ended="twenty_one"), "KC AD", house) == ("push", 1000, 0)
    assert money(hand("7S 7H 7D", ended="twenty_one"), "KC AD", rules()) == ("lose", 0, 0)


def test_a_split_ace_with_a_ten_is_a_blackjack_only_where_the_house_says_so() -> None:
    split = hand("AS KH", split=True)
    assert not natural(split, rules())
    assert natural(split, rules(blackjack_after_split=True))
    assert money(split, "9C TD", rules()) == ("win", 2000, 0)
    assert money(split, "9C TD", rules(blackjack_after_split=True)) == ("blackjack", 2500, 0)


def test_a_house_whose_blackjack_takes_only_the_first_stake() -> None:
    house = rules(dealer_blackjack_takes="first_stake")
    doubled, second = hand("6S 5H TD", 2000, "doubled", first_stake=1000), replace(hand("8S 3H"), number=1, split=True)
    assert (money(doubled, "KC AD", house), money(doubled, "KC AD", rules())) == (("lose", 1000, 0), ("lose", 0, 0))
    assert (money(second, "KC AD", house), money(second, "KC AD", rules())) == (("lose", 1000, 0), ("lose", 0, 0))


def test_a_house_that_voids_a_surrender_against_a_blackjack() -> None:
    house, gave_up = rules("lt", surrender="void_on_dealer_blackjack"), hand("TS 6H", ended="surrendered")
    assert paid(gave_up, "KC", house, finished=False) is None, "the dealer's second card decides"
    assert money(gave_up, "KC AD", house) == ("lose", 0, 0)
    assert money(gave_up, "KC 7D", house) == ("surrendered", 500, 0)
    assert money(gave_up, "9C", house) == ("surrendered", 500, 0), "a nine makes no blackjack"


@pytest.mark.parametrize(("pays", "returned"), [("2:1", 1500), ("3:2", 1250)])
def test_insurance_is_paid_at_the_houses_ratio_and_on_a_bust_hand_too(pays: str, returned: int) -> None:
    assert money(hand("TS 6H 9D", ended="bust", insurance=500), "AC KD", rules(insurance_pays=pays)) == ("bust", returned, 0)
    assert money(hand("TS 6H 9D", ended="bust", insurance=500), "AC 9D", rules(insurance_pays=pays)) == ("bust", 0, 0)


def test_what_is_void_gives_everything_back() -> None:
    assert money(hand("TS", ended="void", insurance=500), "AC", rules()) == ("void", 1500, 0)


@pytest.mark.parametrize(
    ("hand_", "dealer", "finished"),
    [
        (hand("TS 8H"), "9C", False),
        (hand("TS 8H", ended=None), "9C 8D", True),  # type: ignore[arg-type]
        (hand("TS ??"), "9C 8D", True),
        (hand("TS 8H"), "9C ??", True),
        (hand("AS KH", ended="blackjack"), "AC", False),
        (hand("TS 6H 9D", ended="bust", insurance=500), "AC", False),
    ],
    ids=["dealer draws", "acts", "unread", "dealer unread", "blackjack against an ace", "insurance is open"],
)
def test_what_is_not_known_yet_is_not_settled(hand_: Hand, dealer: str, finished: bool) -> None:
    assert paid(hand_, dealer, rules(), finished=finished) is None


@pytest.mark.parametrize(
    ("dealer", "answer"),
    [("", None), ("AC", None), ("KC", None), ("9C", False), ("??", None), ("AC KD", True), ("AC 9D", False), ("AC ??", None)],
)
def test_whether_the_dealer_has_a_blackjack(dealer: str, answer: bool | None) -> None:
    assert dealer_blackjack(Round(1, dealer=cards(dealer))) is answer
    if answer:
        assert dealer_blackjack(Round(1, dealer=cards(dealer + " 5H"))) is True, "further cards do not change what it was"
