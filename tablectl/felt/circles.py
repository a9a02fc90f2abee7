"""What stands in the stake circles: anything that is not the colour of the cloth around it, and the colours it has."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from tablectl.felt.cloth import differ, parts, unlike
from tablectl.felt.layout import StakeCircle
from tablectl.felt.sighting import SeenStake
from tablectl.felt.view import Picture, View, cut, quick

__all__ = ["Circle"]

CLOTH_LIT: Final = 110.0
"""The level of its brightest colour to which the cloth around a stake circle is reckoned."""
SHADED: Final = 0.08
"""By such a part another light around a stack says nothing of its colours: a shadow passes,"""
LASTS: Final = 20_000_000
"""or is there for so many microseconds, and is how the table is lit from now on."""


class Circle:
    """A stake circle as one camera sees it, with some cloth around it, and what was seen there last."""

    OUTER = 1.5  # radii

    def __init__(self, view: View, stake: StakeCircle) -> None:
        self.stake, self.camera = stake, view.camera
        side = 2 * self.OUTER * stake.radius
        maps = view.maps(stake.centre, (side, side), px_per_mm=0.5)
        self._maps = quick(*maps)
        rows, columns = maps[0].shape
        down, across = np.mgrid[0:rows, 0:columns]
        far = np.hypot(down - (rows - 1) / 2, across - (columns - 1) / 2) / (rows / 2) * self.OUTER
        in_picture = view.covers(maps) > 0
        self._around, self._inside = (far > 1.2) & in_picture, (far < 0.8) & in_picture
        self.share = min(float(in_picture[far < 0.8].mean()), 2 * float(in_picture[far > 1.2].mean()))
        """What part of it the camera sees."""
        self._before: Picture | None = None
        self._seen: SeenStake | None = None
        self._stack: SeenStake | None = None  # the stack whose colours were judged last,
        self._light = 0.0  # in which light,
        self._shaded_at: int | None = None  # and since when it is in another

    def look(self, picture: Picture, at: int) -> SeenStake | None:
        """What stands there; None: it cannot be seen."""
        patch = cut(picture, *self._maps)
        coarse = np.asarray(cv2.resize(patch, (12, 12), interpolation=cv2.INTER_AREA), np.uint8)
        if self._before is None or differ(coarse, self._before, 2) or self._lasts(at):
            self._before, self._seen = coarse, self._judged(patch, at)
        return self._seen

    def _lasts(self, at: int) -> bool:
        """Whether another light has been there for so long that it is how the table is lit."""
        return self._shaded_at is not None and at >= self._shaded_at + LASTS

    def _judged(self, patch: Picture, at: int) -> SeenStake | None:
        """What is not the colour of the cloth around the circle stands in it."""
        red, green = parts(patch)
        cloth = float(np.median(red[self._around])), float(np.median(green[self._around]))
        strange = unlike(red, green, cloth)
        if float(np.mean(strange[self._around])) > 0.4:
            return None  # a hand or an arm lies over it
        if float(np.mean(strange[self._inside])) < 0.08:
            self._stack = self._shaded_at = None
            return SeenStake(self.stake.box, occupied=False)
        light = max(float(np.median(patch[self._around].max(axis=1))), 8.0)
        if self._stack is not None and abs(light / self._light - 1) > SHADED and not self._lasts(at):
            self._shaded_at = at if self._shaded_at is None else self._shaded_at
            return self._stack
        self._light, self._shaded_at = light, None
        # As bright as if the cloth were always lit alike.
        lit = np.minimum(patch[self._inside & strange] * (CLOTH_LIT / light), 255.0)
        colours = (lit / 86).astype(np.int64)
        counts = np.bincount(colours[:, 0] * 9 + colours[:, 1] * 3 + colours[:, 2], minlength=27)
        colours_of = tuple(round(float(count), 3) for count in counts / counts.sum())
        self._stack = SeenStake(self.stake.box, occupied=True, colours=colours_of)
        return self._stack
