"""Decks drawn by artists who gave their work away (CC0), as a second source of faces beside our own drawing.

Adrian Kennard's cards, as the npm package `PACKAGE` brings them: two and four colours, small and large indices. They are
fetched once by `npm pack` and drawn by resvg. For measuring only, and fetched alike, `decks_of_others` are two further artists'
decks under copyleft licences: nothing is learnt from those.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from pathlib import Path

import cv2
import numpy as np
import resvg_py
from numpy.typing import NDArray

from tablectl.cards import PACK, Card
from tablectl.felt.faces import FaceStyle
from tablectl.felt.scene import Deck, PictureDeck

__all__ = ["CACHE", "decks_of_art", "drawn", "fetched"]

CACHE = Path(__file__).parent / ".cache"
PACKAGE = "@heruka_urgyen/react-playing-cards@0.5.0"
KINDS = ("2color", "2color-bf", "4color", "4color-bf")
DRAWN_AT = 6.0  # px/mm
Picture = NDArray[np.uint8]
Box = tuple[float, float, float, float, bool]


def fetched(package: str, folder: Path = CACHE) -> Path:
    """The unpacked folder of an npm package, fetched when it is not there yet."""
    target = folder / re.sub(r"\W+", "-", package).strip("-")
    if not target.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        told = subprocess.run(  # noqa: S603
            ["npm", "pack", "--silent", "--pack-destination", str(folder), package],  # noqa: S607
            check=True,
            capture_output=True,
            text=True,
        )
        with tarfile.open(folder / told.stdout.split()[-1]) as packed:
            packed.extractall(target, filter="data")
    return target / "package"


def drawn(svg: str, width_mm: float) -> Picture:
    """An SVG picture of a card as rows, columns and blue, green, red, opacity, `DRAWN_AT` px/mm."""
    png = bytes(resvg_py.svg_to_bytes(svg_string=svg, width=round(width_mm * DRAWN_AT)))
    return np.asarray(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED), np.uint8)


def decks_of_art(folder: Path = CACHE) -> list[Deck]:
    """The CC0 decks to learn from."""
    images = fetched(PACKAGE, folder) / "src" / "images"
    return [_kennard(images / kind) for kind in KINDS]


def _kennard(folder: Path) -> Deck:
    """One of Kennard's decks. His files say where the index's rank (#V..) and suit (#S..) stand, in 240ths of the width."""
    unit = 63.5 / 240
    pictures: dict[Card, Picture] = {}
    boxes: dict[Card, list[Box]] = {}
    heights = (0.0, 0.0, 0.0)
    for card in PACK:
        svg = (folder / f"{card.value}.svg").read_text()
        svg = svg.replace('height="3.5in"', 'height="336"').replace('width="2.5in"', 'width="240"')
        pictures[card] = drawn(svg, 63.5)
        rank, suit = (
            re.search(rf'<use xlink:href="#{kind}\w+" height="([\d.]+)" x="([-\d.]+)" y="([-\d.]+)"', svg) for kind in "VS"
        )
        suits = re.findall(r'<use xlink:href="#S\w+" height="([\d.]+)" x="([-\d.]+)" y="([-\d.]+)"', svg)
        assert rank is not None
        assert suit is not None
        size, left, top = (float(v) for v in rank.groups())
        below = min(
            (tuple(map(float, one)) for one in suits),
            key=lambda one: abs(one[1] + one[0] / 2 - left - size / 2) + (one[2] < top) * 999,
        )
        first, last = top + size * 0.04, below[2] + below[0] * 0.917
        x, y = (left + size / 2 + 120) * unit, ((first + last) / 2 + 168) * unit
        high, wide = (last - first) * unit, max(size * (0.85 if card.value[0] == "T" else 0.62), below[0] * 0.8) * unit
        boxes[card] = [(x, y, high, wide, False), (63.5 - x, 88.9 - y, high, wide, True)]
        heights = (size * 0.92 * unit, (below[2] + below[0] * 0.083 - top - size * 0.96) * unit, below[0] * 0.833 * unit)
    style = FaceStyle(width=63.5, height=88.9, rank_height=heights[0], gap=heights[1], suit_height=heights[2])
    return PictureDeck(style, pictures, boxes)
