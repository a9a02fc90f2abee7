"""Which indices belong to one card, and where that card lies.

A card has an index at its upper left and the same, upside down, at its lower right; some decks have all four corners. Of fanned
cards often one alone shows. Two indices are joined when they say the same card, are upside down to each other, and stand as far
apart as a card has them: measured in millimetres where the scale is known, else in heights of the index, which is 11 to 35 mm
high.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.find import Corner

__all__ = ["CARD", "Joined", "join"]

CARD = (63.0, 88.0)  # mm
TOP = 4.0  # mm from a card's upper edge to its index
USUAL = 16.0  # mm: the height of an index, where nothing better is known


class Joined(NamedTuple):
    """A card: which of the told corners (their places) it was joined from, its corners, and its outline in pixels."""

    card: Card
    places: tuple[int, ...]
    corners: tuple[Corner, ...]
    polygon: tuple[tuple[float, float], ...]


def join(told: list[tuple[Corner, Card]], unsure: list[Corner], px_per_mm: float | None) -> list[Joined]:
    """Cards out of corners that were told, and `??` out of those that were not and are no other end of a told card."""
    pairs = []
    for i, (one, card) in enumerate(told):
        for j in range(i + 1, len(told)):
            other, same = told[j]
            if same is card:
                fit = _opposite(one, other, px_per_mm)
                if fit is not None:
                    pairs.append((fit, i, j))
    groups = _grouped(pairs, len(told))
    high = _index_height([[told[i][0] for i in group] for group in groups], px_per_mm)
    made = []
    for group in groups:
        corners = tuple(told[i][0] for i in group)
        made.append(Joined(told[group[0]][1], tuple(group), corners, _outline(corners, high, px_per_mm)))
    for corner in unsure:
        if not any(_opposite(corner, other, px_per_mm) is not None for other, _ in told) and not any(
            _in(corner, known) for known in made
        ):
            made.append(Joined(Card.UNREAD, (), (corner,), _outline((corner,), high, px_per_mm)))
    return made


def _offset(one: Corner, other: Corner) -> tuple[float, float]:
    """Where the other index stands as the first one sees it: to its right, and below it, in pixels."""
    dx, dy = other.x - one.x, other.y - one.y
    return -dx * one.up[1] + dy * one.up[0], -dx * one.up[0] - dy * one.up[1]


def _opposite(one: Corner, other: Corner, px_per_mm: float | None) -> float | None:
    """How badly two indices fit as both ends of one card (0 is well); None where they do not."""
    against = one.up[0] * other.up[0] + one.up[1] * other.up[1]
    if against > -0.9 or not 0.6 < one.height / other.height < 1.67:
        return None
    first, second = _offset(one, other), _offset(other, one)
    right, below = (first[0] + second[0]) / 2, (first[1] + second[1]) / 2
    if right <= 0 or below <= 0:
        return None
    height = (one.height + other.height) / 2
    if px_per_mm is not None:
        right, below, height = right / px_per_mm, below / px_per_mm, height / px_per_mm
    else:
        scale = (below + height) / (CARD[1] - 2 * TOP)
        right, below, height = right / scale, below / scale, height / scale
    if not (30 < right < 62 and 38 < below < 82 and 8 < height < 42):
        return None
    return abs(below + height - (CARD[1] - 2 * TOP)) / 10 + abs(right - 50) / 10 + (1 + against) * 5


def _grouped(pairs: list[tuple[float, int, int]], count: int) -> list[list[int]]:
    """Corners by card: the best pairs first, each corner in one; two pairs about one middle are a card with four indices."""
    taken: dict[int, list[int]] = {}
    groups: list[list[int]] = []
    for _, i, j in sorted(pairs):
        if i in taken or j in taken:
            continue
        group = [i, j]
        groups.append(group)
        taken[i] = taken[j] = group
    groups += [[i] for i in range(count) if i not in taken]
    return groups


def _index_height(groups: list[list[Corner]], px_per_mm: float | None) -> float:
    """The height of this deck's index in mm: from the cards that show both ends, else the usual."""
    if px_per_mm is not None:
        heights = [corner.height / px_per_mm for group in groups for corner in group]
    else:
        heights = []
        for group in groups:
            if len(group) == 2:
                height = (group[0].height + group[1].height) / 2
                below = (_offset(group[0], group[1])[1] + _offset(group[1], group[0])[1]) / 2
                heights.append(height * (CARD[1] - 2 * TOP) / (below + height))
    return float(np.median(heights)) if heights else USUAL


def _outline(corners: tuple[Corner, ...], index_height: float, px_per_mm: float | None) -> tuple[tuple[float, float], ...]:
    """Where a card's four corners should be, in pixels, from its upper left clockwise."""
    one = corners[0]
    up = np.array(one.up)
    if len(corners) >= 2:
        other = corners[1]
        up = up - np.array(other.up)
        up /= np.hypot(*up)
        right, below = (sum(pair) / 2 for pair in zip(_offset(one, other), _offset(other, one), strict=True))
        middle = np.array([one.x + other.x, one.y + other.y]) / 2
        scale = (below + (one.height + other.height) / 2) / (CARD[1] - 2 * TOP)
        scale = float(np.clip(scale, right / 56, right / 40)) if px_per_mm is None else px_per_mm
    else:
        scale = px_per_mm or one.height / index_height
        across = np.array([-up[1], up[0]])
        side = one.width / scale / 2 + 2.2
        down = TOP + one.height / scale / 2
        middle = np.array([one.x, one.y]) + (across * (CARD[0] / 2 - side) - up * (CARD[1] / 2 - down)) * scale
    return _rectangle(middle, up, scale)


def _rectangle(middle: NDArray[np.float64], up: NDArray[np.float64], scale: float) -> tuple[tuple[float, float], ...]:
    across = np.array([-up[1], up[0]]) * scale * CARD[0] / 2
    rise = up * scale * CARD[1] / 2
    corners = (middle - across + rise, middle + across + rise, middle + across - rise, middle - across - rise)
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in corners)


def _in(corner: Corner, known: Joined) -> bool:
    """Whether a corner is one that a told card has already."""
    return any(np.hypot(corner.x - other.x, corner.y - other.y) < 0.5 * other.height for other in known.corners)
