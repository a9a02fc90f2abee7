"""Addresses of brokers as people type them."""

from __future__ import annotations

import pytest

from tablectl.errors import UsageError
from tablectl.mqtt.address import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("mqtt://127.0.0.1:1884", Address("127.0.0.1", 1884)),
        ("mqtt://broker.casino.example", Address("broker.casino.example", 1883)),
        ("mqtts://broker/", Address("broker", 8883, tls=True)),
        ("MQTT://broker", Address("broker", 1883)),
        ("mqtt://[::1]:1884", Address("::1", 1884)),
        ("mqtt://bj7:s%40cret%2F@broker", Address("broker", 1883, user="bj7", password="s@cret/")),
        ("mqtt://bj7@broker", Address("broker", 1883, user="bj7")),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "broker",
        "broker:1883",
        "http://broker",
        "mqtt://",
        "mqtt://:1883",
        "mqtt://broker:0",
        "mqtt://broker:65536",
        "mqtt://broker:port",
        "mqtt://broker/topic",
        "mqtt://broker?x=1",
        "mqtt://broker#x",
        "mqtt://:hunter2@broker",
        "mqtt://bro ker",
        "mqtt://[::1",
    ],
)
def test_nonsense_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Address.parse(text)
    assert str(caught.value).startswith("no broker address: ")


def test_no_printed_form_shows_a_password() -> None:
    address = Address.parse("mqtts://bj7:hunter2@[::1]:1")
    assert str(address) == "mqtts://[::1]:1"
    assert "hunter2" not in repr(address)
    with pytest.raises(UsageError) as caught:
        Address.parse("mqtt://bj7:hunter2@broker/x")
    assert "hunter2" not in str(caught.value)
