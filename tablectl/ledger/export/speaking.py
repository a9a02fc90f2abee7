"""What an entry is in one sentence, for cues under a video, for syslog and for bookmarks.

Prompts and alerts have their own words in the ledger; in another language they are said anew from their operands. The rest is
said in the words below. Whatever could count what is left in the shoe is not said at all.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal, NamedTuple, get_args

from tablectl.errors import ConfigError
from tablectl.ledger.export.selecting import Selected
from tablectl.notices import Alert, Dealt, Outcome, PhaseChanged, Prompt, RoundClosed
from tablectl.observations import Ack, Link, Ruling, ShoeFault, ShoeLoaded, TableState
from tablectl.places import BoxPlace, Place
from tablectl.texts import Texts

__all__ = ["CUED", "TOLD", "WHAT", "Spoken", "What", "spoken"]

What = Literal[
    "prompt", "dealt", "outcome", "alert", "ruling", "ack", "round_closed", "phase", "link", "shoe_fault", "shoe_loaded", "table"
]
WHAT: Final[tuple[What, ...]] = get_args(What)
CUED: Final[frozenset[What]] = frozenset({"prompt", "dealt", "outcome", "alert", "ruling"})
"""What is shown under a video."""
TOLD: Final[frozenset[What]] = frozenset(WHAT) - {"prompt", "dealt", "phase"}
"""What a feed tells unless it is asked for other things: what happened, not each step of the deal."""


class Spoken(NamedTuple):
    """A sentence, what it is about, and the entry it says, read."""

    what: What
    text: str
    about: (
        Prompt | Dealt | Outcome | Alert | RoundClosed | PhaseChanged | Ruling | Ack | Link | ShoeFault | ShoeLoaded | TableState
    )


_ENGLISH: Final = {
    "box": "Box {box}{which}: {text}",
    "blackjack": "blackjack",
    "win": "wins",
    "lose": "loses",
    "bust": "bust",
    "push": "tie",
    "carried": "tie, stays",
    "surrendered": "surrendered",
    "void": "void",
    "ruling": "Ruling by {by}: {do}",
    "accept": "stands as it happened",
    "burn": "card burned",
    "move": "card moved",
    "void_hand": "hand void",
    "void_round": "round void",
    "correct": "card corrected",
    "ack": "Alert {alert} acknowledged by {by}",
    "round_closed": "Round {round} closed: staked {staked}, returned {returned}",
    "up": "{device}: connected",
    "down": "{device}: connection lost ({why})",
    "shoe_fault": "Shoe fault: {text}",
    "shoe_cleared": "Shoe fault cleared: {text}",
    "shoe_loaded": "Shoe loaded, packs: {decks}",
    "open": "Table opened",
    "closed": "Table closed",
}
_WORDS: Final[dict[str, dict[str, str]]] = {
    "en": _ENGLISH,
    "fr": {
        "box": "Case {box}{which} : {text}",
        "blackjack": "blackjack",
        "win": "gagne",
        "lose": "perd",
        "bust": "saute",
        "push": "égalité",
        "carried": "égalité, reste en jeu",
        "surrendered": "abandonne",
        "void": "annulée",
        "ruling": "Décision de {by} : {do}",
        "accept": "maintenu tel quel",
        "burn": "carte brûlée",
        "move": "carte déplacée",
        "void_hand": "main annulée",
        "void_round": "coup annulé",
        "correct": "carte corrigée",
        "ack": "Alerte {alert} vue par {by}",
        "round_closed": "Coup {round} terminé : misé {staked}, rendu {returned}",
        "up": "{device} : connexion établie",
        "down": "{device} : connexion perdue ({why})",
        "shoe_fault": "Défaut du sabot : {text}",
        "shoe_cleared": "Fin du défaut du sabot : {text}",
        "shoe_loaded": "Sabot chargé, jeux : {decks}",
        "open": "Table ouverte",
        "closed": "Table fermée",
    },
    "es": {
        "box": "Casilla {box}{which}: {text}",
        "blackjack": "blackjack",
        "win": "gana",
        "lose": "pierde",
        "bust": "se pasa",
        "push": "empate",
        "carried": "empate, sigue en juego",
        "surrendered": "se retira",
        "void": "anulada",
        "ruling": "Decisión de {by}: {do}",
        "accept": "se mantiene como está",
        "burn": "carta quemada",
        "move": "carta movida",
        "void_hand": "mano anulada",
        "void_round": "ronda anulada",
        "correct": "carta corregida",
        "ack": "Alerta {alert} vista por {by}",
        "round_closed": "Ronda {round} terminada: apostado {staked}, devuelto {returned}",
        "up": "{device}: conectado",
        "down": "{device}: conexión perdida ({why})",
        "shoe_fault": "Avería del sabot: {text}",
        "shoe_cleared": "Fin de la avería del sabot: {text}",
        "shoe_loaded": "Sabot cargado, barajas: {decks}",
        "open": "Mesa abierta",
        "closed": "Mesa cerrada",
    },
    "lt": {
        "box": "{box} laukelis{which}: {text}",
        "blackjack": "blackjack",
        "win": "laimi",
        "lose": "pralaimi",
        "bust": "viršijo 21",
        "push": "lygiosios",
        "carried": "lygiosios, lieka",
        "surrendered": "pasidavė",
        "void": "anuliuota",
        "ruling": "Sprendimas ({by}): {do}",
        "accept": "lieka kaip yra",
        "burn": "korta sudeginta",
        "move": "korta perkelta",
        "void_hand": "ranka anuliuota",
        "void_round": "partija anuliuota",
        "correct": "korta pataisyta",
        "ack": "Įspėjimą {alert} matė {by}",
        "round_closed": "{round} partija baigta: pastatyta {staked}, grąžinta {returned}",
        "up": "{device}: ryšys yra",
        "down": "{device}: ryšys nutrūko ({why})",
        "shoe_fault": "Dalytuvo gedimas: {text}",
        "shoe_cleared": "Dalytuvo gedimas pašalintas: {text}",
        "shoe_loaded": "Kortos dalytuve, kaladžių: {decks}",
        "open": "Stalas atidarytas",
        "closed": "Stalas uždarytas",
    },
}


def spoken(one: Selected, language: str | None = None) -> Spoken | None:
    """The sentence of an entry in `language`, else in the table's own; None for what is not said.

    Raises `ConfigError` for a language that there is none of, `LedgerError` for an entry that cannot be read.
    """
    what = one.read()
    if isinstance(what, Prompt):
        return Spoken("prompt", _prompt(what, language), what)
    if isinstance(what, Alert):
        return Spoken("alert", _alert(what, language), what)
    texts = _texts(language or one.pin.language)
    words = _WORDS.get(texts.language, _ENGLISH)
    if isinstance(what, Dealt):
        total = "" if what.total is None else f": {what.total}"
        return Spoken("dealt", f"{what.card} {texts.word('place', _place(what.to))}{total}", what)
    if isinstance(what, Outcome):
        told = (
            f"{words[what.result]}, {texts.money(what.stake + what.insurance)} \N{RIGHTWARDS ARROW} {texts.money(what.returned)}"
        )
        which = f".{what.hand}" if what.hand else ""
        return Spoken("outcome", words["box"].format(box=what.box, which=which, text=told), what)
    if isinstance(what, RoundClosed):
        money = {"staked": texts.money(what.staked), "returned": texts.money(what.returned)}
        return Spoken("round_closed", words["round_closed"].format(round=what.number, **money), what)
    if isinstance(what, PhaseChanged):
        return Spoken("phase", texts.word("phase", what.to), what)
    if isinstance(what, Ruling):
        reason = f" ({what.reason})" if what.reason else ""
        return Spoken("ruling", words["ruling"].format(by=what.by, do=words[what.do]) + reason, what)
    if isinstance(what, Ack):
        return Spoken("ack", words["ack"].format(alert=what.alert, by=what.by), what)
    if isinstance(what, Link):
        return Spoken("link", words[what.state].format(device=texts.word("device", what.device), why=what.why or "-"), what)
    if isinstance(what, ShoeFault):
        return Spoken(
            "shoe_fault", words["shoe_cleared" if what.cleared else "shoe_fault"].format(text=what.text or what.code), what
        )
    if isinstance(what, ShoeLoaded):
        return Spoken("shoe_loaded", words["shoe_loaded"].format(decks=what.decks), what)
    if isinstance(what, TableState):
        return Spoken("table", words[what.state], what)
    return None


def _prompt(prompt: Prompt, language: str | None) -> str:
    if language is None:
        return prompt.text
    try:
        return _texts(language).prompt(prompt.code, prompt.operands, prompt.box, prompt.hand)
    except KeyError:  # written by a version that said it otherwise
        return prompt.text


def _alert(alert: Alert, language: str | None) -> str:
    if language is None:
        return alert.text
    cards = " ".join(alert.cards)
    try:
        return _texts(language).alert(alert.code, alert.operands, box=alert.box, hand=alert.hand, cards=cards, rule=alert.rule)
    except KeyError:
        return alert.text


@cache
def _texts(language: str) -> Texts:
    """A ledger may be of a language that this version has no words in; then it is English."""
    try:
        return Texts.of(language)
    except ConfigError:
        return Texts.of("en")


def _place(place: Place) -> str:
    if isinstance(place, BoxPlace):
        return f"box {place.box}.{place.hand}" if place.hand else f"box {place.box}"
    return place
