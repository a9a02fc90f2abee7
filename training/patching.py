"""What the reader learns on: patches about indices, as rough as the finder's and as close as a second look's, and beside them."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.felt.patches import Misfit, Place, cut, misfit

__all__ = ["CLOSE", "REJECT", "ROUGH", "Spread", "found_patch", "index_patch", "other_patch"]

Picture = NDArray[np.uint8]
Rows = NDArray[np.float32]
REJECT = 13  # the rank of what is no index
CUTS = 4.0  # standard deviations that a cut is off at the most


class Spread(NamedTuple):
    """How far cuts lie beside their index, as standard deviations: in its heights, in degrees, in the logarithm of its height."""

    off: float
    turn: float
    taller: float


ROUGH = Spread(0.07, 8.0, 0.16)  # as the finder says it
CLOSE = Spread(0.022, 2.3, 0.04)  # as the reader, having seen a rough cut, says it


def index_patch(image: Picture, row: NDArray[np.float32], chance: np.random.Generator, spread: Spread) -> tuple[Picture, Misfit]:
    """A patch about an index (a row of `training.scenes.COLUMNS`), and how the index lies in it."""
    index = Place((float(row[0]), float(row[1])), (float(row[2]), float(row[3])), float(row[4]), float(row[5]))
    right, above, turn, taller = (float(v) for v in np.clip(chance.normal(0, 1, 4), -CUTS, CUTS))
    angle = np.arctan2(row[3], row[2]) + np.deg2rad(spread.turn * turn)
    height = index.height * float(np.exp(spread.taller * taller))
    middle = (index.middle[0] + spread.off * right * index.height, index.middle[1] + spread.off * above * index.height)
    up = (float(np.cos(angle)), float(np.sin(angle)))
    stretch = float(np.exp(chance.normal(0, 0.1)))
    return _worn(cut(image, middle, up, height, stretch), chance), misfit(index, middle, up, height, stretch)


def other_patch(image: Picture, rows: Rows, chance: np.random.Generator) -> Picture | None:
    """A patch of what is no index: beside one, about one turned or of another size, or anywhere. None where it might be one."""
    size = image.shape[0]
    inside = rows[(rows[:, 0] > 0) & (rows[:, 0] < size) & (rows[:, 1] > 0) & (rows[:, 1] < size)]
    seen = np.minimum(inside[:, 8], inside[:, 9])
    good = inside[seen > 0.5]
    if len(good) and chance.random() < 0.6:
        row = good[int(chance.integers(len(good)))]
        angle = np.arctan2(row[3], row[2])
        middle, height = row[:2].copy(), row[4]
        way = int(chance.integers(3))
        if way == 0:
            angle += np.deg2rad(chance.uniform(50, 310))
        elif way == 1:
            offset = chance.uniform(0.5, 1.1) * height
            direction = chance.uniform(0, 2 * np.pi)
            middle += offset * np.array([np.cos(direction), np.sin(direction)])
        else:
            height *= chance.choice([chance.uniform(0.25, 0.5), chance.uniform(2.0, 2.8)])
    else:
        angle = chance.uniform(0, 2 * np.pi)
        height = np.exp(chance.uniform(np.log(15), np.log(80)))
        middle = chance.uniform(0, size, 2)
    for other in inside[seen > 0.55]:
        turn = np.cos(angle - np.arctan2(other[3], other[2]))
        if np.hypot(*(middle - other[:2])) < 0.45 * other[4] and turn > 0.68 and 0.53 < height / other[4] < 1.9:
            return None
    up = (float(np.cos(angle)), float(np.sin(angle)))
    stretch = float(np.exp(chance.normal(0, 0.13)))
    return _worn(cut(image, (float(middle[0]), float(middle[1])), up, float(height), stretch), chance)


def found_patch(image: Picture, find: NDArray[np.float32], chance: np.random.Generator) -> Picture:
    """The patch of one of the finder's finds (`training.mining`), hardly moved."""
    _, x, y, ux, uy, height, *_ = (float(v) for v in find)
    angle = np.arctan2(uy, ux) + np.deg2rad(chance.normal(0, 2.5))
    high = height * float(np.exp(chance.normal(0, 0.04)))
    middle = (x + float(chance.normal(0, 0.015)) * height, y + float(chance.normal(0, 0.015)) * height)
    return cut(image, middle, (float(np.cos(angle)), float(np.sin(angle))), high, float(np.exp(chance.normal(0, 0.12))))


def _worn(patch: Picture, chance: np.random.Generator) -> Picture:
    """Now and then softer, now and then noisier."""
    if chance.random() < 0.2:
        patch = cv2.GaussianBlur(patch, (0, 0), float(chance.uniform(0.4, 1.6)))  # type: ignore[assignment]
    if chance.random() < 0.2:
        patch = np.clip(patch + chance.normal(0, chance.uniform(2, 12), patch.shape), 0, 255).astype(np.uint8)
    return patch
