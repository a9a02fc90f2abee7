"""`tablectl audit witness` as a process, at a real Mosquitto that a table's real ledger is told to."""

from __future__ import annotations

import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from paho.mqtt import publish

from tablectl.cli import main
from tablectl.ledger.checkpoint import Checkpoint, key_name
from tablectl.ledger.keys import COSIGNS, Signer
from tablectl.ledger.published import published
from tablectl.ledger.signed_note import Note
from tablectl.mqtt.address import Address
from tablectl.mqtt.judgement import Reply
from tablectl.mqtt.proofs import ProofCommand, Prover
from tablectl.mqtt.talk import open_talk
from tests.broker import Broker
from tests.cli.samples import start
from tests.ledger.tables import NAME, TOPIC, Day
from tests.tls_broker import Pair, TlsBroker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker", persistent=True) as running:
        yield running


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    with Day(tmp_path / "day.db") as made:
        yield made


def tell(broker: Broker, payload: bytes, topic: str = TOPIC, *, tls: tuple[Path, Pair] | None = None) -> None:
    shown: Any = None
    if tls is not None:
        ca, pair = tls
        shown = ssl.create_default_context(cafile=ca)
        shown.load_cert_chain(pair.certificate, pair.key)
    publish.single(topic, payload, qos=1, retain=True, hostname="127.0.0.1", port=broker.port, tls=shown)


class Process:
    """A witness that runs; its file and its stderr can be read."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]):
        self.folder = folder
        self.process = process

    @property
    def said(self) -> str:
        return (self.folder / "stderr").read_text()

    @property
    def kept(self) -> list[dict[str, Any]]:
        return kept(self.folder)

    def wait(self, done: Callable[[], bool], seconds: float = 15.0) -> None:
        until = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < until, (self.said, self.kept)
            assert self.process.poll() is None, self.said
            time.sleep(0.02)

    def stopped(self, by: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(by)
        self.process.communicate(timeout=15)
        return self.process.returncode


def kept(folder: Path) -> list[dict[str, Any]]:
    path = folder / "seen.jsonl"
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def sizes(lines: list[dict[str, Any]]) -> list[int]:
    return [
        Checkpoint.parse(Note.parse(line["note"].encode()).text).size for line in lines if set(line) == {"seen", "topic", "note"}
    ]


@contextmanager
def witness(broker: Broker, folder: Path, *words: str | Path) -> Iterator[Process]:
    """A witness from when it listens."""
    with (folder / "stderr").open("wb") as stderr:
        process = start("audit", "witness", str(folder / "seen.jsonl"), "--mqtt", broker.url, *map(str, words), stderr=stderr)
        running = Process(folder, process)
        try:
            running.wait(lambda: "witnessing" in running.said)
            yield running
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=10)


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    """A command line in this process, which saves the start of another: its exit code, and what it said."""

    def called(*words: str | Path) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main.run([str(word) for word in words])
        return code, *capfd.readouterr()

    return called


@pytest.fixture
def once(call: Call, broker: Broker, tmp_path: Path) -> Call:
    return lambda *words: call("audit", "witness", tmp_path / "seen.jsonl", "--mqtt", broker.url, "--once", *words)


@pytest.fixture
def verify(call: Call, tmp_path: Path) -> Call:
    return lambda *ledgers: call("audit", "verify", *ledgers, "--witness", tmp_path / "seen.jsonl")


def test_a_day_is_witnessed_while_the_broker_comes_and_goes_and_a_fork_is_told(broker: Broker, day: Day, tmp_path: Path) -> None:
    key = tmp_path / "t07.pub"
    key.write_text(f"# the key of t07\n{day.signer.verifier.vkey}\n")
    tell(broker, day.grown(10))
    with witness(broker, tmp_path, "--key", key) as seeing:
        for entries in (1, 500, 3):
            tell(broker, day.grown(entries))
        seeing.wait(lambda: len(seeing.kept) == 4)
        broker.stop()
        payload = day.grown(100)
        broker.start()
        tell(broker, payload)
        seeing.wait(lambda: len(seeing.kept) == 5)
        assert seeing.said.count("nothing is witnessed at the moment") == 1

        tell(broker, published(day.lie(day.ledger.last, bytes(32)), 0, []))
        seeing.wait(lambda: "REFUSED: hall/main/t07: " in seeing.said)
        assert "the ledger is forked" in seeing.said
        tell(broker, day.grown(10))  # and it goes on witnessing
        seeing.wait(lambda: len(seeing.kept) == 7)
        assert seeing.stopped() == 7
    assert sizes(seeing.kept) == [11, 12, 512, 515, 615, 625]
    refused = [line for line in seeing.kept if "refused" in line]
    assert len(refused) == 1
    assert day.signer.verifier.signed(Note.parse(refused[0]["note"].encode()))


def test_what_was_witnessed_settles_whether_a_ledger_is_the_one_that_was_seen(
    broker: Broker, day: Day, tmp_path: Path, once: Call, verify: Call
) -> None:
    key = ("--key", day.signer.verifier.vkey)
    for entries in (20, 30):
        tell(broker, day.grown(entries))
        assert once(*key)[0] == 0
    assert verify(day.path)[0] == 0
    # The same first pin and key, another course of the day: nothing in the file itself shows it.
    (tmp_path / "anew").mkdir()
    with Day(tmp_path / "anew" / day.path.name, day.signer) as other:
        other.grown(60, "changed")
        code, _, err = verify(other.path)
        assert (code, "is not what the witness saw" in err) == (7, True)


def test_once_judges_what_is_retained(broker: Broker, day: Day, tmp_path: Path, once: Call) -> None:
    key = ("--key", day.signer.verifier.vkey)
    assert once(*key, "--wait", "0.3")[::2] == (
        6,
        f"tablectl: {broker.url}: no table has told a checkpoint there within 0.3 s\n",
    )
    old = day.grown(10)
    tell(broker, old)
    assert once(*key) == (0, f"hall/main/t07: 11 entries of {day.ledger.session}\n", "")
    tell(broker, day.grown(10))
    assert once(*key)[0] == 0
    tell(broker, old)  # somebody shows the broker's subscribers an older table
    code, out, err = once(*key)
    assert (code, out) == (7, "")
    assert f"REFUSED: hall/main/t07: the checkpoint has 11 entries of {day.ledger.session}, where 21 were seen already" in err
    assert sizes(kept(tmp_path)) == [11, 21]


def test_a_missed_proof_is_a_gap_that_a_ledger_settles(
    broker: Broker, day: Day, tmp_path: Path, once: Call, verify: Call
) -> None:
    key = ("--key", day.signer.verifier.vkey)
    tell(broker, day.grown(10))
    assert once(*key)[0] == 0
    day.grown(10)
    tell(broker, day.grown(10))
    code, _, err = once(*key)
    assert code == 0
    assert f"GAP: hall/main/t07: the proof from 11 to 31 entries of {day.ledger.session} is missing" in err
    assert kept(tmp_path)[-1]["gap"] == {"session": day.ledger.session, "from": 11, "to": 31}
    assert verify(day.path)[0] == 0
    assert once(*key, "--settled", "hall/main/t07")[1] == f"hall/main/t07: 31 entries of {day.ledger.session}\n"
    assert once(*key, "--settled", "hall/main/t08")[0] == 2


@contextmanager
def answering(broker: Broker, *ledgers: Day) -> Iterator[list[ProofCommand]]:
    """The part of a table that gives proofs; what it was asked."""
    asked: list[ProofCommand] = []
    prover = Prover({day.ledger.session: day.path for day in ledgers}.get)
    stopping = threading.Event()
    talk = open_talk(Address.parse(broker.url), None, "table", f"tablectl/v1/{NAME}/cmd/proof", 10.0)

    def answer() -> None:
        while not stopping.is_set():
            talk.turn(0.05)
            while talk.arrived:
                arrived = talk.arrived.popleft()
                command = msgspec.json.decode(arrived.payload or b"", type=ProofCommand)
                asked.append(command)
                talk.publish(Reply(command.reply_to or "", arrived.correlation), prover.answer(command))

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield asked
    finally:
        stopping.set()
        thread.join()
        talk.close()


def test_a_missed_proof_is_asked_for_at_the_table(broker: Broker, day: Day, tmp_path: Path, once: Call) -> None:
    key = ("--key", day.signer.verifier.vkey)
    tell(broker, day.grown(10))
    assert once(*key)[0] == 0
    day.grown(10)
    tell(broker, day.grown(1000))
    with answering(broker, day) as asked:
        assert once(*key) == (0, f"hall/main/t07: 1021 entries of {day.ledger.session}\n", "")
        assert [(one.session, one.old, one.new, one.by) for one in asked] == [(day.ledger.session, 11, 1021, "service:witness")]
        assert sizes(kept(tmp_path)) == [11, 1021]
        day.grown(5)
        tell(broker, day.grown(5))
        code, _, err = once(*key)  # a table is not kept from its work
        assert (code, "hall/main/t07: gives no proof: busy (one proof in 5 s)" in err, "GAP" in err) == (0, True, True)


def test_a_new_day_and_a_new_key_are_followed_without_a_person(broker: Broker, day: Day, tmp_path: Path, verify: Call) -> None:
    with witness(broker, tmp_path, "--trust-on-first-use", "--json") as seeing:
        tell(broker, day.grown(10))
        day.rotate(Signer.make(key_name(NAME)))
        tell(broker, day.grown(10))
        with Day(tmp_path / "next.db", day.signer, follows=day.head) as following:
            tell(broker, following.tell())
            tell(broker, following.grown(10))
            seeing.wait(lambda: len(sizes(seeing.kept)) == 4)
        assert seeing.stopped(signal.SIGINT) == 0
    assert sizes(seeing.kept) == [11, 22, 1, 11]
    assert [line["key"].partition("+")[0] for line in seeing.kept if "key" in line] == ["tablectl/v1/hall/main/t07"] * 2
    assert verify(day.path, tmp_path / "next.db")[0] == 0


def test_notes_are_cosigned(broker: Broker, day: Day, tmp_path: Path, once: Call) -> None:
    cosigner = Signer.make("inspector", COSIGNS)
    cosigner.save(tmp_path / "inspector.key")
    tell(broker, day.grown(10))
    before = int(time.time())
    code, out, err = once("--key", day.signer.verifier.vkey, "--sign", tmp_path / "inspector.key", "--json")
    assert (code, err) == (0, "")
    assert [msgspec.json.decode(line) for line in out.splitlines()] == kept(tmp_path)
    note = Note.parse(kept(tmp_path)[0]["note"].encode())
    assert day.signer.verifier.signed(note)
    assert before <= (cosigner.verifier.seconds(note) or 0) <= time.time()
    day.signer.save(tmp_path / "t07.key")
    words = ("--key", day.signer.verifier.vkey, "--sign", tmp_path / "t07.key")
    assert once(*words)[::2] == (2, f"tablectl: {tmp_path}/t07.key: is the key of a table, not a witness's\n")


def test_noise_on_the_topic_is_refused_and_does_not_fill_log_or_file(broker: Broker, day: Day, tmp_path: Path) -> None:
    with witness(broker, tmp_path, "--key", day.signer.verifier.vkey) as seeing:
        messages: Any = [(TOPIC, b"[" * 10_000, 1, False)] * 300 + [(TOPIC, bytes(range(256)), 1, False)] * 300
        publish.multiple(messages, hostname="127.0.0.1", port=broker.port)
        tell(broker, day.grown(10))
        seeing.wait(lambda: len(seeing.kept) == 1)
        assert seeing.said.count("REFUSED") == 20
        assert seeing.stopped() == 7


def test_over_tls_with_a_witnesss_certificate(day: Day, tmp_path: Path, call: Call) -> None:
    with TlsBroker(tmp_path / "broker", tables=[NAME]) as broker:
        tell(broker, day.grown(10), tls=(broker.ca, broker.table()))
        words: tuple[str | Path, ...] = ("audit", "witness", tmp_path / "seen.jsonl", "--mqtt", broker.url, "--once")
        words += ("--key", day.signer.verifier.vkey, "--ca", broker.ca, "--site", "hall", "--pit", "main", "--table", "t07")
        shown = ("--cert", broker.witness.certificate, "--cert-key", broker.witness.key)
        assert call(*words, *shown)[0] == 0
        assert call(*words)[0] == 6


def test_two_witnesses_do_not_write_one_file(broker: Broker, day: Day, tmp_path: Path, once: Call) -> None:
    with witness(broker, tmp_path, "--trust-on-first-use"):
        code, _, err = once("--trust-on-first-use")
        assert (code, err) == (7, f"tablectl: {tmp_path}/seen.jsonl: is being written by another program\n")


def test_what_makes_no_sense_is_said(call: Call, tmp_path: Path) -> None:
    def said(*words: str) -> tuple[int, str]:
        return call("audit", "witness", tmp_path / "seen.jsonl", *words)[::2]

    assert said() == (2, "tablectl: no key is trusted: give --key, or --trust-on-first-use\n")
    assert said("--key", "a+b") == (2, "tablectl: --key: is no public key (NAME+ID+BASE64)\n")
    assert said("--key", "none.pub") == (2, "tablectl: none.pub: the key cannot be read: No such file or directory\n")
    (tmp_path / "seen.jsonl").write_text("no\n{}\n")
    code, err = said("--trust-on-first-use")
    assert (code, err.startswith(f"tablectl: {tmp_path}/seen.jsonl:1: is no line of a witness: ")) == (1, True)
