"""The upright corner: an index cut out so that the reader sees every one alike, whatever its size, angle and light.

Where an index lies the finder says roughly; how far a patch lies beside its index the reader sees. Such a `Misfit` is told
in the patch's own frame, so that it is the same at every size and angle.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["PATCH_HEIGHT", "PATCH_WIDTH", "Misfit", "Place", "cut", "misfit", "normalised", "refitted"]

PATCH_HEIGHT = 48
PATCH_WIDTH = 36
BLOCK = 33.0  # of the patch's rows, those that rank and suit together fill


class Place(NamedTuple):
    """Where an index is: middle in pixels, unit vector from suit to rank, height and width in pixels."""

    middle: tuple[float, float]
    up: tuple[float, float]
    height: float
    width: float


class Misfit(NamedTuple):
    """How an index lies in the patch that was cut about it.

    Its middle right of the patch's and above it, in heights of the cut; its turn to the right in radians; the logarithms of its
    height and width over the height of the cut.
    """

    right: float
    above: float
    turn: float
    high: float
    wide: float


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


def misfit(index: Place, middle: tuple[float, float], up: tuple[float, float], height: float, stretch: float = 1.0) -> Misfit:
    """How an index lies in the patch that `cut` makes with the same figures."""
    dx, dy = index.middle[0] - middle[0], index.middle[1] - middle[1]
    across = (-up[1], up[0])
    right, above = (dx * across[0] + dy * across[1]) * stretch, dx * up[0] + dy * up[1]
    rises = (
        (index.up[0] * across[0] + index.up[1] * across[1]) * stretch,
        index.up[0] * up[0] + index.up[1] * up[1],
    )
    high = float(np.hypot(*rises)) * index.height / height
    turn = float(np.arctan2(*rises))
    return Misfit(right / height, above / height, turn, float(np.log(high)), float(np.log(index.width * stretch / height)))


def refitted(cut_at: Place, seen: Misfit) -> Place:
    """Where an index is of which the patch that was cut at a place (unstretched) says how far it lies beside it."""
    up, height = cut_at.up, cut_at.height
    across = (-up[1], up[0])
    middle = (
        cut_at.middle[0] + height * (seen.right * across[0] + seen.above * up[0]),
        cut_at.middle[1] + height * (seen.right * across[1] + seen.above * up[1]),
    )
    sine, cosine = float(np.sin(seen.turn)), float(np.cos(seen.turn))
    turned = (up[0] * cosine + across[0] * sine, up[1] * cosine + across[1] * sine)
    return Place(middle, turned, height * float(np.exp(seen.high)), height * float(np.exp(seen.wide)))


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
