"""Outlines of ranks and suits out of free fonts, for `tablectl.felt.faces`.

Needs fontTools (the extra `training`) and the fonts of the Debian packages named in `PACKAGES`, all under free licences.
`HELD_OUT` families are kept from the training: faces drawn with them measure it. Those of
`TUNED_ON` are kept from it too: on them the confidence is made true.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont

from tablectl.felt.faces import Glyphs

__all__ = ["HELD_OUT", "PACKAGES", "SHIPPED", "TUNED_ON", "font_files", "outlines", "trade_queen", "write_shipped"]

PACKAGES = (
    "fonts-dejavu fonts-liberation fonts-freefont-ttf fonts-linuxlibertine fonts-lato fonts-urw-base35 fonts-texgyre "
    "fonts-adf-accanthis fonts-adf-baskervald fonts-adf-berenis fonts-adf-gillius fonts-adf-libris fonts-adf-mekanus "
    "fonts-adf-romande fonts-adf-solothurn fonts-adf-switzera fonts-adf-tribun fonts-adf-universalis fonts-adf-verana "
    "fonts-bebas-neue fonts-cabin fonts-cantarell fonts-clear-sans fonts-comfortaa fonts-comic-neue fonts-crosextra-caladea "
    "fonts-dosis fonts-ebgaramond fonts-goudybookletter fonts-inter fonts-junicode fonts-jura fonts-league-spartan "
    "fonts-oldstandard fonts-open-sans fonts-prociono fonts-quattrocento fonts-roboto-slab fonts-roboto-unhinted "
    "fonts-sil-charis fonts-sil-gentium fonts-tuffy fonts-vollkorn fonts-yanone-kaffeesatz"
)
TRUETYPE = (
    "adf charis clear-sans comfortaa crosextra fonts-oldstandard gentium open-sans roboto/unhinted tuffy vollkorn roboto-slab"
)
OPENTYPE = (
    "bebas-neue cabin cantarell comic-neue dosis ebgaramond fonts-prociono inter junicode jura league-spartan quattrocento "
    "roboto sortsmill yanone-kaffeesatz"
)
FOLDERS = (
    "/usr/share/fonts/truetype/dejavu",
    "/usr/share/fonts/truetype/liberation",
    "/usr/share/fonts/truetype/freefont",
    "/usr/share/fonts/opentype/linux-libertine",
    "/usr/share/fonts/truetype/lato",
    "/usr/share/fonts/opentype/urw-base35",
    "/usr/share/texmf/fonts/opentype/public/tex-gyre",
    *(f"/usr/share/fonts/truetype/{name}" for name in TRUETYPE.split()),
    *(f"/usr/share/fonts/opentype/{name}" for name in OPENTYPE.split()),
)
# Symbols, key caps and scripts, letters too thin for a card, and one family (Carlito) that was made from a held-out one (Lato).
LEFT_OUT = (
    *("Math", "math", "Z003", "D050000L", "StandardSymbols", "Keyboard", "Initials", "ExtraLight", "Hairline", "chorus"),
    *("Carlito", "Swash", "Ornament", "LinBiolinum_K"),
)
PLAIN_ONLY = FOLDERS[7:]  # cards are seldom printed in italics or hairlines: of these many families only the other ones
HELD_OUT = ("C059", "texgyreschola", "Lato")
TUNED_ON = ("LinBiolinum", "URWGothic", "texgyreadventor", "Vollkorn", "Cabin", "OpenSans", "Caladea", "Yanone", "Tribun")
SHIPPED = ("DejaVuSansCondensed-Bold", "DejaVuSerifCondensed-Bold", "DejaVuSans", "DejaVuSerif-Bold")
CHARACTERS = {**{c: c for c in "A234567891J0QK"}, "♣": "C", "♦": "D", "♥": "H", "♠": "S"}


class _Flat(BasePen):  # type: ignore[misc]
    """Collects a glyph's contours as points, curves cut into straight pieces."""

    def __init__(self, glyph_set: Any) -> None:
        super().__init__(glyph_set)
        self.lines: list[list[tuple[float, float]]] = []

    def _moveTo(self, pt: tuple[float, float]) -> None:  # noqa: N802
        self.lines.append([pt])

    def _lineTo(self, pt: tuple[float, float]) -> None:  # noqa: N802
        self.lines[-1].append(pt)

    def _curveToOne(self, pt1: tuple[float, float], pt2: tuple[float, float], pt3: tuple[float, float]) -> None:  # noqa: N802
        a, b, c, d = (np.array(p, float) for p in (self.lines[-1][-1], pt1, pt2, pt3))
        for t in np.linspace(0, 1, 9)[1:]:
            point = (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
            self.lines[-1].append((float(point[0]), float(point[1])))


@cache
def outlines(path: Path) -> Glyphs | None:
    """The outlines of a font; None where it lacks a rank."""
    font = TTFont(path)
    names, glyph_set = font.getBestCmap(), font.getGlyphSet()
    raw: dict[str, list[np.ndarray]] = {}
    for character, name in CHARACTERS.items():
        if ord(character) not in names:
            if name in "CDHS":
                continue
            return None
        pen = _Flat(glyph_set)
        glyph_set[names[ord(character)]].draw(pen)
        raw[name] = [np.array(line) for line in pen.lines if len(line) > 2]
    size = max(line[:, 1].max() for line in raw["A"])
    made: Glyphs = {}
    for name, lines in raw.items():
        points = np.concatenate(lines)
        low, high = points.min(0), points.max(0)
        if name in "CDHS":  # one high, about x = 0
            middle = np.array([(low[0] + high[0]) / 2, high[1]])
            made[name] = [(line - middle) * (1, -1) / (high[1] - low[1]) for line in lines]
        else:
            own = max(high[1], 0.6 * size)  # old-style digits are low: each rank is as high as the others
            made[name] = [(line - (low[0], own)) * (1, -1) / own for line in lines]
    return made


def trade_queen(chance: np.random.Generator) -> list[np.ndarray]:
    """The Q that card makers draw and no font has: a narrow oval with a tail that swings through its foot."""
    size = 240
    canvas = np.zeros((size + 120, size + 120), np.uint8)
    wide, stroke = size * chance.uniform(0.42, 0.72), size * chance.uniform(0.07, 0.15)
    left, top = 50, 20
    centre = (round(left + wide / 2), round(top + size * 0.46))
    cv2.ellipse(canvas, centre, (round(wide / 2 - stroke / 2), round(size * 0.46 - stroke / 2)), 0, 0, 360, (255,), round(stroke))
    t = np.linspace(0, 1, 30)
    start, end = chance.uniform(-0.15, 0.25), chance.uniform(0.95, 1.3)
    x = left + wide * (start + (end - start) * t)
    swing = chance.uniform(0.03, 0.13)
    y = top + size * (chance.uniform(0.76, 0.86) + 0.13 * t + swing * -np.sin(2 * np.pi * t))
    tail = np.round(np.stack([x, y], 1)).astype(np.int32)
    cv2.polylines(canvas, [tail], False, (255,), max(2, round(stroke * chance.uniform(0.6, 1.0))))
    outlines_found, _ = cv2.findContours(canvas, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_TC89_L1)
    lines = [line.reshape(-1, 2).astype(float) for line in outlines_found if len(line) > 2]
    low = np.concatenate(lines).min(axis=0)
    return [(line - (low[0], top)) / (size * 0.95) for line in lines]


def font_files() -> tuple[list[Path], list[Path], list[Path]]:
    """The fonts to learn from, those held out and those to tune on; only such as have all the ranks."""
    learnt: list[Path] = []
    held: list[Path] = []
    tuned: list[Path] = []
    for folder in FOLDERS:
        for path in sorted([*Path(folder).glob("*.ttf"), *Path(folder).glob("*.otf")]):
            if any(word in path.name for word in LEFT_OUT) or (folder in PLAIN_ONLY and _fancy(path)):
                continue
            if outlines(path) is None:
                continue
            (held if path.name.startswith(HELD_OUT) else tuned if path.name.startswith(TUNED_ON) else learnt).append(path)
    return learnt, held, tuned


def _fancy(path: Path) -> bool:
    return any(word in path.name for word in ("Italic", "Oblique", "Thin"))


def write_shipped(target: Path) -> None:
    """Write the outlines that come with the package (DejaVu: free to embed and to change)."""
    sets = []
    for path in (Path(FOLDERS[0]) / f"{name}.ttf" for name in SHIPPED):
        glyphs = outlines(path)
        assert glyphs is not None, path
        sets.append({name: [np.round(line * 1000).astype(int).tolist() for line in lines] for name, lines in glyphs.items()})
    target.write_text(json.dumps(sets, separators=(",", ":")) + "\n", "ascii")
