"""The cards of a French-suited pack, and the card that passed unread.

A card is written rank then suit: `AS TH 9D KC`. `10H` is accepted when read, `TH` is written. `??` is a card that left the shoe
and whose face nobody knows; it has no rank, no suit and no points, and nothing in this program ever guesses them.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["PACK", "Card", "Rank", "Suit", "unread"]


class Suit(StrEnum):
    """The four suits."""

    CLUBS = "C"
    DIAMONDS = "D"
    HEARTS = "H"
    SPADES = "S"


class Rank(StrEnum):
    """The thirteen ranks, ace low as in blackjack's hard count."""

    ACE = "A"
    TWO = "2"
    THREE = "3"
    FOUR = "4"
    FIVE = "5"
    SIX = "6"
    SEVEN = "7"
    EIGHT = "8"
    NINE = "9"
    TEN = "T"
    JACK = "J"
    QUEEN = "Q"
    KING = "K"


class Card(StrEnum):
    """One of the 52 faces, or `UNREAD`.

    `rank` and `suit` are None for the unread card. `points` counts an ace as 1 and a figure as 10; for the unread card it is 0
    and means nothing: ask `unread(cards)` first.
    """

    rank: Rank | None
    suit: Suit | None
    points: int

    def __new__(cls, text: str) -> Card:
        """Make the member and hang rank, suit and points on it, so that a game asks for them at no cost."""
        card = str.__new__(cls, text)
        card._value_ = text
        card.rank, card.suit, card.points = None, None, 0
        if text != "??":
            card.rank, card.suit = Rank(text[0]), Suit(text[1])
            card.points = min(10, list(Rank).index(card.rank) + 1)
        return card

    @classmethod
    def _missing_(cls, value: object) -> Card | None:
        """Read `10H` as `TH`; anything else is no card."""
        if isinstance(value, str) and len(value) == 3 and value.startswith("10"):
            return cls._value2member_map_.get("T" + value[2])  # type: ignore[return-value]
        return None

    # Suit first, since a Python name may not begin with a digit; the value is the trade's form.
    CA = "AC"
    C2 = "2C"
    C3 = "3C"
    C4 = "4C"
    C5 = "5C"
    C6 = "6C"
    C7 = "7C"
    C8 = "8C"
    C9 = "9C"
    CT = "TC"
    CJ = "JC"
    CQ = "QC"
    CK = "KC"
    DA = "AD"
    D2 = "2D"
    D3 = "3D"
    D4 = "4D"
    D5 = "5D"
    D6 = "6D"
    D7 = "7D"
    D8 = "8D"
    D9 = "9D"
    DT = "TD"
    DJ = "JD"
    DQ = "QD"
    DK = "KD"
    HA = "AH"
    H2 = "2H"
    H3 = "3H"
    H4 = "4H"
    H5 = "5H"
    H6 = "6H"
    H7 = "7H"
    H8 = "8H"
    H9 = "9H"
    HT = "TH"
    HJ = "JH"
    HQ = "QH"
    HK = "KH"
    SA = "AS"
    S2 = "2S"
    S3 = "3S"
    S4 = "4S"
    S5 = "5S"
    S6 = "6S"
    S7 = "7S"
    S8 = "8S"
    S9 = "9S"
    ST = "TS"
    SJ = "JS"
    SQ = "QS"
    SK = "KS"
    UNREAD = "??"


PACK: tuple[Card, ...] = tuple(card for card in Card if card is not Card.UNREAD)
"""The 52 cards of one pack, by suit, then rank."""


def unread(cards: tuple[Card, ...]) -> bool:
    """Whether any of these cards passed unread, so that their total is unknown."""
    return Card.UNREAD in cards
