"""A client with a certificate, as the broker sees one: what it hears, and what the broker says of what it publishes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.broker import Broker
from tests.tls_broker import Pair, TlsBroker

__all__ = ["NOBODY", "REFUSED", "SUCCESS", "Guest"]

SUCCESS, NOBODY, REFUSED = 0x00, 0x10, 0x87
"""MQTT 5's reason codes: taken; taken, and nobody has subscribed to it; the access list says no."""


class Guest:
    """A client that shows `pair`, if the broker speaks TLS. `received` is what it heard; `publish` gives the reason code."""

    def __init__(self, broker: Broker, pair: Pair | None, *topics: str, session: str | None = None):
        self.received: list[MQTTMessage] = []
        self._topics = topics
        self._changed = threading.Condition()
        self._codes: dict[int, int] = {}
        self._ready = threading.Event()
        self._refused: str | None = None
        self._out = False
        self._client = client = Client(
            CallbackAPIVersion.VERSION2, session or "", protocol=MQTTProtocolVersion.MQTTv5, reconnect_on_failure=False
        )
        client.max_inflight_messages_set(100)
        if isinstance(broker, TlsBroker):
            client.tls_set_context(broker.site.context(pair))
        client.on_connect = self._on_connect
        client.on_connect_fail = lambda *rest: self._ready.set()
        client.on_subscribe = lambda *rest: self._ready.set()
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        client.on_disconnect = self._on_disconnect
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 3600 if session else 0
        client.connect("127.0.0.1", broker.port, clean_start=session is None, properties=properties)

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._refused = str(reason)
        elif self._topics:
            client.subscribe([(topic, 1) for topic in self._topics])
            return
        self._ready.set()

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        with self._changed:
            self.received.append(message)
            self._changed.notify_all()

    def _on_publish(self, client: Client, data: Any, mid: int, reason: Any, properties: Any) -> None:
        with self._changed:
            self._codes[mid] = reason.value
            self._changed.notify_all()

    def _on_disconnect(self, *rest: Any) -> None:
        with self._changed:
            self._out = True
            self._changed.notify_all()

    def send(self, topic: str, payload: bytes = b"x", *, retain: bool = False, properties: Properties | None = None) -> int:
        return self._client.publish(topic, payload, 1, retain, properties).mid

    def publish(self, topic: str, payload: bytes = b"x", *, retain: bool = False, properties: Properties | None = None) -> int:
        number = self.send(topic, payload, retain=retain, properties=properties)
        self.wait(lambda: number in self._codes)
        return self._codes[number]

    def acknowledged(self, count: int) -> bool:
        return len(self._codes) >= count

    def wait(self, until: Callable[[], bool], seconds: float = 10.0) -> None:
        deadline = time.monotonic() + seconds
        with self._changed:
            while not until():
                left = deadline - time.monotonic()
                assert left > 0, f"{len(self.received)} messages came, {len(self._codes)} were acknowledged"
                self._changed.wait(left)

    def wait_until_out(self) -> None:
        """Wait until the broker has ended the connection."""
        self.wait(lambda: self._out)

    def heard(self, count: int, seconds: float = 10.0) -> list[tuple[str, bytes]]:
        """The first `count` messages."""
        self.wait(lambda: len(self.received) >= count, seconds)
        return [(message.topic, bytes(message.payload)) for message in self.received]

    def __enter__(self) -> Self:
        self._client.loop_start()
        assert self._ready.wait(10)
        assert self._refused is None, self._refused
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.disconnect()
        self._client.loop_stop()
