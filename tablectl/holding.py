"""What waits for the felt's word: cards, and what must not overtake them.

A card that the shoe could not read waits for the felt to read it; one that comes while a hand acts, for the felt to tell where it
lies; and where only the camera sees the cards, keys and what is told of chips wait for those that lay there. None waits long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from tablectl.cards import Card
from tablectl.game.table import Due
from tablectl.instants import from_micros, to_micros
from tablectl.observations import CardDrawn, Felt, FeltKind, Observation
from tablectl.pairing import Laid, State, box_of, one_box
from tablectl.places import BoxPlace, Place

__all__ = ["CAMERA", "HELD", "Holding", "felt_says"]

CAMERA: Final = "camera"

HELD: Final = 1_500_000
"""Microseconds that a card is held for the felt's word, at the most."""
LATE: Final = 1_000_000
"""Microseconds by which a key goes before the card it followed, where only the camera sees the cards: so long it is held."""


class Holding:
    """One table's. `due` is the table's own word on what is due, asked at the moment a card comes, or goes on."""

    def __init__(self, due: Callable[[], Due], state: State) -> None:
        self.due = due
        self.state = state

    def must_wait(self, drawn: CardDrawn) -> bool:
        """Whether a card is held for the felt's word."""
        if not self.state.camera or drawn.to is not None:
            return False
        return drawn.card is Card.UNREAD or self.due().hand is not None

    def until(self) -> int:
        """When what is held first is held no longer, in microseconds since 1970."""
        first = self.state.held[0]
        if isinstance(first, Felt) and any(not laid.settled for laid in self.state.laid):
            return self._at(first) + HELD + LATE  # the card for which the chips were taken is not read yet
        return self._at(first) + (HELD if isinstance(first, CardDrawn) else LATE)

    def _at(self, observation: Observation) -> int:
        return to_micros(observation.at) if observation.at is not None else self.state.now

    def released(self, *, everything: bool = False, before: int = 0) -> Iterator[Observation]:
        """Let go what is held, as far as the felt's word is there, or need not be waited for any longer.

        `before`: what came before that time goes on as well, since a card that was seen later is about to.
        """
        state = self.state
        while state.held:
            first = state.held[0]
            if not isinstance(first, CardDrawn):
                if not everything and not state.shoe and state.now < self.until() and self._at(first) >= before:
                    return
                state.held.pop(0)
                yield first
                continue
            laid = next((laid for laid in state.laid if laid.draw == state.emitted + 1), None)
            known = laid is not None and Card.UNREAD is not (first.card if first.card is not Card.UNREAD else laid.card)
            if not (everything or known or not self.must_wait(first) or state.now >= self.until()):
                return
            state.held.pop(0)
            state.emitted += 1
            if laid is None:
                self._say_due()
                yield first
            else:
                yield self._with_place(first, laid)
                if Card.UNREAD not in (first.card, laid.card) and first.card is not laid.card:
                    yield felt_says(self.state, "placed", laid, to=None)

    def _with_place(self, drawn: CardDrawn, laid: Laid) -> CardDrawn:
        """A draw with what the felt adds to it. Where the two name different cards, the shoe's stands until that is ruled on."""
        if drawn.card is Card.UNREAD:
            card, source = laid.card, drawn.source if laid.card is Card.UNREAD else CAMERA
        else:
            card, source = drawn.card, "both" if laid.card is drawn.card else drawn.source
        acting = self.due().hand
        hit = laid.card is Card.UNREAD and acting is not None and acting.box == box_of(laid.place)
        to = None if hit else self.where(laid)
        return msgspec.structs.replace(drawn, card=card, to=to, source=source, crosswise=laid.crosswise)

    def where(self, laid: Laid) -> Place:
        """Where it lies. Which hand of a split box an unread card is in, or any before the two were seen apart, nobody saw."""
        place, due = laid.place, laid.taken.due if laid.taken is not None else None
        if laid.card is Card.UNREAD and due is not None and one_box(due, place):
            return due
        if isinstance(place, BoxPlace) and place.box in self.state.split:
            hands = {other.place for other in self.state.laid if one_box(other.place, place)}
            return place if len(hands) > 1 else BoxPlace(place.box)
        return place

    def _say_due(self) -> None:
        """The card that goes on now goes without a word of the felt: where the game has it go is known by now."""
        draw = next((draw for draw in self.state.draws if draw.number == self.state.emitted), None)
        if draw is not None and draw.due is None:
            due = self.due()
            draw.due = due.card if due.hand is None else BoxPlace(due.hand.box, due.hand.number)


def felt_says(
    state: State, kind: FeltKind, laid: Laid, *, to: Place | None, was: Card | None = None, crosswise: bool = False
) -> Felt:
    """An observation of the felt's about a card that it knows."""
    ago = None if laid.draw is None else max(0, state.emitted - laid.draw)
    return Felt(at=from_micros(state.now), kind=kind, to=to, card=laid.card, was=was, ago=ago, crosswise=crosswise)
