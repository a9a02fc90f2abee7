"""Message key to words: what the dealer's prompt and the pit's alert say.

Every text is filled in from the notice's own box, hand, cards and operands, so a text can say no more than the notice does.
"""

from __future__ import annotations

from collections.abc import Mapping

from tablectl.notices import Operand, PromptCode

__all__ = ["ALERTS", "CALL_SUPERVISOR", "PROMPTS", "alert_text", "money", "prompt_text"]

PROMPTS: dict[PromptCode, str] = {
    "place_bets": "Place your bets",
    "deal_to_box": "Card to box {box}{which}",
    "deal_to_dealer": "Card to the dealer",
    "burn": "Burn {count}",
    "offer_insurance": "Insurance, box {box}? {terms} {amount}",
    "ask_box": "Box {box}{which}, {total}: {choices}",
    "dealer_must_draw": "Dealer has {total}: draw",
    "dealer_must_stand": "Dealer has {total}: stand",
    "pay": "Pay box {box}{which}: {amount}",
    "take": "Take box {box}{which}: {amount}",
    "push": "Push, box {box}{which}: {amount} back",
    "carry": "Box {box}{which}: {amount} stays in place",
    "collect_hand": "Box {box}{which} is bust with {total}: collect",
    "call_supervisor": "Stop: call the supervisor. {text}",
    "shuffle": "Shuffle",
    "waiting_shoe": "Wait for the shoe",
}

ALERTS: dict[str, str] = {
    "shoe.burn_omitted": "A card was dealt with {count} still to burn",
    "shoe.card_unread": "A card passed unread, to {place}",
    "shoe.impossible_card": "{cards} came {count} times out of {decks} packs",
    "shoe.foreign_card": "A card that is not of this shoe: {text}",
    "shoe.books_unknown": "The shoe was in use before: its books are off until the next shuffle",
    "shoe.not_cut": "The shoe was loaded without a player's cut",
    "shoe.past_cut_card": "A new round starts after the cut card",
    "shoe.missing_cards": "The shoe is {count} cards short; not accounted for: {cards}",
    "shoe.unshuffled": "The cards do not come as from a shuffled shoe ({test}: {value}, limit {limit}, after {drawn})",
    "shoe.double_draw": "Two cards within {ms} ms, at least {least} is possible",
    "shoe.exhausted": "The shoe is empty and the round is not finished",
    "shoe.pulled_back": "A card was pulled back into the shoe: {text}",
    "shoe.fault": "The shoe reports: {text}",
    "deal.too_few_boxes": "The deal starts with {count} of at least {least} boxes",
    "deal.box_skipped": "Box {box} was passed over: {cards} went to {place}",
    "deal.out_of_order": "{cards} went to {place}, the next card was due to {due}",
    "deal.box_without_stake": "{cards} went to box {box}, which has no stake",
    "deal.dealer_second_card_early": "The dealer took a second card while box {box} is not finished",
    "deal.dealer_card_missing": "Box {box} got its second card before the dealer's first",
    "deal.extra_card": "{cards} went to box {box}, hand {hand}, which has finished",
    "deal.card_outside_round": "{cards} was drawn while no round is on",
    "deal.while_suspended": "{cards} was drawn while a ruling is open",
    "dealer.drew_on_17": "The dealer drew {cards} on {total}",
    "dealer.stopped_short": "The dealer stopped at {total} while stakes are alive",
    "dealer.drew_idle": "The dealer drew {cards} though no stake depends on it",
    "action.illegal_double": "Box {box}, hand {hand} may not double {cards}: {rule}",
    "action.illegal_split": "Box {box}, hand {hand} may not split {cards}: {rule}",
    "action.illegal_surrender": "Box {box}, hand {hand} may not surrender {cards}: {rule}",
    "action.illegal_hit": "Box {box}, hand {hand} may not draw to {cards}: {rule}",
    "action.illegal_stand": "Box {box}, hand {hand} may not stand on {cards}: {rule}",
    "action.out_of_turn": "Box {box} does not act now",
    "action.not_authorised": "{by} may not decide for box {box}",
    "insurance.not_offered": "Box {box} was not offered insurance",
    "insurance.illegal": "Box {box} may not insure {amount}: {reason}",
    "bet.below_min": "Box {box} has {amount}, the minimum is {limit}: no cards",
    "bet.above_max": "Box {box} has {amount}, the maximum is {limit}",
    "bet.late": "Box {box}: the betting is closed ({amount})",
    "bet.not_chips": "Box {box}: {kind} is no stake ({amount})",
    "bet.carried_removed": "Box {box}: {amount} lies there, {carried} had to stay",
    "pay.blackjack_late": "The blackjack on box {box} was not paid before the next box played",
    "link.lost": "{device} is gone: {why}",
    "link.corrupt": "{device} sent what cannot be read: {why}",
    "link.clock": "The clock was set back by {seconds} s",
    "rules.layout_mismatch": "{key}: the table has {printed}, the house rules say {ruled}",
}

CALL_SUPERVISOR = "Call the supervisor"


def money(amount: int) -> str:
    """An amount in the smallest unit as people write it: 2500 is `25.00`."""
    return f"{amount // 100}.{amount % 100:02d}"


def prompt_text(code: PromptCode, operands: Mapping[str, Operand], box: int | None, hand: int | None) -> str:
    """The dealer's words for a prompt."""
    words = _words(operands)
    which = f", hand {hand}" if hand else ""
    return PROMPTS[code].format_map({**words, "box": box, "which": which, "choices": words.get("actions", "")})


def alert_text(
    code: str, operands: Mapping[str, Operand], *, box: int | None, hand: int | None, cards: str, rule: str | None
) -> str:
    """One sentence that says what happened."""
    return ALERTS[code].format_map({"box": box, "hand": hand, "cards": cards, "rule": rule or "", **_words(operands)})


_AMOUNTS = frozenset({"amount", "limit", "carried"})


def _words(operands: Mapping[str, Operand]) -> dict[str, str]:
    return {name: _word(name, value) for name, value in operands.items()}


def _word(name: str, value: Operand) -> str:
    if value is None:
        return "?"
    if isinstance(value, tuple):
        return ", ".join(value)
    if name in _AMOUNTS and isinstance(value, int):
        return money(value)
    return str(value)
