"""A camera's lens: where a pixel would be if the lens drew straight lines straight, and how a lens is calibrated from pictures.

The board is a ChArUco board: its inner corners are known by the markers around them, so that it may be seen in part, and reach
over the picture's edges where a lens is at its worst.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, NamedTuple

import cv2
import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablectl.errors import InputError
from tablectl.felt.layout import Points

__all__ = ["BOARDS", "MIN_PICTURES", "Board", "Lens", "LensFound", "calibrate_lens", "find_board"]

Pixels = Annotated[int, msgspec.Meta(ge=16, le=20000)]
Coefficient = Annotated[float, msgspec.Meta(ge=-1e4, le=1e4)]
"""Bounded, as no lens has more: what is no number at all is within no bounds."""
MIN_PICTURES = 6
"""Pictures with the board in them; fewer do not tell focal length from distance."""
MIN_CORNERS = 8
MIN_COVERED = 0.55
"""The part of the picture, in cells of 8 by 8, that the board must have been seen in: a lens is not known where none was."""
MAX_RMS = 1.5
"""Pixels. More is a board that is not flat, or pictures of another camera."""
TERMS = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 60, 1e-9)


class Board(NamedTuple):
    """A ChArUco board: squares across and down, and the sides of squares and markers in millimetres."""

    columns: int
    rows: int
    square: float
    marker: float

    def charuco(self) -> cv2.aruco.CharucoBoard:
        """OpenCV's board."""
        family = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_5X5_100)
        return cv2.aruco.CharucoBoard((self.columns, self.rows), self.square, self.marker, family)


BOARDS = {"a4": Board(9, 6, 30.0, 22.0), "a3": Board(12, 8, 33.0, 24.0)}
"""The boards that `calibrate sheet` prints, by paper."""


class Lens(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One camera's lens, as `CAMERA.lens.toml` has it. Pixels; the middle of the upper left pixel is (0, 0)."""

    width: Pixels
    height: Pixels
    fx: Annotated[float, msgspec.Meta(gt=0, le=1e6)]
    fy: Annotated[float, msgspec.Meta(gt=0, le=1e6)]
    cx: Annotated[float, msgspec.Meta(ge=-20000, le=40000)]
    cy: Annotated[float, msgspec.Meta(ge=-20000, le=40000)]
    distortion: tuple[Coefficient, Coefficient, Coefficient, Coefficient, Coefficient] = (0.0, 0.0, 0.0, 0.0, 0.0)
    """k1, k2, p1, p2, k3 of Brown and Conrady."""
    rms: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.0
    """Pixels, over all corners the lens was calibrated from."""
    pictures: Annotated[int, msgspec.Meta(ge=0, le=100000)] = 0

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of its pictures."""
        return self.width, self.height

    @cached_property
    def matrix(self) -> Points:
        """The matrix of its intrinsics."""
        return np.array([(self.fx, 0.0, self.cx), (0.0, self.fy, self.cy), (0.0, 0.0, 1.0)])

    @cached_property
    def _coefficients(self) -> NDArray[np.float64]:
        return np.array(self.distortion)

    @property
    def is_straight(self) -> bool:
        """Whether it draws straight lines straight."""
        return not any(self.distortion)

    def straight(self, pixels: ArrayLike) -> Points:
        """Pixels of a picture -> where a lens without distortion would have put them."""
        points = np.asarray(pixels, dtype=np.float64).reshape(-1, 2)
        if self.is_straight or not len(points):
            return points.copy()
        return np.asarray(cv2.undistortImagePoints(points, self.matrix, self._coefficients, None, TERMS), np.float64).reshape(
            -1, 2
        )

    def bent(self, straight: ArrayLike) -> Points:
        """The other way. A point far outside the picture, where the lens's formula folds back on itself, is NaN."""
        points = np.asarray(straight, dtype=np.float64).reshape(-1, 2)
        if self.is_straight or not len(points):
            return points.copy()
        rays = (points - (self.cx, self.cy)) / (self.fx, self.fy)
        inside = (rays**2).sum(axis=1) <= self._reach**2
        x, y = np.where(inside[:, None], rays, np.nan).T
        k1, k2, p1, p2, k3 = self.distortion
        square = x * x + y * y
        radial = 1.0 + square * (k1 + square * (k2 + square * k3))
        across = x * radial + 2.0 * p1 * x * y + p2 * (square + 2.0 * x * x)
        down = y * radial + p1 * (square + 2.0 * y * y) + 2.0 * p2 * x * y
        return np.column_stack([across * self.fx + self.cx, down * self.fy + self.cy])

    @cached_property
    def _reach(self) -> float:
        """How far from the axis the picture's border looks, with a little to spare; a ray's length at distance 1."""
        across, down = np.linspace(0, self.width - 1, 9), np.linspace(0, self.height - 1, 9)
        border = [(x, y) for x in across for y in (0, self.height - 1)] + [(x, y) for y in down for x in (0, self.width - 1)]
        rays = (self.straight(border) - (self.cx, self.cy)) / (self.fx, self.fy)
        return float(np.sqrt((rays**2).sum(axis=1)).max()) * 1.1


class LensFound(NamedTuple):
    """What a calibration found."""

    lens: Lens
    rms_mm: float
    """The same as `lens.rms`, in millimetres on the board where it was held."""
    used: tuple[str, ...]
    unused: tuple[tuple[str, str], ...]
    """Pictures that say nothing, and why."""
    covered: float
    """The part of the picture in which the board was seen, 0 to 1."""


class Seen(NamedTuple):
    """A board in one picture: its corners in pixels, and the same on the board in millimetres."""

    pixels: NDArray[np.float32]
    board: NDArray[np.float32]


def find_board(picture: NDArray[np.uint8], board: Board) -> Seen | None:
    """The board's corners in a picture, or None when too few of them are seen."""
    made = board.charuco()
    corners, ids, _, _ = cv2.aruco.CharucoDetector(made).detectBoard(picture)
    if ids is None or len(ids) < MIN_CORNERS:
        return None
    objects, pixels = made.matchImagePoints(list(corners), ids)
    flat = np.asarray(objects, np.float32).reshape(-1, 3)
    if min(len(set(flat[:, 0].tolist())), len(set(flat[:, 1].tolist()))) < 3:  # in a line or two: says next to nothing
        return None
    return Seen(np.asarray(pixels, np.float32).reshape(-1, 1, 2), flat.reshape(-1, 1, 3))


def calibrate_lens(pictures: Iterable[tuple[str, NDArray[np.uint8]]], board: Board) -> LensFound:
    """The lens from pictures of the board, each with its name.

    Raises `InputError`: pictures of different sizes, too few with the board, too little of the picture covered, or corners that
    no lens explains.
    """
    size: tuple[int, int] | None = None
    first = ""
    seen: list[Seen] = []
    used: list[str] = []
    unused: list[tuple[str, str]] = []
    for name, picture in pictures:
        here = (picture.shape[1], picture.shape[0])
        if size is None:
            size, first = here, name
        elif here != size:
            raise InputError(f"is {here[0]}x{here[1]} and {first} is {size[0]}x{size[1]}: one lens, one size", where=name)
        found = find_board(picture, board)
        if found is None:
            unused.append((name, "the board is not seen, or too little of it"))
        else:
            seen.append(found)
            used.append(name)
    if size is None:
        raise InputError("no picture was given")
    if len(seen) < MIN_PICTURES:
        raise InputError(f"the board is seen in {len(seen)} of {len(seen) + len(unused)} pictures; {MIN_PICTURES} are needed")
    covered = _covered(seen, size)
    if covered < MIN_COVERED:
        raise InputError(
            f"the board was seen in {covered:.0%} of the picture; {MIN_COVERED:.0%} is needed: hold it into the corners as well"
        )
    lens, errors = _solve(seen, size)
    limit = max(3 * float(np.median(errors)), 0.5)
    good = [index for index, error in enumerate(errors) if error <= limit]
    if MIN_PICTURES <= len(good) < len(seen):  # blurred, or the board bent: without them
        unused += [(used[index], f"is {error:.2f} px off") for index, error in enumerate(errors) if error > limit]
        seen, used = [seen[index] for index in good], [used[index] for index in good]
        lens, errors = _solve(seen, size)
    if lens.rms > MAX_RMS:
        worst = used[int(np.argmax(errors))]
        raise InputError(f"corners are {lens.rms:.2f} px from where any lens has them; {worst} is the worst: is the board flat?")
    scale = [error * _mm_per_px(one) for error, one in zip(errors, seen, strict=True)]
    return LensFound(lens, float(np.sqrt(np.mean(np.square(scale)))), tuple(used), tuple(unused), covered)


def _solve(seen: list[Seen], size: tuple[int, int]) -> tuple[Lens, list[float]]:
    """The lens, and each picture's error in pixels. k3 is only believed where it explains 5 % more."""
    boards, pixels = [one.board for one in seen], [one.pixels for one in seen]
    start = np.array([(size[0], 0, (size[0] - 1) / 2), (0, size[0], (size[1] - 1) / 2), (0, 0, 1)], dtype=np.float64)
    tries = []
    for flags in (cv2.CALIB_FIX_K3, 0):
        rms, matrix, coefficients, turns, shifts = cv2.calibrateCamera(
            boards, pixels, size, start.copy(), np.zeros(5), flags=flags | cv2.CALIB_USE_INTRINSIC_GUESS
        )
        tries.append((rms, np.asarray(matrix), np.asarray(coefficients).ravel(), turns, shifts))
    rms, matrix, coefficients, turns, shifts = tries[1] if tries[1][0] < 0.95 * tries[0][0] else tries[0]
    errors = []
    for board, pixel, turn, shift in zip(boards, pixels, turns, shifts, strict=True):
        again, _ = cv2.projectPoints(board, turn, shift, matrix, coefficients)
        errors.append(float(np.sqrt(((np.asarray(again).reshape(-1, 2) - pixel.reshape(-1, 2)) ** 2).sum(axis=1).mean())))
    k1, k2, p1, p2, k3 = (float(value) for value in coefficients[:5])
    lens = Lens(
        width=size[0],
        height=size[1],
        fx=float(matrix[0, 0]),
        fy=float(matrix[1, 1]),
        cx=float(matrix[0, 2]),
        cy=float(matrix[1, 2]),
        distortion=(k1, k2, p1, p2, k3),
        rms=float(rms),
        pictures=len(seen),
    )
    return lens, errors


def _covered(seen: list[Seen], size: tuple[int, int]) -> float:
    """The part of 8 by 8 cells of the picture that some board's corners span."""
    cells = np.zeros((8, 8), np.uint8)
    for one in seen:
        hull = cv2.convexHull((one.pixels.reshape(-1, 2) / (np.array(size) / 8) * 1.0).astype(np.float32))
        for row in range(8):
            for column in range(8):
                if cv2.pointPolygonTest(hull, (column + 0.5, row + 0.5), True) > -0.5:
                    cells[row, column] = 1
    return float(cells.mean())


def _mm_per_px(one: Seen) -> float:
    """How large a pixel is on the board: from the area that its corners take on both."""
    on_board = cv2.contourArea(cv2.convexHull(one.board.reshape(-1, 3)[:, :2].copy()))
    in_picture = cv2.contourArea(cv2.convexHull(one.pixels.reshape(-1, 2)))
    return float(np.sqrt(on_board / max(in_picture, 1.0)))
