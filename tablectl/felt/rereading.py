"""A patch read again only where it has changed: what was read of the rest is as true as it was.

A patch is compared in cells with the picture in which each of them was read last. Indices are looked for where cells differ, and
in as much around as the finder takes into account; an index that lies wholly elsewhere keeps its reading. One that was not
certain is read again all the same, when there is time: the next picture has other noise.

A place is read several times after a change, so that following can vote. What has changed since `begin` is read each time; where
nothing has changed since the last time, indices are looked for every other time only, and read where they were the other times.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.felt.find import Corner, Layer, corners_in, same
from tablectl.felt.inset import DeckShape
from tablectl.felt.networks import Eyes
from tablectl.felt.read import SURELY_AN_INDEX, Reading, Seen, cards_of, each_once, read_corners
from tablectl.felt.view import Picture, Window

__all__ = ["CELL", "PARTS", "Rereading", "cells_of"]

CELL: Final = 4
"""Pixels of a cell, as of the finder's."""
STEP: Final = 10
"""Levels by which a cell must differ to have changed: the mean of its pixels has a tenth of that in noise."""
AROUND: Final = 24
"""Pixels around what is looked at that the finder sees as well: of more, what it says changes by less than noise does."""
FENCE: Final = 8
"""Pixels by which an index may be found elsewhere from one picture to the next, and more."""
PARTS: Final = 4
"""Where nothing has changed a patch is read again in so many parts, one at a time: no look is to take long."""
NO_INDEX: Final = 0.9
"""What was no index so surely is none in the next picture of the same, found"""
NEAR: Final = 0.2
"""of its heights from there, at the most."""
PATCH: Final = 0.75
"""Heights of an index from its middle to the farthest that the reader sees of it, up or down."""


def cells_of(patch: Picture) -> Picture:
    """A patch in cells: the mean of the pixels of each. Of rows and columns, up to three at the end are in none."""
    rows, columns = patch.shape[0] // CELL, patch.shape[1] // CELL
    whole = patch[: rows * CELL, : columns * CELL]
    return np.asarray(cv2.resize(whole, (columns, rows), interpolation=cv2.INTER_AREA), np.uint8)


class Rereading:
    """What was read of one place's patch, 2 px/mm."""

    def __init__(self) -> None:
        self._cells: Picture | None = None  # each as it was when it was read
        self._changed: Picture | None = None  # 1 where a cell has changed since `begin`
        self._times = 0  # it was read since a cell changed last
        self._part = 0  # the next that is read though nothing has changed
        self._readings: list[Reading] = []

    def begin(self) -> None:
        """What changed before is read enough."""
        if self._changed is not None:
            self._changed[:] = 0

    def read(
        self, patch: Picture, cells: Picture, network: Eyes, shape: DeckShape | None = None, *, anyway: bool = False
    ) -> list[Seen]:
        """The cards in a patch, of which `cells` are the cells. `shape` is what the deck has shown.

        `anyway` reads the next part of the patch as well as what has changed.
        """
        area, news = Window(0, 0, patch.shape[1], patch.shape[0]), True
        if self._cells is None or self._changed is None:
            self._cells, self._changed = cells.copy(), np.ones(cells.shape[:2], np.uint8)
        else:
            differing = _differing(cells, self._cells)
            news = anyway or bool(differing.any())
            self._changed |= differing
            area = _with_indices(_box(self._next_part() if anyway else self._changed), [one.corner for one in self._readings])
            part = _cells_in(area)
            part.of(self._cells)[:] = part.of(cells)
        self._times = 0 if news else self._times + 1
        self._readings = self._reread(patch, area, network, news=news)
        return cards_of(self._readings, network.tuning.certain, 2.0, shape)

    def _next_part(self) -> Picture:
        """1 in the part that is to be read next, and where a cell has changed."""
        assert self._changed is not None
        part, rows = self._changed.copy(), -(-len(self._changed) // PARTS)
        part[self._part * rows : (self._part + 1) * rows] = 1
        self._part = (self._part + 1) % PARTS
        return part

    def _reread(self, patch: Picture, area: Window, network: Eyes, *, news: bool) -> list[Reading]:
        """The readings of a patch, of which an area is read, those of the warmest indices first. `news`: it has just changed."""
        inside = [one for one in self._readings if _in(one.corner, area)]
        anew = not area.empty and self._times % 2 == 0
        found = _found(patch, area, network) if anew else [one.corner for one in inside]
        kept = [one for one in self._readings if not _in(one.corner, area)]
        kept = [one for one in kept if not any(same(one.corner, corner) for corner in found)]
        due = list(found)
        if not anew:  # such a look has time for what did not change, and is not certain
            due += [one.corner for one in kept if _is_unsure(one, network.tuning.certain)]
            kept = [one for one in kept if not _is_unsure(one, network.tuning.certain)]
        if not news:
            nothing = [one for one in inside if one.nothing >= NO_INDEX]
            due = [corner for corner in due if not any(same(corner, one.corner, NEAR) for one in nothing)]
            kept += nothing
        readings = each_once(kept + read_corners([Layer(patch, 1.0)], due, network))
        return sorted(readings, key=lambda one: -one.corner.heat)


def _is_unsure(reading: Reading, certain: float) -> bool:
    """Whether a reading is of an index, and does not tell which."""
    return reading.confidence < certain and reading.nothing < SURELY_AN_INDEX


def _differing(cells: Picture, before: Picture) -> Picture:
    """1 where cells differ in any colour."""
    far = cv2.threshold(cv2.absdiff(cells, before), STEP, 1, cv2.THRESH_BINARY)[1]
    return np.asarray(cv2.max(cv2.max(far[..., 0], far[..., 1]), far[..., 2]), np.uint8)


def _box(changed: NDArray[np.uint8]) -> Window:
    """The pixels around all cells that have changed."""
    left, top, wide, high = cv2.boundingRect(changed)
    return Window(left * CELL, top * CELL, (left + wide) * CELL, (top + high) * CELL)


def _with_indices(box: Window, corners: list[Corner]) -> Window:
    """A box, with the middles of all indices of which the reader saw something in it."""
    left, top, right, bottom = box
    for corner in [] if box.empty else corners:
        reach = PATCH * corner.height
        if box.left - reach < corner.x < box.right + reach and box.top - reach < corner.y < box.bottom + reach:
            left, right = min(left, int(corner.x) - FENCE), max(right, int(corner.x) + FENCE + 1)
            top, bottom = min(top, int(corner.y) - FENCE), max(bottom, int(corner.y) + FENCE + 1)
    return Window(max(0, left), max(0, top), right, bottom)


def _cells_in(area: Window) -> Window:
    return Window(area.left // CELL, area.top // CELL, -(-area.right // CELL), -(-area.bottom // CELL))


def _found(patch: Picture, area: Window, network: Eyes) -> list[Corner]:
    """The indices in an area of a patch, in pixels of the patch."""
    left, top = (max(0, start - AROUND) // CELL * CELL for start in area[:2])
    seen = patch[top : area.bottom + AROUND, left : area.right + AROUND]
    found = [corner._replace(x=corner.x + left, y=corner.y + top) for corner in corners_in([Layer(seen, 1.0)], network)]
    return [corner for corner in found if _in(corner, area, FENCE / 2)]


def _in(corner: Corner, area: Window, margin: float = 0.0) -> bool:
    """Whether the middle of an index is in an area."""
    across = area.left - margin <= corner.x < area.right + margin
    return across and area.top - margin <= corner.y < area.bottom + margin
