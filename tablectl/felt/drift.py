"""Whether a camera still stands where it was calibrated: its markers are looked for near where they were.

A look costs a few small patches. A hand over a marker hides that one; the others say how the picture has shifted, and how far
that puts the worst corner of a box from where it was. When too few are near, the whole picture is searched once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import cv2
import numpy as np

from tablectl.errors import ConfigError
from tablectl.felt.layout import Layout, Points
from tablectl.felt.registration import find_markers
from tablectl.felt.view import Picture, View

__all__ = ["LIMIT_MM", "Drift", "look", "require_this_table"]

LIMIT_MM = 2.0
"""Farther than this, the corner of a card is looked for beside it."""
MIN_FOUND = 3
"""Fewer markers do not tell a camera that was knocked from a marker that was."""
NEAR_MM = 15.0
"""How far around its place a marker is looked for."""

State = Literal["still", "moved", "unseen", "other_table", "unwatched"]


class Drift(NamedTuple):
    """What a look at one camera's picture says."""

    camera: str
    state: State
    """`unseen`: too few markers to say; `other_table`: markers, and none of this table's; `unwatched`: none was calibrated."""
    mm: float | None
    """How far the worst corner of a box is from where it was; None when not known."""
    found: int
    of: int
    markers: Mapping[int, float]
    """How far each marker that was found is from where it was, in millimetres."""

    @property
    def peeled(self) -> tuple[int, ...]:
        """Markers that moved by themselves, while the camera did not."""
        return tuple(number for number, mm in self.markers.items() if self.state == "still" and mm > LIMIT_MM)


def look(picture: Picture, view: View, layout: Layout, *, limit: float = LIMIT_MM, wide: bool = False) -> Drift:
    """Look at the markers in a picture. `wide` searches all of it where too few are near their places: slow, once in a while.

    Pure; raises `ConfigError` for a picture of another size than the view was calibrated for.
    """
    require_size(picture, view, view.camera)
    then = {marker.id: np.array(marker.corners) for marker in view.pose.markers if marker.id in layout.by_id}
    if not then:
        return Drift(view.camera, "unwatched", None, 0, 0, {})
    now = _near(picture, view, layout, then)
    strange: set[int] = set()
    if len(now) < MIN_FOUND and wide:
        everywhere = find_markers(picture, layout.family)
        now = {number: corners for number, corners in everywhere.items() if number in then}
        strange = set(everywhere) - set(layout.by_id)
    shifts = {number: view.to_mm(now[number]) - view.to_mm(then[number]) for number in now}
    markers = {number: round(float(np.linalg.norm(shift, axis=1).mean()), 3) for number, shift in sorted(shifts.items())}
    if len(now) < MIN_FOUND:
        state: State = "other_table" if strange and not now else "unseen"
        return Drift(view.camera, state, None, len(now), len(then), markers)
    before = np.concatenate([view.to_mm(then[number]) for number in now])
    mm = _worst(before, before + np.concatenate([shifts[number] for number in now]), view, layout)
    return Drift(view.camera, "moved" if mm > limit else "still", round(mm, 3), len(now), len(then), markers)


def require_this_table(picture: Picture, view: View, layout: Layout, where: str, *, limit: float = LIMIT_MM) -> Drift:
    """What `look` says of a picture, when it is this calibration's table; else `ConfigError`."""
    require_size(picture, view, where)
    drift = look(picture, view, layout, limit=limit, wide=True)
    if drift.state == "other_table":
        raise ConfigError(f"camera {view.camera} sees the markers of another table", where=where)
    if drift.state == "moved":
        raise ConfigError(
            f"camera {view.camera} sees the felt {drift.mm:.1f} mm from where it was calibrated ({limit:g} is the most): "
            "the camera was moved, or it is another table; calibrate the felt again",
            where=where,
        )
    if drift.state == "unseen":
        raise ConfigError(
            f"camera {view.camera} sees {drift.found} of its {drift.of} markers: {MIN_FOUND} are needed", where=where
        )
    return drift


def require_size(picture: Picture, view: View, where: str) -> None:
    """Raise `ConfigError` for a picture, of that name, that is not of the size the view was calibrated for."""
    size = (picture.shape[1], picture.shape[0])
    if size != view.size:
        raise ConfigError(
            f"camera {view.camera} sends {size[0]}x{size[1]}, and was calibrated for {view.size[0]}x{view.size[1]}",
            where=where,
        )


def _near(picture: Picture, view: View, layout: Layout, then: Mapping[int, Points]) -> dict[int, Points]:
    """The markers that are within `NEAR_MM` of where they were, from a patch of the picture each."""
    found = {}
    for number, corners in then.items():
        across = float(np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1).max())
        margin = across / layout.by_id[number].size * (NEAR_MM + layout.by_id[number].size / 6)
        window = view.window(corners, margin)
        patch = window.of(picture)
        if window.empty:
            continue
        seen = find_markers(np.ascontiguousarray(patch), layout.family, (number,)).get(number)
        if seen is not None:
            found[number] = seen + np.array([window.left, window.top])
    return found


def _worst(before: Points, after: Points, view: View, layout: Layout) -> float:
    """How far the picture's shift, turn and growth carry the farthest corner of a place where cards lie that this camera sees."""
    change, _ = cv2.estimateAffinePartial2D(before, after, method=cv2.RANSAC, ransacReprojThreshold=1.0, maxIters=500)
    matrix = np.asarray(change, np.float64)
    if matrix.shape != (2, 3):  # no two points agree
        return float(np.median(np.linalg.norm(after - before, axis=1)))
    corners = np.concatenate(list(layout.areas.values()))
    corners = corners[view.sees(corners)]
    if not len(corners):
        corners = before
    return float(np.linalg.norm(corners @ matrix[:, :2].T + matrix[:, 2] - corners, axis=1).max())
