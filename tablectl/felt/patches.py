"""The upright corner: an index cut out so that the reader sees every one alike, whatever its size, angle and light."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["PATCH_HEIGHT", "PATCH_WIDTH", "cut", "normalised"]

PATCH_HEIGHT = 48
PATCH_WIDTH = 36
BLOCK = 33.0  # of the patch's rows, those that rank and suit together fill


def cut(
    image: NDArray[np.uint8], middle: tuple[float, float], up: tuple[float, float], height: float, stretch: float = 1.0
) -> NDArray[np.uint8]:
    """The patch about an index: `middle` and `height` in pixels, `up` the unit vector from suit to rank; `stretch` widens it.

    What lies outside the picture is repeated from its rim.
    """
    scale = BLOCK / height
    across = (-up[1], up[0])
    a = np.array([[across[0] * scale * stretch, across[1] * scale * stretch, 0], [-up[0] * scale, -up[1] * scale, 0]])
    a[:, 2] = np.array([PATCH_WIDTH / 2, PATCH_HEIGHT / 2]) - a[:, :2] @ np.array(middle)
    flags = cv2.INTER_LINEAR
    patch: NDArray[np.uint8] = cv2.warpAffine(image, a, (PATCH_WIDTH, PATCH_HEIGHT), flags=flags, borderMode=cv2.BORDER_REPLICATE)  # type: ignore[assignment]
    return patch


def normalised(patches: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Patches (count, rows, columns, 3) as the network takes them (count, 3, rows, columns): the paper's white made white.

    Each colour is divided by what the brightest tenth of the patch has, so that lamps, tints and shadows leave ink and paper
    alike.
    """
    count = len(patches)
    flat = patches.reshape(count, -1, 3)
    place = flat.shape[1] * 9 // 10
    paper = np.maximum(np.partition(flat, place, axis=1)[:, place], 20).astype(np.float32)
    value = patches.astype(np.float32) / paper[:, None, None, :]
    return np.ascontiguousarray(((np.minimum(value, 1.4) - 0.7) * 3).transpose(0, 3, 1, 2), dtype=np.float32)
