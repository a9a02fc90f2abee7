"""Whole rounds on file for every irregularity: rounds that raise it and are ruled on, and rounds that come close and do not.

A file is named after the code it shows: `deal.box_skipped--middle-box.jsonl` raises it, `deal.box_skipped--near--...` does not.
The format is that of `tests/houses/README.md`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args

import pytest

from tablectl.cards import Card
from tablectl.game.irregularities import CATALOGUE
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.notices import Alert, Notice, Outcome, PhaseChanged, RoundClosed
from tablectl.observations import Ack, Bet, CardDrawn, Decision, Observation, Ruling
from tablectl.places import BoxPlace
from tests.rounds_on_file import RoundOnFile, complaints, files, read

FOLDER = Path(__file__).parent

CATALOGUE_OF_THE_TRADE = [
    "shoe.burn_omitted",
    "shoe.card_unread",
    "shoe.impossible_card",
    "shoe.foreign_card",
    "shoe.missing_cards",
    "shoe.unshuffled",
    "shoe.books_unknown",
    "shoe.not_cut",
    "shoe.past_cut_card",
    "shoe.exhausted",
    "shoe.pulled_back",
    "shoe.double_draw",
    "shoe.fault",
    "deal.too_few_boxes",
    "deal.box_skipped",
    "deal.out_of_order",
    "deal.box_without_stake",
    "deal.dealer_second_card_early",
    "deal.dealer_card_missing",
    "deal.extra_card",
    "deal.card_outside_round",
    "deal.while_suspended",
    "dealer.drew_on_17",
    "dealer.stopped_short",
    "dealer.drew_idle",
    "action.illegal_double",
    "action.illegal_split",
    "action.illegal_surrender",
    "action.illegal_hit",
    "action.illegal_stand",
    "action.out_of_turn",
    "action.not_authorised",
    "insurance.not_offered",
    "insurance.illegal",
    "bet.below_min",
    "bet.above_max",
    "bet.late",
    "bet.not_chips",
    "bet.carried_removed",
    "pay.blackjack_late",
    "felt.identity_mismatch",
    "felt.card_missing",
    "felt.card_appeared",
    "felt.card_moved",
    "felt.card_swapped",
    "felt.not_collected",
    "felt.camera_moved",
    "felt.camera_lost",
    "link.lost",
    "link.corrupt",
    "link.clock",
    "rules.layout_mismatch",
]
"""Every irregularity that shoe, pad, rules and camera can see."""

NO_MAXIMUM = "bet.above_max"
"""No house that ships has a maximum: this one is shown below, by a house that has."""

NAMES = [path.stem for path in files(FOLDER)]


def about(name: str) -> tuple[str, bool]:
    """The code that a file is about, and whether it only comes close to it."""
    code, what, *_ = name.split("--")
    return code, what == "near"


def raised(round_: RoundOnFile) -> list[str]:
    """The codes of all that the round raises, information too."""
    table = Table(rules.load(round_.house).house)
    return [notice.code for step in round_.steps for notice in table.feed(step.observation) if isinstance(notice, Alert)]


@pytest.mark.parametrize("name", NAMES)
def test_round(name: str) -> None:
    round_ = read(FOLDER / f"{name}.jsonl")
    wrong = complaints(round_)
    assert not wrong, f"{round_.title}\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_a_round_raises_what_it_is_named_after_and_a_near_one_does_not(name: str) -> None:
    code, near = about(name)
    assert (code in raised(read(FOLDER / f"{name}.jsonl"))) is not near


def test_the_codes_on_file_are_the_catalogue() -> None:
    rounds = [about(name) for name in NAMES]
    assert {code for code, near in rounds if not near} | {NO_MAXIMUM} == set(CATALOGUE_OF_THE_TRADE)
    assert {code for code, near in rounds if near} | {NO_MAXIMUM} == set(CATALOGUE_OF_THE_TRADE)


def test_the_game_knows_the_catalogue_and_no_more() -> None:
    assert set(CATALOGUE) == set(CATALOGUE_OF_THE_TRADE)


Do = Literal["accept", "burn", "move", "void_hand", "void_round", "correct"]
RULINGS: tuple[Do, ...] = get_args(Do)


def test_each_ruling_is_on_file_carried_out_and_each_but_accept_refused() -> None:
    made: set[str] = set()
    refused: set[str] = set()
    for name in NAMES:
        round_ = read(FOLDER / f"{name}.jsonl")
        table = Table(rules.load(round_.house).house)
        for step in round_.steps:
            said = table.feed(step.observation)
            if isinstance(step.observation, Ruling):
                no = any(isinstance(notice, Alert) and notice.code == "action.out_of_turn" for notice in said)
                (refused if no else made).add(step.observation.do)
    assert made == set(RULINGS)
    assert refused >= {"accept", "burn", "move", "void_hand", "correct"}


@pytest.mark.parametrize(
    ("name", "exit_code"),
    [
        ("deal.box_skipped--middle-box", 3),
        ("shoe.card_unread--corrected", 3),
        ("action.illegal_double--eight", 0),
        ("deal.box_skipped--near--last-box-served", 0),
    ],
)
def test_the_command_says_the_same(name: str, exit_code: int, tmp_path: Path) -> None:
    path = FOLDER / f"{name}.jsonl"
    round_ = read(path)
    ran = subprocess.run(
        [sys.executable, "-m", "tablectl", "play", "--house", round_.house, str(path)],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one["code"] for one in said if one["notice"] == "alert" and one["severity"] != "info"] == round_.alerts
    assert ran.returncode == exit_code, ran.stderr


# What no house that ships can show, and what only the table's own settings decide


@pytest.mark.parametrize(("amount", "above"), [(5001, True), (5000, False)])
def test_a_stake_above_the_maximum_and_one_at_it(amount: int, above: bool, tmp_path: Path) -> None:
    shipped = Path(rules.__file__).with_name("es.toml").read_text(encoding="utf-8")
    assert shipped.count('table_max = "none"') == 1
    path = tmp_path / "es.toml"
    path.write_text(shipped.replace('table_max = "none"', "table_max = 5000  "), encoding="utf-8")
    table = Table(rules.load(str(path)).house)
    said = feed(table, Bet(box=2, amount=amount), CardDrawn(card=Card("TS")))
    codes = [notice.code for notice in said if isinstance(notice, Alert) and notice.severity != "info"]
    assert codes == (["bet.above_max"] if above else [])


def feed(table: Table, *observations: Observation) -> list[Notice]:
    return [notice for observation in observations for notice in table.feed(observation)]


class TestSupervisors:
    """Who may rule is the table's list; without one, anybody."""

    def table(self) -> Table:
        table = Table(rules.load("es").house, supervisors=frozenset({"CHIEF7"}))
        said = feed(table, Bet(box=1, amount=1000), CardDrawn(card=Card("TS"), to=BoxPlace(3)))
        assert [one.code for one in said if isinstance(one, Alert)] == ["shoe.books_unknown", "deal.box_without_stake"]
        assert table.phase == "suspended"
        return table

    @pytest.mark.parametrize("do", RULINGS)
    def test_a_ruling_by_anybody_else_is_refused_and_said(self, do: Do) -> None:
        table = self.table()
        said = feed(table, Ruling(do=do, by="CLERK2", reason="in a hurry", to=BoxPlace(1), box=1, card=Card("9S"), draw=1))
        (alert,) = [one for one in said if isinstance(one, Alert)]
        assert (alert.code, alert.severity, alert.operands["by"]) == ("action.not_authorised", "warning", "CLERK2")
        assert alert.operands["action"] == do
        assert table.phase == "suspended"
        assert not any(isinstance(one, PhaseChanged) for one in said)

    def test_an_acknowledgement_by_anybody_else_is_refused_and_said(self) -> None:
        table = Table(rules.load("es").house, supervisors=frozenset({"CHIEF7"}))
        feed(table, Bet(box=1, amount=1000), Bet(box=2, amount=1000, kind="word"))
        assert [alert.code for alert in table.open_alerts] == ["bet.not_chips"]
        said = feed(table, Ack(alert=1, by="CLERK2"))
        assert [one.code for one in said if isinstance(one, Alert)] == ["action.not_authorised"]
        assert "bet.not_chips" in [alert.code for alert in table.open_alerts]
        assert feed(table, Ack(alert=1, by="CHIEF7")) == []
        assert "bet.not_chips" not in [alert.code for alert in table.open_alerts]

    def test_one_of_the_list_rules(self) -> None:
        table = self.table()
        said = feed(table, Ruling(do="move", by="CHIEF7", reason="to box 1", to=BoxPlace(1)))
        assert not [one for one in said if isinstance(one, Alert)]
        assert table.phase == "first_cards"


def test_a_corrected_outcome_names_the_one_it_replaces() -> None:
    """The dealer's seven was a six: the box's 19 did not win against 17, the dealer draws to 20, and it loses."""
    table = Table(rules.load("es").house)
    cards = [CardDrawn(card=Card(face)) for face in ("TS", "7S", "9S")]
    said = feed(table, Bet(box=1, amount=1000), *cards, Decision(box=1, action="stand"), CardDrawn(card=Card("KS")))
    (won,) = [one for one in said if isinstance(one, Outcome)]
    (closed,) = [one for one in said if isinstance(one, RoundClosed)]
    assert (won.result, won.returned, won.corrects) == ("win", 2000, None)
    feed(table, CardDrawn(card=Card("4S")))
    anew = feed(table, Ruling(do="correct", by="CHIEF7", reason="it is a six", draw=2, card=Card("6S")))
    (lost,) = [one for one in anew if isinstance(one, Outcome)]
    (closed_anew,) = [one for one in anew if isinstance(one, RoundClosed)]
    assert (lost.result, lost.returned, lost.dealer_total, lost.corrects) == ("lose", 0, 20, won.seq)
    assert (closed_anew.returned, closed_anew.corrects) == (0, closed.seq)
    assert table.phase == "betting"
