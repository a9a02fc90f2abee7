"""Whether what arrived on a command topic is a command for the game. Pure: no network, no thread, no clock.

What is refused before the game has seen it, in this order: a command that is retained, too long, unknown, no such object, that
wants its answer outside the table's `reply/` topics, expired or good for too long, and one by whom the table does not know or who
may not (`tablectl.mqtt.identity`). The table must not be made to speak on its own topics in another's words. A signature is
looked at last, since that costs the most.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final, NamedTuple

import msgspec

from tablectl.complaints import explain
from tablectl.instants import to_micros
from tablectl.mqtt.identity import SignedCommand, Trust, Vouched, opened, verified
from tablectl.mqtt.orders import COMMANDS, LONGEST, MOST_SECONDS, Command, Reason, TableCommand, refusal
from tablectl.mqtt.proofs import ProofCommand

__all__ = ["KINDS", "Arrived", "Order", "Refusal", "Reply", "judge", "printed"]


class Reply(NamedTuple):
    """Where the response goes, and what it carries along (MQTT 5)."""

    topic: str
    correlation: bytes | None


class Arrived(NamedTuple):
    """A message on a command topic as it came. `payload` is None where it was longer than `LONGEST` and was not kept."""

    topic: str
    payload: bytes | None
    retained: bool
    response_topic: str | None = None
    correlation: bytes | None = None


class Order(NamedTuple):
    """A command that may be handed to the game, by a person who may.

    `digest` is of the command's bytes; `expires` is in microseconds since 1970; `envelope` what was signed, where it was.
    """

    name: str
    command: Command
    expires: int
    digest: bytes
    reply: Reply | None
    topic: str
    vouched: Vouched
    envelope: SignedCommand | None = None


class Refusal(NamedTuple):
    """A command that the game never sees. `reply` is None where no answer is possible.

    `person` is whom it says it is from; `vouched` how the table knows that, None where it does not.
    """

    name: str
    id: str | None
    reason: Reason
    detail: str
    reply: Reply | None
    person: str | None = None
    vouched: Vouched | None = None

    @property
    def response(self) -> bytes:
        """What is answered."""
        return refusal(self.id, self.reason, self.detail)


class _Head(msgspec.Struct, frozen=True):
    """As much of a command as is needed to answer that the rest cannot be read."""

    id: str | None = None
    by: str | None = None
    reply_to: str | None = None
    signed: str | None = None


class _No(Exception):
    def __init__(self, reason: Reason, detail: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


KINDS: Final[dict[str, type[Command]]] = {**COMMANDS, "proof": ProofCommand}
"""All that may be asked, by the level of the topic that names it: of the game, and for a proof."""
_DECODERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {name: msgspec.json.Decoder(kind) for name, kind in KINDS.items()}
_head_of = msgspec.json.Decoder(_Head).decode
_envelope_of = msgspec.json.Decoder(SignedCommand).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_CLIENT = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_PRINTED: Final = ("id", "by", "reason", "player", "bettor")


def judge(arrived: Arrived, *, base: str, now: int, trust: Trust) -> Order | Refusal:
    """Whether a message is a command for the game. Never raises.

    `base` is the table's topic, `now` in microseconds since 1970.
    """
    return _Case(arrived, base, now, trust).judged()


class _Case:
    """One message, and what is known of it so far."""

    def __init__(self, arrived: Arrived, base: str, now: int, trust: Trust):
        self.arrived = arrived
        self.base = base
        self.now = now
        self.trust = trust
        inside = arrived.topic.startswith(f"{base}/cmd/")
        self.name, slash, person = arrived.topic[len(base) + 5 :].partition("/") if inside else ("", "", "")
        self.place: str | None = person if slash else None
        self.body = arrived.payload
        self.envelope: SignedCommand | None = None
        self.envelope_fault: Exception | None = None
        self.head = self._head(self.body)
        if self.place is None and self.head.signed is not None:
            self._open()
        self.wanted = arrived.response_topic or self.head.reply_to
        self.reply = None if self.wanted is None or not _is_ours(self.wanted, base) else Reply(self.wanted, arrived.correlation)
        self.vouched: Vouched | None = None

    def _open(self) -> None:
        assert self.body is not None
        try:
            self.envelope = _envelope_of(self.body)
            self.body = opened(self.envelope)
        except (*_UNREADABLE, ValueError) as error:
            self.envelope_fault = error
        else:
            self.head = self._head(self.body)

    @staticmethod
    def _head(payload: bytes | None) -> _Head:
        try:
            return _head_of(payload) if payload is not None else _Head()
        except _UNREADABLE:
            return _Head()

    def judged(self) -> Order | Refusal:
        """The verdict."""
        try:
            command, expires = self._read()
            vouched = self._identify(command)
        except _No as no:
            person = self.place or (self.envelope.person if self.envelope else self.head.by)
            vouched_so_far = self.vouched
            return Refusal(
                self.name,
                printed(self.head.id, 64),
                no.reason,
                no.detail[:200],
                self.reply,
                printed(person, 80),
                vouched_so_far,
            )
        assert self.body is not None
        digest = hashlib.sha256(self.body).digest()
        return Order(self.name, command, expires, digest, self.reply, self.arrived.topic, vouched, self.envelope)

    def _read(self) -> tuple[Command, int]:
        if self.arrived.retained:
            raise _No("retained", "a command is for now; delete what is retained")
        if self.body is None:
            raise _No("too_long", f"a command has at most {LONGEST} bytes")
        decoder = _DECODERS.get(self.name)
        if decoder is None or (self.place is not None and (not self.place or "/" in self.place)):
            raise _No("unknown_command", f"there are {', '.join(KINDS)}")
        if self.envelope_fault is not None:
            raise _No("malformed", f"the envelope of a signed command: {self.envelope_fault}")
        try:
            command: Command = decoder.decode(self.body)
            expires = to_micros(command.expires)
        except msgspec.ValidationError as error:
            message, field = explain(error, KINDS[self.name])
            raise _No("malformed", f"{field}: {message}" if field else message) from None
        except _UNREADABLE as error:
            raise _No("malformed", f"no JSON object: {error}") from None
        except (ValueError, OverflowError) as error:
            raise _No("malformed", f"expires: {error}") from None
        unprintable = next((field for field in _PRINTED if not (getattr(command, field, None) or "").isprintable()), None)
        if isinstance(command, TableCommand) and not all(
            str(word).isprintable() for pair in (command.layout or {}).items() for word in pair
        ):
            unprintable = "layout"
        if unprintable:
            raise _No("malformed", f"{unprintable}: has characters that cannot be printed")
        if self.wanted is not None and self.reply is None:
            raise _No("reply_topic", f"answers go to {self.base}/reply/CLIENT")
        if expires <= self.now:
            raise _No("expired", "or the clocks of sender and table differ")
        if expires > self.now + MOST_SECONDS * 1_000_000:
            raise _No("expires_too_far", f"a command is good for at most {MOST_SECONDS} s")
        return command, expires

    def _identify(self, command: Command) -> Vouched:
        if self.place is not None:
            if not self.trust.vouched:
                raise _No("unsigned", "this table does not take the broker's word for who commands")
            self.vouched = "certificate"
            self._may(command, self.place)
        elif self.envelope is not None:
            self._may(command, self.envelope.person)
            key = self.trust.people[self.envelope.person].key
            if key is None:
                raise _No("bad_signature", "this table has no key of this person")
            assert self.body is not None
            if not verified(self.body, self.envelope.signature, topic=self.arrived.topic, key=key):
                raise _No("bad_signature", f"it does not hold for these bytes on {self.arrived.topic}")
            self.vouched = "signature"
        elif self.trust.open:
            self.vouched = "open"
            if self.trust.people:
                self._may(command, command.by)
        else:
            raise _No("unsigned", f"sign it, or send it to cmd/{self.name}/PERSON if the broker vouches for you")
        return self.vouched

    def _may(self, command: Command, name: str) -> None:
        person = self.trust.people.get(name)
        if person is None:
            raise _No("unknown_person", "this table does not know this person")
        if command.by != name:
            raise _No("not_you", "`by` names another")
        if self.name not in person.may:
            raise _No("not_allowed", f"this person may not: {self.name}")


def printed(text: str | None, most: int) -> str | None:
    """Text for a record, if it can be printed and has at most so many characters."""
    return text if text and len(text) <= most and text.isprintable() else None


def _is_ours(topic: str, base: str) -> bool:
    before, _, client = topic.rpartition("/")
    return before == f"{base}/reply" and _CLIENT.fullmatch(client) is not None
