"""A connection on which one listens and answers, driven by the thread that made it: for commands, beside `link` and `listener`.

Over a client of `tablectl.mqtt.client`; paho's callbacks only set fields and append: they cannot raise. What is kept is
bounded: a few messages under way in each direction, and behind them a queue that says when it is full.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from paho.mqtt.client import Client, error_string
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from tablectl.mqtt.address import Address
from tablectl.mqtt.client import Line, Lost, Refused, Silent, refusal_of
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.judgement import Arrived, Reply
from tablectl.mqtt.messages import QOS
from tablectl.mqtt.orders import LONGEST

__all__ = ["Talk", "open_talk"]

_LARGEST: Final = 1 << 20
"""The longest packet that an MQTT 5 broker may hand us, in bytes; it drops longer ones itself."""
_UNDER_WAY: Final = 20
_UNSENT: Final = 256
_TOGETHER: Final = 32
_HELD: Final = 64 * 1024
_ANSWER_SECONDS: Final = 60


class Talk:
    """A connection that has subscribed to `topics`, from the broker's word for that on. Raises `Lost`, `Silent`, `Refused`.

    `wake` is a descriptor that becomes readable when `turn` shall return. `arrived` are the messages that were not yet taken,
    `hears` the topics to which it listens at the moment. `acknowledged` is what the broker said of each message that was
    published, by its number. Where `wake` is given we are a table to which strangers write: then a message of more than `LONGEST`
    bytes has no payload, and nobody asks what was acknowledged.
    """

    def __init__(
        self,
        address: Address,
        credentials: Credentials | None,
        client_id: str,
        topics: str,
        *,
        v5: bool,
        seconds: float,
        wake: int | None = None,
    ):
        self.v5 = v5
        self.arrived: deque[Arrived] = deque()
        self.acknowledged: dict[int, ReasonCode] = {}
        self._topics = topics
        self.hears = [topics]
        self._wake = wake
        self._ready = False
        self._trouble: Lost | None = None
        self._line = Line(address, credentials, client_id, v5=v5, seconds=seconds)
        self._client = client = self._line.client
        client.max_inflight_messages_set(_UNDER_WAY)
        client.max_queued_messages_set(_UNSENT)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        client.on_disconnect = self._on_disconnect
        try:
            self._line.connect(ReceiveMaximum=_UNDER_WAY, MaximumPacketSize=_LARGEST)
            sock = client.socket()
            if wake is not None and isinstance(sock, socket.socket):
                # The kernel would hold megabytes of somebody's flood, and a command behind it for half a minute.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _HELD)
            deadline = time.monotonic() + seconds
            while not self._ready:
                if (left := deadline - time.monotonic()) <= 0:
                    raise Silent(f"it does not answer in MQTT {'5' if v5 else '3.1.1'}")
                self.turn(min(left, 0.1))
        except BaseException:
            self.close()
            raise

    def turn(self, seconds: float) -> None:
        """Wait at most `seconds` for the broker, or for `wake`, and do what there is to do. Raises `Lost`."""
        try:
            before = len(self.arrived)
            self._line.turn(seconds, self._wake)
            for _ in range(_TOGETHER):  # where one has come there often are more, and each look at the socket costs as much again
                if len(self.arrived) == before or self._trouble is not None:
                    break
                before = len(self.arrived)
                self._line.read()
        except Refused:
            raise
        except Lost as lost:
            raise self._trouble or lost from lost
        if self._trouble is not None:
            raise self._trouble

    def publish(self, reply: Reply, payload: bytes, *, response_topic: str | None = None) -> int | None:
        """Hand a message to the socket and give its packet number; None where too much is under way. Raises `Lost`."""
        properties = None
        if self.v5:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.ContentType = "application/json"
            properties.MessageExpiryInterval = _ANSWER_SECONDS
            if reply.correlation is not None:
                properties.CorrelationData = reply.correlation
            if response_topic is not None:
                properties.ResponseTopic = response_topic
        try:
            sent = self._client.publish(reply.topic, payload, QOS, False, properties)
        except Exception as error:
            raise Lost(f"the client failed: {error!r}") from error
        if sent.rc == MQTTErrorCode.MQTT_ERR_QUEUE_SIZE:
            return None
        if sent.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise self._trouble or Lost(error_string(sent.rc))
        return sent.mid

    def hear(self, topics: Sequence[str]) -> None:
        """Listen to these topics, and to no other any more. Raises `Lost`."""
        more = [topic for topic in topics if topic not in self.hears]
        over = [topic for topic in self.hears if topic not in topics]
        try:
            if more:  # first: nothing falls in between
                self._subscribe(more)
            if over:
                self._client.unsubscribe(over)
        except Exception as error:
            raise Lost(f"the client failed: {error!r}") from error
        self.hears = [*topics]

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    # paho's callbacks, called within `publish` and `turn`.

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: ReasonCode, properties: Any) -> None:
        self._line.met()
        refused = refusal_of(reason, v5=self.v5)
        if refused is not None:
            self._trouble = refused
        else:
            self._subscribe(self.hears)

    def _subscribe(self, topics: Sequence[str]) -> None:
        if self.v5:
            # As published: so that a command which somebody retains is seen for what it is at once, not only at the next start.
            options = SubscribeOptions(qos=QOS, noLocal=True, retainAsPublished=True, retainHandling=2 if self._ready else 0)
            self._client.subscribe([(topic, options) for topic in topics])
        else:
            self._client.subscribe([(topic, QOS) for topic in topics])

    def _on_subscribe(self, client: Client, data: Any, mid: int, reasons: list[ReasonCode], properties: Any) -> None:
        refused = [reason for reason in reasons if reason.is_failure]
        if refused:
            self._trouble = Refused(f"it refuses a subscription to {self._topics}: {refused[0]}")
        self._ready = True

    def _on_message(self, client: Client, data: Any, message: Any) -> None:
        properties = message.properties if self.v5 else None
        payload: bytes | None = message.payload if len(message.payload) <= LONGEST or self._wake is None else None
        try:
            topic = message.topic
        except UnicodeDecodeError:  # a broker that hands such on is itself at fault
            topic = ""
        self.arrived.append(
            Arrived(
                topic,
                payload,
                bool(message.retain),
                getattr(properties, "ResponseTopic", None),
                getattr(properties, "CorrelationData", None),
            )
        )

    def _on_publish(self, client: Client, data: Any, mid: int, reason: ReasonCode, properties: Any) -> None:
        if self._wake is None:  # who listens for commands does not ask what became of an answer
            self.acknowledged[mid] = reason

    def _on_disconnect(self, client: Client, data: Any, flags: Any, reason: ReasonCode, properties: Any) -> None:
        told = flags.is_disconnect_packet_from_server
        self._trouble = self._trouble or Lost(f"it ended the connection: {reason}" if told else "the connection broke")


def open_talk(
    address: Address, credentials: Credentials | None, client_id: str, topics: str, seconds: float, wake: int | None = None
) -> Talk:
    """MQTT 5, else 3.1.1."""
    try:
        return Talk(address, credentials, client_id, topics, v5=True, seconds=seconds, wake=wake)
    except Silent:
        return Talk(address, credentials, client_id, topics, v5=False, seconds=seconds, wake=wake)
