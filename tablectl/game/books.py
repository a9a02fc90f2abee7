"""The shoe's books: how many cards were drawn, in which order, how many remain, and what must be missing at the end."""

from __future__ import annotations

import msgspec

from tablectl.cards import PACK, Card
from tablectl.notices import ShoeState

__all__ = ["Books", "Reckoning"]

_BYTE = {card: bytes([index]) for index, card in enumerate(PACK)} | {Card.UNREAD: b"\xff"}


class Reckoning(msgspec.Struct, frozen=True):
    """The shoe at its end. `short` cards never came; `cards` are the faces that are not accounted for.

    With `short` 0 these are the faces of the cards that passed unread: `inferred` by elimination, never read.
    """

    short: int
    cards: tuple[Card, ...]
    unread: int

    @property
    def inferred(self) -> tuple[Card, ...]:
        """The faces of the unread cards, where nothing else can have been on them."""
        return self.cards if self.short == 0 and len(self.cards) == self.unread else ()


class Books(msgspec.Struct, frozen=True, gc=False):
    """What is known of the shoe in use. `decks` and `remaining` are None while it was never seen to be loaded: its books are off.

    `order` holds the cards since it was loaded, as indices into `cards.PACK`, 255 for an unread one.
    """

    decks: int | None = None
    remaining: int | None = None
    drawn: int = 0
    unread: int = 0
    order: bytes = b""

    @classmethod
    def of_new_shoe(cls, decks: int) -> Books:
        """The books of a shoe that was just loaded with so many packs."""
        return cls(decks, decks * len(PACK))

    def impossible(self, card: Card) -> bool:
        """Whether this face has come more often than the packs hold it."""
        return self.decks is not None and self.copies(card) > self.decks

    def copies(self, card: Card) -> int:
        """How often a face has come."""
        return self.order.count(_BYTE[card])

    def with_card(self, card: Card) -> Books:
        """The books after a card left the shoe."""
        unread = self.unread + (card is Card.UNREAD)
        if self.remaining is None or self.decks is None:
            return Books(None, None, self.drawn + 1, unread)
        order = self.order
        if len(order) < 2 * self.decks * len(PACK):  # far beyond what a shoe holds, so what comes more is no news
            order += _BYTE[card]
        return Books(self.decks, max(0, self.remaining - 1), self.drawn + 1, unread, order)

    def emptied(self) -> Books:
        """The books of a shoe that has reported itself empty."""
        return Books(self.decks, 0, self.drawn, self.unread, self.order)

    def reckoning(self) -> Reckoning | None:
        """What the books say at the end of the shoe; None when they are off."""
        if self.decks is None:
            return None
        faces = [card for card in PACK for _ in range(self.decks - self.copies(card))]
        return Reckoning(max(0, self.decks * len(PACK) - self.drawn), tuple(faces), self.unread)

    def state(self, *, past_cut: bool) -> ShoeState:
        """In a word, for the pit."""
        if self.remaining == 0:
            return "empty"
        if self.decks is None:
            return "past_cut" if past_cut else "unknown"
        return "past_cut" if past_cut else "loaded"
