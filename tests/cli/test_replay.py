"""`tablectl replay` on the recorded sessions and on legal play, as a process of its own."""

from __future__ import annotations

import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tablectl.errors import EXIT_INTERRUPTED, LedgerError
from tablectl.ledger.reader import Reader
from tests.benchmarks.traffic import record
from tests.cli.samples import ES, FR, SESSIONS, notices, of_kind, read_ledger, run, start

ZONELESS = "its times carry no zone: taken as UTC (--zone says otherwise)"
RULING = (
    '{"event":"ruling","do":"burn","alert":1,"by":"CHIEF7","reason":"drawn on 17","at":"2026-11-30T06:01:10Z"}',
    '{"event":"bet","box":2,"amount":700,"at":"2026-11-30T06:01:12Z"}',
    '{"event":"no_more_bets","at":"2026-11-30T06:01:13Z"}',
)


@pytest.fixture(scope="module")
def replayed() -> dict[str, subprocess.CompletedProcess[bytes]]:
    """Both sessions, each replayed once as two logs."""
    return {name: run(*session.replay, "--json", "--check") for name, session in SESSIONS.items()}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both sessions, each as one native recording."""
    folder = tmp_path_factory.mktemp("recordings")
    made = {name: folder / f"{name}.rec" for name in SESSIONS}
    for name, session in SESSIONS.items():
        done = run(*session.import_to(made[name]))
        assert done.returncode == 0, done.stderr
    return made


def told_of(outcome: dict[str, Any]) -> tuple[object, ...]:
    """An outcome in the form of `Session.outcomes`."""
    names = ("round", "box", "hand", "result", "cards", "dealer_total", "stake", "insurance", "returned", "carried")
    return tuple(" ".join(outcome[name]) if name == "cards" else outcome[name] for name in names)


# What happened


@pytest.mark.parametrize("name", SESSIONS)
def test_the_rounds_of_a_session_close_with_its_money(name: str, replayed: dict[str, subprocess.CompletedProcess[bytes]]) -> None:
    closed = of_kind(replayed[name].stdout, "round_closed")
    assert [(each["staked"], each["returned"], each["carried"]) for each in closed] == SESSIONS[name].rounds
    assert [each["number"] for each in closed] == [1, 2]


@pytest.mark.parametrize("name", SESSIONS)
def test_every_hand_ends_as_it_was_dealt(name: str, replayed: dict[str, subprocess.CompletedProcess[bytes]]) -> None:
    outcomes = [told_of(outcome) for outcome in of_kind(replayed[name].stdout, "outcome")]
    assert outcomes == SESSIONS[name].outcomes


def test_the_french_session_has_no_alert(replayed: dict[str, subprocess.CompletedProcess[bytes]]) -> None:
    done = replayed["fr"]
    assert of_kind(done.stdout, "alert") == []
    assert done.returncode == 0
    assert done.stderr.decode().splitlines() == [f"tablectl: {path}: {ZONELESS}" for path in FR.logs.values()]


def test_the_spanish_session_ends_suspended_because_the_dealer_drew_on_17(
    replayed: dict[str, subprocess.CompletedProcess[bytes]],
) -> None:
    done = replayed["es"]
    (alert,) = of_kind(done.stdout, "alert")
    assert (alert["code"], alert["severity"], alert["cards"], alert["round"]) == ("dealer.drew_on_17", "critical", ["4S"], 2)
    assert of_kind(done.stdout, "phase")[-1]["to"] == "suspended"
    assert notices(done.stdout)[-1]["code"] == "call_supervisor"
    assert done.returncode == 3
    assert b"tablectl: shoe 2026-11-30T06:01:04.214401Z: critical: dealer.drew_on_17: " in done.stderr
    assert b"Traceback" not in done.stderr


def test_without_check_a_critical_alert_is_no_failure(replayed: dict[str, subprocess.CompletedProcess[bytes]]) -> None:
    done = run(*ES.replay, "--json")
    assert (done.returncode, done.stdout) == (0, replayed["es"].stdout)


@pytest.mark.parametrize("name", SESSIONS)
def test_notices_are_numbered_without_a_gap_and_in_the_order_of_time(
    name: str, replayed: dict[str, subprocess.CompletedProcess[bytes]]
) -> None:
    said = notices(replayed[name].stdout)
    assert [notice["seq"] for notice in said] == list(range(1, len(said) + 1))
    assert all(before["cause"] <= after["cause"] and before["at"] <= after["at"] for before, after in pairwise(said))


def test_a_person_reads_it_in_words() -> None:
    told = run(*FR.replay).stdout.decode()
    assert re.search(r"^05:57:48\.889 .*\b1\b.*80\.00.*105\.00.*20\.00", told, re.MULTILINE)  # the first round's money
    assert re.search(r"^05:57:46\.387 .*AS KD.*25\.00", told, re.MULTILINE)  # its blackjack
    assert "{" not in told
    assert "\x1b" not in told


# The same whatever the way


@pytest.mark.parametrize("name", SESSIONS)
def test_one_recording_says_the_same_as_two_logs(
    name: str, replayed: dict[str, subprocess.CompletedProcess[bytes]], recordings: dict[str, Path]
) -> None:
    done = run("replay", recordings[name], "--json", "--check")
    assert (done.returncode, done.stdout) == (replayed[name].returncode, replayed[name].stdout)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_paced_replay_says_the_same_and_takes_its_time(
    name: str, replayed: dict[str, subprocess.CompletedProcess[bytes]], recordings: dict[str, Path]
) -> None:
    began = time.monotonic()
    done = run("replay", recordings[name], "--json", "--check", "--speed", "20")
    assert time.monotonic() - began > SESSIONS[name].seconds / 20
    assert (done.returncode, done.stdout) == (replayed[name].returncode, replayed[name].stdout)


def test_a_paced_replay_is_told_as_it_happens(recordings: dict[str, Path]) -> None:
    """Who reads a replay through a pipe sees the first notices long before the last."""
    with start("replay", recordings["fr"], "--json", "--speed", "6") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b'{"notice":"status"')
        first = time.monotonic()
        process.stdout.read()
        assert time.monotonic() - first > FR.seconds / 6 * 0.75


def test_observations_in_a_file_are_merged_by_their_times(
    tmp_path: Path, replayed: dict[str, subprocess.CompletedProcess[bytes]], recordings: dict[str, Path]
) -> None:
    """A supervisor's ruling, which no device reports, ends the suspension, and the next round begins."""
    (tmp_path / "rulings.jsonl").write_text("# the chief's book\n\n" + "\n".join(RULING) + "\n")
    done = run("replay", recordings["es"], "--with", tmp_path / "rulings.jsonl", "--json")
    assert done.returncode == 0
    assert done.stdout.startswith(replayed["es"].stdout)
    more = notices(done.stdout[len(replayed["es"].stdout) :])
    assert [(each["from"], each["to"]) for each in more if each["notice"] == "phase"] == [
        ("suspended", "betting"),
        ("betting", "first_cards"),
    ]
    assert more[-1]["round"] == 3


def test_a_stake_in_a_file_counts_where_its_time_says(tmp_path: Path, recordings: dict[str, Path]) -> None:
    """Box 1 raises to 15.00 between its stake and the deal: its blackjack is paid 37.50."""
    (tmp_path / "bets.jsonl").write_text('{"event":"bet","box":1,"amount":1500,"at":"2026-11-30T06:57:44.2+01:00"}\n')
    done = run("replay", recordings["fr"], "--with", tmp_path / "bets.jsonl", "--json")
    assert [outcome["returned"] for outcome in of_kind(done.stdout, "outcome")][:1] == [3750]
    assert [closed["staked"] for closed in of_kind(done.stdout, "round_closed")] == [8500, 3500]


# The ledger


def test_the_ledger_holds_what_was_printed_and_what_was_seen(
    tmp_path: Path, replayed: dict[str, subprocess.CompletedProcess[bytes]]
) -> None:
    ledger = tmp_path / "es.ledger"
    done = run(*ES.replay, "--json", "--ledger", ledger)
    entries = read_ledger(ledger)
    assert b"".join(entry.body + b"\n" for entry in entries if entry.kind == "notice") == done.stdout == replayed["es"].stdout
    assert entries[0].kind == "pin"
    # Its observations alone, played again, say the same.
    seen = b"".join(entry.body + b"\n" for entry in entries if entry.kind == "observation")
    assert run("play", "--house", "es", "-", stdin=seen).stdout == done.stdout


def test_a_replay_makes_the_same_ledger_again(tmp_path: Path, recordings: dict[str, Path]) -> None:
    """Entry by entry, to the byte, at another pace and on another day."""
    run("replay", recordings["fr"], "--ledger", tmp_path / "first")
    run("replay", recordings["fr"], "--ledger", tmp_path / "second", "--speed", "20")
    assert read_ledger(tmp_path / "first") == read_ledger(tmp_path / "second")
    with Reader(tmp_path / "first") as first, Reader(tmp_path / "second") as second:
        assert first.session == second.session


def test_a_ledger_is_never_written_over(tmp_path: Path, recordings: dict[str, Path]) -> None:
    ledger = tmp_path / "day.ledger"
    run("replay", recordings["fr"], "--ledger", ledger)
    before = ledger.read_bytes()
    done = run("replay", recordings["es"], "--ledger", ledger, "--json")
    assert done.returncode == 7
    assert done.stderr.decode() == f"tablectl: {ledger}: exists already; a ledger is never written over\n"
    assert done.stdout == b""
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_stops_a_replay_its_ledger_is_whole(
    how: signal.Signals, tmp_path: Path, replayed: dict[str, subprocess.CompletedProcess[bytes]], recordings: dict[str, Path]
) -> None:
    ledger = tmp_path / "day.ledger"
    with start("replay", recordings["fr"], "--json", "--speed", "3", "--ledger", ledger) as process:
        wait_for_entries(ledger, 30)
        process.send_signal(how)
        stdout, stderr = process.communicate(timeout=30)
    if how != signal.SIGKILL:
        assert process.returncode == EXIT_INTERRUPTED
        assert stderr.strip() == b"tablectl: interrupted"
    entries = read_ledger(ledger)
    kept = b"".join(entry.body + b"\n" for entry in entries if entry.kind == "notice")
    assert kept.startswith(stdout)  # what was printed was committed first
    assert replayed["fr"].stdout.startswith(kept)
    assert 0 < len(kept) < len(replayed["fr"].stdout)
    seen = b"".join(entry.body + b"\n" for entry in entries if entry.kind == "observation")
    assert run("play", "--house", "fr", stdin=seen).stdout == kept  # no observation without its notices
    with closing(sqlite3.connect(ledger)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def wait_for_entries(ledger: Path, count: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            with Reader(ledger) as reader:
                if reader.last() >= count:
                    return
        except LedgerError:
            pass  # it is just being made
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Where the notices go


def test_a_reader_that_has_seen_enough_is_no_news(recordings: dict[str, Path]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe, start("replay", recordings["fr"], "--json", stdout=pipe) as process:
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (1, b"")


def test_head_is_satisfied(recordings: dict[str, Path]) -> None:
    with start("replay", recordings["fr"], "--json") as process:
        assert process.stdout is not None
        head = subprocess.run(["head", "-n", "1"], stdin=process.stdout, capture_output=True, check=True, timeout=30)
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert head.stdout.startswith(b'{"notice":"status","seq":1,')


def test_a_full_disk_under_stdout_is_one_line(recordings: dict[str, Path]) -> None:
    with Path("/dev/full").open("wb") as full, start("replay", recordings["fr"], "--json", stdout=full) as process:
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 1
    assert stderr == b"tablectl: the system refused: No space left on device; set TABLECTL_DEBUG=1 for details\n"


def test_a_full_disk_under_stdout_costs_the_ledger_nothing(
    tmp_path: Path, replayed: dict[str, subprocess.CompletedProcess[bytes]], recordings: dict[str, Path]
) -> None:
    ledger = tmp_path / "day.ledger"
    with (
        Path("/dev/full").open("wb") as full,
        start("replay", recordings["fr"], "--json", "--ledger", ledger, stdout=full) as process,
    ):
        process.communicate(timeout=30)
    assert process.returncode == 1
    kept = b"".join(entry.body + b"\n" for entry in read_ledger(ledger) if entry.kind == "notice")
    assert kept == replayed["fr"].stdout  # all was committed before any was printed


@pytest.mark.parametrize("more", [["--json"], []])
def test_no_stdout_at_all_does_no_harm(
    more: list[str], tmp_path: Path, replayed: dict[str, subprocess.CompletedProcess[bytes]], recordings: dict[str, Path]
) -> None:
    words = " ".join([str(recordings["fr"]), "--ledger", str(tmp_path / "day.ledger"), *more])
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m tablectl replay {words} >&-', sys.executable], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    kept = b"".join(entry.body + b"\n" for entry in read_ledger(tmp_path / "day.ledger") if entry.kind == "notice")
    assert kept == replayed["fr"].stdout


@pytest.mark.parametrize("long", [True, False])
def test_a_long_replay_shows_a_bar_on_a_terminal(
    long: bool, tmp_path: Path, replayed: dict[str, subprocess.CompletedProcess[bytes]], recordings: dict[str, Path]
) -> None:
    recording = padded(recordings["fr"], tmp_path / "padded.rec") if long else recordings["fr"]
    ours, theirs = pty.openpty()
    with start("replay", recording, "--json", stderr=theirs) as process:
        os.close(theirs)
        said = reader_of(ours)
        assert process.stdout is not None
        assert process.stdout.read() == replayed["fr"].stdout
        assert process.wait(timeout=30) == 0
    assert ("%" in said()) == long


def test_no_bar_where_stderr_is_no_terminal(tmp_path: Path, recordings: dict[str, Path]) -> None:
    assert run("replay", padded(recordings["fr"], tmp_path / "padded.rec"), "--json").stderr == b""


def padded(recording: Path, longer: Path) -> Path:
    """The same recording, with comments of a megabyte and more."""
    longer.write_bytes(recording.read_bytes() + (b"#" * 1023 + b"\n") * 1100)
    return longer


def reader_of(terminal: int) -> Callable[[], str]:
    """Read all that comes to a terminal, and give it when it has been closed."""
    got: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # Linux says EIO where the other side has closed
            while data := os.read(terminal, 65536):
                got.append(data)
        os.close(terminal)

    thread = threading.Thread(target=read)
    thread.start()

    def said() -> str:
        thread.join(30)
        return b"".join(got).decode()

    return said


# Legal play


@pytest.fixture(scope="module", params=["fr", "es", "lt"])
def evening(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A house, and a recording of 40 random rounds in which nothing is wrong: three shoes."""
    house: str = request.param
    path = tmp_path_factory.mktemp("evening") / f"{house}.rec"
    record(path, house, [40], seed=7)
    return house, path


def test_an_evening_without_mistakes_has_no_alert_and_its_money_adds_up(evening: tuple[str, Path]) -> None:
    house, path = evening
    done = run("replay", path, "--json", "--check")
    assert (done.returncode, done.stderr) == (0, b"")
    assert of_kind(done.stdout, "alert") == []
    closed = of_kind(done.stdout, "round_closed")
    outcomes = of_kind(done.stdout, "outcome")
    assert [each["number"] for each in closed] == list(range(1, 41))
    for each in closed:
        hands = [outcome for outcome in outcomes if outcome["round"] == each["number"]]
        assert sum(hand["stake"] + hand["insurance"] for hand in hands) == each["staked"]
        assert sum(hand["returned"] for hand in hands) == each["returned"]
        assert sum(hand["carried"] for hand in hands) == each["carried"]
    assert any(each["carried"] for each in closed) == (house == "fr")  # where ties stay in place
