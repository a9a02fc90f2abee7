"""A table's calibration: one layout, and each camera's lens and view, stitched in millimetres.

A calibration is a folder::

    calibration.toml     its name, and its cameras
    layout.toml          the felt in millimetres
    CAMERA.lens.toml     a camera's lens; left out: one that draws straight lines straight
    CAMERA.felt.toml     how the felt lies before it
    deck.toml, deck/     an enrolled deck, where there is one

Cameras need no common picture: each box is looked at by the camera that sees it whole and finest, and what no
camera sees whole, point by point by the one that has the most pixels a millimetre there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablectl.errors import ConfigError
from tablectl.felt.layout import Layout, Place, Points, StakeCircle, named, read_layout
from tablectl.felt.lens import Lens
from tablectl.felt.view import FeltPose, Region, View
from tablectl.resources import data_folder
from tablectl.settings import digest, digest_of, line_of, read_toml

__all__ = [
    "ENOUGH",
    "TOO_FEW",
    "About",
    "Calibration",
    "CameraName",
    "Digests",
    "Fineness",
    "digests",
    "find",
    "load",
    "names",
]

ENOUGH = 2.0
"""Pixels a millimetre that the reader wants wherever a card may lie."""
TOO_FEW = 1.5
"""Fewer than this are refused; between the two the reader leaves more cards unread."""
MIN_MARKERS = 4
"""Four markers that are seen are the least."""
MISPLACED_MM = 4.0
"""A single marker that is this far off lies elsewhere than the layout says; the others are believed."""
GRID = 10.0
"""Millimetres between the places that are looked at."""

CameraName = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class About(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`calibration.toml`."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    cameras: Annotated[tuple[CameraName, ...], msgspec.Meta(min_length=1, max_length=8)]


class Fineness(NamedTuple):
    """How finely a place is seen where it is seen worst."""

    place: Place
    camera: str | None
    """The camera that has the most pixels there; None when no camera sees it all."""
    px_per_mm: float
    at: tuple[float, float]

    @property
    def verdict(self) -> str:
        """`good`, `borderline` or `too few`."""
        return "good" if self.px_per_mm >= ENOUGH else "borderline" if self.px_per_mm >= TOO_FEW else "too few"

    def __str__(self) -> str:
        where = f"{named(self.place)} at {self.at[0]:.0f}, {self.at[1]:.0f} mm"
        if self.camera is None:
            return f"{where}: no camera sees it"
        return f"{where}, camera {self.camera}: {self.px_per_mm:.2f} px/mm"


class Digests(NamedTuple):
    """What a ledger pins of a calibration: SHA-256, in hexadecimal, over the `NAME SHA-256` lines of its files."""

    name: str
    """The folder's name."""
    all: str
    deck: str | None
    """The same over the enrolled deck's files alone; None where none is enrolled."""


class Calibration:
    """One table's cameras and felt. Made once; its methods are pure and may be called from any thread."""

    def __init__(
        self,
        name: str,
        layout: Layout,
        views: Sequence[View],
        *,
        title: str = "",
        digest: str = "",
        deck_digest: str | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.layout = layout
        self.views: Mapping[str, View] = {view.camera: view for view in views}
        self.digest = digest
        """SHA-256 over the names and digests of all its files: what a ledger pins."""
        self.deck_digest = deck_digest
        """The same over the enrolled deck's files alone; None where none is enrolled."""

    @cached_property
    def homes(self) -> Mapping[Place, str]:
        """The camera of each place that some camera sees whole: of those, the one that sees its worst corner best.

        A card at the edge of another camera's picture is not read there from the half that is in it.
        """
        found = {}
        for place, points in self._grids.items():
            worst = {camera: float(view.density(points).min()) for camera, view in self.views.items()}
            camera = max(worst, key=lambda name: worst[name])
            if worst[camera] > 0:
                found[place] = camera
        return found

    def camera_at(self, millimetres: ArrayLike) -> str | None:
        """The camera whose word counts at a place of the felt; None when none sees it.

        In a box, the one that sees all of it; elsewhere the one that has the most pixels a millimetre there.
        """
        point = np.asarray(millimetres, dtype=np.float64).reshape(1, 2)
        place = self.layout.place_at(point[0])
        if place is not None and place in self.homes:
            return self.homes[place]
        return self._best(point)[0][0]

    def density(self, millimetres: ArrayLike) -> NDArray[np.float64]:
        """Pixels a millimetre at each place, by the camera that has the most; 0 where none sees."""
        return self._best(np.asarray(millimetres, dtype=np.float64).reshape(-1, 2))[1]

    def _best(self, points: Points, place: Place | None = None) -> tuple[list[str | None], NDArray[np.float64]]:
        """The camera of each of the points of a place, and its pixels a millimetre there."""
        cameras = [self.homes[place]] if place is not None and place in self.homes else list(self.views)
        table = np.stack([self.views[camera].density(points) for camera in cameras])
        most = table.max(axis=0)
        return [cameras[index] if value > 0 else None for index, value in zip(table.argmax(axis=0), most, strict=True)], most

    def place_seen(self, camera: str, pixel: ArrayLike) -> Place | None:
        """The box or dealer's place at a pixel of a camera's picture."""
        return self.layout.place_at(self.views[camera].to_mm(pixel)[0])

    def is_for(self, camera: str, millimetres: ArrayLike) -> bool:
        """Whether what this camera sees at a place counts, so that two cameras report a card once."""
        return self.camera_at(millimetres) == camera

    @cached_property
    def regions(self) -> Mapping[str, Mapping[Place, Region]]:
        """By camera, the parts of its picture that show boxes and the dealer's place, where it is the best for some of them."""
        found: dict[str, dict[Place, Region]] = {camera: {} for camera in self.views}
        for place, points in self._grids.items():
            bests = set(self._best(points, place)[0])
            for camera, view in self.views.items():
                region = view.region(self.layout.areas[place]) if camera in bests else None
                if region is not None:
                    found[camera][place] = region
        return found

    @cached_property
    def _grids(self) -> dict[Place, Points]:
        """Places all over each area, its corners and sides too."""
        grids = {}
        for place, area in self.layout.areas.items():
            low, high = area.min(axis=0), area.max(axis=0)
            x, y = np.meshgrid(np.arange(low[0], high[0], GRID), np.arange(low[1], high[1], GRID))
            points = np.column_stack([x.ravel(), y.ravel()])
            inside = np.array([self.layout.place_at(point) == place for point in points], dtype=bool)
            sides = [here + (there - here) * part for here, there in _sides(area) for part in np.linspace(0, 1, 5)]
            grids[place] = np.concatenate([points[inside], np.array(sides)])
        return grids

    @cached_property
    def fineness(self) -> tuple[Fineness, ...]:
        """Each box, and the dealer's place, where it is seen worst."""
        found = []
        for place, points in self._grids.items():
            cameras, most = self._best(points, place)
            worst = int(most.argmin())
            at = (round(float(points[worst][0]), 1), round(float(points[worst][1]), 1))
            found.append(Fineness(place, cameras[worst], float(most[worst]), at))
        return tuple(found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is borderline, in words."""
        said = [f"{one}; {ENOUGH} are wanted" for one in self.fineness if one.verdict == "borderline"]
        for view in self.views.values():
            if view.lens.is_straight:
                said.append(f"camera {view.camera}: its lens is taken to draw straight lines straight: it was not calibrated")
            if not view.pose.markers:
                said.append(f"camera {view.camera}: was calibrated by points: whether it has moved is not watched")
        unseen = [
            stake.box for stake in self.layout.stakes if not any(view.sees(ring(stake)).all() for view in self.views.values())
        ]
        if unseen:
            said.append(
                f"no camera sees the whole stake circle of box {', '.join(map(str, unseen))}: stakes are not watched there"
            )
        return tuple(said)

    def require_fine(self, where: str) -> None:
        """Raise `ConfigError` when some place a card may lie at is seen with too few pixels; it names all such places."""
        bad = [one for one in self.fineness if one.verdict == "too few"]
        if bad:
            raise ConfigError(
                f"{'; '.join(map(str, bad))}: at least {TOO_FEW} px/mm are needed, {ENOUGH} are wanted", where=where
            )


def ring(stake: StakeCircle) -> Points:
    """A stake circle as a polygon."""
    turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    return np.asarray(np.array(stake.centre) + stake.radius * np.column_stack([np.cos(turn), np.sin(turn)]), np.float64)


def _sides(area: Points) -> list[tuple[Points, Points]]:
    return list(zip(area, np.roll(area, -1, axis=0), strict=True))


def names() -> list[str]:
    """The calibrations that ship."""
    return sorted(path.parent.name for path in data_folder("calibration").glob("*/calibration.toml"))


def find(name: str) -> Path:
    """The folder of a calibration that ships, or of a path. Raises `ConfigError`."""
    path = Path(name)
    if "/" not in name and not path.is_dir() and name in names():
        return data_folder("calibration") / name
    if not path.is_dir():
        raise ConfigError(f"no such calibration; there are {', '.join(names())}, or give the path of a folder", where=name)
    return path


def load(name: str | Path, *, fine: bool = True) -> Calibration:
    """Read a calibration by name or path.

    Raises `ConfigError` with file, line and key; with `fine`, also when a card may lie where too few pixels show it.
    """
    folder = find(str(name))
    about = read_about(folder)
    layout = read_layout(folder / "layout.toml")
    views = [read_view(folder, camera) for camera in about.cameras]
    for view in views:
        require_its_layout(view, layout, folder / f"{view.camera}.felt.toml")
    found = _digests(folder, about)
    calibration = Calibration(found.name, layout, views, title=about.title, digest=found.all, deck_digest=found.deck)
    if fine:
        calibration.require_fine(str(folder))
    return calibration


def read_about(folder: Path) -> About:
    """`calibration.toml` of a folder."""
    about, _ = read_toml(folder / "calibration.toml", About)
    if len(set(about.cameras)) != len(about.cameras):
        raise _fault(folder / "calibration.toml", "cameras", "a camera stands there twice")
    return about


def read_lens(folder: Path, camera: str) -> Lens | None:
    """A camera's lens; None when there is no file for it."""
    path = folder / f"{camera}.lens.toml"
    return read_toml(path, Lens)[0] if os.path.lexists(path) else None


def read_view(folder: Path, camera: str) -> View:
    """A camera's lens and felt, which must be of one size of picture."""
    path = folder / f"{camera}.felt.toml"
    pose, _ = read_toml(path, FeltPose)
    lens = read_lens(folder, camera) or straight_lens(pose.width, pose.height)
    if lens.size != (pose.width, pose.height):
        problem = (
            f"is for pictures of {pose.width}x{pose.height}, the lens for {lens.width}x{lens.height}: calibrate the felt again"
        )
        raise _fault(path, "width", problem)
    if abs(float(np.linalg.det(np.array(pose.to_pixels)))) < 1e-9:
        raise _fault(path, "to_pixels", "is no homography: it has no inverse")
    return View(camera, lens, pose)


def require_its_layout(view: View, layout: Layout, path: Path) -> None:
    """Raise `ConfigError` for a felt that was calibrated on another table, or before its layout was changed.

    A camera that was calibrated by points has no markers to tell that by.
    """
    seen = [marker for marker in view.pose.markers if marker.id in layout.by_id]
    if view.pose.by == "markers" and len(view.pose.markers) < MIN_MARKERS:
        problem = (
            f"has {len(view.pose.markers)} of the markers it was calibrated by; {MIN_MARKERS} are the least: is the file whole?"
        )
        raise _fault(path, "markers", problem)
    if len(seen) < len(view.pose.markers) / 2:
        strange = [str(marker.id) for marker in view.pose.markers if marker.id not in layout.by_id]
        raise _fault(path, "markers", f"the layout has no markers {', '.join(strange[:8])}: is it another table's?")
    if seen:
        gaps = [view.to_mm(marker.corners) - layout.by_id[marker.id].corners() for marker in seen]
        off = float(np.median([np.linalg.norm(gap, axis=1).max() for gap in gaps]))
        if not off <= MISPLACED_MM:
            problem = (
                f"its markers are {off:.0f} mm from where the layout has them: the layout was changed, or is another table's"
            )
            raise _fault(path, "to_pixels", f"{problem}; calibrate the felt again")


def _fault(path: Path, field: str, message: str) -> ConfigError:
    """An error at a key of a file that was read."""
    return ConfigError(message, where=str(path), line=line_of(path.read_text(), field), field=field)


def straight_lens(width: int, height: int) -> Lens:
    """A lens that draws straight lines straight: where none was calibrated."""
    return Lens(width=width, height=height, fx=float(width), fy=float(width), cx=(width - 1) / 2, cy=(height - 1) / 2)


def digests(name: str | Path) -> Digests:
    """The digests of a calibration by name or path, of which no more is read than that takes. Raises `ConfigError`."""
    folder = find(str(name))
    return _digests(folder, read_about(folder))


def _digests(folder: Path, about: About) -> Digests:
    """Over the files that say something, in the order of their names."""
    deck = [folder / "deck.toml", *folder.glob("deck/*.png")]
    files = [folder / "calibration.toml", folder / "layout.toml", *deck]
    files += [folder / f"{camera}.{kind}.toml" for camera in about.cameras for kind in ("lens", "felt")]
    lines: dict[Path, str] = {}
    for path in sorted(files):
        if path.is_file():
            try:
                lines[path] = f"{path.relative_to(folder).as_posix()} {digest_of(path)}\n"
            except OSError as fault:
                raise ConfigError(f"cannot be read: {fault.strerror}", where=str(path)) from None
    enrolled = [line for path, line in lines.items() if path in deck] if deck[0] in lines else []
    over_deck = digest("".join(enrolled).encode()) if enrolled else None
    name = "".join(letter if letter.isprintable() else "?" for letter in folder.resolve().name)  # a record holds no others
    return Digests(name, digest("".join(lines.values()).encode()), over_deck)
