"""The frozen snapshot that is the only truth about a round.

Nothing here changes in place: each observation makes a new `Round`. Hands lie in the order in which they are dealt to and
play, so "the next hand" is always the first one that qualifies; whose turn it is is never stored, it follows.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game.hand import total
from tablectl.notices import Result

__all__ = ["Ended", "Hand", "Owed", "Round", "Stake", "change_hand", "find", "hands_of"]

Ended = Literal["stood", "twenty_one", "blackjack", "doubled", "split_ace", "surrendered", "bust", "void"]
"""Why a hand acts no more."""

Owed = Literal["hit", "double", "split"]
"""The decision that asked for a card which has not come yet."""


class Stake(msgspec.Struct, frozen=True, gc=False):
    """What one bettor has on a box before the deal; `by` is None for the box's nameless holder."""

    box: int
    by: str | None
    amount: int


class Hand(msgspec.Struct, frozen=True, gc=False):
    """One hand of a box.

    `stake` is all that lies on it, `first_stake` what it began with. `insurance` belongs to hand 0 of a box: None until the box
    has answered, 0 when it declined. `result` is None until the hand is settled; then `returned` and `carried` are final.
    """

    box: int
    number: int
    stake: int
    first_stake: int
    cards: tuple[Card, ...] = ()
    split: bool = False
    owed: Owed | None = None
    ended: Ended | None = None
    insurance: int | None = None
    result: Result | None = None
    returned: int = 0
    carried: int = 0

    @property
    def laid(self) -> int:
        """Everything the player has put down for this hand."""
        return self.stake + (self.insurance or 0)


class Round(msgspec.Struct, frozen=True, gc=False):
    """A round, from its first stake to its last settlement. `opened_at` is the time of the observation that opened it."""

    number: int
    opened_at: str | None = None
    hands: tuple[Hand, ...] = ()
    dealer: tuple[Card, ...] = ()
    cards: int = 0
    alerts: int = 0

    @property
    def acting(self) -> Hand | None:
        """The hand whose turn it is while the players play: the first that has not ended."""
        for hand in self.hands:
            if hand.ended is None:
                return hand
        return None

    @property
    def dealer_total(self) -> int | None:
        """The dealer's count, None when a card of it is unread."""
        return total(self.dealer).value


def find(round_: Round, box: int, number: int) -> Hand | None:
    """The hand of that box and number."""
    for hand in round_.hands:
        if hand.box == box and hand.number == number:
            return hand
    return None


def hands_of(round_: Round, box: int) -> tuple[Hand, ...]:
    """All hands of a box, by their numbers."""
    return tuple([hand for hand in round_.hands if hand.box == box])


def change_hand(round_: Round, old: Hand, *new: Hand) -> Round:
    """The round with one hand replaced; a second new hand is added as the last of its box (a split)."""
    hands = list(round_.hands)
    hands[hands.index(old)] = new[0]
    for extra in new[1:]:
        after = max(index for index, hand in enumerate(hands) if hand.box == extra.box)
        hands.insert(after + 1, extra)
    return replace(round_, hands=tuple(hands))
