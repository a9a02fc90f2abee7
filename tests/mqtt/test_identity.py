"""Who commands: by the broker's word, by a signature that holds for one table and one command, or not at all."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tablectl import observations
from tablectl.errors import ConfigError
from tablectl.instants import from_micros
from tablectl.mqtt.identity import Person, Trust, private_key, public_key, sealed
from tablectl.mqtt.judgement import Arrived, Order, Refusal, judge

BASE = "tablectl/v1/a/b/c"
NOW = 1_796_000_000_000_000
KEY, OTHERS_KEY = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
PEOPLE = {
    "CHIEF7": Person("CHIEF7", frozenset({"ruling", "ack"}), KEY.public_key()),
    "PIT2": Person("PIT2", frozenset({"table"}), OTHERS_KEY.public_key()),
    "GUEST": Person("GUEST", frozenset({"ruling"})),
}
SIGNED = Trust(PEOPLE)
VOUCHED = Trust(PEOPLE, vouched=True)
FIELDS: dict[str, Any] = {"id": "7f3a", "expires": from_micros(NOW + 10_000_000), "do": "accept", "by": "CHIEF7"}


def command(**changes: Any) -> bytes:
    return msgspec.json.encode(FIELDS | changes)


def signed(body: bytes, *, name: str = "ruling", base: str = BASE, person: str = "CHIEF7", key: Ed25519PrivateKey = KEY) -> bytes:
    return sealed(body, topic=f"{base}/cmd/{name}", person=person, key=key)


def judged(payload: bytes, trust: Trust, topic: str = "ruling") -> Order | Refusal:
    return judge(Arrived(f"{BASE}/cmd/{topic}", payload, False), base=BASE, now=NOW, trust=trust)


def reason(payload: bytes, trust: Trust, topic: str = "ruling") -> str:
    found = judged(payload, trust, topic)
    return found.reason if isinstance(found, Refusal) else f"taken, {found.vouched}"


def test_a_signature_of_the_person_is_believed() -> None:
    order = judged(signed(command()), SIGNED)
    assert isinstance(order, Order)
    assert (order.vouched, order.command.by, order.command.id) == ("signature", "CHIEF7", "7f3a")
    assert order.envelope is not None


def test_the_same_command_signed_or_not_is_one_command() -> None:
    one, other = judged(signed(command()), SIGNED), judged(command(), Trust(open=True))
    assert isinstance(one, Order)
    assert isinstance(other, Order)
    assert one.digest == other.digest


@pytest.mark.parametrize(
    ("payload", "refused"),
    [
        (command(), "unsigned"),
        (signed(command(), key=OTHERS_KEY), "bad_signature"),
        (signed(command(), name="ack"), "bad_signature"),
        (signed(command(), base="tablectl/v1/a/b/d"), "bad_signature"),
        (signed(command()).replace(b'"signature":"', b'"signature":"A'), "bad_signature"),
        (signed(command()).replace(b'"signature":"', b'"signature":"\xc3\xa9'), "bad_signature"),
        (signed(command(by="GUEST"), person="GUEST"), "bad_signature"),
        (signed(command(by="PIT2"), person="PIT2", key=OTHERS_KEY), "not_allowed"),
        (signed(command(by="PIT2")), "not_you"),
        (signed(command(by="BOB"), person="BOB"), "unknown_person"),
        (signed(command(by="BOB"), person=""), "unknown_person"),
        (signed(command(do="guess")), "malformed"),
        (signed(b"[" * 10_000), "malformed"),
        (signed(b"\xff\xfe"), "malformed"),
        (b'{"signed":"","person":"CHIEF7"}', "malformed"),
        (b'{"signed":"*","person":"CHIEF7","signature":""}', "malformed"),
        (b'{"signed":"abcde","person":"CHIEF7","signature":""}', "malformed"),
        (signed(command())[:-1] + b',"more":1}', "malformed"),
        (signed(command(expires=from_micros(NOW))), "expired"),
    ],
)
def test_what_a_table_that_wants_signatures_refuses(payload: bytes, refused: str) -> None:
    assert reason(payload, SIGNED) == refused
    assert reason(payload, VOUCHED) == refused, "on the topic for signed commands the broker vouches for nobody"


def test_bytes_that_were_changed_after_they_were_signed_are_refused() -> None:
    envelope = msgspec.json.decode(signed(command()))
    envelope["signed"] = base64.urlsafe_b64encode(command(do="burn")).rstrip(b"=").decode()
    assert reason(msgspec.json.encode(envelope), SIGNED) == "bad_signature"


def test_every_bit_of_a_signature_counts() -> None:
    envelope = msgspec.json.decode(signed(command()))
    whole = base64.urlsafe_b64decode(envelope["signature"] + "==")
    for bit in range(512):
        spoiled = bytearray(whole)
        spoiled[bit // 8] ^= 1 << bit % 8
        envelope["signature"] = base64.urlsafe_b64encode(spoiled).decode()
        assert reason(msgspec.json.encode(envelope), SIGNED) == "bad_signature", bit


def test_the_broker_is_believed_only_where_that_is_configured() -> None:
    assert reason(command(), VOUCHED, "ruling/CHIEF7") == "taken, certificate"
    for trust in (SIGNED, Trust(open=True), Trust()):
        assert reason(command(), trust, "ruling/CHIEF7") == "unsigned"


@pytest.mark.parametrize(
    ("topic", "changes", "refused"),
    [
        ("ruling/BOB", {"by": "BOB"}, "unknown_person"),
        ("ruling/GUEST", {}, "not_you"),
        ("ruling/PIT2", {"by": "PIT2"}, "not_allowed"),
        ("ruling/chief7", {}, "unknown_person"),
        ("ruling/", {}, "unknown_command"),
        ("ruling/CHIEF7/", {}, "unknown_command"),
        ("ruling/CHIEF7/x", {}, "unknown_command"),
        ("", {}, "unknown_command"),
        ("/CHIEF7", {}, "unknown_command"),
    ],
)
def test_whom_the_broker_vouches_for_may_not_everything(topic: str, changes: dict[str, Any], refused: str) -> None:
    assert reason(command(**changes), VOUCHED, topic) == refused


def test_a_signed_command_does_not_become_one_that_the_broker_vouches_for() -> None:
    assert reason(signed(command()), VOUCHED, "ruling/CHIEF7") == "malformed"


def test_an_open_table_takes_anybody_unless_it_names_people() -> None:
    assert reason(command(by="BOB"), Trust(open=True)) == "taken, open"
    named = Trust(PEOPLE, open=True)
    assert reason(command(), named) == "taken, open"
    assert reason(command(by="BOB"), named) == "unknown_person"
    assert reason(command(by="PIT2"), named) == "not_allowed"
    assert reason(signed(command(), key=OTHERS_KEY), named) == "bad_signature", "who signs is held to it"


def test_topics_outside_the_table_are_no_commands() -> None:
    for topic in ("", "tablectl/v1/a/b/d/cmd/ruling", f"{BASE}/cmd", f"{BASE}/reply/ruling", f"x{BASE}/cmd/ruling"):
        found = judge(Arrived(topic, command(), False), base=BASE, now=NOW, trust=Trust(open=True))
        assert isinstance(found, Refusal)
        assert found.reason == "unknown_command"


# What else may be asked

COMMANDS: list[tuple[str, dict[str, Any], str]] = [
    ("table", {"state": "closed"}, '{"event":"table","state":"closed"}'),
    ("table", {"state": "open", "layout": {"a": 1, "b": "x", "c": True}},
     '{"event":"table","state":"open","layout":{"a":1,"b":"x","c":true}}'),
    ("seat", {"box": 3, "player": "p1", "state": "left"}, '{"event":"seat","box":3,"player":"p1","state":"left"}'),
    ("bet", {"box": 3, "amount": 500}, '{"event":"bet","box":3,"amount":500}'),
    ("bet", {"box": 3, "amount": 500, "bettor": "p1", "kind": "word"},
     '{"event":"bet","box":3,"amount":500,"by":"p1","kind":"word"}'),
    ("shoe", {"do": "loaded", "decks": 6, "cut": True}, '{"event":"shoe_loaded","decks":6,"cut":true}'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "line"), COMMANDS)
def test_a_command_becomes_its_observation_and_who_commanded_is_not_in_it(name: str, fields: dict[str, Any], line: str) -> None:
    body = msgspec.json.encode({"id": "1", "expires": FIELDS["expires"], "by": "CHIEF7"} | fields)
    order = judged(body, Trust(open=True), name)
    assert isinstance(order, Order), order
    assert order.command.observation(None) == observations.decode(line)
    stamped = order.command.observation("2026-11-30T05:57:42.000631Z")
    assert stamped is not None
    assert stamped.at == "2026-11-30T05:57:42.000631Z"
    assert "CHIEF7" not in observations.encode(stamped).decode()


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("table", {"state": "ajar"}),
        ("table", {"state": "open", "layout": {"a": []}}),
        ("table", {"state": "open", "layout": {"a": 2**60}}),
        ("table", {"state": "open", "layout": {"a\n": 1}}),
        ("table", {"state": "open", "layout": {str(number): 1 for number in range(51)}}),
        ("seat", {"box": 8, "player": "p1", "state": "left"}),
        ("seat", {"box": 3, "player": "p\x1b", "state": "left"}),
        ("bet", {"box": 3, "amount": -1}),
        ("bet", {"box": 3, "amount": 5, "bettor": "\u202e"}),
        ("shoe", {"do": "loaded"}),
        ("shoe", {"do": "loaded", "decks": 6, "number": 1}),
        ("shoe", {"do": "lock", "decks": 6}),
        ("shoe", {"do": "unlock", "cut": True}),
        ("shoe", {"do": "clear_error"}),
        ("shoe", {"do": "open"}),
    ],
)
def test_what_makes_no_sense_is_malformed(name: str, fields: dict[str, Any]) -> None:
    body = msgspec.json.encode({"id": "1", "expires": FIELDS["expires"], "by": "CHIEF7"} | fields)
    assert reason(body, Trust(open=True), name) == "malformed"


def test_orders_to_the_shoe_are_no_observations() -> None:
    for fields in ({"do": "lock"}, {"do": "unlock"}, {"do": "clear_error", "number": 21}):
        body = msgspec.json.encode({"id": "1", "expires": FIELDS["expires"], "by": "C"} | fields)
        order = judged(body, Trust(open=True), "shoe")
        assert isinstance(order, Order)
        assert order.command.observation(None) is None


# Names and keys


@pytest.mark.parametrize("name", ["", " CHIEF7", "CHIEF/7", "+", "#", "a\n", "x" * 81])
def test_a_name_that_cannot_be_in_a_topic_is_nobodys(name: str) -> None:
    with pytest.raises(ConfigError, match="no person's name"):
        Person(name, frozenset())


def test_keys_of_openssl_are_read(tmp_path: Path) -> None:
    pem = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"], check=True, capture_output=True).stdout
    public = subprocess.run(["openssl", "pkey", "-pubout"], input=pem, check=True, capture_output=True).stdout
    key = private_key(pem)
    raw = base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
    trust = Trust({"C": Person("C", frozenset({"ruling"}), public_key(public.decode()))})
    assert reason(signed(command(by="C"), person="C", key=key), trust) == "taken, signature"
    assert public_key(raw) == public_key(public.decode())


def test_other_keys_are_not() -> None:
    rsa = subprocess.run(["openssl", "genpkey", "-algorithm", "x25519"], check=True, capture_output=True).stdout
    locked = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:x"], check=True, capture_output=True
    ).stdout
    for pem, told in ((b"", "no Ed25519"), (rsa, "no Ed25519"), (locked, "encrypted")):
        with pytest.raises(ConfigError, match=told):
            private_key(pem)
    for text in ("", "AAAA", "*", "é", rsa.decode(), "-----BEGIN PUBLIC KEY-----"):
        with pytest.raises(ConfigError, match="no Ed25519 public key"):
            public_key(text)
