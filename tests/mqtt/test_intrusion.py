"""What somebody on the network may try: nothing of it acts, nothing stops the table, and few words are enough to record it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import Commands, ask
from tablectl.mqtt.identity import Trust, sealed
from tablectl.mqtt.judgement import Order
from tablectl.mqtt.orders import Command, RulingCommand
from tablectl.mqtt.records import IN_FULL, Refused, RefusedCount, Taken, decode
from tests.broker import Broker
from tests.mqtt.flood import Flood, Intruder, packet, text
from tests.mqtt.gateways import Server
from tests.mqtt.test_desk import Run
from tests.mqtt.test_identity import KEY, OTHERS_KEY, PEOPLE, SIGNED

TABLE = TableName("a", "b", "c")
BASE = "tablectl/v1/a/b/c"
RULING = f"{BASE}/cmd/ruling".encode()
SECOND = 1_000_000
ROOT = Path(__file__).parents[2]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker") as running:
        yield running


class LiveDesk:
    """A table whose game's thread takes commands as a live one does; how long it ever was held up is `longest`."""

    def __init__(self, url: str, trust: Trust = SIGNED):
        self.run = Run()
        self.refused: list[Refused | RefusedCount] = []
        self.longest = 0.0
        self._commands = Commands(Address.parse(url), TABLE, trust=trust, log=lambda _: None)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._play)

    def _play(self) -> None:
        while not self._stop.is_set():
            time.sleep(0.001)
            began = time.monotonic()
            taken = self._commands.take(0.0)
            if isinstance(taken, Order):
                now = time.time_ns() // 1000
                self._commands.answer(taken, self.run.desk.carry_out(taken, at=from_micros(now), now=now))
            self._keep(taken)
            self.longest = max(self.longest, time.monotonic() - began)

    def _keep(self, taken: Order | bytes | None) -> None:
        if isinstance(taken, bytes):
            record = decode(taken)
            assert not isinstance(record, Taken)
            self.refused.append(record)

    @property
    def count(self) -> int:
        """How many refused commands are on record."""
        return sum(record.refused if isinstance(record, RefusedCount) else 1 for record in self.refused)

    def reasons(self) -> set[str]:
        return {
            reason
            for record in self.refused
            for reason in (record.reasons if isinstance(record, RefusedCount) else {record.reason: 1})
        }

    def wait(self, until: Callable[[], bool], seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < deadline, self.refused
            time.sleep(0.01)

    def __enter__(self) -> Self:
        self._commands.__enter__()
        self._commands.wait_online(10)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self._commands.__exit__(kind, error, trace)
        while (taken := self._commands.take(0.0)) is not None:
            self._keep(taken)


def fields(name: str = "1", **changes: Any) -> dict[str, Any]:
    expires = from_micros(time.time_ns() // 1000 + 60 * SECOND)
    return {"id": name, "expires": expires, "do": "void_round", "by": "CHIEF7"} | changes


def body(name: str = "1", **changes: Any) -> bytes:
    return msgspec.json.encode(fields(name, **changes))


def signed(name: str = "1", **changes: Any) -> bytes:
    return sealed_for(body(name, **changes))


def sound(url: str, name: str = "sound", seconds: float = 20.0, **changes: Any) -> dict[str, Any]:
    """What the table answers to somebody who may."""
    command: Command = msgspec.convert(fields(name, **changes), RulingCommand)
    answer: dict[str, Any] = msgspec.json.decode(ask(Address.parse(url), TABLE, "ruling", command, seconds=seconds, key=KEY))
    return answer


NESTED = b'{"id":"1","by":' + b"[" * 10_000 + b"]" * 10_000 + b"}"


def sealed_for(payload: bytes, topic: bytes = RULING, key: Ed25519PrivateKey = KEY) -> bytes:
    return sealed(payload, topic=topic.decode(), person="CHIEF7", key=key)


ATTEMPTS: dict[str, tuple[Callable[[], bytes], str]] = {
    "unsigned": (body, "unsigned"),
    "somebody else's signature": (lambda: sealed_for(body(), key=OTHERS_KEY), "bad_signature"),
    "for another table": (lambda: sealed_for(body(), b"tablectl/v1/a/b/d/cmd/ruling"), "bad_signature"),
    "nested 10,000 deep": (lambda: NESTED, "malformed"),
    "nested 10,000 deep and signed": (lambda: sealed_for(NESTED), "malformed"),
    "no UTF-8": (lambda: b'{"id":"\xff\xfe"}', "malformed"),
    "no UTF-8 and signed": (lambda: sealed_for(b"\xff\xfe"), "malformed"),
    "too long by a byte": (lambda: b" " * 65_537, "too_long"),
    "expired": (lambda: sealed_for(body(expires="2026-01-01T00:00:00Z")), "expired"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_one_attempt_is_refused_recorded_and_acts_on_nothing(attempt: str, broker: Broker) -> None:
    made, reason = ATTEMPTS[attempt]
    payload = made()
    with LiveDesk(broker.url) as desk, Intruder(broker.port) as intruder:
        intruder.publish(RULING, payload, qos=1)
        desk.wait(lambda: desk.count == 1)
        (record,) = desk.refused
        assert isinstance(record, Refused)
        assert (record.reason, record.name, record.vouched) == (reason, "ruling", None)
        assert record.size == (None if reason == "too_long" else len(payload))
        assert desk.run.fed == []
        assert sound(broker.url)["done"]


def test_a_hundred_megabytes_never_reach_the_table(broker: Broker) -> None:
    with LiveDesk(broker.url) as desk, Intruder(broker.port) as intruder:
        before = _resident()
        intruder.publish(RULING, bytes(100_000_000))
        intruder.publish(RULING, b"after it")
        desk.wait(lambda: desk.count >= 1)
        assert [record.size for record in desk.refused if isinstance(record, Refused)] == [8]
        assert _resident() - before < 20_000_000
        assert sound(broker.url)["done"]


def _resident() -> int:
    """Bytes of memory that this process holds now; the intruder's hundred megabytes are let go of by then."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_a_topic_that_is_no_text_is_the_end_of_its_sender(broker: Broker) -> None:
    with LiveDesk(broker.url) as desk, Intruder(broker.port) as intruder:
        intruder.publish(f"{BASE}/cmd/".encode() + b"\xff\xfe", body())
        assert intruder.is_out()
        assert sound(broker.url)["done"]
    assert desk.refused == []


class Careless(Server):
    """A broker that hands on a topic that is no text, and then a command."""

    def talk(self, client: Any) -> None:
        client.recv(4096)
        client.sendall(b"\x20\x03\x00\x00\x00")  # CONNACK of MQTT 5
        number = client.recv(4096)[2:4]
        client.sendall(packet(0x90, number, b"\x00\x01"))
        for topic in (f"{BASE}/cmd/".encode() + b"\xff\xfe", RULING):
            client.sendall(packet(0x30, text(topic), b"\x00", body()))
        while client.recv(4096):
            pass


def test_a_topic_that_is_no_text_from_a_careless_broker_does_not_end_the_listening() -> None:
    with Careless() as broker, LiveDesk(broker.url) as desk:
        desk.wait(lambda: desk.count == 2)
        assert [record.reason for record in desk.refused if isinstance(record, Refused)] == ["unknown_command", "unsigned"]


def test_a_retained_command_is_refused_whoever_signed_it(broker: Broker) -> None:
    with Intruder(broker.port) as intruder:
        intruder.publish(RULING, signed(), retain=True)
        with LiveDesk(broker.url) as desk:
            desk.wait(lambda: desk.reasons() == {"retained"})
            intruder.publish(RULING, signed("2"), retain=True)
            desk.wait(lambda: desk.count == 2)
            assert desk.run.fed == []
            assert sound(broker.url)["done"]


def test_a_command_that_is_replayed_is_done_once(broker: Broker) -> None:
    """What was signed once is heard by anybody: said again it is a repeat, and its id cannot be used for anything else."""
    with LiveDesk(broker.url) as desk, Intruder(broker.port) as intruder:
        heard = signed("1", alert=99)
        for _ in range(40):
            intruder.publish(RULING, heard)
        intruder.publish(RULING, signed("1", alert=98))
        intruder.publish(f"{BASE}/cmd/ruling/CHIEF7".encode(), body("3"))
        intruder.publish(f"{BASE}/cmd/ack".encode(), heard)
        desk.wait(lambda: desk.reasons() >= {"unsigned", "malformed"})
        assert sound(broker.url)["done"]
        assert [getattr(seen, "alert", None) for seen in desk.run.fed] == [99, None]
        refused = [record for record in desk.run.records if isinstance(record, Refused)]
        assert [record.reason for record in refused] == ["id_used"]


def flood_of() -> list[tuple[bytes, bytes]]:
    return [
        (RULING, body()),
        (RULING, sealed_for(body(), key=OTHERS_KEY)),
        (f"{BASE}/cmd/ack".encode(), b"\xff" * 40),
        (f"{BASE}/cmd/whatever/you/like".encode(), b"{}"),
        (f"{BASE}/cmd/bet/CHIEF7".encode(), b'{"id":"1","amount":'),
    ]


@pytest.mark.parametrize("qos", [0, 1])
def test_ten_thousand_commands_a_second_stop_nothing(qos: int, broker: Broker) -> None:
    """Somebody who may is answered all the while; the game's thread is never held up; a dozen records tell of it."""
    seconds = 4.0
    asked = msgspec.json.encode(Flood(broker.port, flood_of(), a_second=10_000, seconds=seconds, qos=qos))
    command = [sys.executable, "-m", "tests.mqtt.flood"]
    answered: list[float] = []
    with LiveDesk(broker.url) as desk:
        before = _resident()
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as flood:
            assert flood.stdin is not None
            assert flood.stdout is not None
            flood.stdin.write(asked)
            flood.stdin.close()
            desk.wait(lambda: desk.count > 0)
            while flood.poll() is None:
                began = time.monotonic()
                assert not sound(broker.url, str(len(answered)), alert=99)["done"]
                answered.append(time.monotonic() - began)
            sent = int(flood.stdout.read())
        assert sound(broker.url, "void", seconds=60.0)["done"]
        grown = _resident() - before
    print(
        f"qos {qos}: {sent} sent in {seconds:g} s, {desk.count} refused; {len(answered)} answers in at most "
        f"{max(answered):.3f} s; the game's thread held up for at most {1000 * desk.longest:.1f} ms; {grown / 1e6:.1f} MB more"
    )
    assert sent > 10_000 * seconds * 0.8
    assert desk.count == sent if qos else desk.count > 5_000
    assert len(desk.refused) <= IN_FULL + 2
    assert sum(len(msgspec.json.encode(record)) for record in desk.refused) < 8_000
    assert desk.longest < 0.5
    assert grown < 30_000_000
    assert len(desk.run.fed) == len(answered) + 1
    assert {record.person for record in desk.run.records if isinstance(record, Taken)} == {PEOPLE["CHIEF7"].name}
