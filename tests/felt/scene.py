"""A felt seen by a camera whose lens and place are known: what a calibration has to find again.

The drawing goes its own way: a flat picture of the felt, and for each pixel the ray that its lens lets in, by OpenCV alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.felt.half_circle import half_circle
from tablectl.felt.layout import Layout, dictionary
from tablectl.felt.lens import Board
from tablectl.felt.view import View

Picture = NDArray[np.uint8]
FLAT = 3.0
"""Pixels a millimetre of the flat picture."""
AROUND = 60.0
"""Millimetres of it around the felt."""
DISTORTION = (-0.12, 0.03, 0.0006, -0.0004, 0.0)


class Camera(NamedTuple):
    """A camera: its picture's size, focal length in pixels, distortion, and where it hangs over the felt, in millimetres."""

    width: int = 1920
    height: int = 1080
    focal: float = 1700.0
    distortion: tuple[float, ...] = DISTORTION
    above: tuple[float, float, float] = (900.0, 500.0, -1640.0)
    turned: tuple[float, float, float] = (0.02, -0.03, 0.01)
    """Its turn as a rotation vector; all zero looks straight down."""

    @property
    def matrix(self) -> NDArray[np.float64]:
        rows = [(self.focal, 0.0, self.width / 2 + 6), (0.0, self.focal, self.height / 2 - 4), (0.0, 0.0, 1.0)]
        return np.asarray(rows, np.float64)

    def pixels(self, millimetres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where places of the felt come to lie in its picture."""
        flat = np.column_stack([np.asarray(millimetres, float).reshape(-1, 2), np.zeros(np.asarray(millimetres).size // 2)])
        turn = np.array(self.turned)
        shift = -cv2.Rodrigues(turn)[0] @ np.array(self.above)
        seen, _ = cv2.projectPoints(flat, turn, shift, self.matrix, np.array(self.distortion))
        return np.asarray(seen, np.float64).reshape(-1, 2)

    def places(self, pixels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where the rays of pixels meet the felt."""
        criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 100, 1e-10)
        straight = cv2.undistortImagePoints(
            pixels.reshape(-1, 2), self.matrix, np.array(self.distortion), None, criteria
        ).reshape(-1, 2)
        rays = np.column_stack([straight, np.ones(len(straight))]) @ np.linalg.inv(self.matrix).T
        rays = rays @ cv2.Rodrigues(np.array(self.turned))[0]
        return np.asarray(np.array(self.above)[:2] + rays[:, :2] * (-self.above[2] / rays[:, 2:]), np.float64)

    def see(self, flat: Picture, *, scale: float, origin: float, noise: float = 2.0, seed: int = 1) -> Picture:
        """Its picture of a flat one, with blur and noise."""
        step = 8
        across = np.arange(-1, self.width // step + 2) * step + (step - 1) / 2  # cv2.resize's own places
        down = np.arange(-1, self.height // step + 2) * step + (step - 1) / 2
        grid = np.stack(np.meshgrid(across, down), axis=-1)
        places = ((self.places(grid.reshape(-1, 2)) + origin) * scale - 0.5).reshape(grid.shape).astype(np.float32)
        size = (grid.shape[1] * step, grid.shape[0] * step)
        full = cv2.resize(places, size, interpolation=cv2.INTER_LINEAR)[step : step + self.height, step : step + self.width]
        seen = cv2.remap(
            flat, full[..., 0], full[..., 1], cv2.INTER_AREA, borderMode=cv2.BORDER_CONSTANT, borderValue=(40, 40, 46)
        )
        seen = cv2.GaussianBlur(seen, (0, 0), 0.7)
        chance = np.random.default_rng(seed)
        noisy = np.asarray(seen, np.float32) + chance.standard_normal(seen.shape, np.float32) * noise
        return np.asarray(np.clip(noisy, 0, 255), np.uint8)


@lru_cache
def layout(first_marker: int = 0) -> Layout:
    return half_circle("a felt of tests", first_marker=first_marker)


@lru_cache(maxsize=4)
def flat_felt(first_marker: int = 0, moved: tuple[tuple[int, float], ...] = ()) -> Picture:
    """The felt from above; `moved`: markers glued so many millimetres to the right of where the layout says."""
    felt = layout(first_marker)
    width, depth = felt.size
    flat = np.full((int((depth + 2 * AROUND) * FLAT), int((width + 2 * AROUND) * FLAT), 3), (46, 40, 40), np.uint8)

    def at(points: object) -> NDArray[np.int32]:
        return np.round((np.asarray(points, float) + AROUND) * FLAT).astype(np.int32)

    cv2.fillPoly(flat, [at(felt.outline)], (60, 110, 30))
    for box in felt.boxes:
        cv2.polylines(flat, [at(box.area)], True, (150, 190, 160), 4, cv2.LINE_AA)
    for stake in felt.stakes:
        cv2.circle(flat, at(stake.centre).tolist(), int(stake.radius * FLAT), (220, 220, 220), 5, cv2.LINE_AA)
    for marker in felt.markers:
        image = cv2.aruco.generateImageMarker(dictionary(felt.family), marker.id, 160)
        image = cv2.copyMakeBorder(image, 20, 20, 20, 20, cv2.BORDER_CONSTANT, value=255)
        corners = marker.corners() + np.array([dict(moved).get(marker.id, 0.0), 0.0])
        source = np.array([(20, 20), (180, 20), (180, 180), (20, 180)], np.float32) - 0.5
        to = (corners + AROUND) * FLAT - 0.5
        left, top = (np.floor(to.min(axis=0)) - 30).astype(int)
        right, bottom = (np.ceil(to.max(axis=0)) + 30).astype(int)
        part = flat[top:bottom, left:right]
        warp = cv2.getPerspectiveTransform(source, (to - (left, top)).astype(np.float32))
        size = (right - left, bottom - top)
        mask = np.asarray(cv2.warpPerspective(np.full_like(image, 255), warp, size, flags=cv2.INTER_AREA))
        drawn = np.asarray(cv2.warpPerspective(image, warp, size, flags=cv2.INTER_AREA))
        part[mask > 127] = drawn[mask > 127][:, None]
    return np.asarray(cv2.GaussianBlur(flat, (0, 0), 0.8), np.uint8)


def felt_picture(camera: Camera, first_marker: int = 0, *, moved: tuple[tuple[int, float], ...] = (), seed: int = 1) -> Picture:
    """What a camera sees of the felt."""
    return camera.see(flat_felt(first_marker, moved), scale=FLAT, origin=AROUND, seed=seed)


@lru_cache(maxsize=4)
def _rays(view: View) -> NDArray[np.float32]:
    """Where each pixel of a view is in the flat picture."""
    width, height = view.size
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    places = (view.to_mm(np.column_stack([x.ravel(), y.ravel()])) + AROUND) * FLAT - 0.5
    return places.astype(np.float32).reshape(height, width, 2)


def picture_through(view: View, flat: Picture | None = None, seed: int = 1) -> Picture:
    """What a calibrated camera sees of a flat picture, or of the felt with the markers from 0 on."""
    maps = _rays(view)
    seen = cv2.remap(flat_felt() if flat is None else flat, maps[..., 0], maps[..., 1], cv2.INTER_LINEAR)
    noisy = np.asarray(cv2.GaussianBlur(seen, (0, 0), 0.7), np.float32)
    noisy += np.random.default_rng(seed).standard_normal(noisy.shape, np.float32) * 2
    return np.asarray(np.clip(noisy, 0, 255), np.uint8)


def board_pictures(camera: Camera, board: Board, count: int, seed: int = 5) -> list[Picture]:
    """The board held before the camera, each time elsewhere: the camera is moved instead of the board."""
    scale = 3.0
    width, height = board.columns * board.square, board.rows * board.square
    drawn = board.charuco().generateImage((int(width * scale), int(height * scale)))
    drawn = cv2.cvtColor(cv2.copyMakeBorder(drawn, 60, 60, 60, 60, cv2.BORDER_CONSTANT, value=255), cv2.COLOR_GRAY2BGR)
    sheet = np.asarray(cv2.GaussianBlur(drawn, (0, 0), 0.8), np.uint8)
    chance = np.random.default_rng(seed)
    pictures = []
    for number in range(count):
        far = width * chance.uniform(1.0, 1.6)
        off = np.array([(number % 4 - 1.5) * 0.2, (number // 4 % 3 - 1.0) * 0.17]) * far * camera.width / camera.focal
        turned = (chance.uniform(-0.45, 0.45), chance.uniform(-0.45, 0.45), chance.uniform(-0.3, 0.3))
        axis = cv2.Rodrigues(np.array(turned))[0].T @ np.array([off[0], off[1], far])
        above = (width / 2 - axis[0], height / 2 - axis[1], -axis[2])
        held = camera._replace(above=(float(above[0]), float(above[1]), float(above[2])), turned=turned)
        pictures.append(held.see(sheet, scale=scale, origin=20.0, seed=number))
    return pictures
