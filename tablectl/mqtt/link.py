"""One connection to a broker, driven by the thread that made it. The only importer of paho.

paho frames packets; nothing else of it is relied on. Every connection has a new client, so that nothing ever waits in paho's own
queue, which drops or refuses when it is full, and nothing is sent again behind our back. Its loop is turned here, since its own
thread dies of an exception while it still says it is connected. Its callbacks set fields and append to a list: they cannot raise.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from paho.mqtt.client import Client, error_string
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from tablectl.mqtt.address import Address
from tablectl.mqtt.messages import CONTENT_TYPE, KEEPALIVE, QOS, Message

__all__ = ["Link", "Lost", "Refused", "Silent"]

_VERSION_UNSUPPORTED = 0x84
_TAKEN_OVER = 0x8E
_NOBODY_LISTENS = 0x10
_NEVER = frozenset({0x85, 0x86, 0x87, 0x8A, 0x8C})
"""Answers to a CONNECT that waiting does not mend: client id, user or password, no rights, banned, method."""


class Lost(Exception):
    """The connection is gone or never came about; the text says why, for a person."""


class Silent(Lost):
    """Something took the connection and gave no CONNACK that could be read: perhaps it does not speak this version of MQTT.

    `for_good` when the broker said that it does not.
    """

    def __init__(self, why: str, *, for_good: bool = False):
        super().__init__(why)
        self.for_good = for_good


class Refused(Lost):
    """The broker knows us and does not want us: trying again soon is of no use."""


class Link:
    """An open connection, from a successful CONNACK on.

    `answers` are the acknowledgements that were not yet taken: the packet's number, and whether anybody has subscribed to that
    message (None where the broker does not tell). `room` is how many messages the broker lets be under way.

    `v5` chooses between MQTT 5 and 3.1.1; `seconds` bounds the making of the connection, and again the wait for the CONNACK;
    `wake` is a descriptor that becomes readable when `turn` shall return; `trust` what a broker's certificate is held against
    where the address asks for TLS; `given_up` says that nobody wants the connection any more. Raises `Lost`, `Silent`, `Refused`.
    """

    def __init__(
        self,
        address: Address,
        client_id: str,
        will: Message,
        *,
        v5: bool,
        seconds: float,
        wake: int,
        trust: ssl.SSLContext | None,
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
        self._poll = select.poll()
        self._client = client = Client(
            CallbackAPIVersion.VERSION2,
            client_id,
            clean_session=None if v5 else True,
            protocol=MQTTProtocolVersion.MQTTv5 if v5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
        )
        client.connect_timeout = seconds
        client.max_inflight_messages = 65535
        client.on_connect = self._on_connect
        client.on_publish = self._on_publish
        client.on_disconnect = self._on_disconnect
        if address.user is not None:
            client.username_pw_set(address.user, address.password)
        client.will_set(will.topic, will.payload, QOS, will.retain, self._properties_of(will.expiry, PacketTypes.WILLMESSAGE))
        try:
            if trust is not None:
                client.tls_set_context(trust)
            self._connect(address)
            self._await_connack(time.monotonic() + seconds, given_up)
        except BaseException:
            self.close()
            raise

    def _connect(self, address: Address) -> None:
        # No session is kept: what was under way when a connection broke is told again from the ledger's cursor.
        keep_nothing: dict[str, Any] = {}
        if self._v5:
            keep_nothing = {"clean_start": True, "properties": Properties(PacketTypes.CONNECT)}  # type: ignore[no-untyped-call]
            keep_nothing["properties"].SessionExpiryInterval = 0
        try:
            self._client.connect(address.host, address.port, KEEPALIVE, **keep_nothing)
        except ssl.SSLCertVerificationError as error:
            raise Refused(f"its certificate is not trusted: {error.verify_message}") from error
        except (OSError, ValueError) as error:
            raise Lost((error.strerror if isinstance(error, OSError) else None) or str(error) or "timed out") from error
        sock = self._client.socket()
        if isinstance(sock, socket.socket):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _await_connack(self, deadline: float, given_up: Callable[[], bool]) -> None:
        version = "MQTT 5" if self._v5 else "MQTT 3.1.1"
        while self._connack is None:
            left = deadline - time.monotonic()
            if left <= 0 or given_up():
                raise Silent(f"it takes connections and does not answer in {version}")
            try:
                self.turn(min(left, 0.1), until_woken=False)
            except Lost as lost:
                if self._connack is None:
                    raise Silent(f"it hangs up when spoken to in {version}: {lost}") from None
        if not self._connack.is_failure:
            return
        why = str(self._connack)
        if self._connack.value == _VERSION_UNSUPPORTED:
            raise Silent(f"it does not speak {version}", for_good=True)
        raise (Refused if self._connack.value in _NEVER else Lost)(f"it refuses the connection: {why}")

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
        client = self._client
        sock = client.socket()
        if sock is None:
            raise self._loss("the connection was closed")
        number = sock.fileno()
        self._poll.register(number, select.POLLIN | (select.POLLOUT if client.want_write() else 0))
        if until_woken:
            self._poll.register(self._wake, select.POLLIN)
        held_back = isinstance(sock, ssl.SSLSocket) and sock.pending()  # already out of the socket, so poll() would not tell
        ready = dict(self._poll.poll(0 if held_back else max(0.0, seconds) * 1000))
        self._poll.unregister(number)
        if until_woken:
            self._poll.unregister(self._wake)
        try:
            if held_back or ready.get(number, 0) & ~select.POLLOUT:
                client.loop_read()
            if client.want_write():
                client.loop_write()
            client.loop_misc()
        except Exception as error:  # as in publish
            raise Lost(f"the client failed: {error!r}") from error
        if self._gone is not None or self._refusal is not None:
            raise self._loss("the connection broke")
        return self._wake in ready

    def close(self, *, politely: bool = False) -> None:
        """Hang up. `politely` keeps the broker from publishing the last will."""
        self._client.on_disconnect = None
        if politely:
            self._client.disconnect()
        sock = self._client.socket()
        if sock is not None:
            sock.close()

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
            self.answers.append((mid, reason.value != _NOBODY_LISTENS if self._v5 else None))

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Any) -> None:
        if reason.value == _TAKEN_OVER:
            self._refusal = "another client took our place: is a second tablectl running for this table?"
        told = flags.is_disconnect_packet_from_server
        self._gone = self._gone or (f"it ended the connection: {reason}" if told else "the connection broke")


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
