"""The layout of a felt in millimetres: outline, seven boxes, dealer's place, stake circles, discard rack, markers.

The felt is seen from above with the dealer at the top: x runs from the dealer's right (0) to the dealer's left, y from the
dealer's edge (0) to the players. A picture of it at one pixel a millimetre is the felt itself; box 1, at the dealer's left, is
at the right of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import cv2
import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablectl.errors import ConfigError
from tablectl.places import Box
from tablectl.settings import convert, line_of, read_toml

__all__ = [
    "BOXES",
    "DEALER",
    "BoxArea",
    "Layout",
    "Marker",
    "MarkerFamily",
    "Place",
    "Point",
    "Points",
    "Polygon",
    "StakeCircle",
    "dictionary",
    "named",
    "parse_layout",
    "read_layout",
]

BOXES = 7
DEALER = "dealer"

Place = int | Literal["dealer"]
"""Where cards lie: a box, 1 to 7, or the dealer's place."""

Millimetres = Annotated[float, msgspec.Meta(ge=-5000, le=10000)]
Length = Annotated[float, msgspec.Meta(gt=0, le=10000)]
Point = tuple[Millimetres, Millimetres]
Polygon = Annotated[tuple[Point, ...], msgspec.Meta(min_length=3, max_length=400)]
Points = NDArray[np.float64]
"""Points as rows of two."""

MarkerFamily = Literal["apriltag_36h11", "apriltag_25h9", "aruco_4x4_50", "aruco_5x5_100"]
FAMILIES: dict[MarkerFamily, int] = {
    "apriltag_36h11": cv2.aruco.DICT_APRILTAG_36h11,
    "apriltag_25h9": cv2.aruco.DICT_APRILTAG_25h9,
    "aruco_4x4_50": cv2.aruco.DICT_4X4_50,
    "aruco_5x5_100": cv2.aruco.DICT_5X5_100,
}


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all parts share: a key that is not known is an error."""


class BoxArea(_Part, frozen=True, kw_only=True):
    """Where the cards of a box lie, whole: no card of it reaches over `area`."""

    box: Box
    area: Polygon


class StakeCircle(_Part, frozen=True, kw_only=True):
    """Where the chips of a box stand."""

    box: Box
    centre: Point
    radius: Length


class Marker(_Part, frozen=True, kw_only=True):
    """A marker that is printed or glued onto the felt: the place of its black square, without the white rim."""

    id: Annotated[int, msgspec.Meta(ge=0, le=586)]
    centre: Point
    size: Annotated[float, msgspec.Meta(ge=5, le=300)]
    turned: Annotated[float, msgspec.Meta(ge=-360, le=360)] = 0.0
    """Degrees clockwise, as seen from above with the dealer at the top."""

    def corners(self) -> Points:
        """Its four corners in millimetres, from the top left one clockwise, as detectors give them."""
        half, angle = self.size / 2, math.radians(self.turned)
        square = np.array([(-half, -half), (half, -half), (half, half), (-half, half)])
        turn = np.array([(math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))])
        corners: Points = square @ turn + np.array(self.centre)
        return corners


class Layout(_Part, frozen=True, kw_only=True, dict=True):
    """One table's felt. All lengths are millimetres."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    outline: Polygon
    dealer: Polygon
    rack: Polygon
    card: tuple[Length, Length] = (63.0, 88.0)
    boxes: Annotated[tuple[BoxArea, ...], msgspec.Meta(min_length=BOXES, max_length=BOXES)]
    stakes: Annotated[tuple[StakeCircle, ...], msgspec.Meta(min_length=BOXES, max_length=BOXES)]
    family: MarkerFamily = "apriltag_36h11"
    markers: Annotated[tuple[Marker, ...], msgspec.Meta(max_length=100)] = ()

    @cached_property
    def areas(self) -> dict[Place, Points]:
        """Where cards may lie, by place: the boxes in dealing order, then the dealer's."""
        areas: dict[Place, Points] = {box.box: np.array(box.area) for box in self.boxes}
        areas["dealer"] = np.array(self.dealer)
        return areas

    @cached_property
    def by_id(self) -> dict[int, Marker]:
        """The markers by their ids."""
        return {marker.id: marker for marker in self.markers}

    @property
    def size(self) -> tuple[float, float]:
        """The felt's greatest x and y."""
        far = np.array(self.outline).max(axis=0)
        return float(far[0]), float(far[1])

    def place_at(self, point: ArrayLike) -> Place | None:
        """The box or dealer's place that a point lies in; None between them."""
        x, y = np.asarray(point, dtype=float)
        for place, area in self.areas.items():
            if cv2.pointPolygonTest(area.astype(np.float32), (float(x), float(y)), False) >= 0:
                return place
        return None

    def box_at(self, point: ArrayLike) -> int | None:
        """The box that a point lies in; None for the dealer's place and between boxes."""
        place = self.place_at(point)
        return place if isinstance(place, int) else None

    def stake_at(self, point: ArrayLike) -> int | None:
        """The box whose stake circle a point lies in, or None."""
        x, y = np.asarray(point, dtype=float)
        for stake in self.stakes:
            if math.hypot(x - stake.centre[0], y - stake.centre[1]) <= stake.radius:
                return stake.box
        return None


def dictionary(family: MarkerFamily) -> cv2.aruco.Dictionary:
    """OpenCV's dictionary of a family of markers."""
    return cv2.aruco.getPredefinedDictionary(FAMILIES[family])


def read_layout(path: Path) -> Layout:
    """Read `layout.toml`. Raises `ConfigError` with file, line and key; also for a layout that no table can have."""
    layout, data = read_toml(path, Layout)
    return _possible(layout, data.decode(), str(path))


def parse_layout(text: str, where: str) -> Layout:
    """`read_layout` for text that is at hand."""
    return _possible(convert(text, Layout, where=where), text, where)


def _possible(layout: Layout, text: str, where: str) -> Layout:
    for field, problem in _problems(layout):
        raise ConfigError(problem, where=where, line=line_of(text, field), field=field)
    return layout


def _problems(layout: Layout) -> list[tuple[str, str]]:
    """What types cannot say: (key, what is wrong)."""
    found = []
    for key, numbers in (("boxes", [box.box for box in layout.boxes]), ("stakes", [stake.box for stake in layout.stakes])):
        if numbers != list(range(1, BOXES + 1)):
            found.append((key, f"must be boxes 1 to {BOXES}, in dealing order from the dealer's left; they are {numbers}"))
    for key, area in [("outline", layout.outline), ("dealer", layout.dealer), ("rack", layout.rack)]:
        if _crosses(area):
            found.append((key, "its sides cross"))
    for index, box in enumerate(layout.boxes):
        if _crosses(box.area):
            found.append((f"boxes[{index}].area", f"box {box.box}: its sides cross"))
    if found:
        return found
    outline = np.array(layout.outline, dtype=np.float32)
    places = list(layout.areas.items())
    for place, points in places:
        if any(cv2.pointPolygonTest(outline, (float(x), float(y)), True) < -1 for x, y in points):
            found.append(("boxes" if place != DEALER else "dealer", f"{named(place)} lies outside the outline"))
    for one in range(len(places)):
        for two in range(one + 1, len(places)):
            shared = _shared(places[one][1], places[two][1])
            if shared > 25:
                found.append(("boxes", f"{named(places[one][0])} and {named(places[two][0])} overlap by {shared / 100:.1f} cm²"))
    east_to_west = [float(layout.areas[box].mean(axis=0)[0]) for box in range(1, BOXES + 1)]
    if sorted(east_to_west, reverse=True) != east_to_west:
        found.append(("boxes", "box 1 must be at the dealer's left, where x is greatest, and the others follow"))
    ids = [marker.id for marker in layout.markers]
    if len(set(ids)) != len(ids):
        found.append(("markers", f"id {next(id for id in ids if ids.count(id) > 1)} stands there twice"))
    most = len(dictionary(layout.family).bytesList)
    if ids and max(ids) >= most:
        found.append(("markers", f"{layout.family} has ids 0 to {most - 1}, not {max(ids)}"))
    return found


def named(place: Place) -> str:
    """`box 3`, or `the dealer's place`."""
    return "the dealer's place" if place == DEALER else f"box {place}"


def _crosses(polygon: Sequence[Point]) -> bool:
    """Whether two sides of a polygon that are no neighbours cross."""
    sides = list(zip(polygon, [*polygon[1:], polygon[0]], strict=True))

    def side(a: Point, b: Point, c: Point) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    for i, (a, b) in enumerate(sides):
        for j in range(i + 2, len(sides)):
            if i == 0 and j == len(sides) - 1:
                continue
            c, d = sides[j]
            if side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0:
                return True
    return False


def _shared(one: Points, two: Points) -> float:
    """The area that two polygons share, in square millimetres, drawn at one pixel a millimetre."""
    low = np.floor(np.minimum(one.min(axis=0), two.min(axis=0)))
    width, height = (np.ceil(np.maximum(one.max(axis=0), two.max(axis=0)) - low) + 1).astype(int)
    if (one.max(axis=0) < two.min(axis=0)).any() or (two.max(axis=0) < one.min(axis=0)).any():
        return 0.0
    masks: list[NDArray[np.uint8]] = []
    for area in (one, two):
        mask = np.zeros((int(height), int(width)), np.uint8)
        cv2.fillPoly(mask, [np.round(area - low).astype(np.int32)], 1)
        masks.append(cv2.erode(mask, np.ones((3, 3), np.uint8)).astype(np.uint8))  # a common side is no overlap
    return float(np.count_nonzero(masks[0] & masks[1]))
