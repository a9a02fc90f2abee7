"""Which indices belong to one card, and where that card lies.

A card has an index at its upper left and the same, upside down, at its lower right; some decks have them in all four corners. Of
fanned cards often one alone shows. Indices are joined when they say the same card, and stand to each other as a card has them:
measured in millimetres where the scale is known, else in heights of the index, which is 11 to 35 mm high.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.find import Corner

__all__ = ["CARD", "Joined", "join"]

CARD = (63.0, 88.0)  # mm
TOP = 4.0  # mm from a card's upper edge to its index
ACROSS = 52.0  # mm from the middle of an index to that of the other end, across the card
USUAL = 16.0  # mm: the height of an index, where nothing better is known
SIDE = 2.2  # mm from a card's side to its index
# mm between the middles of the two indices of one end, of a deck with four. The cards of a fan lie nearer, those side by side
# further apart: a card is 57 to 63.5 wide.
APART = (33.0, 57.0)
ASKEW = 14.0  # degrees by which two indices of one end or side may stand out of line


class Joined(NamedTuple):
    """A card: which of the told corners (their places) it was joined from, its corners, and its outline in pixels."""

    card: Card
    places: tuple[int, ...]
    corners: tuple[Corner, ...]
    polygon: tuple[tuple[float, float], ...]


Way = Literal["ends", "counter", "beside", "along"]
WAYS: tuple[Way, ...] = ("ends", "counter", "beside", "along")  # the first says best where the card lies, the last least


class _Fit(NamedTuple):
    """Where two indices stand on one card.

    `ends` and `counter` are its diagonals, `beside` the two of one end, `along` the two of one side: all but the first only of a
    deck with four indices. `off` is how badly they fit (0 is well).
    """

    way: Way
    off: float


class _Group(NamedTuple):
    """One card's corners and their places; `way` is how the first two stand, which says where it lies (None: there is one)."""

    places: list[int]
    corners: list[Corner]
    way: Way | None


class _Where(NamedTuple):
    """Where a card lies: its middle in pixels, the unit vector up it, px/mm."""

    middle: NDArray[np.float64]
    up: NDArray[np.float64]
    scale: float


def join(told: list[tuple[Corner, Card]], unsure: list[Corner], px_per_mm: float | None) -> list[Joined]:
    """Cards out of corners that were told, and `??` out of those that were not and are no other end of a told card."""
    groups = _grouped(told, unsure, px_per_mm)
    high = _index_height(groups, px_per_mm)
    made = [
        Joined(told[group.places[0]][1], tuple(group.places), tuple(group.corners), _rectangle(*where))
        for group, where in zip(groups, _lying(groups, high, px_per_mm), strict=True)
    ]
    four = _has_four(groups)
    for corner in unsure:
        if any(_opposite(corner, other, px_per_mm) is not None for other, _ in told) or any(_in(corner, known) for known in made):
            continue
        if four and px_per_mm is not None and any(_along(corner, other, px_per_mm) is not None for other, _ in told):
            continue
        made.append(Joined(Card.UNREAD, (), (corner,), _rectangle(*_by_one(corner, high, px_per_mm))))
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


def _mirrored(corner: Corner) -> Corner:
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


def _along(one: Corner, other: Corner, scale: float) -> float | None:
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


def _fit(one: Corner, other: Corner, px_per_mm: float | None, scale: float | None) -> _Fit | None:
    """Where two indices that say the same stand on one card; None: on two. Only `ends` are told without a scale."""
    off = _opposite(one, other, px_per_mm)
    if off is not None:
        return _Fit("ends", off)
    if scale is None:
        return None
    off = _opposite(_mirrored(one), _mirrored(other), scale)
    if off is not None:
        return _Fit("counter", off)
    off = _beside(one, other, scale)
    if off is not None:
        return _Fit("beside", off)
    off = _along(one, other, scale)
    return None if off is None else _Fit("along", off)


def _between(one: Corner, other: Corner, corner: Corner) -> bool:
    """Whether an index stands upright between two in a line: they are a fan's, for between one card's two there is none."""
    far = np.array([other.x - one.x, other.y - one.y])
    to = np.array([corner.x - one.x, corner.y - one.y])
    square = float(far @ far)
    beyond = abs(float(far[0] * to[1] - far[1] * to[0])) / square**0.5
    upright = one.up[0] * corner.up[0] + one.up[1] * corner.up[1] > 0.8
    return upright and 0.1 < float(far @ to) / square < 0.9 and beyond < one.height / 2


def _grouped(told: list[tuple[Corner, Card]], unsure: list[Corner], px_per_mm: float | None) -> list[_Group]:
    """Corners by card: the best pairs first, and each corner in one card. A deck with four indices has up to four a card.

    What joins a card must fit with all that it has: two like cards that overlap have two indices in line as well, but no third.
    Pairs that most others bear out come first.
    """
    count = len(told)
    alike = [(i, j) for i in range(count) for j in range(i + 1, count) if told[i][1] is told[j][1]]
    scale = px_per_mm
    if scale is None:
        ends = [(told[i][0], told[j][0]) for i, j in alike]
        scales = [_scale(one, other) for one, other in ends if _opposite(one, other, None) is not None]
        scale = float(np.median(scales)) if scales else None
    every = [corner for corner, _ in told] + unsure
    fits: dict[tuple[int, int], _Fit] = {}
    for i, j in alike:
        one, other = told[i][0], told[j][0]
        fit = _fit(one, other, px_per_mm, scale)
        if fit is not None and not (fit.way == "beside" and any(_between(one, other, corner) for corner in every)):
            fits[i, j] = fit
    groups = {i: _Group([i], [told[i][0]], None) for i in range(count)}
    fitting = [{b if a == i else a for a, b in fits if i in (a, b)} for i in range(count)]
    order = sorted((-len(fitting[i] & fitting[j]), WAYS.index(fit.way), fit.off, i, j) for (i, j), fit in fits.items())
    for _, _, _, i, j in order:
        first, second = (groups[i], groups[j]) if len(groups[i].places) > 1 else (groups[j], groups[i])
        if first is second or not all(b in fitting[a] for a in first.places for b in second.places):
            continue
        if first.way is None:
            first, second = groups[i], groups[j]
        group = _Group(first.places + second.places, first.corners + second.corners, first.way or fits[i, j].way)
        groups.update(dict.fromkeys(group.places, group))
    made = {id(group): group for group in groups.values()}
    return sorted(made.values(), key=lambda group: (len(group.places) == 1, min(group.places)))


def _has_four(groups: list[_Group]) -> bool:
    """Whether a card shows that the deck has indices in all four corners."""
    return any(group.way not in (None, "ends") for group in groups)


def _index_height(groups: list[_Group], px_per_mm: float | None) -> float:
    """The height of this deck's index in mm: from the cards that show both ends, else the usual."""
    if px_per_mm is not None:
        heights = [corner.height / px_per_mm for group in groups for corner in group.corners]
    else:
        heights = []
        for group in groups:
            if group.way in ("ends", "counter"):
                one, other = group.corners[:2]
                heights.append((one.height + other.height) / 2 / _scale(one, other))
    return float(np.median(heights)) if heights else USUAL


def _lying(groups: list[_Group], index_height: float, px_per_mm: float | None) -> list[_Where]:
    """Where the cards lie.

    Of a deck with four indices one index, or the two of one side, do not say on which side of them the card lies. What they do
    not show lies under the cards that were laid later, so it is the side on which a card lies near that is known; and so on.
    """
    lying: dict[int, _Where] = {}
    either: dict[int, tuple[_Where, _Where]] = {}
    four = _has_four(groups)
    for place, group in enumerate(groups):
        where = _by_two(group, index_height, px_per_mm)
        if where is None:
            where = _by_side(group, index_height, px_per_mm) if group.way else _by_one(group.corners[0], index_height, px_per_mm)
            if four:
                at = np.mean([(corner.x, corner.y) for corner in group.corners], axis=0)
                across = np.array([-where.up[1], where.up[0]])
                either[place] = where, where._replace(middle=where.middle - 2 * across * float(across @ (where.middle - at)))
                continue
        lying[place] = where
    while either:
        near = [
            (float(np.hypot(*(where.middle - known.middle))), place, side)
            for place, sides in either.items()
            for side, where in enumerate(sides)
            for known in lying.values()
        ]
        _, place, side = min(near, default=(0.0, next(iter(either)), 0))
        lying[place] = either.pop(place)[side]
    return [lying[place] for place in range(len(groups))]


def _by_two(group: _Group, index_height: float, px_per_mm: float | None) -> _Where | None:
    """Where a card lies by its first two corners; None where they do not say."""
    if group.way is None or group.way == "along":
        return None
    one, other = group.corners[:2]
    middle = np.array([one.x + other.x, one.y + other.y]) / 2
    if group.way == "beside":
        scale = px_per_mm or (one.height + other.height) / 2 / index_height
        far = np.array([other.x - one.x, other.y - one.y])
        up = np.array([far[1], -far[0]]) / max(float(np.hypot(*far)), 1e-9)
        up *= 1 if up @ np.array(one.up) > 0 else -1
        return _Where(middle - up * ((CARD[1] / 2 - TOP) * scale - (one.height + other.height) / 4), up, scale)
    scale = px_per_mm or _scale(one, other)
    if group.way == "ends":
        return _Where(middle, _upright(one, other, scale), scale)
    return _Where(middle, _upright(_mirrored(one), _mirrored(other), scale) * (-1, 1), scale)


def _by_side(group: _Group, index_height: float, px_per_mm: float | None) -> _Where:
    """The same by the two indices of one side, taken for the left one."""
    one, other = group.corners[:2]
    scale = px_per_mm or (one.height + other.height) / 2 / index_height
    back = np.array([one.x - other.x, one.y - other.y])
    up = back / max(float(np.hypot(*back)), 1e-9)
    side = (one.width + other.width) / 4 / scale + SIDE
    middle = np.array([one.x + other.x, one.y + other.y]) / 2
    return _Where(middle + np.array([-up[1], up[0]]) * (CARD[0] / 2 - side) * scale, up, scale)


def _by_one(one: Corner, index_height: float, px_per_mm: float | None) -> _Where:
    """The same by one index, taken for the upper left one."""
    up = np.array(one.up)
    scale = px_per_mm or one.height / index_height
    across = np.array([-up[1], up[0]])
    side = one.width / scale / 2 + SIDE
    down = TOP + one.height / scale / 2
    to = across * (CARD[0] / 2 - side) - up * (CARD[1] / 2 - down)
    return _Where(np.array([one.x, one.y]) + to * scale, up, scale)


def _rectangle(middle: NDArray[np.float64], up: NDArray[np.float64], scale: float) -> tuple[tuple[float, float], ...]:
    across = np.array([-up[1], up[0]]) * scale * CARD[0] / 2
    rise = up * scale * CARD[1] / 2
    corners = (middle - across + rise, middle + across + rise, middle + across - rise, middle - across - rise)
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in corners)


def _in(corner: Corner, known: Joined) -> bool:
    """Whether a corner is one that a told card has already."""
    return any(np.hypot(corner.x - other.x, corner.y - other.y) < 0.5 * other.height for other in known.corners)
