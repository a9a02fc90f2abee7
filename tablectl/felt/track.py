"""Following: sightings in, events out. A fold without clock or chance, so that the same sightings give the same events.

A card counts once it was seen the same long enough, and still (`REST`). Its face is a vote over the frames of the last second,
weighted by their confidence (`tablectl.felt.following`); one that no vote decides is `??` until one does. A card is gone when its
place was in plain sight for a while without it (`GONE`): what a hand, an arm or another card hides is still there, and so is
everything when the lights go out. Hands, chips and shadows make no card, since none is ever read on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import hypot
from typing import Final, Literal

from tablectl.cards import Card
from tablectl.felt.following import Track, covered, indices, lies_upon, matched, turned
from tablectl.felt.sighting import (
    Began,
    Hidden,
    Moved,
    Parted,
    Placed,
    Point,
    Read,
    Removed,
    Sighting,
    Swapped,
    Tracked,
)
from tablectl.felt.stakes import Stake
from tablectl.places import BoxPlace, Place

__all__ = ["GONE", "REST", "Tracker"]

REST: Final = 500_000
"""Microseconds that a card lies still before it counts."""
SWAP: Final = 700_000
"""Microseconds that another face is read on a card before it is another card."""
GONE: Final = 600_000
"""Microseconds that a place is in plain sight without its card before that is gone."""
DARK: Final = 2_000_000
"""The same where several places lost their cards in one frame: the lights rather than a dealer."""
LOST: Final = 250_000
"""A card that never counted is forgotten when it is not seen for so long."""
PLAIN: Final = 200_000
"""A card is in plain sight when it was seen within so long."""
CLEAR: Final = 800_000
"""A place is in plain sight when nothing lay over it for so long: what lies there was seen and read by then."""
FEWEST: Final = 4
"""Frames that a card is seen in, at the least, before it counts."""
SHARE: Final = 0.5
"""And in so large a part of the frames since it lay still."""
SHIFT: Final = 12.0
"""Millimetres that a card is shifted before it is asked where it lies now."""
HAND: Final = 50.0
"""Millimetres between the middles of two cards that are nearest to each other, within one hand: a fan's step is 15 to 35, and
what was parted from a hand lies a card's width of 63 from it, less what a single end leaves in doubt."""
STEP: Final = 36.0
"""Millimetres from a card to the next of its fan, at the most; one that is carried to another hand goes further."""
UPON: Final = 24.0
"""Millimetres between the middles of two cards within which the later may hide the earlier one."""
REMNANT: Final = 16.0
"""Millimetres from a card that is hidden in part to where what shows of it seems to lie; a fan's next card lies further."""
ACROSS: Final = 50.0
"""Degrees between a card and the first of its hand when it lies across."""

Where = Callable[[Point], int | Literal["dealer"] | None]
"""The box, or the dealer's place, at a point; None elsewhere. A layout's `place_at`."""


class Tracker:
    """Follows cards and stake circles of one felt. `place_at` tells boxes and dealer's place; cards elsewhere do not count."""

    def __init__(self, place_at: Where) -> None:
        self._place_at = place_at
        self._tracks: list[Track] = []
        self._stakes: dict[int, Stake] = {}
        self._veils: dict[int | Literal["dealer"], _Veil] = {}
        self._next: int | None = None
        self._dark_until = 0

    @property
    def lying(self) -> tuple[Track, ...]:
        """The cards that count."""
        return tuple(track for track in self._tracks if track.id is not None)

    def feed(self, sighting: Sighting) -> tuple[Tracked, ...]:
        """Take in one frame; gives what it completes."""
        said: list[Tracked] = []
        if self._next is None:
            self._next = sighting.at // 1_000_000  # so that a tracker that begins later uses no number again
            said.append(Began())
        if not sighting.alive:
            for track in self._tracks:
                track.pause()
            return tuple(said)
        self._match(sighting)
        self._look_for_dark(sighting)
        lying = self.lying
        for track in sorted((track for track in self._tracks if track.id is None), key=lambda track: track.first):
            said += self._fresh(track, sighting.at)  # before what is gone is said: it may be one that was carried
        for track in lying:
            said += self._settled(track, sighting)
        said += self._veiled(sighting)
        for stake in sighting.stakes:
            said += self._stakes.setdefault(stake.box, Stake(stake.box)).feed(stake, sighting.at)
        return tuple(said)

    # One frame

    def _match(self, sighting: Sighting) -> None:
        pairs = matched(self._tracks, sighting.cards)
        for track in self._tracks:
            if (seen := pairs.get(id(track))) is not None:
                track.see(seen, sighting.at)
        for track in self._tracks:
            if id(track) not in pairs:
                track.miss(sighting.at, hidden=covered(track, sighting.covered) or self._under(track, sighting.at))
        taken = {id(seen) for seen in pairs.values()}
        self._tracks += [Track(seen, sighting.at) for seen in sighting.cards if id(seen) not in taken]

    def _under(self, track: Track, at: int) -> bool:
        """Whether a card that came later lies upon it."""
        later = (other for other in self._tracks if other.first > track.first and other.last_seen == at)
        return any(other.near(track.centre, UPON) for other in later)

    def _may_lie_there(self, track: Track) -> bool:
        """Whether cards lie over both of a card's indices, one of them since it was seen last: of cards of several hands."""
        lying = [other for other in self._tracks if other is not track and other.missing_since is None]
        upon = [[other for other in lying if lies_upon(other, index)] for index in indices(track)]
        return bool(upon) and all(upon) and any(track.last_seen <= other.still_since + REST for other in (*upon[0], *upon[1]))

    def _look_for_dark(self, sighting: Sighting) -> None:
        """Several places that lose their cards in one and the same frame have not been collected."""
        lost = {_spot(track.place) for track in self.lying if track.missing_since == sighting.at}
        if len(lost) >= 3:
            self._dark_until = sighting.at + DARK

    def _veiled(self, sighting: Sighting) -> Iterable[Tracked]:
        """Places over which something lies for a while, and those that are in plain sight again."""
        at = sighting.at
        for region in sighting.covered:
            x, y = (sum(point[axis] for point in region) / len(region) for axis in (0, 1))
            inner = [(x + 0.9 * (px - x), y + 0.9 * (py - y)) for px, py in region]
            for place in {self._place_at(point) for point in (*inner, (x, y))}:
                if place is not None:
                    self._veils.setdefault(place, _Veil(at)).last = at
        for place, veil in list(self._veils.items()):
            if veil.last == at and not veil.told and at - veil.since >= REST:
                veil.told = True
                yield Hidden(place, veil.since)
            elif at - veil.last >= CLEAR:
                del self._veils[place]
                if veil.told:
                    yield Hidden(place)

    def _settled(self, track: Track, sighting: Sighting) -> Iterable[Tracked]:
        """What is new of a card that counts."""
        at = sighting.at
        assert track.id is not None
        if track.missing_since is not None:
            gone = at - track.missing_since >= (GONE if not self._may_be_carried(track) else DARK)
            if gone and at >= self._dark_until and not self._may_lie_there(track):
                self._tracks.remove(track)
                yield Removed(track.id, track.last_seen)
            return
        if track.last_seen != at:
            return
        if track.face is Card.UNREAD:
            track.face = track.vote()
            if track.face is not Card.UNREAD:
                yield Read(track.id, track.face)
        elif (other := track.another(at, SWAP)) is not None:
            was, track.face = track.face, other
            yield Swapped(track.id, was, other, track.other_since or at)
        if track.shifted > SHIFT and at - track.still_since >= REST:
            yield from self._shifted(track)

    def _shifted(self, track: Track) -> Iterable[Tracked]:
        """A card that counts lies still at another point."""
        assert track.id is not None
        before = track.place
        track.settle()
        found = self._place_at(track.centre)
        if found is None:
            return
        if found == "dealer" or not isinstance(before, BoxPlace) or before.box != found:
            place = self._place_for(found, track)
            if place != before:
                track.place = place
                yield Moved(track.id, place)
            return
        others = [other for other in self.lying if other is not track and _box(other.place) == found]
        mates = [other for other in others if other.place == before]
        if mates and all(not other.near(track.centre, HAND) for other in mates):
            joined = next((other for other in others if other.near(track.centre, HAND)), None)
            number = 1 + max(_hand(other.place) for other in [*others, track])
            track.place = joined.place if joined is not None else BoxPlace(found, number)
            if joined is None:
                if track.first < min(other.first for other in mates):  # the older card keeps the hand's number
                    track.place = before
                    for other in mates:
                        other.place = BoxPlace(found, number)
                yield self._parted(found)

    def _parted(self, box: int) -> Parted:
        hands: dict[int, list[Track]] = {}
        for track in self.lying:
            if _box(track.place) == box:
                hands.setdefault(_hand(track.place), []).append(track)
        numbers = range(max(hands) + 1)
        return Parted(box, tuple(tuple(sorted(track.id or 0 for track in hands.get(number, ()))) for number in numbers))

    # A card that does not count yet

    def _fresh(self, track: Track, at: int) -> Iterable[Tracked]:
        if track.missing_since is not None and at - track.missing_since > LOST:
            self._tracks.remove(track)
            return
        if track.last_seen != at or at - track.still_since < REST or track.frames < FEWEST or track.share < SHARE:
            return
        found = self._place_at(track.centre)
        if found is None:
            return
        track.face = track.vote()
        if self._is_remnant(track, at):
            return
        if (same := self._relaid(track, found)) is not None:
            yield from self._carried(same, track)  # and what lies where it lay, and is not read, is another card
            return
        twin = self._twin(track, at) or self._lifted(track, found)
        if twin is not None and _box(twin.place) == found:
            beside = found == "dealer" and track.near(twin.centre, HAND)  # his cards are never parted, and lie over one another
            waits = at - track.still_since
            if track.face is Card.UNREAD and waits < 2 * REST:
                return  # it may yet be read
            if twin.missing_since is None and waits < (DARK if not beside else 2 * REST):
                return  # an arm hides where that one lay: what it is depends on whether it still does
            if twin.missing_since is not None or (not beside and self._is_apart(track, found, twin)):
                yield from self._carried(twin, track)
                return
        yield from self._counted(track, found, at, twin)

    def _carried(self, track: Track, found: Track) -> Iterable[Tracked]:
        """A card that counts was lifted and laid down again in its box: it is what was found there."""
        self._tracks.remove(found)
        track.take_over(found)
        yield from self._shifted(track)

    def _counted(self, track: Track, found: int | Literal["dealer"], at: int, twin: Track | None) -> Iterable[Tracked]:
        """It counts from now on; `twin` is another that it may be."""
        place = self._place_for(found, track)
        mates = [other for other in self.lying if other.place == place]
        if isinstance(place, BoxPlace) and place.hand == 1 and self._served_first(place.box):
            place = BoxPlace(place.box, 0)
            yield self._renumbered(place.box)
        crosswise = bool(mates) and turned(min(mates, key=lambda other: other.first).angle, track.angle) > ACROSS
        track.place = place
        track.settle()
        assert self._next is not None
        track.id, self._next = self._next, self._next + 1
        lying = tuple(sorted(other.id for other in self.lying if other.id is not None and at - other.last_seen <= PLAIN))
        if twin is not None:
            twin.is_doubted = True
        yield Placed(track.id, place, track.face, track.first, crosswise, twin.id if twin is not None else None, lying)

    def _is_remnant(self, track: Track, at: int) -> bool:
        """Whether what cannot be read is what still shows of a card that a later one has covered in part."""
        if track.face is not Card.UNREAD:
            return False
        return any(at - other.last_seen > PLAIN and other.near(track.centre, REMNANT) for other in self.lying)

    def _twin(self, track: Track, at: int) -> Track | None:
        """A card of the same face that was not seen since this one was: it may be that one, carried over.

        Of several the one that was seen last: a card that was carried twice and hidden each time has left older ones behind.
        """
        if track.face is Card.UNREAD:
            return None
        unseen = [o for o in self.lying if o.face is track.face and o.last_seen <= track.first and at - o.last_seen > PLAIN]
        return max(unseen, key=lambda other: other.last_seen, default=None)

    def _relaid(self, track: Track, found: int | Literal["dealer"]) -> Track | None:
        """The card of its face and box that was read until this one came, and since then not once though something lies there."""
        if track.face is Card.UNREAD:
            return None
        mates = (other for other in self.lying if other.face is track.face and _box(other.place) == found)
        return next((other for other in mates if other.last_seen > track.first > other.read_at), None)

    def _lifted(self, track: Track, found: int | Literal["dealer"]) -> Track | None:
        """The one card of its box that is gone since this one lies there, away from all others: a pair that is parted.

        One of the two is unread, or this would be another card.
        """
        mates = [other for other in self.lying if _box(other.place) == found]
        gone = [other for other in mates if other.missing_since is not None and other.last_seen <= track.first]
        if len(gone) != 1 or len(mates) < 2 or Card.UNREAD not in (track.face, gone[0].face):
            return None
        if track.near(gone[0].centre, STEP) or turned(track.angle, gone[0].angle) > ACROSS:
            return None  # drawn to it, or for a double, and laid over a part of it
        return gone[0] if self._is_apart(track, found, gone[0]) else None

    def _is_apart(self, track: Track, found: int | Literal["dealer"], twin: Track) -> bool:
        """Whether it lies in no fan of its box: a card that is drawn does, one that is parted from its pair does not."""
        others = [other for other in self.lying if _box(other.place) == found and other is not twin]
        return all(not other.near(track.centre, HAND) for other in others)

    def _may_be_carried(self, track: Track) -> bool:
        """Whether a card that does not count yet, and came into sight since, lies in this one's box: it may be this one."""
        box = _box(track.place)
        return any(
            other.id is None and other.first > track.last_seen and self._place_at(other.centre) == box for other in self._tracks
        )

    def _place_for(self, found: int | Literal["dealer"], track: Track) -> Place:
        """The hand of a place that a card belongs to: that of the nearest card of the box."""
        if found == "dealer":
            return "dealer"
        mates = [other for other in self.lying if other is not track and _box(other.place) == found]
        if not mates:
            return BoxPlace(found, 0)
        nearest = min(mates, key=lambda other: hypot(other.centre[0] - track.centre[0], other.centre[1] - track.centre[1]))
        return BoxPlace(found, _hand(nearest.place))

    def _served_first(self, box: int) -> bool:
        """Whether the box has two hands of one card each: the one that gets the next card is the first, in every house."""
        hands = [_hand(track.place) for track in self.lying if _box(track.place) == box]
        return sorted(hands) == [0, 1]

    def _renumbered(self, box: int) -> Parted:
        for track in self.lying:
            if _box(track.place) == box:
                track.place = BoxPlace(box, 1 - _hand(track.place))
        return self._parted(box)


class _Veil:
    """Something that lies over a place."""

    def __init__(self, at: int) -> None:
        self.since = self.last = at
        self.told = False


def _box(place: Place | None) -> int | Literal["dealer"] | None:
    return place.box if isinstance(place, BoxPlace) else "dealer" if place == "dealer" else None


def _hand(place: Place | None) -> int:
    return place.hand or 0 if isinstance(place, BoxPlace) else 0


def _spot(place: Place | None) -> int:
    return place.box if isinstance(place, BoxPlace) else 0
