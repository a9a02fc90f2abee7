"""What the finder finds in the scenes, with what it truly is: the reader learns on the very patches it will be asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from tablectl.felt.find import Layer, corners_in
from tablectl.felt.networks import Eyes, Tuning
from training.patching import REJECT
from training.pool import Pool

__all__ = ["COLUMNS", "label", "mined"]

COLUMNS = ("scene", "x", "y", "up_x", "up_y", "height", "heat", "rank", "suit")


class _Finder(Eyes):
    """The finder alone, while there is no reader yet."""

    def __init__(self, finder: Path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._finder = onnxruntime.InferenceSession(finder, options, providers=["CPUExecutionProvider"])
        self.tuning = Tuning(1.0, 1.0, 0.1, 0.9)


def mined(pool: Pool, scenes: range, finder: Path, least: float = 0.1) -> NDArray[np.float32]:
    """A row (`COLUMNS`) for each find: its card, or `REJECT` where no index is; finds of half-covered indices are left out."""
    eyes = _Finder(finder)
    made = []
    for seed in scenes:
        image, rows = pool[seed]
        for corner in corners_in([Layer(image, 1.0)], eyes, least):
            known = label(rows, corner.x, corner.y, corner.up, corner.height)
            if known is not None:
                made.append((seed, corner.x, corner.y, *corner.up, corner.height, corner.heat, *known))
    return np.array(made, np.float32).reshape(-1, len(COLUMNS))


def label(rows: NDArray[np.float32], x: float, y: float, up: tuple[float, float], height: float) -> tuple[int, int] | None:
    """What a find truly is: rank and suit, or `REJECT`; None for what is neither clearly an index nor clearly none."""
    if not len(rows):
        return REJECT, 0
    apart = np.hypot(rows[:, 0] - x, rows[:, 1] - y) / rows[:, 4]
    along = rows[:, 2] * up[0] + rows[:, 3] * up[1]
    size = height / rows[:, 4]
    seen = np.minimum(rows[:, 8], rows[:, 9])
    fits = (apart < 0.25) & (along > 0.85) & (size > 0.72) & (size < 1.4)
    for place in np.nonzero(fits)[0]:
        if seen[place] >= 0.85:
            return int(rows[place, 6]), int(rows[place, 7])
    near = (apart < 0.5) & (along > 0.6) & (seen > 0.45) & (size > 0.5) & (size < 2)
    return None if near.any() else (REJECT, 0)
