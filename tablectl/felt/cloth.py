"""Cloth and what is not its colour; a picture of it and another that differs by more than noise."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.felt.view import Picture

__all__ = ["differ", "parts", "unlike"]

STEP: Final = 10
"""Levels by which a coarse pixel must differ to be another: more than lamps flicker."""
PIXELS: Final = 6
"""So many coarse pixels must differ: about one square centimetre, half a corner index."""
UNLIKE: Final = 0.07
"""How far a pixel's part of red and green may be from the cloth's to be cloth."""


def differ(one: Picture, other: Picture, pixels: int = PIXELS) -> bool:
    """Whether two coarse pictures of a place differ by more than noise."""
    far = cv2.threshold(cv2.absdiff(one, other), STEP, 1, cv2.THRESH_BINARY)[1]
    return sum(cv2.sumElems(far)[:3]) >= pixels  # a pixel counts in each colour in which it differs


def parts(picture: Picture) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What part of each pixel is red, and what green: nearly the same in the light and in the shade."""
    blue, green, red = (plane.astype(np.float32) + 4 for plane in cv2.split(picture))
    total = blue + green + red
    return red / total, green / total


def unlike(red: NDArray[np.float32], green: NDArray[np.float32], cloth: tuple[float, float]) -> NDArray[np.bool_]:
    """Which pixels have not the cloth's parts of red and green."""
    return np.asarray(np.maximum(np.abs(red - cloth[0]), np.abs(green - cloth[1])) > UNLIKE, np.bool_)
