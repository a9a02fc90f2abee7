"""A table that is carried into the next day goes on as if nothing had happened."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl import notices
from tablectl.cards import Card
from tablectl.game.carried import Standing, carry, may_be_carried, take_over
from tablectl.game.speech import KEPT
from tablectl.game.table import Table
from tablectl.game.view import view
from tablectl.observations import (
    Ack,
    Bet,
    CardDrawn,
    CutCard,
    Felt,
    Link,
    NoMoreBets,
    Observation,
    Ruling,
    Seat,
    ShoeFault,
    ShoeLoaded,
    TableState,
)
from tests.strategies import HOUSES, Stream, a_few, mishaps, noise, play, smallest

FR = HOUSES["fr"]
LEFT_BEHIND = {"seq", "cause", "round_open", "blockers", "held", "superseded", "superseded_close", "lies"}
"""What is not carried: it is empty between two rounds, or counts the notices of the ledger that ended."""


def uncounted(value: Any) -> Any:
    """A notice or a view without the numbers that begin again in each ledger."""
    plain = json.loads(msgspec.json.encode(value))

    def without(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: without(each) for key, each in item.items() if key not in ("seq", "cause", "corrects")}
        return [without(each) for each in item] if isinstance(item, list) else item

    return without(plain)


def carried_over(table: Table) -> Table:
    fresh = Table(table.house, opened=False)
    take_over(fresh, carry(table))
    return fresh


def parts_company(stream: Stream, moment: int) -> str | None:
    """Cut a stream at one of the places between its rounds: what the carried table says, or is, otherwise than the uncut one."""
    uncut = Table(stream.house)
    cuts = [0]
    for number, observation in enumerate(stream.seen, start=1):
        uncut.feed(observation)
        if may_be_carried(uncut):
            cuts.append(number)
    cut = cuts[moment % len(cuts)]
    uncut = Table(stream.house)
    for observation in stream.seen[:cut]:
        uncut.feed(observation)
    table = carried_over(uncut)
    if carry(table) != carry(uncut):
        return "the standing changes when it is carried again"
    reached_back = True
    for observation in stream.seen[cut:]:
        if reached_back and (isinstance(observation, Felt) or (isinstance(observation, Ruling) and observation.do == "correct")):
            continue  # it would reach back over the cut
        said, meant = table.feed(observation), uncut.feed(observation)
        if uncounted(said) != uncounted(meant):
            return f"{observation}:\n{said}\nnot\n{meant}"
        if uncounted(view(table)) != uncounted(view(uncut)):
            return f"{observation}: {view(table)}\nnot\n{view(uncut)}"
        reached_back &= not uncut.round_open
    return None


def hold(stream: Stream, moment: int) -> None:
    if parts_company(stream, moment) is not None:
        short = smallest(stream, lambda shorter: any(parts_company(shorter, at) for at in range(8)))
        why = next((found for at in range(8) if (found := parts_company(short, at))), parts_company(stream, moment))
        pytest.fail(f"{short!r}\n{why}")


MOMENT = st.integers(0, 100)
fewer = settings(a_few, max_examples=60)


@fewer
@given(play(), MOMENT)
def test_good_play_goes_on_as_it_was(stream: Stream, moment: int) -> None:
    hold(stream, moment)


@fewer
@given(mishaps(), MOMENT)
def test_mishaps_go_on_as_they_were(stream: Stream, moment: int) -> None:
    hold(stream, moment)


@fewer
@given(noise(), MOMENT)
def test_noise_goes_on_as_it_was(stream: Stream, moment: int) -> None:
    hold(stream, moment)


def test_all_that_a_table_knows_is_carried_or_is_empty_between_rounds() -> None:
    assert {*Standing.__struct_fields__} == {*KEPT, "house", "phase"} - LEFT_BEHIND


# One table, told by hand


def fed(table: Table, *observations: Observation) -> Table:
    for observation in observations:
        table.feed(observation)
    return table


def evening() -> Table:
    """A table after a round with this and that open: a device is down, a seat taken, an alert unacknowledged."""
    table = Table(FR)
    fed(
        table,
        Link(device="shoe", state="up", why="opened", at="2026-11-30T22:00:00.000000Z"),
        ShoeLoaded(decks=6, cut=False),
        *(CardDrawn(card=Card("2C")) for _ in range(FR.rules.burn_cards)),
        Seat(box=3, player="Ana", state="taken"),
        Bet(box=3, amount=1000, by="Ana"),
        Bet(box=4, amount=1000),
        NoMoreBets(),
        CardDrawn(card=Card("TH")),
        CardDrawn(card=Card("6C")),
        CardDrawn(card=Card.UNREAD),
        Ruling(do="accept", by="Eve"),
        ShoeFault(code="pulled_back", text="a card was pushed back"),
        Ruling(do="void_round", by="Eve", at="2026-11-30T22:03:00.000000Z"),
        CutCard(),
        Link(device="pad", state="down", why="unplugged"),
    )
    assert may_be_carried(table)
    return table


def test_the_evening_as_it_is_carried() -> None:
    carried = json.loads(carry(evening()))
    assert carried["house"] == "fr"
    assert carried["phase"] == "shuffling"
    assert carried["round"]["number"] == 1
    assert carried["seats"] == [["Ana", 3]]
    assert carried["devices"] == {"pad": {"state": "down", "why": "unplugged"}, "shoe": {"state": "up", "why": "opened"}}
    assert (carried["past_cut"], carried["claims_cards"], carried["books"]["unread"]) == (True, True, 1)
    assert carried["faults"] == [["pulled_back", 3]]
    assert [(alert["id"], alert["code"], alert["seq"], alert["cause"]) for alert in carried["open_alerts"]] == [
        (1, "shoe.not_cut", 0, 0),
        (4, "link.lost", 0, 0),
    ]


def test_the_same_standing_is_always_the_same_bytes() -> None:
    carried = carry(evening())
    assert carry(evening()) == carried
    table = Table(FR, opened=False)
    take_over(table, carried)
    assert carry(table) == carried


def test_numbers_begin_again_and_rounds_and_alerts_go_on() -> None:
    table = carried_over(evening())
    assert (table.seq, table.cause, table.round.number, table.phase) == (0, 0, 1, "shuffling")
    said = table.feed(Link(device="shoe", state="down", why="unplugged"))
    assert [(notice.seq, notice.cause) for notice in said] == [(1, 1), (2, 1)]
    assert [notice.id for notice in said if isinstance(notice, notices.Alert)] == [5]
    fed(table, Ack(alert=4, by="Eve"))
    assert [alert.id for alert in table.open_alerts] == [1, 5]
    fed(table, ShoeLoaded(decks=6, cut=True), *(CardDrawn(card=Card("2C")) for _ in range(FR.rules.burn_cards)))
    fed(table, Bet(box=1, amount=1000))
    assert table.round.number == 2


def test_what_was_closed_is_not_corrected_from_the_next_ledger() -> None:
    """In the ledger in which it was dealt, the same ruling says the round's cards anew."""
    ruling = Ruling(do="correct", by="Eve", card=Card("5C"), draw=3)
    uncut, table = evening(), carried_over(evening())
    assert any(isinstance(notice, notices.Dealt) for notice in uncut.feed(ruling))
    (refused,) = table.feed(ruling)
    assert isinstance(refused, notices.Alert)
    assert refused.operands["refused"] == "no_such_draw"


def test_what_comes_after_the_cut_is_corrected() -> None:
    table = carried_over(evening())
    fed(table, ShoeLoaded(decks=6, cut=True), CardDrawn(card=Card.UNREAD))
    assert table.phase == "suspended"
    said = table.feed(Ruling(do="correct", by="Eve", card=Card("5C")))
    assert [(notice.card, notice.to) for notice in said if isinstance(notice, notices.Dealt)] == [("5C", "burn")]


ROUND = [
    ShoeLoaded(decks=6, cut=True),
    *[CardDrawn(card=Card("2C"))] * FR.rules.burn_cards,
    Bet(box=1, amount=1000),
    Bet(box=2, amount=500),
]


@pytest.mark.parametrize(
    ("observations", "phase"),
    [
        (ROUND, "betting"),
        ([*ROUND, NoMoreBets()], "first_cards"),
        ([ShoeLoaded(decks=6, cut=True), CardDrawn(card=Card.UNREAD)], "suspended"),
        ([ShoeFault(code="jam")], "suspended"),
    ],
)
def test_no_ledger_ends_in_a_round_or_while_a_ruling_is_waited_for(observations: list[Observation], phase: str) -> None:
    table = fed(Table(FR), *observations)
    assert table.phase == phase
    assert not may_be_carried(table)
    with pytest.raises(ValueError, match="between two rounds"):
        carry(table)


@pytest.mark.parametrize("state", ["open", "closed"])
def test_a_table_is_carried_open_or_closed(state: Any) -> None:
    table = carried_over(fed(Table(FR), TableState(state="closed"), TableState(state=state)))
    assert table.phase == ("betting" if state == "open" else "closed")


# Bytes that are none


def changed(*path: str, to: Any = None, drop: bool = False) -> bytes:
    """What was carried, with one value in it changed, or taken out."""
    whole = json.loads(carry(evening()))
    inner: Any = whole
    for key in path[:-1]:
        inner = inner[int(key) if isinstance(inner, list) else key]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return msgspec.json.encode(whole)


@pytest.mark.parametrize("name", Standing.__struct_fields__)
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: "):
        take_over(Table(FR), changed(name, drop=True))


@pytest.mark.parametrize(
    ("carried", "says"),
    [
        (changed("burned", to=1), "burned: "),
        (changed("round", "hands", drop=True), "round.hands: "),
        (changed("round", "hand", to=[]), "round.hand: "),
        (changed("books", "order", drop=True), "books.order: "),
        (changed("open_alerts", "0", "remedy", "why", to=""), "open_alerts.0.remedy.why: "),
        (changed("open_alerts", "0", "notice", to="bell"), "open_alerts"),
        (changed("stakes", "carried", to=[[1]]), "stakes.carried"),
        (changed("burn_left", to="many"), "burn_left: "),
        (changed("phase", to="dancing"), "phase: "),
        (changed("phase", to="players"), "phase: "),
        (changed("house", to="es"), "house: 'es' was carried"),
        (carry(evening()) + b" ", "is not written as it was carried"),
        (carry(evening())[:-1], "no JSON object"),
        (b"[" * 10_000, "no JSON object|expected"),
        (b"\xff", "no JSON object|JSON"),
        (b"", "no JSON object"),
    ],
)
def test_other_bytes_are_refused_and_change_nothing(carried: bytes, says: str) -> None:
    table = Table(FR)
    before = table.standing()
    with pytest.raises(ValueError, match=says):
        take_over(table, carried)
    assert table.standing() == before


def test_only_a_fresh_table_takes_over() -> None:
    table = fed(Table(FR), Seat(box=1, player="Ana", state="taken"))
    with pytest.raises(ValueError, match="fresh"):
        take_over(table, carry(evening()))
