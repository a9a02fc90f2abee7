"""A table's notices as MQTT messages: topic, payload, and how the broker is to keep it. Pure: no network, no clock.

The payload is a CloudEvents 1.0 event in JSON (structured mode). Its `id` is the session and the entry's number in the ledger, so
that a repeat has the id of the first; its `sequence` is the same number, padded with zeros because the extension asks for text
order; its `data` is the notice byte for byte as the ledger has it. `subject` is the round, `time` the notice's `at`, left out
where the notice has none.

Topics are `tablectl/v1/{site}/{pit}/{table}/` and then:

==============  =====================================================  ========
topic           what                                                   retained
==============  =====================================================  ========
`status`        whether the table is there, and its devices            yes
`info`          the ledger's pin: software, house, profiles, language  yes
`state`         the whole table, for who joins late                    yes
`prompt`        what the dealer is to do now                           yes, and expires
`evt/...`       `dealt outcome alert round phase shoe`                 no
`audit/...`     `checkpoint`: the ledger's latest, no CloudEvent        yes
==============  =====================================================  ========

On `status` come two types of event: `status`, the notice, and `presence`, which the publisher says of itself when it connects,
when it stops and (by the broker, as its last will) when it is lost. Both have the attribute `presence`, `online` or `offline`,
and `devices` in their data, so a reader who only has the retained one knows both.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple
from urllib.parse import quote

import msgspec

from tablectl.errors import ConfigError, LedgerError
from tablectl.ledger import pin as pins
from tablectl.ledger.checkpoint import KeyEntry
from tablectl.ledger.pin import TableName
from tablectl.notices import DeviceState

__all__ = [
    "CHANNELS",
    "CHECKPOINT",
    "CONTENT_TYPE",
    "KEEPALIVE",
    "PROMPT_SECONDS",
    "PUBLISHED",
    "QOS",
    "RETAINED",
    "Checkpoint",
    "Envelope",
    "Message",
    "Messages",
    "Presence",
    "schema_name",
    "type_name",
]

QOS: Final = 1
KEEPALIVE: Final = 15
"""Seconds: a broker publishes the last will of a table that was silent for one and a half times this."""
CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"
PROMPT_SECONDS: Final = 600
"""How long a broker (MQTT 5) keeps a prompt, in seconds: a table that fell silent must not go on telling its dealer to act."""

CHANNELS: Final = {
    "prompt": "prompt",
    "dealt": "evt/dealt",
    "outcome": "evt/outcome",
    "alert": "evt/alert",
    "round_closed": "evt/round",
    "phase": "evt/phase",
    "shoe": "evt/shoe",
    "status": "status",
}
"""Where each notice goes, below the table's topic."""

PUBLISHED: Final = {"presence": "status", "info": "info", "state": "state"}
"""Where the publisher's own messages go."""

RETAINED: Final = frozenset({"status", "info", "state", "prompt"})
"""The topics whose last message a broker keeps."""


CHECKPOINT: Final = "audit/checkpoint"
"""Where the ledger's latest checkpoint goes, as the ledger keeps it."""

_TIME: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$"


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A CloudEvents 1.0 event with the extension attributes `sequence` and `presence`.

    What this table sends about one thing has one `id`: a message with an id seen before is a repeat. Events in the order of their
    `sequence` are in the order in which things happened, the `state` included: it holds everything up to its own.
    """

    specversion: Literal["1.0"] = "1.0"
    id: Annotated[str, msgspec.Meta(min_length=1)]
    source: Annotated[str, msgspec.Meta(min_length=1, extra_json_schema={"format": "uri-reference"})]
    type: Annotated[str, msgspec.Meta(pattern=r"^org\.tablectl\.[a-z_]+\.v1$")]
    subject: Annotated[str, msgspec.Meta(pattern=r"^round/\d+$")] | msgspec.UnsetType = msgspec.UNSET
    time: Annotated[str, msgspec.Meta(pattern=_TIME, extra_json_schema={"format": "date-time"})] | msgspec.UnsetType = (
        msgspec.UNSET
    )
    datacontenttype: Literal["application/json"] = "application/json"
    dataschema: Annotated[str, msgspec.Meta(extra_json_schema={"format": "uri"})]
    sequence: Annotated[str, msgspec.Meta(pattern=r"^\d{12,}$")]
    presence: Literal["online", "offline"] | msgspec.UnsetType = msgspec.UNSET
    data: msgspec.Raw


class Presence(msgspec.Struct, frozen=True):
    """The publisher of itself: why the table is (or is not) there, and its devices as they were last reported."""

    why: str
    devices: dict[str, DeviceState]


class Checkpoint(msgspec.Struct, frozen=True):
    """A signed head of the ledger, and the proof that it continues an earlier one, as `tablectl.ledger.published` makes it.

    `note` is a signed note of the form C2SP tlog-checkpoint. `consistency` is the RFC 6962 consistency proof, its hashes in
    base64, from the checkpoint of `previous` entries to this one; empty, with `previous` 0, where there was none. `key` is the
    public key that signs, as the table claims, and `succession` the ledger's entries of which key followed which.
    """

    note: Annotated[str, msgspec.Meta(min_length=1)]
    previous: Annotated[int, msgspec.Meta(ge=0)]
    consistency: list[Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9+/]{43}=$")]]
    key: str | None = None
    succession: list[KeyEntry] = []


class Message(NamedTuple):
    """What is handed to the broker. `expiry` is in seconds, None for never. All have QoS 1."""

    topic: str
    payload: bytes
    retain: bool
    expiry: int | None


class _Head(msgspec.Struct, frozen=True):
    notice: str = ""
    at: str | None = None
    round: int | None = None


class _Devices(msgspec.Struct, frozen=True):
    devices: dict[str, DeviceState]


_head_of = msgspec.json.Decoder(_Head).decode
_devices_of = msgspec.json.Decoder(_Devices).decode
_encode = msgspec.json.Encoder().encode


def type_name(name: str) -> str:
    """The CloudEvents type of a notice, or of `presence`, `info`, `state`."""
    return f"org.tablectl.{name}.v1"


def schema_name(name: str) -> str:
    """The URI that names the schema of an event's data; the AsyncAPI document holds the schema itself."""
    return f"urn:tablectl:schema:{name}:v1"


class Messages:
    """Makes the messages of one table and one ledger.

    `session` is the ledger's; `prompt_seconds` how long a broker is to keep a prompt.
    """

    def __init__(self, table: TableName, session: str, *, prompt_seconds: int = PROMPT_SECONDS):
        self.session = session
        self.base = f"tablectl/v1/{table}"
        self.source = f"/tablectl/{quote(table.site)}/{quote(table.pit)}/{quote(table.table)}"
        self._prompt_seconds = prompt_seconds
        self._fixed = {
            name: (f"{self.base}/{channel}", channel in RETAINED, type_name(name), schema_name(name))
            for name, channel in (CHANNELS | PUBLISHED).items()
        }

    def of_notice(self, seq: int, body: bytes) -> Message:
        """A notice, entry `seq` of the ledger. Raises `LedgerError` when it is none that this version knows."""
        try:
            head = _head_of(body)
        except msgspec.DecodeError as error:
            raise LedgerError(f"entry {seq} is no notice: {error}") from error
        if head.notice not in CHANNELS:
            raise LedgerError(f"entry {seq} is a notice that this version does not know: {head.notice!r}")
        presence: Literal["online"] | msgspec.UnsetType = "online" if head.notice == "status" else msgspec.UNSET
        return self._message(head.notice, f"{self.session}-{seq}", seq, body, head, presence)

    def of_pin(self, seq: int, body: bytes) -> Message:
        """The pin in force, entry `seq` of the ledger, as `info`.

        Without the standing that was taken over from the day before: in it are the shoe's books, from which one could count the
        cards that remain by rank, and the pit is not to know that.
        """
        try:
            pin = pins.decode(body)
        except (msgspec.DecodeError, ConfigError):
            pin = None
        if pin is not None and pin.carried is not None:
            body = pins.encode(msgspec.structs.replace(pin, carried=None))
        return self._message("info", f"{self.session}-{seq}", seq, body, _Head())

    def of_state(self, seq: int, body: bytes) -> Message:
        """The whole table as it was after entry `seq`. `at` and `round` are taken from it where it has them."""
        try:
            head = _head_of(body)
        except msgspec.DecodeError:
            head = _Head()
        return self._message("state", f"{self.session}-{seq}-state", seq, body, head)

    def of_checkpoint(self, body: bytes) -> Message:
        """The ledger's checkpoint, byte for byte as the ledger keeps it."""
        return Message(f"{self.base}/{CHECKPOINT}", body, True, None)

    def of_aside(self, name: Literal["status", "prompt"], body: bytes, *, seq: int, word: str) -> Message:
        """A notice `status` or `prompt` that is not in the ledger, said after entry `seq`.

        `word` is one that no other such message has: it has no number of its own. Raises `LedgerError` for any other notice.
        """
        try:
            head = _head_of(body)
        except msgspec.DecodeError as error:
            raise LedgerError(f"what is said aside is no notice: {error}") from error
        if head.notice != name:
            raise LedgerError(f"what is said aside is no {name}: {head.notice!r}")
        presence: Literal["online"] | msgspec.UnsetType = "online" if name == "status" else msgspec.UNSET
        return self._message(name, f"{self.session}-aside-{word}", seq, body, head, presence)

    def of_presence(
        self, presence: Literal["online", "offline"], why: str, *, connection: str, seq: int, status: bytes | None, at: str | None
    ) -> Message:
        """The publisher of itself.

        `connection` is a word that no other connection has: what is said of this one is no repeat of what was said of the last.
        `seq` is the entry up to which the broker had been told; `status` the last such notice; `at` None in a last will.
        """
        devices = {} if status is None else _devices_of(status).devices
        body = _encode(Presence(why, devices))
        return self._message("presence", f"{self.session}-{connection}-{presence}", seq, body, _Head(at=at), presence)

    def _message(
        self,
        name: str,
        event: str,
        seq: int,
        body: bytes,
        head: _Head,
        presence: Literal["online", "offline"] | msgspec.UnsetType = msgspec.UNSET,
    ) -> Message:
        topic, retain, type_, schema = self._fixed[name]
        envelope = Envelope(
            id=event,
            source=self.source,
            type=type_,
            subject=msgspec.UNSET if head.round is None else f"round/{head.round}",
            time=msgspec.UNSET if head.at is None else head.at,
            dataschema=schema,
            sequence=f"{seq:012d}",
            presence=presence,
            data=msgspec.Raw(body),
        )
        return Message(topic, _encode(envelope), retain, self._prompt_seconds if name == "prompt" else None)
