"""A reader of a table's topics as others would write one: it resubscribes, and drops repeats by id."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.properties import Properties

from tests.broker import Broker


class Received(NamedTuple):
    topic: str
    payload: bytes
    retained: bool
    expiry: int | None
    content_type: str | None

    @property
    def event(self) -> dict[str, Any]:
        value: dict[str, Any] = msgspec.json.decode(self.payload)
        return value


class _Seen(msgspec.Struct):
    id: str
    data: msgspec.Raw


_seen = msgspec.json.Decoder(_Seen).decode


class Subscriber:
    """Listening from entering the context on. `received` is everything, repeats too, in order of arrival."""

    def __init__(self, broker: Broker, topics: str = "tablectl/v1/#"):
        self.received: list[Received] = []
        self._topics = topics
        self._changed = threading.Condition()
        self._subscribed = threading.Event()
        self._client = client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        client.reconnect_delay_set(1, 2)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect("127.0.0.1", broker.port)

    def _on_connect(self, client: Client, *rest: Any) -> None:
        client.subscribe(self._topics, qos=1)

    def _on_subscribe(self, *rest: Any) -> None:
        self._subscribed.set()

    def _on_message(self, client: Client, data: Any, message: Any) -> None:
        properties: Properties = message.properties
        with self._changed:
            self.received.append(
                Received(
                    message.topic,
                    message.payload,
                    message.retain,
                    getattr(properties, "MessageExpiryInterval", None),
                    getattr(properties, "ContentType", None),
                )
            )
            self._changed.notify_all()

    def notices(self) -> list[bytes]:
        """The notices once by id, in order of their first arrival, as their bytes."""
        once: dict[str, bytes] = {}
        for message in list(self.received):
            seen = _seen(message.payload)
            data = bytes(seen.data)
            if data.startswith(b'{"notice":'):
                once.setdefault(seen.id, data)
        return list(once.values())

    def has(self, count: int) -> bool:
        return len(self.received) >= count

    def on(self, topic: str) -> list[Received]:
        return [message for message in list(self.received) if message.topic.endswith("/" + topic)]

    def wait(self, until: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until something holds; fails when it does not in time. An `IndexError` says that nothing came on a topic yet."""

        def holds() -> bool:
            try:
                return until()
            except IndexError:
                return False

        deadline = time.monotonic() + seconds
        while not holds():
            left = deadline - time.monotonic()
            assert left > 0, f"{len(self.received)} messages came: {[message.topic for message in self.received[-20:]]}"
            with self._changed:
                self._changed.wait(min(left, 0.05))

    def wait_for(self, notices: list[bytes], seconds: float = 10.0) -> None:
        """Wait until as many notices came as there are in `notices`, and see that they are those, in that order."""
        deadline = time.monotonic() + seconds
        while len(self.received) < len(notices) or len(self.notices()) < len(notices):
            assert time.monotonic() < deadline, f"{len(self.notices())} of {len(notices)} notices came"
            with self._changed:
                self._changed.wait(0.2)
        assert self.notices() == notices

    def __enter__(self) -> Self:
        self._client.loop_start()
        assert self._subscribed.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.disconnect()
        self._client.loop_stop()
