"""The words of prompts and alerts, in the table's language.

`ENGLISH` holds every text there is, by its key. The catalogues `locales/LANGUAGE/LC_MESSAGES/tablectl.po` translate them:
the key is the context (`msgctxt`), the English the `msgid`. Each text is filled in from the notice's own box, hand, cards and
operands, so a text can say no more than the notice does. An operand that is itself a word (a place, an action, a reason) comes
as a token such as `box 3.1`, `hit`, `no_offer`, and is translated; a word that is no known token is said as it is.

What a text says goes into the ledger, and the ledger must replay to the same bytes for years. Numbers and money are therefore
written by the catalogue's own marks (`number.*`, `money.*`), not by a library's locale data, which changes with its releases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from tablectl.errors import ConfigError
from tablectl.notices import Operand, PromptCode
from tablectl.resources import data_folder

__all__ = ["ENGLISH", "Counted", "Texts", "languages"]


class Counted(NamedTuple):
    """A text that speaks a number, so that a language has a form of it for each of its plurals: operand `by` is that number."""

    one: str
    other: str
    by: str = "count"


ENGLISH: dict[str, str | Counted] = {
    # What the dealer is to do now
    "prompt.place_bets": "Place your bets",
    "prompt.deal_to_box": "Card to box {box}{which}",
    "prompt.deal_to_dealer": "Card to the dealer",
    "prompt.burn": Counted("Burn {count} card", "Burn {count} cards"),
    "prompt.offer_insurance": "Insurance, box {box}: {terms} {amount}?",
    "prompt.ask_box": "Box {box}{which}, {total}: {actions}",
    "prompt.dealer_must_draw": "Dealer has {total}: draw",
    "prompt.dealer_must_stand": "Dealer has {total}: stand",
    "prompt.pay": "Pay box {box}{which}: {amount}",
    "prompt.take": "Take box {box}{which}: {amount}",
    "prompt.push": "Give back to box {box}{which}: {amount}",
    "prompt.carry": "Box {box}{which}: {amount} stays in place",
    "prompt.collect_hand": "Box {box}{which} is bust with {total}: collect",
    "prompt.call_supervisor": "Stop: call the supervisor. {text}",
    "prompt.shuffle": "Shuffle",
    "prompt.waiting_shoe": "Wait for the shoe",
    # What went wrong
    "alert.shoe.burn_omitted": Counted(
        "A card was dealt with {count} card still to burn", "A card was dealt with {count} cards still to burn"
    ),
    "alert.shoe.card_unread": "A card went {place} unread",
    "alert.shoe.impossible_card": Counted(
        "{cards} came {count} time; packs in the shoe: {decks}", "{cards} came {count} times; packs in the shoe: {decks}"
    ),
    "alert.shoe.foreign_card": "A card that is not of this shoe: {text}",
    "alert.shoe.missing_cards": Counted(
        "{count} card is missing from the shoe: {cards}", "{count} cards are missing from the shoe: {cards}"
    ),
    "alert.shoe.unshuffled": "The shoe does not look shuffled: test {test}, p = {p}",
    "alert.shoe.books_unknown": "The shoe was in use before: its books are off until the next shuffle",
    "alert.shoe.not_cut": "The shoe was loaded without a player's cut",
    "alert.shoe.past_cut_card": "A new round starts after the cut card",
    "alert.shoe.exhausted": "The shoe is empty and the round is not finished",
    "alert.shoe.pulled_back": "A card was pulled back into the shoe: {text}",
    "alert.shoe.double_draw": "Two cards within {ms} ms, the least is {least} ms",
    "alert.shoe.fault": "The shoe reports: {text}",
    "alert.deal.too_few_boxes": Counted(
        "The deal starts with {count} box staked, it needs at least {least}",
        "The deal starts with {count} boxes staked, it needs at least {least}",
    ),
    "alert.deal.box_skipped": "Box {box}{which} was passed over: {cards} went {place}",
    "alert.deal.out_of_order": "{cards} went {place}, the next card was due {due}",
    "alert.deal.box_without_stake": "{cards} went to box {box}, which has no stake",
    "alert.deal.dealer_second_card_early": "The dealer took a second card while box {box}{which} is not finished",
    "alert.deal.dealer_card_missing": "Box {box}{which} got its second card before the dealer's first",
    "alert.deal.extra_card": "{cards} went to box {box}{which}, which has finished",
    "alert.deal.card_outside_round": "{cards} was drawn while no round is on",
    "alert.deal.while_suspended": "{cards} was drawn while a ruling is open",
    "alert.dealer.drew_on_17": "The dealer drew {cards} on {total}",
    "alert.dealer.stopped_short": "The dealer stopped at {total} while stakes are alive",
    "alert.dealer.drew_idle": "The dealer drew {cards} though no stake depends on it",
    "alert.action.illegal_double": "Box {box}{which} may not double {cards}: {rule}",
    "alert.action.illegal_split": "Box {box}{which} may not split {cards}: {rule}",
    "alert.action.illegal_surrender": "Box {box}{which} may not surrender {cards}: {rule}",
    "alert.action.illegal_hit": "Box {box}{which} may not draw to {cards}: {rule}",
    "alert.action.illegal_stand": "Box {box}{which} may not stand on {cards}: {rule}",
    "alert.action.out_of_turn.refused": "The ruling “{action}” by {by} is refused: {refused}",
    "alert.action.not_authorised.refused": "“{action}” by {by} does not count: {refused}",
    "alert.action.out_of_turn": "Box {box}{which} does not act now",
    "alert.action.not_authorised": "{by} has no authority over box {box}",
    "alert.insurance.not_offered": "Box {box} was not offered insurance",
    "alert.insurance.illegal": "Box {box} may not insure {amount}: {reason}",
    "alert.bet.below_min": "Box {box} has {amount}, the minimum is {limit}: no cards",
    "alert.bet.above_max": "Box {box} has {amount}, the maximum is {limit}",
    "alert.bet.late": "Box {box}: the betting is closed ({amount})",
    "alert.bet.not_chips": "Box {box}: only chips are a stake, not {kind} ({amount})",
    "alert.bet.carried_removed": "Box {box}: {amount} lies there, {carried} had to stay",
    "alert.pay.blackjack_late": "The blackjack on box {box}{which} was not paid before the next box played",
    "alert.felt.identity_mismatch": "A card went {place}: the shoe read {shoe}, the camera reads {camera}",
    "alert.felt.card_missing": "{cards} went {due} and does not lie on the felt",
    "alert.felt.card_appeared": "{cards} came {place} without being drawn",
    "alert.felt.card_moved": "{cards} went {due} and was then moved {place}",
    "alert.felt.card_swapped": "{was} went {due} and was then exchanged for {camera}",
    "alert.felt.not_collected": "Box {box}{which} is bust and its cards still lie there: {cards}",
    "alert.felt.camera_moved": "The camera or the felt was moved ({why}): the shoe alone counts",
    "alert.felt.camera_lost": "The camera sees nothing ({why}): the shoe alone counts",
    "alert.link.lost": "{device}: connection lost ({why})",
    "alert.link.corrupt": "{device}: what it sends cannot be read ({why})",
    "alert.link.clock": Counted("The clock jumped by {seconds} second", "The clock jumped by {seconds} seconds", "seconds"),
    "alert.rules.layout_mismatch": "{key}: the table has {printed}, the house rules say {ruled}",
    "remedy.call_supervisor": "Call the supervisor",
    # Words that come in operands
    "which": ", hand {hand}",
    "to_box": "to box {box}{which}",
    "place.dealer": "to the dealer",
    "place.burn": "to the burned cards",
    "place.unseen": "to a place that nobody saw",
    "place.nobody": "to nobody",
    "action.hit": "hit",
    "action.stand": "stand",
    "action.double": "double",
    "action.split": "split",
    "action.surrender": "surrender",
    "action.accept": "stands as it happened",
    "action.burn": "burn the card",
    "action.move": "move the card",
    "action.void_hand": "void the hand",
    "action.void_round": "void the round",
    "action.correct": "correct the card",
    "action.ack": "acknowledged",
    "terms.exactly": "exactly",
    "terms.up_to": "up to",
    "rule.R19": "R19, not with these cards",
    "rule.R21": "R21, not on a soft total",
    "rule.R22": "R22, not a pair",
    "rule.R23": "R23, no more hands",
    "rule.R24": "R24, no more hands of aces",
    "rule.R25": "R25, one card to a split ace",
    "rule.R28": "R28, not after a split",
    "rule.R29": "R29, the second card comes first",
    "rule.R30": "R30, no surrender here",
    "reason.no_offer": "no insurance is offered",
    "reason.no_stake": "the box has no stake",
    "reason.not_blackjack": "even money is for a blackjack",
    "reason.exactly_half": "it must be exactly half the stake",
    "reason.above_half": "it is more than half the stake",
    "refused.not_a_supervisor": "this person is not on the list of supervisors",
    "refused.nothing_open": "nothing waits for a ruling",
    "refused.no_such_hand": "there is no such hand",
    "refused.settled": "it is settled already",
    "refused.no_card_waits": "no card waits",
    "refused.no_stake": "the box has no stake",
    "refused.unknown_card": "the card is unknown",
    "refused.no_such_draw": "no card was drawn under that number",
    "phase.closed": "table closed",
    "phase.shuffling": "shuffling",
    "phase.burning": "cards to burn",
    "phase.betting": "betting",
    "phase.first_cards": "first cards",
    "phase.second_cards": "second cards",
    "phase.insurance": "insurance",
    "phase.players": "players",
    "phase.dealer": "dealer",
    "phase.settling": "payment",
    "phase.suspended": "game stopped",
    "kind.chips": "chips",
    "kind.cash": "cash",
    "kind.word": "a word",
    "kind.carried": "a stake that stayed",
    "device.shoe": "Shoe",
    "device.pad": "Dealer's pad",
    "device.camera": "Camera",
    "why.no_reason": "no reason given",
    "key.decks": "Packs",
    "key.boxes": "Boxes",
    "key.min_boxes": "Fewest boxes staked",
    "key.burn_cards": "Cards to burn",
    "key.dealer_stands": "Dealer stands on",
    "key.blackjack_pays": "Blackjack pays",
    "key.insurance_pays": "Insurance pays",
    "value.all_17": "every 17",
    "value.hard_17": "hard 17 only",
    "value.true": "yes",
    "value.false": "no",
    # How numbers are written
    "number.point": ".",
    "number.group": ",",
    "number.minus": "-",
    "money.symbol": "{symbol}{amount}",
    "money.code": "{code}\N{NO-BREAK SPACE}{amount}",
    "list.comma": ", ",
}

_UNKNOWN = "?"
_MANY = 10
"""What is counted where the number is not known: every language says ten as it says an unknown many."""

_SYMBOLS = {"EUR": "€"}
_AMOUNTS = frozenset({"amount", "limit", "carried", "returned"})
_BOX = re.compile(r"box (?P<box>[1-9])(?:\.(?P<hand>[0-9]{1,2}))?", re.ASCII)
_TOKENS = {
    "place": "place",
    "due": "place",
    "action": "action",
    "actions": "action",
    "terms": "terms",
    "rule": "rule",
    "reason": "reason",
    "refused": "refused",
    "phase": "phase",
    "kind": "kind",
    "device": "device",
    "why": "why",
    "key": "key",
    "printed": "value",
    "ruled": "value",
}
"""Operand to the group of tokens that it is one of."""


def languages() -> tuple[str, ...]:
    """The languages that there are texts in: English, and every folder of `locales` that has a catalogue."""
    return ("en", *sorted(path.parents[1].name for path in data_folder("locales").glob("*/LC_MESSAGES/tablectl.po")))


class Texts:
    """All that is said in one language. Made by `Texts.of`; the same operands give the same bytes on every machine."""

    def __init__(self, language: str, catalogue: NullTranslations) -> None:
        self.language = language
        self._catalogue = catalogue
        self._said = {key: catalogue.pgettext(key, text) for key, text in ENGLISH.items() if isinstance(text, str)}

    @staticmethod
    def of(language: str) -> Texts:
        """The texts of a language: `en`, `es`, `fr`, `lt`. They are read once.

        Raises `ConfigError` where there are none, or where the catalogue cannot be read.
        """
        return _of(language)

    def prompt(self, code: PromptCode, operands: Mapping[str, Operand], box: int | None = None, hand: int | None = None) -> str:
        """The dealer's words for a prompt.

        Raises `KeyError` for an operand that the text needs and the notice has not: that is the program's fault.
        """
        return self._fill(f"prompt.{code}", operands, box, hand)

    def alert(
        self, code: str, operands: Mapping[str, Operand], *, box: int | None, hand: int | None, cards: str, rule: str | None
    ) -> str:
        """One sentence that says what happened. `cards` are those of the notice; an operand of that name is not said.

        With the operand `refused` it is a ruling or an acknowledgement that was refused, and the sentence says why.

        Raises `KeyError` for a code that has no text, and for an operand that is missing.
        """
        key = f"alert.{code}.refused" if "refused" in operands else f"alert.{code}"
        return self._fill(key, operands, box, hand, cards=cards or _UNKNOWN, rule=self.word("rule", rule))

    def call_supervisor(self) -> str:
        """The remedy where the house prescribes none."""
        return self._said["remedy.call_supervisor"]

    def money(self, amount: int, currency: str | None = None) -> str:
        """An amount in hundredths of the currency as people write it: 123450 is `1,234.50`, with `EUR` it is `€1,234.50`."""
        said = self._said
        whole, hundredths = divmod(abs(amount), 100)
        text = f"{whole:,}".replace(",", said["number.group"]) + f"{said['number.point']}{hundredths:02d}"
        if currency in _SYMBOLS:
            text = said["money.symbol"].format(symbol=_SYMBOLS[currency], amount=text)
        elif currency is not None:
            text = said["money.code"].format(code=currency, amount=text)
        return f"{said['number.minus']}{text}" if amount < 0 else text

    def word(self, operand: str, value: Operand) -> str:
        """What an operand says: money where it is an amount, a translated word where it is a token, else the value as it is."""
        if value is None:
            return _UNKNOWN
        if isinstance(value, tuple):
            return self._said["list.comma"].join(self.word(operand, item) for item in value)
        if isinstance(value, bool):
            return self._said["value.true" if value else "value.false"]
        if isinstance(value, int):
            return self.money(value) if operand in _AMOUNTS else str(value)
        tokens = _TOKENS.get(operand)
        if tokens == "place" and (box := _BOX.fullmatch(value)):
            return self._said["to_box"].format(box=box["box"], which=self._which(int(box["hand"] or 0)))
        key = f"{tokens}.{value.lower() if tokens == 'value' else value}"
        return self._said.get(key, value)

    def _fill(self, key: str, operands: Mapping[str, Operand], box: int | None, hand: int | None, **own: str) -> str:
        words = {name: self.word(name, value) for name, value in operands.items()}
        words |= own | {"box": _UNKNOWN if box is None else str(box), "which": self._which(hand)}
        return self._template(key, operands).format_map(words)

    def _which(self, hand: int | None) -> str:
        """The hand, where it is not the box's first."""
        return self._said["which"].format(hand=hand) if hand else ""

    def _template(self, key: str, operands: Mapping[str, Operand]) -> str:
        text = ENGLISH[key]
        if isinstance(text, str):
            return self._said[key]
        number = operands[text.by]
        return self._catalogue.npgettext(key, text.one, text.other, abs(number) if isinstance(number, int) else _MANY)


@cache
def _of(language: str) -> Texts:
    known = languages()
    if language not in known:
        raise ConfigError(f"there are no texts in {language!r}; there are {', '.join(known)}", field="language")
    if language == "en":
        return Texts(language, NullTranslations())
    return Texts(language, _catalogue(data_folder("locales") / language / "LC_MESSAGES" / "tablectl.po"))


def _catalogue(path: Path) -> GNUTranslations:
    """Read a catalogue and compile it in memory: the repository holds no compiled file that could be out of step."""
    # Loaded only here: Babel takes a tenth of a second, and a table that speaks English never needs it.
    from babel.messages import mofile, pofile

    compiled = BytesIO()
    try:
        with path.open("rb") as file:
            mofile.write_mo(compiled, pofile.read_po(file, abort_invalid=True))
        compiled.seek(0)
        return GNUTranslations(compiled)
    except pofile.PoFileError as error:
        raise ConfigError(f"no catalogue of texts: {error}", where=str(path), line=error.lineno + 1) from None
    except (OSError, ValueError, LookupError) as error:
        raise ConfigError(f"no catalogue of texts: {error}", where=str(path)) from None
