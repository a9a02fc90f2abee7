"""All that can go out: what the table says about what it saw.

A notice is a JSON object, one a line, named by `notice`. Each has `seq` (its number, from 1), `at` (when what caused it
happened), `round`, and `cause` (the number of the observation that caused it, from 1). The types are the one place where the
fields are written down; the JSON Schemas and the AsyncAPI document are made from them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tablectl.cards import Card
from tablectl.places import Box, BoxPlace, HandNumber

__all__ = [
    "Alert",
    "Dealt",
    "DeviceState",
    "Favours",
    "Notice",
    "Operand",
    "Outcome",
    "PhaseChanged",
    "PhaseName",
    "Prompt",
    "PromptCode",
    "Remedy",
    "Result",
    "RoundClosed",
    "Severity",
    "ShoeNotice",
    "ShoeState",
    "Status",
    "decode",
    "encode",
]

PhaseName = Literal[
    "closed",
    "shuffling",
    "burning",
    "betting",
    "first_cards",
    "second_cards",
    "insurance",
    "players",
    "dealer",
    "settling",
    "suspended",
]

PromptCode = Literal[
    "place_bets",
    "deal_to_box",
    "deal_to_dealer",
    "burn",
    "offer_insurance",
    "ask_box",
    "dealer_must_draw",
    "dealer_must_stand",
    "pay",
    "take",
    "push",
    "carry",
    "collect_hand",
    "call_supervisor",
    "shuffle",
    "waiting_shoe",
]

Result = Literal["blackjack", "win", "lose", "bust", "push", "carried", "surrendered", "void"]
Severity = Literal["info", "warning", "critical"]
Favours = Literal["house", "player", "none"]
ShoeState = Literal["unknown", "loaded", "past_cut", "empty"]
Operand = str | int | bool | tuple[str, ...] | None
"""What a text may be filled in with."""


class Said(msgspec.Struct, frozen=True, gc=False, tag_field="notice"):
    """What all notices share."""

    seq: int
    at: str | None
    round: int
    cause: int


class PhaseChanged(Said, frozen=True, tag="phase"):
    """The game went from one phase to another."""

    from_: PhaseName = msgspec.field(name="from")
    to: PhaseName


class Prompt(Said, frozen=True, tag="prompt"):
    """What the dealer is to do now. `operands` are what `text` was filled in with."""

    code: PromptCode
    box: Box | None
    hand: HandNumber | None
    operands: dict[str, Operand]
    text: str


class Dealt(Said, frozen=True, tag="dealt"):
    """A card came to lie somewhere. `total` is that hand's, None when a card of it is unread or it is no hand (burned)."""

    card: Card
    to: BoxPlace | Literal["dealer", "burn"]
    total: int | None
    soft: bool
    source: str | None


class Remedy(msgspec.Struct, frozen=True):
    """What this house's rules prescribe: `do` is a ruling's word or `call_supervisor`; `cite` where that stands written."""

    do: str
    text: str
    cite: str


class Alert(Said, frozen=True, tag="alert"):
    """Something went wrong, or cannot be known. `id` counts from 1 over the table's life and is what an `ack` names.

    `rule` is the house rule that was broken (`R19`), None where none of them is; `operands` are the numbers that decided.
    """

    id: int
    code: str
    severity: Severity
    favours: Favours
    box: Box | None
    hand: HandNumber | None
    cards: tuple[Card, ...]
    rule: str | None
    operands: dict[str, Operand]
    text: str
    remedy: Remedy
    ack_required: bool


class Outcome(Said, frozen=True, tag="outcome"):
    """How a hand ended. Amounts in the smallest currency unit.

    `dealer_total` is None where the hand did not wait for the dealer's; `returned` is everything handed back for this hand,
    stake and insurance included; `carried` stays on the box for the next round; `rounded` says in whose favour (`house`,
    `player`) a payment was rounded to the smallest chip, None when it came out even; `corrects` is the `seq` of the notice that
    this one replaces, after a card was corrected.
    """

    box: Box
    hand: HandNumber
    result: Result
    cards: tuple[Card, ...]
    total: int | None
    dealer_total: int | None
    stake: int
    insurance: int
    returned: int
    carried: int
    rounded: Literal["house", "player"] | None
    corrects: int | None = None


class RoundClosed(Said, frozen=True, tag="round_closed"):
    """A round is over: its money, the numbers of its cards and alerts, and how long it took (None without times).

    `corrects` is the `seq` of the close that this one replaces, after a card was corrected.
    """

    number: int
    staked: int
    returned: int
    carried: int
    cards: int
    duration_ms: int | None
    alerts: int
    corrects: int | None = None


class ShoeNotice(Said, frozen=True, tag="shoe"):
    """The shoe's books: cards drawn since it was loaded, unread among them, and how many remain (None: unknown).

    `inferred` are the faces that unread cards must have had, known by elimination at the end of the shoe and never read.
    """

    remaining: int | None
    drawn: int
    unread: int
    state: ShoeState
    inferred: tuple[Card, ...] = ()


class DeviceState(msgspec.Struct, frozen=True):
    """A device as it last reported itself."""

    state: Literal["up", "down"]
    why: str


class Status(Said, frozen=True, tag="status"):
    """The devices by name, and their state."""

    devices: dict[str, DeviceState]


Notice = PhaseChanged | Prompt | Dealt | Alert | Outcome | RoundClosed | ShoeNotice | Status

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Notice] = msgspec.json.Decoder(Notice)

encode = _ENCODER.encode
"""The notice as one line of JSON without its line end: always the same bytes for the same notice."""

decode = _DECODER.decode
"""Read a notice back; raises `msgspec.ValidationError` for what is none."""
