"""`tablectl rule` to a `tablectl replay --listen`, both as processes, through a real Mosquitto."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from tablectl import observations
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import Commands
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.identity import Person, Trust, private_key
from tablectl.mqtt.judgement import Order
from tablectl.notices import encode
from tests.broker import Broker, free_port
from tests.cli.samples import ES, FR, Session, read_ledger, run, start
from tests.mqtt.subscriber import Subscriber
from tests.tls_broker import TlsBroker


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
        for which, told in (
            ([], "no card of this round passed unread; say with --draw which one is to be corrected"),
            (["--draw", "99"], "no card was drawn under that number"),
        ):
            refused = rule(broker, "correct", "--card", "8S", "--by", "BOB", *which)
            assert refused == (1, "", f"tablectl: refused: {told}\n")
        code, out, err = rule(broker, "burn", "--by", "BOB", "--json")
        assert (code, err) == (0, "")
        response: dict[str, Any] = msgspec.json.decode(out)
        assert (response["done"], response["reason"]) == (True, None)
        dealt = [notice for notice in response["notices"] if notice["notice"] == "dealt"]
        assert [(notice["card"], notice["to"]) for notice in dealt] == [("4S", "burn")]
        assert stopped(process, signal.SIGINT) == 0
    noticed = [entry.body for entry in read_ledger(tmp_path / "day.ledger") if entry.kind == "notice"]
    assert noticed[-len(response["notices"]) :] == [msgspec.json.encode(notice) for notice in response["notices"]]


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


class Believing:
    """A table that wants to know who commands; it answers with who that was and how it knows."""

    def __init__(self, url: str, people: dict[str, Person], credentials: Credentials | None = None):
        trust = Trust(people, vouched=credentials is not None)
        name = TableName("site", "pit", "t07")
        self._commands = Commands(Address.parse(url), name, trust=trust, log=lambda _: None, credentials=credentials)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._answer)

    def _answer(self) -> None:
        while not self._stop.is_set():
            taken = self._commands.take(0.05)
            if isinstance(taken, Order):
                said = {"id": taken.command.id, "done": True, "detail": f"{taken.command.by} by {taken.vouched}"}
                self._commands.answer(taken, msgspec.json.encode(said))

    def __enter__(self) -> None:
        self._commands.__enter__()
        self._commands.wait_online(10)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self._commands.__exit__(kind, error, trace)


def ed25519(path: Path) -> Path:
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True, capture_output=True)
    return path


def test_who_signs_is_believed_and_nobody_else(broker: Broker, tmp_path: Path) -> None:
    own, others = ed25519(tmp_path / "own.pem"), ed25519(tmp_path / "others.pem")
    key = private_key(own.read_bytes()).public_key()
    people = {"CHIEF7": Person("CHIEF7", frozenset({"ruling"}), key)}
    with Believing(broker.url, people):
        code, out, _ = rule(broker, "accept", "--by", "CHIEF7", "--sign", str(own), "--json")
        assert (code, msgspec.json.decode(out)["detail"]) == (0, "CHIEF7 by signature")
        for words, told in (
            (["accept", "--by", "CHIEF7"], "the table wants to know who commands: sign it (--sign)"),
            (
                ["accept", "--by", "CHIEF7", "--sign", str(others)],
                "the signature is not believed (it does not hold for these bytes on ",
            ),
            (["accept", "--by", "BOB", "--sign", str(own)], "the table does not know this person\n"),
            (["ack", "--alert", "1", "--by", "CHIEF7", "--sign", str(own)], "this person may not do this at this table\n"),
        ):
            code, out, err = rule(broker, *words)
            assert (code, out) == (1, "")
            assert err.startswith(f"tablectl: refused: {told}")


def test_whom_the_broker_vouches_for_is_believed(tmp_path: Path) -> None:
    name = TableName("site", "pit", "t07")
    people = {"CHIEF7": Person("CHIEF7", frozenset({"ruling"}))}
    with (
        TlsBroker(tmp_path / "broker", tables=[name], people=["CHIEF7"], role="pit") as broker,
        Believing(broker.url, people, Credentials(broker.ca, *broker.table())),
    ):
        shown = ["--ca", str(broker.ca), "--cert", str(broker.person("CHIEF7").certificate)]
        shown += ["--key", str(broker.person("CHIEF7").key)]
        code, out, _ = rule(broker, "accept", "--by", "CHIEF7", "--json", *shown)
        assert (code, msgspec.json.decode(out)["detail"]) == (0, "CHIEF7 by certificate")
        code, out, err = rule(broker, "accept", "--by", "BOB", *shown)
        assert (code, out) == (6, "")
        assert "refuses a command for site/pit/t07: Not authorized" in err
        code, out, err = rule(broker, "accept", "--by", "CHIEF7", "--ca", str(broker.ca))
        assert (code, out) == (6, "")
        assert "cannot be reached: it wants a client certificate and was shown none" in err


def test_a_file_that_cannot_be_used_is_named(broker: Broker, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("words")
    for option, told in (
        (["--sign", str(words)], f"{words}: is no Ed25519 private key in PEM"),
        (["--sign", str(tmp_path / "none")], f"{tmp_path / 'none'}: cannot be read: No such file"),
        (["--mqtt", "mqtts://127.0.0.1:1", "--ca", str(words)], f"{words}: cannot be read as certificates"),
        (["--cert", str(words)], "mqtts://"),
        (["--key", str(words)], f"{words}: is a key without its certificate"),
    ):
        code, out, err = rule(broker, "accept", "--by", "CHIEF7", *option)
        assert (code, out) == (2, "")
        assert told in err
        assert "Traceback" not in err


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
