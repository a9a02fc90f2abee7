"""What the dealer is to do now: one prompt for each state of the game, and one for each hand that was settled."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tablectl.cards import unread
from tablectl.game.dealing import due_hand, unanswered
from tablectl.game.hand import total
from tablectl.game.legality import allowed, awaits_card
from tablectl.game.round import Hand, Round
from tablectl.game.settlement import Settlement
from tablectl.houses.rules import Rules
from tablectl.notices import Alert, Operand, PhaseName, PromptCode
from tablectl.texts import Texts

__all__ = ["Said", "call_supervisor", "collect", "current", "settled", "wait_for_correction", "words"]


class Said(NamedTuple):
    """A prompt before it is numbered; `operands` as pairs, so that equal prompts are equal values."""

    code: PromptCode
    box: int | None = None
    hand: int | None = None
    operands: tuple[tuple[str, Operand], ...] = ()


DEAL_TO_DEALER, WAITING_SHOE = Said("deal_to_dealer"), Said("waiting_shoe")
ELSEWHERE: dict[PhaseName, Said | None] = {
    "betting": Said("place_bets"),
    "shuffling": Said("shuffle"),
    "closed": None,
    "settling": None,
    "suspended": None,
}
"""The prompts that depend on nothing but the phase."""


@lru_cache(maxsize=1 << 11)
def words(said: Said, texts: Texts) -> tuple[dict[str, Operand], str]:
    """A prompt's operands and its text. The dict is shared: nobody changes it."""
    operands = dict(said.operands)
    return operands, texts.prompt(said.code, operands, said.box, said.hand)


def current(phase: PhaseName, round_: Round, rules: Rules, *, burn_left: int, shoe_up: bool) -> Said | None:
    """What is to be done now in a game that is not suspended; None at a closed table."""
    if phase in ELSEWHERE:
        return ELSEWHERE[phase]
    if phase == "insurance":
        return _offer(unanswered(round_), rules)
    if not shoe_up:
        return WAITING_SHOE
    if phase == "burning":
        return Said("burn", operands=(("count", burn_left),))
    if phase == "dealer":
        count, soft = total(round_.dealer)
        return Said("dealer_must_draw", operands=(("total", count), ("soft", soft)))
    hand = due_hand(phase, round_)
    if hand is None:
        return DEAL_TO_DEALER
    if phase == "players" and hand.owed is None and not awaits_card(hand, round_):
        return _ask(hand, round_, rules)
    return Said("deal_to_box", hand.box, hand.number)


def _ask(hand: Hand, round_: Round, rules: Rules) -> Said:
    count, soft = total(hand.cards)
    return Said(
        "ask_box",
        hand.box,
        hand.number,
        (("total", count), ("soft", soft), ("actions", allowed(hand, round_, rules))),
    )


def _offer(hand: Hand | None, rules: Rules) -> Said | None:
    if hand is None:
        return None
    terms = "exactly" if rules.insurance_max == "exactly_half" else "up_to"
    return Said("offer_insurance", hand.box, hand.number, (("amount", hand.stake // 2), ("terms", terms)))


def call_supervisor(alert: Alert) -> Said:
    """The game stands until a supervisor rules on this alert, be it by confirming the remedy that the house prescribes."""
    remedy = alert.remedy
    prescribed = () if remedy.do == "call_supervisor" else (("do", remedy.do), ("remedy", remedy.text))
    operands = (("alert", alert.id), ("code", alert.code), ("text", alert.text), *prescribed)
    return Said("call_supervisor", alert.box, alert.hand, operands)


def wait_for_correction(round_: Round, texts: Texts) -> Said:
    """The round cannot be settled: a card of it is unread, and a supervisor has to say what it is, or to void its hand."""
    hand = next((hand for hand in round_.hands if hand.result is None and unread(hand.cards)), None)
    place = f"box {hand.box}.{hand.number}" if hand and hand.number else f"box {hand.box}" if hand else "dealer"
    text = texts.alert("shoe.card_unread", {"place": place}, box=None, hand=None, cards="??", rule=None)
    box, number = (hand.box, hand.number) if hand else (None, None)
    return Said("call_supervisor", box, number, (("alert", None), ("code", "shoe.card_unread"), ("text", text)))


def collect(hand: Hand) -> Said:
    """A hand is bust: its cards and its stake are taken at once."""
    return Said("collect_hand", hand.box, hand.number, (("total", total(hand.cards).value),))


def dealer_stands(round_: Round) -> Said:
    """The dealer has drawn and must draw no more."""
    return Said("dealer_must_stand", operands=(("total", round_.dealer_total),))


def settled(hand: Hand, settlement: Settlement) -> list[Said]:
    """What to do with the chips of a hand that was settled: the insurance first, then the stake.

    A bust hand's stake went with its cards, so nothing is said of it.
    """
    said: list[Said] = []
    insured = hand.insurance or 0
    if insured and settlement.result != "void":
        won = settlement.insurance
        said.append(_chips("pay", hand, won - insured, won) if won else _chips("take", hand, insured, 0))
        insured = 0
    laid, back = hand.stake + insured, settlement.returned - settlement.insurance
    if settlement.carried:
        said.append(Said("carry", hand.box, hand.number, (("amount", settlement.carried),)))
    elif back > laid:
        said.append(_chips("pay", hand, back - laid, back))
    elif back == laid:
        said.append(Said("push", hand.box, hand.number, (("amount", back),)))
    elif settlement.result != "bust":
        said.append(_chips("take", hand, laid - back, back))
    return said


def _chips(code: PromptCode, hand: Hand, amount: int, returned: int) -> Said:
    return Said(code, hand.box, hand.number, (("amount", amount), ("returned", returned)))
