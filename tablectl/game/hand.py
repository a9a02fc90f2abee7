"""What a hand is worth.

Cards 2 to 10 count their face, figures 10, an ace 1 or 11: one ace counts 11 where that does not pass 21, and the hand is then
*soft*. A blackjack is an ace with any ten-valued card as the first two cards. A hand with an unread card has no total.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tablectl.cards import Card, Rank

__all__ = ["Total", "is_blackjack", "is_pair", "total"]

_UNREAD, _ACE = Card.UNREAD, Rank.ACE  # by a name of ours: an enum's members are slow to look up


class Total(NamedTuple):
    """A hand's count: `value` 0 to 31 or more when bust, None when a card of it is unread; `soft` when an ace counts 11."""

    value: int | None
    soft: bool


@lru_cache(maxsize=1 << 12)  # all hands of two cards; what is more comes too seldom again to be kept
def total(cards: tuple[Card, ...]) -> Total:
    """Count a hand. The order of the cards does not matter."""
    if _UNREAD in cards:
        return Total(None, False)
    points = [card.points for card in cards]
    hard = sum(points)
    if hard <= 11 and 1 in points:
        return Total(hard + 10, True)
    return Total(hard, False)


def is_blackjack(cards: tuple[Card, ...]) -> bool:
    """Whether these are exactly an ace and a ten-valued card. Where they came from (a split) is the caller's to know."""
    return len(cards) == 2 and total(cards).value == 21


def is_pair(cards: tuple[Card, ...], *, same: str) -> bool:
    """Whether two cards, both read, are alike: by `same_rank` (K K) or by `same_value` (K Q as well)."""
    if len(cards) != 2 or _UNREAD in cards:
        return False
    first, second = cards
    return first.rank is second.rank if same == "same_rank" else first.points == second.points


def are_aces(cards: tuple[Card, ...]) -> bool:
    """Whether the hand is nothing but aces."""
    return bool(cards) and all(card.rank is Rank.ACE for card in cards)
