"""The phases: every phase with every trigger, whether its guards agree or not; and that a table really takes every arc."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game import phases
from tablectl.game.phases import ARCS, BETWEEN_ROUNDS, IN_ROUND, PHASES, Arc, Phases, diagram
from tablectl.game.round import Hand, Round
from tablectl.game.table import Table
from tablectl.houses.rules import Rules
from tablectl.notices import PhaseName, Prompt
from tablectl.observations import decode
from tests.game.shorthand import read
from tests.strategies import HOUSES

ROOT = Path(__file__).parents[2]
TRIGGERS = sorted({arc.trigger for arc in ARCS})


@dataclass
class World:
    """What the guards see."""

    round: Round
    rules: Rules = HOUSES["fr"].rules
    burn_left: int = 0
    past_cut: bool = False
    resume_to: PhaseName = "betting"
    waived: frozenset[str] = frozenset()


def cards(text: str) -> tuple[Card, ...]:
    return tuple(map(Card, text.split()))


def box(number: int, text: str = "", **known: Any) -> Hand:
    return replace(Hand(number, 0, 1000, 1000, cards(text)), **known)


def stood(number: int, text: str, **known: Any) -> Hand:
    return box(number, text, ended="stood", **known)


ROUNDS = {
    "nothing": Round(1),
    "one box": Round(1, hands=(box(1),)),
    "two boxes": Round(1, hands=(box(1), box(2))),
    "one has a card": Round(1, hands=(box(1, "TS"), box(2))),
    "dealer first": Round(1, hands=(box(1, "TS"), box(2)), dealer=cards("9C")),
    "boxes have one": Round(1, hands=(box(1, "TS"), box(2, "8H"))),
    "each has one": Round(1, hands=(box(1, "TS"), box(2, "8H")), dealer=cards("9C")),
    "two against a nine": Round(1, hands=(box(1, "TS 8H"), box(2, "8H 7C")), dealer=cards("9C")),
    "two against an ace": Round(1, hands=(box(1, "TS 8H"), box(2, "8H 7C")), dealer=cards("AC")),
    "second cards against an ace": Round(1, hands=(box(1, "TS 8H"), box(2, "8H")), dealer=cards("AC")),
    "one answered": Round(1, hands=(box(1, "TS 8H", insurance=0), box(2, "8H 7C")), dealer=cards("AC")),
    "all answered": Round(1, hands=(box(1, "TS 8H", insurance=0), box(2, "8H 7C", insurance=500)), dealer=cards("AC")),
    "one stood": Round(1, hands=(stood(1, "TS 8H"), box(2, "8H 7C")), dealer=cards("9C")),
    "all stood": Round(1, hands=(stood(1, "TS 8H"), stood(2, "8H 7C")), dealer=cards("9C")),
    "dealer has 16": Round(1, hands=(stood(1, "TS 8H"), stood(2, "8H 7C")), dealer=cards("9C 7D")),
    "dealer has 17": Round(1, hands=(stood(1, "TS 8H"), stood(2, "8H 7C")), dealer=cards("9C 8D")),
    "dealer has soft 17": Round(1, hands=(stood(1, "TS 8H"),), dealer=cards("6C AD")),
    "dealer has who knows": Round(1, hands=(stood(1, "TS 8H"), stood(2, "8H 7C")), dealer=cards("9C ??")),
    "all bust": Round(1, hands=(box(1, "TS 8H 9D", ended="bust", result="bust"),), dealer=cards("9C")),
    "one settled": Round(1, hands=(stood(1, "TS 8H", result="win"), stood(2, "8H 7C")), dealer=cards("9C 8D")),
    "all settled": Round(1, hands=(stood(1, "TS 8H", result="win"), stood(2, "8H 7C", result="lose")), dealer=cards("9C 8D")),
}
"""Rounds as far as they have come."""

GUARDS = """
enough_boxes            yes: two boxes, each has one           no: nothing, one box
each_has_one_card       yes: each has one                      no: one box, one has a card, dealer first, boxes have one
insurance_is_due        yes: two against an ace                no: each has one, two against a nine, second cards against an ace
no_insurance_is_due     yes: two against a nine                no: each has one, two against an ace
all_answered            yes: all answered                      no: two against an ace, one answered
no_hand_acts            yes: all stood, all bust               no: two against a nine, one stood
dealer_is_finished      yes: dealer has 17, dealer has soft 17, all bust    no: all stood, dealer has 16, dealer has who knows
all_settled             yes: all bust, all settled             no: all stood, dealer has 17, one settled
"""
SAID = [
    pytest.param(guard, name.strip(), answer == "yes", id=f"{guard}: {name.strip()}")
    for guard, yes, no in re.findall(r"(\w+) +yes: (.+?) +no: (.+)", GUARDS)
    for answer, names in (("yes", yes), ("no", no))
    for name in names.split(",")
]


@pytest.mark.parametrize(("guard", "name", "says"), SAID)
def test_what_a_guard_says(guard: str, name: str, says: bool) -> None:
    assert getattr(phases, guard)(World(ROUNDS[name])) is says


def test_what_guards_say_of_the_shoe() -> None:
    said = {
        (burn_left, past_cut): [
            guard(World(Round(1), burn_left=burn_left, past_cut=past_cut))
            for guard in (phases.burn_is_due, phases.burn_is_done, phases.cut_card_is_out, phases.shoe_is_fit)
        ]
        for burn_left, past_cut in product((0, 3), (False, True))
    }
    assert said == {
        (0, False): [False, True, False, True],
        (0, True): [False, True, True, False],
        (3, False): [True, False, False, False],
        (3, True): [True, False, False, False],
    }


def test_a_supervisor_may_let_too_few_boxes_pass_but_not_none() -> None:
    waived = frozenset({"deal.too_few_boxes"})
    assert phases.enough_boxes(World(ROUNDS["one box"], waived=waived))
    assert not phases.enough_boxes(World(ROUNDS["nothing"], waived=waived))


def test_a_house_that_hits_soft_17_is_not_finished_on_it() -> None:
    hits = replace(HOUSES["fr"].rules, dealer_stands="hard_17")
    assert not phases.dealer_is_finished(World(ROUNDS["dealer has soft 17"], rules=hits))
    assert phases.dealer_is_finished(World(ROUNDS["dealer has 17"], rules=hits))


# Every phase with every trigger


WORLDS = [
    World(round_, burn_left=burn_left, past_cut=past_cut)
    for round_, burn_left, past_cut in product(ROUNDS.values(), (0, 3), (False, True))
] + [World(ROUNDS["nothing"], resume_to=phase) for phase in (*BETWEEN_ROUNDS, *IN_ROUND)]
WORLDS.append(World(ROUNDS["one box"], past_cut=True, waived=frozenset({"shoe.past_cut_card"})))


@pytest.mark.parametrize("phase", PHASES)
def test_every_trigger_in_every_world(phase: PhaseName) -> None:
    """A trigger takes the first arc whose guard agrees and says True; where there is none it says False and changes nothing."""
    machine = Phases(phase)
    taken = set()
    for trigger, world in product(TRIGGERS, WORLDS):
        arc = first_arc(trigger, phase, world)
        assert machine.fire(trigger, world) is (arc is not None), (trigger, world)
        assert machine.phase == (arc.dest if arc else phase), (trigger, world)
        machine.go_back_to(phase)
        if arc:
            taken.add(arc)
    assert taken == {arc for arc in ARCS if arc.source == phase}, "every arc was taken, and so every guard agreed once"


@pytest.mark.parametrize("phase", PHASES)
def test_every_guard_refuses_once(phase: PhaseName) -> None:
    guards = {arc.guard for arc in ARCS if arc.source == phase and arc.guard}
    assert all(any(not guard(world) for world in WORLDS) for guard in guards)


def first_arc(trigger: str, phase: PhaseName, world: World) -> Arc | None:
    arcs = (arc for arc in ARCS if (arc.trigger, arc.source) == (trigger, phase))
    return next((arc for arc in arcs if arc.guard is None or arc.guard(world)), None)


def test_only_a_ruling_leads_out_of_a_suspension() -> None:
    assert {arc.trigger for arc in ARCS if arc.source == "suspended"} == {"resume"}
    assert {arc.trigger for arc in ARCS if arc.dest == "suspended"} == {"suspend"}


def test_a_closed_table_can_only_be_opened_and_no_round_is_closed_away() -> None:
    assert {arc.trigger for arc in ARCS if arc.source == "closed"} == {"open"}
    assert {arc.source for arc in ARCS if arc.dest == "closed"} == set(BETWEEN_ROUNDS)


# What `transitions` does to those who trust it


def test_no_phase_can_be_jumped_to() -> None:
    assert [name for name in dir(Phases("betting")) if name.startswith(("to_", "may_to_"))] == []


def test_both_refusals_are_one_value_and_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    machine, nobody = Phases("betting"), World(Round(1))
    with caplog.at_level(logging.WARNING):
        assert machine.fire("played", nobody) is False, "there is no such arc here"
        assert machine.fire("close_bets", nobody) is False, "the guard refuses"
    assert machine.phase == "betting"
    assert caplog.records == [], "a refusal is an answer, not a fault"


def test_a_guard_that_fails_changes_nothing() -> None:
    class Broken:
        @property
        def round(self) -> Round:
            raise RuntimeError("a fault of ours")

    machine = Phases("betting")
    with pytest.raises(RuntimeError, match="a fault of ours"):
        machine.fire("close_bets", Broken())  # type: ignore[arg-type]
    assert phase_of(machine) == "betting"
    assert machine.fire("close_bets", World(ROUNDS["two boxes"])) is True, "it goes on as if nothing had been"
    assert phase_of(machine) == "first_cards"


def phase_of(machine: Phases) -> PhaseName:
    return machine.phase  # asked anew: mypy does not know that `fire` changes it


def test_an_unknown_trigger_is_our_own_fault() -> None:
    with pytest.raises(KeyError):
        Phases("betting").fire("no_such_trigger", World(Round(1)))


def test_each_table_has_a_machine_of_its_own() -> None:
    one, other = Phases("betting"), Phases("betting")
    assert one.fire("close", World(Round(1)))
    assert (one.phase, other.phase) == ("closed", "betting")


# What a real table does


ES = HOUSES["es"]
ONLY_SAYS = replace(ES, alerts={"shoe.past_cut_card": "alert", "dealer.stopped_short": "alert"})
BURNS_NOTHING = replace(ES, rules=replace(ES.rules, burn_cards=0))
STREAMS = (
    # A table between two rounds: opened, closed, cut, loaded, burned; and a shoe that fails meanwhile
    (ES, "close open cut close open load close open jam unjam 2C jam unjam load 2C cut jam unjam load 2C close load open 2C"),
    # A round, and a shoe that fails in each of its phases
    (ES, "bet1 jam unjam TS jam unjam AC jam unjam 8H jam unjam insure1 jam unjam stand1 jam unjam 9D"),
    # A round whose second card was not read, so that it waits for a supervisor in settling
    (ES, "bet1 TS 9C ?? accept stand1 8D jam unjam void"),
    # A round voided in each of its phases
    (ES, "bet1 TS void  bet1 TS 9C void  bet1 TS AC 8H void  bet1 TS 9C 8H void  bet1 TS 9C 8H stand1 void"),
    # The cut card comes in a round
    (ES, "bet1 TS cut 9C 8H stand1 8D"),
    # A round after the cut card, and a shoe loaded in the middle of a round
    (ONLY_SAYS, "cut bet1 TS load 9C 8H stand1 8D"),
    # A shoe loaded after the cut card
    (BURNS_NOTHING, "cut load"),
)


def test_a_table_takes_every_arc() -> None:
    taken: set[tuple[str, str, str]] = set()
    for house, stream in STREAMS:
        table = Table(house)
        fire = table.phases.fire

        def spy(trigger: str, facts: Any, fire: Any = fire, table: Table = table) -> bool:
            before = table.phase
            moved: bool = fire(trigger, facts)
            if moved:
                taken.add((trigger, before, table.phase))
            return moved

        table.phases.fire = spy  # type: ignore[method-assign]
        for seen in read(stream):
            table.feed(seen)
    assert taken == {(arc.trigger, arc.source, arc.dest) for arc in ARCS}


# What is written of it


def test_the_diagram_in_the_docs_is_the_generated_one() -> None:
    assert f"```mermaid\n{diagram()}\n```" in (ROOT / "docs" / "game.md").read_text(encoding="utf-8")


def test_the_round_in_the_docs_is_played_as_they_say() -> None:
    text = (ROOT / "docs" / "game.md").read_text(encoding="utf-8")
    seen, told = re.findall(r"```(?:jsonl|text)\n(.*?)```", text, re.DOTALL)
    table = Table(HOUSES["fr"])
    said = [notice for line in seen.splitlines() for notice in table.feed(decode(line))]
    assert [in_short(notice) for notice in said if isinstance(notice, Prompt)] == told.splitlines()


def in_short(prompt: Prompt) -> str:
    known = {"box": prompt.box, **prompt.operands}
    shown = [(key, known[key]) for key in ("box", "total", "actions", "amount") if known.get(key) is not None]
    return " ".join([prompt.code, *(f"{key}={','.join(it) if isinstance(it, tuple) else it}" for key, it in shown)])


def test_the_module_prints_the_diagram() -> None:
    done = subprocess.run([sys.executable, "-m", "tablectl.game.phases"], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == diagram() + "\n"
    assert done.stderr == ""


def test_the_diagram_shows_every_arc() -> None:
    for arc in ARCS:
        if "suspended" not in (arc.source, arc.dest):
            guard = f" [{arc.guard.__name__}]" if arc.guard else ""
            assert f"    {arc.source} --> {arc.dest}: {arc.trigger}{guard}\n" in diagram()
