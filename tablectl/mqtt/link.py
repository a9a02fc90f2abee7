"""One connection on which a table tells, over a client of `tablectl.mqtt.client`, driven by the thread that made it.

paho's callbacks set fields and append to a list: they cannot raise.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from paho.mqtt.client import error_string
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from tablectl.mqtt.address import Address
from tablectl.mqtt.client import NOBODY_LISTENS, Line, Lost, Refused, Silent, refusal_of
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.messages import CONTENT_TYPE, QOS, Message

__all__ = ["Link", "open_link"]

_TAKEN_OVER = 0x8E


class Link:
    """An open connection, from a successful CONNACK on.

    `answers` are the acknowledgements that were not yet taken: the packet's number, and whether anybody has subscribed to that
    message (None where the broker does not tell). `room` is how many messages the broker lets be under way.

    `v5` chooses between MQTT 5 and 3.1.1; `seconds` bounds the making of the connection, and again the wait for the CONNACK;
    `wake` is a descriptor that becomes readable when `turn` shall return; `given_up` says that nobody wants the connection any
    more. Raises `Lost`, `Silent`, `Refused`.
    """

    def __init__(
        self,
        address: Address,
        credentials: Credentials | None,
        client_id: str,
        will: Message,
        *,
        v5: bool,
        seconds: float,
        wake: int,
        given_up: Callable[[], bool],
    ):
        self.answers: deque[tuple[int, bool | None]] = deque()
        self.room = 65535
        self._largest = 268435455
        self._v5 = v5
        self._wake = wake
        self._connack: ReasonCode | None = None
        self._gone: str | None = None
        self._refusal: str | None = None
        self._topics: dict[int, str] = {}
        self._properties: dict[int | None, Properties] = {}
        self._line = Line(address, credentials, client_id, v5=v5, seconds=seconds)
        self._client = client = self._line.client
        client.max_inflight_messages = 65535
        client.on_connect = self._on_connect
        client.on_publish = self._on_publish
        client.on_disconnect = self._on_disconnect
        client.will_set(will.topic, will.payload, QOS, will.retain, self._properties_of(will.expiry, PacketTypes.WILLMESSAGE))
        try:
            self._line.connect()
            self._await_connack(time.monotonic() + seconds, given_up)
        except BaseException:
            self.close()
            raise

    def _await_connack(self, deadline: float, given_up: Callable[[], bool]) -> None:
        version = "MQTT 5" if self._v5 else "MQTT 3.1.1"
        while self._connack is None:
            left = deadline - time.monotonic()
            if left <= 0 or given_up():
                raise Silent(f"it takes connections and does not answer in {version}")
            try:
                self.turn(min(left, 0.1), until_woken=False)
            except Refused:
                raise
            except Lost as lost:
                if self._connack is None:
                    raise Silent(f"it hangs up when spoken to in {version}: {lost}") from None
        refused = refusal_of(self._connack, v5=self._v5)
        if refused is not None:
            raise refused
        self._line.met()

    def publish(self, message: Message) -> int:
        """Hand a message to the socket and give its packet number. Raises `Lost`; then it may have been sent or not."""
        if len(message.payload) + len(message.topic) + 64 > self._largest:
            raise Refused(f"it takes no message of {len(message.payload)} bytes, such as one for {message.topic}")
        properties = self._properties_of(message.expiry, PacketTypes.PUBLISH)
        try:
            sent = self._client.publish(message.topic, message.payload, QOS, message.retain, properties)
        except Exception as error:  # paho's own faults end the connection, never the thread
            raise Lost(f"the client failed: {error!r}") from error
        if sent.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise self._loss(error_string(sent.rc))
        self._topics[sent.mid] = message.topic
        return sent.mid

    def turn(self, seconds: float, *, until_woken: bool = True) -> bool:
        """Wait at most `seconds` for the broker, or for `wake`, and do what there is to do. Raises `Lost`.

        True: `wake` is readable.
        """
        try:
            woken = self._line.turn(seconds, self._wake if until_woken else None)
        except Refused:
            raise
        except Lost as lost:
            raise self._loss(str(lost)) from lost
        if self._gone is not None or self._refusal is not None:
            raise self._loss("the connection broke")
        return woken

    def close(self, *, politely: bool = False) -> None:
        """Hang up. `politely` keeps the broker from publishing the last will."""
        self._line.close(politely=politely)

    def _loss(self, why: str) -> Lost:
        if self._refusal is not None:
            return Refused(self._refusal)
        return Lost(self._gone or why)

    def _properties_of(self, expiry: int | None, packet: int) -> Properties | None:
        if not self._v5:
            return None
        key = None if packet == PacketTypes.WILLMESSAGE else expiry or 0
        made = self._properties.get(key)
        if made is None:
            made = self._properties[key] = _Packed(packet, expiry)
        return made

    # paho's callbacks, called within `publish` and `turn`.

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Properties | None) -> None:
        self._connack = reason
        self.room = getattr(properties, "ReceiveMaximum", self.room)
        self._largest = getattr(properties, "MaximumPacketSize", self._largest)

    def _on_publish(self, client: Any, data: Any, mid: int, reason: ReasonCode, properties: Any) -> None:
        topic = self._topics.pop(mid, "a topic")
        if reason.is_failure:
            self._refusal = f"it refuses what is said on {topic}: {reason}"
        else:
            self.answers.append((mid, reason.value != NOBODY_LISTENS if self._v5 else None))

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Any) -> None:
        if reason.value == _TAKEN_OVER:
            self._refusal = "another client took our place: is a second tablectl running for this table?"
        told = flags.is_disconnect_packet_from_server
        self._gone = self._gone or (f"it ended the connection: {reason}" if told else "the connection broke")


def open_link(
    address: Address,
    credentials: Credentials | None,
    client_id: str,
    will: Message,
    *,
    versions: list[int],
    seconds: float,
    wake: int,
    given_up: Callable[[], bool],
) -> Link:
    """A connection in the first of `versions` (5; 3 for 3.1.1) that the broker speaks; one it says it does not is removed."""
    last = Lost("nothing was tried")
    for version in list(versions):
        try:
            return Link(address, credentials, client_id, will, v5=version == 5, seconds=seconds, wake=wake, given_up=given_up)
        except Silent as silent:
            if silent.for_good and len(versions) > 1:
                versions.remove(version)
            last = silent
            if given_up():
                break
    raise last


class _Packed(Properties):
    """A message's properties, put into bytes once: paho does it anew for each message, which costs more than the rest of it."""

    def __init__(self, packet: int, expiry: int | None):
        super().__init__(packet)  # type: ignore[no-untyped-call]
        self.ContentType = CONTENT_TYPE
        if expiry is not None:
            self.MessageExpiryInterval = expiry
        object.__setattr__(self, "_bytes", super().pack())  # type: ignore[no-untyped-call]

    def pack(self) -> bytes:
        """The properties as they go over the wire."""
        packed: bytes = object.__getattribute__(self, "_bytes")
        return packed
