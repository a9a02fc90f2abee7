"""Where card indices are in a picture, and which two of them belong to one card.

The finder sees indices between about 16 and 80 pixels high. Where the scale is known (px/mm, from a calibration) the picture is
looked at once, brought to 2 px/mm; where it is not, at several sizes, each half the one before.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.felt.networks import Eyes

__all__ = ["WORKING_SCALE", "Corner", "Layer", "corners_in", "layers", "same"]

Picture = NDArray[np.uint8]
WORKING_SCALE = 2.0  # px/mm
LARGEST = 9_000_000  # pixels looked at in one go: a 4K frame; what is larger is brought down
SMALLEST = 96  # rows or columns of the smallest size that is looked at
ENLARGED = 2.0  # a small picture is also looked at so much enlarged


class Corner(NamedTuple):
    """An index in a picture, in pixels of that picture: middle, unit vector from suit to rank, height and width, heat 0 to 1.

    `layer` is the place in `layers(...)` of the size it was found at.
    """

    x: float
    y: float
    up: tuple[float, float]
    height: float
    width: float
    heat: float
    layer: int


class Layer(NamedTuple):
    """A picture at one size: `scale` is its pixels for each of the given picture's."""

    picture: Picture
    scale: float


def layers(picture: Picture, px_per_mm: float | None) -> list[Layer]:
    """The sizes at which a picture is looked at, the largest first."""
    if px_per_mm is not None:
        return [_resized(picture, WORKING_SCALE / px_per_mm)]
    rows, columns = picture.shape[:2]
    scale = ENLARGED
    while rows * columns * scale * scale > (LARGEST if scale <= 1 else LARGEST / 3):
        scale /= 2
    made: list[Layer] = []
    while min(rows, columns) * scale >= SMALLEST or not made:
        made.append(_resized(picture, scale))
        scale /= 2
    return made


def _resized(picture: Picture, scale: float) -> Layer:
    """A picture brought to another size, exactly as far as whole pixels allow."""
    if abs(scale - 1) < 0.02:
        return Layer(picture, 1.0)
    rows, columns = picture.shape[:2]
    size = (max(16, round(columns * scale)), max(16, round(rows * scale)))
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return Layer(np.asarray(cv2.resize(picture, size, interpolation=way), np.uint8), scale)


def corners_in(sizes: list[Layer], eyes: Eyes, least: float | None = None) -> list[Corner]:
    """The indices in a picture, warmest first; of those that are one index found at two sizes, the warmer."""
    least = eyes.tuning.found if least is None else least
    found: list[Corner] = []
    for place, layer in enumerate(sizes):
        found += _peaks(eyes.heat(layer.picture), layer.scale, place, least)
    found.sort(key=lambda corner: -corner.heat)
    kept: list[Corner] = []
    for corner in found:
        if not any(same(corner, other) for other in kept):
            kept.append(corner)
    return kept


def _peaks(out: NDArray[np.float32], scale: float, place: int, least: float) -> list[Corner]:
    """The hottest cells of a finder's answer, each with what its surroundings say of the index."""
    heat = out[0]
    top = cv2.dilate(heat, np.ones((3, 3), np.uint8))
    rows, columns = np.nonzero((heat >= top) & (heat >= least))
    made = []
    for row, column in zip(rows, columns, strict=True):
        dx, dy, ux, uy, high, wide = (float(v) for v in out[1:, row, column])
        length = float(np.hypot(ux, uy))
        if length < 0.2:
            continue
        x, y = (column + dx) * 4 + 1.5, (row + dy) * 4 + 1.5
        height = float(np.exp(np.clip(high, -2, 2))) * 32 / scale
        width = float(np.exp(np.clip(wide, -3, 2))) * 32 / scale
        middle = ((x + 0.5) / scale - 0.5, (y + 0.5) / scale - 0.5)
        made.append(Corner(*middle, (ux / length, uy / length), height, width, float(heat[row, column]), place))
    return made


def same(one: Corner, other: Corner, part: float = 0.45) -> bool:
    """Whether two finds are one index: as near as a part of its height."""
    near = np.hypot(one.x - other.x, one.y - other.y) < part * max(one.height, other.height)
    return bool(near and one.up[0] * other.up[0] + one.up[1] * other.up[1] > 0.3)
