"""Cards out of pictures: every index read with a calibrated confidence, indices joined to cards, and `??` where none is certain.

A wrong card is a hundred times worse than an unread one. So an index is told only when its confidence reaches the threshold
that was measured (`Tuning.certain`), alone or together with the other end of its card; and a corner that is surely an index but
not surely which one is a card `??`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card, Rank, Suit
from tablectl.felt.find import Corner, Layer, corners_in, layers, same
from tablectl.felt.inset import DeckShape
from tablectl.felt.joining import join
from tablectl.felt.networks import Eyes, eyes
from tablectl.felt.patches import Misfit, Place, cut, normalised, refitted

__all__ = ["Looks", "Reading", "Seen", "cards_of", "chances", "each_once", "looks", "read_corners", "read_picture", "within"]

Picture = NDArray[np.uint8]
SUITS, RANKS = tuple(Suit), tuple(Rank)
# The last cuts of an index, whose answers are averaged with the one before: turned by degrees, height multiplied.
CUTS = ((-3.5, 1.06), (3.5, 0.95))
NOTHING = 13  # the reader's answer after the ranks
LIKELY = 0.6  # from this confidence on an index may help its card's other end
SECOND_END = 2.5  # so much less doubt is left when the other end says the same
SURELY_AN_INDEX = 0.35  # the most that "no index" may have, and
SURELY_FOUND = 0.5  # the least heat, of an unread corner that is told as `??`, or
ALL_BUT_READ = 0.9  # the least confidence
PLAINLY_NOTHING = 0.97
RIM = 0.06  # of its height, that an index may reach beyond the picture: of more of it nothing is known


class Reading(NamedTuple):
    """What one index says: the likeliest card, its confidence, and the chance that it is no index at all."""

    corner: Corner
    card: Card
    confidence: float
    nothing: float


class Seen(NamedTuple):
    """A card in a picture: `??` where it is surely a card but not surely which.

    `polygon` is where the whole card should lie, in pixels, from its upper left clockwise; `corners` are the indices it was
    read by.
    """

    card: Card
    confidence: float
    polygon: tuple[tuple[float, float], ...]
    corners: tuple[Corner, ...]


def read_corners(sizes: list[Layer], corners: list[Corner], network: Eyes) -> list[Reading]:
    """Read indices that `corners_in` found."""
    corners, ranks, suits = looks(sizes, corners, network)
    rank = chances(ranks / network.tuning.temperature_rank)
    suit = chances(suits / network.tuning.temperature_suit)
    best_rank, best_suit = rank[:, :NOTHING].argmax(1), suit.argmax(1)
    made: list[Reading] = []
    for place, corner in enumerate(corners):
        card = Card(RANKS[best_rank[place]].value + SUITS[best_suit[place]].value)
        confidence = float(rank[place, best_rank[place]] * suit[place, best_suit[place]])
        if not within(sizes[corner.layer], corner):
            confidence = 0.0
        made.append(Reading(corner, card, confidence, float(rank[place, NOTHING])))
    return each_once(made)


def each_once(readings: list[Reading]) -> list[Reading]:
    """Of finds that, looked at closer, are one index, the most confident reading; in the order given."""
    kept: list[int] = []
    for place in sorted(range(len(readings)), key=lambda place: -readings[place].confidence):
        if not any(same(readings[place].corner, readings[other].corner) for other in kept):
            kept.append(place)
    return [readings[place] for place in sorted(kept)]


class Looks(NamedTuple):
    """What the reader says of finds: where each truly lies, and its logits of 13 ranks and "no index", and of four suits."""

    corners: list[Corner]
    ranks: NDArray[np.float32]
    suits: NDArray[np.float32]


def looks(sizes: list[Layer], corners: list[Corner], network: Eyes) -> Looks:
    """Look at each find, and at all but what is plainly no index thrice more, cut as the look before says that it lies."""
    if not corners:
        return Looks([], np.zeros((0, NOTHING + 1), np.float32), np.zeros((0, len(SUITS)), np.float32))
    ranks, suits, fits = network.ranks(_patches(sizes, corners))
    found = list(corners)
    again = np.nonzero(chances(ranks)[:, NOTHING] < PLAINLY_NOTHING)[0]
    if len(again):
        closer = [_refitted(corners[place], fits[place]) for place in again]
        once_ranks, once_suits, fits = network.ranks(_patches(sizes, closer))
        closer = [_refitted(corner, fit) for corner, fit in zip(closer, fits, strict=True)]
        more_ranks, more_suits, _ = network.ranks(np.concatenate([_patches(sizes, closer, *how) for how in CUTS]))
        shape = (len(CUTS), len(again), -1)
        ranks[again] = (once_ranks + more_ranks.reshape(shape).sum(0)) / (1 + len(CUTS))
        suits[again] = (once_suits + more_suits.reshape(shape).sum(0)) / (1 + len(CUTS))
        for place, corner in zip(again, closer, strict=True):
            found[place] = corner
    return Looks(found, ranks, suits)


def _refitted(corner: Corner, fit: Misfit) -> Corner:
    """A find where its patch says that it lies."""
    place = refitted(Place((corner.x, corner.y), corner.up, corner.height, corner.width), fit)
    return corner._replace(x=place.middle[0], y=place.middle[1], up=place.up, height=place.height, width=place.width)


def _patches(sizes: list[Layer], corners: list[Corner], turn: float = 0.0, grow: float = 1.0) -> NDArray[np.float32]:
    """The upright patches of finds as the reader takes them, a little turned and larger or smaller."""
    return normalised(np.stack([_patch(sizes[corner.layer], corner, turn, grow) for corner in corners]))


def _patch(layer: Layer, corner: Corner, turn: float, grow: float) -> Picture:
    """The upright patch of a find out of the size it was found at."""
    angle = np.arctan2(corner.up[1], corner.up[0]) + np.deg2rad(turn)
    middle = ((corner.x + 0.5) * layer.scale - 0.5, (corner.y + 0.5) * layer.scale - 0.5)
    return cut(layer.picture, middle, (float(np.cos(angle)), float(np.sin(angle))), corner.height * layer.scale * grow)


def within(layer: Layer, corner: Corner) -> bool:
    """Whether an index is wholly in the picture."""
    rows, columns = layer.picture.shape[:2]
    up = np.array(corner.up) * corner.height / 2
    across = np.array((-corner.up[1], corner.up[0])) * corner.width / 2
    ends = np.array((corner.x, corner.y)) + np.array((up + across, up - across, -up - across, across - up))
    rim = RIM * corner.height
    return bool((ends >= -rim).all() and (ends <= np.array((columns, rows)) / layer.scale + rim).all())


def chances(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Softmax over the last axis."""
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    out: NDArray[np.float32] = raised / raised.sum(-1, keepdims=True)
    return out


def read_picture(
    picture: Picture, px_per_mm: float | None = None, network: Eyes | None = None, shape: DeckShape | None = None
) -> list[Seen]:
    """The cards in a picture (rows, columns, blue-green-red), from left to right.

    `px_per_mm` where a calibration knows it; without it cards of any size are looked for. `shape` is what the deck has shown so
    far.
    """
    network = network or eyes()
    sizes = layers(picture, px_per_mm)
    readings = read_corners(sizes, corners_in(sizes, network), network)
    return cards_of(readings, network.tuning.certain, px_per_mm, shape)


def cards_of(
    readings: list[Reading], certain: float, px_per_mm: float | None = None, shape: DeckShape | None = None
) -> list[Seen]:
    """Join readings to cards: certain ones tell their card, what is surely an index but not certain is `??`.

    Two ends of a card that say the same need less confidence each: see `_together`. `shape` is what the deck has shown so far.
    """
    likely = [reading for reading in readings if reading.confidence >= LIKELY]
    joined = join([(reading.corner, reading.card) for reading in likely], [], px_per_mm, shape)
    told: list[Reading] = []
    confidences: list[float] = []
    unsure = [reading for reading in readings if reading.confidence < LIKELY]
    for group in joined:
        members = [likely[place] for place in group.places]
        confidence = _together([reading.confidence for reading in members])
        # Two ends that agree are one card, though not surely which: apart, each might be taken for an end of a card under it.
        both = len(members) > 1 and all(reading.nothing < SURELY_AN_INDEX for reading in members)
        if confidence >= certain or both:
            told += members
            confidences += [confidence] * len(members)
        else:
            unsure += members
    indices = [reading.corner for reading in unsure if _is_index(reading)]
    cards = join([(reading.corner, reading.card) for reading in told], indices, px_per_mm, shape)
    seen = []
    for card in cards:
        confidence = round(max((confidences[place] for place in card.places), default=0.0), 4)
        if confidence < certain:
            seen.append(Seen(Card.UNREAD, 0.0, card.polygon, card.corners))
        else:
            seen.append(Seen(card.card, confidence, card.polygon, card.corners))
    return sorted(seen, key=lambda card: card.polygon[0])


def _is_index(reading: Reading) -> bool:
    """Whether it is surely an index, whatever it says: found for sure, or all but read."""
    sure = reading.corner.heat >= SURELY_FOUND or reading.confidence >= ALL_BUT_READ
    return sure and reading.nothing < SURELY_AN_INDEX


def _together(confidences: list[float]) -> float:
    """The confidence of indices that say the same.

    Their doubts do not multiply: what misleads one (a suit drawn oddly, light, blur) mostly misleads the other.
    """
    doubt = min(1 - confidence for confidence in confidences)
    return 1 - (doubt / SECOND_END if len(confidences) > 1 else doubt)
