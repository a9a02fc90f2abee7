"""The AsyncAPI document: kept up to date, whole, and true to what the code sends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from tablectl import notices, observations
from tablectl.ledger import pin as pins
from tablectl.ledger.published import published
from tablectl.mqtt import asyncapi
from tablectl.mqtt.identity import sealed
from tablectl.mqtt.messages import CHANNELS, PUBLISHED, Messages
from tablectl.notices import Notice
from tests.mqtt.tables import AT, PIN, STATE, TABLE, every_kind

KEPT = Path(__file__).parents[2] / "docs" / "asyncapi.json"
DOCUMENT = asyncapi.document()
MESSAGES = Messages(TABLE, "0123456789abcdef")


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(asyncapi.message_schema(name), format_checker=FormatChecker())


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(part)


def target(reference: str) -> Any:
    found: Any = DOCUMENT
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found


def test_the_kept_document_is_what_the_types_make() -> None:
    assert KEPT.read_text() == asyncapi.printed(DOCUMENT), "run: python -m tablectl.mqtt.asyncapi > docs/asyncapi.json"


def test_it_is_printed_on_demand() -> None:
    command = [sys.executable, "-m", "tablectl.mqtt.asyncapi"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == KEPT.read_text()
    wrong = subprocess.run([*command, "openapi"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "notice" in wrong.stderr


def test_every_reference_leads_somewhere() -> None:
    references = [part["$ref"] for part in walk(DOCUMENT) if "$ref" in part]
    assert len(references) > 40
    for reference in references:
        assert isinstance(target(reference), dict), reference


def test_what_asyncapi_3_requires_is_there() -> None:
    assert DOCUMENT["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= set(DOCUMENT["info"])
    for server in DOCUMENT["servers"].values():
        assert {"host", "protocol"} <= set(server)
        assert all("{" + name + "}" in server["host"] for name in server["variables"])
    for channel in DOCUMENT["channels"].values():
        parameters = {part[1:-1] for part in channel["address"].split("/") if part.startswith("{")}
        assert set(channel["parameters"]) == parameters
        assert parameters - {"client", "person"} == {"site", "pit", "table"}
    for name, operation in DOCUMENT["operations"].items():
        assert operation["action"] == name.partition("_")[0]
        assert operation["action"] in ("send", "receive")
        assert ("reply" in operation) == (operation["action"] == "receive")
        channel = target(operation["channel"]["$ref"])
        for message in operation["messages"]:
            assert message["$ref"].startswith(operation["channel"]["$ref"] + "/messages/")
            assert message["$ref"].split("/")[-1] in channel["messages"]


def test_every_topic_of_this_version_is_a_channel() -> None:
    asked = ("ruling", "ack", "table", "seat", "bet", "shoe", "proof")
    commands = [f"cmd/{name}" for name in asked] + [f"cmd/{name}/{{person}}" for name in asked]
    events = ["evt/" + name for name in ("dealt", "outcome", "alert", "round", "phase", "shoe")]
    assert {channel["address"] for channel in DOCUMENT["channels"].values()} == {
        "tablectl/v1/{site}/{pit}/{table}/" + name
        for name in ["status", "info", "state", "prompt", "audit/checkpoint", *events, *commands, "reply/{client}"]
    }


@pytest.mark.parametrize("notice", every_kind(), ids=lambda notice: type(notice).__name__)
def test_every_kind_of_notice_is_valid_and_a_spoiled_one_is_not(notice: Notice) -> None:
    payload: dict[str, Any] = msgspec.json.decode(MESSAGES.of_notice(5, notices.encode(notice)).payload)
    name = payload["data"]["notice"]
    validator(name).validate(payload)
    spoiled: list[dict[str, Any]] = [{**payload, field: None} for field in payload]
    spoiled += [{key: value for key, value in payload.items() if key != field} for field in ("id", "source", "type", "data")]
    spoiled += [{**payload, "data": {**payload["data"], field: {"no": []}}} for field in payload["data"] if field != "operands"]
    required = ["notice", *(field.encode_name for field in msgspec.structs.fields(notice) if field.required)]
    spoiled += [{**payload, "data": {k: v for k, v in payload["data"].items() if k != field}} for field in required]
    spoiled += [{**payload, "time": "yesterday"}, {**payload, "id": ""}, {**payload, "more": 1}, {**payload, "sequence": "5"}]
    spoiled += [{**payload, "type": "org.tablectl.other.v1"}]
    for wrong in spoiled:
        with pytest.raises(ValidationError):
            validator(name).validate(wrong)


def test_the_publishers_own_messages_are_valid() -> None:
    status = notices.encode(every_kind()[1])
    made = {
        "info": MESSAGES.of_pin(1, pins.encode(PIN)),
        "state": MESSAGES.of_state(1, STATE),
        "presence": MESSAGES.of_presence("online", "connected", connection="1", seq=0, status=status, at=AT),
    }
    assert set(made) == set(PUBLISHED)
    for name, message in made.items():
        payload = msgspec.json.decode(message.payload)
        validator(name).validate(payload)
        with pytest.raises(ValidationError):
            validator(name).validate({**payload, "data": 5})
        with pytest.raises(ValidationError):
            validator("prompt").validate(payload)


def test_delivery_is_declared_as_it_is_done() -> None:
    for name, channel in (CHANNELS | PUBLISHED).items():
        declared = DOCUMENT["operations"][f"send_{name}"]["bindings"]["mqtt"]
        assert declared["qos"] == 1
        assert declared["retain"] == (channel in ("status", "info", "state", "prompt"))
        assert declared.get("messageExpiryInterval") == (600 if name == "prompt" else None)


def test_commands_and_their_response_are_valid_and_spoiled_ones_are_not() -> None:
    identity: dict[str, Any] = {"id": "1", "expires": AT, "by": "CHIEF7"}
    move = {**identity, "do": "move", "to": {"box": 3}, "reply_to": "tablectl/v1/a/b/c/reply/me", "reason": "it was his"}
    alert = next(notices.encode(notice) for notice in every_kind() if isinstance(notice, notices.Alert))
    response = {"id": "1", "done": True, "reason": None, "detail": "", "notices": [msgspec.json.decode(alert)]}
    good: dict[str, dict[str, Any]] = {
        "cmd_ruling": move,
        "cmd_ack": {**identity, "alert": 3},
        "cmd_table": {**identity, "state": "open", "layout": {"dealer_stands": "all_17"}},
        "cmd_seat": {**identity, "box": 3, "player": "p1", "state": "taken"},
        "cmd_bet": {**identity, "box": 3, "amount": 1000, "bettor": "p1", "kind": "word"},
        "cmd_shoe": {**identity, "do": "loaded", "decks": 6, "cut": True},
        "response": response,
    }
    for name, payload in good.items():
        validator(name).validate(payload)
        spoiled = [{**payload, "id": 5}, {**payload, "by": "" if name != "response" else 1, "done": 1}]
        spoiled += [{key: value for key, value in payload.items() if key != "id"}]
        for wrong in spoiled:
            with pytest.raises(ValidationError):
                validator(name).validate(wrong)
    worse: dict[str, dict[str, Any]] = {
        "cmd_ruling": {"do": "guess"},
        "cmd_ack": {"more": 1},
        "cmd_table": {"layout": {"dealer_stands": []}},
        "cmd_seat": {"state": "left early"},
        "cmd_bet": {"amount": -1},
        "cmd_shoe": {"decks": 13},
        "response": {"notices": [{"notice": "no"}]},
    }
    for name, more in worse.items():
        with pytest.raises(ValidationError):
            validator(name).validate({**good[name], **more})


def test_what_goes_out_and_comes_in_beside_events_and_commands() -> None:
    checkpoint = msgspec.json.decode(published(b"a/b\n3\n", 2, [bytes(32)]))
    signed = msgspec.json.decode(sealed(b"{}", topic="t", person="CHIEF7", key=Ed25519PrivateKey.generate()))
    for name, good, more in (("checkpoint", checkpoint, {"consistency": ["no"]}), ("signed", signed, {"more": 1})):
        validator(name).validate(good)
        for wrong in ({**good, **more}, {key: value for key, value in good.items() if key not in ("note", "signature")}):
            with pytest.raises(ValidationError):
                validator(name).validate(wrong)
    assert DOCUMENT["operations"]["send_checkpoint"]["bindings"]["mqtt"]["retain"] is True


def test_lines_of_play_have_schemas_too() -> None:
    out, into = Draft202012Validator(asyncapi.notice_schema()), Draft202012Validator(asyncapi.observation_schema())
    for notice in every_kind():
        out.validate(msgspec.json.decode(notices.encode(notice)))
    into.validate(msgspec.json.decode(observations.encode(observations.Tick(at=AT))))
    with pytest.raises(ValidationError):
        into.validate({"event": "bet", "box": 9, "amount": 1})
