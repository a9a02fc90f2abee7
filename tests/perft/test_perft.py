"""Perft: every way a round can go, by the game and by an oracle that knows only the house rules; and `due` at every turn."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tablectl.cards import PACK, Card
from tablectl.game.table import Table
from tablectl.notices import Alert, Dealt
from tablectl.observations import CardDrawn, Decision
from tablectl.places import BoxPlace
from tests.perft.oracle import HOUSES, Choice, Ending, Stakes, tree
from tests.perft.perft import Fault, Golden, goldens, tally, walk

COUNTED = [pytest.param(house, golden, id=f"{house}-{golden.name}") for house in HOUSES for golden in goldens(house)]
every_counted_round = pytest.mark.parametrize(("house", "golden"), COUNTED)


@every_counted_round
def test_the_game_counts_what_the_golden_says(house: str, golden: Golden) -> None:
    counts = tally(walk(house, golden.shoe, golden.stakes, golden.depth), golden.depth)
    assert counts == (golden.ways, golden.finished, golden.house_wins)


@every_counted_round
def test_the_golden_is_the_oracles(house: str, golden: Golden) -> None:
    depth = min(golden.depth, 7)
    ways, finished, house_wins = tally(tree(HOUSES[house], golden.shoe, golden.stakes, depth), depth)
    assert (ways, finished, house_wins) == (
        golden.ways[: depth + 1],
        golden.finished[: depth + 1],
        golden.house_wins[: depth + 1],
    )


@pytest.mark.slow
@every_counted_round
def test_the_whole_golden_is_the_oracles(house: str, golden: Golden) -> None:
    counts = tally(tree(HOUSES[house], golden.shoe, golden.stakes, golden.depth), golden.depth)
    assert counts == (golden.ways, golden.finished, golden.house_wins)


# The game and the oracle, turn by turn: who is asked, what may be chosen, and what each finished round pays.


@every_counted_round
def test_game_and_oracle_agree_turn_by_turn(house: str, golden: Golden) -> None:
    assert_agree(house, golden.shoe, golden.stakes, min(golden.depth, 5))


@pytest.mark.parametrize("thirty", range(10))
def test_game_and_oracle_agree_on_random_shoes(thirty: int) -> None:
    for seed in range(30 * thirty, 30 * thirty + 30):
        assert_agree(*random_round(seed), 4)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(50))
def test_game_and_oracle_agree_on_thousands_of_random_shoes(hundred: int) -> None:
    for seed in range(1000 + 100 * hundred, 1100 + 100 * hundred):
        assert_agree(*random_round(seed), 6)


def assert_agree(house: str, shoe: list[str], stakes: Stakes, depth: int) -> None:
    mine = walk(house, shoe, stakes, depth)
    for expected in tree(HOUSES[house], shoe, stakes, depth):
        try:
            found = next(mine, None)
        except Fault as fault:
            found = None
            pytest.fail(f"{house} {stakes} {' '.join(shoe)}\n{expected}\n{fault}")
        assert found == expected, f"{house} {stakes} {' '.join(shoe)}"
    assert next(mine, None) is None


RANKS = ("A23456789TJQK", "A8TJ", "AT", "A89T5", "AATTJQK9", "8888T5A3", "AAA9T2", "2345A", "6789TK")
"""What these shoes are made of: whole packs, and packs of those ranks that make pairs, blackjacks, insurance and long hands."""


def random_round(seed: int) -> tuple[str, list[str], Stakes]:
    chance = random.Random(seed)
    house = chance.choice(list(HOUSES))
    ranks = chance.choice(RANKS)
    shoe = [str(card) for card in PACK for _ in range(6) if card[0] in ranks]
    chance.shuffle(shoe)
    boxes = chance.sample(range(1, 8), chance.randint(2 if house == "fr" else 1, 3))
    return house, shoe[:80], {box: chance.choice((1000, 1001, 105, 333, 2500)) for box in sorted(boxes)}


def test_everything_occurs_in_the_random_shoes() -> None:
    """What the comparison is worth: each kind of choice and each ending that a house knows was among what was compared."""
    seen: dict[str, Counter[str]] = {house: Counter() for house in HOUSES}
    for seed in range(300):
        house, shoe, stakes = random_round(seed)
        for script, end in tree(HOUSES[house], shoe, stakes, 4):
            if isinstance(end, Ending):
                seen[house].update(kinds(script, end, stakes))
    common = {"hit", "stand", "double", "split", "split twice", "double after split", "insured", "declined", "half insured"}
    assert common - {"half insured"} | {"carried"} == set(seen["fr"])
    assert common == set(seen["es"])
    assert common | {"surrender"} == set(seen["lt"])
    assert min(count for counts in seen.values() for count in counts.values()) >= 3


def kinds(script: list[Choice], end: Ending, stakes: Stakes) -> set[str]:
    words = Counter(choice.word for choice in script if isinstance(choice.word, str))
    found = set(words)
    if words["split"] > 1:
        found.add("split twice")
    first_split = next((at for at, choice in enumerate(script) if choice.word == "split"), len(script))
    if any(choice.word == "double" and choice.box == script[first_split].box for choice in script[first_split:]):
        found.add("double after split")
    for choice in script:
        if isinstance(choice.word, int):
            half = stakes[choice.box] // 2
            found.add({0: "declined", half: "insured"}.get(choice.word, "half insured"))
    if end.carried:
        found.add("carried")
    return found


# `due` is what the table does


@every_counted_round
def test_due_says_what_the_table_does(house: str, golden: Golden) -> None:
    assert sum(1 for _ in walk(house, golden.shoe, golden.stakes, min(golden.depth, 4), hold_due_against_table)) > 5


@pytest.mark.slow
@every_counted_round
def test_due_says_what_the_table_does_everywhere(house: str, golden: Golden) -> None:
    assert sum(1 for _ in walk(house, golden.shoe, golden.stakes, golden.depth, hold_due_against_table)) > 5


def hold_due_against_table(table: Table) -> None:
    """Each of the five actions as a decision is alerted exactly when `due` refuses it, and by the rule that it names."""
    here, due = table.snapshot(), table.due()
    assert due.card is None
    if due.insurance:
        assert due.hand is None
        for action in ("hit", "stand", "double", "split", "surrender"):
            alert = alerted(table, here, Decision(box=due.insurance.box, action=action))
            assert (alert.code, alert.box, alert.rule) == ("insurance.not_offered", due.insurance.box, "R18")
        return
    assert due.hand is not None
    box, hand = due.hand.box, due.hand.number
    assert set(due.actions) == {"hit", "stand", "double", "split", "surrender"}
    for action, refusal in due.actions.items():
        for named in (hand, None):
            decision = Decision(box=box, hand=named, action=action)
            if refusal is None:
                table.restore(here)
                assert not [notice for notice in table.feed(decision) if isinstance(notice, Alert)]
            else:
                alert = alerted(table, here, decision)
                assert (alert.code, alert.box, alert.hand) == (f"action.illegal_{action}", box, hand)
                assert alert.rule == refusal.rule
                assert alert.cards == due.hand.cards
                assert table.due() == due, "a refused decision leaves the hand as it was"
        for other in {hand.box for hand in table.round.hands} - {box}:
            if action != "stand":
                assert alerted(table, here, Decision(box=other, action=action)).code == "action.out_of_turn"
    table.restore(here)
    said = table.feed(CardDrawn(card=Card.C2))
    assert [notice.to for notice in said if isinstance(notice, Dealt)] == [BoxPlace(box, hand)], "a plain card is a hit"


def alerted(table: Table, here: Any, decision: Decision) -> Alert:
    """The one alert that a decision raises, from here."""
    table.restore(here)
    alerts = [notice for notice in table.feed(decision) if isinstance(notice, Alert)]
    assert len(alerts) == 1, (decision, alerts)
    return alerts[0]
