"""Pictures of an enrolled deck's corners as a camera would see them on the felt, and what the reader says of each.

From each corner that was kept (`tablectl.felt.deck`) come `ROUNDS` small pictures: turned, a little larger or smaller, tilted,
partly under the next card, in other light, with blur and noise. They lie side by side in one large picture, which the finder and
the reader look at as they look at a felt. The same deck gives the same pictures.

What is no index is shown, too: an index that another card covers, one upside down, and what lies beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.deck import EnrolledDeck
from tablectl.felt.find import WORKING_SCALE, Corner, Layer, corners_in
from tablectl.felt.networks import Eyes
from tablectl.felt.read import NOTHING, RANKS, SUITS, looks
from tablectl.felt.scene import sensor

__all__ = ["ROUNDS", "Index", "Shown", "index_place", "shown"]

Picture = NDArray[np.uint8]
Points = NDArray[np.float64]
ROUNDS = 5
"""Small pictures of each corner."""
COVERED = 0.25
"""The part of them in which another card covers much of the index."""
SEARCHED = 0.1
"""The heat from which an index is looked for where it should be; less than at the table, where anything may lie."""


class Shown(NamedTuple):
    """What the reader said of the small pictures; a row for each find. `end` is the corner of the card, 0 or 1."""

    card: NDArray[np.int64]
    """The card's place in the deck's patches."""
    end: NDArray[np.int64]
    heat: NDArray[np.float32]
    rank: NDArray[np.int64]
    """What is to be read: `NOTHING` for a find beside the index, or of one that another card covers."""
    suit: NDArray[np.int64]
    clear: NDArray[np.bool_]
    """Whether it is plain what is to be read: not of an index half covered, nor of what only looks like one."""
    ranks: NDArray[np.float32]
    suits: NDArray[np.float32]
    due: int
    """Small pictures in which an index is to be read, found or not."""


class Index(NamedTuple):
    """Where a deck has its indices, in millimetres: the middle from the card's corner, height and width."""

    x: float
    y: float
    height: float
    width: float


class _Tile(NamedTuple):
    """A small picture in the large one: whose, and how millimetres from the card's corner become pixels (2, 3)."""

    card: int
    end: int
    to_px: Points
    covered: bool


def index_place(deck: EnrolledDeck, network: Eyes) -> Index | None:
    """Where this deck has its indices: where most of its corners show one upright. None when they show none."""
    patches = [patch for both in deck.patches.values() for patch in both]
    tiles, picture = _laid_out(deck)
    found: list[tuple[float, float, float, float]] = []
    sizes = [Layer(picture, 1.0)]
    for corner in looks(sizes, corners_in(sizes, network, SEARCHED), network).corners:
        if corner.up[1] < -0.9:
            tile = _tile_at(tiles, picture, corner)
            if tile is not None:
                x, y = _to_mm(tile, corner)
                if 0 < x < deck.file.corner[0] and 0 < y < deck.file.corner[1]:
                    found.append((x, y, corner.height / WORKING_SCALE, corner.width / WORKING_SCALE))
    if not found:
        return None
    all_of = np.array(found)
    near = [(np.hypot(*(all_of[:, :2] - one[:2]).T) < 0.25 * one[2]) & (abs(all_of[:, 2] / one[2] - 1) < 0.3) for one in all_of]
    best = int(np.argmax([group.sum() for group in near]))
    if near[best].sum() < len(patches) / 3:
        return None
    x, y, height, width = (float(value) for value in np.median(all_of[near[best]], axis=0))
    return Index(x, y, height, width)


def shown(deck: EnrolledDeck, network: Eyes, index: Index, rounds: int = ROUNDS) -> Shown:
    """Show each corner so many times, and have it read."""
    cards = list(deck.patches)
    rows: list[tuple[int, int, float, int, int, bool]] = []
    said: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
    due = 0
    for number in range(rounds):
        chance = np.random.default_rng([number, 5])
        tiles, picture = _laid_out(deck, index, chance)
        due += sum(not tile.covered for tile in tiles)
        sizes = [Layer(picture, 1.0)]
        found = looks(sizes, corners_in(sizes, network, SEARCHED), network)  # the warmest first
        taken: set[tuple[int, int]] = set()
        beside: list[tuple[_Tile, Corner]] = []
        for place, corner in enumerate(found.corners):
            tile = _tile_at(tiles, picture, corner)
            is_index = None if tile is None else _is_index(tile, corner, index)
            if tile is None or is_index is None or (is_index and (tile.card, tile.end) in taken):
                continue
            counts = is_index and not tile.covered
            if is_index:
                taken.add((tile.card, tile.end))
                beside.append((tile, _beside(corner, chance)))
            card = cards[tile.card]
            rank, suit = (_rank(card), _suit(card)) if counts else (NOTHING, 0)
            rows.append((tile.card, tile.end, corner.heat, rank, suit, counts))
            said.append((found.ranks[place], found.suits[place]))
        again = looks(sizes, [corner for _, corner in beside], network)
        for place, ((tile, given), corner) in enumerate(zip(beside, again.corners, strict=True)):
            # Looked at closer, what lay beside may have come to the index, or half-way: of that nothing is taught.
            is_index = _is_index(tile, corner, index)
            if is_index is False or (is_index is None and corner is given):
                rows.append((tile.card, tile.end, 0.0, NOTHING, 0, not tile.covered))
                said.append((again.ranks[place], again.suits[place]))
    ranks = np.array([one for one, _ in said], np.float32).reshape(-1, NOTHING + 1)
    suits = np.array([one for _, one in said], np.float32).reshape(-1, len(SUITS))
    table = np.array(rows, np.float64).reshape(-1, 6)
    whose, end, truth, kind = (table[:, column].astype(np.int64) for column in (0, 1, 3, 4))
    return Shown(whose, end, table[:, 2].astype(np.float32), truth, kind, table[:, 5] > 0, ranks, suits, due)


def _beside(corner: Corner, chance: np.random.Generator) -> Corner:
    """A find that is no index: this one upside down, or one beside it, or one much too large or small."""
    kind = int(chance.integers(3))
    if kind == 0:
        return corner._replace(up=(-corner.up[0], -corner.up[1]), heat=0.0)
    if kind == 1:
        around, far = chance.uniform(0, 2 * np.pi), chance.uniform(0.5, 1.0) * corner.height
        return corner._replace(x=corner.x + far * float(np.cos(around)), y=corner.y + far * float(np.sin(around)), heat=0.0)
    return corner._replace(height=corner.height * float(chance.choice([0.5, 1.9])), heat=0.0)


def _rank(card: Card) -> int:
    assert card.rank is not None
    return RANKS.index(card.rank)


def _suit(card: Card) -> int:
    assert card.suit is not None
    return SUITS.index(card.suit)


def _laid_out(
    deck: EnrolledDeck, index: Index | None = None, chance: np.random.Generator | None = None
) -> tuple[list[_Tile], Picture]:
    """All corners side by side; without `chance` upright and as they were kept."""
    patches = [(card, end, patch) for card, both in enumerate(deck.patches.values()) for end, patch in enumerate(both)]
    side = int(np.ceil(1.12 * WORKING_SCALE * np.hypot(*deck.file.corner))) // 4 * 4 + 4
    across = int(np.ceil(np.sqrt(len(patches))))
    picture = np.zeros((-(-len(patches) // across) * side, across * side, 3), np.uint8)
    tiles = []
    for place, (card, end, patch) in enumerate(patches):
        top, left = place // across * side, place % across * side
        covered = False
        if index is None or chance is None:
            drawn, to_px = _drawn(np.asarray(patch, np.float32), deck, side)
        else:
            covered = chance.random() < COVERED
            lain = _under_a_card(patch, deck, index, chance, covered=covered)
            drawn, to_px = _drawn(lain, deck, side, chance)
        picture[top : top + side, left : left + side] = drawn
        to_px[:, 2] += (left, top)
        tiles.append(_Tile(card, end, to_px, covered))
    return tiles, picture


def _under_a_card(
    patch: Picture, deck: EnrolledDeck, index: Index, chance: np.random.Generator, *, covered: bool
) -> NDArray[np.float32]:
    """A corner over part of which the next card lies: to its right, or, where that covers the index, from any side."""
    made = np.asarray(patch, np.float32).copy()
    paper = np.percentile(patch.reshape(-1, 3), 85, axis=0)
    fine = deck.file.px_per_mm
    if not covered:
        free = index.x + 0.7 * index.width + 1.0
        made[:, round(float(chance.uniform(free, max(free, deck.file.corner[0]))) * fine) :] = paper
        return made
    share = float(chance.uniform(0.3, 0.7))
    left, right = (round((index.x + part * index.width) * fine) for part in (share - 0.5, 0.5 - share))
    top, bottom = (round((index.y + part * index.height) * fine) for part in (share - 0.5, 0.5 - share))
    way = int(chance.integers(4))
    rows = slice(max(0, bottom), None) if way == 1 else slice(0, max(0, top)) if way == 2 else slice(None)
    columns = slice(max(0, right), None) if way == 0 else slice(0, max(0, left)) if way == 3 else slice(None)
    made[rows, columns] = paper
    return made


def _drawn(
    corner: NDArray[np.float32], deck: EnrolledDeck, side: int, chance: np.random.Generator | None = None
) -> tuple[Picture, Points]:
    """A corner in a small picture of its own, and how millimetres become pixels there."""
    wide, high = deck.file.corner
    turn, scale, squeeze, way, shift = 0.0, WORKING_SCALE, 1.0, 0.0, np.zeros(2)
    ground = np.array([45.0, 85.0, 30.0])
    if chance is not None:
        turn, way = chance.uniform(0, 2 * np.pi, 2)
        scale *= float(np.exp(np.clip(chance.normal(0, 0.05), -0.1, 0.1)))
        squeeze = float(chance.uniform(0.86, 1.0))  # what is left of a tilt
        shift = chance.uniform(-2, 2, 2)
        paper = np.percentile(corner.reshape(-1, 3), 85, axis=0)
        ground = paper * 0.97 if chance.random() < 0.5 else chance.uniform(15, 120, 3)
    tilt = _turned(way) @ np.diag([1.0, squeeze]) @ _turned(-way)
    matrix = tilt @ _turned(turn) * scale
    to_px = np.c_[matrix, side / 2 + shift - matrix @ np.array([wide / 2, high / 2])]
    fine = deck.file.px_per_mm
    from_patch = to_px.copy()
    from_patch[:, :2] /= fine
    from_patch[:, 2] += from_patch[:, :2] @ np.array([0.5, 0.5]) - 0.5
    smooth = np.asarray(cv2.GaussianBlur(corner, (0, 0), 0.3 * fine / scale), np.float32)  # no finer than it will be seen
    canvas = np.full((side, side, 3), ground, np.float32)
    cv2.warpAffine(smooth, from_patch, (side, side), canvas, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_TRANSPARENT)
    if chance is None:
        return np.clip(canvas, 0, 255).astype(np.uint8), to_px
    light = float(chance.uniform(0.55, 1.05)) * chance.uniform(0.93, 1.07, 3)
    slope = 1 + float(chance.uniform(0, 0.2)) * np.linspace(-1, 1, side)[:, None, None]
    seen = np.asarray(canvas * light * slope, np.float32)
    return sensor(seen, chance, float(chance.uniform(0.2, 0.7)), float(chance.uniform(1, 5)), int(chance.integers(75, 96))), to_px


def _turned(angle: float) -> Points:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _tile_at(tiles: list[_Tile], picture: Picture, corner: Corner) -> _Tile | None:
    """The tile in which a find lies."""
    across = int(np.ceil(np.sqrt(len(tiles))))
    side = picture.shape[1] // across
    place = int(corner.y // side) * across + int(corner.x // side)
    return tiles[place] if 0 <= place < len(tiles) else None


def _to_mm(tile: _Tile, corner: Corner) -> tuple[float, float]:
    x, y = np.linalg.solve(tile.to_px[:, :2], np.array([corner.x, corner.y]) - tile.to_px[:, 2])
    return float(x), float(y)


def _is_index(tile: _Tile, corner: Corner, index: Index) -> bool | None:
    """Whether a find is the corner's index; None where it is neither that nor plainly beside it."""
    up = tile.to_px[:, :2] @ np.array([0.0, -1.0])
    scale = float(np.hypot(*up))
    x, y = tile.to_px[:, :2] @ np.array([index.x, index.y]) + tile.to_px[:, 2]
    off = float(np.hypot(corner.x - x, corner.y - y)) / (index.height * scale)
    along = float(np.dot(up, corner.up)) / scale
    size = corner.height / (index.height * scale)
    if off < 0.25 and along > 0.9 and 0.7 < size < 1.4:
        return True
    return False if off > 0.45 or along < 0.3 else None
