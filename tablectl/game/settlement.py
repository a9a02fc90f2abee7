"""What each hand is paid, and when that is known.

A hand is settled as soon as nothing that may still happen can change it: a bust at once, a blackjack where the house pays it at
once, the rest when the dealer has finished. Amounts are whole minor units; only where the smallest chip cannot pay one is it
rounded, in the favour the house names (R34).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from tablectl.cards import Card, Rank
from tablectl.game.hand import is_blackjack, total
from tablectl.game.round import Hand, Round
from tablectl.houses.rules import Rules
from tablectl.notices import Result

__all__ = ["Settlement", "dealer_blackjack", "natural", "settle"]

Rounded = Literal["house", "player"]


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """How a hand ended.

    `compared` tells whether the dealer's total had a part in it; `insurance` is what of `returned` comes from a won insurance.
    """

    result: Result
    returned: int
    carried: int = 0
    rounded: Rounded | None = None
    compared: bool = False
    insurance: int = 0


def natural(hand: Hand, rules: Rules, cards: tuple[Card, ...] | None = None) -> bool:
    """Whether the hand is a blackjack, or would be with these cards: R26 and R27 say what a split hand's ace and ten are."""
    return is_blackjack(hand.cards if cards is None else cards) and (not hand.split or rules.blackjack_after_split)


def dealer_blackjack(round_: Round) -> bool | None:
    """Whether the dealer has a blackjack; None while the card that decides it has not come, or was not read."""
    first_two = round_.dealer[:2]
    if len(first_two) == 2:
        return None if total(first_two).value is None else is_blackjack(first_two)
    if first_two and first_two[0].rank is not None and first_two[0].points not in (1, 10):
        return False
    return None


def settle(hand: Hand, round_: Round, rules: Rules, *, dealer_finished: bool) -> Settlement | None:
    """Settle one hand, or say None while something it depends on is not known yet."""
    blackjack = dealer_blackjack(round_)
    insured = hand.insurance or 0
    if insured and blackjack is None and hand.ended != "void":
        return None
    main = _stake(hand, round_, rules, blackjack, dealer_finished=dealer_finished)
    if main is None or not insured:
        return main
    if hand.ended == "void":
        return msgspec.structs.replace(main, returned=main.returned + insured)
    if not blackjack:
        return main
    won, rounded = _pay(insured, rules.insurance_pays, rules)
    insurance = insured + won
    returned = main.returned + insurance
    result = main.result
    if main.result == "lose" and natural(hand, rules):
        result, returned = "push", returned + hand.stake  # R13: it loses uninsured; insured the stake comes back
    rounded = main.rounded or rounded
    return msgspec.structs.replace(main, result=result, returned=returned, rounded=rounded, insurance=insurance)


def _stake(hand: Hand, round_: Round, rules: Rules, blackjack: bool | None, *, dealer_finished: bool) -> Settlement | None:
    """Settle the stake alone, without the insurance."""
    if hand.ended == "void":
        return Settlement("void", hand.stake)
    if hand.ended == "surrendered":
        return _surrendered(hand, rules, blackjack)
    count = total(hand.cards).value
    if hand.ended is None or count is None:
        return None
    if count > 21:
        return Settlement("bust", 0)
    if natural(hand, rules):
        return _blackjack(hand, round_, rules, blackjack, dealer_finished=dealer_finished)
    return _compared(hand, round_, rules, blackjack) if dealer_finished else None


def _surrendered(hand: Hand, rules: Rules, blackjack: bool | None) -> Settlement | None:
    """R30: half is lost, and where the house voids a surrender against a blackjack, all of it."""
    if rules.surrender == "void_on_dealer_blackjack":
        if blackjack is None:
            return None
        if blackjack:
            return Settlement("lose", 0, compared=True)
    half, rounded = _to_chips(hand.stake, 2, rules)
    return Settlement("surrendered", half, rounded=rounded)


def _blackjack(hand: Hand, round_: Round, rules: Rules, blackjack: bool | None, *, dealer_finished: bool) -> Settlement | None:
    """R11 to R13: paid at once unless the dealer shows an ace, or after the dealer's draw; tied or lost to a blackjack."""
    at_once = (
        rules.blackjack_paid == "at_once_unless_ace" and bool(round_.dealer) and round_.dealer[0].rank not in (None, Rank.ACE)
    )
    if not at_once:
        if blackjack is None or not dealer_finished:
            return None
        if blackjack:
            returned = hand.stake if rules.blackjack_tie == "push" else 0
            return Settlement("push" if returned else "lose", returned, compared=True)
        if not rules.natural_beats_21 and round_.dealer_total == 21:
            return _tie(hand, rules)
    won, rounded = _pay(hand.stake, rules.blackjack_pays, rules)
    return Settlement("blackjack", hand.stake + won, rounded=rounded, compared=len(round_.dealer) > 1)


def _compared(hand: Hand, round_: Round, rules: Rules, blackjack: bool | None) -> Settlement | None:
    """R15, R16, R31, R32: the higher total wins, a dealer's blackjack beats all that is none."""
    mine, dealers = total(hand.cards).value, round_.dealer_total
    if mine is None or dealers is None:
        return None
    if blackjack and rules.natural_beats_21:
        kept = _beyond_first_stake(hand) if rules.dealer_blackjack_takes == "first_stake" else 0
        return Settlement("lose", kept, compared=True)
    if dealers > 21 or mine > dealers:
        return Settlement("win", 2 * hand.stake, compared=True)
    if mine == dealers:
        return _tie(hand, rules)
    return Settlement("lose", 0, compared=True)


def _tie(hand: Hand, rules: Rules) -> Settlement:
    """R15: the stake stays in place, goes back, or is lost."""
    if rules.tie == "carry":
        return Settlement("carried", 0, carried=hand.stake, compared=True)
    if rules.tie == "push":
        return Settlement("push", hand.stake, compared=True)
    return Settlement("lose", 0, compared=True)


def _beyond_first_stake(hand: Hand) -> int:
    """What a double or a split added to the box's first stake."""
    return hand.stake if hand.number else hand.stake - hand.first_stake


def _pay(stake: int, pays: str, rules: Rules) -> tuple[int, Rounded | None]:
    """The winnings on a stake at a ratio, in payable chips."""
    winnings, per_stake = _ratio(pays)
    return _to_chips(stake * winnings, per_stake, rules)


def _to_chips(amount: int, parts: int, rules: Rules) -> tuple[int, Rounded | None]:
    """R34: one of so many equal parts of an amount as it can be paid, and in whose favour it was rounded."""
    chips, rest = divmod(amount, parts * rules.smallest_chip)
    if not rest:
        return chips * rules.smallest_chip, None
    return (chips + (rules.rounding == "player")) * rules.smallest_chip, rules.rounding


@lru_cache(maxsize=64)
def _ratio(pays: str) -> tuple[int, int]:
    """`3:2` as the winnings, and the stake that they are paid on."""
    winnings, stake = pays.split(":")
    return int(winnings), int(stake)
