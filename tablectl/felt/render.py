"""A felt drawn as one camera would see it: any `Scene`, from card faces, with perspective, uneven light, blur and noise.

Where a thing lies in the picture is the calibration's own answer (`View.to_px`), lens and all, so what is rendered is what that
calibration expects. Only what differs from the last scene is drawn again; the sensor's noise is new in each picture.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.faces import FaceStyle, shipped_glyphs
from tablectl.felt.layout import Layout, Points, dictionary
from tablectl.felt.scene import Deck, Laid, card_quad, draw_chip, draw_hand, lay_cards, smooth_field, woven
from tablectl.felt.staging import Lying, Reaching, Scene, Shadow, Stack
from tablectl.felt.view import Picture, View, Window

__all__ = ["Optics", "RenderedFelt", "plain_deck"]

PAD = 12
"""Pixels about a thing that its shadow and the blur reach."""
CHIP = 19.5
"""Millimetres: a chip's radius."""
RISE = 2.2
"""Millimetres by which a chip seems to stand further than the one below it."""
ARM = 600.0
"""Millimetres of hand and arm that are drawn at the most."""
COARSER = 2
"""So many times fewer pixels a millimetre has a hand when it is drawn: it has no sharp edges, and takes long."""
MARGIN = 30.0
"""Millimetres that are drawn around the felt."""
GRID = 8
"""Pixels between two that are looked up; those between lie between."""
AROUND = (46, 40, 40)
CLOTH = (52.0, 96.0, 28.0)
PRINT = (150, 190, 160)


class Optics(NamedTuple):
    """What lens, light and sensor do: `blur` and `noise` are standard deviations (pixels, levels), `uneven` is from 0 to 1."""

    blur: float = 0.7
    noise: float = 2.0
    uneven: float = 0.25


class _Thing(NamedTuple):
    """Something that is drawn: what, and the part of the picture it may touch."""

    what: Lying | Stack
    window: Window


@lru_cache(maxsize=4)
def plain_deck(number: int = 0) -> Deck:
    """A deck of the usual measures, from one of the sets of outlines that ship."""
    sets = shipped_glyphs()
    return Deck(FaceStyle(seed=number), sets[number % len(sets)])


class RenderedFelt:
    """One camera's pictures of one felt. The same seed draws the same felt; chance then only makes the noise.

    `grains`: the noise of so many pictures, in turns, so that a scene that was seen is to the bit what it was; None: no end.
    """

    def __init__(
        self,
        layout: Layout,
        view: View,
        deck: Deck | None = None,
        *,
        seed: int = 1,
        optics: Optics = Optics(),  # noqa: B008 (a NamedTuple cannot be changed)
        grains: int | None = None,
    ) -> None:
        self.layout = layout
        self.view = view
        self.deck = deck or plain_deck()
        self._optics = optics
        self._chance = np.random.default_rng(seed)
        columns, rows = view.size
        self._rows, self._columns = rows, columns
        middle = np.array(layout.outline).mean(axis=0)
        self._scale = float(view.density([middle])[0]) or float(view.density(layout.areas[4].mean(axis=0))[0]) or 2.0
        low = 1.0 - optics.uneven
        self._light = smooth_field(self._chance, (rows, columns), 4, low, 1.04)
        self._cloth = self._bare()
        self._bias = round(3 * optics.noise)
        self._grain = self._noise()
        self._grains = itertools.cycle([self._offset() for _ in range(grains)]) if grains is not None else None
        self._lit = np.empty((rows, columns, 3), np.uint8)  # without hands and shadows
        self._finish(self._cloth, Window(0, 0, columns, rows))
        self._seen = self._lit.copy()
        self._things: list[_Thing] = []
        self._over: list[Window] = []
        self._above: tuple[tuple[Shadow, ...], tuple[Reaching, ...]] = ((), ())

    def picture(self, scene: Scene) -> Picture:
        """What the camera sees of it: a new array each time."""
        if scene.covered:
            return self._covered()
        whats: list[Lying | Stack] = [*scene.stacks, *scene.cards]
        known = {thing.what: thing for thing in self._things}
        things = [known.get(what) or _Thing(what, self._window(what)) for what in whats]
        changed = _merged(self._changed(things))
        for window in changed:
            self._draw(things, window)
        self._things = things
        above = (scene.shadows, scene.hands)
        if changed or above != self._above:
            for window in (*changed, *self._over):
                window.of(self._seen)[:] = window.of(self._lit)
            self._over = [self._shade(shadow) for shadow in scene.shadows] + [self._reach(hand) for hand in scene.hands]
            self._above = above
        seen = self._seen
        if scene.light != 1.0:
            seen = np.asarray(cv2.convertScaleAbs(seen, alpha=max(0.0, scene.light)), np.uint8)
        return self._with_noise(seen)

    def quad(self, lying: Lying) -> Points:
        """A card's corners in pixels, from its upper left clockwise."""
        return card_quad(_laid(lying), self.deck.style, self._about(lying.x, lying.y))

    # Drawing

    def _changed(self, things: list[_Thing]) -> list[Window]:
        """Where something is new, gone, or lies over another than before."""
        before, after = self._things, things
        common = [thing for thing in before if thing in after]
        if [thing for thing in after if thing in before] != common:  # their order has changed
            return [thing.window for thing in (*before, *after)]
        return [thing.window for thing in before if thing not in common] + [
            thing.window for thing in after if thing not in common
        ]

    def _draw(self, things: list[_Thing], window: Window) -> None:
        """Draw one part of the picture anew."""
        wide = self._grown(window, PAD)
        canvas = wide.of(self._cloth).copy()
        shift = np.array([[1, 0, -wide.left], [0, 1, -wide.top], [0, 0, 1.0]])
        for thing in things:
            if not _meet(thing.window, wide):
                continue
            if isinstance(thing.what, Stack):
                self._chips(canvas, thing.what, wide)
            else:
                laid = _laid(thing.what)
                lay_cards(canvas, [laid], self.deck, shift @ self._about(laid.x, laid.y), face_scale=self._face_scale)
        self._finish(canvas, wide, window)

    def _finish(self, canvas: Picture, wide: Window, window: Window | None = None) -> None:
        """Light and blur what was drawn of `wide`, and keep `window` of it."""
        window = window or wide
        lit = cv2.multiply(
            canvas.astype(np.float32), cv2.merge([self._light[wide.top : wide.bottom, wide.left : wide.right]] * 3)
        )
        if self._optics.blur > 0.2:
            lit = cv2.GaussianBlur(lit, (0, 0), self._optics.blur)
        inner = Window(window.left - wide.left, window.top - wide.top, window.right - wide.left, window.bottom - wide.top)
        window.of(self._lit)[:] = np.clip(
            np.asarray(lit)[inner.top : inner.bottom, inner.left : inner.right] - self._bias, 0, 255
        )

    def _chips(self, canvas: Picture, stack: Stack, wide: Window) -> None:
        """Chips on one another."""
        for number in range(stack.chips):
            chance = np.random.default_rng([stack.look, number])
            x, y = self.view.to_px([(stack.x + chance.normal(0, 0.8), stack.y - number * RISE)])[0]
            draw_chip(canvas, None, chance, (float(x) - wide.left, float(y) - wide.top), CHIP * self._scale)

    def _shade(self, shadow: Shadow) -> Window:
        """A soft shadow over what is seen."""
        (x, y), radius = self.view.to_px([(shadow.x, shadow.y)])[0], shadow.radius * self._scale
        window = self.view.window([(x - 2 * radius, y - 2 * radius), (x + 2 * radius, y + 2 * radius)])
        if not window.empty:
            across = (np.arange(window.left, window.right) - x) / radius
            down = (np.arange(window.top, window.bottom) - y) / radius
            weight = 255 - 255 * shadow.depth * np.exp(-(down[:, None] ** 2)) * np.exp(-(across[None, :] ** 2))
            part = window.of(self._seen)
            part[:] = cv2.multiply(part, cv2.merge([weight.astype(np.uint8)] * 3), scale=1 / 255)
        return window

    def _reach(self, hand: Reaching) -> Window:
        """A hand and an arm over what is seen."""
        tip = self.view.to_px([(hand.x, hand.y)])[0]
        if not np.isfinite(tip).all():
            return Window(0, 0, 0, 0)
        part, keeps, adds = _arm(round(hand.towards), self._scale)
        left, top = int(tip[0]) + part.left, int(tip[1]) + part.top
        window = self.view.window([(left, top), (left + keeps.shape[1] - 1, top + keeps.shape[0] - 1)])
        if not window.empty:
            own = Window(window.left - left, window.top - top, window.right - left, window.bottom - top)
            seen = cv2.multiply(window.of(self._seen), own.of(keeps), scale=1 / 255)
            window.of(self._seen)[:] = cv2.add(seen, own.of(adds))
        return window

    # Where things are

    @property
    def _face_scale(self) -> float:
        return max(1.0, round(self._scale * 2) / 2)

    def _about(self, x: float, y: float) -> Points:
        """Millimetres to pixels about a place: over a card's length the lens's bend is nothing."""
        felt = np.array([(x - 50, y - 50), (x + 50, y - 50), (x + 50, y + 50), (x - 50, y + 50)])
        pixels = np.nan_to_num(self.view.to_px(felt), nan=-1e5)
        return np.asarray(cv2.getPerspectiveTransform(felt.astype(np.float32), pixels.astype(np.float32)), np.float64)

    def _window(self, what: Lying | Stack) -> Window:
        if isinstance(what, Lying):
            return self._grown(self.view.window(self.quad(what)), PAD)
        reach = CHIP * 1.4
        left, right, top, bottom = what.x - reach, what.x + reach, what.y - reach - what.chips * RISE, what.y + reach
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]  # all: a camera may look from aside
        return self._grown(self.view.window(self.view.to_px(corners)), PAD)

    def _grown(self, window: Window, by: int) -> Window:
        if window.empty:
            return window
        return Window(
            max(0, window.left - by),
            max(0, window.top - by),
            min(self._columns, window.right + by),
            min(self._rows, window.bottom + by),
        )

    # What never changes, and what always does

    def _bare(self) -> Picture:
        """The felt with its print and markers, and nothing on it: drawn flat, and looked at pixel by pixel."""
        scale = max(2.0, round(self._scale * 1.3, 1))
        flat = self._flat(scale)
        across, down = ((np.arange(-1, side // GRID + 2) + 0.5) * GRID - 0.5 for side in (self._columns, self._rows))
        nodes = np.stack(np.meshgrid(across, down), axis=-1)
        places = self.view.to_mm(nodes.reshape(-1, 2)).reshape(nodes.shape)
        places = np.nan_to_num((places + MARGIN) * scale - 0.5, nan=-1e4).astype(np.float32)
        wide = cv2.resize(places, (nodes.shape[1] * GRID, nodes.shape[0] * GRID), interpolation=cv2.INTER_LINEAR)
        inner = np.asarray(wide, np.float32)[GRID : GRID + self._rows, GRID : GRID + self._columns]
        right, below = np.ascontiguousarray(inner[..., 0]), np.ascontiguousarray(inner[..., 1])
        return np.asarray(cv2.remap(flat, right, below, cv2.INTER_LINEAR, borderValue=AROUND), np.uint8)

    def _flat(self, scale: float) -> Picture:
        """The felt from above, `scale` pixels a millimetre, with `MARGIN` millimetres around it."""
        layout = self.layout
        columns, rows = (round((side + 2 * MARGIN) * scale) for side in layout.size)

        def at(points: object) -> NDArray[np.int32]:
            return np.round((np.asarray(points, float) + MARGIN) * scale - 0.5).astype(np.int32)

        picture = np.empty((rows, columns, 3), np.uint8)
        picture[:] = AROUND
        mask = np.zeros((rows, columns), np.uint8)
        cv2.fillPoly(mask, [at(layout.outline)], (255,))
        cloth = woven(self._chance, (rows // 2 + 1, columns // 2 + 1), CLOTH, 2.0)
        cv2.copyTo(np.asarray(cv2.resize(cloth, (columns, rows), interpolation=cv2.INTER_LINEAR), np.uint8), mask, picture)
        wide = max(1, round(scale * 1.2))
        for area in layout.areas.values():
            cv2.polylines(picture, [at(area)], True, PRINT, wide, cv2.LINE_AA)
        for stake in layout.stakes:
            x, y = at(stake.centre)
            cv2.circle(picture, (int(x), int(y)), round(stake.radius * scale), PRINT, wide, cv2.LINE_AA)
        cv2.fillPoly(picture, [at(layout.rack)], (24, 22, 22), cv2.LINE_AA)
        for marker in layout.markers:
            image = cv2.aruco.generateImageMarker(dictionary(layout.family), marker.id, 160)
            image = np.asarray(cv2.copyMakeBorder(image, 20, 20, 20, 20, cv2.BORDER_CONSTANT, value=(240,)), np.uint8)
            corners = np.array(marker.centre) + (marker.corners() - marker.centre) * 200 / 160
            to = ((corners + MARGIN) * scale - 0.5).astype(np.float32)
            low, high = np.floor(to.min(axis=0)).astype(int), np.ceil(to.max(axis=0)).astype(int) + 1
            source = np.array([(0, 0), (200, 0), (200, 200), (0, 200)], np.float32) - 0.5
            warp = cv2.getPerspectiveTransform(source, (to - low).astype(np.float32))
            size = (int(high[0] - low[0]), int(high[1] - low[1]))
            drawn = np.asarray(cv2.warpPerspective(image, warp, size, flags=cv2.INTER_AREA))
            inside = np.asarray(cv2.warpPerspective(np.full_like(image, 255), warp, size, flags=cv2.INTER_AREA)) > 127
            picture[low[1] : high[1], low[0] : high[0]][inside] = drawn[inside][:, None]
        return picture

    def _noise(self) -> Picture:
        """More noise than a picture needs: each takes it from elsewhere. It is never below zero, so pictures are kept darker."""
        shape = (self._rows + 61, self._columns + 67, 3)
        if self._optics.noise <= 0:
            return np.zeros(shape, np.uint8)
        grain = self._chance.standard_normal(shape, dtype=np.float32)
        grain *= self._optics.noise
        grain += self._bias + 0.5
        return np.asarray(grain.clip(0, 255, out=grain), np.float32).astype(np.uint8)

    def _offset(self) -> tuple[int, int]:
        return int(self._chance.integers(62)), int(self._chance.integers(68))

    def _with_noise(self, seen: Picture) -> Picture:
        down, across = next(self._grains) if self._grains is not None else self._offset()
        return np.asarray(cv2.add(seen, self._grain[down : down + self._rows, across : across + self._columns]), np.uint8)

    def _covered(self) -> Picture:
        """A hand before the lens."""
        seen = np.empty((self._rows, self._columns, 3), np.uint8)
        seen[:] = (38, 48, 84)
        return self._with_noise(seen)


def _laid(lying: Lying) -> Laid:
    return Laid(Card(lying.card), lying.x, lying.y, lying.angle)


def _meet(one: Window, other: Window) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom


def _merged(windows: list[Window]) -> list[Window]:
    """The same parts of a picture in windows that do not overlap."""
    apart: list[Window] = []
    for window in windows:
        if window.empty:
            continue
        joined, again = window, True
        while again:
            again = False
            for other in apart:
                if _meet(joined, other):
                    apart.remove(other)
                    joined = Window(
                        min(joined.left, other.left),
                        min(joined.top, other.top),
                        max(joined.right, other.right),
                        max(joined.bottom, other.bottom),
                    )
                    again = True
                    break
        apart.append(joined)
    return apart


@lru_cache(maxsize=16)
def _arm(towards: int, scale: float) -> tuple[Window, Picture, Picture]:
    """A hand with its arm: where it is, seen from its finger tips; what it leaves of each pixel (of 255), and what it adds."""
    half = round(ARM * scale / COARSER) * COARSER
    side, tip = 2 * half // COARSER, (half / COARSER, half / COARSER)
    drawn = []
    for ground in (0, 255):  # what is drawn is a part of the ground and something of its own
        canvas = np.full((side, side, 3), ground, np.uint8)
        draw_hand(canvas, None, np.random.default_rng(_seed_of(towards)), tip, scale / COARSER)
        drawn.append(np.asarray(cv2.resize(canvas, (2 * half, 2 * half), interpolation=cv2.INTER_LINEAR), np.uint8))
    adds, on_white = drawn
    keeps = np.asarray(cv2.subtract(on_white, adds), np.uint8)
    rows, columns = (np.flatnonzero((keeps < 255).any(axis=(axis, 2))) for axis in (1, 0))
    window = Window(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    own = np.ascontiguousarray(window.of(keeps)), np.ascontiguousarray(window.of(adds))
    return Window(window.left - half, window.top - half, window.right - half, window.bottom - half), *own


def _seed_of(towards: float) -> int:
    """The seed of a hand that reaches in from a direction, to within two degrees: `draw_hand` takes it from chance first."""
    wanted = np.deg2rad(towards) % (2 * np.pi)

    def off(seed: int) -> float:
        angle = np.random.default_rng(seed).uniform(0, 2 * np.pi)
        return float(abs((angle - wanted + np.pi) % (2 * np.pi) - np.pi))

    return min(range(400), key=off)
