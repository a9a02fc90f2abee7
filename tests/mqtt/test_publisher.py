"""From a real ledger through a real Mosquitto to a real subscriber: every notice, once by id, in order, whatever happens."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from jsonschema import Draft202012Validator

from tablectl import notices
from tablectl.errors import BrokerError, LedgerError
from tablectl.ledger.published import LATEST as ANNOUNCED
from tablectl.ledger.reader import Outbox
from tablectl.ledger.store import Ledger
from tablectl.mqtt.address import Address
from tablectl.mqtt.asyncapi import message_schema
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.messages import CHANNELS, PUBLISHED
from tablectl.mqtt.publisher import Patience, Publisher
from tablectl.mqtt.telling import CURSOR
from tests.broker import Broker, free_port
from tests.mqtt.gateways import OldBroker, Server, Speaking
from tests.mqtt.subscriber import Received, Subscriber
from tests.mqtt.tables import BASE, PIN, STATE, TICK, every_kind, fill, many, new_ledger

HURRIED = Patience(connect=0.4, acknowledge=1.0, goodbye=1.0, first_retry=0.05, last_retry=0.4)
RETAINED = {f"{BASE}/{name}" for name in ("status", "info", "state", "prompt")}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path) as made:
        yield made


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker") as running:
        yield running


def publisher(ledger: Ledger, broker: Broker | Server, *, patience: Patience = HURRIED, window: int = 100) -> Publisher:
    return Publisher(ledger.path, Address.parse(broker.url), patience=patience, window=window)


def cursor(ledger: Ledger) -> int:
    with Outbox(ledger.path) as outbox:
        return outbox.cursor(CURSOR)


def retained(broker: Broker, *wanted: str) -> dict[str, Received]:
    """What a broker tells one who comes late, as soon as it keeps three topics, `status` and what is `wanted` among them."""
    least = {f"{BASE}/{name}" for name in ("status", *wanted)}
    deadline = time.monotonic() + 15
    kept: list[Received] = []
    while len(kept) < 3 or not least <= {message.topic for message in kept}:
        # Who comes before a topic is told gets it as news, not as what was kept: then another one comes.
        assert time.monotonic() < deadline, f"kept: {[message.topic for message in kept]}"
        with Subscriber(broker) as late:
            time.sleep(0.2)
        kept = [message for message in late.received if message.retained]
    found = {message.topic: message for message in kept}
    assert len(found) == len(kept)
    return found


def presence(message: Received) -> tuple[object, object]:
    return message.event["presence"], message.event["data"].get("why")


# The plain case


def test_a_subscriber_gets_every_notice_once_and_every_payload_is_valid(ledger: Ledger, broker: Broker) -> None:
    said = [notices.encode(notice) for notice in every_kind()]
    with Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        telling.wait_online(5)
        for body in said:
            ledger.append(TICK, [body], STATE)
            ledger.commit()
            telling.wake()
        assert telling.drain(5)
        reader.wait_for(said)
        telling.close()
        reader.wait(lambda: presence(reader.on("status")[-1]) == ("offline", "stopped"))
    names = set()
    for message in reader.received:
        event = message.event
        name = event["type"].removeprefix("org.tablectl.").removesuffix(".v1")
        names.add(name)
        Draft202012Validator(message_schema(name)).validate(event)
        assert message.content_type == "application/cloudevents+json; charset=utf-8"
        assert (message.expiry is not None) == (name == "prompt")
    assert names == set(CHANNELS) | set(PUBLISHED)
    ids = [message.event["id"] for message in reader.received]
    assert len(set(ids)) == len(ids), "nothing went wrong, so nothing was repeated"
    assert [event["sequence"] for event in (message.event for message in reader.received) if "notice" in event["data"]] == [
        f"{seq:012d}" for seq in range(3, 21, 2)
    ]
    assert cursor(ledger) == ledger.last


def test_who_comes_late_gets_the_table_as_it_is(ledger: Ledger, broker: Broker) -> None:
    with publisher(ledger, broker) as telling:
        for body in map(notices.encode, every_kind()):
            ledger.append(TICK, [body], b'{"round":1,"seq":%d}' % ledger.last)
        ledger.commit()
        assert telling.drain(5)
        found = retained(broker, "info", "state", "prompt")
        assert set(found) == RETAINED
        assert found[f"{BASE}/state"].event["data"] == {"round": 1, "seq": 17}
        assert found[f"{BASE}/info"].event["data"]["house"]["name"] == "lt"
        assert found[f"{BASE}/prompt"].event["data"]["code"] == "deal_to_box"
        assert 590 <= (found[f"{BASE}/prompt"].expiry or 0) <= 600
        assert found[f"{BASE}/status"].event["presence"] == "online"
        assert found[f"{BASE}/status"].event["data"]["devices"]["pad"] == {"state": "down", "why": "unplugged"}
    assert presence(retained(broker)[f"{BASE}/status"]) == ("offline", "stopped")


def test_the_state_follows_its_notices_and_is_not_told_more_often_than_it_can_be_read(ledger: Ledger, broker: Broker) -> None:
    with Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        telling.wait_online(5)
        said = []
        for number in range(200):
            said += [b'{"notice":"dealt","seq":%d}' % number]
            ledger.append(TICK, said[-1:], b'{"told":%d}' % number)
            ledger.commit()
            telling.wake()
        assert telling.drain(5)
        reader.wait_for(said)
        reader.wait(lambda: reader.on("state")[-1].event["data"] == {"told": 199})
    states = [int(message.event["sequence"]) for message in reader.on("state")]
    assert states == sorted(set(states))
    assert len(states) < 100
    last_state = max(index for index, message in enumerate(reader.received) if message.topic.endswith("/state"))
    last_dealt = max(index for index, message in enumerate(reader.received) if message.topic.endswith("/dealt"))
    assert last_state > last_dealt


def test_nothing_is_told_before_it_is_committed(ledger: Ledger, broker: Broker) -> None:
    with Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        ledger.append(TICK, [b'{"notice":"dealt"}'])
        assert telling.drain(5)
        reader.wait(lambda: len(reader.received) >= 2)
        assert reader.notices() == []
        ledger.commit()
        assert telling.drain(5)
        reader.wait_for([b'{"notice":"dealt"}'])


def test_what_another_program_commits_is_found_without_being_woken(ledger: Ledger, broker: Broker) -> None:
    with Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        assert telling.drain(5)
        ledger.append(TICK, [b'{"notice":"dealt"}'])
        ledger.commit()
        reader.wait_for([b'{"notice":"dealt"}'], 5)


@pytest.mark.parametrize("window", [1, 3, 1000])
def test_any_window_keeps_the_order(ledger: Ledger, broker: Broker, window: int) -> None:
    said = fill(ledger, many(300))
    with Subscriber(broker) as reader, publisher(ledger, broker, window=window) as telling:
        assert telling.drain(10)
        reader.wait_for(said)


def test_a_brokers_own_smaller_window_is_kept_to(ledger: Ledger, tmp_path: Path) -> None:
    said = fill(ledger, many(300))
    with Broker(tmp_path / "narrow", settings="max_inflight_messages 2") as broker:
        with Subscriber(broker) as reader, publisher(ledger, broker, window=1000) as telling:
            assert telling.drain(10)
            reader.wait_for(said)
        assert "receive-maximum" not in broker.log()


# Brokers that come and go


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_broker_that_ends_in_the_middle_and_comes_back_without_its_memory(ledger: Ledger, broker: Broker, end: str) -> None:
    said = fill(ledger, many(3000))
    with Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        reader.wait(lambda: len(reader.received) > 500)
        getattr(broker, end)()
        assert len(reader.notices()) < len(said)
        said += fill(ledger, many(100, first=3001))
        assert not telling.drain(0.3)
        assert "connection" in (telling.trouble or "").lower()
        broker.start()
        assert telling.drain(20)
        assert telling.online
        reader.wait_for(said)
        found = retained(broker, "info", "state", "prompt")
        assert set(found) == RETAINED
        assert found[f"{BASE}/state"].event["data"]["told"] == 100
        assert found[f"{BASE}/status"].event["presence"] == "online"


def test_a_broker_that_forgot_everything_while_nothing_happened_is_told_again(ledger: Ledger, broker: Broker) -> None:
    prompt = notices.encode(every_kind()[3])
    ledger.append(TICK, [prompt], b'{"round":1}')
    ledger.commit()
    with publisher(ledger, broker) as telling:
        assert telling.drain(5)
        before = retained(broker, "info", "state", "prompt")
        broker.kill()
        broker.start()
        telling.wait_online(5)
        deadline = time.monotonic() + 5
        while not telling.online:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert telling.drain(5)
        after = retained(broker, "info", "state", "prompt")
    assert set(after) == set(before) == RETAINED
    for name in ("state", "info", "prompt"):
        assert after[f"{BASE}/{name}"].payload == before[f"{BASE}/{name}"].payload, "a repeat has the id of the first"
    assert after[f"{BASE}/status"].event["id"] != before[f"{BASE}/status"].event["id"], "that it is back is news"


def test_a_broker_that_starts_after_the_table(ledger: Ledger, tmp_path: Path) -> None:
    said = fill(ledger, many(50))
    broker = Broker(tmp_path / "late")
    broker.folder.mkdir()
    with publisher(ledger, broker) as telling:
        with pytest.raises(BrokerError, match="cannot be reached: Connection refused") as caught:
            telling.wait_online(0.3)
        assert (caught.value.where, caught.value.exit_code) == (broker.url, 6)
        assert not telling.drain(0.1)
        try:
            broker.start()
            telling.wait_online(10)
            assert telling.drain(10)
            assert cursor(ledger) == ledger.last
            with Subscriber(broker) as reader:
                reader.wait(lambda: len(reader.received) == 4)
        finally:
            broker.stop()
    assert len(said) == 50


def test_a_frozen_broker_is_given_up_and_gets_everything_when_it_thaws(ledger: Ledger, broker: Broker) -> None:
    with Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        said = fill(ledger, many(10))
        assert telling.drain(5)
        broker.freeze()
        try:
            said += fill(ledger, many(300, first=11))
            began = time.monotonic()
            assert not telling.drain(1.5)
            assert time.monotonic() - began < 2.5
            while telling.online and time.monotonic() - began < 5:
                time.sleep(0.02)
            assert telling.trouble is not None
        finally:
            broker.thaw()
        assert telling.drain(15)
        reader.wait_for(said)


def test_closing_does_not_wait_for_a_frozen_broker(ledger: Ledger, broker: Broker) -> None:
    with publisher(ledger, broker) as telling:
        assert telling.drain(5)
        broker.freeze()
        try:
            began = time.monotonic()
            telling.close()
            assert time.monotonic() - began < 3
        finally:
            broker.thaw()
    assert not telling.online


@pytest.mark.parametrize(
    ("count", "seconds"),
    [pytest.param(2_000, 20, id="short"), pytest.param(70_000, 120, id="past paho's 65,535", marks=pytest.mark.slow)],
)
def test_a_backlog_of_an_outage_arrives_whole_and_in_order(ledger: Ledger, broker: Broker, count: int, seconds: int) -> None:
    with Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        assert telling.drain(5)
        broker.stop()
        said = fill(ledger, many(count))
        telling.wake()
        broker.start()
        assert telling.drain(seconds)
        reader.wait_for(said, seconds)


# Processes that end


CRASHING = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from tablectl.mqtt.address import Address
    from tablectl.mqtt.publisher import Publisher
    with Publisher(Path(sys.argv[1]), Address.parse(sys.argv[2])) as telling:
        telling.wait_online(10)
        time.sleep(60)
""")


def test_a_process_killed_in_the_middle_leaves_its_last_will_and_the_next_goes_on(ledger: Ledger, broker: Broker) -> None:
    said = fill(ledger, many(4000))
    with Subscriber(broker) as reader:
        command = [sys.executable, "-c", CRASHING, str(ledger.path), broker.url]
        with subprocess.Popen(command) as process:
            reader.wait(lambda: len(reader.received) > 600, 20)
            process.send_signal(signal.SIGKILL)
        reader.wait(lambda: presence(reader.on("status")[-1]) == ("offline", "the connection was lost"))
        told = len(reader.notices())
        assert told < len(said)
        assert presence(retained(broker)[f"{BASE}/status"])[0] == "offline"
        assert cursor(ledger) < ledger.last
        with publisher(ledger, broker) as telling:
            assert telling.drain(20)
            reader.wait_for(said, 20)
    ids = [message.event["id"] for message in reader.received if "notice" in message.event["data"]]
    assert len(ids) - len(set(ids)) < 2000, "it went on about where it was, not at the beginning"


def test_a_publisher_that_was_closed_in_the_middle_is_followed_by_another(ledger: Ledger, broker: Broker) -> None:
    said = fill(ledger, many(2000))
    with Subscriber(broker) as reader:
        for _ in range(3):
            with publisher(ledger, broker):
                enough = len(reader.received) + 50
                reader.wait(partial(reader.has, enough))
        with publisher(ledger, broker) as telling:
            assert telling.drain(20)
            reader.wait_for(said)
    ids = [message.event["id"] for message in reader.received if "notice" in message.event["data"]]
    assert len(ids) == len(set(ids)), "a clean stop waits for what is under way, so nothing is repeated"


# Brokers that are none, or do not want us


def test_a_server_that_takes_connections_and_never_answers(ledger: Ledger) -> None:
    with Server() as server, publisher(ledger, server) as telling:
        began = time.monotonic()
        with pytest.raises(BrokerError, match="does not answer"):
            telling.wait_online(1.5)
        assert not telling.drain(0.1)
        telling.close()
        assert time.monotonic() - began < 4


@pytest.mark.parametrize(
    "words",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x20",
        b"\x20\xff\xff\xff\xff\x7f",
        b"\x30\x02\x00\x00",
        b"\x20\x03\x00\x00\xff",
        b"\x00" * 99,
    ],
)
def test_a_server_of_something_else(ledger: Ledger, words: bytes) -> None:
    with Speaking(words) as server, publisher(ledger, server) as telling:
        with pytest.raises(BrokerError, match="cannot be reached"):
            telling.wait_online(0.4)
        assert not telling.online


@pytest.mark.parametrize("manner", ["says so", "says so in 3.1.1", "hangs up", "is silent"])
def test_a_broker_that_speaks_3_1_1_only(
    ledger: Ledger, broker: Broker, manner: Literal["says so", "says so in 3.1.1", "hangs up", "is silent"]
) -> None:
    said = fill(ledger, map(notices.encode, every_kind()))
    with OldBroker(broker.port, manner) as old, Subscriber(broker) as reader:
        with publisher(ledger, old) as telling:
            telling.wait_online(5)
            assert telling.drain(5)
            reader.wait_for(said)
            assert old.levels == [5, 4]
            assert {message.content_type for message in reader.received} == {None}
            assert {message.expiry for message in reader.received} == {None}
            assert set(retained(broker, "info", "state", "prompt")) == RETAINED
            broker.kill()
            broker.start()
            said += fill(ledger, many(20, first=10))
            assert telling.drain(10)
            reader.wait_for(said)
            assert old.levels[2] == (4 if manner.startswith("says so") else 5), "what it said of itself is remembered"
        reader.wait(lambda: presence(reader.on("status")[-1]) == ("offline", "stopped"))


def test_a_broker_that_knows_another_password_refuses_at_once(ledger: Ledger, tmp_path: Path) -> None:
    with Broker(tmp_path / "closed", settings="allow_anonymous false") as broker:
        address = Address("127.0.0.1", broker.port, user="bj7", password="hunter2")
        with Publisher(ledger.path, address, patience=HURRIED) as telling:
            began = time.monotonic()
            with pytest.raises(BrokerError, match=r"refuses the connection: Not authorized") as caught:
                telling.wait_online(30)
            assert time.monotonic() - began < 5
            assert "hunter2" not in str(caught.value)


def test_a_topic_that_the_access_list_refuses_is_named_and_nothing_is_skipped(ledger: Ledger, tmp_path: Path) -> None:
    access = tmp_path / "access"
    access.write_text("topic readwrite tablectl/v1/#\ntopic deny tablectl/v1/+/+/+/evt/alert\n")
    said = [notices.encode(notice) for notice in every_kind()]
    fill(ledger, iter(said))
    with Broker(tmp_path / "listed", settings=f"acl_file {access}") as broker, Subscriber(broker) as reader:
        with publisher(ledger, broker) as telling:
            reader.wait(lambda: "evt/alert: Not authorized" in (telling.trouble or ""))
            alert = next(number for number, body in enumerate(said) if b'"alert"' in body)
            with Outbox(ledger.path) as outbox:
                assert outbox.cursor(CURSOR) == outbox.notices_after(0)[alert - 1].seq
            reader.wait(lambda: len(reader.notices()) >= alert)
            assert reader.notices()[:alert] == said[:alert]
            access.write_text("topic readwrite tablectl/v1/#\n")
            broker.reload()
            assert telling.drain(10)
            reader.wait(lambda: len(reader.notices()) == len(said))
        ids = [message.event["id"] for message in reader.received if "notice" in message.event["data"]]
        # What it took before the refusal may be told again, as after any broken connection: readers drop repeats by id.
        assert [ids.count(each) for each in ids[-(len(said) - alert) :]] == [1] * (len(said) - alert)


def test_a_message_larger_than_the_broker_takes_is_named(ledger: Ledger, tmp_path: Path) -> None:
    ledger.append(TICK, [b'{"notice":"dealt","text":"%s"}' % (b"x" * 3000)])
    ledger.commit()
    with Broker(tmp_path / "small", settings="max_packet_size 2000") as broker, publisher(ledger, broker) as telling:
        assert not telling.drain(1.0)
        assert "takes no message of" in (telling.trouble or "")


def test_a_broker_that_says_we_were_replaced_is_understood(ledger: Ledger) -> None:
    connack, session_taken_over = b"\x20\x03\x00\x00\x00", b"\xe0\x02\x8e\x00"
    with Speaking(connack + session_taken_over) as server, publisher(ledger, server) as telling:
        telling.wait_online(5)
        assert not telling.drain(0.3)
        assert "second tablectl" in (telling.trouble or "")


# TLS


TLS = Path(__file__).parent / "tls"


def test_a_broker_behind_tls_is_told_when_its_certificate_is_trusted(ledger: Ledger, tmp_path: Path) -> None:
    said = fill(ledger, many(400))
    listener = f"certfile {TLS / 'broker.crt'}\nkeyfile {TLS / 'broker.key'}"
    with Broker(tmp_path / "tls", listener=listener) as broker:
        address = Address("127.0.0.1", broker.port, tls=True)
        with Publisher(
            ledger.path, address, credentials=Credentials(authorities=TLS / "broker.crt"), patience=HURRIED
        ) as telling:
            telling.wait_online(5)
            assert telling.drain(10)
        assert cursor(ledger) == ledger.last
    assert len(said) == 400


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # paho leaves the socket of a failed handshake open
def test_a_broker_whose_certificate_nobody_vouches_for_is_refused_at_once(ledger: Ledger, tmp_path: Path) -> None:
    listener = f"certfile {TLS / 'broker.crt'}\nkeyfile {TLS / 'broker.key'}"
    with Broker(tmp_path / "tls", listener=listener) as broker:
        telling = Publisher(ledger.path, Address("127.0.0.1", broker.port, tls=True), patience=HURRIED)
        with telling, pytest.raises(BrokerError, match="certificate is not trusted"):
            telling.wait_online(30)


# Days that follow each other


def later_ledger(folder: Path, name: str) -> Ledger:
    """Another ledger of the same table: another day, so other ids."""
    return Ledger.create(folder / name, msgspec.structs.replace(PIN, opened=f"2026-12-{name}T04:00:00.000000Z"))


def test_a_ledger_that_follows_is_told_when_the_one_before_it_is(ledger: Ledger, broker: Broker, tmp_path: Path) -> None:
    said = fill(ledger, many(500))
    with (
        later_ledger(tmp_path, "01") as second,
        later_ledger(tmp_path, "02") as third,
        Subscriber(broker) as reader,
        publisher(ledger, broker) as telling,
    ):
        said += fill(second, many(300, first=501))
        telling.follow(second.path)
        said += fill(third, many(300, first=801))
        telling.follow(third.path)
        assert telling.drain(20)
        reader.wait_for(said)
        said += fill(third, many(10, first=1101))
        telling.wake()
        assert telling.drain(5)
        reader.wait_for(said)
        assert [cursor(one) == one.last for one in (ledger, second, third)] == [True] * 3
        words = [presence(message)[0] for message in reader.on("status")]
        assert set(words) == {"online"}, "a new day is no absence"
        assert retained(broker, "info")[f"{BASE}/info"].event["data"]["opened"] == "2026-12-02T04:00:00.000000Z"
        ids = [message.event["id"] for message in reader.received if "notice" in message.event["data"]]
        assert len(ids) == len(set(ids))


def test_what_is_committed_to_a_ledger_until_the_next_one_is_named_is_told_first(
    ledger: Ledger, broker: Broker, tmp_path: Path
) -> None:
    with later_ledger(tmp_path, "01") as second, Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        said = fill(ledger, many(10))
        assert telling.drain(5)
        broker.stop()
        said += fill(ledger, many(500, first=11))
        said += fill(second, many(500, first=511))
        telling.follow(second.path)
        assert not telling.drain(0.3)
        broker.start()
        assert telling.drain(20)
        reader.wait_for(said, 20)


def test_a_publisher_that_was_stopped_between_two_days_goes_on_with_the_first(
    ledger: Ledger, broker: Broker, tmp_path: Path
) -> None:
    with later_ledger(tmp_path, "01") as second, Subscriber(broker) as reader:
        said = fill(ledger, many(2000)) + fill(second, many(2000, first=2001))
        with publisher(ledger, broker) as telling:
            telling.follow(second.path)
            reader.wait(lambda: len(reader.received) > 200)
        with publisher(ledger, broker) as telling:
            telling.follow(second.path)
            assert telling.drain(20)
            reader.wait_for(said, 20)


def test_a_ledger_to_follow_that_is_not_there_is_told(ledger: Ledger, broker: Broker, tmp_path: Path) -> None:
    with publisher(ledger, broker) as telling:
        telling.follow(tmp_path / "none")
        with pytest.raises(LedgerError, match="there is no such ledger"):
            telling.drain(10)


# What is said beside the ledger


def named(name: str, **operands: object) -> bytes:
    (made,) = [notice for notice in every_kind() if type(notice).__name__.lower() == name]
    return notices.encode(msgspec.structs.replace(made, **operands))


def test_a_full_disk_is_told_past_the_ledger_until_that_speaks_again(ledger: Ledger, broker: Broker) -> None:
    prompt = named("prompt", text="Call the supervisor")
    status = named("status", devices={"record": notices.DeviceState("down", "full")})
    with Subscriber(broker) as reader, publisher(ledger, broker) as telling:
        said = fill(ledger, many(20))
        assert telling.drain(5)
        telling.aside("prompt", named("prompt", text="an older one"))
        telling.aside("prompt", prompt)
        telling.aside("status", status)
        telling.aside("status", b"no notice")
        telling.aside("status", status)
        reader.wait(lambda: reader.on("prompt")[-1].event["data"].get("text") == "Call the supervisor")
        reader.wait(lambda: "record" in reader.on("status")[-1].event["data"]["devices"])
        for message in (reader.on("prompt")[-1], reader.on("status")[-1]):
            name = message.event["type"].removeprefix("org.tablectl.").removesuffix(".v1")
            Draft202012Validator(message_schema(name)).validate(message.event)
            assert message.event["sequence"] == f"{ledger.last:012d}"
        broker.kill()
        broker.start()
        reader.wait(lambda: presence(reader.on("status")[-1]) != ("online", "connected") and telling.online, 15)
        deadline = time.monotonic() + 10
        while retained(broker)[f"{BASE}/status"].event["data"]["devices"] != {"record": {"state": "down", "why": "full"}}:
            assert time.monotonic() < deadline
        assert retained(broker, "prompt")[f"{BASE}/prompt"].event["data"]["text"] == "Call the supervisor"
        again = [named("prompt", text="Go on"), named("status", devices={})]
        ledger.append(TICK, again)
        ledger.commit()
        telling.wake()
        assert telling.drain(10)
        found = retained(broker, "prompt")
        assert found[f"{BASE}/prompt"].event["data"]["text"] == "Go on"
        assert found[f"{BASE}/status"].event["data"]["devices"] == {}
        told = [message.event["id"] for message in reader.received]
        assert len({one for one in told if "aside" in one}) >= 2
        assert len(said) == 20


def test_what_is_said_aside_while_nobody_is_there_is_said_to_who_comes(ledger: Ledger, tmp_path: Path) -> None:
    broker = Broker(tmp_path / "late")
    broker.folder.mkdir()
    with publisher(ledger, broker) as telling:
        telling.aside("prompt", named("prompt", text="Call the supervisor"))
        try:
            broker.start()
            telling.wait_online(10)
            assert telling.drain(10)
            assert retained(broker, "prompt")[f"{BASE}/prompt"].event["data"]["text"] == "Call the supervisor"
        finally:
            broker.stop()


def test_a_checkpoint_is_retained_as_the_ledger_keeps_it(ledger: Ledger, broker: Broker) -> None:
    with Subscriber(broker, "tablectl/v1/+/+/+/audit/#") as reader, publisher(ledger, broker) as telling:
        for body in (b'{"note":"one"}', b'{"note":"two"}'):
            ledger.keep(ANNOUNCED, body)
            ledger.commit()
            assert telling.drain(5)
            reader.wait(partial(lambda last: [message.payload for message in reader.received[-1:]] == [last], body))
        with Subscriber(broker, f"{BASE}/audit/checkpoint") as late:
            late.wait(lambda: len(late.received) == 1)
            assert (late.received[0].payload, late.received[0].retained) == (b'{"note":"two"}', True)


# Our own faults


def test_a_ledger_that_is_not_there(tmp_path: Path) -> None:
    with Publisher(tmp_path / "none", Address("127.0.0.1", free_port()), patience=HURRIED) as telling:
        with pytest.raises(LedgerError, match="there is no such ledger"):
            telling.wait_online(5)
        with pytest.raises(LedgerError, match="there is no such ledger"):
            telling.drain(5)


def test_a_notice_that_this_version_does_not_know_stops_the_telling_aloud(ledger: Ledger, broker: Broker) -> None:
    with publisher(ledger, broker) as telling:
        ledger.append(TICK, [b'{"notice":"later"}'])
        ledger.commit()
        with pytest.raises(LedgerError, match="entry 3 is a notice that this version does not know"):
            telling.drain(5)


def test_closing_twice_and_waking_after_it_are_harmless(ledger: Ledger, broker: Broker) -> None:
    telling = publisher(ledger, broker)
    telling.close()
    telling.close()
    telling.wake()
    with publisher(ledger, broker) as started:
        started.close()
        started.wake()
        assert not started.drain(0.1)


def test_ids_of_a_replayed_ledger_are_those_of_the_first(tmp_path: Path) -> None:
    ids = []
    for name in ("first", "second"):
        with new_ledger(tmp_path, name) as ledger, Broker(tmp_path / f"{name}.broker") as broker, Subscriber(broker) as reader:
            said = fill(ledger, many(20))
            with publisher(ledger, broker) as telling:
                assert telling.drain(5)
                reader.wait_for(said)
            ids.append([message.event["id"] for message in reader.received if "notice" in message.event["data"]])
    assert ids[0] == ids[1]
    assert all(int(one.split("-")[1]) < int(other.split("-")[1]) for one, other in pairwise(ids[0]))
