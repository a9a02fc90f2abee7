"""Turn: a table that is killed while one gaming day's ledger ends and the next one begins has both whole, or the old one alone.

`python -m tests.live.turn --runs 16` kills at random moments around the first sign of the new ledger, and prints figures.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.live.clock import clocked
from tests.live.kill import cards_in_recordings
from tests.live.running import assert_told, assert_whole, cards, ledgers, until

__all__ = ["Turned", "killed_at_the_turn"]

DAY = 86400
LATEST = 0.15
"""Seconds after the first sign of a new ledger, in which its making falls."""


class Turned(NamedTuple):
    """What was seen: `made` is how many of the kills came after the new ledger had its name."""

    runs: int
    made: int
    ledgers: int
    recorded: int
    kept: int
    entries: int
    notices: int

    def lines(self) -> Iterator[str]:
        """The figures."""
        yield f"killed at the day's turn     {self.runs} times; the new ledger was there {self.made} times, else made next"
        yield f"cards whole in a recording   {self.recorded}; in the {self.ledgers} ledgers {self.kept}, each once, in order"
        yield f"ledger entries               {self.entries}, rebuilt to the same heads; {self.notices} notices heard once by id"


def killed_at_the_turn(folder: Path, runs: int, seed: int) -> Turned:
    """Kill a table at the turn of so many days. An `AssertionError` says what was not as it must be."""
    draw, made = random.Random(seed), 0
    with clocked(folder, seed=seed) as (stage, set_back):
        for run in range(runs):
            stage.begin()
            stage.emulated.run(1)
            before, there = len(ledgers(stage.file)), _files(folder)
            set_back(-DAY * (run + 1))
            until(partial(_more, folder, there), 30, "the next day's ledger")
            time.sleep(draw.uniform(0, LATEST))
            stage.program.kill()
            made += len(ledgers(stage.file)) > before
        stage.begin()
        stage.emulated.run(1)
        assert stage.program.stop() == 0, stage.program.log()
        found, recorded = cards(stage.file), cards_in_recordings(stage.file, "bee-tek")
        assert found == recorded
        count = len(ledgers(stage.file))
        assert count in (runs, runs + 1)
        told = assert_told(stage.file, stage.subscriber, 60)
        return Turned(runs, made, count, len(recorded), len(found), assert_whole(stage.file), told)


def _more(folder: Path, there: int) -> bool:
    return _files(folder) > there


def _files(folder: Path) -> int:
    return sum(path.name.endswith((".db", ".making")) for path in (folder / "store/ledger").iterdir())


def main() -> int:
    """Kill, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.turn", description=__doc__)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tablectl-turn-") as folder:
        print("\n".join(killed_at_the_turn(Path(folder), given.runs, given.seed).lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
