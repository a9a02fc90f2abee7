"""Decks in as many looks as chance can make of free fonts: letters thinned, fattened, slanted and worn, suits of many shapes.

A font's outlines are drawn, worked on as a picture, and traced again. `random_deck` makes one deck for the reader's lessons.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card, Suit
from tablectl.felt.faces import FaceStyle, Glyphs, random_style, suit_lines
from tablectl.felt.scene import Deck
from training.fonts import outlines, trade_queen

__all__ = ["random_deck"]

Points = NDArray[np.float64]
TRIES = 20
CLUB_AND_SPADE, HEART_AND_DIAMOND = 0.968, 0.88  # how like each other the shapes of a colour may be, blurred
LEAST_INK = 0.62  # of a letter's, that thinning leaves it
DRAWN = 128  # pixels of a capital's height while it is worked on
RIM = 40


def random_deck(chance: np.random.Generator, fonts: list[Path], *, clear: bool = False) -> Deck:
    """A deck drawn by chance in one of the fonts, each family as often as the others; its suits can be told apart.

    `clear`: nor do its pips and courts run into its indices, as no card maker lets them.
    """
    for _ in range(TRIES):
        deck = _any_deck(chance, fonts)
        if _told_apart(deck) and not (clear and _crowded(deck)):
            break
    return deck


def _any_deck(chance: np.random.Generator, fonts: list[Path]) -> Deck:
    families: dict[str, list[Path]] = {}
    for path in fonts:
        families.setdefault(path.stem.split("-")[0], []).append(path)
    family = families[sorted(families)[int(chance.integers(len(families)))]]
    glyphs = outlines(family[int(chance.integers(len(family)))])
    assert glyphs is not None
    made: Glyphs = dict(glyphs)
    if chance.random() < 0.35:
        made["Q"] = trade_queen(chance)
    if chance.random() < 0.65:
        made = _worked(made, chance)
    style = random_style(chance)
    kind = chance.random()
    if kind < 0.4:
        made.update(_suits(chance))
        style = style._replace(font_suits=True)
    return Deck(_wider(style, chance), made)


def _told_apart(deck: Deck) -> bool:
    """Whether the two suits of each colour differ enough for an eye."""
    shapes = {suit: _blurred(deck, suit) for suit in Suit}
    pairs = ((Suit.CLUBS, Suit.SPADES, CLUB_AND_SPADE), (Suit.HEARTS, Suit.DIAMONDS, HEART_AND_DIAMOND))
    return all(_alike(shapes[one], shapes[other]) <= most for one, other, most in pairs)


def _blurred(deck: Deck, suit: Suit) -> NDArray[np.float32]:
    """A suit as a camera far away sees it."""
    lines, apart = suit_lines(suit, 48.0, deck.style, deck.glyphs)
    canvas = np.zeros((56, 88), np.uint8)
    whole = [np.round((line + np.array((44, 4))) * 16).astype(np.int32) for line in lines]
    for group in [[line] for line in whole] if apart else [whole]:
        cv2.fillPoly(canvas, group, (255,), cv2.LINE_AA, 4)
    return np.asarray(cv2.GaussianBlur(canvas.astype(np.float32), (0, 0), 2.2), np.float32)


def _alike(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float((one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum()))


def _crowded(deck: Deck) -> bool:
    """Whether pips or a court's frame run into the index of a ten, the widest."""
    style = deck.style
    x, _, _, wide, _ = deck.blocks(Card.ST)[0]
    pips = style.width / 2 - style.pip_span[0] - 0.5 * style.pip_height
    return x + wide / 2 > min(pips, style.court_frame[0] + 0.5)


def _wider(style: FaceStyle, chance: np.random.Generator) -> FaceStyle:
    """The style with tens as tight, and indices as high, narrow and far from their suit as some makers have them."""
    style = style._replace(ten_tight=float(chance.uniform(0.42, 0.95)))
    if chance.random() < 0.3:  # tall and narrow
        rank = float(chance.uniform(9.0, 15.0))
        suit = rank * float(chance.uniform(0.4, 0.75))
        aspect = float(chance.uniform(0.5, 0.85))
        middle = max(rank * 0.36 * aspect, suit * 0.5) + float(chance.uniform(0.8, 2.4))
        style = style._replace(
            rank_height=rank, suit_height=suit, rank_aspect=aspect, index_x=middle, gap=float(chance.uniform(0.8, 4.0)), bold=0.0
        )
    if chance.random() < 0.25:
        dark = int(chance.integers(0, 90))
        style = style._replace(edge=(dark, dark, dark))
    return style


def _drawn(lines: list[Points]) -> tuple[NDArray[np.uint8], float]:
    """A glyph as a picture, and where its left side stands in it."""
    points = np.concatenate(lines)
    left = float(points[:, 0].min())
    size = np.ceil((points.max(0) - (left, 0)) * DRAWN).astype(int) + 2 * RIM
    canvas = np.zeros((max(int(size[1]), DRAWN + 2 * RIM), int(size[0])), np.uint8)
    whole = [np.round(((line - (left, 0)) * DRAWN + RIM) * 16).astype(np.int32) for line in lines]
    cv2.fillPoly(canvas, whole, (255,), cv2.LINE_AA, 4)
    return canvas, left


def _traced(canvas: NDArray[np.uint8]) -> list[Points]:
    """The outlines in a picture, in its pixels."""
    _, plain = cv2.threshold(canvas, 127, 255, cv2.THRESH_BINARY)
    found, _ = cv2.findContours(plain, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_TC89_L1)
    return [line.reshape(-1, 2).astype(float) for line in found if len(line) > 2]


def _worked(glyphs: Glyphs, chance: np.random.Generator) -> Glyphs:
    """The ranks with another weight, slant, and corners, all in the same way; as they were where one of them would suffer."""
    grow = round(float(chance.choice([0, chance.uniform(2, 9), -chance.uniform(2, 5)], p=[0.3, 0.4, 0.3])))
    kernel = None
    if grow:
        across, along = (max(1, abs(grow) + int(v)) for v in chance.integers(-2, 3, 2))
        kernel = cv2.getStructuringElement(
            int(chance.choice([cv2.MORPH_ELLIPSE, cv2.MORPH_RECT])), (2 * across + 1, 2 * along + 1)
        )
        kernel = kernel[:: 2 if abs(grow) < 3 else 1, :: 2 if abs(grow) < 3 else 1]
    slant = float(chance.uniform(-0.08, 0.22)) if chance.random() < 0.2 else 0.0
    worn = float(chance.uniform(2, 6)) if chance.random() < 0.3 else 0.0
    made = dict(glyphs)
    for name, lines in glyphs.items():
        if name in "CDHS":
            continue
        canvas, left = _drawn(lines)
        before = _pieces(canvas)
        if kernel is not None:
            canvas = np.asarray((cv2.dilate if grow > 0 else cv2.erode)(canvas, kernel), np.uint8)
        if worn:
            canvas = np.asarray(cv2.GaussianBlur(canvas, (0, 0), worn), np.uint8)
        after = _pieces(canvas)
        if after[:2] != before[:2] or after[2] < LEAST_INK * before[2]:
            return glyphs  # a stroke is lost or a hole has closed
        traced = _traced(canvas)
        points = np.concatenate(traced)
        top = min(float(points[:, 1].min()), RIM)
        high = DRAWN + 2 * (RIM - top)
        made[name] = [
            np.stack([(line[:, 0] - RIM) / high + left + slant * (1 - (line[:, 1] - top) / high), (line[:, 1] - top) / high], 1)
            for line in traced
        ]
    return made


def _pieces(canvas: NDArray[np.uint8]) -> tuple[int, int, int]:
    """Of a glyph: its pieces, its holes, its ink in pixels."""
    _, plain = cv2.threshold(canvas, 127, 255, cv2.THRESH_BINARY)
    found, tree = cv2.findContours(plain, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    if tree is None:
        return 0, 0, 0
    outer = [bool(node[3] < 0) for line, node in zip(found, tree[0], strict=True) if cv2.contourArea(line) > 12]
    return sum(outer), len(outer) - sum(outer), int((plain > 0).sum())


def _suits(chance: np.random.Generator) -> Glyphs:
    """The four suits in shapes of this deck's own, in a box 1 high, x about 0."""
    heart = _heart(chance)
    rise = float(chance.uniform(0.74, 0.92))
    spade = np.stack([heart[:, 0], (1 - heart[:, 1]) * rise], 1)
    wide = float(chance.uniform(0.27, 0.5))
    hollow = float(chance.uniform(-0.04, 0.16))
    corners = np.array([(0, 0), (wide, 0.5), (0, 1), (-wide, 0.5)])
    diamond = np.concatenate([_bow(corners[i], corners[(i + 1) % 4], hollow) for i in range(4)])
    size, out, low = chance.uniform(0.2, 0.27), chance.uniform(0.21, 0.3), chance.uniform(0.5, 0.64)
    turn = np.linspace(0, 2 * np.pi, 40)
    circle = np.stack([np.cos(turn), np.sin(turn)], 1) * size
    fill = np.array([(-0.13, 0.36), (0.13, 0.36), (0.13, low), (-0.13, low)])
    club = [*(circle + np.array(middle) for middle in ((0, size), (-out, low), (out, low))), fill, _foot(chance)]
    shapes = {"S": [spade, _foot(chance)], "H": [heart], "D": [diamond], "C": club}
    return {name: _one(lines, chance) for name, lines in shapes.items()}


def _one(lines: list[Points], chance: np.random.Generator) -> list[Points]:
    """Overlapping outlines made one, a little wider or narrower, its corners perhaps rounded, in a box 1 high about x = 0."""
    canvas = np.zeros((DRAWN + 2 * RIM, 2 * DRAWN), np.uint8)
    widen = float(chance.uniform(0.88, 1.12))
    for line in lines:
        whole = np.round((line * (DRAWN * widen, DRAWN) + (DRAWN, RIM)) * 16).astype(np.int32)
        cv2.fillPoly(canvas, [whole], (255,), cv2.LINE_8, 4)
    if chance.random() < 0.4:
        canvas = np.asarray(cv2.GaussianBlur(canvas, (0, 0), float(chance.uniform(1.5, 5))), np.uint8)
    traced = _traced(canvas)
    points = np.concatenate(traced)
    top, foot = float(points[:, 1].min()), float(points[:, 1].max())
    return [(line - (DRAWN, top)) / (foot - top) for line in traced]


def _bow(start: Points, end: Points, hollow: float) -> Points:
    """A side of a diamond, bent inwards by `hollow` (below 0: outwards)."""
    t = np.linspace(0, 1, 10)[:, None]
    towards = np.array((0, 0.5)) - (start + end) / 2
    return start + (end - start) * t + towards * (8 * t * (1 - t) * hollow)


def _curve(a: Points, b: Points, c: Points, d: Points) -> Points:
    t = np.linspace(0, 1, 24)[:, None]
    return (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d


def _heart(chance: np.random.Generator) -> Points:
    """A heart of two curves a side, 1 high."""
    wide, cleft, hip = chance.uniform(0.4, 0.56), chance.uniform(0.1, 0.32), chance.uniform(0.3, 0.48)
    point = np.array
    top = _curve(
        point((0.0, cleft)),
        point((wide * chance.uniform(0.0, 0.35), -chance.uniform(0.1, 0.3))),
        point((wide * chance.uniform(0.9, 1.1), -chance.uniform(0.0, 0.2))),
        point((wide, hip)),
    )
    side = _curve(
        point((wide, hip)),
        point((wide * chance.uniform(0.95, 1.0), hip + chance.uniform(0.1, 0.3))),
        point((wide * chance.uniform(0.02, 0.4), 1 - chance.uniform(0.08, 0.3))),
        point((0.0, 1.0)),
    )
    half = np.concatenate([top, side])
    low, high = half[:, 1].min(), half[:, 1].max()
    half[:, 1] = (half[:, 1] - low) / (high - low)
    return np.concatenate([half, half[::-1] * (-1, 1)])


def _foot(chance: np.random.Generator) -> Points:
    """The foot of spade or club: straight or flared."""
    t = np.linspace(0, 1, 12)
    thin, broad = chance.uniform(0.02, 0.06), chance.uniform(0.1, 0.27)
    side = np.stack([thin + (broad - thin) * t ** chance.uniform(1, 4), 0.5 + 0.5 * t], 1)
    return np.concatenate([side, side[::-1] * (-1, 1)])
