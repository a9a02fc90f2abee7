"""What is wrong with a picture as a whole: no light, nothing to be seen in it, or the same as before to the last bit.

A few of its rows are looked at, so that it costs less than a millisecond at 3840x2160.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablectl.felt.view import Picture

__all__ = ["Look", "look_at"]

ROWS = 40
POOLED = 480  # so many columns are left, or twice as many: what is averaged has less of the sensor's noise
APART = 2  # pooled columns between which brightness is compared
NO_LIGHT = 18.0
"""A picture whose brightest twentieth is darker than this, of 255 levels, shows no felt."""
NO_DETAIL = 11.0
"""The print of a felt has steps of brightness of more levels than this; a covered lens has none."""


class Look(NamedTuple):
    """What was seen: `dark` says what is wrong, in words, None when nothing is; `sample` is equal only for equal pictures."""

    dark: str | None
    sample: NDArray[np.uint8]


def look_at(picture: Picture) -> Look:
    """Look at a picture of three channels."""
    step = max(1, picture.shape[0] // ROWS)
    sample = np.ascontiguousarray(picture[step // 2 :: step])
    together = max(1, sample.shape[1] // POOLED)
    green = sample[:, : sample.shape[1] // together * together, 1]
    pooled = green.reshape(green.shape[0], -1, together).mean(axis=2, dtype=np.float32)
    if pooled.size == 0 or float(np.percentile(pooled, 95)) < NO_LIGHT:
        return Look("there is no light", sample)
    steps = np.abs(pooled[:, APART:] - pooled[:, :-APART])
    if steps.size == 0 or float(np.percentile(steps, 99.8)) < NO_DETAIL:
        return Look("nothing is to be seen: is it covered?", sample)
    return Look(None, sample)
