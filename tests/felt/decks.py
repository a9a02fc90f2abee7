"""Decks that nothing was learnt from: two artists', and faces of our own drawing in fonts held out of the training.

The artists' come from npm when they are asked for and are never kept with us; the fonts are there where their packages are.
"""

from __future__ import annotations

import logging
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from tablectl.cards import PACK, Card, Rank, Suit
from tablectl.felt.faces import FaceStyle, random_style
from tablectl.felt.scene import Deck, PictureDeck

__all__ = ["artists", "drawn_in_held_out_fonts", "fetched"]

SUITS = {Suit.CLUBS: "club", Suit.DIAMONDS: "diamond", Suit.HEARTS: "heart", Suit.SPADES: "spade"}
RANKS = {Rank.ACE: "1", Rank.TEN: "10", Rank.JACK: "jack", Rank.QUEEN: "queen", Rank.KING: "king"}
Box = tuple[float, float, float, float, bool]


def fetched(package: str, folder: Path) -> Path:
    """The unpacked folder of an npm package."""
    target = folder / re.sub(r"\W+", "-", package).strip("-")
    if not target.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), package]
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        with tarfile.open(folder / told.stdout.split()[-1]) as packed:
            packed.extractall(target, filter="data")
    return target / "package"


def artists(folder: Path) -> dict[str, Deck]:
    """The artists' decks by name. The second needs resvg to be drawn, and is left out without it."""
    png = fetched("svg-cards@4.0.2", folder) / "png" / "2x"
    pictures = {
        card: _picture((png / f"{SUITS[s]}_{RANKS.get(r, r)}.png").read_bytes())
        for card in PACK
        if (r := card.rank) and (s := card.suit)
    }
    decks: dict[str, Deck] = {"svg-cards": _deck(pictures, middle=(5.0, 11.6), heights=(12.0, 1.8, 6.0), wide=6.6)}
    try:
        import resvg_py
    except ImportError:
        return decks
    svg = fetched("cardsJS@1.1.1", folder) / "cards"
    pictures = {}
    for card in PACK:
        text = (svg / f"{card.value.replace('T', '10')}.svg").read_text()
        pictures[card] = _picture(bytes(resvg_py.svg_to_bytes(svg_string=text, width=380)))
    decks["cardsJS"] = _deck(pictures, middle=(4.9, 12.9), heights=(9.0, 2.2, 6.4), wide=6.5)
    return decks


def _picture(data: bytes) -> Any:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


def _deck(
    pictures: dict[Card, Any], middle: tuple[float, float], heights: tuple[float, float, float], wide: float
) -> PictureDeck:
    """A deck whose indices stand at one place, `middle`, on all its cards."""
    style = FaceStyle(rank_height=heights[0], gap=heights[1], suit_height=heights[2])
    x, y, high = *middle, sum(heights)
    boxes: list[Box] = [(x, y, high, wide, False), (style.width - x, style.height - y, high, wide, True)]
    return PictureDeck(style, pictures, dict.fromkeys(PACK, boxes))


def drawn_in_held_out_fonts(count: int, seed: int = 99) -> list[Deck]:
    """Decks of our own drawing in fonts that nothing was learnt from. None where fontTools or the fonts are not there."""
    try:
        from training.fonts import font_files, outlines
    except ImportError:
        return []
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    _, held, _ = font_files()
    chance = np.random.default_rng(seed)
    decks = []
    for _ in range(count if held else 0):
        glyphs = outlines(held[int(chance.integers(len(held)))])
        assert glyphs is not None
        decks.append(Deck(random_style(chance), glyphs))
    return decks
