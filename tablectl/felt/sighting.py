"""What one look at the felt gives, and what following makes of many: plain values, no picture in them.

A `Sighting` is one frame, joined over all cameras, in millimetres of the felt. `tablectl.felt.track` folds sightings to `Tracked`
events, which are few: they are what a live table records and what `tablectl.fusion` pairs with the shoe's cards.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tablectl.cards import Card
from tablectl.places import Box, Place

__all__ = [
    "Began",
    "Hidden",
    "Moved",
    "Parted",
    "Placed",
    "Point",
    "Read",
    "Removed",
    "SeenCard",
    "SeenStake",
    "Sighting",
    "StakeSeen",
    "Swapped",
    "Tracked",
    "decode",
    "encode",
]

Point = tuple[float, float]
"""Millimetres of the felt, as in its layout."""


class SeenCard(msgspec.Struct, frozen=True, gc=False):
    """A card in one frame: `??` where it is surely a card but not surely which.

    `centre` is the middle of the card, `angle` in degrees that of its long side; a card has no up and down, so 180 degrees more
    is the same. `polygon` is the whole card's outline (empty: not known).
    """

    card: Card
    confidence: float
    centre: Point
    angle: float
    polygon: tuple[Point, ...] = ()


class SeenStake(msgspec.Struct, frozen=True, gc=False):
    """A stake circle in one frame. `colours` is a fingerprint of what stands there: any numbers that are near for like stacks."""

    box: Box
    occupied: bool
    colours: tuple[float, ...] = ()


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """One frame, `at` in microseconds since 1970.

    `alive` is False when nothing can be told from it: a frozen or black picture, the lights out, markers off their places. A
    stake circle that cannot be seen is left out. `covered` are regions that a hand or an arm hides, or where something moves.
    """

    at: int
    cards: tuple[SeenCard, ...] = ()
    stakes: tuple[SeenStake, ...] = ()
    covered: tuple[tuple[Point, ...], ...] = ()
    alive: bool = True


class _Event(msgspec.Struct, frozen=True, gc=False, tag_field="what", omit_defaults=True, forbid_unknown_fields=True):
    """What all events share: their time is that of the sighting that completed them."""


class Began(_Event, frozen=True, tag="began"):
    """Following begins anew: cards are numbered anew, and what was known to lie there is not known any more."""


class Placed(_Event, frozen=True, tag="placed"):
    """A card came to rest. `id` is its number from now on, `first` when it was first seen (microseconds since 1970).

    `crosswise`: it lies across the hand it was added to. `like` is the number of another card of this face that has not been seen
    since: it may be that one. `lying` are the numbers of all cards that are in plain sight at this moment.
    """

    id: int
    place: Place
    card: Card
    first: int
    crosswise: bool = False
    like: int | None = None
    lying: tuple[int, ...] = ()


class Read(_Event, frozen=True, tag="read"):
    """A card that lay unread is now known."""

    id: int
    card: Card


class Swapped(_Event, frozen=True, tag="swapped"):
    """Where a card lay, another one lies, first seen at `first`."""

    id: int
    was: Card
    card: Card
    first: int


class Moved(_Event, frozen=True, tag="moved"):
    """A card slid to another place."""

    id: int
    place: Place


class Parted(_Event, frozen=True, tag="parted"):
    """A box's cards lie in several hands: `hands` are the numbers of the cards, by the number of the hand.

    Said again when the hands turn out to be numbered the other way: the one that is served first is the first.
    """

    box: Box
    hands: tuple[tuple[int, ...], ...]


class Removed(_Event, frozen=True, tag="removed"):
    """A card is gone: its place was in plain sight for a while, and it was not there. `last` is when it was last seen."""

    id: int
    last: int


class Hidden(_Event, frozen=True, tag="hidden"):
    """Something that is no known card lies over a part of a place, without a break `since` then; None: it is in plain sight."""

    place: Box | Literal["dealer"]
    since: int | None = None


class StakeSeen(_Event, frozen=True, tag="stake"):
    """A stake circle was occupied or emptied, or what stands there changed.

    It was seen as it was before until `last`, and as it is now from `first` on: in between a hand may have lain over it. None:
    it was never seen before, or was recorded before this was told.
    """

    box: Box
    state: Literal["occupied", "emptied", "changed"]
    last: int | None = None
    first: int | None = None


Tracked = Began | Placed | Read | Swapped | Moved | Parted | Removed | Hidden | StakeSeen

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Tracked] = msgspec.json.Decoder(Tracked)

encode = _ENCODER.encode
"""An event as one JSON object: always the same bytes for the same event."""

decode = _DECODER.decode
"""Read an event back; raises `msgspec.MsgspecError` for what is none."""
