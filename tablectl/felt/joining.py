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
ACROSS = 52.0  # mm from the middle of an index to that of the other end, across the card
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


def _scale(one: Corner, other: Corner) -> float:
    """The px/mm of a card with both its ends seen: that under which its indices stand `ACROSS` apart, and fit between `TOP`s.

    The diagonal says it, which is long: what the indices themselves say of up and down is much less exact.
    """
    high = (one.height + other.height) / 2
    diagonal = float(np.hypot(other.x - one.x, other.y - one.y))
    down = CARD[1] - 2 * TOP
    a, b, c = max(diagonal**2 - high**2, 1.0), 2 * down * high, ACROSS**2 + down**2
    return 2 * a / (-b + float(np.sqrt(b * b + 4 * a * c)))


def _upright(one: Corner, other: Corner, scale: float) -> NDArray[np.float64]:
    """The unit vector up the card of which these are the upper left and the lower right end."""
    below = CARD[1] - 2 * TOP - (one.height + other.height) / 2 / scale
    back = np.array([one.x - other.x, one.y - other.y])
    back /= max(float(np.hypot(*back)), 1e-9)
    angle = np.arctan2(ACROSS, max(below, 1.0))  # of the diagonal, from the card's side
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([back[0] * cos - back[1] * sin, back[0] * sin + back[1] * cos])


def _opposite(one: Corner, other: Corner, px_per_mm: float | None) -> float | None:
    """How badly two indices fit as both ends of one card (0 is well); None where they do not."""
    against = one.up[0] * other.up[0] + one.up[1] * other.up[1]
    if against > -0.8 or not 0.55 < one.height / other.height < 1.8:
        return None
    scale = _scale(one, other)
    high = (one.height + other.height) / 2 / scale
    if not 8 < high < 48 or (px_per_mm is not None and not 0.75 < scale / px_per_mm < 1.33):
        return None
    up = _upright(one, other, scale)
    said = np.array(one.up) - np.array(other.up)
    said /= np.hypot(*said)
    slant = float(np.rad2deg(np.arccos(np.clip(up @ said, -1, 1))))
    if slant > 22:
        return None
    return slant / 10 + (abs(scale / px_per_mm - 1) * 5 if px_per_mm is not None else 0.0)


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
                heights.append((group[0].height + group[1].height) / 2 / _scale(group[0], group[1]))
    return float(np.median(heights)) if heights else USUAL


def _outline(corners: tuple[Corner, ...], index_height: float, px_per_mm: float | None) -> tuple[tuple[float, float], ...]:
    """Where a card's four corners should be, in pixels, from its upper left clockwise."""
    one = corners[0]
    up = np.array(one.up)
    if len(corners) >= 2:
        other = corners[1]
        scale = px_per_mm or _scale(one, other)
        up = _upright(one, other, scale)
        middle = np.array([one.x + other.x, one.y + other.y]) / 2
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
