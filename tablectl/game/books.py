"""The shoe's books: how many cards were drawn, how many remain, and which faces came how often."""

from __future__ import annotations

import msgspec

from tablectl.cards import PACK, Card
from tablectl.notices import ShoeState

__all__ = ["Books"]

_INDEX = {card: index for index, card in enumerate(PACK)}


class Books(msgspec.Struct, frozen=True, gc=False):
    """What is known of the shoe in use. `decks` and `remaining` are None while it was never seen to be loaded: its books are off.

    `seen` counts each face in the order of `cards.PACK`, one byte a face.
    """

    decks: int | None = None
    remaining: int | None = None
    drawn: int = 0
    unread: int = 0
    seen: bytes = bytes(len(PACK))

    @classmethod
    def of_new_shoe(cls, decks: int) -> Books:
        """The books of a shoe that was just loaded with so many packs."""
        return cls(decks, decks * len(PACK))

    def copies(self, card: Card) -> int:
        """How often a face has come."""
        index = _INDEX.get(card)
        return self.seen[index] if index is not None else 0

    def impossible(self, card: Card) -> bool:
        """Whether this face has come more often than the packs hold it."""
        return self.decks is not None and self.copies(card) > self.decks

    def with_card(self, card: Card) -> Books:
        """The books after a card left the shoe. A face is counted up to 255 times, far beyond any shoe."""
        remaining = max(0, self.remaining - 1) if self.remaining is not None else None
        index = _INDEX.get(card)
        if index is None:
            return Books(self.decks, remaining, self.drawn + 1, self.unread + 1, self.seen)
        seen = self.seen
        seen = b"%b%c%b" % (seen[:index], min(255, seen[index] + 1), seen[index + 1 :])
        return Books(self.decks, remaining, self.drawn + 1, self.unread, seen)

    def state(self, *, past_cut: bool) -> ShoeState:
        """In a word, for the pit."""
        if self.decks is None:
            return "past_cut" if past_cut else "unknown"
        if self.remaining == 0:
            return "empty"
        return "past_cut" if past_cut else "loaded"
