"""Playing-card faces, drawn: rank and suit in the corners, between them pips or a court's stand-in, as varied as decks are.

A face is drawn by `draw_face` from a `FaceStyle` (measures in millimetres, colours blue-green-red) and from `Glyphs`, the
outlines of the ranks (`tablectl.felt.outlines`). Suits are curves of our own, or a font's where the set has them.

An *index* is rank over suit in a corner. `index_blocks` says where a face has them: that is what the reader learns to find.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card, Rank, Suit
from tablectl.felt.outlines import Glyphs, Points, shipped_glyphs, suit_outline

__all__ = [
    "Block",
    "FaceStyle",
    "Glyphs",
    "draw_face",
    "index_blocks",
    "random_style",
    "shipped_glyphs",
    "suit_lines",
    "suit_outline",
]

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]
RANKS = tuple(Rank)
SHIFT = 4  # cv2 draws to a sixteenth of a pixel

# Where the pips of a rank stand: columns -1, 0, 1 and rows from -1 (top) to 1.
THIRD = 1 / 3
PIPS: dict[str, list[tuple[float, float]]] = {
    "A": [(0, 0)],
    "2": [(0, -1), (0, 1)],
    "3": [(0, -1), (0, 0), (0, 1)],
    "4": [(-1, -1), (1, -1), (-1, 1), (1, 1)],
    "5": [(-1, -1), (1, -1), (0, 0), (-1, 1), (1, 1)],
    "6": [(-1, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (1, 1)],
    "7": [(-1, -1), (1, -1), (0, -0.5), (-1, 0), (1, 0), (-1, 1), (1, 1)],
    "8": [(-1, -1), (1, -1), (0, -0.5), (-1, 0), (1, 0), (0, 0.5), (-1, 1), (1, 1)],
    "9": [(-1, -1), (1, -1), (-1, -THIRD), (1, -THIRD), (0, 0), (-1, THIRD), (1, THIRD), (-1, 1), (1, 1)],
    "T": [
        (-1, -1),
        (1, -1),
        (0, -2 * THIRD),
        (-1, -THIRD),
        (1, -THIRD),
        (-1, THIRD),
        (1, THIRD),
        (0, 2 * THIRD),
        (-1, 1),
        (1, 1),
    ],
}


class FaceStyle(NamedTuple):
    """How one deck looks. Lengths in millimetres, colours blue-green-red from 0 to 255."""

    width: float = 63.0
    height: float = 88.0
    radius: float = 3.5
    paper: Colour = (250, 252, 252)
    black: Colour = (25, 22, 22)
    red: Colour = (40, 25, 205)
    diamond: Colour | None = None  # None: as hearts; four-colour decks have one of their own
    club: Colour | None = None  # None: as spades
    rank_height: float = 8.5
    rank_aspect: float = 1.0  # the glyphs' width is multiplied by this
    bold: float = 0.0  # the outline is thickened by so much
    ten_tight: float = 0.75  # how narrow the two digits of a ten are, of a single digit's width
    suit_height: float = 5.0
    gap: float = 1.2  # between rank and suit
    index_x: float = 5.2  # the index's middle, from the card's side
    index_y: float = 4.0  # the index's upper end, from the card's top
    four_indices: bool = False
    pip_height: float = 11.0
    pip_span: tuple[float, float] = (15.5, 29.0)  # half the distance of the outer columns, and of the outer rows
    lone_pip: bool = False  # one large pip for all ranks, as many jumbo decks have
    frame: Colour | None = None  # a line around the pips
    court_frame: tuple[float, float] = (10.0, 7.5)  # the court's frame, from side and top
    edge: Colour | None = None  # a line about the card, as some decks have
    font_suits: bool = False  # the suits of the font, where it has them
    plump: float = 0.5  # the shape of our own suits, 0 to 1
    seed: int = 0  # of the courts' stand-ins


class Block(NamedTuple):
    """One index on a face: its middle in mm from the face's upper left, its height and width in mm, whether upside down."""

    x: float
    y: float
    height: float
    width: float
    turned: bool


def _fill(image: Picture, lines: list[Points] | tuple[Points, ...], colour: Colour, *, apart: bool = False) -> None:
    """Fill outlines given in pixels; `apart`: each by itself, so that overlapping ones do not cut holes."""
    whole = [np.round(line * (1 << SHIFT)).astype(np.int32) for line in lines]
    for group in [[line] for line in whole] if apart else [whole]:
        cv2.fillPoly(image, group, colour, cv2.LINE_AA, SHIFT)


def colour_of(suit: Suit, style: FaceStyle) -> Colour:
    """The colour a deck prints a suit in."""
    if suit is Suit.DIAMONDS:
        return style.diamond or style.red
    if suit is Suit.CLUBS:
        return style.club or style.black
    return style.red if suit is Suit.HEARTS else style.black


def _rank_lines(rank: Rank, style: FaceStyle, glyphs: Glyphs) -> tuple[list[Points], float]:
    """The outlines of a rank as high as the style says, x about 0, y from 0; and their width. In mm."""
    if rank is Rank.TEN:
        one, nought = glyphs["1"], glyphs["0"]
        step = max(line[:, 0].max() for line in one) + 0.10
        lines = [line * (style.ten_tight, 1) for line in [*one, *(line + (step, 0) for line in nought)]]
    else:
        lines = list(glyphs[rank.value])
    lines = [line * (style.rank_height * style.rank_aspect, style.rank_height) for line in lines]
    left = min(line[:, 0].min() for line in lines)
    right = max(line[:, 0].max() for line in lines)
    return [line - ((left + right) / 2, 0) for line in lines], right - left


def suit_lines(suit: Suit, height: float, style: FaceStyle, glyphs: Glyphs) -> tuple[list[Points], bool]:
    """The outlines of a suit `height` mm high, x about 0, y from 0; and whether they are to be filled one by one."""
    if style.font_suits and suit.value in glyphs:
        return [line * height for line in glyphs[suit.value]], False
    return [line * height for line in suit_outline(suit, style.plump)], True


def index_blocks(card: Card, style: FaceStyle, glyphs: Glyphs) -> list[Block]:
    """Where the indices of a face are, the upper left one first."""
    assert card.rank is not None
    assert card.suit is not None
    _, wide = _rank_lines(card.rank, style, glyphs)
    lines, _ = suit_lines(card.suit, style.suit_height, style, glyphs)
    wide = max(wide + style.bold, 2 * max(abs(line[:, 0]).max() for line in lines))
    high = style.rank_height + style.gap + style.suit_height
    x, y = _index_x(card, style, glyphs), style.index_y + high / 2
    blocks = [Block(x, y, high, wide, False), Block(style.width - x, style.height - y, high, wide, True)]
    if style.four_indices:
        blocks += [Block(style.width - x, y, high, wide, False), Block(x, style.height - y, high, wide, True)]
    return blocks


def _index_x(card: Card, style: FaceStyle, glyphs: Glyphs) -> float:
    """The index's middle from the card's side: never so near that a wide ten would run over the edge."""
    assert card.rank is not None
    _, wide = _rank_lines(card.rank, style, glyphs)
    return max(style.index_x, wide / 2 + 1.2)


def draw_face(card: Card, style: FaceStyle, glyphs: Glyphs, px_per_mm: float) -> Picture:
    """The face of a card, `px_per_mm` large: rows, columns, and blue, green, red, opacity (0 beyond the round corners).

    `Card.UNREAD` draws a card's back.
    """
    width, height = round(style.width * px_per_mm), round(style.height * px_per_mm)
    image = np.empty((height, width, 3), np.uint8)
    image[:] = style.paper
    if card.rank is None or card.suit is None:
        _draw_back(image, style, px_per_mm)
    else:
        if card.rank.value in PIPS:
            _draw_pips(image, card, style, glyphs, px_per_mm)
        else:
            _draw_court(image, card, style, glyphs, px_per_mm)
        _draw_indices(image, card, style, glyphs, px_per_mm)
    if style.edge is not None:
        cv2.polylines(
            image,
            [_rim(height, width, style.radius * px_per_mm)],
            True,
            style.edge,
            max(1, round(0.5 * px_per_mm)),
            cv2.LINE_AA,
            SHIFT,
        )
    return np.dstack([image, _card_mask(height, width, style.radius * px_per_mm)])


def _card_mask(height: int, width: int, radius: float) -> Picture:
    """255 on the card, 0 beyond its round corners."""
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [_rim(height, width, radius)], (255,), cv2.LINE_AA, SHIFT)
    return mask


def _rim(height: int, width: int, radius: float) -> NDArray[np.int32]:
    """The outline of a card with round corners, in sixteenths of a pixel."""
    t = np.linspace(0, np.pi / 2, 8)
    corner = np.stack([1 - np.cos(t), 1 - np.sin(t)], 1) * radius
    top = np.concatenate([corner, corner[::-1] * (-1, 1) + (width - 1, 0)])
    outline = np.concatenate([top, top[::-1] * (1, -1) + (0, height - 1)])
    return np.round(outline * (1 << SHIFT)).astype(np.int32)


def _draw_indices(image: Picture, card: Card, style: FaceStyle, glyphs: Glyphs, scale: float) -> None:
    """Rank and suit in the corners; the lower ones by drawing on the picture turned round."""
    assert card.rank is not None
    assert card.suit is not None
    colour = colour_of(card.suit, style)
    rank, _ = _rank_lines(card.rank, style, glyphs)
    suit, apart = suit_lines(card.suit, style.suit_height, style, glyphs)
    x = _index_x(card, style, glyphs)
    for turned in (False, True):
        canvas = np.ascontiguousarray(image[::-1, ::-1]) if turned else image
        for middle in (x, style.width - x) if style.four_indices else (x,):
            lines = [(line + (middle, style.index_y)) * scale for line in rank]
            _fill(canvas, lines, colour)
            if style.bold:
                whole = [np.round(line * (1 << SHIFT)).astype(np.int32) for line in lines]
                cv2.polylines(canvas, whole, True, colour, max(1, round(style.bold * scale)), cv2.LINE_AA, SHIFT)
            below = style.index_y + style.rank_height + style.gap
            _fill(canvas, [(line + (middle, below)) * scale for line in suit], colour, apart=apart)
        if turned:
            image[:] = canvas[::-1, ::-1]


def _draw_pips(image: Picture, card: Card, style: FaceStyle, glyphs: Glyphs, scale: float) -> None:
    """The pips of a plain card, the lower half upside down, and perhaps a line around them."""
    assert card.rank is not None
    assert card.suit is not None
    if style.frame is not None:
        x, y = style.court_frame
        corners = np.array([(x, y), (style.width - x, style.height - y)]) * scale
        (a, b), (c, d) = np.round(corners * (1 << SHIFT)).astype(int)
        cv2.rectangle(image, (int(a), int(b)), (int(c), int(d)), style.frame, max(1, round(0.3 * scale)), cv2.LINE_AA, SHIFT)
    colour = colour_of(card.suit, style)
    places = [(0.0, 0.0)] if style.lone_pip else PIPS[card.rank.value]
    for column, row in places:
        size = style.pip_height * (2.4 if style.lone_pip else 1.7 if card.rank is Rank.ACE else 1.0)
        lines, apart = suit_lines(card.suit, size, style, glyphs)
        flip = -1 if row > 0 else 1
        x = style.width / 2 + column * style.pip_span[0]
        y = style.height / 2 + row * style.pip_span[1]
        _fill(image, [((line - (0, size / 2)) * flip + (x, y)) * scale for line in lines], colour, apart=apart)


def _draw_court(image: Picture, card: Card, style: FaceStyle, glyphs: Glyphs, scale: float) -> None:
    """A stand-in for a court: a frame, a figure of coloured pieces that is the same upside down, a pip beside the index."""
    assert card.rank is not None
    assert card.suit is not None
    chance = np.random.default_rng([style.seed, RANKS.index(card.rank), ord(card.suit.value)])
    x, y = style.court_frame
    left, top, right, bottom = (round(v * scale) for v in (x, y, style.width - x, style.height - y))
    inner = image[top:bottom, left:right]
    high, wide = inner.shape[:2]
    inks = [
        (30, 200, 240),
        (40, 30, 200),
        (160, 80, 30),
        (20, 20, 20),
        (200, 160, 60),
        (120, 180, 240),
        (60, 120, 60),
        style.paper,
    ]
    figure = inner.copy()
    for _ in range(int(chance.integers(8, 40))):
        ink = inks[int(chance.integers(len(inks)))]
        middle = np.array([chance.normal(0.5, 0.18) * wide, chance.uniform(0, 0.5) * high])
        size = chance.uniform(0.04, 0.28) * wide
        kind = int(chance.integers(4))
        if kind == 0:
            axes = (size, size * chance.uniform(0.3, 1))
            cv2.ellipse(figure, ((float(middle[0]), float(middle[1])), axes, float(chance.uniform(0, 180))), ink, -1, cv2.LINE_AA)
        elif kind == 1:
            spokes = np.sort(chance.uniform(0, 2 * np.pi, int(chance.integers(3, 7))))
            _fill(figure, [middle + size * np.stack([np.cos(spokes), np.sin(spokes)], 1)], ink)
        else:
            slope = chance.uniform(-1, 1, 2) * size * 2
            ends = np.round(np.array([middle - slope, middle + slope])).astype(int)
            cv2.line(
                figure,
                tuple(map(int, ends[0])),
                tuple(map(int, ends[1])),
                ink,
                max(1, round(chance.uniform(0.3, 2.5) * scale)),
                cv2.LINE_AA,
            )
    size = min(style.pip_height, 0.3 * wide / scale)
    lines, apart = suit_lines(card.suit, size, style, glyphs)
    _fill(figure, [(line + (size * 0.6, size * 0.1)) * scale for line in lines], colour_of(card.suit, style), apart=apart)
    half = high // 2
    inner[:half] = figure[:half]
    inner[high - half :] = figure[:half][::-1, ::-1]
    line = style.frame or (inks[2] if chance.random() < 0.6 else None)
    if line is not None:
        cv2.rectangle(image, (left, top), (right, bottom), line, max(1, round(0.3 * scale)), cv2.LINE_AA)


def _draw_back(image: Picture, style: FaceStyle, scale: float) -> None:
    """A back: a border of paper around a lattice."""
    edge = round(4 * scale)
    inner = image[edge:-edge, edge:-edge]
    inner[:] = (150, 60, 30) if style.seed % 2 else (40, 30, 170)
    for start in range(-inner.shape[0], inner.shape[1], max(4, round(3.5 * scale))):
        for way in (1, -1):
            foot = start if way == 1 else inner.shape[1] - start
            cv2.line(
                inner,
                (foot, 0),
                (foot + way * inner.shape[0], inner.shape[0]),
                style.paper,
                max(1, round(0.5 * scale)),
                cv2.LINE_AA,
            )


def random_style(chance: np.random.Generator) -> FaceStyle:
    """A deck's look drawn by chance, from the narrow bridge card with small indices to the jumbo one, in two or four colours."""
    jumbo = chance.random() < 0.42
    rank = chance.uniform(9.5, 17.0) if jumbo else chance.uniform(6.0, 10.0)
    suit = rank * (chance.uniform(0.45, 0.95) if jumbo else chance.uniform(0.48, 0.85))
    aspect = float(chance.uniform(0.62, 1.2))
    middle = max(rank * 0.36 * aspect, suit * 0.5) + chance.uniform(0.8, 2.8)
    dark = int(chance.integers(0, 60))
    black = tuple(int(np.clip(dark + chance.integers(-12, 25), 0, 255)) for _ in range(3))
    four = chance.random() < 0.15
    paper = int(chance.integers(225, 256))
    frame = (int(chance.integers(60, 220)), int(chance.integers(30, 180)), int(chance.integers(0, 160)))
    return FaceStyle(
        width=float(chance.choice([57.0, 62.0, 63.0, 63.5])),
        height=float(chance.uniform(86.5, 89.5)),
        radius=float(chance.uniform(2.5, 4.5)),
        paper=(
            int(np.clip(paper + chance.integers(-14, 6), 0, 255)),
            paper,
            int(np.clip(paper + chance.integers(-4, 6), 0, 255)),
        ),
        black=black,  # type: ignore[arg-type]
        red=(int(chance.integers(10, 85)), int(chance.integers(5, 70)), int(chance.integers(165, 245))),
        diamond=(int(chance.integers(150, 230)), int(chance.integers(50, 120)), int(chance.integers(0, 60))) if four else None,
        club=(int(chance.integers(20, 70)), int(chance.integers(95, 150)), int(chance.integers(0, 60))) if four else None,
        rank_height=float(rank),
        rank_aspect=aspect,
        bold=float(chance.uniform(0.1, 0.07 * rank)) if chance.random() < 0.35 else 0.0,
        ten_tight=float(chance.uniform(0.55, 0.9)),
        suit_height=float(suit),
        gap=float(chance.uniform(0.3, 4.0 if jumbo else 2.4)),
        index_x=float(middle),
        index_y=float(chance.uniform(2.2, 5.5)),
        four_indices=chance.random() < 0.12,
        pip_height=float(chance.uniform(7.5, 14.0)),
        pip_span=(float(chance.uniform(10.5, 18.0)), float(chance.uniform(22.0, 34.0))),
        lone_pip=jumbo and chance.random() < 0.35,
        frame=frame if chance.random() < 0.3 else None,
        court_frame=(float(chance.uniform(6.0, 15.0)), float(chance.uniform(1.5, 14.0))),
        edge=(dark, dark, dark) if chance.random() < 0.2 else None,
        font_suits=chance.random() < 0.5,
        plump=float(round(chance.uniform(0, 1), 1)),
        seed=int(chance.integers(1 << 30)),
    )
