"""Commands: what is refused and why, that each is done once, and that garbage at a real broker costs a table nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tablectl import observations
from tablectl.errors import BrokerError
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import WAITING, Commands, ask
from tablectl.mqtt.desk import MOST_KEPT, Desk
from tablectl.mqtt.identity import Trust
from tablectl.mqtt.judgement import Arrived, Order, Refusal, judge
from tablectl.mqtt.orders import LONGEST, AckCommand, RulingCommand
from tablectl.notices import encode
from tests.broker import Broker, free_port

BASE = "tablectl/v1/a/b/c"
TABLE = TableName("a", "b", "c")
NOW = 1_796_000_000_000_000
SECOND = 1_000_000
OPEN = Trust(open=True)
FIELDS: dict[str, Any] = {"id": "7f3a", "expires": from_micros(NOW + 10 * SECOND), "do": "accept", "by": "CHIEF7"}


def payload(leave_out: str = "", **changes: Any) -> bytes:
    return encoded(FIELDS | changes, leave_out)


def encoded(fields: dict[str, Any], leave_out: str = "") -> bytes:
    return msgspec.json.encode({name: value for name, value in fields.items() if name != leave_out})


def judged(body: bytes | None, *, name: str = "ruling", retained: bool = False, topic: str | None = None) -> Order | Refusal:
    return judge(Arrived(f"{BASE}/cmd/{name}", body, retained, topic, b"7"), base=BASE, now=NOW, trust=OPEN)


def order(**changes: Any) -> Order:
    made = judged(payload(**changes), name=changes.pop("name", "ruling"))
    assert isinstance(made, Order), made
    return made


def test_a_ruling_that_is_well_formed_becomes_the_observation() -> None:
    made = judged(payload(do="move", to={"box": 3}, reason="his card", alert=2, reply_to=f"{BASE}/reply/me"))
    assert isinstance(made, Order)
    assert made.reply == (f"{BASE}/reply/me", b"7")
    line = '{"event":"ruling","at":"2026-11-30T05:57:42.000631Z","do":"move","by":"CHIEF7","reason":"his card",'
    line += '"alert":2,"to":{"box":3}}'
    assert made.command.observation("2026-11-30T05:57:42.000631Z") == observations.decode(line)


def test_an_acknowledgement_becomes_the_observation() -> None:
    made = judged(payload("do", alert=3), name="ack")
    assert isinstance(made, Order)
    assert made.command.observation(None) == observations.decode('{"event":"ack","alert":3,"by":"CHIEF7"}')
    assert made.reply is None


def test_a_command_has_every_field_of_its_observation() -> None:
    for command, observation in ((RulingCommand, observations.Ruling), (AckCommand, observations.Ack)):
        own = set(command.__struct_fields__) - {"id", "expires", "reply_to"}
        assert own == set(observation.__struct_fields__) - {"at"}


@pytest.mark.parametrize(
    ("body", "reason", "detail"),
    [
        (None, "too_long", "65536"),
        (b"", "malformed", "no JSON"),
        (b"\xff\xfe", "malformed", "no JSON"),
        (payload().replace(b"CHIEF7", b"CHIEF\xc3\x28"), "malformed", "no JSON"),
        (payload().replace(b"CHIEF7", b"\\ud800"), "malformed", "no JSON"),
        (b"[" * 60_000, "malformed", ""),
        (b'{"id":"7f3a","x":' + b"[" * 60_000, "malformed", ""),
        (payload(to=1), "malformed", "to"),
        (payload(more=1), "malformed", "more"),
        (payload(at="2026-11-30T05:57:42Z"), "malformed", "at"),
        (payload("by"), "malformed", "by"),
        (payload("id"), "malformed", "id"),
        (payload("expires"), "malformed", "expires"),
        (payload(do="guess"), "malformed", "do"),
        (payload(box=8), "malformed", "box"),
        (payload(alert=10**40), "malformed", "alert"),
        (payload(card="ZZ"), "malformed", "card"),
        (payload(id=""), "malformed", "id"),
        (payload(id="x" * 65), "malformed", "id"),
        (payload(by="CHIEF\x1b[2J"), "malformed", "by"),
        (payload(reason="a\nb"), "malformed", "reason"),
        (payload(reason="x" * 501), "malformed", "reason"),
        (payload(expires="soon"), "malformed", "expires"),
        (payload(expires="2026-02-30T00:00:00Z"), "malformed", "expires"),
        (payload(expires="0001-01-01T00:00:00+23:59"), "expired", ""),
        (payload(expires=from_micros(NOW)), "expired", "clocks"),
        (payload(expires=from_micros(NOW + 301 * SECOND)), "expires_too_far", "300 s"),
    ],
)
def test_what_is_refused_before_the_game_sees_it(body: bytes | None, reason: str, detail: str) -> None:
    refused = judged(body)
    assert isinstance(refused, Refusal)
    assert refused.reason == reason
    assert detail in refused.detail
    response = msgspec.json.decode(refused.response)
    assert (response["done"], response["reason"], response["notices"]) == (False, reason, [])


def test_a_command_that_was_retained_or_has_another_name_is_refused() -> None:
    for refused, reason in ((judged(payload(), retained=True), "retained"), (judged(payload(), name="chips"), "unknown_command")):
        assert isinstance(refused, Refusal)
        assert (refused.reason, refused.id) == (reason, "7f3a")


@pytest.mark.parametrize(
    "topic",
    [f"{BASE}/state", f"{BASE}/reply/#", f"{BASE}/reply/", f"{BASE}/reply/a/b", "tablectl/v1/a/b/d/reply/me", "$SYS/x", ""],
)
def test_the_table_does_not_speak_elsewhere_in_anothers_words(topic: str) -> None:
    for refused in (judged(payload(reply_to=topic)), judged(payload(), topic=topic or None)):
        if topic or not isinstance(refused, Order):
            assert isinstance(refused, Refusal)
            assert (refused.reason, refused.reply) == ("reply_topic", None)


def test_the_response_topic_goes_before_the_field() -> None:
    made = judged(payload(reply_to=f"{BASE}/reply/field"), topic=f"{BASE}/reply/property")
    assert made.reply is not None
    assert made.reply.topic == f"{BASE}/reply/property"


@given(st.binary(max_size=300) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(msgspec.json.encode))
def test_no_bytes_make_it_raise(body: bytes) -> None:
    assert isinstance(judged(body), Refusal)


@given(st.sampled_from([*FIELDS, "to", "card", "box", "reply_to"]), st.none() | st.integers() | st.text() | st.booleans())
def test_no_value_of_a_field_makes_it_raise(field: str, value: object) -> None:
    made = judged(encoded({**FIELDS, field: value}))
    assert isinstance(made, Order | Refusal)


class Played:
    """A table that waits for a ruling on a card that was not read, and a desk at it."""

    def __init__(self, house: str = "es", supervisors: frozenset[str] | None = frozenset({"CHIEF7"})):
        self.table = Table(rules.load(house).house, supervisors=supervisors)
        self.fed: list[observations.Observation] = []
        self.desk = Desk(self.table, self.feed)
        for line in ('{"event":"bet","box":1,"amount":1000}', '{"event":"no_more_bets"}', '{"event":"card","card":"??"}'):
            self.table.feed(observations.decode(line))
        assert self.table.phase == "suspended"

    def feed(self, observation: observations.Observation) -> list[bytes]:
        self.fed.append(observation)
        return [encode(notice) for notice in self.table.feed(observation)]

    def say(self, order: Order, now: int = NOW) -> dict[str, Any]:
        answer: dict[str, Any] = msgspec.json.decode(self.desk.carry_out(order, at=None, now=now))
        return answer


def test_the_response_says_what_changed() -> None:
    played = Played()
    response = played.say(order(do="void_round"))
    assert (response["id"], response["done"], response["reason"]) == ("7f3a", True, None)
    said = {notice["notice"]: notice for notice in response["notices"]}
    assert (said["outcome"]["box"], said["outcome"]["result"], said["outcome"]["returned"]) == (1, "void", 1000)
    assert (said["round_closed"]["number"], said["round_closed"]["staked"]) == (1, 0)  # what was voided was not staked


def test_what_the_game_refuses_has_the_games_reason() -> None:
    played = Played()
    for changes, reason in (
        ({"by": "BOB"}, "not_a_supervisor"),
        ({"alert": 99}, "nothing_open"),
        ({"do": "correct"}, "unknown_card"),
    ):
        response = played.say(order(id=reason, **changes))
        assert (response["done"], response["reason"]) == (False, reason)
        (alert,) = [notice for notice in response["notices"] if notice["notice"] == "alert"]
        assert alert["operands"]["refused"] == reason
    assert played.table.phase == "suspended"


def test_an_acknowledgement_says_why_it_was_not_enough() -> None:
    played = Played()

    def ack(name: str, alert: int, by: str = "CHIEF7") -> tuple[bool, str | None]:
        made = judged(payload("do", id=name, alert=alert, by=by), name="ack")
        assert isinstance(made, Order)
        response = played.say(made)
        return response["done"], response["reason"]

    (blocker,) = played.table.blockers
    assert ack("1", 99) == (False, "no_such_alert")
    assert ack("2", blocker.id) == (False, "needs_ruling")
    assert ack("3", blocker.id, "BOB") == (False, "not_a_supervisor")
    refused = played.table.open_alerts[-1]
    assert refused.code == "action.not_authorised"
    assert ack("4", refused.id) == (True, None)
    assert refused not in played.table.open_alerts


def test_a_repeat_is_answered_and_not_done_twice() -> None:
    played = Played()
    first = played.desk.carry_out(order(do="void_round"), at=None, now=NOW)
    assert played.desk.carry_out(order(do="void_round"), at="2026-11-30T05:57:42.000631Z", now=NOW + SECOND) == first
    assert len(played.fed) == 1
    assert played.say(order(do="burn"))["reason"] == "id_used"
    assert len(played.fed) == 1


def test_a_command_that_waited_too_long_is_not_done() -> None:
    played = Played()
    assert played.say(order(), now=NOW + 11 * SECOND)["reason"] == "expired"
    assert not played.fed


def test_what_is_remembered_is_bounded_and_nothing_is_forgotten_too_early() -> None:
    played = Played()
    for number in range(MOST_KEPT):
        assert played.say(order(id=str(number), alert=99))["reason"] == "nothing_open"
    assert played.say(order(id="one more"))["reason"] == "busy"
    assert len(played.fed) == MOST_KEPT
    later = NOW + 11 * SECOND
    fresh = order(id="one more", do="void_round", expires=from_micros(later + SECOND))
    assert played.say(fresh, now=later)["done"]
    assert len(played.fed) == MOST_KEPT + 1


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker") as running:
        yield running


class Asker:
    """Somebody with a client of another make: publishes what he likes, and keeps what is answered to `reply/me`."""

    def __init__(self, broker: Broker, *, v5: bool = True):
        self.answers: list[tuple[dict[str, Any], bytes | None]] = []
        self._ready = threading.Event()
        self._v5 = v5
        self._client = Client(
            CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5 if v5 else MQTTProtocolVersion.MQTTv311
        )
        self._client.max_inflight_messages_set(100)
        self._client.on_connect = lambda client, *rest: client.subscribe(f"{BASE}/reply/me", 1)
        self._client.on_subscribe = lambda *rest: self._ready.set()
        self._client.on_message = self._hear
        self._client.connect("127.0.0.1", broker.port)

    def _hear(self, client: Client, data: Any, message: Any) -> None:
        self.answers.append((msgspec.json.decode(message.payload), getattr(message.properties, "CorrelationData", None)))

    def say(self, body: bytes, *, name: str = "ruling", retain: bool = False, correlation: bytes = b"") -> None:
        properties = None
        if self._v5:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.ResponseTopic = f"{BASE}/reply/me"
            properties.CorrelationData = correlation
        self._client.publish(f"{BASE}/cmd/{name}", body, 1, retain, properties)

    def wait(self, count: int, seconds: float = 15.0) -> list[tuple[dict[str, Any], bytes | None]]:
        deadline = time.monotonic() + seconds
        while len(self.answers) < count:
            assert time.monotonic() < deadline, self.answers
            time.sleep(0.01)
        return self.answers

    def __enter__(self) -> Asker:
        self._client.loop_start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *rest: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def fresh(name: str, **changes: Any) -> bytes:
    return payload(id=name, expires=from_micros(time.time_ns() // 1000 + 30 * SECOND), **changes)


def next_order(commands: Commands, seconds: float) -> Order | None:
    """What the game would do next; passes over the records of what was refused."""
    deadline = time.monotonic() + seconds
    while isinstance(taken := commands.take(deadline - time.monotonic()), bytes):
        pass
    return taken


def listening(broker: Broker, said: list[str]) -> Commands:
    return Commands(Address.parse(broker.url), TABLE, trust=OPEN, log=said.append)


@pytest.mark.parametrize("v5", [True, False], ids=["MQTT 5", "MQTT 3.1.1"])
def test_a_command_reaches_the_game_and_its_response_the_sender(v5: bool, broker: Broker) -> None:
    with listening(broker, []) as commands, Asker(broker, v5=v5) as asker:
        commands.wait_online(10)
        asker.say(fresh("1", reply_to=f"{BASE}/reply/me"), correlation=b"mine")
        taken = next_order(commands, 10)
        assert taken is not None
        assert taken.command.by == "CHIEF7"
        commands.answer(taken, b'{"id":"1","done":true}')
        assert asker.wait(1) == [({"id": "1", "done": True}, b"mine" if v5 else None)]


def test_a_retained_command_is_refused_when_it_is_sent_and_at_every_start(broker: Broker) -> None:
    with Asker(broker) as asker:
        with listening(broker, []) as commands:
            commands.wait_online(10)
            asker.say(fresh("1"), retain=True)
            assert [answer["reason"] for answer, _ in asker.wait(1)] == ["retained"]
        said: list[str] = []
        with listening(broker, said) as commands:
            commands.wait_online(10)
            assert [answer["reason"] for answer, _ in asker.wait(2)] == ["retained", "retained"]
            assert next_order(commands, 0.2) is None
        assert said == ["cmd/ruling: refused: retained: a command is for now; delete what is retained"]


def test_a_thousand_pieces_of_garbage_stop_nothing_and_are_told_in_few_lines(broker: Broker) -> None:
    garbage = [b"", b"\xff" * 100, b"[" * 10_000, b"{" * 500, b'{"id":"x"}', payload(), payload(more=1), b"x" * (LONGEST + 1)]
    said: list[str] = []
    with listening(broker, said) as commands, Asker(broker) as asker:
        commands.wait_online(10)
        for number in range(1000):
            asker.say(garbage[number % len(garbage)], name=["ruling", "ack", "shoe"][number % 3])
        asker.say(fresh("good"))
        taken = next_order(commands, 30)
        assert taken is not None
        assert taken.command.id == "good"
        commands.answer(taken, b'{"id":"good"}')
        deadline = time.monotonic() + 10
        while ({"id": "good"}, b"") not in asker.answers:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert 1 <= len(said) <= 10
    assert all(len(line) < 400 for line in said)


def test_more_than_can_wait_are_told_so(broker: Broker) -> None:
    said: list[str] = []
    with listening(broker, said) as commands, Asker(broker) as asker:
        commands.wait_online(10)
        for number in range(WAITING + 5):
            asker.say(fresh(str(number)))
        assert [(answer["id"], answer["reason"]) for answer, _ in asker.wait(5)] == [
            (str(WAITING + more), "busy") for more in range(5)
        ]
        taken = [next_order(commands, 1) for _ in range(WAITING)]
        assert [one.command.id for one in taken if one] == [str(number) for number in range(WAITING)]


def test_a_broker_that_dies_and_comes_back_is_listened_to_again(broker: Broker) -> None:
    said: list[str] = []
    with listening(broker, said) as commands:
        commands.wait_online(10)
        broker.kill()
        broker.start()
        deadline = time.monotonic() + 30
        taken = None
        with Asker(broker) as asker:
            while taken is None:
                assert time.monotonic() < deadline
                asker.say(fresh("1"))
                taken = next_order(commands, 0.3)
    assert any("not listened for at the moment" in line for line in said)


def test_who_asks_is_answered_or_told_why_not(broker: Broker) -> None:
    address = Address.parse(broker.url)
    command = msgspec.json.decode(fresh("1"), type=RulingCommand)
    with pytest.raises(BrokerError, match="nobody there listens for commands to a/b/c"):
        ask(address, TABLE, "ruling", command, seconds=5)
    with listening(broker, []) as commands:
        commands.wait_online(10)
        with pytest.raises(BrokerError, match="no answer from the table within 1 s; whether it was done is not known"):
            ask(address, TABLE, "ruling", command, seconds=1.0)
        waiting = next_order(commands, 1)
        assert waiting is not None
    with pytest.raises(BrokerError, match="cannot be reached: Connection refused"):
        ask(Address.parse(f"mqtt://127.0.0.1:{free_port()}"), TABLE, "ruling", command, seconds=1.0)


def test_who_repeats_too_fast_is_not_told_that_it_was_not_done(broker: Broker) -> None:
    with listening(broker, []) as commands, Asker(broker) as asker:
        commands.wait_online(10)
        once, again = fresh("once"), fresh("again")
        for body in (once, *[again] * (WAITING + 200), fresh("another")):
            asker.say(body)
        assert [answer["id"] for answer, _ in asker.wait(1)] == ["another"]  # the queue is full; of repeats nothing is said
        taken = [next_order(commands, 1) for _ in range(WAITING)]
        assert {order.command.id for order in taken if order} == {"once", "again"}
        assert len(asker.answers) == 1


def test_an_access_list_that_refuses_the_sender_is_told(tmp_path: Path) -> None:
    acl = tmp_path / "acl"
    acl.write_text("topic read tablectl/v1/#\n")
    command = msgspec.json.decode(fresh("1"), type=RulingCommand)
    with (
        Broker(tmp_path / "broker", settings=f"acl_file {acl}") as broker,
        pytest.raises(BrokerError, match="refuses a command for a/b/c: Not authorized"),
    ):
        ask(Address.parse(broker.url), TABLE, "ruling", command, seconds=5)
