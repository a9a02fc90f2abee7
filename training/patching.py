"""What the reader learns on: patches cut about the indices of a picture as the finder might, and beside them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.felt.patches import cut

__all__ = ["REJECT", "found_patch", "patch_of"]

Rows = NDArray[np.float32]
REJECT = 13  # the rank of what is no index


def patch_of(image: NDArray[np.uint8], rows: Rows, chance: np.random.Generator) -> tuple[NDArray[np.uint8], int, int] | None:
    """One patch of a scene with its rank and suit; rank `REJECT` where there is no index, or not enough of one."""
    size = image.shape[0]
    inside = rows[(rows[:, 0] > 0) & (rows[:, 0] < size) & (rows[:, 1] > 0) & (rows[:, 1] < size)]
    seen = np.minimum(inside[:, 8], inside[:, 9])
    kind = chance.random()
    if kind < 0.68 and len(inside):
        row = inside[int(chance.integers(len(inside)))]
        share = min(row[8], row[9])
        if 0.55 <= share < 0.88:
            return None
        angle = np.arctan2(row[3], row[2]) + np.deg2rad(np.clip(chance.normal(0, 4.5), -13, 13))
        height = row[4] * np.exp(np.clip(chance.normal(0, 0.07), -0.2, 0.2))
        middle = row[:2] + np.clip(chance.normal(0, 0.04, 2), -0.1, 0.1) * row[4]
        rank, suit = (int(row[6]), int(row[7])) if share >= 0.88 else (REJECT, 0)
    else:
        good = inside[seen > 0.5]
        if len(good) and chance.random() < 0.6:  # near an index, but not it
            row = good[int(chance.integers(len(good)))]
            angle = np.arctan2(row[3], row[2])
            middle, height = row[:2].copy(), row[4]
            way = int(chance.integers(3))
            if way == 0:
                angle += np.deg2rad(chance.uniform(45, 315))
            elif way == 1:
                offset = chance.uniform(0.45, 1.1) * height
                direction = chance.uniform(0, 2 * np.pi)
                middle += offset * np.array([np.cos(direction), np.sin(direction)])
            else:
                height *= chance.choice([chance.uniform(0.3, 0.6), chance.uniform(1.7, 2.6)])
        else:
            angle = chance.uniform(0, 2 * np.pi)
            height = np.exp(chance.uniform(np.log(15), np.log(80)))
            middle = chance.uniform(0, size, 2)
        for other in inside[seen > 0.55]:
            turn = np.cos(angle - np.arctan2(other[3], other[2]))
            if np.hypot(*(middle - other[:2])) < 0.4 * other[4] and turn > 0.75 and 0.62 < height / other[4] < 1.6:
                return None
        rank, suit = REJECT, 0
    stretch = float(np.exp(chance.normal(0, 0.13)))
    patch = cut(image, (float(middle[0]), float(middle[1])), (float(np.cos(angle)), float(np.sin(angle))), float(height), stretch)
    if chance.random() < 0.2:
        patch = cv2.GaussianBlur(patch, (0, 0), float(chance.uniform(0.4, 1.6)))  # type: ignore[assignment]
    if chance.random() < 0.2:
        patch = np.clip(patch + chance.normal(0, chance.uniform(2, 12), patch.shape), 0, 255).astype(np.uint8)
    return patch, rank, suit


def found_patch(image: NDArray[np.uint8], find: NDArray[np.float32], chance: np.random.Generator) -> NDArray[np.uint8]:
    """The patch of one of the finder's finds (`training.mining`), hardly moved."""
    _, x, y, ux, uy, height, *_ = (float(v) for v in find)
    angle = np.arctan2(uy, ux) + np.deg2rad(chance.normal(0, 2.5))
    high = height * float(np.exp(chance.normal(0, 0.04)))
    middle = (x + float(chance.normal(0, 0.015)) * height, y + float(chance.normal(0, 0.015)) * height)
    return cut(image, middle, (float(np.cos(angle)), float(np.sin(angle))), high, float(np.exp(chance.normal(0, 0.12))))
