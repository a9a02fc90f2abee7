"""Notices as messages: the topics and the envelope of the contract."""

from __future__ import annotations

import re
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl import notices
from tablectl.errors import ConfigError, LedgerError
from tablectl.ledger import pin as pins
from tablectl.ledger.pin import TableName
from tablectl.mqtt.messages import CHANNELS, Messages
from tablectl.notices import Notice
from tests.mqtt.tables import AT, BASE, PIN, TABLE, every_kind

TOPICS = {
    "phase": "evt/phase",
    "status": "status",
    "shoe": "evt/shoe",
    "prompt": "prompt",
    "dealt": "evt/dealt",
    "alert": "evt/alert",
    "outcome": "evt/outcome",
    "round_closed": "evt/round",
}
MESSAGES = Messages(TABLE, "0123456789abcdef")


def opened(payload: bytes) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(payload)
    return value


@pytest.mark.parametrize("notice", every_kind(), ids=lambda notice: type(notice).__name__)
def test_a_notice_in_its_envelope(notice: Notice) -> None:
    body = notices.encode(notice)
    message = MESSAGES.of_notice(1234, body)
    name = opened(body)["notice"]
    assert message.topic == f"{BASE}/{TOPICS[name]}"
    assert message.retain == (name in ("prompt", "status"))
    assert message.expiry == (600 if name == "prompt" else None)
    expected = {
        "specversion": "1.0",
        "id": "0123456789abcdef-1234",
        "source": "/tablectl/Vilnius/pit%202/BJ-7",
        "type": f"org.tablectl.{name}.v1",
        "subject": f"round/{notice.round}",
        "time": notice.at,
        "datacontenttype": "application/json",
        "dataschema": f"urn:tablectl:schema:{name}:v1",
        "sequence": "000000001234",
        "data": opened(body),
    }
    if notice.at is None:
        del expected["time"]
    if name == "status":
        expected["presence"] = "online"
    assert opened(message.payload) == expected
    assert body in message.payload, "the notice is there byte for byte"


def test_every_notice_has_a_channel() -> None:
    assert set(CHANNELS) == {kind.__struct_config__.tag for kind in get_args(Notice)} == set(TOPICS)


def test_the_notice_keeps_bytes_that_another_encoder_would_write_otherwise() -> None:
    body = b'{"notice": "dealt", "at": null, "x": 1.50, "y": "\\u00e9"}'
    assert MESSAGES.of_notice(7, body).payload.endswith(b'"data":' + body + b"}")


def test_attributes_without_a_value_are_left_out_and_not_null() -> None:
    for message in (MESSAGES.of_pin(1, pins.encode(PIN)), MESSAGES.of_state(9, b"{}")):
        event = opened(message.payload)
        assert "time" not in event
        assert "subject" not in event
        assert None not in event.values()


def test_info_is_the_pin_and_state_the_table_both_retained() -> None:
    info, state = MESSAGES.of_pin(1, pins.encode(PIN)), MESSAGES.of_state(9, b'{"at":"%s","round":4}' % AT.encode())
    assert (info.topic, info.retain, info.expiry) == (f"{BASE}/info", True, None)
    assert opened(info.payload)["data"]["house"] == {"name": "lt", "digest": "ab" * 32}
    assert (state.topic, state.retain, state.expiry) == (f"{BASE}/state", True, None)
    event = opened(state.payload)
    assert (event["time"], event["subject"], event["sequence"]) == (AT, "round/4", "000000000009")
    assert event["id"] not in {opened(MESSAGES.of_notice(9, b'{"notice":"dealt"}').payload)["id"], opened(info.payload)["id"]}


def test_info_does_not_tell_the_pit_which_cards_were_drawn_the_day_before() -> None:
    carried = msgspec.structs.replace(PIN, carried='{"books":{"order":"EDMA"}}')
    assert MESSAGES.of_pin(1, pins.encode(carried)).payload == MESSAGES.of_pin(1, pins.encode(PIN)).payload


@pytest.mark.parametrize("body", [b"[]", b'"x"', b'{"at":1}', b'{"round":"?"}'])
def test_a_state_may_be_anything(body: bytes) -> None:
    assert MESSAGES.of_state(9, body).payload.endswith(b'"data":' + body + b"}")


def test_presence_names_the_devices_and_the_connection() -> None:
    status = notices.encode(every_kind()[1])
    online = MESSAGES.of_presence("online", "connected", connection="c0ffee", seq=3, status=status, at=AT)
    offline = MESSAGES.of_presence("offline", "lost", connection="c0ffee", seq=3, status=None, at=None)
    again = MESSAGES.of_presence("online", "connected", connection="decade", seq=3, status=status, at=AT)
    assert online.topic == offline.topic == f"{BASE}/status"
    assert online.retain
    assert offline.retain
    event = opened(online.payload)
    assert event["presence"] == "online"
    assert event["data"] == {
        "why": "connected",
        "devices": {"shoe": {"state": "up", "why": ""}, "pad": {"state": "down", "why": "unplugged"}},
    }
    assert opened(offline.payload)["presence"] == "offline"
    assert len({opened(message.payload)["id"] for message in (online, offline, again)}) == 3


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"{}", b'{"notice":"later"}', b'{"notice":1}', b'{"notice":"dealt","at":5}'])
def test_what_is_no_notice_is_a_fault_of_the_ledger(body: bytes) -> None:
    with pytest.raises(LedgerError, match="entry 7 is"):
        MESSAGES.of_notice(7, body)


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_any_name_is_either_refused_or_makes_a_topic_of_six_levels(site: str, pit: str, table: str) -> None:
    try:
        name = TableName(site, pit, table)
    except ConfigError:
        return
    message = Messages(name, "0" * 16).of_notice(1, b'{"notice":"prompt"}')
    assert message.topic.split("/") == ["tablectl", "v1", site, pit, table, "prompt"]
    assert not re.search("[+#\x00]", message.topic)
    assert re.fullmatch(r"[\x21-\x7e]+", opened(message.payload)["source"]), "a URI reference"


def test_text_order_of_sequences_is_number_order() -> None:
    numbers = [1, 9, 10, 99, 100, 123456789, 999999999999]
    sequences = [opened(MESSAGES.of_notice(number, b'{"notice":"dealt"}').payload)["sequence"] for number in numbers]
    assert sequences == sorted(sequences)
