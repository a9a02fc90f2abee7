"""Who gets the next card, and what a card means that went somewhere else.

European dealing: one card face up to each box in order and then one to the dealer; a second card to each box and none to the
dealer; the dealer draws when every box has finished, and only as many cards as some stake still depends on (R33).

`due_place` says where the next card goes. `route` holds a card's real place against it: the card may be fine, may say that
hands stand ("a card for box 4 while box 3 acts: 3 stands, if it may"), or is an irregularity, named here.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tablectl.cards import Rank
from tablectl.game.hand import total
from tablectl.game.legality import may_stand
from tablectl.game.round import Hand, Round, find, hands_of
from tablectl.game.settlement import dealer_blackjack, natural
from tablectl.houses.rules import Rules
from tablectl.notices import PhaseName
from tablectl.places import BoxPlace, Place

__all__ = ["Route", "dealer_due", "due_hand", "due_place", "route"]

Spot = Hand | Literal["dealer"]
_ACE = Rank.ACE


class Route(msgspec.Struct, frozen=True, gc=False):
    """Where a card came to lie and what follows: the hands that stand by it, or the code of what is wrong.

    `blamed` is the hand an irregularity is about (the one passed over, the one that got a card too many).
    """

    to: Place
    stands: tuple[Hand, ...] = ()
    code: str | None = None
    blamed: Hand | None = None


def due_hand(phase: PhaseName, round_: Round) -> Hand | None:
    """The hand that gets the next card, None when none does."""
    if phase in ("first_cards", "second_cards"):
        wanted = 1 if phase == "first_cards" else 2
        for hand in round_.hands:
            if len(hand.cards) < wanted and hand.ended is None:
                return hand
        return None
    if phase != "players":
        return None
    acting = round_.acting
    if acting is None or not acting.split:
        return acting
    # A split that deals one card to each hand at once (R29) is served before the hand decides.
    for hand in hands_of(round_, acting.box):
        if hand.owed == "split" and hand.ended is None:
            return hand
    return acting


def due_place(phase: PhaseName, round_: Round, rules: Rules) -> Place | None:
    """Where the next card goes, or None when no card is due. Burned cards are the shoe's affair."""
    hand = due_hand(phase, round_)
    if hand is not None:
        return BoxPlace(hand.box, hand.number)
    if phase == "first_cards" and not round_.dealer:
        return "dealer"
    if phase == "dealer" and dealer_due(round_, rules):
        return "dealer"
    return None


def dealer_due(round_: Round, rules: Rules) -> bool:
    """Whether the dealer must take a card now that every box has finished.

    To 17 while a hand is to be compared; one card when only an insurance bet or a waiting blackjack is open; none otherwise.
    """
    count, soft = total(round_.dealer)
    if count is None:
        return False  # an unread card: nobody can say, and the game is suspended
    to_17 = rules.dealer_draws_when_idle or any(_compared(hand, rules) for hand in round_.hands)
    if to_17:
        return count < 17 or (count == 17 and soft and rules.dealer_stands == "hard_17")
    return dealer_blackjack(round_) is None and any(_waits_for_blackjack(hand, rules) for hand in round_.hands)


def _compared(hand: Hand, rules: Rules) -> bool:
    """Whether this hand wins or loses by the dealer's total."""
    if hand.result is not None or hand.ended in ("bust", "surrendered", "void"):
        return False
    return not natural(hand, rules) or not rules.natural_beats_21


def _waits_for_blackjack(hand: Hand, rules: Rules) -> bool:
    """Whether this hand's money depends on the dealer's having a blackjack or not."""
    if hand.result is not None or hand.ended == "void":
        return False
    if hand.insurance:
        return True
    if hand.ended == "surrendered":
        return rules.surrender == "void_on_dealer_blackjack"
    return natural(hand, rules)


def route(phase: PhaseName, round_: Round, place: Place | None, rules: Rules) -> Route:
    """Hold a card's place against the one that is due. `place` is None when nothing saw where it went."""
    due = due_place(phase, round_, rules)
    if place is None or place == due:
        if due is None:
            return Route("dealer", code=None if round_.dealer_total is None else idle_code(round_))
        return Route(due)
    if place == "burn":
        return Route("burn", code="deal.out_of_order")
    if isinstance(place, BoxPlace):
        return _to_box(phase, round_, place, due)
    return _to_dealer(phase, round_, due)


def _to_box(phase: PhaseName, round_: Round, place: BoxPlace, due: Place | None) -> Route:
    hands = hands_of(round_, place.box)
    if not hands:
        return Route(BoxPlace(place.box, place.hand or 0), code="deal.box_without_stake")
    hand = _named(hands, place, due)
    if hand is None:
        return Route(place, code="deal.out_of_order", blamed=hands[-1])
    to = BoxPlace(hand.box, hand.number)
    if to == due:
        return Route(to)
    if hand.ended is not None:
        return Route(to, code="deal.extra_card", blamed=hand)
    if phase == "players":
        passed = _standing(round_, until=hand)
        return Route(to, stands=passed) if passed else Route(to, code="deal.out_of_order", blamed=hand)
    if due == "dealer":
        return Route(to, code="deal.dealer_card_missing", blamed=hand)
    skipped = due_hand(phase, round_)
    if skipped is not None and len(hand.cards) == len(skipped.cards):
        return Route(to, code="deal.box_skipped", blamed=skipped)
    return Route(to, code="deal.out_of_order", blamed=hand)


def _named(hands: tuple[Hand, ...], place: BoxPlace, due: Place | None) -> Hand | None:
    """The hand of the box that a place names; without a number, the one that is due a card or else plays."""
    if place.hand is not None:
        return next((hand for hand in hands if hand.number == place.hand), None)
    if isinstance(due, BoxPlace) and due.box == place.box:
        return next((hand for hand in hands if hand.number == due.hand), None)
    return next((hand for hand in hands if hand.ended is None), hands[-1])


def _to_dealer(phase: PhaseName, round_: Round, due: Place | None) -> Route:
    if phase == "players":
        passed = _standing(round_, until=None)
        return (
            Route("dealer", stands=passed)
            if passed
            else Route("dealer", code="deal.dealer_second_card_early", blamed=round_.acting)
        )
    if phase == "second_cards":
        return Route("dealer", code="deal.dealer_second_card_early", blamed=due_hand(phase, round_))
    if phase == "first_cards":
        return Route("dealer", code="deal.box_skipped", blamed=due_hand(phase, round_))
    return Route("dealer", code=idle_code(round_))


def idle_code(round_: Round) -> str:
    """What a dealer's card is that no stake asked for: drawn on 17 or more, or drawn for nothing."""
    count = round_.dealer_total
    return "dealer.drew_on_17" if count is not None and count >= 17 else "dealer.drew_idle"


def _standing(round_: Round, until: Hand | None) -> tuple[Hand, ...]:
    """The hands that stand when a card goes to `until` (None: to the dealer); empty when one of them may not."""
    passed: list[Hand] = []
    for hand in round_.hands:
        if hand is until:
            break
        if hand.ended is not None:
            continue
        if not may_stand(hand, round_):
            return ()
        passed.append(hand)
    return tuple(passed)


def needs_insurance(round_: Round, rules: Rules) -> bool:
    """Whether insurance must be offered (R17, R18): the dealer's first card is an ace."""
    return rules.insurance_offer and bool(round_.dealer) and round_.dealer[0].rank is _ACE


def unanswered(round_: Round) -> Hand | None:
    """The first box that has not answered the offer of insurance."""
    return next((hand for hand in round_.hands if hand.number == 0 and hand.insurance is None and hand.result is None), None)


def last_hand(round_: Round, box: int, number: int | None) -> Hand | None:
    """A hand of a box by number, or the box's last one."""
    if number is not None:
        return find(round_, box, number)
    hands = hands_of(round_, box)
    return hands[-1] if hands else None
