"""How the felt lies before a camera: from the markers on it, or from four points that a person clicked on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import cv2
import msgspec
import numpy as np
from msgspec.structs import replace

from tablectl.errors import InputError
from tablectl.felt.calibration import MIN_MARKERS, MISPLACED_MM
from tablectl.felt.layout import Layout, MarkerFamily, Points, dictionary
from tablectl.felt.lens import Lens
from tablectl.felt.view import FeltPose, Homography, Picture, SeenMarker, View

__all__ = ["MAX_RESIDUAL_MM", "Registered", "find_markers", "register_by_markers", "register_by_points"]

MAX_RESIDUAL_MM = 1.5
"""A felt whose marks are farther than this from their places is not the one that the layout describes."""
MAX_UNSTEADY_MM = 3.0
"""How far the corner of a box may come to lie elsewhere when one marker is left out: farther, and it is a guess."""
MIN_SPREAD = 0.05
"""The part of the felt's rectangle that the marks must span: elsewhere the homography is a guess."""


class Registered(NamedTuple):
    """A view, and what each mark says against it."""

    view: View
    residuals: Mapping[int, float]
    """Millimetres, by the marker's id (or the point's number): the farthest of its corners."""
    misplaced: tuple[int, ...]
    """Markers that lie elsewhere than the layout says; they were left out."""
    strange: tuple[int, ...]
    """Ids seen that the layout does not have."""


def find_markers(picture: Picture, family: MarkerFamily, only: tuple[int, ...] | None = None) -> dict[int, Points]:
    """The markers of a family in a picture: their corners in pixels, by id. One that is seen twice is none.

    `only` these ids are looked for: to compare a candidate with few codes takes a tenth of the time that all of a family take.
    """
    corners, ids, _ = _detector(family, only).detectMarkers(picture)
    numbers = [] if ids is None else [int(number) for number in np.asarray(ids).ravel()]
    return {
        only[number] if only is not None else number: np.asarray(corner, np.float64).reshape(4, 2)
        for number, corner in zip(numbers, corners, strict=True)
        if numbers.count(number) == 1
    }


@lru_cache(maxsize=256)
def _detector(family: MarkerFamily, only: tuple[int, ...] | None) -> cv2.aruco.ArucoDetector:
    parameters = cv2.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    whole = dictionary(family)
    if only is None:
        return cv2.aruco.ArucoDetector(whole, parameters)
    few = cv2.aruco.Dictionary(whole.bytesList[list(only)], whole.markerSize, whole.maxCorrectionBits)
    return cv2.aruco.ArucoDetector(few, parameters)


def register_by_markers(pictures: Iterable[tuple[str, Picture]], layout: Layout, lens: Lens, camera: str) -> Registered:
    """The view from pictures of the felt, each with its name: the median place of each marker counts.

    Raises `InputError`: no markers, another table's, too few, too close together, or marks that do not fit the layout.
    """
    seen: dict[int, list[Points]] = {}
    last = ""
    for name, picture in pictures:
        size = (picture.shape[1], picture.shape[0])
        if size != lens.size:
            raise InputError(f"is {size[0]}x{size[1]}, camera {camera}'s lens is for {lens.width}x{lens.height}", where=name)
        last = name
        for number, corners in find_markers(picture, layout.family).items():
            seen.setdefault(number, []).append(corners)
    if not last:
        raise InputError("no picture was given")
    strange = tuple(sorted(set(seen) - set(layout.by_id)))
    known = {number: np.median(np.stack(all_), axis=0) for number, all_ in sorted(seen.items()) if number in layout.by_id}
    if len(known) < MIN_MARKERS:
        raise InputError(_too_few(len(known), strange, layout), where=last)
    pixels = np.concatenate(list(known.values()))
    places = np.concatenate([layout.by_id[number].corners() for number in known])
    rough = _homography(lens.straight(pixels), places, robust=True)
    off = _off(rough, lens.straight(pixels), places).reshape(-1, 4).max(axis=1)
    misplaced = tuple(number for number, distance in zip(known, off, strict=True) if distance > MISPLACED_MM)
    good = {number: corners for number, corners in known.items() if number not in misplaced}
    if len(good) < max(MIN_MARKERS, (len(known) + 1) // 2):
        raise InputError(
            f"{len(misplaced)} of {len(known)} markers are more than {MISPLACED_MM:g} mm from their places in the layout: "
            "is it this table's?",
            where=last,
        )
    pixels = np.concatenate(list(good.values()))
    places = np.concatenate([layout.by_id[number].corners() for number in good])
    found = _pose(lens, pixels, places, layout, "markers", last)
    _require_steady(View(camera, lens, found), good, layout, last)
    marks = tuple(SeenMarker(id=number, corners=_corners(corners)) for number, corners in good.items())
    view = View(camera, lens, replace(found, markers=marks))
    every = {
        number: float(np.linalg.norm(view.to_mm(corners) - layout.by_id[number].corners(), axis=1).max())
        for number, corners in known.items()
    }
    return Registered(view, every, misplaced, strange)


def _require_steady(view: View, seen: Mapping[int, Points], layout: Layout, where: str) -> None:
    """Raise `InputError` when a box that the camera sees lies where it does because of one marker: no other speaks for it."""
    corners = np.concatenate(list(layout.areas.values()))
    corners = corners[view.sees(corners)]
    if not len(corners):
        return
    straight = view.lens.straight(view.to_px(corners))
    for left_out in seen:
        others = [number for number in seen if number != left_out]
        pixels = view.lens.straight(np.concatenate([seen[number] for number in others]))
        places = np.concatenate([layout.by_id[number].corners() for number in others])
        off = _off(_homography(pixels, places, robust=False), straight, corners)
        if off.max() > MAX_UNSTEADY_MM:
            x, y = corners[off.argmax()]
            raise InputError(
                f"without marker {left_out} the corner of a box at {x:.0f}, {y:.0f} mm would lie {off.max():.1f} mm elsewhere: "
                f"too few of the {len(layout.markers)} markers are seen around it",
                where=where,
            )


def register_by_points(
    pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]], layout: Layout, lens: Lens, camera: str
) -> Registered:
    """The view from (pixel, millimetre) pairs that a person gave, four or more. Raises `InputError`.

    Four points always fit, so their residual says nothing: a fifth does.
    """
    if len(pairs) < 4:
        raise InputError(f"{len(pairs)} points were given; four are needed")
    pixels, places = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    if ((pixels < -0.5) | (pixels > np.array(lens.size) - 0.5)).any():
        raise InputError(f"a point lies outside the picture of {lens.width}x{lens.height}")
    _require_from_above(lens.straight(pixels), places)
    view = View(camera, lens, _pose(lens, pixels, places, layout, "points", None))
    off = np.linalg.norm(view.to_mm(pixels) - places, axis=1)
    return Registered(view, {number: float(distance) for number, distance in enumerate(off, start=1)}, (), ())


def _require_from_above(straight: Points, places: Points) -> None:
    """Raise `InputError` for points that show the felt as a mirror would, or folded: two of them were given for each other.

    What lies before a camera keeps the sense in which any three of its points go round.
    """
    for three in combinations(range(len(places)), 3):
        seen, felt = _turns(straight[list(three)]), _turns(places[list(three)])
        if seen * felt < 0 and min(abs(seen), abs(felt)) > 0.1:  # three near a line go round either way
            raise InputError("the points show the felt mirrored or folded: were two of them given for each other?")


def _turns(three: Points) -> float:
    """How a triangle goes round: negative the other way, 0 for a line; twice its area by the square of its longest side."""
    (ax, ay), (bx, by), (cx, cy) = three
    longest = max(np.hypot(bx - ax, by - ay), np.hypot(cx - bx, cy - by), np.hypot(ax - cx, ay - cy), 1e-9)
    return float(((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)) / longest**2)


def _pose(lens: Lens, pixels: Points, places: Points, layout: Layout, by: str, where: str | None) -> FeltPose:
    spread = cv2.contourArea(cv2.convexHull(places.astype(np.float32))) / (layout.size[0] * layout.size[1])
    if spread < MIN_SPREAD:
        raise InputError(
            f"the marks span {spread:.0%} of the felt; {MIN_SPREAD:.0%} is needed: the rest would be a guess", where=where
        )
    straight = lens.straight(pixels)
    homography = _homography(straight, places, robust=False)
    off = _off(homography, straight, places)
    residual = float(np.sqrt(np.mean(off**2)))
    if not np.isfinite(residual) or residual > MAX_RESIDUAL_MM:
        raise InputError(
            f"the marks are {residual:.1f} mm (up to {off.max():.1f}) from the layout's places; {MAX_RESIDUAL_MM} is the most: "
            "are they where the layout says, and is the lens this camera's?",
            where=where,
        )
    return FeltPose(
        width=lens.width,
        height=lens.height,
        to_pixels=msgspec.convert(homography.tolist(), Homography),
        by="markers" if by == "markers" else "points",
        residual_mm=round(residual, 4),
        worst_mm=round(float(off.max()), 4),
    )


def _homography(straight: Points, places: Points, *, robust: bool) -> Points:
    """Millimetres to pixels. Fitted in millimetres, where the limits are; raises `InputError` for points in a line."""
    found, _ = cv2.findHomography(straight, places, cv2.RANSAC if robust else 0, MISPLACED_MM, maxIters=5000, confidence=0.999)
    if found is None or abs(np.linalg.det(found)) < 1e-12 or np.linalg.cond(found) > 1e12:
        raise InputError("the marks lie in a line, or fit no flat felt at all")
    back = np.linalg.inv(np.asarray(found, np.float64))
    return np.asarray(back / back[2, 2], np.float64)


def _off(homography: Points, straight: Points, places: Points) -> Points:
    """How far each mark is from its place, in millimetres."""
    lifted = np.column_stack([straight, np.ones(len(straight))]) @ np.linalg.inv(homography).T
    return np.asarray(np.linalg.norm(lifted[:, :2] / lifted[:, 2:] - places, axis=1), np.float64)


def _corners(corners: Points) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]:
    a, b, c, d = ((round(float(x), 3), round(float(y), 3)) for x, y in corners)
    return a, b, c, d


def _too_few(count: int, strange: tuple[int, ...], layout: Layout) -> str:
    if not layout.markers:
        return "the layout has no markers; give four points with --point"
    if not count and strange:
        return f"markers {', '.join(map(str, strange[:8]))} are seen, and none of the layout's: it is another table's"
    if not count:
        return f"no marker of the layout ({layout.family}) is seen"
    return f"{count} of the layout's {len(layout.markers)} markers {'is' if count == 1 else 'are'} seen; {MIN_MARKERS} are needed"
