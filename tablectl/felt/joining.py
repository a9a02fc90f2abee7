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
from tablectl.felt.inset import CARD, TOP, DeckShape, Inset, Shown

__all__ = ["Joined", "join", "learnt"]

ACROSS = 52.0  # mm from the middle of an index to that of the other end, across the card
USUAL = 16.0  # mm: the height of an index, where nothing better is known
NARROW = 0.4  # its width for its height, the same
# mm between the middles of the two indices of one end, of a deck with four. The cards of a fan lie nearer, those side by side
# further apart: a card is 57 to 63.5 wide.
APART = (33.0, 57.0)
ASKEW = 14.0  # degrees by which two indices of one end or side may stand out of line
# Degrees by which an index alone is wrong about up, as a rule, and by which the cards of a hand are turned against each other;
# cards further apart than a hand's, or turned more than a hand's, say nothing of each other.
WRONG_ABOUT_UP = 5.0
TURNED = 3.0
HAND = 75.0  # mm
ALIKE = 15.0  # degrees


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


def join(
    told: list[tuple[Corner, Card]], unsure: list[Corner], px_per_mm: float | None, shape: DeckShape | None = None
) -> list[Joined]:
    """Cards out of corners that were told, and `??` out of those that were not and are no other end of a told card.

    `shape` is what this deck has shown so far, where the scale is known: see `learnt`.
    """
    shape = shape if shape is not None and px_per_mm is not None else DeckShape()
    groups = _grouped(told, unsure, px_per_mm, shape.four)
    high, wide = _index_size(groups, px_per_mm)
    shape = shape.after([shown for group in groups if (shown := _shown(told[group.places[0]][1], group, px_per_mm)) is not None])
    inset = shape.inset(high, wide)
    four = shape.four if shape.four is not None else _has_four(groups)
    made = [
        Joined(told[group.places[0]][1], tuple(group.places), tuple(group.corners), _rectangle(*where))
        for group, where in zip(groups, _lying(groups, inset, four, high, px_per_mm), strict=True)
    ]
    for corner in unsure:
        if any(_opposite(corner, other, px_per_mm) is not None for other, _ in told) or any(_in(corner, known) for known in made):
            continue
        if four and px_per_mm is not None and any(_along(corner, other, px_per_mm) is not None for other, _ in told):
            continue
        made.append(Joined(Card.UNREAD, (), (corner,), _rectangle(*_by_one(corner, corner.up, inset, high, px_per_mm))))
    return made


def learnt(shape: DeckShape, cards: list[tuple[Card, tuple[Corner, ...]]], px_per_mm: float) -> DeckShape:
    """What is known of a deck when these of its cards were seen, too, by the indices that `join` found to be theirs."""
    new = []
    for card, corners in cards:
        fit = _fit(corners[0], corners[1], px_per_mm, px_per_mm) if len(corners) > 1 and card is not Card.UNREAD else None
        if fit is not None and (shown := _shown(card, _Group([], list(corners), fit.way), px_per_mm)) is not None:
            new.append(shown)
    return shape.after(new)


def _shown(card: Card, group: _Group, px_per_mm: float | None) -> Shown | None:
    """What a card says of its deck; None: it shows one index."""
    if group.way is None:
        return None
    one, other = group.corners[:2]
    if px_per_mm is None and group.way != "ends":
        return None
    scale = px_per_mm or _scale(one, other)
    far = np.array([one.x - other.x, one.y - other.y]) / 2 / scale
    half = float(np.hypot(*far))
    four = group.way != "ends" or len(group.corners) > 2
    if group.way == "beside":
        return Shown(card, half, None, four)
    if group.way == "along":
        return Shown(card, None, half, four)
    up = np.array(one.up) - np.array(other.up)
    up /= max(float(np.hypot(*up)), 1e-9)
    return Shown(card, abs(float(far[1] * up[0] - far[0] * up[1])), float(far @ up), four)


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
    return _turned_from_diagonal(one, other, float(np.arctan2(ACROSS, max(below, 1.0))))


def _turned_from_diagonal(one: Corner, other: Corner, angle: float) -> NDArray[np.float64]:
    """The unit vector up a card whose diagonal, from one end to the other, stands so to its sides (radians)."""
    back = np.array([one.x - other.x, one.y - other.y])
    back /= max(float(np.hypot(*back)), 1e-9)
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


def _grouped(told: list[tuple[Corner, Card]], unsure: list[Corner], px_per_mm: float | None, four: bool | None) -> list[_Group]:
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
    if four is False:
        scale = None
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


def _index_size(groups: list[_Group], px_per_mm: float | None) -> tuple[float, float]:
    """Height and width of this deck's index in mm: without a scale from the cards that show both ends, else the usual."""
    shapes = [corner.width / corner.height for group in groups for corner in group.corners]
    if px_per_mm is not None:
        heights = [corner.height / px_per_mm for group in groups for corner in group.corners]
    else:
        heights = []
        for group in groups:
            if group.way in ("ends", "counter"):
                one, other = group.corners[:2]
                heights.append((one.height + other.height) / 2 / _scale(one, other))
    height = float(np.median(heights)) if heights else USUAL
    return height, height * (float(np.median(shapes)) if shapes else NARROW)


def _lying(groups: list[_Group], inset: Inset, four: bool, index_height: float, px_per_mm: float | None) -> list[_Where]:
    """Where the cards lie.

    Of a deck with four indices one index, or the two of one side, do not say on which side of them the card lies. What they do
    not show lies under the cards that were laid later, so it is the side on which a card lies near that is known; and so on.
    """
    lying: dict[int, _Where] = {}
    either: dict[int, tuple[_Where, _Where]] = {}
    known = [_by_two(group, inset, index_height, px_per_mm) for group in groups]
    said = [(np.array(group.corners[0].up) if where is None else where.up) for group, where in zip(groups, known, strict=True)]
    for place, group in enumerate(groups):
        where = known[place]
        if where is None:
            scale = px_per_mm or group.corners[0].height / index_height
            where = _by_one(group.corners[0], _up_in_hand(place, groups, said, scale), inset, index_height, px_per_mm)
        if four and group.way in (None, "along"):
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


def _up_in_hand(place: int, groups: list[_Group], said: list[NDArray[np.float64]], scale: float) -> tuple[float, float]:
    """The unit vector up a card that shows one index: what that says, and what the cards beside it in a hand say of theirs."""
    one, up = groups[place].corners[0], said[place]
    trust = told = 0.0
    for other, group in enumerate(groups):
        if other == place or min(np.hypot(one.x - corner.x, one.y - corner.y) for corner in group.corners) > HAND * scale:
            continue
        turned = float(np.rad2deg(np.arctan2(up[0] * said[other][1] - up[1] * said[other][0], up @ said[other])))
        turned = (turned + 90) % 180 - 90
        alike = 1 - (turned / ALIKE) ** 2
        if alike > 0:
            weight = alike / (TURNED**2 + (WRONG_ABOUT_UP**2 if group.way is None else 0.0))
            trust, told = trust + weight, told + weight * turned
    if not trust:
        return one.up
    beside = 1 / (TURNED**2 + 1 / trust)
    angle = np.deg2rad(told / trust * beside / (beside + 1 / WRONG_ABOUT_UP**2))
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    return one.up[0] * cos - one.up[1] * sin, one.up[0] * sin + one.up[1] * cos


def _by_two(group: _Group, inset: Inset, index_height: float, px_per_mm: float | None) -> _Where | None:
    """Where a card lies by its first two corners; None where it has one. By those of one side it is taken for the left one."""
    if group.way is None:
        return None
    one, other = group.corners[:2]
    middle = np.array([one.x + other.x, one.y + other.y]) / 2
    if group.way in ("beside", "along"):
        scale = px_per_mm or (one.height + other.height) / 2 / index_height
        far = np.array([one.x - other.x, one.y - other.y])
        far /= max(float(np.hypot(*far)), 1e-9)
        if group.way == "along":
            return _Where(middle + np.array([-far[1], far[0]]) * inset.across * scale, far, scale)
        up = np.array([far[1], -far[0]]) * (1 if far[1] * one.up[0] - far[0] * one.up[1] > 0 else -1)
        return _Where(middle - up * inset.along * scale, up, scale)
    if group.way == "ends":
        return _Where(middle, _up_by_ends(one, other, inset), px_per_mm or _scale(one, other))
    return _Where(middle, _up_by_ends(_mirrored(one), _mirrored(other), inset) * (-1, 1), px_per_mm or _scale(one, other))


def _up_by_ends(one: Corner, other: Corner, inset: Inset) -> NDArray[np.float64]:
    """The unit vector up the card of which these are the upper left and the lower right end."""
    return _turned_from_diagonal(one, other, float(np.arctan2(inset.across, inset.along)))


def _by_one(one: Corner, up: tuple[float, float], inset: Inset, index_height: float, px_per_mm: float | None) -> _Where:
    """Where a card lies by one index, taken for the upper left one."""
    scale = px_per_mm or one.height / index_height
    to = np.array([-up[1], up[0]]) * inset.across - np.array(up) * inset.along
    return _Where(np.array([one.x, one.y]) + to * scale, np.array(up), scale)


def _rectangle(middle: NDArray[np.float64], up: NDArray[np.float64], scale: float) -> tuple[tuple[float, float], ...]:
    across = np.array([-up[1], up[0]]) * scale * CARD[0] / 2
    rise = up * scale * CARD[1] / 2
    corners = (middle - across + rise, middle + across + rise, middle + across - rise, middle - across - rise)
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in corners)


def _in(corner: Corner, known: Joined) -> bool:
    """Whether a corner is one that a told card has already."""
    return any(np.hypot(corner.x - other.x, corner.y - other.y) < 0.5 * other.height for other in known.corners)
