"""Scenes to learn from: hands of cards on felts and other grounds, as cameras of all sorts would see them.

`scene(seed, ...)` draws one, the same for the same seed: the picture at about 2 px/mm (what the finder works at), and a row of
figures for each index in it: see `COLUMNS`.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import PACK, Card
from tablectl.felt.faces import random_style
from tablectl.felt.scene import (
    Deck,
    Laid,
    Sight,
    draw_chip,
    draw_hand,
    exposed,
    glare,
    lay_cards,
    sensor,
    smooth_field,
    view,
    woven,
)
from training.fonts import outlines, trade_queen

__all__ = ["COLUMNS", "SIZE", "as_seen", "as_seen_over_table", "ground", "hands", "labels", "scene"]

SIZE = 320
COLUMNS = ("x", "y", "up_x", "up_y", "height", "width", "rank", "suit", "rank_seen", "suit_seen")
Picture = NDArray[np.uint8]
Rows = NDArray[np.float32]


def hands(chance: np.random.Generator, spread: float) -> list[Laid]:
    """A few hands about the origin, within `spread` mm: staggered, fanned, in a row, apart, now and then one card crosswise."""
    laid: list[Laid] = []
    for _ in range(int(chance.choice([1, 2, 3], p=[0.45, 0.4, 0.15]))):
        x, y = chance.uniform(-spread, spread, 2)
        angle = float(chance.uniform(0, 360))
        count = int(chance.choice([1, 2, 3, 4, 5, 6], p=[0.2, 0.3, 0.2, 0.14, 0.1, 0.06]))
        kind = int(chance.integers(4))
        step = (
            (chance.uniform(8, 24), chance.choice([-1, 1]) * chance.uniform(6, 26))
            if kind == 0
            else (chance.uniform(11, 30), 0.0)
        )
        if kind == 3:
            step = (chance.uniform(55, 80), chance.uniform(-15, 15))
        if chance.random() < 0.25:
            step = (-step[0], step[1])
        turn = chance.uniform(6, 22) if kind == 1 else 0.0
        cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        for place in range(count):
            u = step[0] * place + chance.normal(0, 1.5)
            v = step[1] * place + chance.normal(0, 1.5) + (abs(place - count / 2) ** 2 * turn * 0.12)
            own = angle + turn * (place - count / 2) + chance.normal(0, 2.5 if kind != 3 else 12)
            if place and chance.random() < 0.06:
                own += 90
            card = Card.UNREAD if chance.random() < 0.05 else PACK[int(chance.integers(52))]
            laid.append(
                Laid(card, float(x + u * cos - v * sin), float(y + u * sin + v * cos), float(own + 180 * (chance.random() < 0.3)))
            )
    return laid


def ground(chance: np.random.Generator, size: int = SIZE) -> Picture:
    """What the cards lie on, `size` pixels a side: mostly a felt, else wood, carpet, stripes."""
    kind = chance.random()
    if kind < 0.6:
        base = [(60, 95, 25), (40, 110, 20), (110, 60, 20), (40, 25, 110), (50, 50, 45), (90, 90, 30)][int(chance.integers(6))]
        colour = tuple(float(v * chance.uniform(0.5, 1.3)) for v in base)
        image = woven(chance, (size, size), colour, float(chance.uniform(0.5, 6)))  # type: ignore[arg-type]
    else:
        colour = tuple(float(v) for v in chance.uniform(15, 225, 3) * (0.4 + 0.6 * chance.random()))
        image = woven(chance, (size, size), colour, float(chance.uniform(1, 22)))  # type: ignore[arg-type]
        if kind > 0.75:  # grain or stripes
            stretch = (int(chance.integers(2, 12)), int(chance.integers(20, 80)))
            grain = cv2.resize(chance.normal(0, 1, (size // stretch[0], size // stretch[1] + 2)).astype(np.float32), (size, size))
            grain = np.ascontiguousarray(grain.T) if chance.random() < 0.5 else grain
            image = np.clip(image + grain[..., None] * chance.uniform(5, 60) * chance.uniform(0.5, 1, 3), 0, 255).astype(np.uint8)
    if chance.random() < 0.5:  # print on the felt
        for _ in range(int(chance.integers(1, 6))):
            ink = tuple(int(v) for v in chance.uniform(0, 255, 3)) if chance.random() < 0.5 else (220, 230, 235)
            at = tuple(int(v) for v in chance.integers(0, size, 2))
            thick = int(chance.integers(1, 5))
            if chance.random() < 0.5:
                cv2.ellipse(
                    image,
                    at,
                    tuple(int(v) for v in chance.integers(20, 250, 2)),
                    float(chance.uniform(0, 180)),
                    0,
                    360,
                    ink,
                    thick,
                    cv2.LINE_AA,
                )
            else:
                words = str(
                    chance.choice(["BLACKJACK", "PAYS 3 TO 2", "INSURANCE", "17", "2 TO 1", "A K Q J", "10", "9", "DEALER"])
                )
                layer = np.zeros_like(image)
                cv2.putText(
                    layer,
                    words,
                    at,
                    int(chance.integers(0, 8)),
                    float(chance.uniform(0.5, 2)),
                    (255, 255, 255),
                    thick,
                    cv2.LINE_AA,
                )
                turn = cv2.getRotationMatrix2D((size / 2, size / 2), float(chance.uniform(0, 360)), 1)
                image = np.where(cv2.warpAffine(layer, turn, (size, size)) > 127, np.array(ink, np.uint8), image)
    return np.ascontiguousarray(image)


def scene(seed: int, fonts: list[Path], decks: list[Deck] | None = None) -> tuple[Picture, Rows]:
    """The scene of a seed: a picture of SIZE x SIZE and its indices. `decks`, where given, are drawn from as well as `fonts`."""
    chance = np.random.default_rng([seed, 5])
    if decks and chance.random() < 0.2:
        deck = decks[int(chance.integers(len(decks)))]
    else:
        glyphs = outlines(fonts[int(chance.integers(len(fonts)))])
        assert glyphs is not None
        if chance.random() < 0.5:
            glyphs = {**glyphs, "Q": trade_queen(chance)}
        deck = Deck(random_style(chance), glyphs)
    scale = float(np.exp(chance.uniform(np.log(1.45), np.log(2.9))))
    camera = view(
        scale,
        (0.0, 0.0),
        (SIZE, SIZE),
        float(chance.uniform(0, 360)),
        min(48.0, abs(float(chance.normal(0, 20)))),
        float(chance.uniform(600, 2500)),
    )
    spread = SIZE / scale * 0.42
    cards = hands(chance, spread) if chance.random() < 0.96 else []
    image = ground(chance)
    for _ in range(int(chance.integers(0, 4)) if chance.random() < 0.5 else 0):
        draw_chip(image, None, chance, tuple(chance.uniform(0, SIZE, 2)), 20 * scale)
    owner = lay_cards(image, cards, deck, camera, face_scale=round(scale * 1.15 * 4) / 4, shadow=float(chance.uniform(0, 0.6)))
    for _ in range(int(chance.integers(1, 3)) if chance.random() < 0.25 else 0):
        draw_chip(image, owner, chance, tuple(chance.uniform(0, SIZE, 2)), 20 * scale)
    if chance.random() < 0.18:
        draw_hand(image, owner, chance, tuple(chance.uniform(0, SIZE, 2)), scale)
    return as_seen(image, chance), labels(exposed(cards, deck, camera, owner))


def labels(sights: list[Sight]) -> Rows:
    """The figures of each index in a picture: a row an index, by `COLUMNS`."""
    return np.array(
        [
            (s.x, s.y, *s.up, s.height, s.width, PACK.index(s.card) % 13, PACK.index(s.card) // 13, s.rank_seen, s.suit_seen)
            for s in sights
        ],
        np.float32,
    ).reshape(-1, len(COLUMNS))


def as_seen(image: Picture, chance: np.random.Generator) -> Picture:
    """The picture through light, lens, sensor and compression, at a resolution that may be lower than the scene's."""
    size = image.shape[0]
    light = smooth_field(chance, image.shape[:2], int(chance.integers(2, 5)), float(chance.uniform(0.35, 1.0)), 1.1)[..., None]
    colour = chance.uniform(0.85, 1.15, 3).astype(np.float32)
    seen = (
        255
        * (image.astype(np.float32) / 255) ** np.float32(chance.uniform(0.75, 1.4))
        * light
        * colour
        * np.float32(chance.uniform(0.7, 1.25))
    )
    if chance.random() < 0.3:
        glare(seen, chance, tuple(chance.uniform(0, size, 2)), float(chance.uniform(30, 150)), float(chance.uniform(30, 170)))
    if chance.random() < 0.3:  # a shadow with an edge
        edge = np.zeros(image.shape[:2], np.float32)
        cv2.fillPoly(edge, [chance.integers(-80, size + 80, (4, 2)).astype(np.int32)], (1.0,))
        seen *= (
            1 - np.float32(chance.uniform(0.2, 0.65)) * cv2.GaussianBlur(edge, (0, 0), float(chance.uniform(1, 12)))[..., None]
        )
    if chance.random() < 0.25:  # less colour, as cheap cameras see
        grey = seen.mean(2, keepdims=True)
        seen = grey + (seen - grey) * np.float32(chance.uniform(0.3, 1.2))
    seen += np.float32(chance.uniform(0, 25))
    lower = float(chance.uniform(0.62, 1.0)) if chance.random() < 0.5 else 1.0
    if lower < 0.97:
        small = max(8, round(size * lower))
        seen = cv2.resize(seen, (small, small), interpolation=cv2.INTER_AREA)
    blur = float(chance.uniform(0, 1.0)) if chance.random() < 0.7 else 0.0
    if chance.random() < 0.12:
        length = int(chance.integers(2, 5))
        kernel = np.zeros((7, 7), np.float32)
        way = chance.uniform(0, np.pi)
        cv2.line(kernel, (3, 3), (round(3 + length * np.cos(way)), round(3 + length * np.sin(way))), (1.0,), 1)
        seen = cv2.filter2D(seen, -1, kernel / kernel.sum())
    if blur > 0.2:
        seen = cv2.GaussianBlur(seen, (0, 0), blur)
    if chance.random() < 0.3:  # sharpened in the camera
        seen = seen + np.float32(chance.uniform(0.3, 1.5)) * (seen - cv2.GaussianBlur(seen, (0, 0), 1.2))
    seen = seen + chance.normal(0, chance.uniform(0.5, 9), seen.shape).astype(np.float32)
    made = np.clip(seen, 0, 255).astype(np.uint8)
    if chance.random() < 0.6:
        _, packed = cv2.imencode(".jpg", made, [cv2.IMWRITE_JPEG_QUALITY, int(chance.integers(45, 96))])
        made = np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)
    if made.shape[0] != size:
        made = cv2.resize(made, (size, size), interpolation=cv2.INTER_LINEAR)
    return made


def as_seen_over_table(image: Picture, chance: np.random.Generator) -> Picture:
    """The picture as a fixed camera over a lit table has it: uneven light, a tint, now and then glare, noise and compression."""
    light = smooth_field(chance, image.shape[:2], 3, float(chance.uniform(0.45, 0.9)), 1.08)[..., None]
    seen = image.astype(np.float32) * light * chance.uniform(0.9, 1.1, 3).astype(np.float32)
    if chance.random() < 0.1:
        middle = tuple(chance.uniform(0, image.shape[0], 2))
        glare(seen, chance, middle, float(chance.uniform(20, 90)), float(chance.uniform(30, 120)))
    quality = int(chance.integers(65, 96))
    return sensor(seen, chance, float(chance.uniform(0.3, 0.95)), float(chance.uniform(1, 6)), quality)
