"""One camera's view of the felt: pixels to millimetres and back, how fine it sees, and patches of the felt cut out straight.

A flat felt and a lens without distortion are one homography apart, so a view is a lens and a homography. Frames are never
straightened as a whole: points are, and the few patches that are looked at.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import cv2
import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablectl.felt.layout import Points
from tablectl.felt.lens import Lens, Pixels

__all__ = ["Entries", "FeltPose", "Homography", "Picture", "Region", "SeenMarker", "View", "Window", "cut", "quick"]

Entries = np.integer[Any] | np.floating[Any]
"""What the maps of a patch are made of: places in pixels, exact or in thirty-seconds."""
Picture = NDArray[np.uint8]
"""Rows, columns and three channels in OpenCV's order (blue, green, red); or grey, without channels."""

Entry = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
Homography = tuple[tuple[Entry, Entry, Entry], tuple[Entry, Entry, Entry], tuple[Entry, Entry, Entry]]
Across = Annotated[float, msgspec.Meta(ge=-20000, le=40000)]
Corner = tuple[Across, Across]


STEP = 8


class SeenMarker(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A marker as it was seen when the felt was calibrated: its corners in pixels of the picture."""

    id: Annotated[int, msgspec.Meta(ge=0, le=586)]
    corners: tuple[Corner, Corner, Corner, Corner]


class FeltPose(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the felt lies before a camera, as `CAMERA.felt.toml` has it."""

    width: Pixels
    height: Pixels
    to_pixels: Homography
    """Homography: millimetres of the felt to pixels of a lens without distortion."""
    by: Literal["markers", "points"]
    residual_mm: Annotated[float, msgspec.Meta(ge=0, le=1000)]
    """How far the marks are from where the homography has them: root mean square."""
    worst_mm: Annotated[float, msgspec.Meta(ge=0, le=1000)]
    markers: Annotated[tuple[SeenMarker, ...], msgspec.Meta(max_length=100)] = ()


class Window(NamedTuple):
    """A rectangle of a picture, in whole pixels; `right` and `bottom` are not in it."""

    left: int
    top: int
    right: int
    bottom: int

    def of(self, picture: Picture) -> Picture:
        """That part of a picture, without copying it."""
        return picture[self.top : self.bottom, self.left : self.right]

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return self.right <= self.left or self.bottom <= self.top


class Region(NamedTuple):
    """A part of the felt as a camera has it: the window around it, and a mask of that window (255 inside)."""

    window: Window
    mask: NDArray[np.uint8]


class View:
    """One camera's view. Made once; all its methods are pure and may be called from any thread."""

    def __init__(self, camera: str, lens: Lens, pose: FeltPose) -> None:
        self.camera = camera
        self.lens = lens
        self.pose = pose

    @cached_property
    def _to_pixels(self) -> Points:
        return np.array(self.pose.to_pixels)

    @cached_property
    def _to_mm(self) -> Points:
        return np.asarray(np.linalg.inv(self._to_pixels), np.float64)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of its pictures."""
        return self.pose.width, self.pose.height

    def to_mm(self, pixels: ArrayLike) -> Points:
        """Pixels of a picture to millimetres on the felt; rows of two."""
        return _through(self._to_mm, self.lens.straight(pixels))

    def to_px(self, millimetres: ArrayLike) -> Points:
        """Millimetres on the felt to pixels of a picture; NaN for a place far outside of it, or behind the camera."""
        return self.lens.bent(_through(self._to_pixels, np.asarray(millimetres, dtype=np.float64).reshape(-1, 2)))

    def sees(self, millimetres: ArrayLike, margin: float = 0.0) -> NDArray[np.bool_]:
        """Which places are in the picture, at least `margin` pixels from its border."""
        pixels = self.to_px(millimetres)
        with np.errstate(invalid="ignore"):
            inside = (pixels >= margin - 0.5) & (pixels <= np.array(self.size) - 0.5 - margin)
        return np.asarray(inside.all(axis=1), dtype=np.bool_)

    def density(self, millimetres: ArrayLike) -> NDArray[np.float64]:
        """Pixels a millimetre at each place, in the direction in which it has the fewest; 0 where the camera does not see."""
        points = np.asarray(millimetres, dtype=np.float64).reshape(-1, 2)
        across, along = np.array([0.5, 0.0]), np.array([0.0, 0.5])
        right = self.to_px(points + across) - self.to_px(points - across)
        down = self.to_px(points + along) - self.to_px(points - along)
        found = np.zeros(len(points))
        seen = self.sees(points) & np.isfinite(right).all(axis=1) & np.isfinite(down).all(axis=1)
        if seen.any():
            jacobians = np.stack([right[seen], down[seen]], axis=2)
            found[seen] = np.linalg.svd(jacobians, compute_uv=False)[:, -1]
        return found

    def outline(self, polygon: ArrayLike, step: float = 20.0) -> Points:
        """A polygon of the felt in pixels, its sides followed every `step` millimetres (a lens bends them)."""
        corners = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
        points = []
        for here, there in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            parts = max(1, int(np.ceil(np.linalg.norm(there - here) / step)))
            points.append(here + (there - here) * (np.arange(parts) / parts)[:, None])
        return self.to_px(np.concatenate(points))

    def region(self, polygon: ArrayLike, margin: float = 0.0) -> Region | None:
        """The part of a picture that shows a polygon of the felt, wider by `margin` pixels; None when it shows none of it."""
        pixels = self.outline(polygon)
        pixels = pixels[np.isfinite(pixels).all(axis=1)]
        window = self.window(pixels, margin)
        if window.empty or len(pixels) < 3:
            return None
        mask = np.zeros((window.bottom - window.top, window.right - window.left), np.uint8)
        cv2.fillPoly(mask, [np.round(pixels - (window.left, window.top)).astype(np.int32)], 255)
        if margin >= 1:
            mask = np.asarray(cv2.dilate(mask, np.ones((2 * int(margin) + 1,) * 2, np.uint8)), np.uint8)
        return Region(window, mask) if mask.any() else None

    def window(self, pixels: ArrayLike, margin: float = 0.0) -> Window:
        """The window around points of a picture, wider by `margin` pixels, cut off at the picture's border."""
        points = np.asarray(pixels, dtype=np.float64).reshape(-1, 2)
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return Window(0, 0, 0, 0)
        low, high = np.floor(points.min(axis=0) - margin), np.ceil(points.max(axis=0) + margin) + 1
        width, height = self.size
        left, top = int(np.clip(low[0], 0, width)), int(np.clip(low[1], 0, height))
        return Window(left, top, int(np.clip(high[0], 0, width)), int(np.clip(high[1], 0, height)))

    def patch(
        self,
        picture: Picture,
        centre: tuple[float, float],
        size: tuple[float, float],
        *,
        turned: float = 0.0,
        px_per_mm: float = 2.0,
    ) -> Picture:
        """A rectangle of the felt cut out straight: `size` in millimetres around `centre`, `turned` degrees clockwise.

        Black where the picture does not reach.
        """
        return cut(picture, *self.maps(centre, size, turned=turned, px_per_mm=px_per_mm))

    def maps(
        self, centre: tuple[float, float], size: tuple[float, float], *, turned: float = 0.0, px_per_mm: float = 2.0
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Where in a picture each pixel of such a patch is: what `cut` takes, worth keeping for a place that stays."""
        columns, rows = max(1, round(size[0] * px_per_mm)), max(1, round(size[1] * px_per_mm))
        # Every eighth pixel is worked out, from one beyond the patch on, and the others lie between: a lens bends no sharper.
        x = ((np.arange(-1, columns // STEP + 2) + 0.5) * STEP) / px_per_mm - size[0] / 2
        y = ((np.arange(-1, rows // STEP + 2) + 0.5) * STEP) / px_per_mm - size[1] / 2
        x, y = np.meshgrid(x, y)
        angle = np.radians(turned)
        across, down = np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y
        places = np.column_stack([(across + centre[0]).ravel(), (down + centre[1]).ravel()])
        nodes = np.nan_to_num(self.to_px(places), nan=-1e4).astype(np.float32).reshape(*x.shape, 2)
        wide = cv2.resize(nodes, (x.shape[1] * STEP, x.shape[0] * STEP), interpolation=cv2.INTER_LINEAR)
        pixels = np.asarray(wide, np.float32)[STEP : STEP + rows, STEP : STEP + columns]
        return np.ascontiguousarray(pixels[..., 0]), np.ascontiguousarray(pixels[..., 1])

    def covers(self, maps: tuple[NDArray[np.float32], NDArray[np.float32]]) -> Picture:
        """1 for the pixels of a patch that the camera sees, else 0; `maps` are the patch's."""
        across, down = maps
        inside = (across >= 0) & (down >= 0) & (across < self.size[0] - 1) & (down < self.size[1] - 1)
        return inside.astype(np.uint8)


def quick(across: NDArray[np.float32], down: NDArray[np.float32]) -> tuple[NDArray[Entries], NDArray[Entries]]:
    """Such maps to a 32nd of a pixel: `cut` takes two thirds of the time with them."""
    pixels, parts = cv2.convertMaps(across, down, cv2.CV_16SC2)
    return np.asarray(pixels), np.asarray(parts)


def cut(picture: Picture, across: NDArray[Entries], down: NDArray[Entries]) -> Picture:
    """The patch that `View.maps` describes."""
    return np.asarray(cv2.remap(picture, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT), np.uint8)


def _through(homography: Points, points: Points) -> Points:
    """Points through a homography; NaN where they would lie behind the camera."""
    if not len(points):
        return np.zeros((0, 2))
    lifted = np.column_stack([points, np.ones(len(points))]) @ homography.T
    weight = lifted[:, 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(weight * np.sign(homography[2, 2]) > 1e-12, lifted[:, :2] / weight, np.nan), np.float64)
