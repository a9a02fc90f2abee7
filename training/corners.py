"""Small pictures about one index each, out of thousands of decks, and the patches that the reader learns on.

A scene (`training.scenes`) shows few decks and much felt; the reader sees nothing but corners. So most of its patches come from
here: each deck lies about in `VIEWS` small pictures, fanned, staggered and alone, seen as a scene is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tablectl.cards import PACK, Card
from tablectl.felt.scene import Deck, Laid, Matrix, card_to_felt, draw_chip, exposed, lay_cards, view
from training.looks import random_deck
from training.scenes import as_seen, as_seen_over_table, ground, labels

__all__ = ["SIDE", "VIEWS", "small_scenes"]

SIDE = 112
VIEWS = 40  # small pictures of a deck
CARDS = 16  # so many faces of a deck are drawn
Picture = NDArray[np.uint8]
Rows = NDArray[np.float32]


def small_scenes(
    seed: int, fonts: list[Path], art: list[Deck] | None = None, *, over_table: bool = False
) -> list[tuple[Picture, Rows]]:
    """The small pictures of one deck, with the indices in each (`training.scenes.COLUMNS`). One in ten decks is of the `art`.

    `over_table`: as a fixed camera over a lit table sees them, at 1.6 to 2.6 px/mm, rather than any camera anywhere.
    """
    chance = np.random.default_rng([seed, 7])
    deck = art[int(chance.integers(len(art)))] if art and chance.random() < 0.1 else random_deck(chance, fonts, clear=over_table)
    faces = [PACK[int(place)] for place in chance.choice(52, CARDS, replace=False)]
    usual = float(np.exp(chance.uniform(np.log(1.35), np.log(3.0))))
    if over_table:
        usual = float(chance.uniform(1.7, 2.3))
    return [_small(chance, deck, faces, usual, over_table) for _ in range(VIEWS)]


def _hand(chance: np.random.Generator, faces: list[Card]) -> list[Laid]:
    """A card alone, or a few that lie on each other in one of the ways of hands."""
    count = int(chance.choice([1, 2, 3, 4], p=[0.2, 0.3, 0.3, 0.2]))
    kind = int(chance.integers(4))
    step = (chance.uniform(11, 26), 0.0 if kind else chance.choice([-1, 1]) * chance.uniform(6, 26))
    if chance.random() < 0.15:
        step = (-step[0], step[1])
    turn = chance.uniform(4, 20) if kind == 1 else 0.0
    laid = []
    for place in range(count):
        x, y = step[0] * place + chance.normal(0, 1.2), step[1] * place + chance.normal(0, 1.2)
        angle = turn * place + chance.normal(0, 2.5) + (90 if place and chance.random() < 0.05 else 0)
        angle += 180 * (chance.random() < 0.2)
        laid.append(Laid(faces[int(chance.integers(len(faces)))], float(x), float(y), float(angle)))
    return laid


def _small(chance: np.random.Generator, deck: Deck, faces: list[Card], usual: float, over_table: bool) -> tuple[Picture, Rows]:
    """One small picture, an index of one of its cards in the middle."""
    cards = _hand(chance, faces)
    shown = cards[int(chance.integers(len(cards)))]
    blocks = deck.blocks(shown.card)
    block = blocks[0] if chance.random() < 0.75 else blocks[int(chance.integers(len(blocks)))]
    where = card_to_felt(shown, deck.style) @ np.array([block[0], block[1], 1.0])
    scale = float(np.clip(usual * chance.uniform(0.85, 1.18), 13.5 / block[2], 62 / block[2]))
    camera: Matrix = view(
        scale,
        (float(where[0] + chance.normal(0, 1)), float(where[1] + chance.normal(0, 1))),
        (SIDE, SIDE),
        float(chance.uniform(0, 360)),
        min(48.0, abs(float(chance.normal(0, 20)))),
        float(chance.uniform(600, 2500)),
    )
    image = ground(chance, SIDE)
    sharp = round(np.clip(usual, 13.5 / block[2], 62 / block[2]) * 1.15 * 2) / 2
    owner = lay_cards(image, cards, deck, camera, face_scale=max(sharp, 1.5), shadow=float(chance.uniform(0, 0.6)))
    if chance.random() < 0.08:
        draw_chip(image, owner, chance, tuple(chance.uniform(0, SIDE, 2)), 20 * scale)
    rows = labels(exposed(cards, deck, camera, owner))
    return (as_seen_over_table if over_table else as_seen)(image, chance), rows
