"""Enrolling a deck: each card is shown once on the felt, and the corner with its index is kept, upright and to scale.

Written into a calibration's folder: `deck/AS.png` is the card's upper left corner at `px_per_mm`, as wide and high as `deck.toml`
says; `deck/AS.2.png` is its other corner, turned upright. A deck whose cards have different faces (jumbo, four colours) is
enrolled by showing those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import cv2
import msgspec
import numpy as np

from tablectl.cards import Card
from tablectl.errors import ConfigError, InputError
from tablectl.felt.layout import Points
from tablectl.felt.sources import put, read_picture, write_picture
from tablectl.felt.view import Picture, View, cut
from tablectl.settings import line_of, read_toml

__all__ = ["DeckFile", "Enrolled", "EnrolledDeck", "LoneCard", "corners", "enrol", "find_lone_card", "load_deck", "write_deck"]

Length = Annotated[float, msgspec.Meta(gt=0, le=500)]
PX_PER_MM = 4.0
CORNER_MM = (20.0, 34.0)
"""What is kept of a card's corner: wide and high enough for the index of a jumbo face."""
STILL_MM = 1.5
STILL_FRAMES = 3
"""So many pictures of a video in which a card lies still are one showing."""


class DeckFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`deck.toml`: the geometry of the patches beside it."""

    px_per_mm: Annotated[float, msgspec.Meta(ge=0.5, le=20)] = PX_PER_MM
    corner: tuple[Length, Length] = CORNER_MM
    """Width and height of a patch in millimetres, from the card's upper left corner."""
    card: tuple[Length, Length] = (63.0, 88.0)
    cards: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=52)]


class LoneCard(NamedTuple):
    """A card that lies by itself: its middle in millimetres, and how many degrees clockwise it is turned from upright."""

    centre: tuple[float, float]
    turned: float
    size: tuple[float, float]


class Enrolled(NamedTuple):
    """One card's two corners, upright."""

    card: Card
    patches: tuple[Picture, Picture]
    source: str


class EnrolledDeck(NamedTuple):
    """A deck as it is kept: the patches by card."""

    file: DeckFile
    patches: dict[Card, tuple[Picture, ...]]


def find_lone_card(picture: Picture, view: View, area: Points, card: tuple[float, float]) -> LoneCard | None:
    """The one card that lies whole on a part of an empty felt; None when there is none, or more than one.

    It is looked for at one pixel a millimetre: what is brighter than the felt and has a card's size.
    """
    low, high = area.min(axis=0), area.max(axis=0)
    middle = (low + high) / 2
    size = high - low
    small = view.patch(picture, (float(middle[0]), float(middle[1])), (float(size[0]), float(size[1])), px_per_mm=1.0)
    bright = np.asarray(small.min(axis=2) if small.ndim == 3 else small, np.uint8)
    found = _of_a_cards_size(bright, low, card)
    if not any(found):  # a court's picture may be dark from side to side: then what is not the felt's colour
        cloth = np.median(small.reshape(-1, *small.shape[2:]), axis=0)
        unlike = np.abs(small - cloth).reshape(*small.shape[:2], -1).max(axis=2)
        found = _of_a_cards_size(np.clip(unlike, 0, 255).astype(np.uint8), low, card)
    return found[0] if len(found) == 1 else None


def _of_a_cards_size(stands_out: Picture, low: Points, card: tuple[float, float]) -> list[LoneCard | None]:
    """What stands out and has a card's size, in a picture of one pixel a millimetre from `low` on; None for what is larger."""
    _, mask = cv2.threshold(stands_out, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, _disc(9))
    mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, _disc(7))  # lines and numbers printed on the felt
    found: list[LoneCard | None] = []
    for outline in cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]:
        centre, sides, angle = cv2.minAreaRect(outline)
        across, down = (side + 1.0 for side in sides)
        turned = float(angle)
        if across > down:
            across, down, turned = down, across, turned + 90.0
        filled = cv2.contourArea(cv2.convexHull(outline)) / max(sides[0] * sides[1], 1.0)  # a picture may reach to the rim
        if abs(across - card[0]) < 0.1 * card[0] and abs(down - card[1]) < 0.1 * card[1] and filled > 0.93:
            place = (float(centre[0] + low[0]) + 0.5, float(centre[1] + low[1]) + 0.5)
            found.append(LoneCard(place, (turned + 90.0) % 180.0 - 90.0, (across, down)))
        elif cv2.contourArea(outline) > 0.45 * card[0] * card[1]:  # two that touch, a hand, a card half on the box
            found.append(None)
    return found


def _disc(across: int) -> Picture:
    """A disc: unlike a square it leaves a turned card's corners alike."""
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (across, across)), np.uint8)


def corners(picture: Picture, view: View, lone: LoneCard, card: tuple[float, float]) -> tuple[Picture, Picture]:
    """Both corners with an index, each upright."""
    patches = []
    for turned in (lone.turned, lone.turned + 180.0):
        angle = np.radians(turned)
        off = np.array([(CORNER_MM[0] - card[0]) / 2, (CORNER_MM[1] - card[1]) / 2])
        place = np.array(lone.centre) + np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ off
        maps = view.maps((float(place[0]), float(place[1])), CORNER_MM, turned=turned, px_per_mm=PX_PER_MM)
        patches.append(cut(picture, *maps))
    return patches[0], patches[1]


def enrol(
    pictures: Iterable[tuple[str, Picture]],
    view: View,
    area: Points,
    card: tuple[float, float],
    order: Iterable[Card],
    *,
    moving: bool,
) -> Iterator[Enrolled]:
    """The cards shown, one after the other in the order given.

    `moving` pictures (a video, a camera) count a card once it lies still, and the next after the felt was empty between; else
    each picture shows one card. Raises `InputError` for a picture without a lone card, or more cards than the order has.
    """
    names = iter(order)
    last: LoneCard | None = None
    still = 0
    taken = False
    for source, picture in pictures:
        lone = find_lone_card(picture, view, area, card)
        if moving:
            same = lone is not None and last is not None and np.hypot(*np.subtract(lone.centre, last.centre)) < STILL_MM
            still = still + 1 if same else 0
            last = lone
            taken = taken and lone is not None
            if taken or still < STILL_FRAMES - 1:
                continue
            taken = True
        if lone is None:
            raise InputError("no card lies alone on the felt's middle, or more than one does", where=source)
        name = next(names, None)
        if name is None:
            raise InputError("shows a card more than were named", where=source)
        yield Enrolled(name, corners(picture, view, lone, card), source)


def write_deck(folder: Path, enrolled: list[Enrolled], card: tuple[float, float]) -> None:
    """Write `deck/` and `deck.toml` into a calibration's folder; cards enrolled before and not now stay. Raises `InputError`."""
    patches = folder / "deck"
    try:
        patches.mkdir(exist_ok=True)
    except OSError as fault:
        raise InputError(f"cannot be made: {fault.strerror}", where=str(patches)) from None
    for one in enrolled:
        write_picture(patches / f"{one.card}.png", one.patches[0])
        write_picture(patches / f"{one.card}.2.png", one.patches[1])
    cards = sorted(path.stem for path in patches.glob("??.png"))
    lines = [
        "# An enrolled deck: deck/AS.png is the upper left corner of the ace of spades, deck/AS.2.png the other one, upright.",
        f"px_per_mm = {PX_PER_MM:g}",
        f"corner = [{CORNER_MM[0]:g}, {CORNER_MM[1]:g}]   # width and height of a patch in millimetres, from the card's corner",
        f"card = [{card[0]:g}, {card[1]:g}]",
        f"cards = {msgspec.json.encode(cards).decode()}",
    ]
    put(folder / "deck.toml", ("\n".join(lines) + "\n").encode())


def load_deck(folder: Path) -> EnrolledDeck | None:
    """The enrolled deck of a calibration's folder; None when none was. Raises `ConfigError`."""
    path = folder / "deck.toml"
    if not path.exists():
        return None
    file, data = read_toml(path, DeckFile)
    size = (round(file.corner[0] * file.px_per_mm), round(file.corner[1] * file.px_per_mm))
    patches: dict[Card, tuple[Picture, ...]] = {}
    for index, name in enumerate(file.cards):
        line = line_of(data.decode(), f"cards[{index}]")
        try:
            card = Card(name)
            files = [folder / "deck" / f"{name}.png", folder / "deck" / f"{name}.2.png"]
            found = [read_picture(one) for one in files if one.exists()]
        except (ValueError, InputError) as fault:
            raise ConfigError(f"{name}: {fault}", where=str(path), line=line, field=f"cards[{index}]") from None
        if not found or any((one.shape[1], one.shape[0]) != size for one in found):
            raise ConfigError(f"{name}: has no patch of {size[0]}x{size[1]}", where=str(path), line=line, field=f"cards[{index}]")
        patches[card] = tuple(found)
    return EnrolledDeck(file, patches)
