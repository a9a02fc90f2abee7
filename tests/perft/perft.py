"""Perft: from a stated shoe, every legal way a round can go, counted ply by ply, and what the house wins over all of them.

A ply is an answer to the offer of insurance (nothing, the most, and where the house allows it half of that) or a decision; cards
are forced from the shoe. One wrong rule anywhere changes a count or a sum. The goldens are `HOUSE.toml` beside this file; their
counts do not come from the game but from `oracle.py`, which knows the house rules and nothing of the game.

    python -m tests.perft.perft            what the game counts, timed
    python -m tests.perft.perft --write    write the goldens anew, counted by the oracle (for a new shoe, depth or house rule)
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tablectl.cards import Card
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.notices import Alert, Dealt, Notice, RoundClosed
from tablectl.observations import Bet, CardDrawn, Decision, Insurance, NoMoreBets, ShoeLoaded
from tests.perft.oracle import HOUSES, Choice, Ending, Stakes, tree

__all__ = ["Fault", "Golden", "Visit", "goldens", "ready", "tally", "walk"]

FOLDER = Path(__file__).parent
HEADER = """\
# Perft of {house}: what can be chosen in these rounds, and what the house wins by it.
# stakes: box = amount; shoe: its first cards are the burn cards; ways: how many ways there are to make 0, 1, 2 ... choices;
# finished: in how many of them the round ends with the last choice; house_wins: the sum over these.
# Counted by the oracle, not by the game: python -m tests.perft.perft --write
"""


class Fault(AssertionError):
    """The table did not do what it said was due, or found fault with it."""


class Golden(NamedTuple):
    """One counted round.

    `ways[n]` is in how many ways `n` choices can be made, `finished[n]` in how many of them the round ends with the last of them,
    `house_wins[n]` what the house wins over these.
    """

    name: str
    stakes: Stakes
    shoe: list[str]
    depth: int
    ways: list[int]
    finished: list[int]
    house_wins: list[int]


Visit = Callable[[Table], None]
Node = tuple[list[Choice], Ending | tuple[Choice, ...]]


def ready(house: str, shoe: list[str], stakes: Stakes) -> Table:
    """A table whose shoe is loaded and burned and whose bets lie there. Raises `Fault` at any alert."""
    table = Table(_house(house))
    _quiet(table.feed(ShoeLoaded(decks=table.rules.decks, cut=True)))
    for box, amount in stakes.items():
        _quiet(table.feed(Bet(box=box, amount=amount)))
    for card in shoe[: table.rules.burn_cards]:
        _quiet(table.feed(CardDrawn(card=Card(card), to="burn")))
    _quiet(table.feed(NoMoreBets()))
    return table


@cache
def _house(name: str) -> rules.House:
    return rules.load(name).house


def walk(house: str, shoe: list[str], stakes: Stakes, depth: int, visit: Visit | None = None) -> Iterator[Node]:
    """Every way to come this far, as `oracle.tree` lists them, found by asking `Table.due` and feeding what it says.

    `visit` is called with the table wherever something is to be chosen, and may feed it what it likes. Raises `Fault` when
    following `due` is alerted, when nothing is due before the round is over, and when a card does not lie where it was due.
    """
    table = ready(house, shoe, stakes)
    cards = [Card(card) for card in shoe]

    def onward(script: list[Choice], drawn: int, closed: RoundClosed | None) -> Iterator[Node]:
        due = table.due()
        while closed is None and due.card is not None:
            said = _quiet(table.feed(CardDrawn(card=cards[drawn])))
            dealt = [notice.to for notice in said if isinstance(notice, Dealt)]
            if dealt != [due.card]:
                raise Fault(f"{script}: the card was due to {due.card} and went to {dealt}")
            drawn += 1
            closed, due = _closed(said), table.due()
        if closed is not None:
            yield script, Ending(closed.staked, closed.returned, closed.carried)
            return
        choices = tuple(_choices(table))
        if not choices:
            raise Fault(f"{script}: {table.phase}, and nothing is due")
        here = table.snapshot()
        if visit:
            visit(table)
        yield script, choices
        if len(script) == depth:
            return
        for choice in choices:
            table.restore(here)
            said = _quiet(table.feed(_observation(choice)))
            yield from onward([*script, choice], drawn, _closed(said))

    yield from onward([], table.rules.burn_cards, None)


def _choices(table: Table) -> Iterator[Choice]:
    due = table.due()
    if due.insurance:
        half = due.insurance.stake // 2
        amounts = (0, half) if table.rules.insurance_max == "exactly_half" else (0, half // 2, half)
        for amount in amounts:
            yield Choice(due.insurance.box, due.insurance.number, amount)
    if due.hand:
        for action in due.allowed:
            yield Choice(due.hand.box, due.hand.number, action)


def _observation(choice: Choice) -> Decision | Insurance:
    if isinstance(choice.word, int):
        return Insurance(box=choice.box, amount=choice.word)
    return Decision(box=choice.box, hand=choice.hand, action=choice.word)  # type: ignore[arg-type]


def _quiet(said: tuple[Notice, ...]) -> tuple[Notice, ...]:
    for notice in said:
        if isinstance(notice, Alert):
            raise Fault(f"{notice.code}: {notice.text}")
    return said


def _closed(said: Iterable[Notice]) -> RoundClosed | None:
    return next((notice for notice in said if isinstance(notice, RoundClosed)), None)


def tally(nodes: Iterable[Node], depth: int) -> tuple[list[int], list[int], list[int]]:
    """Count ways, finished rounds and the house's winnings by the number of choices made."""
    ways, finished, house_wins = [0] * (depth + 1), [0] * (depth + 1), [0] * (depth + 1)
    for script, end in nodes:
        made = len(script)
        ways[made] += 1
        if isinstance(end, Ending):
            finished[made] += 1
            house_wins[made] += end.house_wins
    return ways, finished, house_wins


def goldens(house: str) -> list[Golden]:
    """The counted rounds of a house."""
    with (FOLDER / f"{house}.toml").open("rb") as file:
        rounds: list[dict[str, Any]] = tomllib.load(file)["round"]
    return [
        Golden(
            round_["name"],
            {int(box): amount for box, amount in round_["stakes"].items()},
            round_["shoe"].split(),
            round_["depth"],
            round_["ways"],
            round_["finished"],
            round_["house_wins"],
        )
        for round_ in rounds
    ]


def write(house: str) -> None:
    """Count every round of a house's file anew with the oracle."""
    parts = [HEADER.format(house=house)]
    for golden in goldens(house):
        counts = tally(tree(HOUSES[house], golden.shoe, golden.stakes, golden.depth), golden.depth)
        stakes = ", ".join(f"{box} = {amount}" for box, amount in golden.stakes.items())
        shoe = "\n".join(" ".join(golden.shoe[at : at + 20]) for at in range(0, len(golden.shoe), 20))
        parts.append(
            f'[[round]]\nname = "{golden.name}"\nstakes = {{ {stakes} }}\nshoe = """\n{shoe}"""\ndepth = {golden.depth}\n'
            + "".join(f"{word} = {numbers}\n" for word, numbers in zip(("ways", "finished", "house_wins"), counts, strict=True))
        )
    (FOLDER / f"{house}.toml").write_text("\n".join(parts), encoding="utf-8")


def main() -> None:
    for house in HOUSES:
        if "--write" in sys.argv[1:]:
            write(house)
            continue
        for golden in goldens(house):
            begun = time.perf_counter()
            counts = tally(walk(house, golden.shoe, golden.stakes, golden.depth), golden.depth)
            seconds = time.perf_counter() - begun
            agree = counts == (golden.ways, golden.finished, golden.house_wins)
            print(f"{house}: {golden.name}: {sum(counts[0])} ways, {seconds:.1f} s, {'as' if agree else 'NOT AS'} in the golden")
            for made, (ways, finished, wins) in enumerate(zip(*counts, strict=True)):
                print(f"  {made:3} {ways:10} {finished:10} {wins:15}")


if __name__ == "__main__":
    main()
