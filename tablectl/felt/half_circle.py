"""A half-circle felt drawn up from a few measures, and any layout as the text of its file."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from tablectl.felt.layout import BOXES, BoxArea, Layout, Marker, Point, StakeCircle

__all__ = ["half_circle", "to_toml"]


def half_circle(
    title: str,
    *,
    width: float = 1800.0,
    depth: float = 1000.0,
    cards: tuple[float, float] = (390.0, 620.0),
    stake: tuple[float, float] = (725.0, 55.0),
    spread: float = 168.0,
    gap: float = 4.0,
    dealer: tuple[float, float, float] = (380.0, 230.0, 350.0),
    first_marker: int = 0,
) -> Layout:
    """A half-circle felt with seven boxes, measured from the middle of its arc.

    `cards`: the boxes reach from one radius to another; `stake`: the circles' distance and radius; `spread`: degrees that the
    seven boxes share, `gap`: those between two; `dealer`: the dealer's place: its width, and its nearer and farther edge in y.
    Markers: 50 mm at the rim, 30 mm on the line between boxes and dealer, 24 mm in the gaps, for cameras that see no rim.
    """
    radius = width / 2
    middle = np.array([radius, depth - radius])

    def at(distance: float, degrees: float) -> Point:
        x = middle[0] + distance * math.cos(math.radians(degrees))
        y = middle[1] + distance * math.sin(math.radians(degrees))
        return round(float(x), 1), round(float(y), 1)

    step = spread / BOXES
    first = (180.0 - spread) / 2

    def wedge(box: int) -> tuple[Point, ...]:
        begin = first + (box - 1) * step + gap / 2
        angles = [begin + (step - gap) * part / 4 for part in range(5)]
        return tuple([at(cards[1], angle) for angle in angles] + [at(cards[0], angle) for angle in reversed(angles)])

    between = [first + step * edge for edge in range(BOXES + 1)]
    rim = [(at(radius - 45, angle), 50.0, angle - 90) for angle in between]
    edge: list[tuple[Point, float, float]] = [((x, 45.0), 50.0, 0.0) for x in (radius + 330, radius - 330)]
    inner_radius = cards[0] - 30
    inner = [(at(inner_radius, first + step * (box - 0.5)), 30.0, first + step * (box - 0.5) - 90) for box in range(1, BOXES + 1)]
    gaps = [(at(cards[1] - 30, angle), 24.0, angle - 90) for angle in between]
    markers = tuple(
        Marker(id=first_marker + number, centre=centre, size=size, turned=round(turned, 1))
        for number, (centre, size, turned) in enumerate([*rim, *edge, *inner, *gaps])
    )
    arc = tuple(at(radius, 6.0 * part) for part in range(31))
    return Layout(
        title=title,
        outline=((0.0, 0.0), (width, 0.0), *arc),
        dealer=_rectangle(radius - dealer[0] / 2, dealer[1], radius + dealer[0] / 2, dealer[2]),
        rack=_rectangle(90.0, 20.0, 210.0, 130.0),
        boxes=tuple(BoxArea(box=box, area=wedge(box)) for box in range(1, BOXES + 1)),
        stakes=tuple(
            StakeCircle(box=box, centre=at(stake[0], first + step * (box - 0.5)), radius=stake[1]) for box in range(1, BOXES + 1)
        ),
        markers=markers,
    )


def _rectangle(left: float, top: float, right: float, bottom: float) -> tuple[Point, ...]:
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def to_toml(layout: Layout) -> str:
    """A layout as the text of `layout.toml`."""

    def points(polygon: Sequence[Point]) -> str:
        return "[" + ", ".join(f"[{x:g}, {y:g}]" for x, y in polygon) + "]"

    lines = [
        "# A felt in millimetres, seen from above with the dealer at the top: x from the dealer's right (0) to the dealer's",
        "# left, y from the dealer's edge (0) to the players.",
        f"title = {msgspec.json.encode(layout.title).decode()}",
        f"card = [{layout.card[0]:g}, {layout.card[1]:g}]   # width and height of a card",
        f"outline = {points(layout.outline)}",
        f"dealer = {points(layout.dealer)}   # where the dealer's cards lie",
        f"rack = {points(layout.rack)}   # the discard rack",
        f'family = "{layout.family}"',
    ]
    for box in layout.boxes:
        lines += ["", "[[boxes]]", f"box = {box.box}", f"area = {points(box.area)}"]
    for stake in layout.stakes:
        centre = f"[{stake.centre[0]:g}, {stake.centre[1]:g}]"
        lines += ["", "[[stakes]]", f"box = {stake.box}", f"centre = {centre}", f"radius = {stake.radius:g}"]
    for marker in layout.markers:
        centre = f"[{marker.centre[0]:g}, {marker.centre[1]:g}]"
        lines += ["", "[[markers]]", f"id = {marker.id}", f"centre = {centre}", f"size = {marker.size:g}"]
        lines += [f"turned = {marker.turned:g}"]
    return "\n".join(lines) + "\n"
