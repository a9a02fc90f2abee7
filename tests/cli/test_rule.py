"""`tablectl rule` to a `tablectl replay --listen`, both as processes, through a real Mosquitto."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from tablectl import observations
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.instants import from_micros
from tablectl.notices import encode
from tests.broker import Broker, free_port
from tests.cli.samples import ES, FR, Session, read_ledger, run, start
from tests.mqtt.subscriber import Subscriber


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker") as running:
        yield running


@contextmanager
def table(broker: Broker, folder: Path, session: Session = ES, *more: str, phase: str) -> Iterator[subprocess.Popen[bytes]]:
    """A session that is replayed and listens, from when a subscriber has heard of that phase; its stderr is in a file."""
    words = ["--mqtt", broker.url, "--listen", "--table", "t07", "--ledger", str(folder / "day.ledger"), "--json", *more]
    with Subscriber(broker, "tablectl/v1/site/pit/t07/state") as heard, (folder / "stderr").open("wb") as stderr:
        process = start(*session.replay, *words, stderr=stderr)
        try:
            heard.wait(lambda: any(message.event["data"]["phase"] == phase for message in heard.on("state")), 30)
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=10)


def rule(broker: Broker, *words: str) -> tuple[int, str, str]:
    done = run("rule", "--mqtt", broker.url, "--table", "t07", *words)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def stopped(process: subprocess.Popen[bytes], by: signal.Signals) -> int:
    process.send_signal(by)
    process.communicate(timeout=30)
    return process.returncode


def said_by_a_replay_of(entries: list[bytes], house: str, supervisors: frozenset[str] | None) -> list[bytes]:
    game = Table(rules.load(house).house, supervisors=supervisors)
    return [encode(notice) for line in entries for notice in game.feed(observations.decode(line))]


def test_a_supervisor_ends_the_suspension_in_one_line(broker: Broker, tmp_path: Path) -> None:
    """The dealer drew on 17: the card is burned. First somebody tries who may not, and afterwards nothing is left to rule on."""
    with table(broker, tmp_path, ES, "--supervisor", "CHIEF7", "--supervisor", "CHIEF8", phase="suspended") as process:
        code, out, err = rule(broker, "burn", "--by", "BOB")
        assert (code, out, err) == (1, "", "tablectl: refused: this person is not on the list of supervisors\n")

        code, out, err = rule(broker, "burn", "--by", "CHIEF7", "--reason", "drawn on 17")
        assert (code, err) == (0, "")
        first, *changes = out.splitlines()
        assert first == "Done: burn by CHIEF7."
        assert any(line.endswith("4S  to the burned cards") for line in changes)
        assert any(line.endswith("game stopped -> betting") for line in changes)

        code, out, err = rule(broker, "accept", "--by", "CHIEF8")
        assert (code, out, err) == (1, "", "tablectl: refused: nothing waits for a ruling\n")

        with Subscriber(broker, "tablectl/v1/site/pit/t07/state") as late:
            late.wait(lambda: late.has(1))
            assert late.received[-1].event["data"]["phase"] == "betting"
            open_alerts = [alert["id"] for alert in late.received[-1].event["data"]["alerts"]]
        code, out, err = rule(broker, "ack", "--alert", str(open_alerts[-1]), "--by", "CHIEF8")
        assert (code, out, err) == (0, f"Alert {open_alerts[-1]} is acknowledged by CHIEF8.\n", "")

        assert stopped(process, signal.SIGTERM) == 0

    entries = read_ledger(tmp_path / "day.ledger")
    seen = [entry.body for entry in entries if entry.kind == "observation"]
    names = [observations.decode(line) for line in seen[-4:]]
    assert [(type(one).__name__, getattr(one, "by", None)) for one in names] == [
        ("Ruling", "BOB"),
        ("Ruling", "CHIEF7"),
        ("Ruling", "CHIEF8"),
        ("Ack", "CHIEF8"),
    ]
    times = [observations.decode(line).at or "" for line in seen]
    assert times[-5:] == sorted(times[-5:])  # in the recording's time, after its end
    assert all(time and time[:10] == times[0][:10] for time in times)
    told = [entry.body for entry in entries if entry.kind == "notice"]
    assert told == said_by_a_replay_of(seen, "es", frozenset({"CHIEF7", "CHIEF8"}))
    assert not any(b"link.clock" in line for line in told)


def test_anybody_may_rule_where_nobody_is_named_and_the_response_is_the_tables_own(broker: Broker, tmp_path: Path) -> None:
    with table(broker, tmp_path, ES, phase="suspended") as process:
        code, out, err = rule(broker, "burn", "--by", "BOB", "--json")
        assert (code, err) == (0, "")
        response: dict[str, Any] = msgspec.json.decode(out)
        assert (response["done"], response["reason"]) == (True, None)
        dealt = [notice for notice in response["notices"] if notice["notice"] == "dealt"]
        assert [(notice["card"], notice["to"]) for notice in dealt] == [("4S", "burn")]
        assert stopped(process, signal.SIGINT) == 0
    told = [entry.body for entry in read_ledger(tmp_path / "day.ledger") if entry.kind == "notice"]
    assert told[-len(response["notices"]) :] == [msgspec.json.encode(notice) for notice in response["notices"]]


def test_a_ruling_comes_through_while_the_recording_plays(broker: Broker, tmp_path: Path) -> None:
    with table(broker, tmp_path, FR, "--speed", "2", "--supervisor", "CHIEF7", phase="players") as process:
        began = time.monotonic()
        code, _, err = rule(broker, "accept", "--by", "CHIEF7")
        assert (code, err) == (1, "tablectl: refused: nothing waits for a ruling\n")
        assert time.monotonic() - began < 10
        assert stopped(process, signal.SIGINT) == 130  # it was not over
    seen = [observations.decode(entry.body) for entry in read_ledger(tmp_path / "day.ledger") if entry.kind == "observation"]
    assert [type(one).__name__ for one in seen].count("Ruling") == 1
    times = [one.at or "" for one in seen]
    assert times == sorted(times)


def test_a_table_that_nobody_can_ask(broker: Broker) -> None:
    code, out, err = rule(broker, "accept", "--by", "CHIEF7")
    assert (code, out) == (6, "")
    assert err == f"tablectl: {broker.url}: nobody there listens for commands to site/pit/t07\n"
    url = f"mqtt://127.0.0.1:{free_port()}"
    done = run("rule", "--mqtt", url, "accept", "--by", "CHIEF7")
    assert (done.returncode, done.stderr.decode()) == (6, f"tablectl: {url}: cannot be reached: Connection refused\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["accept"], "--by"),
        (["guess", "--by", "CHIEF7"], "guess"),
        (["move", "--by", "CHIEF7"], "--to"),
        (["correct", "--by", "CHIEF7"], "--card"),
        (["ack", "--by", "CHIEF7"], "--alert"),
        (["correct", "--by", "CHIEF7", "--card", "1S"], "'1S' is no card"),
        (["move", "--by", "CHIEF7", "--to", "box:8"], "'box:8' is no place"),
        (["accept", "--by", "C" * 81], "by"),
        (["accept", "--by", "CHIEF7", "--mqtt", "127.0.0.1"], "no broker address"),
        (["accept", "--by", "CHIEF7", "--reason", "x" * 501], "reason"),
    ],
)
def test_what_makes_no_sense_is_not_sent(words: list[str], told: str) -> None:
    done = run("rule", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert told in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_table_that_shall_listen_needs_a_broker() -> None:
    done = run(*ES.replay, "--listen")
    assert done.returncode == 2
    assert b"--listen" in done.stderr


def resident(process: subprocess.Popen[bytes]) -> int:
    """Bytes of memory."""
    (line,) = [line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


def test_garbage_and_repeats_do_not_stop_the_table_or_swell_it(broker: Broker, tmp_path: Path) -> None:
    """A thousand pieces of garbage, some 20 MB; one sound command said five times; the table does what is asked after it."""
    base = "tablectl/v1/site/pit/t07"
    garbage = [b"", b"\xff" * 30_000, b"[" * 30_000, b'{"id":"x"}', b"x" * 70_000, b'{"id":"x","do":"accept","by":"CHIEF7"}']
    expires = from_micros(time.time_ns() // 1000 + 60_000_000)
    command = {"id": "1", "expires": expires, "do": "accept", "alert": 99, "by": "CHIEF7", "reply_to": f"{base}/reply/me"}
    sound = msgspec.json.encode(command)
    with Subscriber(broker, f"{base}/reply/#") as replies, table(broker, tmp_path, phase="suspended") as process:
        before = resident(process)
        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", broker.port)
        client.loop_start()
        for number in range(1000):
            client.publish(f"{base}/cmd/{('ruling', 'ack')[number % 2]}", garbage[number % len(garbage)], 1)
        for _ in range(5):
            client.publish(f"{base}/cmd/ruling", sound[:-1] + b',"reply_to":"%s/reply/me"}' % base.encode(), 1).wait_for_publish(
                30
            )
        replies.wait(lambda: len(replies.received) >= 5, 30)
        client.disconnect()
        client.loop_stop()
        assert len({message.payload for message in replies.received}) == 1
        assert replies.received[0].event["reason"] == "nothing_open"
        code, out, _ = rule(broker, "burn", "--by", "CHIEF7")
        assert (code, out.splitlines()[0]) == (0, "Done: burn by CHIEF7.")
        assert resident(process) - before < 8 << 20
        assert stopped(process, signal.SIGTERM) == 0
    seen = [observations.decode(entry.body) for entry in read_ledger(tmp_path / "day.ledger") if entry.kind == "observation"]
    assert [one.do for one in seen if isinstance(one, observations.Ruling)] == ["accept", "burn"]
    refused = [line for line in (tmp_path / "stderr").read_text().splitlines() if ": refused: " in line]
    assert 1 <= len(refused) <= 11
