"""`tablectl replay --mqtt`: a recorded session through a real Mosquitto, whatever becomes of it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tablectl.ledger.reader import Reader
from tests.broker import Broker, free_port
from tests.cli.samples import ES, FR, SESSIONS, Session, notices, run, start
from tests.mqtt.subscriber import Subscriber

BASE = "tablectl/v1/Vilnius/pit 2/BJ-7"
TABLE = ["--site", "Vilnius", "--pit", "pit 2", "--table", "BJ-7"]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture(scope="module")
def printed() -> dict[str, list[bytes]]:
    """What each session says without a broker, line by line."""
    return {name: run(*session.replay, "--json").stdout.splitlines() for name, session in SESSIONS.items()}


def retained(broker: Broker) -> dict[str, dict[str, Any]]:
    """What a broker tells one who comes late, by topic."""
    with Subscriber(broker) as late:
        late.wait(lambda: len(late.received) >= 3)
        time.sleep(0.3)  # for what should not be there
        assert all(message.retained for message in late.received)
        return {message.topic: message.event for message in late.received}


@pytest.mark.parametrize("session", [FR, ES], ids=lambda session: session.house)
def test_who_listens_hears_every_notice_once_in_order_and_who_comes_late_knows_the_table(
    session: Session, broker: Broker, printed: dict[str, list[bytes]]
) -> None:
    with Subscriber(broker) as subscriber:
        done = run(*session.replay, "--json", "--mqtt", broker.url, *TABLE)
        assert done.returncode == 0
        assert done.stdout.splitlines() == printed[session.house]
        subscriber.wait_for(printed[session.house])
        sequences = [message.event["sequence"] for message in subscriber.received if "/evt/" in message.topic]
        assert all(before < after for before, after in pairwise(sequences))  # and so none came twice
        topics = {message.topic.removeprefix(f"{BASE}/") for message in subscriber.received}
        assert {"evt/dealt", "evt/outcome", "evt/round", "evt/phase", "evt/shoe", "prompt", "status", "state", "info"} <= topics
        assert ("evt/alert" in topics) == (session is ES)

    late = retained(broker)
    assert {f"{BASE}/{name}" for name in ("state", "status", "info")} <= set(late)
    state, info = (late[f"{BASE}/{name}"]["data"] for name in ("state", "info"))
    assert (state["house"], state["round"], state["round_open"]) == (session.house, 2, False)
    assert state["phase"] == ("suspended" if session is ES else "betting")
    assert [alert["code"] for alert in state["alerts"]] == (["dealer.drew_on_17"] if session is ES else [])
    assert late[f"{BASE}/status"]["presence"] == "offline"  # the replay is over
    assert {name: device["state"] for name, device in state["devices"].items()} == {"shoe": "up", "pad": "up"}
    assert (info["house"]["name"], info["table"]["table"]) == (session.house, "BJ-7")
    assert {port: profile["name"] for port, profile in info["profiles"].items()} == session.profiles


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_broker_that_goes_and_comes_back_has_missed_nothing(
    how: str, broker: Broker, printed: dict[str, list[bytes]], tmp_path: Path
) -> None:
    with (
        Subscriber(broker) as subscriber,
        start(*FR.replay, "--json", "--speed", "3", "--mqtt", broker.url, "--ledger", tmp_path / "day.ledger") as process,
    ):
        subscriber.wait(lambda: len(subscriber.notices()) > 20)
        getattr(broker, how)()
        away = len(subscriber.notices())
        assert away < len(printed["fr"])
        time.sleep(1.0)  # a third of the session
        with Reader(tmp_path / "day.ledger") as reader:
            assert reader.count_notices(0) > away + 10  # it plays on meanwhile
        broker.start()
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
        assert stdout.splitlines() == printed["fr"]
        subscriber.wait_for(printed["fr"], 30)


def test_a_broker_that_never_comes_back_costs_the_ledger_nothing(
    broker: Broker, printed: dict[str, list[bytes]], tmp_path: Path
) -> None:
    ledger = tmp_path / "day.ledger"
    with (
        Subscriber(broker) as subscriber,
        start(*FR.replay, "--json", "--speed", "8", "--mqtt", broker.url, "--mqtt-wait", "1", "--ledger", ledger) as process,
    ):
        subscriber.wait(lambda: len(subscriber.notices()) > 5)
        broker.stop()
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 6
    (line,) = [line for line in stderr.decode().splitlines() if "zone" not in line]
    assert line.startswith(f"tablectl: {broker.url}: has not taken all notices within 1 s: ")
    assert stdout.splitlines() == printed["fr"]
    with Reader(ledger) as reader:
        assert [entry.body for entry in reader.notices_after(0)] == printed["fr"]


def test_a_broker_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    url = f"mqtt://127.0.0.1:{free_port()}"
    began = time.monotonic()
    done = run(*FR.replay, "--json", "--mqtt", url, "--mqtt-wait", "0.5")
    assert (done.returncode, done.stdout) == (6, b"")
    assert done.stderr.decode().splitlines()[-1] == f"tablectl: {url}: cannot be reached: Connection refused"
    assert time.monotonic() - began < 20


def test_a_session_that_is_replayed_again_is_told_under_the_same_ids(broker: Broker, printed: dict[str, list[bytes]]) -> None:
    """So that a reader who drops repeats by id drops it."""
    with Subscriber(broker) as subscriber:
        for _ in range(2):
            assert run(*FR.replay, "--mqtt", broker.url).returncode == 0
        subscriber.wait(lambda: sum("/evt/" in message.topic for message in subscriber.received) >= 2 * events(printed["fr"]))
        subscriber.wait_for(printed["fr"])


def events(lines: list[bytes]) -> int:
    """How many of the notices are told under `evt/`."""
    return sum(notice["notice"] not in ("prompt", "status") for notice in notices(b"\n".join(lines)))


def test_an_interrupted_replay_says_that_the_table_is_offline(broker: Broker, printed: dict[str, list[bytes]]) -> None:
    with Subscriber(broker) as subscriber, start(*FR.replay, "--json", "--speed", "3", "--mqtt", broker.url) as process:
        subscriber.wait(lambda: len(subscriber.notices()) > 20)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 130
        subscriber.wait(lambda: subscriber.on("status")[-1].event.get("presence") == "offline")
    heard = subscriber.notices()
    assert heard == printed["fr"][: len(heard)]
    assert msgspec.json.decode(subscriber.on("info")[0].payload)["data"]["house"]["name"] == "fr"
