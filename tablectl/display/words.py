"""The words of the pages themselves, in their reader's language: headings, buttons, what a result or a severity is called.

They stand apart from `tablectl.texts`: what a table says is part of its ledger and must stay as it is, a heading of a page need
not. `ENGLISH` holds each by its key, and the catalogues `locales/LANGUAGE/LC_MESSAGES/display.po` translate them (`msgctxt` is
the key). What stands in braces is filled in, here or in the browser.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import get_args

import msgspec
from babel.messages import pofile

from tablectl.errors import ConfigError
from tablectl.notices import PhaseName
from tablectl.resources import data_folder
from tablectl.texts import Texts, languages

__all__ = ["ENGLISH", "Words", "best", "catalogue"]

ENGLISH: dict[str, str] = {
    # Headings
    "title.tables": "Tables",
    "title.pit": "Pit {pit}",
    "title.table": "Table {table}",
    "title.dealer": "Dealer, table {table}",
    "title.surveillance": "Surveillance",
    "title.round": "Round {round}, table {table}",
    "title.sign_in": "Sign in",
    "title.nothing": "There is no such page",
    "title.refused": "This cannot be done here",
    # How old it is
    "grey.offline": "The table is not connected",
    "grey.silent": "Nothing heard from the table",
    "grey.broker": "The tables cannot be heard: no connection to the broker",
    "grey.server": "No connection to the display server",
    "grey.unknown": "Nothing is known of this table yet",
    "grey.age": "This is how it stood {age} ago",
    "grey.no_order": "Do not act on what stands here",
    "age.seconds": "{count} s",
    "age.minutes": "{count} min",
    "age.hours": "{count} h",
    # The table
    "word.table": "Table",
    "word.round": "Round",
    "word.dealer": "Dealer",
    "word.box": "Box {box}",
    "word.hand": "Box {box}, hand {hand}",
    "word.stake": "Stake",
    "word.carried": "stays from the last round",
    "word.insurance": "Insurance",
    "word.total": "Total",
    "word.soft": "soft",
    "word.next": "Next: {what}",
    "word.shoe": "Shoe",
    "word.drawn": "{count} drawn",
    "word.remaining": "{count} left in the shoe",
    "word.past_cut": "the cut card is out",
    "word.last_rounds": "Last rounds",
    "word.staked": "Staked",
    "word.returned": "Returned",
    "word.held": "Waits for a ruling",
    "word.unread": "a card that was not read",
    "word.burn": "Burned",
    "word.devices_down": "Down",
    "word.four_colours": "Four-colour cards",
    "word.light": "Light",
    "word.acting": "to act",
    # What is open
    "word.alerts": "Open alerts",
    "word.no_alerts": "No open alert",
    "word.stopped": "The game is stopped",
    "word.until_ruled": "Until the supervisor has ruled",
    "word.ack": "Acknowledge",
    "word.acked": "Acknowledged by {name}",
    "word.refused": "Not done: {reason}",
    "word.sign_in": "Sign in",
    "word.sign_out": "Sign out",
    "word.signed_in": "Signed in: {name}",
    "word.token": "Token",
    "word.wrong_token": "This token is not known",
    "word.pace": "{count} rounds an hour",
    "word.aim": "aim {count}",
    "word.no_tables": "No table was heard of yet",
    "word.all_tables": "All tables",
    "severity.critical": "Critical",
    "severity.warning": "Warning",
    "severity.info": "Information",
    "favours.house": "Favours the house",
    "favours.player": "Favours the player",
    "favours.none": "Favours nobody",
    # A device that no table speaks of by name
    "device.record": "Recording",
    # How a hand ended
    "result.blackjack": "blackjack",
    "result.win": "wins",
    "result.lose": "loses",
    "result.bust": "bust",
    "result.push": "tie",
    "result.carried": "tie, stays",
    "result.surrendered": "surrendered",
    "result.void": "void",
    # Why an acknowledgement was not taken
    "refused.sign_in": "nobody is signed in",
    "refused.not_a_member": "this person may not acknowledge",
    "refused.no_answer": "the table does not answer",
    "refused.no_such_alert": "the alert is not open any more",
    "refused.needs_ruling": "the game waits for a ruling on it",
    "refused.not_allowed": "this person may not do this at this table",
    "refused.unknown_person": "the table does not know this person",
    "refused.unsigned": "the table wants a signature or a certificate",
    "refused.busy": "the table is busy; try again",
    "refused.read_only": "the table plays a recording",
    "refused.expired": "the clocks of the table and of this server differ",
    "refused.bad_signature": "the table does not believe the signature",
    "refused.other": "the table refused it",
    # What a ruling does
    "ruling.accept": "stands as it happened",
    "ruling.burn": "card burned",
    "ruling.move": "card moved",
    "ruling.void_hand": "hand void",
    "ruling.void_round": "round void",
    "ruling.correct": "card corrected",
    # Surveillance
    "word.time": "Time (UTC)",
    "word.what": "What happened",
    "word.cards": "Cards",
    "word.severity": "Severity",
    "word.state": "State",
    "word.open": "open",
    "word.ended": "ended",
    "word.all": "all",
    "word.only_open": "Only open ones",
    "word.from": "From",
    "word.to": "To",
    "word.find_round": "Find a round: its number, or a time (UTC)",
    "word.find": "Find",
    "word.not_found": "There is no such round on record",
    "word.search": "Words",
    "word.show_round": "Round {round}",
    "word.entries": "{count} alerts and rulings",
    "word.ruling": "Ruling",
    "word.ruled_on": "ruled on",
    "word.ruled_as_heard": "who ruled, and how, stands in the ledger",
    "word.alert": "Alert {number}",
    "word.filters": "Filters",
    "word.print": "Print",
    "word.download_proof": "Proof (JSON)",
    "word.proof": "Ledger proof",
    "word.no_proof": "Entries {first} to {last} of ledger {ledger}; no signed head covers them yet",
    "word.damaged": "Ledger {ledger} is not what was written",
    "word.proof_of": "Entries {first} to {last} of ledger {ledger}, under the signed head of {size} entries",
    "word.heard_only": (
        "As heard over the network. Stakes, decisions and the proof stand in the table's ledger, which is not given here."
    ),
    "word.place": "Place",
    "word.amount": "Amount",
    "word.event": "Event",
    "word.outcomes": "Outcomes",
    "word.entry": "Entry",
    "event.card": "Card",
    "event.bet": "Stake",
    "event.insurance": "Insurance",
    "event.decision": "Decision",
    "event.ruling": "Ruling",
    "event.ack": "Acknowledged",
    "event.alert": "Alert",
    "event.outcome": "Outcome",
    "event.phase": "Phase",
    "event.round_closed": "Round over",
    "event.other": "Observed",
}
"""Every word there is on a page that no table says."""


class Words:
    """The words in one language. Made by `Words.of`."""

    def __init__(self, language: str, said: dict[str, str]) -> None:
        self.language = language
        self._said = said
        self.texts = Texts.of(language)

    @staticmethod
    def of(language: str) -> Words:
        """The words of a language, which are read once. Raises `ConfigError` where there are none, or the catalogue is broken."""
        return _of(language)

    def __call__(self, key: str, **filled: object) -> str:
        """A word by its key, filled in. A key that there is none of is said as it is: the pages show what they were told."""
        text = self._said.get(key, key.partition(".")[2] or key)
        return text.format_map({name: str(value) for name, value in filled.items()}) if filled else text

    @property
    def json(self) -> bytes:
        """All of them for a browser, the table's own words for phases and actions among them."""
        own = {f"phase.{phase}": self.texts.word("phase", phase) for phase in get_args(PhaseName)}
        own |= {f"device.{device}": self.texts.word("device", device) for device in ("shoe", "pad", "camera")}
        return msgspec.json.encode(self._said | own)


def best(accepted: str, *, otherwise: str = "en") -> str:
    """The language that a browser's `Accept-Language` likes best of ours."""
    wanted: list[tuple[float, str]] = []
    for part in accepted.split(",")[:20]:
        tag, _, quality = part.strip().partition(";q=")
        try:
            weight = float(quality or 1)
        except ValueError:
            continue
        wanted.append((-weight, tag.split("-")[0].lower()))
    known = languages()
    return next((tag for weight, tag in sorted(wanted, key=lambda one: one[0]) if tag in known and weight), otherwise)


def path_of(language: str) -> Path:
    """The catalogue of a language."""
    return data_folder("locales") / language / "LC_MESSAGES" / "display.po"


def catalogue(language: str) -> dict[str, str]:
    """The translations by key, as they are on file. Raises `ConfigError` when it cannot be read."""
    path = path_of(language)
    try:
        with path.open("rb") as file:
            found = pofile.read_po(file, abort_invalid=True)
    except pofile.PoFileError as error:
        raise ConfigError(f"no catalogue of words: {error}", where=str(path), line=error.lineno + 1) from None
    except (OSError, ValueError, LookupError) as error:
        raise ConfigError(f"no catalogue of words: {error}", where=str(path)) from None
    return {
        message.context: message.string
        for message in found
        if message.id and message.context and isinstance(message.string, str) and ENGLISH.get(message.context) == message.id
    }


@cache
def _of(language: str) -> Words:
    if language not in languages():
        raise ConfigError(f"there are no words in {language!r}; there are {', '.join(languages())}", field="language")
    translated = {} if language == "en" else {key: text for key, text in catalogue(language).items() if text}
    return Words(language, ENGLISH | translated)
