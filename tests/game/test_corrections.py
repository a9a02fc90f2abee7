"""A card that was misread or not read, and corrected later: the table then stands where it would stand had it been read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from tablectl.cards import PACK, Card
from tablectl.emulator.dealer import LegalPlay
from tablectl.game.table import Table
from tablectl.notices import Alert, Dealt, Notice, Outcome, RoundClosed
from tablectl.observations import Bet, CardDrawn, Felt, Observation, Ruling, decode
from tablectl.places import BoxPlace
from tests.strategies import HOUSES


def misread(house: str, seed: int) -> tuple[list[Observation], list[Observation]]:
    """A legal session, and the same with one card of its last round misread and corrected some observations later."""
    chance = random.Random(seed)
    true = [*LegalPlay(HOUSES[house], seed=seed, rounds=2, boxes=(2, 4))]
    bets = [index for index, seen in enumerate(true) if isinstance(seen, Bet)]
    opened = next(index for index in reversed(bets) if not isinstance(true[index - 1], Bet))
    drawn = [index for index in range(opened, len(true)) if isinstance(true[index], CardDrawn)]
    number = chance.randrange(len(drawn))
    card = true[drawn[number]]
    assert isinstance(card, CardDrawn)
    seen = replace(card, card=chance.choice((Card.UNREAD, *PACK)))
    wrong = [*true[: drawn[number]], seen, *true[drawn[number] + 1 :]]
    when = chance.randint(drawn[number] + 1, len(true))
    wrong.insert(when, Ruling(do="correct", draw=number + 1, card=card.card, by="CHIEF7", reason="seen on the film"))
    return true, wrong


def fed(house: str, stream: list[Observation]) -> tuple[Table, list[Notice]]:
    table = Table(HOUSES[house])
    return table, [notice for seen in stream for notice in table.feed(seen)]


def latest(said: list[Notice]) -> dict[tuple[int, int, int], tuple[object, ...]]:
    """What was said last of each hand's end, by round, box and hand."""
    return {
        (notice.round, notice.box, notice.hand): (notice.result, notice.cards, notice.returned, notice.carried)
        for notice in said
        if isinstance(notice, Outcome)
    }


@pytest.mark.parametrize("house", HOUSES)
@pytest.mark.parametrize("seed", range(60))
def test_a_corrected_table_stands_where_the_real_one_does(house: str, seed: int) -> None:
    true, wrong = misread(house, seed)
    (real, said), (ours, told) = fed(house, true), fed(house, wrong)
    assert not any(isinstance(notice, Alert) and notice.severity != "info" for notice in said), "the session is legal"
    assert (ours.round.hands, ours.round.dealer) == (real.round.hands, real.round.dealer)
    assert (ours.phase, ours.stakes, ours.held, ours.blockers) == (real.phase, real.stakes, real.held, real.blockers)
    assert (ours.books.drawn, ours.books.unread, ours.books.order) == (real.books.drawn, real.books.unread, real.books.order)
    assert latest(told) == latest(said)


@pytest.mark.parametrize("house", HOUSES)
@pytest.mark.parametrize("seed", range(60))
def test_a_correction_names_what_it_replaces(house: str, seed: int) -> None:
    _, told = fed(house, misread(house, seed)[1])
    by_seq = {notice.seq: notice for notice in told}
    for notice in told:
        if isinstance(notice, Outcome | RoundClosed) and notice.corrects is not None:
            old = by_seq[notice.corrects]
            assert type(old) is type(notice)
            assert old.round == notice.round
            assert old.seq < notice.seq
            if isinstance(notice, Outcome) and isinstance(old, Outcome):
                assert (old.box, old.hand) == (notice.box, notice.hand)


def test_what_a_correction_settles_is_told_by_box_whatever_was_settled_first() -> None:
    """Box 7 was voided; then the felt says that its card went to box 4, which is bust with it."""
    seen: list[Observation] = [Bet(box=4, amount=2500), Bet(box=7, amount=1000)]
    seen += [CardDrawn(card=Card(card)) for card in ("TD", "8H", "6S", "7H", "KD")]
    seen.append(Ruling(do="void_hand", by="CHIEF7", box=7, hand=0))
    table, _ = fed("fr", seen)
    said = table.feed(Felt(kind="placed", to=BoxPlace(4, 0), card=Card("KD"), ago=0))
    assert [(notice.box, notice.result) for notice in said if isinstance(notice, Outcome)] == [(4, "bust"), (7, "void")]


def test_an_unread_card_is_told_again_when_it_is_known() -> None:
    table = Table(HOUSES["es"])
    for seen in (Bet(box=1, amount=1000), CardDrawn(card=Card("TH")), CardDrawn(card=Card.UNREAD)):
        before = table.feed(seen)
    assert any(isinstance(notice, Alert) and notice.code == "shoe.card_unread" for notice in before)
    said = table.feed(Ruling(do="correct", card=Card("6H"), by="CHIEF7", reason="seen on the film"))
    assert [(notice.card, notice.to, notice.total) for notice in said if isinstance(notice, Dealt)] == [(Card("6H"), "dealer", 6)]
    assert table.phase == "second_cards"
    assert table.open_alerts == ()


def test_a_hand_is_corrected_while_the_round_waits_to_be_settled() -> None:
    """The unread card was accepted, the round played to its end: it is settled by the correction."""
    table = Table(HOUSES["es"])
    stream: list[Observation] = [Bet(box=1, amount=1000), *(CardDrawn(card=Card(card)) for card in ("TH", "7C", "??"))]
    stream += [Ruling(do="accept", by="CHIEF7"), CardDrawn(card=Card("TD"), to="dealer")]
    for seen in stream:
        before = table.feed(seen)
    assert not any(isinstance(notice, Outcome) for notice in before)
    said = table.feed(Ruling(do="correct", card=Card("9H"), by="CHIEF7", reason="seen on the film"))
    outcomes = [(notice.result, notice.total, notice.dealer_total) for notice in said if isinstance(notice, Outcome)]
    assert outcomes == [("win", 19, 17)]
    assert table.phase == "betting"


def test_a_correction_that_moves_a_rounds_end_speaks_of_that_round() -> None:
    """The round is void after the correction, so a bet that came late opens the next one; what is corrected is of the first."""
    lines = (Path(__file__).with_name("corrected-into-the-next-round.jsonl")).read_bytes().splitlines()
    table, told = fed("fr", [decode(line) for line in lines])
    closes = [notice for notice in told if isinstance(notice, RoundClosed)]
    assert [(notice.round, notice.number, notice.staked) for notice in closes] == [(1, 1, 200), (1, 1, 0)]
    assert closes[1].corrects == closes[0].seq
    assert {notice.round for notice in told if isinstance(notice, Outcome)} == {1}
    assert table.round.number == 2
