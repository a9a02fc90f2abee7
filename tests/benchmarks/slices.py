"""Measuring several things side by side: many short slices of each in turn, in processor time.

A shared machine is faster now and slower then. What is compared here ran within the same hundredth of a second, so a ratio holds
where a rate alone would not.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from time import process_time

__all__ = ["Rates", "alternate", "ratio", "summary"]

Work = Callable[[], Callable[[], int]]
"""Prepares one slice, which is not measured, and gives the slice itself, which tells how many units it did."""

Rates = dict[str, list[float]]
"""Units per second of each side, turn by turn."""


def alternate(sides: Mapping[str, Work], turns: int, slices: int) -> Rates:
    """Run a slice of each side in turn, `slices` times over, and note the rates; and that `turns` times.

    A first turn is not counted: caches fill, and so do those of the processor.
    """
    rates: Rates = {name: [] for name in sides}
    for turn in range(turns + 1):
        units = dict.fromkeys(sides, 0)
        took = dict.fromkeys(sides, 0.0)
        for _ in range(slices):
            for name, prepare in sides.items():
                work = prepare()
                began = process_time()
                units[name] += work()
                took[name] += process_time() - began
        for name in sides if turn else ():
            rates[name].append(units[name] / max(took[name], 1e-9))
    return rates


def ratio(rates: Rates, side: str, to: str) -> dict[str, float]:
    """One side's rate divided by another's of the same turn: the median, the least and the most."""
    found = [ours / theirs for ours, theirs in zip(rates[side], rates[to], strict=True)]
    return {"median": rounded(statistics.median(found)), "min": rounded(min(found)), "max": rounded(max(found))}


def summary(rates: Rates, side: str) -> float:
    """One side's rate: the median of its turns."""
    return rounded(statistics.median(rates[side]))


def rounded(value: float) -> float:
    """Four digits: more would pretend."""
    return float(f"{value:.4g}")
