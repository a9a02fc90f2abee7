"""ONVIF-style events to a broker that a video system listens to. MQTT 3.1.1, as ONVIF asks for; QoS 1, not retained.

Beside the events stands one retained message, whether the feed is there: `Feed/Connection`, whose `State` is `up` or, also by the
last will, `down`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tablectl.feeds.feeding import Unreachable
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.onvif import event
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.export.speaking import Spoken
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.client import Line, Lost, refusal_of
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.messages import QOS

__all__ = ["OnvifEvents"]

SECONDS: Final = 10.0
"""For a broker to let us in, and to acknowledge an event."""


class OnvifEvents:
    """One broker. An event is told when the broker has acknowledged it."""

    def __init__(self, address: Address, credentials: Credentials, options: Options) -> None:
        self.where = str(address)
        self._address = address
        self._credentials = credentials
        self._options = options
        self._line: Line | None = None
        self._connack: Any = None
        self._gone = False
        self._acknowledged: set[int] = set()
        self._table: TableName | None = None

    def tell(self, one: Selected, told: Spoken) -> None:
        """Publish an event and wait for its acknowledgement. Raises `Unreachable`; then it may have been told or not."""
        made = event(one, told, self._options)
        try:
            if self._line is None:
                self._line = self._connect(one.table)
            self._publish(self._line, made.topic, made.payload)
        except Lost as lost:
            self._hang_up()
            raise Unreachable(str(lost)) from lost

    def _connect(self, table: TableName) -> Line:
        line = Line(self._address, self._credentials, f"tablectl-feed-{secrets.token_hex(8)}", v5=False, seconds=SECONDS)
        self._connack, self._gone, self._table = None, False, table
        line.client.on_connect = self._on_connect
        line.client.on_publish = self._on_publish
        line.client.on_disconnect = self._on_disconnect
        line.client.will_set(self._presence_topic(table), _presence(table, "down"), QOS, True)
        try:
            line.connect()
            self._await(line, lambda: self._connack is not None, "it takes connections and does not answer in MQTT 3.1.1")
            refused = refusal_of(self._connack, v5=False)
            if refused is not None:
                raise refused
            line.met()
            self._publish(line, self._presence_topic(table), _presence(table, "up"), retain=True)
        except BaseException:
            line.close(politely=False)
            raise
        return line

    def _publish(self, line: Line, topic: str, payload: bytes, *, retain: bool = False) -> None:
        try:
            number = line.client.publish(topic, payload, QOS, retain).mid
        except Exception as error:  # paho's own faults end the connection, not the feed
            raise Lost(f"the client failed: {error!r}") from error
        self._await(line, lambda: number in self._acknowledged, "it does not acknowledge what it is told")
        self._acknowledged.discard(number)

    def _await(self, line: Line, done: Callable[[], bool], otherwise: str) -> None:
        until = time.monotonic() + SECONDS
        while not done():
            left = until - time.monotonic()
            if left <= 0:
                raise Lost(otherwise)
            line.turn(min(left, 0.1))
            if self._gone and not done():
                raise Lost("the connection broke")

    def _presence_topic(self, table: TableName) -> str:
        prefix = (self._options.prefix or str(table)).strip("/")
        return f"{prefix}/onvif-ej/tns:tablectl/Feed/Connection/&{table.table}"

    def rest(self, seconds: float) -> None:
        """Wait; the connection is kept alive, and one that broke is let go of."""
        until = time.monotonic() + seconds
        if self._line is not None:
            try:
                self._line.turn(seconds)
                if self._gone:
                    self._hang_up()
            except Lost:
                self._hang_up()
        time.sleep(max(0.0, until - time.monotonic()))

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close(politely=False)
            self._line = None
        self._acknowledged.clear()

    def close(self) -> None:
        """Say that the feed ends, and hang up."""
        if self._line is not None and self._table is not None:
            try:
                self._publish(self._line, self._presence_topic(self._table), _presence(self._table, "down"), retain=True)
            except Lost:
                self._hang_up()
            else:
                self._line.close()
                self._line = None

    # paho's callbacks, called within `turn`: they cannot raise.

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._connack = reason

    def _on_publish(self, client: Any, data: Any, mid: int, reason: Any, properties: Any) -> None:
        self._acknowledged.add(mid)

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._gone = True


def _presence(table: TableName, state: str) -> bytes:
    return msgspec.json.encode({"Source": {"Table": str(table)}, "Data": {"State": state}})
