"""The plain reader to compare with: outlines of white quadrilaterals, and templates of rank and suit in their upper corner.

What a weekend's project does, made with care: threshold, contours, four corners, the card set upright, its index compared with
templates drawn from the outlines that come with the package. It sees nothing of a card that another one covers.
"""

from __future__ import annotations

from itertools import product

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card, Rank, Suit
from tablectl.felt.faces import FaceStyle, Glyphs, draw_face, shipped_glyphs

__all__ = ["Baseline"]

Picture = NDArray[np.uint8]
SCALE = 6.0  # px/mm of the card set upright
GLYPH = (40, 60)
LEAST = 0.62  # the lowest correlation that is told


class Baseline:
    """Templates, made once."""

    def __init__(self) -> None:
        self.ranks: list[tuple[Rank, NDArray[np.float32]]] = []
        self.suits: list[tuple[Suit, NDArray[np.float32]]] = []
        for glyphs, aspect, plump in product(shipped_glyphs(), (0.75, 1.0), (0.3, 0.7)):
            style = FaceStyle(rank_aspect=aspect, plump=plump, gap=2.0)
            self.ranks += [(rank, _first(_corner_of(Card(rank.value + "S"), style, glyphs), 0)) for rank in Rank]
            self.suits += [(suit, _first(_corner_of(Card("2" + suit.value), style, glyphs), 1)) for suit in Suit]

    def read(self, picture: Picture) -> list[Card]:
        """The cards that are seen whole."""
        found = []
        for card in _cards(picture):
            best: tuple[float, Card] | None = None
            for turned in (card, np.ascontiguousarray(card[::-1, ::-1])):
                told = self._index(turned)
                if told is not None and (best is None or told[0] > best[0]):
                    best = told
            if best is not None:
                found.append(best[1])
        return found

    def _index(self, card: Picture) -> tuple[float, Card] | None:
        corner = card[: round(36 * SCALE), : round(15 * SCALE)]
        ink = _ink(corner)
        pieces = _pieces(ink)
        if len(pieces) < 2:
            return None
        rank_score, rank = max(((_alike(pieces[0], t), r) for r, t in self.ranks), key=lambda pair: pair[0])
        hue = cv2.cvtColor(corner, cv2.COLOR_BGR2HSV)
        red = float(np.median(hue[..., 1][ink > 0])) > 90
        allowed = (Suit.HEARTS, Suit.DIAMONDS) if red else (Suit.CLUBS, Suit.SPADES)
        suit_score, suit = max(((_alike(pieces[1], t), s) for s, t in self.suits if s in allowed), key=lambda pair: pair[0])
        score = min(rank_score, suit_score)
        return (score, Card(rank.value + suit.value)) if score >= LEAST else None


def _cards(picture: Picture) -> list[Picture]:
    """White quadrilaterals of a card's shape, set upright."""
    grey = cv2.GaussianBlur(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), (5, 5), 0)
    _, white = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    outlines, _ = cv2.findContours(white, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)
    made: list[Picture] = []
    for outline in outlines:
        area = cv2.contourArea(outline)
        if not 900 < area < 0.5 * grey.size:
            continue
        quad = cv2.approxPolyDP(outline, 0.03 * cv2.arcLength(outline, True), True).reshape(-1, 2).astype(np.float32)
        if len(quad) != 4 or not cv2.isContourConvex(quad.astype(np.int32)):
            continue
        if cv2.contourArea(quad, oriented=True) < 0:
            quad = np.ascontiguousarray(quad[::-1])
        sides = [float(np.hypot(*(quad[(i + 1) % 4] - quad[i]))) for i in range(4)]
        across, down = (sides[0] + sides[2]) / 2, (sides[1] + sides[3]) / 2
        if across > down:
            quad, across, down = np.roll(quad, -1, 0), down, across
        if not 1.1 < down / max(across, 1) < 1.9:
            continue
        wide, high = 63 * SCALE, 88 * SCALE
        goal = np.array([(0, 0), (wide, 0), (wide, high), (0, high)], np.float32)
        made.append(
            np.asarray(
                cv2.warpPerspective(picture, cv2.getPerspectiveTransform(quad, goal), (round(wide), round(high))), np.uint8
            )
        )
    return made


def _ink(corner: Picture) -> Picture:
    """255 where a corner is printed."""
    low = corner.min(axis=2)
    _, ink = cv2.threshold(low, 0, 255, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)
    ink[: round(1.2 * SCALE)] = 0
    ink[:, : round(0.9 * SCALE)] = 0
    return np.asarray(ink, np.uint8)


def _pieces(ink: Picture) -> list[NDArray[np.float32]]:
    """The printed pieces of a corner from the top, those side by side (a ten) as one, each brought to one size."""
    count, _, stats, _ = cv2.connectedComponentsWithStats(ink)
    boxes = sorted(
        (int(t), int(x), int(x + w), int(t + h))
        for x, t, w, h, area in stats[1:count]
        if area > 6 * SCALE and h > 2 * SCALE and x < 8.5 * SCALE and x + w < ink.shape[1]
    )
    joined: list[tuple[int, int, int, int]] = []
    for top, left, right, bottom in boxes:
        if joined and top < joined[-1][3] - 2 * SCALE:
            t, x, r, b = joined[-1]
            joined[-1] = (min(t, top), min(x, left), max(r, right), max(b, bottom))
        else:
            joined.append((top, left, right, bottom))
    return [np.asarray(cv2.resize(ink[t:b, x:r], GLYPH, interpolation=cv2.INTER_AREA), np.float32) for t, x, r, b in joined]


def _corner_of(card: Card, style: FaceStyle, glyphs: Glyphs) -> Picture:
    face = draw_face(card, style, glyphs, SCALE)
    return np.ascontiguousarray(face[: round(36 * SCALE), : round(15 * SCALE), :3])


def _first(corner: Picture, place: int) -> NDArray[np.float32]:
    return _pieces(_ink(corner))[place]


def _alike(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """The correlation of two glyphs."""
    return float(cv2.matchTemplate(one, other, cv2.TM_CCOEFF_NORMED)[0, 0])
