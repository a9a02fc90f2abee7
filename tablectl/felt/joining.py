"""Which indices belong to one card, and where that card lies.

A card has an index at its upper left and the same, upside down, at its lower right; some decks have them in all four corners. Of
fanned cards often one alone shows. Indices are joined when they say the same card, and stand to each other as a card has them:
see `tablectl.felt.grouping`. Where the card lies is reckoned by where its deck has its indices: see `tablectl.felt.inset`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.find import Corner
from tablectl.felt.grouping import (
    Group,
    along,
    fitting,
    grouped,
    has_four,
    mirrored,
    opposite,
    scale_of,
    turned_from_diagonal,
)
from tablectl.felt.inset import CARD, DeckShape, Inset, Shown

__all__ = ["Joined", "join", "learnt"]

USUAL = 16.0  # mm: the height of an index, where nothing better is known
NARROW = 0.4  # its width for its height, the same
# Degrees by which an index alone is wrong about up, as a rule, and by which the cards of a hand are turned against each other;
# cards further apart than a hand's, or turned more than a hand's, say nothing of each other.
WRONG_ABOUT_UP = 5.0
TURNED = 3.0
HAND = 75.0  # mm
ALIKE = 15.0  # degrees
EXACTLY = 3.0  # mm by which the indices of a card stand otherwise than its deck's do
HIDES = 50.0  # mm between the middles of two cards, one of which hides indices of the other


class Joined(NamedTuple):
    """A card: which of the told corners (their places) it was joined from, its corners, and its outline in pixels."""

    card: Card
    places: tuple[int, ...]
    corners: tuple[Corner, ...]
    polygon: tuple[tuple[float, float], ...]


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
    groups = grouped(told, unsure, px_per_mm, shape.four)
    high, wide = _index_size(groups, px_per_mm)
    shape = shape.after([shown for group in groups if (shown := _shown(told[group.places[0]][1], group, px_per_mm)) is not None])
    inset = shape.inset(high, wide)
    four = shape.four if shape.four is not None else has_four(groups)
    corners: list[Corner] = []
    one_ended = [corner for group in groups if group.way != "ends" for corner in group.corners]
    for corner in unsure:
        known = [*corners, *(other for other, _ in told)]
        if any(np.hypot(corner.x - other.x, corner.y - other.y) < 0.5 * other.height for other in known):
            continue
        if any(opposite(corner, other, px_per_mm) is not None for other in one_ended):
            continue
        if four and px_per_mm is not None and any(along(corner, other, px_per_mm) is not None for other, _ in told):
            continue
        corners.append(corner)
    unread = [Group([], [corner], None) for corner in corners]
    if four and px_per_mm is not None:
        unread = _unread(corners, inset, px_per_mm)
    lying = _lying(groups + unread, inset, four, high, px_per_mm)
    return [
        Joined(
            told[group.places[0]][1] if group.places else Card.UNREAD,
            tuple(group.places),
            tuple(group.corners),
            _rectangle(*where),
        )
        for group, where in zip(groups + unread, lying, strict=True)
    ]


def _unread(corners: list[Corner], inset: Inset, px_per_mm: float) -> list[Group]:
    """Corners of a deck with four indices that were not told, by card: those that stand just as far apart as this deck's do."""
    made: list[Group] = []
    for group in grouped([(corner, Card.UNREAD) for corner in corners], [], px_per_mm, True):
        shown = _shown(Card.UNREAD, group, px_per_mm)
        if shown is None or all(
            far is None or abs(far - due) < EXACTLY for far, due in zip((shown.across, shown.along), inset, strict=True)
        ):
            made.append(Group([], group.corners, group.way))
        else:
            made += [Group([], [corner], None) for corner in group.corners]
    return made


def learnt(shape: DeckShape, cards: list[tuple[Card, tuple[Corner, ...]]], px_per_mm: float) -> DeckShape:
    """What is known of a deck when these of its cards were seen, too, by the indices that `join` found to be theirs."""
    new = []
    for card, corners in cards:
        fit = fitting(corners[0], corners[1], px_per_mm, px_per_mm) if len(corners) > 1 and card is not Card.UNREAD else None
        if fit is not None and (shown := _shown(card, Group([], list(corners), fit.way), px_per_mm)) is not None:
            new.append(shown)
    return shape.after(new)


def _shown(card: Card, group: Group, px_per_mm: float | None) -> Shown | None:
    """What a card says of its deck; None: it shows one index."""
    if group.way is None:
        return None
    one, other = group.corners[:2]
    if px_per_mm is None and group.way != "ends":
        return None
    scale = px_per_mm or scale_of(one, other)
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


def _index_size(groups: list[Group], px_per_mm: float | None) -> tuple[float, float]:
    """Height and width of this deck's index in mm: without a scale from the cards that show both ends, else the usual."""
    shapes = [corner.width / corner.height for group in groups for corner in group.corners]
    if px_per_mm is not None:
        heights = [corner.height / px_per_mm for group in groups for corner in group.corners]
    else:
        heights = []
        for group in groups:
            if group.way in ("ends", "counter"):
                one, other = group.corners[:2]
                heights.append((one.height + other.height) / 2 / scale_of(one, other))
    height = float(np.median(heights)) if heights else USUAL
    return height, height * (float(np.median(shapes)) if shapes else NARROW)


def _lying(groups: list[Group], inset: Inset, four: bool, index_height: float, px_per_mm: float | None) -> list[_Where]:
    """Where the cards lie.

    Of a deck with four indices one index, or the two of one side, do not say on which side of them the card lies. What they do
    not show lies under the cards that were laid later, so it is the side on which a card lies near that is known; and so on.
    Where there is none, what they say is told where they are: half a card off, but surely not a whole one.
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
            (float(np.hypot(*(where.middle - known.middle))) / where.scale, place, side)
            for place, sides in either.items()
            for side, where in enumerate(sides)
            for known in lying.values()
        ]
        far, place, side = min(near, default=(np.inf, 0, 0))
        if far > HIDES:
            lying |= {place: one._replace(middle=(one.middle + other.middle) / 2) for place, (one, other) in either.items()}
            break
        lying[place] = either.pop(place)[side]
    return [lying[place] for place in range(len(groups))]


def _up_in_hand(place: int, groups: list[Group], said: list[NDArray[np.float64]], scale: float) -> tuple[float, float]:
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


def _by_two(group: Group, inset: Inset, index_height: float, px_per_mm: float | None) -> _Where | None:
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
        return _Where(middle, _up_by_ends(one, other, inset), px_per_mm or scale_of(one, other))
    return _Where(middle, _up_by_ends(mirrored(one), mirrored(other), inset) * (-1, 1), px_per_mm or scale_of(one, other))


def _up_by_ends(one: Corner, other: Corner, inset: Inset) -> NDArray[np.float64]:
    """The unit vector up the card of which these are the upper left and the lower right end."""
    return turned_from_diagonal(one, other, float(np.arctan2(inset.across, inset.along)))


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
