"""How far a deck's indices stand from the middle of their card: reckoned from what decks have, learnt from cards that show two.

Where an index stands differs by deck. The two ends of one card say how far the middle lies from each; by that a card that shows
one end has its middle where it has it when the other is read, too. A table has one deck for hours, so what was learnt is kept
from picture to picture (`DeckShape`), where the scale is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablectl.cards import Card

__all__ = ["CARD", "SIDE", "TOP", "DeckShape", "Inset", "Shown"]

CARD = (63.0, 88.0)  # mm
TOP = 4.0  # mm from a card's upper edge to its index
SIDE = 2.2  # mm from a card's side to its index
STRAY = (2.4, 1.6)  # mm by which the middles of decks differ from that, across and along
# What the indices themselves say of up is off by some degrees, more for some faces than for others: so many cards must have
# said it before it weighs as much as what decks have.
DOUBTED = 3.0
PLAINLY = 6  # cards that show two indices, before they say how many the deck has
MOSTLY = 0.75  # of them must say so


class Inset(NamedTuple):
    """From the middle of an index to the card's, across and along the card, in mm."""

    across: float
    along: float


class Shown(NamedTuple):
    """What a card says that shows two indices: an `Inset` (None: they do not say it), and whether it has more than two."""

    card: Card
    across: float | None
    along: float | None
    four: bool


class DeckShape(NamedTuple):
    """What the cards of a deck have shown, each card once: the newest."""

    shown: tuple[Shown, ...] = ()

    def after(self, shown: list[Shown]) -> DeckShape:
        """What is known when these were seen, too."""
        newest = {one.card: one for one in (*self.shown, *shown)}
        return DeckShape(tuple(newest.values()))

    @property
    def four(self) -> bool | None:
        """Whether the deck has indices in all four corners; None: not known."""
        share = sum(one.four for one in self.shown) / max(len(self.shown), 1)
        if len(self.shown) < PLAINLY or 1 - MOSTLY < share < MOSTLY:
            return None
        return share > 0.5

    def inset(self, height: float, width: float) -> Inset:
        """The inset of a deck whose indices are so high and wide, in mm: what decks have, as far as it was not shown."""
        across, along = CARD[0] / 2 - SIDE - width / 2, CARD[1] / 2 - TOP - height / 2
        both = [(one.across, one.along) for one in self.shown if one.across is not None and one.along is not None]
        if not both:
            sides = [one.across for one in self.shown if one.across is not None]
            ends = [one.along for one in self.shown if one.along is not None]
            return Inset(float(np.median(sides)) if sides else across, float(np.median(ends)) if ends else along)
        pairs = np.array(both)
        # How far it is the diagonal says well. So far it is what decks have, stretched where they differ most.
        usual = float(np.hypot(across, along))
        far = float(np.median(np.hypot(*pairs.T)))
        give = (STRAY[0] ** 2 * across / usual, STRAY[1] ** 2 * along / usual)
        stretch = (far - usual) * usual / (give[0] * across + give[1] * along)
        due = np.arctan2(across + give[0] * stretch, along + give[1] * stretch)
        said = float(np.median(np.arctan2(pairs[:, 0], pairs[:, 1])))
        angle = (DOUBTED * due + len(both) * said) / (DOUBTED + len(both))
        return Inset(far * float(np.sin(angle)), far * float(np.cos(angle)))
