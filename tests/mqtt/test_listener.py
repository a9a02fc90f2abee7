"""A subscriber that is driven by hand, at a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from paho.mqtt.publish import multiple

from tablectl.errors import BrokerError
from tablectl.mqtt.address import Address
from tablectl.mqtt.listener import Listener
from tests.broker import Broker, free_port

TOPIC = "tablectl/v1/site/pit/table"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker") as running:
        yield running


def publish(broker: Broker, *payloads: str, retain: bool = False) -> None:
    multiple([(f"{TOPIC}/evt/dealt", payload, 1, retain) for payload in payloads], hostname="127.0.0.1", port=broker.port)


def heard(listener: Listener, count: int) -> list[tuple[str, bytes, bool]]:
    found: list[tuple[str, bytes, bool]] = []
    deadline = time.monotonic() + 10
    while len(found) < count and time.monotonic() < deadline:
        found += listener.turn(1.0)
    return found


def test_it_hears_everything_from_the_moment_it_exists(broker: Broker) -> None:
    with Listener(Address.parse(broker.url), f"{TOPIC}/#") as listener:
        words = [f"card {number}" for number in range(2000)]
        publish(broker, *words)  # before the first turn
        assert heard(listener, len(words)) == [(f"{TOPIC}/evt/dealt", word.encode(), False) for word in words]
        assert listener.turn(0.0) == []


def test_what_was_retained_is_marked_so(broker: Broker) -> None:
    publish(broker, "kept", retain=True)
    with Listener(Address.parse(broker.url), f"{TOPIC}/#") as listener:
        assert heard(listener, 1) == [(f"{TOPIC}/evt/dealt", b"kept", True)]


def test_a_turn_waits_no_longer_than_it_is_told(broker: Broker) -> None:
    with Listener(Address.parse(broker.url), f"{TOPIC}/#") as listener:
        began = time.monotonic()
        assert listener.turn(0.3) == []
        assert 0.3 <= time.monotonic() - began < 2.0


def test_a_broker_that_is_not_there() -> None:
    address = Address.parse(f"mqtt://127.0.0.1:{free_port()}")
    with pytest.raises(BrokerError) as raised:
        Listener(address, "#")
    assert str(raised.value) == f"{address}: cannot be reached: Connection refused"


def test_a_broker_that_refuses(tmp_path: Path) -> None:
    with Broker(tmp_path / "closed", settings="allow_anonymous false") as closed, pytest.raises(BrokerError, match="refuses"):
        Listener(Address.parse(closed.url), "#")


def test_a_broker_that_does_not_answer(broker: Broker) -> None:
    broker.freeze()
    with pytest.raises(BrokerError, match="does not answer"):
        Listener(Address.parse(broker.url), "#", seconds=0.3)
    broker.thaw()


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_broker_that_goes(how: str, broker: Broker) -> None:
    with Listener(Address.parse(broker.url), "#") as listener:
        getattr(broker, how)()
        with pytest.raises(BrokerError, match="the connection broke"):
            heard(listener, 1)
