"""A second opinion on a round: the same tree of choices, played out as plainly as can be from the text of the house rules alone.

Nothing of tablectl is imported here. Cards are their two letters, money is whole numbers, a round is one function that reads from
top to bottom. It is played from its first card again for every way it can go; that is slow and hard to get wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["HOUSES", "Asked", "Choice", "Ending", "Hand", "House", "Stakes", "pay", "play", "tree"]

Stakes = dict[int, int]
"""Box to stake, in dealing order."""


class Choice(NamedTuple):
    """What somebody chooses: a hand's action in a word, or the amount a box insures."""

    box: int
    hand: int
    word: str | int


class House(NamedTuple):
    """What the three houses differ in."""

    fewest_boxes: int  # R03
    burned: int  # R04
    blackjack_paid_at_once: bool  # R12: unless the dealer shows an ace
    blackjack_loses_to_blackjack: bool  # R13: unless insured
    ties_stay: bool  # R15
    insurance_exactly_half: bool  # R17
    double_on: tuple[int, ...]  # R19, R21: hard totals; empty: any first two cards
    split_same_rank: bool  # R22: else the same value is enough
    hands: int  # R23
    split_ace_plays_on: bool  # R25: else it gets one card
    split_cards_at_once: bool  # R29: else a hand is played out before the next one gets its second card
    surrender: bool  # R30


HOUSES = {
    "fr": House(2, 5, True, True, True, True, (9, 10, 11), True, 3, False, False, False),
    "es": House(1, 1, False, False, False, False, (9, 10, 11), False, 10**6, False, False, False),
    "lt": House(1, 1, False, False, False, False, (), False, 5, True, True, True),
}


class Asked(Exception):
    """The script has come to its end and the round has not: one of these is to be chosen now."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        super().__init__(choices)
        self.choices = choices


class Ending(NamedTuple):
    """A finished round's money."""

    staked: int
    returned: int
    carried: int

    @property
    def house_wins(self) -> int:
        return self.staked - self.returned - self.carried


@dataclass
class Hand:
    """A hand of a box."""

    box: int
    number: int
    stake: int
    cards: list[str] = field(default_factory=list)
    split: bool = False
    doubled: bool = False
    stood: bool = False
    surrendered: bool = False


def value(card: str) -> int:
    """What a card counts, an ace 1."""
    return {"A": 1, "T": 10, "J": 10, "Q": 10, "K": 10}.get(card[0]) or int(card[0])


def count(cards: list[str]) -> int:
    """A hand's best total: an ace counts 11 where that does not pass 21."""
    low = sum(value(card) for card in cards)
    return low + 10 if "A" in [card[0] for card in cards] and low + 10 <= 21 else low


def blackjack(hand: Hand) -> bool:
    """R26, R27: an ace and a ten-valued card after a split are 21, not blackjack."""
    return len(hand.cards) == 2 and count(hand.cards) == 21 and not hand.split


def finished(hand: Hand, house: House) -> bool:
    """Whether a hand acts no more."""
    one_card_to_an_ace = hand.split and hand.cards[0][0] == "A" and len(hand.cards) == 2 and not house.split_ace_plays_on
    return hand.stood or hand.surrendered or hand.doubled or count(hand.cards) >= 21 or one_card_to_an_ace


def actions(hand: Hand, box: list[Hand], house: House) -> list[str]:
    """What a hand that is not finished may do. Its box's hands are `box`."""
    may = ["hit", "stand"]
    if len(hand.cards) != 2:
        return may
    first, second = hand.cards
    if not house.double_on or ("A" not in (first[0], second[0]) and value(first) + value(second) in house.double_on):
        may.append("double")
    alike = first[0] == second[0] if house.split_same_rank else value(first) == value(second)
    if alike and len(box) < (2 if first[0] == "A" else house.hands):  # R24: aces are split once
        may.append("split")
    if house.surrender and not hand.split:
        may.append("surrender")
    return may


def play(house: House, shoe: list[str], stakes: Stakes, script: list[Choice]) -> Ending:
    """Play a round from this shoe as the script says. Raises `Asked` where the script does not say how it goes on."""
    cards = iter(shoe[house.burned :])
    answers = iter(script)

    def choose(*choices: Choice) -> str | int:
        for answer in answers:
            assert answer in choices, f"{answer} is not legal: {choices}"
            return answer.word
        raise Asked(choices)

    # One card to each box and one to the dealer, a second card to each box and none to the dealer.
    boxes = {box: [Hand(box, 0, stake)] for box, stake in stakes.items()}
    for hands in boxes.values():
        hands[0].cards.append(next(cards))
    dealer = [next(cards)]
    for hands in boxes.values():
        hands[0].cards.append(next(cards))

    insured = dict.fromkeys(boxes, 0)
    if dealer[0][0] == "A":
        for box, stake in stakes.items():
            half = stake // 2
            amounts = (0, half) if house.insurance_exactly_half else (0, half // 2, half)
            insured[box] = int(choose(*(Choice(box, 0, amount) for amount in amounts)))

    for hands in boxes.values():
        for hand in hands:  # a split puts its new hand at the end, so that it is played here in its turn
            while True:
                if len(hand.cards) < 2:
                    hand.cards.append(next(cards))
                if finished(hand, house):
                    break
                match choose(*(Choice(hand.box, hand.number, action) for action in actions(hand, hands, house))):
                    case "hit":
                        hand.cards.append(next(cards))
                    case "stand":
                        hand.stood = True
                    case "surrender":
                        hand.surrendered = True
                    case "double":
                        hand.stake *= 2
                        hand.cards.append(next(cards))
                        hand.doubled = True
                    case "split":
                        new = Hand(hand.box, len(hands), hand.stake, [hand.cards.pop()], split=True)
                        hand.split = True
                        hands.append(new)
                        if house.split_cards_at_once:
                            hand.cards.append(next(cards))
                            new.cards.append(next(cards))

    # The dealer draws only as many cards as some stake still depends on.
    every = [hand for hands in boxes.values() for hand in hands]
    if any(is_compared(hand) for hand in every):
        while count(dealer) < 17:
            dealer.append(next(cards))
    elif any(insured.values()) or any(blackjack(hand) and waits(dealer[0], house) for hand in every):
        dealer.append(next(cards))

    staked = sum(hand.stake for hand in every) + sum(insured.values())
    paid = [pay(hand, insured[hand.box] if hand.number == 0 else 0, dealer, house) for hand in every]
    return Ending(staked, sum(returned for returned, _ in paid), sum(carried for _, carried in paid))


def pay(hand: Hand, insured: int, dealer: list[str], house: House) -> tuple[int, int]:
    """What a finished hand gets back, its box's insurance included, and what of it stays in place for the next round."""
    mine, dealers = count(hand.cards), count(dealer)
    dealer_blackjack = len(dealer) == 2 and dealers == 21
    returned = 3 * insured if dealer_blackjack else 0  # the insurance back, and 2:1
    if hand.surrendered:
        return returned + hand.stake // 2, 0
    if mine > 21:
        return returned, 0
    if blackjack(hand):
        if not dealer_blackjack or not waits(dealer[0], house):
            return returned + hand.stake + hand.stake * 3 // 2, 0
        return returned + (hand.stake if insured or not house.blackjack_loses_to_blackjack else 0), 0
    if dealer_blackjack:
        return returned, 0
    if dealers > 21 or mine > dealers:
        return returned + 2 * hand.stake, 0
    if mine == dealers:
        return (returned, hand.stake) if house.ties_stay else (returned + hand.stake, 0)
    return returned, 0


def is_compared(hand: Hand) -> bool:
    """Whether a finished hand wins or loses by the dealer's total."""
    return count(hand.cards) <= 21 and not hand.surrendered and not blackjack(hand)


def waits(dealers_first: str, house: House) -> bool:
    """Whether a player's blackjack depends on the dealer's second card."""
    if house.blackjack_paid_at_once:
        return dealers_first[0] == "A"
    return value(dealers_first) in (1, 10)


def tree(house: House, shoe: list[str], stakes: Stakes, depth: int) -> Iterator[tuple[list[Choice], Ending | tuple[Choice, ...]]]:
    """Every way to come this far: the choices that lead there, and how the round ended or what may be chosen next."""
    pending: list[list[Choice]] = [[]]
    while pending:
        script = pending.pop()
        try:
            yield script, play(house, shoe, stakes, script)
        except Asked as asked:
            yield script, asked.choices
            if len(script) < depth:
                pending += [[*script, choice] for choice in reversed(asked.choices)]
