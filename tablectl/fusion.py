"""Shoe and felt to one stream of observations: the shoe knows which card and when, the felt where it lies.

A fold without clock: observations and what following saw go in, each with its time, and observations come out. What is alive
decides the mode. **Both**: a card goes on to the game at once, and a `felt` observation tells its place when it has come to rest;
only a card that the shoe could not read, or whose place the game cannot know before it is seen (a hand acts and has not said what
it wants), is held, and no longer than `HELD`. **The shoe alone**: cards go on without a place, and the dealing order says it.
**The camera alone**: a card that comes to rest is a `card` with its place, read on the felt; keys wait for what lay there before.

A card at rest is paired with a draw: with one of its face; else with one that the shoe could not read; else with the one draw
there is, and then the two disagree, which the game stops for. A card that the felt cannot read is the draw that is due where it
lies, and only a lone draw may lie elsewhere (`UNSURE`); it is let go again when a card is read that fits its draw better. What
cannot be told apart yet waits for `DOUBT`. A draw that is nowhere to be seen within `MISSING` is missing, unless something came
to lie over its place that is no known card: then it may be there, and unread, and that is told only once the place is in plain
sight. A card that no draw explains was moved there from where one like it is gone, or just appeared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tablectl.cards import Card
from tablectl.felt.sighting import Began, Hidden, Moved, Parted, Placed, Read, StakeSeen, Swapped, Tracked
from tablectl.game.table import Due
from tablectl.holding import CAMERA, HELD, Holding, felt_says
from tablectl.instants import from_micros, to_micros
from tablectl.observations import (
    CardDrawn,
    Collected,
    CutCard,
    Decision,
    Felt,
    FeltKind,
    Insurance,
    Link,
    NoMoreBets,
    Observation,
    Paid,
    ShoeFault,
    Tick,
)
from tablectl.pairing import DOUBT, MISSING, Draw, Gone, Laid, Pairing, State, box_of, doubt_until, one_box
from tablectl.places import BoxPlace, Place

__all__ = ["CAMERA", "DOUBT", "HELD", "MISSING", "Fusion", "State"]

SHOE: Final = "shoe"
PICKED: Final = 1_000_000
"""Microseconds in which a hand's cards are picked up one after the other."""
BACK: Final = 2_000_000
"""Microseconds after a camera, or a shoe, came back in which what happened meanwhile is found."""
LAID_ANEW: Final = 5_000_000
"""Microseconds after a split in which the hands of its box are laid anew."""
KEPT: Final = 30_000_000
"""Microseconds for which a card that is gone, or missing, may still be found elsewhere."""
MOST: Final = 400
"""Draws and cards that are kept in mind, at the most."""

IN_ORDER = (CardDrawn, CutCard, Decision, Insurance, NoMoreBets, Paid, ShoeFault, Tick)
"""What must not overtake a card that is held."""
_STAKES: Final[dict[str, FeltKind]] = {"occupied": "stake_laid", "emptied": "stake_taken", "changed": "stake_changed"}


class Fusion:
    """One table's. `due` is the table's own word on what is due, asked at the moment a card comes.

    What `take` gives must be taken in by the table before the next is asked for, since the table's word depends on it.
    """

    def __init__(self, due: Callable[[], Due], state: State | None = None) -> None:
        self.due = due
        self.state = state or State()
        self._pairing = Pairing(due, self.state)
        self._holding = Holding(due, self.state)

    @property
    def is_idle(self) -> bool:
        """Whether no camera was ever seen, so that all goes through as it comes."""
        return not self.state.camera and not self.state.camera_since

    def passes(self, item: Observation) -> bool:
        """Whether an observation goes through as it is, without a look at it."""
        return self.is_idle and not (isinstance(item, Link) and item.device in (CAMERA, SHOE))

    @property
    def wakes_at(self) -> int | None:
        """When something is due that only time brings, in microseconds since 1970; a tick must come then. None: nothing is."""
        state = self.state
        if not state.camera:
            return None
        lost: int | None = None
        for draw in state.draws:  # this is asked after each card, and the first draw is mostly the oldest: the others cost little
            if (lost is None or draw.at < lost) and self._lost(draw) and not self._pairing.is_hidden(draw):
                lost = draw.at
        times = [lost + MISSING] if lost is not None else []
        times += [time for laid in state.laid if not laid.settled and (time := self._judged_at(laid)) is not None]
        times += [gone.at + PICKED for gone in state.gone if not gone.told]
        if state.held:
            times.append(self._holding.until())
        return min((max(time, state.now + 1) for time in times), default=None)

    def _judged_at(self, laid: Laid) -> int | None:
        """When time alone tells what a card is that is not explained yet; None: another card must."""
        if self._is_out_of_sight(laid) or self._may_be_uncovered(laid):
            return None
        doubt = doubt_until(laid)
        if laid.card is not Card.UNREAD or self.state.now < doubt:
            return doubt
        if len(self._pairing.may_be(laid)) > 1:
            return None
        return max(doubt, laid.at + HELD)

    def take(self, item: Observation | Tracked, at: int | None = None) -> Iterator[Observation]:
        """Take in the next observation, or event of the felt at this time, and give what the table is to take in."""
        state = self.state
        if isinstance(item, Tracked):
            if at is not None:
                state.now = max(state.now, at)
            if state.camera:
                yield from self._seen(item)
                yield from self._due()
            elif isinstance(item, Began):
                self._began()
            return
        if item.at is not None:
            state.now = max(state.now, to_micros(item.at))
        if isinstance(item, Link) and item.device in (CAMERA, SHOE):
            yield from self._linked(item)
            return
        if self.is_idle or not isinstance(item, IN_ORDER):
            yield item  # and nothing before it: who commands is answered by what follows from that
            return
        yield from self._due()
        if isinstance(item, Decision) and item.action == "split":
            state.split_at = state.now
            if item.box not in state.split:
                state.split.append(item.box)
        if isinstance(item, CardDrawn):
            yield from self._drawn(item)
        elif state.held or (state.camera and not state.shoe and not isinstance(item, Tick)):
            state.held.append(item)
        else:
            yield item

    # Devices

    def _linked(self, link: Link) -> Iterator[Observation]:
        state, up = self.state, link.state == "up"
        if link.device == CAMERA and up is not state.camera:
            if up:
                state.camera, state.camera_since = True, state.now
                for draw in state.draws:
                    draw.unwatched = True
            else:
                yield from self._holding.released(everything=True)
                state.camera = False
                state.gone = []
                for laid in state.laid:
                    laid.settled = True
        elif link.device == SHOE and up is not state.shoe:
            if not up:
                yield from self._holding.released(everything=True)
            state.shoe, state.shoe_since = up, state.now
        yield link

    # The shoe's cards

    def _drawn(self, drawn: CardDrawn) -> Iterator[Observation]:
        state = self.state
        state.drawn += 1
        due = drawn.to or (self.due().card if not state.held else None)
        at = to_micros(drawn.at) if drawn.at is not None else state.now
        draw = Draw(state.drawn, drawn.card, at, not state.camera, burned=due == "burn", due=due)
        state.draws = [*state.draws[-MOST:], draw]
        if state.held or self._holding.must_wait(drawn):
            state.held.append(drawn)
            yield from self._matched()
            return
        state.emitted += 1
        yield drawn
        yield from self._matched()

    # The felt's

    def _began(self) -> None:
        self.state.laid, self.state.gone, self.state.hidden, self.state.split = [], [], {}, []

    def _seen(self, event: Tracked) -> Iterator[Observation]:
        state = self.state
        if isinstance(event, Began):
            self._began()
        elif isinstance(event, Hidden):
            state.hidden.pop(str(event.place), None)
            if event.since is not None:
                state.hidden[str(event.place)] = event.since
        elif isinstance(event, Placed):
            for other in state.laid:
                other.seen = other.id in event.lying
            found = Laid(event.id, event.place, event.card, event.first, state.now, event.crosswise, like=event.like)
            state.laid = [*state.laid[-MOST:], found]
            for draw in state.draws:
                draw.under |= draw.due is not None and one_box(draw.due, event.place) and self._pairing.is_hidden(draw)
            yield from self._matched()
            yield from self._uncollected(event)
        elif isinstance(event, Parted):
            yield from self._parted(event)
        elif isinstance(event, StakeSeen):
            if not self._is_back(state.camera_since):  # else it is news to the camera alone
                last, first = (from_micros(time) if time is not None else None for time in (event.last, event.first))
                yield Felt(at=from_micros(state.now), kind=_STAKES[event.state], to=BoxPlace(event.box), last=last, first=first)
        elif (laid := next((laid for laid in state.laid if laid.id == event.id), None)) is not None:
            if isinstance(event, Read):
                yield from self._read(laid, event)
            elif isinstance(event, Swapped):
                yield from self._swapped(laid, event)
            elif isinstance(event, Moved):
                before, laid.place = laid.place, event.place
                if laid.settled and not one_box(before, laid.place):
                    yield felt_says(self.state, "moved", laid, to=laid.place)
            else:
                for other in state.laid:
                    if self._may_be_uncovered(other) and one_box(other.place, laid.place):
                        other.at = state.now  # it may be about to go with the hand
                state.laid.remove(laid)
                state.split = [box for box in state.split if any(box_of(other.place) == box for other in state.laid)]
                if laid.settled and not self._is_back(state.camera_since):
                    state.gone.append(Gone(laid, state.now))

    def _read(self, laid: Laid, event: Read) -> Iterator[Observation]:
        laid.card = event.card
        taken = laid.taken
        if taken is not None and Card.UNREAD not in (taken.card, event.card):
            laid.taken = None
            if taken.card is not event.card and self._pairing.same_as(laid):  # it is another draw than it was taken for
                self.state.draws = sorted([*self.state.draws, taken], key=lambda draw: draw.number)
                laid.draw, laid.settled = None, False
        if laid.draw is None:
            yield from self._matched()
        elif laid.draw > self.state.emitted:
            yield from self._holding.released()
        else:
            yield felt_says(self.state, "placed", laid, to=None)

    def _swapped(self, laid: Laid, event: Swapped) -> Iterator[Observation]:
        laid.card = event.card
        if not laid.settled:
            yield from self._matched()
            return
        draw = self._pairing.upon(event.card, event.first)
        if draw is not None:  # the new card was laid right onto the one that lay there
            laid.draw, laid.first = draw.number, event.first
            yield from self._paired(draw, laid)
        else:
            yield felt_says(self.state, "swapped", laid, to=laid.place, was=event.was)

    def _parted(self, event: Parted) -> Iterator[Observation]:
        before = {laid.place for laid in self.state.laid if box_of(laid.place) == event.box}
        for number, ids in enumerate(event.hands):
            for laid in self.state.laid:
                if laid.id in ids:
                    laid.place = BoxPlace(event.box, number)
        newest = BoxPlace(event.box, len(event.hands) - 1)
        if newest not in before:
            yield Felt(at=from_micros(self.state.now), kind="split", to=newest)

    def _uncollected(self, event: Placed) -> Iterator[Observation]:
        """Bust hands that lie there in plain sight though another place has got a card."""
        hands: dict[Place, list[Laid]] = {}
        for laid in self.state.laid:
            if isinstance(laid.place, BoxPlace):
                hands.setdefault(laid.place, []).append(laid)
        for place, cards in hands.items():
            bust = sum(laid.card.points for laid in cards) > 21
            if not bust or place == event.place or any(laid.told for laid in cards):
                continue
            if all(laid.draw is not None and laid.id in event.lying and laid.first < event.first for laid in cards):
                cards[0].told = True
                yield felt_says(self.state, "not_collected", cards[-1], to=place)

    # Which draw is which card

    def _matched(self) -> Iterator[Observation]:
        """Pair what can be told by now."""
        again = True
        while again:
            again = False
            for laid in self.state.laid:
                if laid.settled or laid.draw is not None:
                    continue
                draw = self._pairing.draw_of(laid)
                if draw is not None:
                    again = True
                    yield from self._paired(draw, laid)

    def _paired(self, draw: Draw, laid: Laid) -> Iterator[Observation]:
        state = self.state
        if draw in state.draws:
            state.draws.remove(draw)
        else:  # an unread card was taken for it
            was = next(other for other in state.laid if other.taken is draw)
            was.taken, was.draw, was.settled, was.at = None, None, False, state.now
        laid.settled = True
        laid.taken = draw if Card.UNREAD in (draw.card, laid.card) else None
        if draw.burned and not isinstance(laid.place, BoxPlace):
            return
        if draw.unwatched:
            twins = [other for other in state.draws if other.card is draw.card]
            for other in twins:
                other.twin = True
            if twins or draw.twin:
                return  # which of the two lies where, nobody saw
        laid.draw = draw.number
        if draw.number > state.emitted:
            yield from self._holding.released()
        else:
            yield felt_says(self.state, "placed", laid, to=self._holding.where(laid), crosswise=laid.crosswise)

    # What time brings

    def _due(self) -> Iterator[Observation]:
        state = self.state
        if not state.camera:
            return
        yield from self._matched()
        yield from self._holding.released()
        for laid in [laid for laid in state.laid if not laid.settled]:
            yield from self._unexplained(laid)
        state.draws = [draw for draw in state.draws if state.now < self._forgotten(draw) or self._lost(draw)]
        for draw in state.draws:
            if self._lost(draw) and state.now >= draw.at + MISSING and not self._pairing.is_hidden(draw):
                draw.told = True
                if (like := self._pairing.mistaken(draw)) is not None:
                    like.draw, like.first, like.place = draw.number, draw.at, draw.due or like.place
                    yield felt_says(self.state, "placed", like, to=self._holding.where(like))
                    continue
                ago = max(0, state.emitted - draw.number)
                yield Felt(at=from_micros(state.now), kind="missing", card=draw.card, ago=ago)
        yield from self._picked_up()

    def _forgotten(self, draw: Draw) -> int:
        """When a draw is looked for no more."""
        if draw.unwatched:
            return self.state.camera_since + 2 * BACK
        return draw.at + (KEPT if draw.told else MISSING)

    def _lost(self, draw: Draw) -> bool:
        """Whether a draw that is nowhere to be seen is worth a word: a camera looked, and it was not burned."""
        return not (draw.told or draw.unwatched or draw.burned or draw.under)

    def _unexplained(self, laid: Laid) -> Iterator[Observation]:
        """A card that no draw explains: it was moved, or the shoe is not there to report it, or it just appeared."""
        state = self.state
        if self._is_out_of_sight(laid) or self._may_be_uncovered(laid):
            return
        source = self._pairing.source_of(laid)
        alone = not state.shoe or laid.first < state.shoe_since + BACK // 2
        if alone and source in state.laid and state.now >= laid.at + DOUBT:
            source = None  # an arm hid the other all the while: this is a new card
        if alone and source is None and not self._is_back(state.camera_since, laid.first):
            if laid.card is Card.UNREAD and state.now < laid.at + HELD:
                return
            state.drawn += 1
            state.emitted += 1
            laid.draw, laid.settled = state.drawn, True
            yield from self._holding.released(before=laid.first)
            yield CardDrawn(at=from_micros(state.now), card=laid.card, to=laid.place, source=CAMERA, crosswise=laid.crosswise)
            return
        if state.now < doubt_until(laid) or (laid.card is Card.UNREAD and self._pairing.may_be(laid)):
            return
        laid.settled = True
        if self._is_back(state.camera_since, laid.first):
            return  # it came while nobody looked
        if source is not None:
            laid.draw = source.draw
            state.laid = [other for other in state.laid if other is not source]
            state.gone = [gone for gone in state.gone if gone.laid is not source]
            if not one_box(source.place, laid.place):
                yield felt_says(self.state, "moved", laid, to=laid.place)
        else:
            yield Felt(at=from_micros(state.now), kind="appeared", to=laid.place, card=laid.card)

    def _picked_up(self) -> Iterator[Observation]:
        """Of the cards that are gone: a whole hand was collected; one card of a hand that still lies there is missing."""
        state = self.state
        for gone in state.gone:
            if gone.told or state.now < gone.at + PICKED:
                continue
            place = gone.laid.place
            mates = [other for other in state.gone if not other.told and other.laid.place == place]
            lying = any(laid.place == place for laid in state.laid)
            if lying:
                gone.told = True
                if gone.laid.draw is not None and not self._may_be_laid_anew(gone):
                    yield felt_says(self.state, "missing", gone.laid, to=place)
            elif all(state.now >= other.at + PICKED for other in mates):
                taken = max(other.at for other in mates)
                for other in mates:
                    other.told, other.at = True, 0  # not to be found elsewhere
                if isinstance(place, BoxPlace):
                    for draw in state.draws:  # one that was not read before its hand went may have gone with it
                        draw.under |= self._may_have_gone(draw, place.box, taken)
                    yield Collected(at=from_micros(state.now), box=place.box, hand=place.hand or 0)
        state.gone = [gone for gone in state.gone if state.now < gone.at + KEPT]

    def _may_be_laid_anew(self, gone: Gone) -> bool:
        """Whether a card that is gone was never read, and its box was just split: the hands there are laid anew, closer together.

        What lies where another of them lay is not told apart from that one, as long as it is not read either.
        """
        just = self.state.now < self.state.split_at + LAID_ANEW and box_of(gone.laid.place) in self.state.split
        return gone.laid.card is Card.UNREAD and just

    def _may_have_gone(self, draw: Draw, box: int, at: int) -> bool:
        """Whether a card that was told of, and never seen, may have lain in a hand of this box that was collected at a time."""
        return draw.number <= self.state.emitted and draw.at <= at and (draw.due is None or box_of(draw.due) == box)

    def _is_back(self, since: int, at: int | None = None) -> bool:
        """Whether something came back so lately that what is seen may be older."""
        return (self.state.now if at is None else at) < since + BACK

    def _is_out_of_sight(self, laid: Laid) -> bool:
        """Whether it is unread and was not seen lately: maybe it was read where it was carried to. Without a shoe it counts."""
        return self.state.shoe and laid.card is Card.UNREAD and not laid.seen

    def _may_be_uncovered(self, laid: Laid) -> bool:
        """Whether it is unread and a known card of its split box is out of sight: maybe what lay over that was taken away."""
        if laid.card is not Card.UNREAD or box_of(laid.place) not in self.state.split:
            return False
        return any(one_box(other.place, laid.place) and not other.seen and other.draw is not None for other in self.state.laid)
