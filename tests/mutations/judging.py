"""What the game says of mutated rounds, and of rounds that nobody mutated."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from msgspec.structs import replace

from tablectl.emulator.dealer import LegalPlay
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.notices import Alert
from tablectl.observations import CardDrawn, Decision, Observation, encode
from tests.mutations import cards_wrong, stakes_and_shoe_wrong, words_wrong
from tests.mutations.kinds import CLASSES, Mutated, Mutation
from tests.mutations.stories import Teller

__all__ = ["HEARINGS", "HOUSES", "SORTS", "Hearing", "Tally", "false_alarms", "run"]

HOUSES = ("fr", "es", "lt")
SORTS = (cards_wrong, words_wrong, stakes_and_shoe_wrong)
"""Where the classes are; importing them enters them into `CLASSES`."""


Hearing = Literal["plain", "placed", "cards_say_stand"]
"""Cards without places; cards with them; and such that a hand's stand is told only by the next card, which goes elsewhere."""

HEARINGS: tuple[Hearing, ...] = get_args(Hearing)


@dataclass
class Tally:
    """What became of a class: rounds mutated, errors noticed, the first alerts; and the first few rounds that went wrong."""

    made: int = 0
    detected: int = 0
    first: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def first_alert(table: Table, observations: Sequence[Observation]) -> tuple[str, int] | None:
    """The first alert of severity warning or critical, and the index of what raised it."""
    for index, observation in enumerate(observations):
        for notice in table.feed(observation):
            if isinstance(notice, Alert) and notice.severity != "info":
                return notice.code, index
    return None


def run(house: str, rounds: int, *, seed: int = 1, only: Sequence[str] = (), file: Path | None = None) -> dict[str, Tally]:
    """Mutate so many rounds of a house, the same number for each class, and judge what is said of them.

    `file` is a house file of the same rules, to be read in the place of the one that ships.
    """
    classes = [one for one in CLASSES if house in one.houses and (not only or one.name in only)]
    teller = Teller(str(file or house))
    tallies = {one.name: Tally() for one in classes}
    for one in classes:
        tally, rng = tallies[one.name], random.Random(f"{house} {one.name} {seed}")
        tries = 0
        while tally.made < -(-rounds // len(classes)):
            tries += 1
            if tries > 200 * (tally.made + 1):
                raise AssertionError(f"{house}: no round has a place for {one.name}")
            story = teller.tell(rng, one.manner)
            mutated = one.make(story, rng)
            if mutated is not None:
                _judge(one, teller.fresh(), mutated, tally)
    return tallies


def _judge(one: Mutation, table: Table, mutated: Mutated, tally: Tally) -> None:
    observations, begins = mutated
    tally.made += 1
    found = first_alert(table, observations)
    tally.first[found[0] if found else "none"] += 1
    if found and found[1] >= begins:
        tally.detected += 1
    if not found or found[0] not in one.first or found[1] < begins:
        tally.wrong.append(f"{one.name}: {found}, error at {begins}\n{_lines(observations)}")
        tally.wrong = sorted(tally.wrong, key=len)[:3]


def _lines(observations: Sequence[Observation]) -> str:
    return "\n".join(encode(replace(one, at=None)).decode() for one in observations)


class _Heard(LegalPlay):
    """Legal play, and what a table says that hears of it what the devices of a `Hearing` report."""

    def alarms(self, hearing: Hearing) -> Iterator[str]:
        """What was raised, though nobody did anything wrong."""
        heard, stands = Table(self.table.house), list[Observation]()
        for observation in self._session():
            timed = self._stamped(observation)
            if isinstance(timed, CardDrawn) and hearing != "plain":
                timed = replace(timed, to=self.table.due().card)
            self.table.feed(timed)
            if hearing == "cards_say_stand" and isinstance(timed, Decision) and timed.action == "stand":
                stands.append(timed)
                continue
            told = [timed] if isinstance(timed, CardDrawn) else [*stands, timed]
            stands = []
            for one in told:
                for notice in heard.feed(one):
                    if isinstance(notice, Alert) and notice.severity != "info":
                        yield f"round {notice.round}: {notice.code} {encode(one).decode()}"
        assert heard.phase == self.table.phase
        assert heard.round.number == self.table.round.number


def false_alarms(house: str, rounds: int, hearing: Hearing, *, seed: int = 1) -> list[str]:
    """The alerts of severity warning or critical in so many rounds that nobody mutated."""
    begins = "2027-03-01T20:00:00.000000Z"
    loaded = rules.load(house).house
    play = _Heard(loaded, seed=seed, rounds=rounds, boxes=(loaded.rules.min_boxes, 7), begins=begins)
    return list(play.alarms(hearing))
