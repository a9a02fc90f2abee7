"""Following what stands in a stake circle: it counts, as a card does, once it stood the same long enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablectl.felt.sighting import SeenStake, StakeSeen
from tablectl.places import Box

__all__ = ["Stake", "alike"]

STANDS: Final = 500_000
"""Microseconds that chips stand the same before they count."""
UNLIKE: Final = 0.25
"""How far two fingerprints of one stack are apart at the most, in all."""


class Stake:
    """One stake circle: what it was settled to be, and what it may become."""

    def __init__(self, box: Box) -> None:
        self._known = SeenStake(box, occupied=False)
        self._maybe = self._known
        self._last: int | None = None
        self._first = 0

    def feed(self, seen: SeenStake, at: int) -> Iterator[StakeSeen]:
        """Take in what is seen of it at a time (microseconds since 1970); gives what that completes."""
        if alike(seen, self._known):
            self._maybe, self._last = self._known, at
        elif not alike(seen, self._maybe):
            self._maybe, self._first = seen, at
        elif at - self._first >= STANDS:
            before, self._known = self._known, self._maybe
            last, self._last = self._last, at
            if before.occupied and seen.occupied:
                yield StakeSeen(seen.box, "changed", last, self._first)
            else:
                yield StakeSeen(seen.box, "occupied" if seen.occupied else "emptied", last, self._first)


def alike(one: SeenStake, other: SeenStake) -> bool:
    """Whether two sightings are of the same chips, as far as their colours tell."""
    if one.occupied != other.occupied:
        return False
    if not one.occupied or one.colours == other.colours or len(one.colours) != len(other.colours):
        return True
    return sum(abs(mine - its) for mine, its in zip(one.colours, other.colours, strict=True)) <= UNLIKE
