"""How often the test for an unshuffled shoe cries wolf, and how often it sees the wolf: `python -m tests.shuffle_power`.

The table in docs/shuffle-test.md is what this prints. The same numbers come as JSON on the last line.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from tablectl.cards import PACK
from tablectl.game.shuffle import LIMIT, judge

Cards = list[int]
DRAWN = (26, 52, 104, 156, 208, 234)
"""After how many cards the power is told; 234 of 312 is where a cut card lies as a rule."""

SUITS = [list(range(first, first + 13)) for first in (0, 13, 26, 39)]


def as_printed() -> Cards:
    """A new pack with every suit from ace to king."""
    return [card for suit in SUITS for card in suit]


def mirrored() -> Cards:
    """A new pack as others print it: two suits from ace to king, two from king to ace."""
    clubs, diamonds, hearts, spades = SUITS
    return spades + diamonds + clubs[::-1] + hearts[::-1]


def riffled(cards: Sequence[int], rng: Random, times: int = 1) -> Cards:
    """Riffled as Gilbert, Shannon and Reeds have it: cut about the middle; a half lets fall a card as likely as it is thick."""
    fallen = list(cards)
    for _ in range(times):
        at = rng.getrandbits(len(fallen)).bit_count()
        left, right, fallen = fallen[:at][::-1], fallen[at:][::-1], []
        while left or right:
            half = left if rng.random() * (len(left) + len(right)) < len(left) else right
            fallen.append(half.pop())
    return fallen


def cut(cards: Sequence[int], rng: Random) -> Cards:
    """Cut anywhere, as a player may."""
    at = rng.randrange(len(cards))
    return [*cards[at:], *cards[:at]]


def shuffled(cards: Sequence[int], rng: Random) -> Cards:
    """In an order as likely as any other (Fisher and Yates)."""
    mixed = list(cards)
    rng.shuffle(mixed)
    return mixed


def by_rank(rng: Random) -> Cards:
    """A pack sorted by rank: four aces, four twos, and so on."""
    return [card for rank in zip(*SUITS, strict=True) for card in shuffled(rank, rng)]


def random_shoe(rng: Random, decks: int) -> Cards:
    """A shoe that was shuffled."""
    return shuffled(as_printed() * decks, rng)


def new_packs(rng: Random, decks: int) -> Cards:
    """New packs, put together."""
    return cut(mirrored() * decks, rng)


def new_packs_riffled(rng: Random, decks: int, times: int) -> Cards:
    """New packs put together, and the whole riffled."""
    return cut(riffled(mirrored() * decks, rng, times), rng)


def each_riffled(rng: Random, decks: int, times: int) -> Cards:
    """New packs, each riffled, then stacked."""
    return cut([card for _ in range(decks) for card in riffled(mirrored(), rng, times)], rng)


def stacked(rng: Random, decks: int) -> Cards:
    """Packs each well shuffled, then stacked."""
    return cut([card for _ in range(decks) for card in shuffled(as_printed(), rng)], rng)


def stacked_riffled(rng: Random, decks: int, times: int) -> Cards:
    """Packs each well shuffled, stacked, and the whole riffled."""
    return cut(riffled(stacked(rng, decks), rng, times), rng)


def one_slipped_in(rng: Random, decks: int, times: int) -> Cards:
    """One new pack, riffled or not, in one piece somewhere among packs well shuffled."""
    others = shuffled(as_printed() * (decks - 1), rng)
    at = rng.randrange(len(others) + 1)
    return cut(others[:at] + riffled(mirrored(), rng, times) + others[at:], rng)


def sorted_by_rank(rng: Random, decks: int, times: int) -> Cards:
    """Packs each sorted by rank, put together, and the whole riffled or not."""
    return cut(riffled([card for _ in range(decks) for card in by_rank(rng)], rng, times), rng)


def played(rng: Random, decks: int, times: int) -> Cards:
    """A shuffled shoe dealt to five boxes and a dealer who all draw to 17, its cards taken up in order of play, riffled or not.

    Who is bust is taken up at once, the others at the end of the round, the dealer last; what was not dealt goes on top.
    """
    shoe = random_shoe(rng, decks)[::-1]
    behind, discards = len(shoe) // 4, [shoe.pop()]
    while len(shoe) > behind:
        hands = [[shoe.pop()] for _ in range(6)]
        for hand in hands[:5]:
            hand.append(shoe.pop())
        for hand in hands:
            while total(hand) < 17 and shoe:
                hand.append(shoe.pop())
        bust = [hand for hand in hands[:5] if total(hand) > 21]
        stood = [hand for hand in hands[:5] if total(hand) <= 21]
        discards += [card for hand in (*bust, *stood, hands[5]) for card in hand]
    return cut(riffled(discards + shoe[::-1], rng, times), rng)


def total(hand: Sequence[int]) -> int:
    """As blackjack counts."""
    hard = sum(PACK[card].points for card in hand)
    return hard + 10 if hard <= 11 and any(card % 13 == 0 for card in hand) else hard


SHOES: dict[str, Callable[[Random, int], Cards]] = {
    "new packs in order": new_packs,
    "new packs, 1 riffle of the whole": lambda rng, decks: new_packs_riffled(rng, decks, 1),
    "new packs, 2 riffles of the whole": lambda rng, decks: new_packs_riffled(rng, decks, 2),
    "new packs, 3 riffles of the whole": lambda rng, decks: new_packs_riffled(rng, decks, 3),
    "new packs, 4 riffles of the whole": lambda rng, decks: new_packs_riffled(rng, decks, 4),
    "new packs, 5 riffles of the whole": lambda rng, decks: new_packs_riffled(rng, decks, 5),
    "new packs, each riffled once, stacked": lambda rng, decks: each_riffled(rng, decks, 1),
    "new packs, each riffled twice, stacked": lambda rng, decks: each_riffled(rng, decks, 2),
    "new packs, each riffled 7 times, stacked": lambda rng, decks: each_riffled(rng, decks, 7),
    "packs well shuffled, stacked": stacked,
    "the same, 1 riffle of the whole": lambda rng, decks: stacked_riffled(rng, decks, 1),
    "the same, 2 riffles of the whole": lambda rng, decks: stacked_riffled(rng, decks, 2),
    "one new pack slipped in, in order": lambda rng, decks: one_slipped_in(rng, decks, 0),
    "one new pack slipped in, riffled once": lambda rng, decks: one_slipped_in(rng, decks, 1),
    "sorted by rank": lambda rng, decks: sorted_by_rank(rng, decks, 0),
    "sorted by rank, 1 riffle of the whole": lambda rng, decks: sorted_by_rank(rng, decks, 1),
    "sorted by rank, 2 riffles of the whole": lambda rng, decks: sorted_by_rank(rng, decks, 2),
    "a used shoe in order of play": lambda rng, decks: played(rng, decks, 0),
    "a used shoe, 1 riffle of the whole": lambda rng, decks: played(rng, decks, 1),
}
"""The ways not to shuffle a shoe."""


class Power(NamedTuple):
    """Of how many shoes which part was told after so many cards (and at the end), and by which tests."""

    shoes: int
    told: dict[int, float]
    tests: dict[str, int]


def power(kind: str, shoes: int, decks: int, seed: str) -> Power:
    """The power against one way not to shuffle."""
    rng = Random(f"{seed} {kind}")
    found = [finding for _ in range(shoes) if (finding := judge(bytes(SHOES[kind](rng, decks)), decks))]
    ends = [*(drawn for drawn in DRAWN if drawn < 52 * decks), 52 * decks]
    told = {end: sum(finding.drawn <= end for finding in found) / shoes for end in ends}
    return Power(shoes, told, dict(Counter(finding.test for finding in found).most_common()))


def false_alarms(shoes: int, decks: int, seed: str) -> int:
    """In how many of so many shuffled shoes, each dealt to its last card, an alarm is raised at any look."""
    rng = Random(f"{seed} shuffled")
    return sum(judge(bytes(random_shoe(rng, decks)), decks) is not None for _ in range(shoes))


def at_most(alarms: int, shoes: int) -> float:
    """The greatest rate that so few alarms leave possible, with 95 % confidence (exact for the Poisson distribution)."""
    low, high = 0.0, 10.0 + 3.0 * alarms
    for _ in range(60):
        mean = (low + high) / 2
        so_few = sum(math.exp(-mean) * mean**count / math.factorial(count) for count in range(alarms + 1))
        low, high = (mean, high) if so_few > 0.05 else (low, mean)
    return high / shoes


def percent(part: float) -> str:
    """Rounded, but never up to all or down to none."""
    return f"{part:.0%}" if part in (0, 1) else f"{part:.2%}"


def main() -> None:
    """Measure, and print."""
    options = argparse.ArgumentParser(prog="python -m tests.shuffle_power", description=__doc__)
    options.add_argument("--decks", type=int, default=6, help="packs in the shoe")
    options.add_argument("--random", type=int, default=100_000, help="shuffled shoes, over all seeds")
    options.add_argument("--shoes", type=int, default=2_000, help="shoes of each other kind")
    options.add_argument("--seeds", nargs="+", default=["1", "2", "3", "4"], help="the power is measured with the first")
    asked = options.parse_args()
    decks, each = asked.decks, asked.random // len(asked.seeds)

    began = time.process_time()
    alarms = {seed: false_alarms(each, decks, seed) for seed in asked.seeds}
    judged, raised = each * len(alarms), sum(alarms.values())
    milliseconds = (time.process_time() - began) * 1000 / max(1, judged)
    limits = (
        f"proved: at most {1 / LIMIT:.0e} a shoe; measured: at most {at_most(raised, max(1, judged)):.1e}, with 95 % confidence"
    )
    print(
        f"{decks} packs, {judged} shuffled shoes: {raised} false alarms ({limits}); {milliseconds:.1f} ms to make and judge one\n"
    )

    powers = {kind: power(kind, asked.shoes, decks, asked.seeds[0]) for kind in SHOES}
    ends = list(next(iter(powers.values())).told)
    print(f"| told, of {asked.shoes} shoes, after cards | {' | '.join(str(end) for end in ends)} | as |")
    print("|---|" + "---:|" * len(ends) + "---|")
    for kind, measured in powers.items():
        tests = ", ".join(
            f"{test} {count / asked.shoes:.0%}" for test, count in measured.tests.items() if count >= asked.shoes / 200
        )
        print(f"| {kind} | {' | '.join(percent(part) for part in measured.told.values())} | {tests} |", flush=True)
    alarm = {
        "shoes": judged,
        "alarms": raised,
        "by_seed": alarms,
        "rate_proved": 1 / LIMIT,
        "rate_95": at_most(raised, max(1, judged)),
    }
    told = {kind: {"told": measured.told, "tests": measured.tests} for kind, measured in powers.items()}
    print("\n" + json.dumps({"decks": decks, "false_alarms": alarm, "shoes_of_each_kind": asked.shoes, "power": told}))


if __name__ == "__main__":
    main()
