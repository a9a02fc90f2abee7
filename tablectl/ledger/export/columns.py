"""The columns of CSV and Parquet: one wide table in which each row is an entry, and what an entry does not say is empty.

Their names need no quotation marks in SQL: hence `at_utc`, `person` and `table_name`. They are what `docs/feeds.md` lists. A new
column comes at the end: who reads by place is not to be misled.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

from tablectl import notices as said
from tablectl import observations as seen
from tablectl.instants import from_micros
from tablectl.ledger.export.selecting import Selected
from tablectl.places import BoxPlace

__all__ = ["COLUMNS", "Column", "Kind", "Value", "row", "shown"]

Kind = Literal["text", "int", "flag", "time", "cards"]
Value = str | int | bool | tuple[str, ...] | None


class Column(NamedTuple):
    """A column: `time` is microseconds since 1970 UTC, `cards` a list of texts, `flag` true or false."""

    name: str
    kind: Kind
    meaning: str


COLUMNS: tuple[Column, ...] = (
    Column("table_name", "text", "site/pit/table"),
    Column("session", "text", "the ledger's session; with `entry` it is the id of the message over MQTT"),
    Column("entry", "int", "the entry's number in its ledger, from 1"),
    Column("kind", "text", "`pin`, `observation`, `notice`, `command`, `key` or `evidence`"),
    Column("name", "text", "which observation or notice: `card`, `dealt`, `alert` ..."),
    Column("at_utc", "time", "when it happened (UTC); of an entry without a time, that of the one before it"),
    Column("round", "int", "the round's number; 0 before the first"),
    Column("seq", "int", "the notice's own number"),
    Column("cause", "int", "the number of the observation that caused the notice"),
    Column("box", "int", "1 to 7, from the dealer's left"),
    Column("hand", "int", "0, then 1, 2 ... as splits add hands"),
    Column("place", "text", "where a card lies: `box`, `dealer` or `burn`"),
    Column("card", "text", "rank and suit, `AS`; `??` passed unread"),
    Column("cards", "cards", "the hand's cards, or those that an alert is about"),
    Column("total", "int", "the hand's total"),
    Column("soft", "flag", "whether an ace in it counts eleven"),
    Column("dealer_total", "int", "the dealer's total that the hand was compared with"),
    Column("code", "text", "of a prompt, an alert, a fault of the shoe"),
    Column("severity", "text", "`info`, `warning` or `critical`"),
    Column("favours", "text", "whom the mistake favours: `house`, `player`, `none`"),
    Column("rule", "text", "the house's rule that was broken, `R19`"),
    Column("alert", "int", "the alert's number; of a ruling or an acknowledgement, the alert it is about"),
    Column("ack_required", "flag", "whether somebody has to acknowledge the alert"),
    Column("text", "text", "the words, in the table's language"),
    Column("remedy", "text", "what the house prescribes: a ruling's word or `call_supervisor`"),
    Column("remedy_text", "text", "the same in words"),
    Column("cite", "text", "where that stands written"),
    Column("result", "text", "`blackjack win lose bust push carried surrendered void`"),
    Column("amount", "int", "of a bet or an insurance, in the smallest currency unit, as all money is"),
    Column("stake", "int", "what lay on the hand"),
    Column("insurance", "int", "its insurance"),
    Column("staked", "int", "of a round: all that was staked"),
    Column("returned", "int", "all that was handed back, the stake included"),
    Column("carried", "int", "what stayed for the next round"),
    Column("rounded", "text", "in whose favour a payment was rounded to the smallest chip"),
    Column("corrects", "int", "the `seq` of the notice that this one replaces"),
    Column("cards_dealt", "int", "of a round: how many cards"),
    Column("alerts", "int", "of a round: how many alerts"),
    Column("duration_ms", "int", "of a round: how long it took"),
    Column("phase_from", "text", "the phase that was left"),
    Column("phase_to", "text", "the phase that was entered"),
    Column("state", "text", "of the shoe, a device, the table, a seat"),
    Column("drawn", "int", "cards drawn since the shoe was loaded"),
    Column("unread", "int", "unread ones among them"),
    Column("remaining", "int", "cards left in the shoe, of any rank; what ranks they are is never told"),
    Column("decks", "int", "packs in the shoe that was loaded"),
    Column("action", "text", "what a hand wants (`hit` ...), or what a ruling does (`void_hand` ...)"),
    Column("person", "text", "who: the bettor, the player, the supervisor"),
    Column("reason", "text", "of a ruling, or why a device went down"),
    Column("device", "text", "`shoe`, `pad`, a camera's name"),
    Column("source", "text", "who saw the card: `shoe`, `camera`, `both`"),
    Column("body", "text", "the whole entry as JSON, to the byte; without `carried` where it is a pin"),
)

_NAMES = {column.name: column.kind for column in COLUMNS}
_ELSEWHERE: dict[tuple[type, str], str | None] = {
    (said.Alert, "id"): "alert",
    (said.RoundClosed, "cards"): "cards_dealt",
    (said.RoundClosed, "number"): None,
    (said.PhaseChanged, "from_"): "phase_from",
    (said.PhaseChanged, "to"): "phase_to",
    (seen.Ruling, "do"): "action",
    (seen.Link, "why"): "reason",
    (seen.Seat, "player"): "person",
    (seen.Bet, "by"): "person",
    (seen.Decision, "by"): "person",
    (seen.Ruling, "by"): "person",
    (seen.Ack, "by"): "person",
    (seen.Bet, "kind"): "action",
}
"""Fields that stand in a column of another name; None: in none, as another says the same."""


def row(one: Selected) -> list[Value]:
    """An entry's values, in the order of `COLUMNS`. Raises `LedgerError` for an entry that this version cannot read."""
    what = one.read()
    values: dict[str, Value] = {
        "table_name": str(one.table),
        "session": one.session,
        "entry": one.entry.seq,
        "kind": one.entry.kind,
        "at_utc": one.at,
        "round": one.round,
        "body": _body(one),
    }
    if what is not None:
        values["name"] = what.__struct_config__.tag
        for field, column in _fields(type(what)):
            _set(values, column, getattr(what, field))
    return [values.get(column.name) for column in COLUMNS]


@cache
def _fields(of: type[Any]) -> tuple[tuple[str, str], ...]:
    """The fields of a type of notice or observation that stand in a column, each with the column's name."""
    named = ((field, _ELSEWHERE.get((of, field), field)) for field in of.__struct_fields__)
    known = {"to", "remedy"} | _NAMES.keys()
    return tuple((field, column) for field, column in named if column in known and column != "round")


def _set(values: dict[str, Value], column: str, value: Any) -> None:
    if column == "to":
        if isinstance(value, BoxPlace):
            values |= {"place": "box", "box": value.box, "hand": value.hand}
        elif value is not None:
            values["place"] = value
    elif isinstance(value, said.Remedy):
        values |= {"remedy": value.do, "remedy_text": value.text, "cite": value.cite}
    elif isinstance(value, tuple):
        values[column] = tuple(str(item) for item in value)
    elif isinstance(value, str):
        values[column] = str(value)
    else:
        values[column] = value


def _body(one: Selected) -> str:
    """The entry as text. What a pin carries over from the day before has the shoe's books in it, which go nowhere."""
    if one.entry.kind == "pin" and b'"carried"' in one.entry.body:
        pin: dict[str, object] = msgspec.json.decode(one.entry.body)
        pin.pop("carried", None)
        return msgspec.json.encode(pin).decode()
    return one.entry.body.decode(errors="backslashreplace")


def shown(value: Value, kind: Kind) -> str | int | None:
    """A value as it stands in a text: a time by RFC 3339, cards with blanks between them."""
    if value is None:
        return None
    if kind == "time":
        assert isinstance(value, int)
        return from_micros(value)
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
