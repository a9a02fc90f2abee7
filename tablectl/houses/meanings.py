"""What each rule of a house says, in a line of plain words: for `tablectl house show`, so that a casino sees what to confirm.

A key with a closed vocabulary has a line for each word; a key that counts has a template. A key without an entry is an error
that the tests find.
"""

from __future__ import annotations

from collections.abc import Mapping

from tablectl.houses.rules import ROWS, Rules

__all__ = ["meaning", "money", "rows_of"]

_WORDS: dict[str, Mapping[object, str]] = {
    "player_cut": {True: "a player cuts the cards before the shoe is loaded", False: "no player cuts the cards"},
    "back_betting": {
        "yes": "people behind may stake on a box; they never decide",
        "with_consent": "people behind may stake on a box if its player agrees; they never decide",
        "no": "only a box's holder stakes on it",
    },
    "box_authority": {
        "holder": "the holder of a box decides for it",
        "seated_player": "the player seated at the box decides; else the one seated longest at the table of those staking on it",
    },
    "cash_plays": {True: "cash counts as a stake, a word does not", False: "chips only: cash or a word is no stake"},
    "deal_order": {
        "left_to_right": "cards go from the dealer's left to right, the dealer last",
        "right_to_left": "cards go from the dealer's right to left, the dealer last",
    },
    "blackjack_paid": {
        "at_once_unless_ace": "a blackjack is paid at once, unless the dealer shows an ace",
        "after_dealer": "a blackjack is paid after the dealer's last card",
    },
    "blackjack_tie": {
        "lose": "a blackjack against the dealer's blackjack loses, unless insured",
        "push": "a blackjack against the dealer's blackjack gets its stake back",
    },
    "tie": {
        "carry": "at equal totals the stake stays in place for the next round",
        "push": "at equal totals the stake goes back",
        "lose": "at equal totals the stake is lost",
    },
    "natural_beats_21": {
        True: "a blackjack beats a 21 of three or more cards",
        False: "a blackjack and any other 21 are equal",
    },
    "insurance_max": {
        "exactly_half": "against an ace: insurance of exactly half the stake",
        "up_to_half": "against an ace: insurance of up to half the stake",
    },
    "insurance_offer": {
        True: "insurance is offered to every box before the first third card",
        False: "insurance is taken from who asks for it, and offered to nobody",
    },
    "double_on": {"any": "any first two cards may be doubled"},
    "double_cards": {1: "a doubled hand gets exactly one card"},
    "double_soft": {
        True: "soft hands count for doubling, an ace as 1: ace and 8 are 9",
        False: "only hard totals count for doubling",
    },
    "split_on": {
        "same_rank": "two cards of the same rank may be split: K K, not K Q",
        "same_value": "two cards of the same value may be split: K K, and K Q too",
    },
    "max_hands": {"unlimited": "a box may be split into any number of hands"},
    "max_hands_aces": {"unlimited": "aces may be split into any number of hands"},
    "split_aces_cards": {
        1: "a split ace gets one card and is finished",
        "unlimited": "a split ace plays on like any hand",
    },
    "blackjack_after_split": {
        True: "an ace and a ten-valued card after a split are a blackjack",
        False: "an ace and a ten-valued card after a split are 21, no blackjack",
    },
    "double_after_split": {True: "a split hand may be doubled", False: "a split hand may not be doubled"},
    "split_deal": {
        "play_out_first": "a split hand gets its second card when the hand before it is played out",
        "one_to_each": "both split hands get their second card at once",
    },
    "surrender": {
        "no": "no hand may be surrendered",
        "any_card": "the first two cards may be surrendered for half the stake, against any card",
        "not_against_ace": "the first two cards may be surrendered for half the stake, but not against an ace",
        "void_on_dealer_blackjack": "the first two cards may be surrendered for half the stake; the dealer's blackjack takes all",
    },
    "dealer_blackjack_takes": {
        "all": "the dealer's blackjack takes doubled and split stakes too",
        "first_stake": "the dealer's blackjack takes the first stake; what was added by doubling and splitting goes back",
    },
    "dealer_stands": {
        "all_17": "the dealer stands on every 17, a soft one too",
        "hard_17": "the dealer draws at a soft 17 and stands on a hard one",
    },
    "dealer_draws_when_idle": {
        True: "the dealer draws to 17 even when no stake depends on it",
        False: "the dealer draws only what some stake still depends on",
    },
    "rounding": {
        "house": "what the smallest chip cannot pay is rounded in the house's favour",
        "player": "what the smallest chip cannot pay is rounded in the player's favour",
    },
    "split_stake": {"equal": "a split hand's stake equals the first"},
    "double_stake": {"equal": "a double adds exactly the first stake"},
}

_AMOUNTS: dict[str, str] = {
    "decks": "packs of 52 cards in the shoe: {}",
    "boxes": "boxes on the table: {}",
    "min_boxes": "boxes that need a stake before the deal may start: {}",
    "burn_cards": "cards burned after each load: {}",
    "blackjack_pays": "a blackjack wins {}, winnings to stake",
    "insurance_pays": "insurance wins {} when the dealer has blackjack",
    "double_on": "the first two cards may be doubled at a total of {}",
    "max_hands": "hands that a box may reach by splitting: {}",
    "max_hands_aces": "hands that a box may reach by splitting aces: {}",
}


def meaning(key: str, value: object, currency: str) -> str:
    """What `key = value` under `[rules]` says, in words. Raises `KeyError` for a key or a word that no house has."""
    if key == "table_min":
        return f"a box with less than {money(value, currency)} gets no card"
    if key == "table_max":
        return "a box has no upper limit" if value == "none" else f"a box takes at most {money(value, currency)}"
    if key == "smallest_chip":
        return f"the smallest chip is {money(value, currency)}"
    words = _WORDS.get(key, {})
    if isinstance(value, str | bool | int) and value in words:
        return words[value]
    shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
    return _AMOUNTS[key].format(shown)


def money(value: object, currency: str) -> str:
    """An amount in the smallest unit, written out: `100` as `1.00 EUR`."""
    assert isinstance(value, int)
    return f"{value // 100}.{value % 100:02d} {currency}"


def rows_of(key: str) -> tuple[str, ...]:
    """The rows of the house rules that a key carries: `("R11", "R14")`."""
    assert key in Rules.__struct_fields__, key
    return tuple(row for row, keys in ROWS.items() if key in keys)
