"""What is not explained: a card on the felt that no draw is, a draw that is nowhere to be seen, and cards that are gone.

A card that no draw explains was moved there from where one like it is gone, or just appeared. A draw that is nowhere to be seen
within `MISSING` is missing, unless something came to lie over its place that is no known card: then it may be there, and unread,
and that is told only once the place is in plain sight. Of cards that are gone a whole hand was collected; one card of a hand that
still lies there is missing. What may be explained by a card that is out of sight waits for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablectl.cards import Card
from tablectl.holding import CAMERA, HELD, Holding, felt_says
from tablectl.instants import from_micros
from tablectl.observations import CardDrawn, Collected, Felt, Observation
from tablectl.pairing import DOUBT, MISSING, Draw, Gone, Laid, Pairing, State, box_of, doubt_until, one_box
from tablectl.places import BoxPlace

__all__ = ["Unexplained"]

PICKED: Final = 1_000_000
"""Microseconds in which a hand's cards are picked up one after the other."""
BACK: Final = 2_000_000
"""Microseconds after a camera, or a shoe, came back in which what happened meanwhile is found."""
LAID_ANEW: Final = 5_000_000
"""Microseconds after a split in which the hands of its box are laid anew."""
KEPT: Final = 30_000_000
"""Microseconds for which a card that is gone, or missing, or may lie under others, may still be found."""


class Unexplained:
    """One table's, by what `state` knows; asked whenever time has passed."""

    def __init__(self, state: State, pairing: Pairing, holding: Holding) -> None:
        self.state = state
        self._pairing = pairing
        self._holding = holding

    def times(self) -> list[int]:
        """When there will be something to tell though nothing else happens, in microseconds since 1970."""
        state = self.state
        lost: int | None = None
        for draw in state.draws:  # this is asked after each card, and the first draw is mostly the oldest: the others cost little
            if (lost is None or draw.at < lost) and self._lost(draw) and not self._pairing.is_hidden(draw):
                lost = draw.at
        times = [lost + MISSING] if lost is not None else []
        times += [time for laid in state.laid if not laid.settled and (time := self._judged_at(laid)) is not None]
        times += [gone.at + PICKED for gone in state.gone if not gone.told]
        return times

    def wait_anew(self, gone: Laid) -> None:
        """A card is gone: one that it may have lain over, and that nobody has read, may be about to go with its hand."""
        for laid in self.state.laid:
            if one_box(laid.place, gone.place) and self._may_be_uncovered(laid):
                laid.at = self.state.now

    def _judged_at(self, laid: Laid) -> int | None:
        """When time alone tells what a card is that is not explained yet; None: another card must."""
        if self._is_out_of_sight(laid) or self._may_be_uncovered(laid):
            return None
        doubt = doubt_until(laid)
        if (before := self._comes_before(laid)) is not None:
            return max(doubt, before.at + HELD)
        if laid.card is not Card.UNREAD or self.state.now < doubt:
            return doubt
        if len(self._pairing.may_be(laid)) > 1:
            return None
        return max(doubt, laid.at + HELD)

    def told(self) -> Iterator[Observation]:
        """What can be told by now."""
        state = self.state
        for laid in [laid for laid in state.laid if not laid.settled]:
            yield from self._judged(laid)
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
        return draw.at + (KEPT if draw.told or draw.under else MISSING)

    def _lost(self, draw: Draw) -> bool:
        """Whether a draw that is nowhere to be seen is worth a word: a camera looked, and it was not burned."""
        return not (draw.told or draw.unwatched or draw.burned or draw.under)

    def _judged(self, laid: Laid) -> Iterator[Observation]:
        """A card that no draw explains: it was moved, or the shoe is not there to report it, or it just appeared."""
        state = self.state
        if self._is_out_of_sight(laid) or self._may_be_uncovered(laid):
            return
        source = self._pairing.source_of(laid)
        alone = not state.shoe or laid.first < state.shoe_since + BACK // 2
        if alone and source in state.laid and state.now >= laid.at + DOUBT:
            source = None  # an arm hid the other all the while: this is a new card
        if alone and source is None and not self.is_back(state.camera_since, laid.first):
            if laid.card is Card.UNREAD and state.now < laid.at + HELD:
                return
            if (before := self._comes_before(laid)) is not None and state.now < before.at + HELD:
                return
            state.drawn += 1
            state.emitted += 1
            laid.draw = state.drawn
            yield from self._holding.released(before=laid.first)  # and not yet what waits for this card
            laid.settled = True
            yield CardDrawn(at=from_micros(state.now), card=laid.card, to=laid.place, source=CAMERA, crosswise=laid.crosswise)
            return
        if state.now < doubt_until(laid) or (laid.card is Card.UNREAD and self._pairing.may_be(laid)):
            return
        laid.settled = True
        if self.is_back(state.camera_since, laid.first):
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
        """Whether the box of a card that is gone was just split again: three hands or four are laid over one another.

        Which of them hides the card, or lies where it lay, nobody sees.
        """
        again = self.state.split.count(box_of(gone.laid.place) or 0) > 1
        return again and self.state.now < self.state.split_at + LAID_ANEW

    def _may_have_gone(self, draw: Draw, box: int, at: int) -> bool:
        """Whether a card that was told of, and never seen, may have lain in a hand of this box that was collected at a time."""
        return draw.number <= self.state.emitted and draw.at <= at and (draw.due is None or box_of(draw.due) == box)

    def is_back(self, since: int, at: int | None = None) -> bool:
        """Whether something came back so lately that what is seen may be older."""
        return (self.state.now if at is None else at) < since + BACK

    def _comes_before(self, laid: Laid) -> Laid | None:
        """Without a shoe, the card that nobody has read yet and that came before this one: it is told first."""
        if self.state.shoe:
            return None
        waits = (other for other in self.state.laid if not other.settled and other.card is Card.UNREAD)
        return next((other for other in waits if other.first < laid.first), None)

    def _is_out_of_sight(self, laid: Laid) -> bool:
        """Whether it is unread and was not seen lately: maybe it was read where it was carried to. Without a shoe it counts."""
        return self.state.shoe and laid.card is Card.UNREAD and not laid.seen

    def _may_be_uncovered(self, laid: Laid) -> bool:
        """Whether it is unread and a known card of its split box is out of sight: maybe what lay over that was taken away."""
        if laid.card is not Card.UNREAD or box_of(laid.place) not in self.state.split:
            return False
        return any(one_box(other.place, laid.place) and not other.seen and other.draw is not None for other in self.state.laid)
