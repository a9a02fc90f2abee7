"""Legal rounds with one error in them: whatever is done wrong at the table, the game must notice it, and name it.

Each class of errors is a function that takes a legal round (`tests/stories.py`) and gives what the devices report when that one
error is made, or None where this round has no place for it. With the class stands which alert may come first: its own name, or
one that cannot be told from it, with the reason. What comes after the first alert is not judged here: the game is suspended or
in a supervisor's hands.

`python -m tests.mutations --house fr --rounds 10000 --legal 100000` prints the table of classes, and looks for false alarms.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.mutations.judging import HEARINGS, HOUSES, false_alarms, run


def main(args: Sequence[str]) -> int:
    """Print the table of classes; 1 when an error was missed, misnamed, or seen where there was none."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description="Errors put into legal rounds, and found.")
    parser.add_argument("--house", action="append", choices=HOUSES, help="else all")
    parser.add_argument("--rounds", type=int, default=10_000, metavar="N", help="mutated rounds a house, over all classes")
    parser.add_argument("--legal", type=int, default=0, metavar="N", help="unmutated rounds a house, heard in each way")
    parser.add_argument("--only", nargs="+", default=(), metavar="CLASS", help="these classes alone")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(args)
    failed = False
    for house in given.house or HOUSES:
        tallies = run(house, given.rounds, seed=given.seed, only=given.only) if given.rounds else {}
        out = [f"{house:36} {'made':>7} {'detected':>9}  first alert"]
        for name, tally in tallies.items():
            first = ", ".join(f"{code} {count}" for code, count in tally.first.most_common())
            out.append(f"{name:36} {tally.made:7} {tally.detected:9}  {first}")
            out += tally.wrong
            failed |= bool(tally.wrong)
        made, seen = sum(one.made for one in tallies.values()), sum(one.detected for one in tallies.values())
        out.append(f"{'all':36} {made:7} {seen:9}")
        for hearing in HEARINGS if given.legal else ():
            alarms = false_alarms(house, given.legal, hearing, seed=given.seed)
            out.append(f"{given.legal} unmutated rounds, {hearing}: {len(alarms)} alerts")
            out += alarms[:5]
            failed |= bool(alarms)
        sys.stdout.write("\n".join(out) + "\n\n")
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
