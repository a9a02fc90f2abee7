"""Which draw of the shoe a card on the felt is: by its face, by the times, and by the place where the game has a draw go.

`State` is all that fusion knows; `Pairing` asks it. A card that the felt cannot read has its place alone to go by, and is a draw
that is due elsewhere only when there is no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tablectl.cards import Card
from tablectl.game.table import Due
from tablectl.observations import Observation
from tablectl.places import BoxPlace, Place

__all__ = ["DOUBT", "MISSING", "Draw", "Gone", "Laid", "Pairing", "State", "box_of", "doubt_until", "one_box"]

DOUBT: Final = 450_000
"""Microseconds that a card at rest waits until what explains it is known."""
UNSURE: Final = 800_000
"""The same of a card that is unread, where all that speaks for a draw, or against every one, is that there is no other."""
MISSING: Final = 4_000_000
"""Microseconds within which a drawn card comes to rest on the felt."""
SHOWN: Final = 2_000_000
"""Microseconds in which a burned card is shown on the felt, where it is."""
EARLY: Final = 300_000
"""Microseconds by which a card may be seen before the shoe reports it: the two are stamped by different threads."""
FLIGHT: Final = 500_000
"""Microseconds between a card's leaving the shoe and its coming into sight: of two draws of one face, the likelier one's."""


class Draw(msgspec.Struct, omit_defaults=True):
    """A card that left the shoe and was not seen to lie yet. `number` counts all cards, from 1."""

    number: int
    card: Card
    at: int
    unwatched: bool = False
    """It left while no camera looked."""
    burned: bool = False
    told: bool = False
    """It was said to be missing."""
    twin: bool = False
    """Another of its face left while no camera looked."""
    under: bool = False
    """It may have lain in its box unread while a later card came to lie there or the hand was collected: under that, or gone."""
    due: Place | None = None
    """Where the game has it go; None: that is not known before it is seen, since a hand acts."""


class Laid(msgspec.Struct, omit_defaults=True):
    """A card on the felt. `draw` is the number of its draw; None: it lay there before, or nothing explains it."""

    id: int
    place: Place
    card: Card
    first: int
    at: int
    crosswise: bool = False
    draw: int | None = None
    like: int | None = None
    settled: bool = False
    """What it is was found out, or said."""
    taken: Draw | None = None
    """The draw that it is taken for though one of the two is unread."""
    told: bool = False
    """It was said not to have been collected."""
    seen: bool = True
    """It was in plain sight when a card came to rest last."""


class Gone(msgspec.Struct, omit_defaults=True):
    """A card that lies on the felt no more."""

    laid: Laid
    at: int
    told: bool = False


class State(msgspec.Struct, omit_defaults=True):
    """All that fusion knows: what a ledger keeps beside its entries, so that a table that starts again goes on from here."""

    camera: bool = False
    shoe: bool = True
    camera_since: int = 0
    shoe_since: int = 0
    now: int = 0
    drawn: int = 0
    emitted: int = 0
    draws: list[Draw] = []
    held: list[Observation] = []
    laid: list[Laid] = []
    gone: list[Gone] = []
    hidden: dict[str, int] = {}
    """The places over which something lies, since when."""
    split: list[int] = []
    """The boxes that were said to split, each time anew, while their cards lie there."""
    split_at: int = 0
    """When one of them was said to, last."""


class Pairing:
    """Asks what is known. `due` is the table's own word on what is due."""

    def __init__(self, due: Callable[[], Due], state: State) -> None:
        self.due = due
        self.state = state

    def draw_of(self, laid: Laid) -> Draw | None:
        """The draw that a card at rest is, None while that cannot be told, or where there is none."""
        if laid.card is Card.UNREAD:
            return self._of_unread(laid)
        same, open_ = self.same_as(laid), self.may_be(laid)
        patient = self.state.now < laid.at + DOUBT
        if same:
            first = same[0]
            unread_before = any(draw.card is Card.UNREAD and draw.number < first.number for draw in open_)
            return None if unread_before and patient else first
        unread = [draw for draw in open_ if draw.card is Card.UNREAD]
        here = [draw for draw in unread if draw.due is None or one_box(draw.due, laid.place)]
        if len(unread) == 1 and (here or not patient):
            return unread[0]
        if self.source_of(laid) is not None or not open_:
            return None
        here = here or [draw for draw in open_ if draw.due is not None and one_box(draw.due, laid.place)]
        return None if patient and (len(open_) > 1 or unread) else (here or unread or open_)[0]

    def _of_unread(self, laid: Laid) -> Draw | None:
        """The same of a card that the felt cannot read: its place is all there is to go by."""
        open_ = self.may_be(laid)
        here = [draw for draw in open_ if draw.due is not None and one_box(draw.due, laid.place)]
        if here:
            return here[0]
        acting = self.due().hand
        if acting is not None and box_of(laid.place) == acting.box and open_ and open_[0].due is None:
            return open_[0]  # a hit, most likely: and that is what it counts as without the felt, too
        if open_:
            return open_[0] if len(open_) == 1 and self.state.now >= doubt_until(laid) else None
        shown = (draw for draw in self.state.draws if draw.burned and fits(draw, laid))
        return next(shown, None) if laid.place == "dealer" else None

    def may_be(self, laid: Laid) -> list[Draw]:
        """The draws that may lie there, by the time they left the shoe."""

        def is_open(draw: Draw) -> bool:
            lately = self.state.now < draw.at + MISSING or draw.due is None or one_box(draw.due, laid.place)
            return lately and not (draw.told or draw.burned)

        return [draw for draw in self.state.draws if fits(draw, laid) and is_open(draw)]

    def same_as(self, laid: Laid) -> list[Draw]:
        """The draws of a card's face that may lie there, the likeliest first: one that an unread card is taken for, too."""
        taken = (other.taken for other in self.state.laid if other.card is Card.UNREAD and other.taken is not None)
        same = [draw for draw in (*self.state.draws, *taken) if draw.card is laid.card and fits(draw, laid)]

        def unlikely(draw: Draw) -> tuple[bool, bool, int]:
            elsewhere = draw.due is not None and not one_box(draw.due, laid.place)
            return (draw.told or draw.burned, elsewhere, abs(laid.first - draw.at - FLIGHT))

        return sorted(same, key=unlikely)

    def upon(self, card: Card, first: int) -> Draw | None:
        """The draw of a card that was first seen then where another lay."""
        known = (draw for draw in self.state.draws if draw.card is card and not (draw.told or draw.burned))
        return next((draw for draw in known if first >= draw.at - EARLY), None)

    def source_of(self, laid: Laid) -> Laid | None:
        """The card of this face that is gone from elsewhere, where there is one; of an unread card, the one its box lost."""
        if laid.card is Card.UNREAD:
            lost = [gone.laid for gone in self.state.gone if one_box(gone.laid.place, laid.place) and not gone.told]
            return lost[0] if len(lost) == 1 else None
        gone = [gone.laid for gone in self.state.gone if gone.laid.card is laid.card]
        return gone[-1] if gone else next((other for other in self.state.laid if other.id == laid.like), None)

    def is_hidden(self, draw: Draw) -> bool:
        """Whether something came to lie since then where a draw is due: it may be the card, and unread, or lie over it."""
        if draw.due is None:
            return False
        return draw.under or self.state.hidden.get(str(box_of(draw.due) or draw.due), 0) > draw.at - FLIGHT

    def mistaken(self, draw: Draw) -> Laid | None:
        """The card that is one like it for who follows: laid where the other, an older draw of its face, has been collected."""
        gone = {box_of(gone.laid.place) for gone in self.state.gone}
        for laid in self.state.laid:
            older = laid.draw is not None and laid.draw < draw.number
            if laid.card is draw.card and older and box_of(laid.place) in gone and draw.due is not None:
                return laid if one_box(draw.due, laid.place) else None
        return None


def doubt_until(laid: Laid) -> int:
    """Until when a card that cannot be told waits."""
    return laid.at + (UNSURE if laid.card is Card.UNREAD else DOUBT)


def fits(draw: Draw, laid: Laid) -> bool:
    """Whether a draw may be a card by the times."""
    return laid.first >= draw.at - EARLY and not (draw.burned and laid.first > draw.at + SHOWN)


def box_of(place: Place) -> int | None:
    """The box of a place; None of the dealer's and the burned cards."""
    return place.box if isinstance(place, BoxPlace) else None


def one_box(one: Place, other: Place) -> bool:
    """Whether two places are of one box, or both the dealer's, or neither."""
    return (box_of(one), one == "dealer") == (box_of(other), other == "dealer")
