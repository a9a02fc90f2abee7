"""A house may set for every alert that it is off, only said, or suspends the game: each happens here under each of the three."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tablectl.cards import PACK
from tablectl.game.irregularities import CATALOGUE
from tablectl.game.table import Table
from tablectl.houses.rules import House
from tablectl.notices import Alert, Dealt, Notice
from tablectl.observations import CardDrawn
from tests.game.shorthand import read
from tests.strategies import HOUSES

HAPPENS: dict[str, tuple[str, dict[str, Any], str]] = {
    "shoe.burn_omitted": ("es", {}, "load bet1 TS>1"),
    "shoe.card_unread": ("es", {}, "bet1 ??"),
    "shoe.impossible_card": ("es", {}, "load AS bet1 bet2 bet3 bet4 bet5 bet6 AS AS AS AS AS AS"),
    "shoe.foreign_card": ("es", {}, "foreign"),
    "shoe.books_unknown": ("es", {}, "bet1 TS"),
    "shoe.not_cut": ("es", {}, "load-uncut"),
    "shoe.past_cut_card": ("es", {}, "cut bet1 TS"),
    "shoe.missing_cards": ("es", {}, "load AS empty"),
    "shoe.unshuffled": ("es", {"burn_cards": 52}, f"load {' '.join(PACK[:26])}"),
    "shoe.double_draw": ("es", {}, "load at=0 AS at=50 bet1 TS"),
    "shoe.exhausted": ("es", {"decks": 1, "burn_cards": 51}, f"load-1 {' '.join(PACK[:-1])} bet1 {PACK[-1]}"),
    "shoe.pulled_back": ("es", {}, "pulled-back"),
    "shoe.fault": ("es", {}, "jam"),
    "deal.too_few_boxes": ("fr", {}, "bet1 TS"),
    "deal.box_skipped": ("es", {}, "bet1 bet2 TS>2"),
    "deal.out_of_order": ("es", {}, "bet1 bet2 TS>1 8H>1"),
    "deal.box_without_stake": ("es", {}, "bet1 TS>5"),
    "deal.dealer_second_card_early": ("es", {}, "bet1 TS 9C 8D>dealer"),
    "deal.dealer_card_missing": ("es", {}, "bet1 TS 9C>1"),
    "deal.extra_card": ("es", {}, "bet1 bet2 TS 5S 9C 8H 6D stand1 7D>1"),
    "deal.card_outside_round": ("es", {}, "load TS 8S"),
    "deal.while_suspended": ("es", {}, "bet1 jam TS"),
    "dealer.drew_on_17": ("es", {}, "bet1 TS 9C 8H stand1 8D 5D"),
    "dealer.stopped_short": ("es", {}, "bet1 TS 9C 8H load"),
    "dealer.drew_idle": ("es", {}, "bet1 TS 9C 6H KD 2C>dealer"),
    "action.illegal_double": ("es", {}, "bet1 TS 9C 8H double1"),
    "action.illegal_split": ("es", {}, "bet1 TS 9C 8H split1"),
    "action.illegal_surrender": ("es", {}, "bet1 TS 9C 8H surrender1"),
    "action.illegal_hit": ("es", {}, "bet1 8S 9C 8H split1 hit1"),
    "action.illegal_stand": ("es", {}, "bet1 8S 9C 8H split1 stand1"),
    "action.out_of_turn": ("es", {}, "bet1 TS 9C hit1"),
    "action.not_authorised": ("lt", {}, "bet1@Ana TS 9C 8H stand1@Ben"),
    "insurance.not_offered": ("es", {}, "bet1 TS AC 5H 6H"),
    "insurance.illegal": ("es", {}, "bet1 TS 9C insure1=500"),
    "bet.below_min": ("es", {}, "bet1=50 bet2 no-more-bets"),
    "bet.above_max": ("es", {"table_max": 500}, "bet1 no-more-bets"),
    "bet.late": ("es", {}, "bet1 TS bet1=2000"),
    "bet.not_chips": ("es", {}, "word1"),
    "bet.carried_removed": ("fr", {}, "carried1=50"),
    "pay.blackjack_late": ("fr", {}, "bet1 bet2 AS TS 9C KH 5H hit2 paid1"),
    "felt.identity_mismatch": ("es", {}, "bet1 TS felt-reads-7D"),
    "felt.card_missing": ("es", {}, "bet1 TS felt-missing"),
    "felt.card_appeared": ("es", {}, "bet1 TS felt-appeared"),
    "felt.card_moved": ("es", {}, "bet1 TS felt-moved"),
    "felt.card_swapped": ("es", {}, "bet1 TS felt-swapped"),
    "felt.not_collected": ("es", {}, "bet1 bet2 TS 5S 9C 8H 6D KD felt-lies"),
    "felt.camera_moved": ("es", {}, "camera-moved"),
    "felt.camera_lost": ("es", {}, "camera-gone"),
    "link.lost": ("es", {}, "shoe-gone"),
    "link.corrupt": ("es", {}, "corrupt"),
    "link.clock": ("es", {}, "at=9000 at=0"),
    "rules.layout_mismatch": ("es", {}, "load-8"),
}
"""How each alert comes about: the house, what is other in it, and what is seen; the last of it is what is wrong."""

WAITS_FOR_ANOTHER = "deal.while_suspended"  # the game is suspended before it comes


def test_every_alert_is_made_to_happen() -> None:
    assert set(HAPPENS) == set(CATALOGUE)


def happen(code: str, policy: str | None) -> tuple[Table, tuple[Notice, ...]]:
    """A table of a house with this policy to which it has just happened, and what it said to that."""
    name, changed, stream = HAPPENS[code]
    house: House = HOUSES[name]
    house = replace(house, rules=replace(house.rules, **changed), alerts={code: policy} if policy else {})
    table = Table(house)
    *before, last = read(stream)
    for seen in before:
        for notice in table.feed(seen):
            assert not (isinstance(notice, Alert) and notice.code == code), "it happens with the last observation"
    return table, table.feed(last)


def alerts(said: tuple[Notice, ...], code: str) -> list[Alert]:
    return [notice for notice in said if isinstance(notice, Alert) and notice.code == code]


@pytest.mark.parametrize("code", HAPPENS)
def test_by_default(code: str) -> None:
    table, said = happen(code, None)
    (alert,) = alerts(said, code)
    known = CATALOGUE[code]
    assert (alert.severity, alert.favours, alert.ack_required) == (known.severity, known.favours, known.integrity)
    assert (table.phase == "suspended") is (known.suspends or code in (WAITS_FOR_ANOTHER, "rules.layout_mismatch"))


@pytest.mark.parametrize("code", HAPPENS)
def test_suspends(code: str) -> None:
    table, said = happen(code, "suspend")
    assert len(alerts(said, code)) == 1
    assert table.phase == "suspended"


@pytest.mark.parametrize("code", HAPPENS)
def test_is_only_said(code: str) -> None:
    table, said = happen(code, "alert")
    assert len(alerts(said, code)) == 1
    assert table.phase != "suspended" or code == WAITS_FOR_ANOTHER
    assert_no_card_vanished(code, said)


@pytest.mark.parametrize("code", HAPPENS)
def test_is_off(code: str) -> None:
    table, said = happen(code, "off")
    assert alerts(said, code) == []
    assert table.phase != "suspended" or code == WAITS_FOR_ANOTHER
    assert_no_card_vanished(code, said)


def assert_no_card_vanished(code: str, said: tuple[Notice, ...]) -> None:
    """A card that nothing waits for lies somewhere; but outside a round there is nowhere for it to lie."""
    drawn = isinstance(read(HAPPENS[code][2])[-1], CardDrawn)
    if drawn and code not in (WAITS_FOR_ANOTHER, "deal.card_outside_round"):
        assert len([notice for notice in said if isinstance(notice, Dealt)]) == 1


@pytest.mark.parametrize("code", HAPPENS)
def test_a_supervisor_who_accepts_it_lets_the_game_go_on(code: str) -> None:
    table, _ = happen(code, "suspend")
    for seen in read("accept"):
        said = table.feed(seen)
        assert table.phase != "suspended", said
