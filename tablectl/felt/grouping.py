"""Which indices belong to one card: those that say the same, and stand to each other as a card has them.

A card has an index at its upper left and the same, upside down, at its lower right; some decks have them in all four corners.
Distances are in millimetres where the scale is known, else in heights of the index, which is 11 to 35 mm high.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.find import Corner
from tablectl.felt.inset import CARD, TOP

__all__ = ["Group", "Way", "along", "fitting", "grouped", "has_four", "mirrored", "opposite", "scale_of", "turned_from_diagonal"]

ACROSS = 52.0  # mm from the middle of an index to that of the other end, across the card
# mm between the middles of the two indices of one end, of a deck with four. The cards of a fan lie nearer, those side by side
# further apart: a card is 57 to 63.5 wide.
APART = (33.0, 57.0)
ASKEW = 14.0  # degrees by which two indices of one end or side may stand out of line


Way = Literal["ends", "counter", "beside", "along"]
WAYS: tuple[Way, ...] = ("ends", "counter", "beside", "along")  # the first says best where the card lies, the last least


class _Fit(NamedTuple):
    """Where two indices stand on one card.

    `ends` and `counter` are its diagonals, `beside` the two of one end, `along` the two of one side: all but the first only of a
    deck with four indices. `off` is how badly they fit (0 is well).
    """

    way: Way
    off: float


class Group(NamedTuple):
    """One card's corners and their places; `way` is how the first two stand, which says where it lies (None: there is one)."""

    places: list[int]
    corners: list[Corner]
    way: Way | None


def scale_of(one: Corner, other: Corner) -> float:
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
    return turned_from_diagonal(one, other, float(np.arctan2(ACROSS, max(below, 1.0))))


def turned_from_diagonal(one: Corner, other: Corner, angle: float) -> NDArray[np.float64]:
    """The unit vector up a card whose diagonal, from one end to the other, stands so to its sides (radians)."""
    back = np.array([one.x - other.x, one.y - other.y])
    back /= max(float(np.hypot(*back)), 1e-9)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([back[0] * cos - back[1] * sin, back[0] * sin + back[1] * cos])


def opposite(one: Corner, other: Corner, px_per_mm: float | None) -> float | None:
    """How badly two indices fit as both ends of one card (0 is well); None where they do not."""
    against = one.up[0] * other.up[0] + one.up[1] * other.up[1]
    if against > -0.8 or not 0.55 < one.height / other.height < 1.8:
        return None
    scale = scale_of(one, other)
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


def mirrored(corner: Corner) -> Corner:
    """A corner as a mirror shows it: of a card's other diagonal it makes the first."""
    return corner._replace(x=-corner.x, up=(-corner.up[0], corner.up[1]))


def _beside(one: Corner, other: Corner, scale: float) -> float | None:
    """How badly two indices fit as the two of one end of a card; None where they do not."""
    if one.up[0] * other.up[0] + one.up[1] * other.up[1] < 0.8 or not 0.7 < one.height / other.height < 1.43:
        return None
    far = np.array([other.x - one.x, other.y - one.y])
    apart = float(np.hypot(*far))
    if not APART[0] < apart / scale < APART[1]:
        return None
    up = np.array(one.up) + np.array(other.up)
    slant = float(np.rad2deg(np.arcsin(min(1.0, abs(far @ up) / apart / float(np.hypot(*up))))))
    return slant / 10 if slant < ASKEW else None


def along(one: Corner, other: Corner, scale: float) -> float | None:
    """How badly two indices fit as the two of one side of a card; None where they do not."""
    if one.up[0] * other.up[0] + one.up[1] * other.up[1] > -0.8 or not 0.7 < one.height / other.height < 1.43:
        return None
    back = np.array([one.x - other.x, one.y - other.y])
    apart = float(np.hypot(*back))
    due = (CARD[1] - 2 * TOP) * scale - (one.height + other.height) / 2
    if not 0.7 < apart / max(due, 1.0) < 1.3:
        return None
    said = np.array(one.up) - np.array(other.up)
    slant = float(np.rad2deg(np.arccos(np.clip(back @ said / apart / float(np.hypot(*said)), -1, 1))))
    return slant / 10 + abs(apart / due - 1) * 5 if slant < ASKEW else None


def fitting(one: Corner, other: Corner, px_per_mm: float | None, scale: float | None) -> _Fit | None:
    """Where two indices that say the same stand on one card; None: on two. Only `ends` are told without a scale."""
    off = opposite(one, other, px_per_mm)
    if off is not None:
        return _Fit("ends", off)
    if scale is None:
        return None
    off = opposite(mirrored(one), mirrored(other), scale)
    if off is not None:
        return _Fit("counter", off)
    off = _beside(one, other, scale)
    if off is not None:
        return _Fit("beside", off)
    off = along(one, other, scale)
    return None if off is None else _Fit("along", off)


def _between(one: Corner, other: Corner, corner: Corner) -> bool:
    """Whether an index stands upright between two in a line: they are a fan's, for between one card's two there is none."""
    far = np.array([other.x - one.x, other.y - one.y])
    to = np.array([corner.x - one.x, corner.y - one.y])
    square = float(far @ far)
    beyond = abs(float(far[0] * to[1] - far[1] * to[0])) / square**0.5
    upright = one.up[0] * corner.up[0] + one.up[1] * corner.up[1] > 0.8
    return upright and 0.1 < float(far @ to) / square < 0.9 and beyond < one.height / 2


def grouped(told: list[tuple[Corner, Card]], unsure: list[Corner], px_per_mm: float | None, four: bool | None) -> list[Group]:
    """Corners by card: the best pairs first, and each corner in one card. A deck with four indices has up to four a card.

    What joins a card must fit with all that it has: two like cards that overlap have two indices in line as well, but no third.
    Pairs that most others bear out come first.
    """
    count = len(told)
    alike = [(i, j) for i in range(count) for j in range(i + 1, count) if told[i][1] is told[j][1]]
    scale = px_per_mm
    if scale is None:
        ends = [(told[i][0], told[j][0]) for i, j in alike]
        scales = [scale_of(one, other) for one, other in ends if opposite(one, other, None) is not None]
        scale = float(np.median(scales)) if scales else None
    if four is False:
        scale = None
    every = [corner for corner, _ in told] + unsure
    fits: dict[tuple[int, int], _Fit] = {}
    for i, j in alike:
        one, other = told[i][0], told[j][0]
        fit = fitting(one, other, px_per_mm, scale)
        if fit is not None and not (fit.way == "beside" and any(_between(one, other, corner) for corner in every)):
            fits[i, j] = fit
    groups = {i: Group([i], [told[i][0]], None) for i in range(count)}
    others = [{b if a == i else a for a, b in fits if i in (a, b)} for i in range(count)]
    order = sorted((-len(others[i] & others[j]), WAYS.index(fit.way), fit.off, i, j) for (i, j), fit in fits.items())
    for _, _, _, i, j in order:
        first, second = (groups[i], groups[j]) if len(groups[i].places) > 1 else (groups[j], groups[i])
        if first is second or not all(b in others[a] for a in first.places for b in second.places):
            continue
        if first.way is None:
            first, second = groups[i], groups[j]
        group = Group(first.places + second.places, first.corners + second.corners, first.way or fits[i, j].way)
        groups.update(dict.fromkeys(group.places, group))
    made = {id(group): group for group in groups.values()}
    return sorted(made.values(), key=lambda group: (len(group.places) == 1, min(group.places)))


def has_four(groups: list[Group]) -> bool:
    """Whether a card shows that the deck has indices in all four corners."""
    return any(group.way not in (None, "ends") for group in groups)
