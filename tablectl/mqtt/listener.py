"""A reader of a table's topics, driven by the thread that made it: nothing arrives but within `turn`, and no thread is started.

It is for short and watched use, such as a demonstration: it does not come back when the broker goes, and drops no repeats.
"""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType
from typing import Any, NamedTuple, Self

from paho.mqtt.client import Client, error_string
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode

from tablectl.errors import BrokerError
from tablectl.mqtt.address import Address
from tablectl.mqtt.client import Line, Lost
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.messages import QOS

__all__ = ["Heard", "Listener"]


class Heard(NamedTuple):
    """A message. `retained`: the broker had kept it from before we listened."""

    topic: str
    payload: bytes
    retained: bool


class Listener:
    """Listening to `topics` (an MQTT filter) from the moment it exists: connected, and subscribed to by the broker's own word.

    `seconds` bounds the wait for the broker. Raises `BrokerError` when it cannot be reached, refuses or does not answer, and
    `ConfigError` when a file of `credentials` cannot be used.
    """

    def __init__(self, address: Address, topics: str, *, credentials: Credentials | None = None, seconds: float = 10.0):
        self._where = str(address)
        self._topics = topics
        self._heard: deque[Heard] = deque()
        self._subscribed = False
        self._trouble: str | None = None
        self._line = Line(address, credentials, "", v5=True, seconds=seconds)
        self._client = client = self._line.client
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        if credentials is not None:
            credentials.check(address)
        try:
            self._line.connect()
        except Lost as lost:
            raise BrokerError(f"cannot be reached: {lost}", where=self._where) from lost
        try:
            self._await(time.monotonic() + seconds)
        except BaseException:
            self.close()
            raise

    def _await(self, deadline: float) -> None:
        while not self._subscribed:
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrokerError("does not answer a subscriber", where=self._where)
            self._loop(left)

    def turn(self, seconds: float) -> list[Heard]:
        """What has arrived, waiting at most `seconds` for the first of it. Raises `BrokerError` when the broker is gone."""
        deadline = time.monotonic() + seconds
        self._loop(0.0)
        while not self._heard and (left := deadline - time.monotonic()) > 0:
            self._loop(left)
        heard = list(self._heard)
        self._heard.clear()
        return heard

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _loop(self, seconds: float) -> None:
        outcome = self._client.loop(seconds)
        if self._line.alert is not None:
            raise BrokerError(f"cannot be reached: {self._line.alert}", where=self._where)
        if self._trouble is not None:
            raise BrokerError(self._trouble, where=self._where)
        if outcome != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise BrokerError(f"the connection broke: {error_string(outcome)}", where=self._where)

    # paho's callbacks, called within `loop`. They set fields and append: they cannot raise.

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: ReasonCode, properties: Any) -> None:
        self._line.met()
        if reason.is_failure:
            self._trouble = f"refuses a subscriber: {reason}"
        else:
            client.subscribe(self._topics, qos=QOS)

    def _on_subscribe(self, client: Client, data: Any, mid: int, reasons: list[ReasonCode], properties: Any) -> None:
        refused = [reason for reason in reasons if reason.is_failure]
        if refused:
            self._trouble = f"refuses a subscription to {self._topics}: {refused[0]}"
        else:
            self._subscribed = True

    def _on_message(self, client: Client, data: Any, message: Any) -> None:
        self._heard.append(Heard(message.topic, message.payload, message.retain))
