"""What the pages show, from what a real game says: pictures on file, and what must hold of every picture."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tablectl.display.heard import INCIDENTS, Heard
from tablectl.display.records import heard_record
from tablectl.display.retold import retold
from tablectl.display.view import Picture, pace, path_of, picture, row
from tablectl.game.view import HandView
from tablectl.ledger.pin import TableName
from tablectl.notices import Remedy
from tablectl.texts import languages
from tests.display.told import BEGINS, NAME, SECOND, SPLIT, Telling, Told, hears

GOLDEN = Path(__file__).parent / "golden"
ILLEGAL = [*SPLIT, {"event": "decision", "box": 3, "action": "surrender"}]
DREW = [
    *SPLIT,
    {"event": "decision", "box": 3, "hand": 1, "action": "stand"},
    {"event": "card", "card": "5D"},
    {"event": "card", "card": "7C"},
    {"event": "card", "card": "4H"},
]
"""The dealer has 18 and takes another card."""
UNREAD = [*SPLIT[:4], {"event": "card", "card": "??"}]
PICTURES = {"split": SPLIT, "illegal": ILLEGAL, "drew_on_17": DREW, "unread": UNREAD, "bets": SPLIT[:2]}


def shown(*observations: dict[str, object], states: bool = True) -> tuple[Heard, Picture]:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    hears(heard, table.feed(*observations, states=states))
    return heard, picture(heard)


def hands(one: Picture) -> dict[tuple[int, int], HandView]:
    return {(box.box, hand.hand): hand for box in one.boxes for hand in box.hands}


def page(name: str) -> str:
    """All that is shown after these observations, for a person to read."""
    heard, now = shown(*PICTURES[name])
    said = {"picture": now, "row": row(heard, now=BEGINS + len(PICTURES[name]) * SECOND, aims={"": 60, "fr": 55})}
    return json.dumps(msgspec.to_builtins(said), ensure_ascii=False, indent=1) + "\n"


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_the_one_on_file(name: str) -> None:
    path = GOLDEN / f"{name}.json"
    assert page(name) == path.read_text("utf-8"), f"python -m tests.display.golden writes {path.name} anew; read the diff"


def test_a_split_hand_and_the_one_that_acts_are_told_apart() -> None:
    _, now = shown(*SPLIT)
    assert now.told is not None
    assert (now.told.code, now.told.box, now.told.hand) == ("ask_box", 3, 1)
    assert [hand.acting for hand in hands(now).values()] == [False, False, True]
    assert hands(now)[3, 1].cards == ("8D", "TC")
    assert hands(now)[1, 0].result == "blackjack"


def test_the_game_that_stands_still_says_why_and_what_to_do() -> None:
    _, now = shown(*DREW)
    assert now.phase == "suspended"
    assert now.stopped[0].code == "dealer.drew_on_17"
    assert "4H" in now.stopped[0].text
    assert now.stopped[0].remedy.text
    assert now.held[0].card == "4H"


def test_a_warning_does_not_fill_the_dealers_page() -> None:
    _, now = shown(*ILLEGAL)
    assert not now.stopped
    assert [alert.code for alert in now.alerts] == ["action.illegal_surrender"]


def test_a_ruling_ends_it() -> None:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    hears(heard, table.feed(*DREW))
    hears(heard, table.feed({"event": "ruling", "by": "CHIEF7", "do": "burn", "reason": ""}))
    assert picture(heard).phase != "suspended"
    assert not picture(heard).stopped
    ended = [one for one in heard.incidents.values() if one.alert.code == "dealer.drew_on_17"]
    assert [(one.open, one.ended, one.ruled) for one in ended] == [(False, "2026-11-30T06:00:17.000000Z", True)]


def test_a_ruling_that_is_heard_stands_in_its_round_at_its_time() -> None:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    hears(heard, table.feed(*DREW, {"event": "ruling", "by": "CHIEF7", "do": "burn", "reason": ""}))
    record = heard_record(heard, 1)
    assert record is not None
    assert [(line.at, line.by) for line in record.lines if line.event == "ruling"] == [("2026-11-30T06:00:17.000000Z", None)]


def test_an_alert_that_somebody_acknowledged_was_not_ruled_on() -> None:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    hears(heard, table.feed(*ILLEGAL))
    (alert,) = [one.alert.id for one in heard.incidents.values() if one.open]
    hears(heard, table.feed({"event": "ack", "alert": alert, "by": "CHIEF7"}))
    assert [(one.open, one.ruled) for one in heard.incidents.values() if one.alert.id == alert] == [(False, False)]


def test_an_alert_is_in_every_language_and_a_remedy_where_it_is_not_the_houses_own() -> None:
    heard, now = shown(*DREW)
    (alert,) = now.stopped
    assert set(alert.words) == set(languages()) - {alert.lang}
    assert alert.words["lt"].text == "Krupjė turėjo 18 ir ištraukė 4H"
    assert alert.words["en"].remedy == "Call the supervisor"
    (said,) = [one.alert for one in heard.incidents.values() if one.alert.id == alert.id]
    own = msgspec.structs.replace(said, remedy=Remedy("burn", "Brûlez-la", "art. 7"))
    assert {one.remedy for one in retold(own, "fr").values()} == {""}
    assert retold(msgspec.structs.replace(said, code="felt.of_tomorrow"), "fr") == {}


def test_cards_are_shown_before_the_state_that_holds_them() -> None:
    _, late = shown(*SPLIT[:8], states=False)
    _, exact = shown(*SPLIT[:8])
    assert {key: hand.cards for key, hand in hands(late).items()} == {key: hand.cards for key, hand in hands(exact).items()}
    assert {key: hand.total for key, hand in hands(late).items()} == {key: hand.total for key, hand in hands(exact).items()}
    assert late.dealer == exact.dealer
    assert late.phase == exact.phase
    assert late.shoe == exact.shoe
    assert late.told == exact.told


def test_a_state_from_behind_the_notices_takes_nothing_back() -> None:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    told = list(table.feed(*SPLIT))
    states = [one for one in told if one.channel == "state"]
    hears(heard, [one for one in told if one.channel != "state"])
    hears(heard, [states[-2]])  # the one before the last card
    _, exact = shown(*SPLIT)
    assert hands(picture(heard))[3, 1].cards == hands(exact)[3, 1].cards
    hears(heard, [states[-1], states[3]])  # and then one from long ago, as a broker that came back has it
    assert picture(heard).boxes == exact.boxes


def test_what_comes_twice_is_there_once() -> None:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    told = list(table.feed(*DREW))
    hears(heard, told)
    before = msgspec.json.encode(picture(heard))
    hears(heard, [one for one in told if one.channel != "state"][-12:])
    hears(heard, told)
    assert msgspec.json.encode(picture(heard)) == before
    assert [one.alert.code for one in heard.incidents.values()] == ["shoe.books_unknown", "dealer.drew_on_17"]


def test_several_things_due_at_once_are_all_said() -> None:
    _, now = shown(*SPLIT[:8])
    assert now.told is not None
    assert now.told.code == "ask_box"
    assert now.told.also == ("Payez la case 1\N{NO-BREAK SPACE}: 15,00",)


def test_what_is_next_is_said_where_the_felt_tells_it() -> None:
    nexts = []
    for count in range(2, 9):
        _, now = shown(*SPLIT[:count])
        nexts.append(now.told.next if now.told else None)
    assert nexts == [
        "Carte à la case 1",
        "Carte à la case 3",
        "Carte à la banque",
        "Carte à la case 1",
        "Carte à la case 3",
        "joueurs",
        "banque",
    ]


def test_a_table_that_went_away_says_so_and_one_that_comes_back_too() -> None:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    assert picture(heard).online
    hears(heard, [Told("status", table.presence("offline"))])
    assert not picture(heard).online
    hears(heard, [Told("status", table.presence("online", "c2"))])
    assert picture(heard).online


def test_silence_means_something_only_of_a_table_that_beats() -> None:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    assert not heard.beats
    again = Told("status", table.presence("online"))
    hears(heard, [again])
    assert heard.beats


def test_a_recording_that_is_replayed_again_is_shown_again() -> None:
    table, heard = Telling(), Heard(NAME)
    hears(heard, table.begin())
    hears(heard, table.feed(*SPLIT))
    second = Telling()
    hears(heard, [Told("status", second.presence("online", "c2", seq=0))])
    hears(heard, second.begin())
    hears(heard, second.feed(*SPLIT[:4]))
    assert [hand.cards for hand in hands(picture(heard)).values()] == [("AS",), ()]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b'{"id":1}',
        b'{"id":"a-1","type":"org.tablectl.state.v1","sequence":"x","data":{}}',
        b"\xff",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("channel", ["state", "prompt", "status", "info", "evt/dealt", "evt/nothing", "cmd/ack"])
def test_what_cannot_be_read_changes_nothing(channel: str, payload: bytes) -> None:
    heard, now = shown(*SPLIT)
    assert not heard.hear(channel, payload, 1).picture
    assert picture(heard) == now


def test_no_page_counts_what_remains_by_rank() -> None:
    _, now = shown(*DREW)
    assert set(msgspec.to_builtins(now.shoe)) == {"remaining", "drawn", "unread", "state"}


def test_what_is_kept_is_bounded() -> None:
    heard, table = Heard(NAME), Telling()
    hears(heard, table.begin())
    for _ in range(INCIDENTS + 10):
        again = ({"event": "link", "device": "pad", "state": state} for state in ("down", "up"))
        hears(heard, table.feed(*again, states=False))
    assert len(heard.incidents) == INCIDENTS
    assert min(heard.incidents) > 1  # it is the oldest that goes


def test_a_tables_path_can_be_a_path() -> None:
    assert path_of(TableName("a b", "é", "t?%")) == "a%20b/%C3%A9/t%3F%25"


# Pace


def test_pace_is_rounds_an_hour() -> None:
    closed = [minute * 60 * SECOND for minute in range(10)]
    assert pace(closed, 9 * 60 * SECOND) == 60
    assert pace(closed[:1], 60 * SECOND) is None
    assert pace([], 0) is None


def test_pace_falls_while_no_round_ends_and_is_gone_after_a_rest() -> None:
    closed = [minute * 60 * SECOND for minute in range(10)]
    assert pace(closed, 10 * 60 * SECOND) == 60
    falling = pace(closed, 19 * 60 * SECOND)
    assert falling is not None
    assert falling == 32
    assert pace(closed, 90 * 60 * SECOND) is None


def test_rounds_heard_make_the_pace_of_the_row() -> None:
    heard = Heard(NAME)
    heard.closed.extend(minute * 60 * SECOND for minute in range(5))
    assert row(heard, now=4 * 60 * SECOND, aims={"": 70}).pace == 60
    assert row(heard, now=4 * 60 * SECOND, aims={"": 70}).aim == 70
