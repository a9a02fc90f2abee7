"""What lies on the boxes and who decides for them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tablectl.game.betting import Stakes, holder, may_decide, seated
from tablectl.houses.rules import Rules
from tablectl.observations import Bet, Seat
from tests.strategies import HOUSES


def rules(house: str = "fr", **changed: Any) -> Rules:
    return replace(HOUSES[house].rules, **changed)


def stakes(*bets: tuple[int, str | None, int]) -> Stakes:
    laid = Stakes()
    for box, by, amount in bets:
        laid = laid.with_bet(Bet(box=box, by=by, amount=amount))
    return laid


def test_a_bet_says_what_is_a_bettors_in_all() -> None:
    laid = stakes((3, "Ana", 500), (3, "Ben", 200), (3, "Ana", 700), (1, None, 100))
    assert (laid.on(3), laid.of(3, "Ana"), laid.of(3, "Ben"), laid.of(3, "Eve"), laid.on(1)) == (900, 700, 200, 0, 100)
    assert laid.boxes(rules()) == [1, 3]
    taken_off = laid.with_bet(Bet(box=3, by="Ana", amount=0)).with_bet(Bet(box=1, amount=0))
    assert (taken_off.on(3), taken_off.boxes(rules())) == (200, [3])


def test_who_takes_his_stake_off_and_comes_back_is_behind_the_others() -> None:
    laid = stakes((3, "Ana", 500), (3, "Ben", 200), (3, "Ana", 0), (3, "Ana", 500))
    assert holder(3, laid.laid, (), rules("fr")) == "Ben"


def test_the_limits_are_the_boxs_and_a_carried_stake_is_outside_them() -> None:
    laid = stakes((1, "Ana", 60), (1, "Ben", 60), (2, None, 60), (3, None, 5000)).with_carried(2, 30).with_carried(4, 50)
    house = rules(table_max=2000)
    assert [(limit.code, limit.box, limit.amount) for limit in laid.outside_limits(house)] == [
        ("bet.below_min", 2, 60),
        ("bet.above_max", 3, 5000),
    ]
    assert [(hand.box, hand.stake) for hand in laid.hands(house)] == [(1, 120), (2, 30), (3, 5000), (4, 50)]


def test_the_dealing_order_is_the_houses() -> None:
    laid = stakes((5, None, 100), (2, None, 100), (7, None, 100))
    assert [hand.box for hand in laid.hands(rules())] == [2, 5, 7]
    assert [hand.box for hand in laid.hands(rules(deal_order="right_to_left"))] == [7, 5, 2]


def test_a_carried_stake_that_is_gone_is_gone() -> None:
    assert Stakes().with_carried(2, 30).with_carried(2, 0).boxes(rules()) == []


# R08


def sit(*players: tuple[str, int]) -> tuple[Any, ...]:
    seats: tuple[Any, ...] = ()
    for player, box in players:
        seats = seated(seats, Seat(box=box, player=player, state="taken"))
    return seats


BEHIND = stakes((2, "Ben", 500), (2, "Ana", 500)).laid


@pytest.mark.parametrize(
    ("seats", "holders", "seated_players"),
    [
        ((), "Ben", None),
        ((("Ana", 2),), "Ana", "Ana"),
        ((("Ana", 5),), "Ben", "Ana"),
        ((("Eve", 5), ("Ana", 6), ("Ben", 7)), "Ben", "Ana"),
        ((("Ana", 2), ("Ben", 2)), "Ben", "Ana"),
        ((("Eve", 2), ("Ana", 2)), "Ana", "Ana"),
    ],
    ids=["nobody sits", "one sits there", "one sits elsewhere", "none sits there", "both sit there", "one of two has staked"],
)
def test_who_decides_for_a_box(seats: tuple[tuple[str, int], ...], holders: str, seated_players: str | None) -> None:
    assert holder(2, BEHIND, sit(*seats), rules(box_authority="holder")) == holders
    assert holder(2, BEHIND, sit(*seats), rules(box_authority="seated_player")) == seated_players


def test_nobody_is_accused_on_what_nobody_saw() -> None:
    house = rules(box_authority="seated_player")
    assert may_decide("Eve", 2, BEHIND, (), house), "who has the box is not known"
    assert may_decide(None, 2, BEHIND, sit(("Ana", 2)), house), "who decided is not known"
    assert may_decide("Ana", 2, BEHIND, sit(("Ana", 2)), house)
    assert not may_decide("Ben", 2, BEHIND, sit(("Ana", 2)), house)


def test_who_takes_another_box_keeps_his_place_and_who_leaves_loses_it() -> None:
    moved = seated(sit(("Ana", 1), ("Ben", 3)), Seat(box=5, player="Ana", state="taken"))
    assert holder(2, BEHIND, moved, rules(box_authority="seated_player")) == "Ana"
    left = seated(sit(("Ana", 1), ("Ben", 3)), Seat(box=1, player="Ana", state="left"))
    back = seated(left, Seat(box=1, player="Ana", state="taken"))
    assert holder(2, BEHIND, back, rules(box_authority="seated_player")) == "Ben"
    assert seated(back, Seat(box=1, player="Ana", state="taken")) == back, "a seat that is taken twice is taken once"
