"""Shoe and felt to one stream of observations: the shoe knows which card and when, the felt where it lies.

A fold without clock: observations and what following saw go in, each with its time, and observations come out. What is alive
decides the mode. **Both**: a card goes on to the game at once, and a `felt` observation tells its place when it has come to rest;
only a card that the shoe could not read, or whose place the game cannot know before it is seen (a hand acts and has not said what
it wants), is held, and no longer than `HELD`. **The shoe alone**: cards go on without a place, and the dealing order says it.
**The camera alone**: a card that comes to rest is a `card` with its place, read on the felt; keys wait for what lay there before.

A card at rest is paired with a draw: with one of its face; else with one that the shoe could not read; else with the one draw
there is, and then the two disagree, which the game stops for. A card that the felt cannot read is the draw that is due where it
lies, and only a lone draw may lie elsewhere (`UNSURE`); it is let go again when a card is read that fits its draw better. What
cannot be told apart yet waits for `DOUBT`; what nothing explains is for `tablectl.unexplained`.
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
from tablectl.pairing import DOUBT, MISSING, Draw, Gone, Laid, Pairing, State, box_of, one_box
from tablectl.places import BoxPlace, Place
from tablectl.unexplained import Unexplained

__all__ = ["CAMERA", "DOUBT", "HELD", "MISSING", "Fusion", "State"]

SHOE: Final = "shoe"
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
        self._unexplained = Unexplained(self.state, self._pairing, self._holding)

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
        times = self._unexplained.times()
        if state.held:
            times.append(self._holding.until())
        return min((max(time, state.now + 1) for time in times), default=None)

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
            if not self._unexplained.is_back(state.camera_since):  # else it is news to the camera alone
                last, first = (from_micros(time) if time is not None else None for time in (event.last, event.first))
                told = Felt(at=from_micros(state.now), kind=_STAKES[event.state], to=BoxPlace(event.box), last=last, first=first)
                if state.shoe:
                    yield told
                else:
                    state.held.append(told)
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
                self._unexplained.wait_anew(laid)
                state.laid.remove(laid)
                state.split = [box for box in state.split if any(box_of(other.place) == box for other in state.laid)]
                if laid.settled and not self._unexplained.is_back(state.camera_since):
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
            known = (laid.taken.card if laid.card is Card.UNREAD and laid.taken is not None else laid.card for laid in cards)
            bust = sum(card.points for card in known) > 21
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
        yield from self._unexplained.told()
