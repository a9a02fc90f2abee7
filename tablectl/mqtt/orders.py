"""What may be asked of a table over MQTT, and what is answered. Pure: no network, no thread, no clock.

A command is a plain JSON object on `tablectl/v1/{site}/{pit}/{table}/cmd/{name}`: the fields of the observation that it
becomes, and `id`, `expires`, `by` and, where MQTT 5's response topic cannot be used, `reply_to`. It has no `at`: the table
stamps it. `by` is who commands, in every command; whose stake a `bet` is stands in `bettor`. A response is a plain JSON object
too.

Which commands are taken is judged by `tablectl.mqtt.judgement`, what becomes of them by `tablectl.mqtt.desk`.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from tablectl.cards import Card
from tablectl.observations import Ack, Amount, Bet, Name, Observation, Ruling, Seat, ShoeLoaded, TableState
from tablectl.places import Box, HandNumber, Place

__all__ = [
    "COMMANDS",
    "LONGEST",
    "MOST_SECONDS",
    "AckCommand",
    "BetCommand",
    "Command",
    "Reason",
    "Response",
    "RulingCommand",
    "SeatCommand",
    "ShoeCommand",
    "TableCommand",
    "refusal",
    "reply_topic",
]

LONGEST: Final = 64 * 1024
"""The longest command, in bytes."""
MOST_SECONDS: Final = 300
"""How far ahead a command may expire, in seconds. So long its response is kept at most."""

Reason = Literal[
    "retained",
    "too_long",
    "unknown_command",
    "malformed",
    "expired",
    "expires_too_far",
    "reply_topic",
    "unsigned",
    "unknown_person",
    "not_you",
    "not_allowed",
    "bad_signature",
    "id_used",
    "busy",
    "interrupted",
    "read_only",
    "no_such_alert",
    "needs_ruling",
    "nothing_changed",
]
"""Why a command was refused by the table's edge. What the game refuses has the game's own words, such as `nothing_open`, and a
device's driver may have its own."""

Words = Annotated[str, msgspec.Meta(max_length=500)]
Counted = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Layout = dict[
    Annotated[str, msgspec.Meta(min_length=1, max_length=80)],
    Annotated[str, msgspec.Meta(max_length=200)] | Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | bool,
]


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all commands share.

    `id` is the sender's own and new for each command; the same one again is a repeat. `expires` is an RFC 3339 time with a zone,
    at most 300 s ahead. `by` is who commands. `reply_to` is the topic of the response for who cannot set MQTT 5's response topic.
    """

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    expires: Annotated[str, msgspec.Meta(max_length=64, extra_json_schema={"format": "date-time"})]
    by: Name
    reply_to: Annotated[str, msgspec.Meta(max_length=512)] | None = None

    def observation(self, at: str | None) -> Observation | None:
        """What the command is to the game, made at `at`; None for an order to a device."""
        raise NotImplementedError


class RulingCommand(Command, frozen=True):
    """A supervisor decides what a suspended game does next: the fields of the observation `ruling`."""

    do: Literal["accept", "burn", "move", "void_hand", "void_round", "correct"]
    reason: Words = ""
    alert: Counted | None = None
    box: Box | None = None
    hand: HandNumber | None = None
    to: Place | None = None
    card: Card | None = None
    draw: Counted | None = None

    def observation(self, at: str | None) -> Observation:
        """The ruling, made at `at`."""
        return Ruling(at=at, by=self.by, **{name: getattr(self, name) for name in _RULING})


class AckCommand(Command, frozen=True):
    """A supervisor has seen an alert: the fields of the observation `ack`."""

    alert: Counted

    def observation(self, at: str | None) -> Observation:
        """The acknowledgement, made at `at`."""
        return Ack(at=at, alert=self.alert, by=self.by)


class TableCommand(Command, frozen=True):
    """The pit opens or closes the table: the fields of the observation `table`. `layout` is what is printed on the felt."""

    state: Literal["open", "closed"]
    layout: Annotated[Layout, msgspec.Meta(max_length=50)] | None = None

    def observation(self, at: str | None) -> Observation:
        """The table's state, from `at` on."""
        return TableState(at=at, state=self.state, layout=self.layout)


class SeatCommand(Command, frozen=True):
    """A player sat down at a box, or left it: the fields of the observation `seat`."""

    box: Box
    player: Name
    state: Literal["taken", "left"]

    def observation(self, at: str | None) -> Observation:
        """The seat, at `at`."""
        return Seat(at=at, box=self.box, player=self.player, state=self.state)


class BetCommand(Command, frozen=True):
    """What a bettor has on a box in all, from now on: the fields of the observation `bet`, whose `by` is here `bettor`."""

    box: Box
    amount: Amount
    bettor: Name | None = None
    kind: Literal["chips", "cash", "word", "carried"] = "chips"

    def observation(self, at: str | None) -> Observation:
        """The bet, made at `at`."""
        return Bet(at=at, box=self.box, amount=self.amount, by=self.bettor, kind=self.kind)


class ShoeCommand(Command, frozen=True):
    """A shuffled shoe was put in place (`loaded`: the fields of the observation `shoe_loaded`), or an order to the shoe itself.

    `lock` and `unlock` keep cards in and let them out; `clear_error` ends the error with this `number`. They are host commands: a
    table that only reads its devices refuses them.
    """

    do: Literal["loaded", "lock", "unlock", "clear_error"]
    decks: Annotated[int, msgspec.Meta(ge=1, le=12)] | None = None
    cut: bool = False
    number: Annotated[int, msgspec.Meta(ge=0, le=2**31)] | None = None

    def __post_init__(self) -> None:
        if (self.decks is not None) != (self.do == "loaded"):
            raise ValueError("`decks` belongs to `loaded`, and to nothing else")
        if self.cut and self.do != "loaded":
            raise ValueError("`cut` belongs to `loaded`")
        if (self.number is not None) != (self.do == "clear_error"):
            raise ValueError("`number` belongs to `clear_error`, and to nothing else")

    def observation(self, at: str | None) -> Observation | None:
        """The shoe that was loaded at `at`; None for an order to the shoe."""
        return None if self.decks is None else ShoeLoaded(at=at, decks=self.decks, cut=self.cut)


_RULING: Final = tuple(name for name in RulingCommand.__struct_fields__ if name not in Command.__struct_fields__)

COMMANDS: Final[dict[str, type[Command]]] = {
    "ruling": RulingCommand,
    "ack": AckCommand,
    "table": TableCommand,
    "seat": SeatCommand,
    "bet": BetCommand,
    "shoe": ShoeCommand,
}
"""The commands by the level of their topic that follows `cmd/`."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a command, on its response topic; never retained.

    `id` is the command's, None where it could not be read. `reason` is None when it was done, else a word; `detail` says more of
    it to a person where there is more to say. `notices` are those that the command caused, byte for byte as in the ledger.
    """

    id: str | None
    done: bool
    reason: str | None = None
    detail: str = ""
    notices: list[msgspec.Raw] = []


_encode = msgspec.json.Encoder().encode


def refusal(command: str | None, reason: str, detail: str = "") -> bytes:
    """The response to a command that was not done."""
    return _encode(Response(id=command, done=False, reason=reason, detail=detail))


def reply_topic(base: str, client: str) -> str:
    """The topic on which `client` (1 to 64 of letters, digits, `.`, `_`, `-`) is answered, below the table's topic `base`."""
    return f"{base}/reply/{client}"
