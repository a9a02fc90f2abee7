"""One card over many frames: where it lies, since when, and what most of the frames read on it."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from math import hypot, log
from typing import Final

from tablectl.cards import Card
from tablectl.felt.sighting import Point, SeenCard
from tablectl.places import Place

__all__ = ["Track", "covered", "indices", "lies_upon", "matched", "turned"]

REACH: Final = 24.0
"""How far, in millimetres, a card is from where it was one frame before, at the most; what goes faster is found anew at rest."""
TURN: Final = 0.25
"""Millimetres that a degree of turning counts."""
NEXT: Final = 11.0
"""The same for a card that counts, and for another certain face: the next card of a fan lies further off."""
AGAIN: Final = 16.0
"""The same for a card that counts and is read as the card it is: known by one end alone it seems to lie a little off."""
LIFTED: Final = 150.0
"""Millimetres by which a dealer shifts the cards of a hand, at the most, when he parts it."""
ABSENT: Final = 600_000
"""Microseconds without it after which a card that was never read is not the one that is read where it lay."""
OTHER_FACE: Final = 12.0
"""Millimetres that another certain face counts."""
STILL: Final = 5.0
"""Millimetres within which a card lies still."""
STEADY: Final = 8
"""The frames over which the middle of a card that lies still is averaged."""
FRAMES: Final = 15
"""The readings that vote: a second's."""
ENOUGH: Final = 8.0
"""The weight that decides a face: two frames at 0.99 and one more."""
LEAST: Final = 3
"""The frames that must agree."""
DISSENT: Final = 0.25
"""The part of the deciding weight that other faces may have."""
HEAVIEST: Final = 5.0
"""The weight of one frame at the most, in units of log odds."""

INDEX_ACROSS: Final = (0.03, 0.17)
"""From where to where an index reaches, of the card's width,"""
INDEX_DOWN: Final = (0.04, 0.24)
"""and of its length."""


class Track:
    """A card that is followed. `id`, `place` and `face` are set once it counts; times are microseconds since 1970."""

    def __init__(self, seen: SeenCard, at: int) -> None:
        self.id: int | None = None
        self.place: Place | None = None
        self.face = Card.UNREAD
        self.first = at
        self.last_seen = at
        self.still_since = at
        self.missing_since: int | None = None
        """Since when its place is in plain sight without it."""
        self.without = 0
        """Microseconds that its place was in plain sight without it since it was seen last."""
        self._without_before = 0  # something last hid its place
        self.centre = seen.centre
        self.angle = seen.angle
        self.polygon = seen.polygon
        self.frames = 1
        self.other_since: int | None = None
        """Since when another face is read on it."""
        self.read_at = at
        """When its own face was read last."""
        self.is_doubted = False
        """Another card of its face came to rest while it was not seen: that may be this one, carried over."""
        self._looked = 1
        self._anchor = seen.centre  # the mean of where it was seen since it lies still
        self._off = False
        self._rested = seen.centre
        self._readings: deque[SeenCard] = deque([seen], FRAMES)

    def see(self, seen: SeenCard, at: int) -> None:
        """It was seen in this frame."""
        self.last_seen, self.missing_since, self.without = at, None, 0
        self.centre, self.angle, self.polygon = seen.centre, seen.angle, seen.polygon or self.polygon
        off, self._off = self._off, not self.near(self._anchor, STILL)
        if self._off and off:  # twice: one frame alone may be wrong about where a card lies
            self._anchor, self.still_since, self._off = seen.centre, at, False
            self.frames = self._looked = 0
        elif not self._off:
            share = 1 / min(self.frames + 1, STEADY)
            (x, y), (new_x, new_y) = self._anchor, seen.centre
            self._anchor = (x + share * (new_x - x), y + share * (new_y - y))
        self.frames += 1
        self._looked += 1
        self._readings.append(seen)
        self.is_doubted &= seen.card is not self.face
        self.read_at = at if seen.card is self.face else self.read_at
        if seen.card in (Card.UNREAD, self.face):
            self.other_since = None if seen.card is not Card.UNREAD else self.other_since
        elif self.other_since is None:
            self.other_since = at

    def miss(self, at: int, *, hidden: bool) -> None:
        """It was not seen in this frame, its place being in plain sight or hidden."""
        if hidden:
            self.missing_since = None
            return
        self._looked += 1
        if self.missing_since is None:
            self.missing_since, self._without_before = at, self.without
        self.without = self._without_before + at - self.missing_since

    def pause(self) -> None:
        """Nothing could be told from this frame."""
        self.missing_since = None

    @property
    def share(self) -> float:
        """The part of the frames since it lay still, and in plain sight, in which it was seen."""
        return self.frames / max(1, self._looked)

    @property
    def shifted(self) -> float:
        """Millimetres from where it was when it last was asked where it lies."""
        return hypot(self.centre[0] - self._rested[0], self.centre[1] - self._rested[1])

    def settle(self) -> None:
        """Where it lies now is its place."""
        self._rested = self.centre

    def take_over(self, other: Track) -> None:
        """The card was carried: it goes on where the other was found."""
        self.centre, self.angle, self.polygon = other.centre, other.angle, other.polygon
        self.last_seen, self.still_since, self.missing_since, self.without = other.last_seen, other.still_since, None, 0
        self.read_at = other.read_at
        self._anchor, self._off = other.centre, False

    def near(self, point: Point, reach: float) -> bool:
        """Whether its middle is within so many millimetres of a point."""
        return hypot(self.centre[0] - point[0], self.centre[1] - point[1]) <= reach

    def vote(self) -> Card:
        """What the readings of the last second agree on; `??` while they do not."""
        weights: dict[Card, float] = {}
        counts: dict[Card, int] = {}
        for seen in self._readings:
            if seen.card is not Card.UNREAD:
                weights[seen.card] = weights.get(seen.card, 0.0) + _weight(seen.confidence)
                counts[seen.card] = counts.get(seen.card, 0) + 1
        if not weights:
            return Card.UNREAD
        best = max(weights, key=lambda card: (weights[card], card))
        others = sum(weights.values()) - weights[best]
        agreed = weights[best] >= ENOUGH and counts[best] >= max(LEAST, len(self._readings) // 3)
        return best if agreed and others <= DISSENT * weights[best] else Card.UNREAD

    def another(self, at: int, patience: int) -> Card | None:
        """The face of another card that lies here by now: read for so long, and its own not once meanwhile."""
        if self.other_since is None or at - self.other_since < patience:
            return None
        recent = list(self._readings)[-FRAMES // 2 :]
        faces = [seen.card for seen in recent if seen.card is not Card.UNREAD]
        weight = sum(_weight(seen.confidence) for seen in recent if seen.card is not Card.UNREAD)
        agreed = len(set(faces)) == 1 and len(faces) >= max(LEAST, len(recent) // 2) and weight >= ENOUGH
        return faces[0] if agreed and faces[0] is not self.face else None


def _weight(confidence: float) -> float:
    """A frame's weight: the logarithm of its odds."""
    chance = min(max(confidence, 0.5), 0.995)
    return min(log(chance / (1 - chance)), HEAVIEST)


def turned(one: float, other: float) -> float:
    """The angle between two cards, 0 to 90 degrees."""
    apart = abs(one - other) % 180
    return min(apart, 180 - apart)


def matched(tracks: Sequence[Track], cards: Sequence[SeenCard]) -> dict[int, SeenCard]:
    """Which card of a frame is which that was followed, by the track's `id()`: the nearest pairs first."""
    near: list[tuple[float, int, int]] = []
    known: dict[Card, Track] = {track.face: track for track in tracks if track.id is not None and track.face is not Card.UNREAD}
    order = sorted(range(len(cards)), key=lambda column: cards[column].centre[0])
    along = [cards[column].centre[0] for column in order]
    for row, track in enumerate(tracks):
        x, y = track.centre
        for column in order[bisect_left(along, x - REACH) : bisect_right(along, x + REACH)]:
            seen = cards[column]
            cost = hypot(x - seen.centre[0], y - seen.centre[1])
            if cost > REACH:
                continue
            cost += TURN * turned(track.angle, seen.angle)
            face = track.face if track.face is not Card.UNREAD else track.vote()
            other = Card.UNREAD not in (face, seen.card) and face is not seen.card
            if track.id is not None and face is Card.UNREAD is not seen.card and track.without >= ABSENT:
                continue  # it was gone when this one was laid there
            if other and track.id is not None:
                if _is_known(known.get(seen.card), seen, cards):
                    continue  # two cards of one hand that were lifted, and lie the other way round
                if track.is_doubted or _lies_elsewhere(track, tracks, cards):
                    continue  # it was lifted, and another was dealt where it lay
            nearest = REACH if track.id is None else AGAIN if seen.card is face is not Card.UNREAD else NEXT
            if cost <= (NEXT if other else nearest):
                near.append((cost + OTHER_FACE * other, row, column))
    near.sort()
    pairs: dict[int, SeenCard] = {}
    rows: set[int] = set()
    columns: set[int] = set()
    for _, row, column in near:
        if row not in rows and column not in columns:
            rows.add(row)
            columns.add(column)
            pairs[id(tracks[row])] = cards[column]
    return pairs


def _is_known(track: Track | None, seen: SeenCard, cards: Sequence[SeenCard]) -> bool:
    """Whether a card is one that lay within a box's reach of there, and is not seen where that lay."""
    if track is None or not track.near(seen.centre, LIFTED):
        return False
    return not any(other.card is track.face and track.near(other.centre, NEXT) for other in cards)


def _lies_elsewhere(track: Track, tracks: Sequence[Track], cards: Sequence[SeenCard]) -> bool:
    """Whether a card is seen within a box's reach of where it lay, where no other of its face lies."""
    twins = [other for other in tracks if other is not track and other.id is not None and other.face is track.face]
    return any(
        seen.card is track.face
        and track.near(seen.centre, LIFTED)
        and not any(other.near(seen.centre, REACH) for other in (track, *twins))
        for seen in cards
    )


def covered(track: Track, regions: Sequence[Sequence[Point]]) -> bool:
    """Whether something hides a card, be it only a corner of it: that may be the corner it is known by."""
    points = (track.centre, *track.polygon, *itertools.chain.from_iterable(indices(track)))
    return any(_inside(point, region) for region in regions for point in points)


def indices(track: Track) -> tuple[tuple[Point, ...], ...]:
    """The corners of a card's two indices; none where its outline is not known."""
    if len(track.polygon) != 4:
        return ()
    (x, y), (right_x, right_y), _, (low_x, low_y) = track.polygon
    far_x, far_y = right_x + low_x - x, right_y + low_y - y

    def at(across: float, down: float) -> Point:
        return (x + across * (right_x - x) + down * (low_x - x), y + across * (right_y - y) + down * (low_y - y))

    first = tuple(at(across, down) for across in INDEX_ACROSS for down in INDEX_DOWN)
    return first, tuple((x + far_x - px, y + far_y - py) for px, py in first)


def lies_upon(track: Track, index: Sequence[Point]) -> bool:
    """Whether a card lies over a part of an index."""
    return len(track.polygon) > 2 and any(_inside(point, track.polygon) for point in index)


def _inside(point: Point, region: Sequence[Point]) -> bool:
    x, y = point
    inside = False
    for (x1, y1), (x2, y2) in zip(region, (*region[1:], region[0]), strict=True):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside
