"""What may be asked of a table over MQTT, and what is answered. Pure: no network, no thread, no clock.

A command is a plain JSON object on `tablectl/v1/{site}/{pit}/{table}/cmd/{name}`: the fields of the observation that it becomes
(`ruling`, `ack`), and `id`, `expires` and, where MQTT 5's response topic cannot be used, `reply_to`. It has no `at`: the table
stamps it. A response is a plain JSON object too.

What is refused before the game has seen it, in this order: a command that is retained, too long, unknown, no such object, expired
or good for too long, or that wants its answer outside the table's `reply/` topics. The table must not be made to speak on its own
topics in another's words. A command that was taken has its response kept until it has expired, so a repeat is answered and not
done twice; where so many are kept that one would have to be forgotten too early, new ones are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from tablectl.cards import Card
from tablectl.game.table import Table
from tablectl.instants import to_micros
from tablectl.notices import Alert
from tablectl.notices import decode as decode_notice
from tablectl.observations import Ack, Name, Observation, Ruling, explain
from tablectl.places import Box, HandNumber, Place

__all__ = [
    "COMMANDS",
    "LONGEST",
    "MOST_KEPT",
    "MOST_SECONDS",
    "AckCommand",
    "Arrived",
    "Command",
    "Desk",
    "Order",
    "Reason",
    "Refusal",
    "Reply",
    "Response",
    "RulingCommand",
    "judge",
    "refusal",
    "reply_topic",
]

LONGEST: Final = 64 * 1024
"""The longest command, in bytes."""
MOST_SECONDS: Final = 300
"""How far ahead a command may expire, in seconds. So long its response is kept at most."""
MOST_KEPT: Final = 1000
"""How many responses are kept at a time."""

Reason = Literal[
    "retained",
    "too_long",
    "unknown_command",
    "malformed",
    "expired",
    "expires_too_far",
    "reply_topic",
    "id_used",
    "busy",
    "no_such_alert",
    "needs_ruling",
    "nothing_changed",
]
"""Why a command was refused by the table's edge. What the game refuses has the game's own words, such as `nothing_open`."""

Words = Annotated[str, msgspec.Meta(max_length=500)]
Counted = Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all commands share.

    `id` is the sender's own and new for each command; the same one again is a repeat. `expires` is an RFC 3339 time with a zone,
    at most 300 s ahead. `reply_to` is the topic of the response for who cannot set MQTT 5's response topic.
    """

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    expires: Annotated[str, msgspec.Meta(max_length=64, extra_json_schema={"format": "date-time"})]
    reply_to: Annotated[str, msgspec.Meta(max_length=512)] | None = None


class RulingCommand(Command, frozen=True):
    """A supervisor decides what a suspended game does next: the fields of the observation `ruling`."""

    do: Literal["accept", "burn", "move", "void_hand", "void_round", "correct"]
    by: Name
    reason: Words = ""
    alert: Counted | None = None
    box: Box | None = None
    hand: HandNumber | None = None
    to: Place | None = None
    card: Card | None = None
    draw: Counted | None = None

    def observation(self, at: str | None) -> Observation:
        """The ruling, made at `at`."""
        return Ruling(at=at, **{name: getattr(self, name) for name in _RULING})


class AckCommand(Command, frozen=True):
    """A supervisor has seen an alert: the fields of the observation `ack`."""

    alert: Counted
    by: Name

    def observation(self, at: str | None) -> Observation:
        """The acknowledgement, made at `at`."""
        return Ack(at=at, alert=self.alert, by=self.by)


_RULING: Final = tuple(name for name in RulingCommand.__struct_fields__ if name not in Command.__struct_fields__)

COMMANDS: Final[dict[str, type[RulingCommand] | type[AckCommand]]] = {"ruling": RulingCommand, "ack": AckCommand}
"""The commands by the last level of their topic."""


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


class Reply(NamedTuple):
    """Where the response goes, and what it carries along (MQTT 5)."""

    topic: str
    correlation: bytes | None


class Arrived(NamedTuple):
    """A message on a command topic as it came. `payload` is None where it was longer than `LONGEST` and was not kept."""

    name: str
    payload: bytes | None
    retained: bool
    response_topic: str | None = None
    correlation: bytes | None = None


class Order(NamedTuple):
    """A command that may be handed to the game. `digest` is of its payload; `expires` is in microseconds since 1970."""

    name: str
    command: RulingCommand | AckCommand
    expires: int
    digest: bytes
    reply: Reply | None


class Refusal(NamedTuple):
    """A command that the game never sees. `reply` is None where no answer is possible."""

    name: str
    id: str | None
    reason: Reason
    detail: str
    reply: Reply | None

    @property
    def response(self) -> bytes:
        """What is answered."""
        return refusal(self.id, self.reason, self.detail)


class _Head(msgspec.Struct, frozen=True):
    """As much of a command as is needed to answer that the rest cannot be read."""

    id: str | None = None
    reply_to: str | None = None


_DECODERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {name: msgspec.json.Decoder(kind) for name, kind in COMMANDS.items()}
_head_of = msgspec.json.Decoder(_Head).decode
_encode = msgspec.json.Encoder().encode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_CLIENT = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def refusal(command: str | None, reason: str, detail: str = "") -> bytes:
    """The response to a command that was not done."""
    return _encode(Response(id=command, done=False, reason=reason, detail=detail))


def reply_topic(base: str, client: str) -> str:
    """The topic on which `client` (1 to 64 of letters, digits, `.`, `_`, `-`) is answered, below the table's topic `base`."""
    return f"{base}/reply/{client}"


def judge(arrived: Arrived, *, base: str, now: int) -> Order | Refusal:
    """Whether a message is a command for the game. Never raises.

    `base` is the table's topic, `now` in microseconds since 1970.
    """
    head = _head(arrived.payload)
    wanted = arrived.response_topic or head.reply_to
    reply = None if wanted is None or not _is_ours(wanted, base) else Reply(wanted, arrived.correlation)
    name = head.id if head.id and len(head.id) <= 64 and head.id.isprintable() else None

    def no(reason: Reason, detail: str = "") -> Refusal:
        return Refusal(arrived.name, name, reason, detail[:200], reply)

    if arrived.retained:
        return no("retained", "a command is for now; delete what is retained")
    if arrived.payload is None:
        return no("too_long", f"a command has at most {LONGEST} bytes")
    decoder = _DECODERS.get(arrived.name)
    if decoder is None:
        return no("unknown_command", f"there are {', '.join(COMMANDS)}")
    try:
        command: RulingCommand | AckCommand = decoder.decode(arrived.payload)
        expires = to_micros(command.expires)
    except msgspec.ValidationError as error:
        message, field = explain(error)
        return no("malformed", f"{field}: {message}" if field else message)
    except _UNREADABLE as error:
        return no("malformed", f"no JSON object: {error}")
    except (ValueError, OverflowError) as error:
        return no("malformed", f"expires: {error}")
    unprintable = next((field for field in ("id", "by", "reason") if not getattr(command, field, "").isprintable()), None)
    if unprintable:
        return no("malformed", f"{unprintable}: has characters that cannot be printed")
    if wanted is not None and reply is None:
        return no("reply_topic", f"answers go to {base}/reply/CLIENT")
    if expires <= now:
        return no("expired", "or the clocks of sender and table differ")
    if expires > now + MOST_SECONDS * 1_000_000:
        return no("expires_too_far", f"a command is good for at most {MOST_SECONDS} s")
    return Order(arrived.name, command, expires, hashlib.sha256(arrived.payload).digest(), reply)


def _head(payload: bytes | None) -> _Head:
    try:
        return _head_of(payload) if payload is not None else _Head()
    except _UNREADABLE:
        return _Head()


def _is_ours(topic: str, base: str) -> bool:
    before, _, client = topic.rpartition("/")
    return before == f"{base}/reply" and _CLIENT.fullmatch(client) is not None


class Desk:
    """Where orders are carried out, one after the other, each once.

    `feed` takes an observation into `table`, commits what it says, and gives the notices as their bytes.
    """

    def __init__(self, table: Table, feed: Callable[[Observation], Sequence[bytes]]):
        self._table = table
        self._feed = feed
        self._kept: OrderedDict[str, tuple[int, bytes, bytes]] = OrderedDict()

    def carry_out(self, order: Order, *, at: str | None, now: int) -> bytes:
        """Do what an order says, and give the response; to a repeat, the one it had.

        `at` is the time that the observation gets; `now` is held against `expires`, in microseconds since 1970.
        """
        command = order.command
        known = self._kept.get(command.id)
        if known is not None:
            _, digest, response = known
            return response if digest == order.digest else refusal(command.id, "id_used", "another command had it")
        if order.expires <= now:
            return refusal(command.id, "expired", "it had to wait")
        if not self._has_room(now):
            return refusal(command.id, "busy", "too many commands in too short a time")
        response = _encode(self._done(command, at))
        self._kept[command.id] = (order.expires, order.digest, response)
        return response

    def _has_room(self, now: int) -> bool:
        if len(self._kept) >= MOST_KEPT:
            self._kept = OrderedDict((name, kept) for name, kept in self._kept.items() if kept[0] > now)
        return len(self._kept) < MOST_KEPT

    def _done(self, command: RulingCommand | AckCommand, at: str | None) -> Response:
        before = {alert.id for alert in self._table.open_alerts}
        blocked = self._table.blockers
        lines = self._feed(command.observation(at))
        reason = _refused(lines, command)
        if reason is None and isinstance(command, AckCommand):
            still = {alert.id for alert in self._table.open_alerts}
            reason = "no_such_alert" if command.alert not in before else "needs_ruling" if command.alert in still else None
        elif reason is None and not lines and blocked == self._table.blockers:
            reason = "nothing_changed"  # also what a house that is silent about refused rulings leaves us to see
        return Response(id=command.id, done=reason is None, reason=reason, notices=[msgspec.Raw(line) for line in lines])


def _refused(lines: Sequence[bytes], command: RulingCommand | AckCommand) -> str | None:
    """The game's reason for refusing what it was just asked; None when it did not."""
    action = command.do if isinstance(command, RulingCommand) else "ack"
    for line in lines:
        notice = decode_notice(line)
        if isinstance(notice, Alert) and notice.code in ("action.not_authorised", "action.out_of_turn"):
            operands = notice.operands
            if (operands.get("action"), operands.get("by")) == (action, command.by) and operands.get("refused"):
                return str(operands["refused"])
    return None
