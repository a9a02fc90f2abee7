"""A layout drawn over what a camera sees: whether it lies on the felt is seen at a glance."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.felt.calibration import Fineness, ring
from tablectl.felt.layout import Layout, Points
from tablectl.felt.lens import Lens
from tablectl.felt.view import FeltPose, Picture, View

__all__ = ["lay_over", "plan"]

Colour = tuple[int, int, int]
BOX: Colour = (80, 255, 255)
DEALER: Colour = (255, 200, 80)
STAKE: Colour = (230, 230, 230)
MARKER: Colour = (255, 80, 255)
EDGE: Colour = (80, 160, 255)
BAD: Colour = (60, 60, 255)


def lay_over(picture: Picture, view: View, layout: Layout, fineness: tuple[Fineness, ...] = ()) -> Picture:
    """A copy of the picture with outline, boxes, dealer's place, stake circles, rack and markers over it.

    With `fineness`, each place has its fewest pixels a millimetre written into it, red where they are too few.
    """
    drawn = np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR), np.uint8) if picture.ndim == 2 else picture.copy()
    wide = max(1, drawn.shape[1] // 960)
    _line(drawn, view.outline(layout.outline), EDGE, wide)
    _line(drawn, view.outline(layout.rack), EDGE, wide)
    worst = {one.place: one for one in fineness}
    for place, area in layout.areas.items():
        colour = DEALER if place == "dealer" else BOX
        found = worst.get(place)
        if found is not None and found.verdict == "too few":
            colour = BAD
        _line(drawn, view.outline(area), colour, wide)
        words = f"{place}" + (f" {found.px_per_mm:.2f}" if found is not None and found.camera == view.camera else "")
        _words(drawn, words, view.to_px(area.mean(axis=0))[0], colour, wide)
    for stake in layout.stakes:
        _line(drawn, view.outline(ring(stake)), STAKE, wide)
    for marker in layout.markers:
        _line(drawn, view.outline(marker.corners()), MARKER, wide)
        _words(drawn, str(marker.id), view.to_px([marker.centre])[0], MARKER, wide)
    return drawn


def plan(layout: Layout, px_per_mm: float = 1.0) -> Picture:
    """A layout alone, from above with the dealer at the top."""
    edge = 20.0
    width, height = (round((side + 2 * edge) * px_per_mm) for side in layout.size)
    row = edge * px_per_mm - 0.5
    pose = FeltPose(
        width=width,
        height=height,
        to_pixels=((px_per_mm, 0.0, row), (0.0, px_per_mm, row), (0.0, 0.0, 1.0)),
        by="points",
        residual_mm=0.0,
        worst_mm=0.0,
    )
    view = View("plan", Lens(width=width, height=height, fx=1.0, fy=1.0, cx=0.0, cy=0.0), pose)
    return lay_over(np.full((height, width, 3), (60, 80, 30), np.uint8), view, layout)


def _line(drawn: Picture, pixels: Points, colour: Colour, wide: int) -> None:
    """A closed line; its parts outside the picture are left out."""
    near = [bool(np.isfinite(pixel).all()) for pixel in pixels]
    for index in range(len(pixels)):
        if near[index - 1] and near[index]:
            cv2.line(drawn, _whole(pixels[index - 1]), _whole(pixels[index]), colour, wide, cv2.LINE_AA)


def _words(drawn: Picture, words: str, pixel: NDArray[np.float64], colour: Colour, wide: int) -> None:
    if np.isfinite(pixel).all():
        x, y = _whole(pixel)
        scale = 0.45 * wide
        place = (x - int(len(words) * 9 * scale), y + int(8 * scale))
        cv2.putText(drawn, words, place, cv2.FONT_HERSHEY_SIMPLEX, scale, (0, 0, 0), wide + 2, cv2.LINE_AA)
        cv2.putText(drawn, words, place, cv2.FONT_HERSHEY_SIMPLEX, scale, colour, wide, cv2.LINE_AA)


def _whole(pixel: NDArray[np.float64]) -> tuple[int, int]:
    x, y = np.clip(np.round(pixel), -30000, 30000).astype(int)
    return int(x), int(y)
