"""How long it took until somebody ruled: times that are counted, and how they are written as exact decimal text."""

from __future__ import annotations

from array import array
from bisect import bisect_left

__all__ = ["BOUNDS", "SECOND", "Answers", "decimal"]

SECOND = 1_000_000
"""Microseconds in a second."""

BOUNDS = (5, 10, 30, 60, 120, 300, 600, 1800)
"""The upper bounds, in seconds, of the classes in which the times to a ruling are counted; one more class is above them all."""


class Answers:
    """The times from alerts to the rulings or acknowledgements that ended them, in microseconds.

    `count` counts all, those without times as well; `timed`, `total` and `largest` those with times; `classes` how many fell
    into each class of `BOUNDS`. Each time is kept for the median only where `exact`: eight bytes each.
    """

    def __init__(self, *, exact: bool = True) -> None:
        self.count = 0
        self.timed = 0
        self.total = 0
        self.largest: int | None = None
        self.classes = [0] * (len(BOUNDS) + 1)
        self._times = array("q") if exact else None

    def add(self, micros: int | None) -> None:
        """One alert was ended, so long after it was raised; None where no time is known."""
        self.count += 1
        if micros is None:
            return
        self.timed += 1
        self.total += micros
        self.largest = micros if self.largest is None else max(self.largest, micros)
        self.classes[bisect_left(BOUNDS, -(-micros // SECOND))] += 1
        if self._times is not None:
            self._times.append(micros)

    @property
    def median(self) -> int | None:
        """The middle one; of an even number the mean of the middle two, rounded down. None without times, or not `exact`."""
        if not self._times:
            return None
        times = sorted(self._times)
        middle = len(times) // 2
        return times[middle] if len(times) % 2 else (times[middle - 1] + times[middle]) // 2


def decimal(number: int, by: int, places: int) -> str:
    """`number` divided `by` something above 0, rounded half away from zero, and so many decimal places cut off it as text.

    `decimal(12345, 1, 2)` is `123.45`.
    """
    whole = (2 * abs(number) + by) // (2 * by)
    sign = "-" if number < 0 and whole else ""
    return f"{sign}{whole // 10**places}.{whole % 10**places:0{places}d}"
