"""What comes from the boxes: answers to the offer of insurance, decisions, and word that a hand was paid."""

from __future__ import annotations

from msgspec.structs import replace

from tablectl.cards import Card, Rank
from tablectl.game.betting import may_decide
from tablectl.game.dealing import last_hand, unanswered
from tablectl.game.legality import refusal
from tablectl.game.round import Hand, change_hand, find, hands_of
from tablectl.game.settlement import natural
from tablectl.game.state import State
from tablectl.observations import Decision, Insurance, Paid

__all__ = ["decision", "decline_all", "insurance", "offer_missed", "paid"]


def insurance(state: State, answer: Insurance) -> None:
    """A box takes insurance or declines it (R17). A second answer while the offer lasts replaces the first."""
    hand = find(state.round, answer.box, 0) if state.round_open else None
    if state.phase != "insurance" or hand is None or hand.result is not None:
        if answer.amount:
            reason = "no_offer" if hand else "no_stake"
            state.alert("insurance.illegal", box=answer.box, amount=answer.amount, reason=reason)
        return
    half = hand.stake // 2
    wrong = _wrong_amount(state, answer, hand, half)
    if wrong:
        state.alert("insurance.illegal", hand=hand, cards=hand.cards, amount=answer.amount, limit=half, reason=wrong)
    else:
        state.round = change_hand(state.round, hand, replace(hand, insurance=answer.amount))


def _wrong_amount(state: State, answer: Insurance, hand: Hand, half: int) -> str | None:
    if answer.even_money and not natural(hand, state.rules):
        return "not_blackjack"
    exactly = answer.even_money or (state.rules.insurance_max == "exactly_half" and answer.amount > 0)
    if exactly and answer.amount != half:
        return "exactly_half"
    return "above_half" if answer.amount > half else None


def decision(state: State, made: Decision) -> None:
    """A hand says what it wants. What the rules forbid is refused, and the hand still acts."""
    if state.phase == "insurance" and (waiting := unanswered(state.round)) and offer_missed(state, waiting, waiting.cards):
        return
    acting = state.round.acting if state.phase == "players" else None
    hand = acting if acting and _names(made, acting) else last_hand(state.round, made.box, made.hand)
    if acting is None or hand is not acting:
        if made.action != "stand" or hand is None or hand.ended is None:
            cards = hand.cards if hand else ()
            state.alert("action.out_of_turn", hand=hand, box=made.box, cards=cards, action=made.action)
        return
    if acting.owed == made.action:
        return  # the same key pressed twice before its card came
    if not may_decide(made.by, made.box, state.stakes.laid, state.seats, state.rules):
        state.alert("action.not_authorised", hand=acting, cards=acting.cards, action=made.action, by=made.by)
        return
    if acting.owed == "double":
        state.alert("action.out_of_turn", hand=acting, cards=acting.cards, action=made.action)
        return
    no = refusal(acting, made.action, state.round, state.rules)
    if no:
        code = f"action.illegal_{made.action}"
        state.alert(code, no.operands, hand=acting, cards=acting.cards, rule=no.rule)
    else:
        _carry_out(state, acting, made)


def offer_missed(state: State, waiting: Hand, cards: tuple[Card, ...]) -> bool:
    """R18: the game goes on before a box was offered insurance. True where that stops it; else nobody is insured."""
    alert = state.alert("insurance.not_offered", hand=waiting, cards=cards)
    if alert is not None and alert in state.blockers:
        return True
    decline_all(state)
    state.go_on()
    return False


def decline_all(state: State) -> None:
    """Every box that has not answered the offer of insurance has none."""
    for hand in state.round.hands:
        if hand.number == 0 and hand.insurance is None and hand.result is None:
            state.round = change_hand(state.round, hand, replace(hand, insurance=0))


def _names(made: Decision, acting: Hand) -> bool:
    return made.box == acting.box and made.hand in (None, acting.number)


def _carry_out(state: State, hand: Hand, made: Decision) -> None:
    if made.action == "hit":
        state.round = change_hand(state.round, hand, replace(hand, owed="hit"))
    elif made.action == "stand":
        state.end_hand(hand, "stood")
    elif made.action == "surrender":
        state.end_hand(hand, "surrendered")
    elif made.action == "double":
        state.round = change_hand(state.round, hand, replace(hand, stake=hand.stake + hand.first_stake, owed="double"))
    else:
        state.round = change_hand(state.round, *_split(state, hand))


def _split(state: State, hand: Hand) -> tuple[Hand, Hand, Hand]:
    """R29, R35: two hands of one card each and an equal stake; the new one takes the box's next free number."""
    number = len(hands_of(state.round, hand.box))
    together = state.rules.split_deal == "one_to_each"
    kept = replace(hand, cards=hand.cards[:1], split=True, owed="split")
    new = Hand(
        hand.box,
        number,
        hand.first_stake,
        hand.first_stake,
        cards=hand.cards[1:],
        split=True,
        owed="split" if together else None,
    )
    return hand, kept, new


def paid(state: State, laid_out: Paid) -> None:
    """A hand's winnings were laid out. R12: a blackjack that is paid at once is paid before another box plays."""
    hand = find(state.round, laid_out.box, laid_out.hand)
    if hand is None or hand.result != "blackjack" or hand.box in state.paid_late:
        return
    state.paid_late = (*state.paid_late, hand.box)
    shown = state.round.dealer[0].rank if state.round.dealer else None
    if state.rules.blackjack_paid == "at_once_unless_ace" and shown is not Rank.ACE and _another_box_played(state, hand):
        state.alert("pay.blackjack_late", hand=hand, cards=hand.cards)


def _another_box_played(state: State, blackjack: Hand) -> bool:
    """Whether any other box has decided or drawn since."""
    others = (hand for hand in state.round.hands if hand.box != blackjack.box)
    return any(
        hand.owed or len(hand.cards) > 2 or hand.split or hand.ended in ("stood", "surrendered", "doubled") for hand in others
    )
