"""What was once wrong: a stream for each fault that the laws found, so that it is found at once if it comes back."""

from __future__ import annotations

import pytest

from tablectl.game.table import Table
from tablectl.game.view import view
from tablectl.notices import Alert
from tablectl.observations import Felt
from tablectl.places import BoxPlace
from tests.game.laws import ALWAYS
from tests.game.shorthand import read
from tests.game.test_properties import hold
from tests.strategies import HOUSES, Stream

FAULTS = {
    "outcomes by time, not by box: the last hand busts and an earlier blackjack is settled with it": (
        "es",
        "bet1 bet2 AS TS 9C KH 8H TC",
    ),
    "the alert that came with a round's first stake was not among the round's": ("es", "carried1 TS 9C 8H stand1 8D"),
    "a round that was voided while it waited to be settled closed twice": ("es", "bet1 TS 9C ?? accept stand1 8D void"),
    "a hand that was voided before the deal was dealt to and settled again": (
        "fr",
        "bet1 TS void1 bet2 8S 9S 9C 8H 9H TH>dealer",
    ),
    "a hand that was bust and settled was offered insurance, and its outcome did not tell it": (
        "es",
        "bet3 bet5 TS 5S AC 8D 8H>3 accept TC insure3=500 insure5 stand5 9C",
    ),
    "an insured blackjack did not get its stake back when the dealer had one too": (
        "fr",
        "bet1 bet2 AS TS AC KH 8H insure1=500 insure2 stand2 KD",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_once_wrong(fault: str) -> None:
    house, stream = FAULTS[fault]
    seen = tuple(read(stream))
    hold(Stream(HOUSES[house], seen), len(seen) // 2, ALWAYS)


def test_a_bust_hand_that_still_lies_there_is_told_though_the_round_has_ended_meanwhile() -> None:
    table = Table(HOUSES["es"])
    for seen in read("bet1 bet2 TS 5S 9C 8H 6D KD stand2 8D"):
        table.feed(seen)
    assert table.phase == "betting"
    said = table.feed(Felt(kind="not_collected", to=BoxPlace(1, 0), ago=1))
    assert [(notice.code, notice.box) for notice in said if isinstance(notice, Alert)] == [("felt.not_collected", 1)]


def test_an_insured_bust_hand_that_lies_there_until_the_round_ends_is_well() -> None:
    """Its insurance is not settled before. The felt sees the dealer's last card at rest when the game knows of that."""
    table = Table(HOUSES["fr"])
    for seen in read("bet1 bet2 7C TS AS 6S 8D insure1=500 insure2=0 hit1 9H stand2 7S"):
        table.feed(seen)
    assert [hand.result for hand in view(table).boxes[0].hands] == ["bust"]
    said = table.feed(Felt(kind="not_collected", to=BoxPlace(1, 0), ago=1))
    assert not any(isinstance(notice, Alert) for notice in said)
