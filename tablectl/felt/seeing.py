"""Looking at the felt: the cameras' newest pictures in, one `Sighting` in millimetres out. Only what has changed is read again.

Each place (a box, the dealer's) is a patch of the felt, cut out straight at 2 px/mm from a camera's picture. A coarse picture of
it tells whether anything moves there, and whether it is as it was when it was read last. A place that has changed and is still is
read `READINGS` times where it has changed, so that following has readings of its own to vote on, and now and then after that a
part of it. Where something moves nothing is read: all of that place is covered.

What lies on the cloth and is not its colour, and is no card that was read, covers what is under it: hands, sleeves, chips.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import cv2
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.calibration import Calibration
from tablectl.felt.circles import Circle
from tablectl.felt.cloth import differ, parts, unlike
from tablectl.felt.inset import DeckShape
from tablectl.felt.joining import learnt
from tablectl.felt.layout import Marker, Place, Points
from tablectl.felt.networks import Eyes, eyes
from tablectl.felt.read import Seen
from tablectl.felt.rereading import CELL, PARTS, Rereading, cells_of
from tablectl.felt.sighting import SeenCard, Sighting
from tablectl.felt.view import Picture, Region, View, cut, quick

__all__ = ["Seeing"]

SCALE: Final = 2.0
"""Pixels a millimetre of a patch: what the reader was made for."""
COARSE: Final = 0.25
"""Pixels a millimetre, about, of the coarse picture in which changes are looked for: each is the mean of many."""
MARGIN: Final = 12.0
"""Millimetres around a place that belong to its patch."""
RESTLESS: Final = 6
"""Frames of unrest after which a place is read all the same, each time."""
MOST: Final = 3
"""Places that are read in one look, so that a look does not take long; those that were read longest ago come first.

One that has not changed is read in a look that reads no other place.
"""
READINGS: Final = 6
"""Times that a place is read after it has changed."""
AGAIN: Final = 5_000_000
"""Microseconds in which a place is read again, part by part, though nothing has changed."""
SHARE: Final = 0.6
"""The part of a stake circle that a camera must see."""
ONE: Final = 9.0
"""Millimetres: two like cards of a fan lie further apart."""
ENDS: Final = 12.0
"""Millimetres between where the one end of a card and the other have its middle, at the most: each alone is a little off."""
UPSIDE_DOWN: Final = 20.0
"""Degrees by which the two ends may stand other than upside down to each other."""
WHITE: Final = 1.5
"""A marker with its white rim, of its black square."""
LEAST: Final = 900.0
"""Square millimetres of something that is no card before it covers anything: a thumb."""


class _Rectangle(NamedTuple):
    """A patch on the felt: middle and size in millimetres, degrees it is turned by."""

    centre: tuple[float, float]
    size: tuple[float, float]
    turned: float

    def to_mm(self, pixels: Points, scale: float) -> Points:
        """Pixels of the patch -> millimetres of the felt."""
        flat = (pixels + 0.5) / scale - np.array(self.size) / 2
        angle = np.radians(self.turned)
        turn = np.array([(np.cos(angle), np.sin(angle)), (-np.sin(angle), np.cos(angle))])
        return np.asarray(flat @ turn + np.array(self.centre), np.float64)

    def to_px(self, millimetres: Points, scale: float) -> NDArray[np.int32]:
        """The other way, to whole pixels."""
        angle = np.radians(self.turned)
        back = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
        flat = (millimetres - np.array(self.centre)) @ back + np.array(self.size) / 2
        return np.asarray(np.round(flat * scale - 0.5), np.int32)


class _Spot:
    """One place as one camera sees it: how it is cut out, and what was seen there last."""

    def __init__(self, view: View, place: Place, area: Points, region: Region, markers: Sequence[Marker]) -> None:
        self.camera, self.place = view.camera, place
        centre, size, turned = cv2.minAreaRect(area.astype(np.float32))
        size = (size[0] + 2 * MARGIN, size[1] + 2 * MARGIN)
        self.rectangle = _Rectangle((float(centre[0]), float(centre[1])), size, float(turned))
        maps = view.maps(self.rectangle.centre, size, turned=turned, px_per_mm=SCALE)
        self.fine = quick(*maps)
        self.bare = self._bare(view.covers(maps), area, markers)
        """Where in it bare cloth would be seen: 1 in the place itself, 0 around it, on markers and beyond the picture."""
        self._window = region.window
        step = max(1, round(float(view.density(area.mean(axis=0))[0]) / COARSE / 4))
        self._coarse = (max(2, region.mask.shape[1] // (4 * step)), max(2, region.mask.shape[0] // (4 * step)))
        self._few = (self._coarse[0] * step, self._coarse[1] * step)
        self._mask = np.asarray(cv2.resize(region.mask, self._coarse, interpolation=cv2.INTER_AREA), np.uint8)
        self._mask = np.asarray(cv2.threshold(self._mask, 1, 255, cv2.THRESH_BINARY)[1], np.uint8)
        self.outline = tuple((float(x), float(y)) for x, y in area)
        self.before: Picture | None = None
        self.read: Picture | None = None
        self.reading = Rereading()
        self.readings = 0
        self.restless = 0
        self.fresh = False
        """Whether it was read since it changed last."""
        self.due = 0
        self.cards: tuple[SeenCard, ...] = ()
        self.covered: tuple[tuple[tuple[float, float], ...], ...] = ()

    def _bare(self, seen: Picture, area: Points, markers: Sequence[Marker]) -> Picture:
        mask = np.zeros_like(seen)
        cv2.fillPoly(mask, [self.rectangle.to_px(area, SCALE)], (1,))
        for marker in markers:
            square = np.array(marker.centre) + (marker.corners() - marker.centre) * WHITE
            cv2.fillPoly(mask, [self.rectangle.to_px(square, SCALE)], (0,))
        return np.asarray(mask * seen, np.uint8)

    def coarse(self, picture: Picture) -> Picture:
        """The place, coarse, and nothing around it."""
        # The means of few pixels have little noise too.
        few = cv2.resize(self._window.of(picture), self._few, interpolation=cv2.INTER_NEAREST)
        small = cv2.resize(few, self._coarse, interpolation=cv2.INTER_AREA)
        return np.asarray(cv2.bitwise_and(small, small, mask=self._mask), np.uint8)


class Seeing:
    """The cameras of one table, looked at together. Pure: the same pictures give the same sightings."""

    def __init__(self, calibration: Calibration, network: Eyes | None = None) -> None:
        self.calibration = calibration
        self._network = network or eyes()
        self._shape = DeckShape()
        self._spots = [
            _Spot(calibration.views[camera], place, calibration.layout.areas[place], region, calibration.layout.markers)
            for camera, places in calibration.regions.items()
            for place, region in places.items()
        ]
        self._left = MOST
        circles = [Circle(view, stake) for stake in calibration.layout.stakes for view in calibration.views.values()]
        best = {circle.stake.box: circle for circle in sorted(circles, key=lambda circle: circle.share)}
        self._stakes = [circle for circle in best.values() if circle.share >= SHARE]
        self._cloth: dict[str, tuple[float, float]] = {}
        self.read = 0
        """Places that were read, in all."""

    def look(self, pictures: Mapping[str, Picture], at: int) -> Sighting:
        """One sighting of the pictures by camera, taken at about the same moment (`at`, microseconds since 1970).

        A camera without a picture sees nothing: what only it would see is covered.
        """
        cards: list[SeenCard] = []
        covered: list[tuple[tuple[float, float], ...]] = []
        self._left = MOST
        for spot in sorted(self._spots, key=lambda spot: (spot.readings == 0, spot.due)):
            picture = pictures.get(spot.camera)
            if picture is not None and self._look_at(spot, picture, at):
                covered += spot.covered
                cards += spot.cards
            else:
                covered.append(spot.outline)
        stakes = [circle.look(pictures[circle.camera], at) for circle in self._stakes if circle.camera in pictures]
        return Sighting(at, _once(cards), tuple(stake for stake in stakes if stake is not None), tuple(covered), bool(pictures))

    def _look_at(self, spot: _Spot, picture: Picture, at: int) -> bool:
        """Look at one place, and read it where that is due. False: nothing can be told of it, something moves there."""
        coarse = spot.coarse(picture)
        moves = spot.before is None or differ(coarse, spot.before)
        spot.before = coarse
        if spot.read is None or differ(coarse, spot.read):
            if spot.readings == 0:
                spot.reading.begin()
            spot.read, spot.readings, spot.fresh = coarse, READINGS, False
        spot.restless = spot.restless + 1 if moves else 0
        if moves and spot.restless % RESTLESS:
            return False
        anyway = spot.readings == 0
        if self._left == 0 or (anyway and (at < spot.due or self._left < MOST)):
            return spot.fresh
        self._left -= 1
        if anyway:
            spot.reading.begin()
        spot.readings, spot.fresh = max(0, spot.readings - 1), True
        spot.due = at + AGAIN // PARTS
        patch = cut(picture, *spot.fine)
        cells = cells_of(patch)
        found = spot.reading.read(patch, cells, self._network, self._shape, anyway=anyway)
        self._shape = learnt(self._shape, [(card.card, card.corners) for card in found], SCALE)
        self.read += 1
        if not found:
            spot.readings = min(spot.readings, 1)  # nothing to vote on
        spot.cards = _once(card for card in (self._card(spot, one) for one in found) if card is not None)
        spot.covered = self._strange(spot, cells, found)
        return True

    def _card(self, spot: _Spot, seen: Seen) -> SeenCard | None:
        """A card in millimetres; None where another camera sees it better, or it lies in a place of its own: patches overlap."""
        corners = spot.rectangle.to_mm(np.array(seen.polygon), SCALE)
        x, y = (float(value) for value in corners.mean(axis=0))
        if len(self.calibration.views) > 1 and not self.calibration.is_for(spot.camera, (x, y)):
            return None
        if self.calibration.layout.place_at((x, y)) not in (spot.place, None):
            return None
        long = corners[3] - corners[0]
        angle = float(np.degrees(np.arctan2(long[1], long[0])))
        polygon = tuple((float(px), float(py)) for px, py in corners)
        return SeenCard(seen.card, seen.confidence, (x, y), angle, polygon)

    def _strange(self, spot: _Spot, cells: Picture, found: list[Seen]) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Outlines of what is neither cloth nor a card that was found."""
        red, green = parts(cells)
        if spot.camera not in self._cloth:
            self._cloth[spot.camera] = float(np.median(red)), float(np.median(green))
        bare = cv2.resize(spot.bare, (cells.shape[1], cells.shape[0]), interpolation=cv2.INTER_NEAREST)
        strange = np.asarray(bare * unlike(red, green, self._cloth[spot.camera]), np.uint8)
        for card in found:
            cv2.fillConvexPoly(strange, np.round(np.array(card.polygon) / CELL).astype(np.int32), (0,))
        strange = np.asarray(cv2.morphologyEx(strange, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8)), np.uint8)
        contours, _ = cv2.findContours(strange, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        scale = SCALE / CELL
        large = [contour for contour in contours if cv2.contourArea(contour) / scale**2 >= LEAST]
        made = []
        for contour in large:
            hull = spot.rectangle.to_mm(cv2.convexHull(contour).reshape(-1, 2).astype(np.float64), scale)
            made.append(tuple((float(x), float(y)) for x, y in hull))
        return tuple(made)


def _once(cards: Iterable[SeenCard]) -> tuple[SeenCard, ...]:
    """Each card once, where its corners were not joined. Two ends that name different cards are one card, unread."""
    kept: list[SeenCard] = []
    for card in sorted(cards, key=lambda card: (card.card is Card.UNREAD, -card.confidence)):
        place = next((place for place, other in enumerate(kept) if _is_one(card, other)), None)
        if place is None:
            kept.append(card)
        elif card.card not in (kept[place].card, Card.UNREAD):
            kept[place] = replace(kept[place], card=Card.UNREAD, confidence=min(card.confidence, kept[place].confidence))
    return tuple(kept)


def _is_one(card: SeenCard, other: SeenCard) -> bool:
    """Whether two sightings are of one card: on each other, and of like faces or its two ends."""
    apart = float(np.hypot(card.centre[0] - other.centre[0], card.centre[1] - other.centre[1]))
    if apart < ONE and card.card in (other.card, Card.UNREAD):
        return True
    turned = abs((card.angle - other.angle) % 360 - 180)
    return apart < ENDS and turned < UPSIDE_DOWN
