"""The outlines that a playing card's index and pips are drawn from: of the ranks a font's, of the suits curves of our own.

The package ships a few sets of outlines (`shipped_glyphs`), so that nothing needs a font at run time; the training makes many
more from free fonts.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Suit

__all__ = ["Glyphs", "Points", "shipped_glyphs", "suit_outline"]

Points = NDArray[np.float64]
Glyphs = dict[str, list[Points]]
"""Outlines by character (`A` to `K`, `0` to `9`, perhaps the suits as `C D H S`): y down, capitals from 0 to 1, x from 0."""

SHIPPED = Path(__file__).parent / "glyphs.json"


@cache
def shipped_glyphs() -> tuple[Glyphs, ...]:
    """The sets of outlines that come with the package."""
    sets = json.loads(SHIPPED.read_text("ascii"))
    return tuple({name: [np.array(line, float) / 1000 for line in lines] for name, lines in glyphs.items()} for glyphs in sets)


@cache
def suit_outline(suit: Suit, plump: float) -> tuple[Points, ...]:
    """The curves of a suit in a box 1 high, x about 0, y from 0 to 1; `plump` from 0 (lean) to 1."""
    turn = np.linspace(0, 2 * np.pi, 48)
    if suit is Suit.DIAMONDS:
        hollow = 0.10 * (1 - plump)  # lean ones have hollow sides
        wide = 0.36 + 0.08 * plump
        corners = np.array([(0, 0), (wide, 0.5), (0, 1), (-wide, 0.5)])
        return (np.concatenate([_bent(corners[i], corners[(i + 1) % 4], (0, 0.5), hollow) for i in range(4)]),)
    if suit is Suit.CLUBS:
        size = 0.22 + 0.035 * plump
        lobes = [(0, size), (-0.255, 0.55), (0.255, 0.55)]
        circles = [np.stack([x + size * np.cos(turn), y + size * np.sin(turn)], 1) for x, y in lobes]
        middle = np.array([(-0.12, 0.35), (0.12, 0.35), (0.12, 0.6), (-0.12, 0.6)])
        return (*circles, middle, _stem(0.16 + 0.05 * plump))
    heart = _heart(plump)
    if suit is Suit.HEARTS:
        return (heart,)
    spade = np.stack([heart[:, 0], (1 - heart[:, 1]) * 0.86], 1)
    return (spade, _stem(0.15 + 0.06 * plump))


def _bent(start: Points, end: Points, towards: tuple[float, float], by: float) -> Points:
    """A line from `start` to `end`, its middle drawn `by` of the way to a point."""
    t = np.linspace(0, 1, 10)[:, None]
    bow = np.array(towards) - (start + end) / 2
    return start + (end - start) * t + bow * (4 * t * (1 - t) * by * 2)


def _heart(plump: float) -> Points:
    """A heart of two lobes that run to a point."""
    t = np.linspace(0, 2 * np.pi, 80)
    x = np.sin(t) ** 3
    y = -(13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) / 16
    y = (y - y.min()) / (y.max() - y.min())
    return np.stack([x * (0.43 + 0.09 * plump), y], 1)


def _stem(half: float) -> Points:
    """The foot of spade and club."""
    t = np.linspace(0, 1, 10)
    side = np.stack([0.03 + (half - 0.03) * t**2, 0.5 + 0.5 * t], 1)
    return np.concatenate([side, side[::-1] * (-1, 1)])
