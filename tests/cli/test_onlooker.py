"""What a subscriber makes of a table's messages."""

from __future__ import annotations

import msgspec
import pytest

from tablectl import notices
from tablectl.cli.onlooker import Onlooker
from tablectl.game.table import Table
from tablectl.game.view import encode, view
from tablectl.houses import rules
from tablectl.ledger.pin import TableName
from tablectl.mqtt.messages import Messages
from tablectl.notices import Prompt

MESSAGES = Messages(TableName("site", "pit", "table"), "0123456789abcdef")
BETS = Prompt(1, None, 0, 1, "place_bets", None, None, {}, "Place your bets")
BURN = Prompt(2, None, 0, 2, "burn", None, None, {"count": 5}, "Burn 5")


def test_a_notice_is_news_once() -> None:
    onlooker = Onlooker()
    first, second = (MESSAGES.of_notice(seq, notices.encode(notice)).payload for seq, notice in ((3, BETS), (5, BURN)))
    assert [onlooker.hear(payload) for payload in (first, second, first)] == [BETS, BURN, None]
    assert onlooker.repeats == 1
    assert onlooker.told == {"0123456789abcdef-3": notices.encode(BETS), "0123456789abcdef-5": notices.encode(BURN)}


def test_the_last_state_is_the_view() -> None:
    onlooker = Onlooker()
    table = Table(rules.load("es").house)
    assert onlooker.hear(MESSAGES.of_state(7, encode(table)).payload) == view(table)
    assert (onlooker.view, onlooker.view_holds, onlooker.told) == (view(table), 7, {})


def test_the_pin_and_the_publisher_of_itself_are_no_notices() -> None:
    onlooker = Onlooker()
    there = MESSAGES.of_presence("online", "connected", connection="c", seq=1, status=None, at=None)
    assert [onlooker.hear(message.payload) for message in (there, MESSAGES.of_pin(1, b"{}"))] == [None, None]
    assert onlooker.told == {}


def test_what_no_table_says() -> None:
    with pytest.raises(msgspec.DecodeError):
        Onlooker().hear(b"hello")
