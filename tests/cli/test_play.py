"""`tablectl play`: the rules alone, as a process of its own."""

from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path

import pytest

from tablectl import observations
from tablectl.emulator.dealer import LegalPlay
from tablectl.houses import rules
from tablectl.resources import named_files
from tests.cli.samples import notices, of_kind, run, start

# Two boxes: 20 against the dealer's 19, and 18.
ROUND = """\
# a round that a pit boss wrote down

{"event":"bet","box":1,"amount":1000}
{"event":"bet","box":2,"amount":2000}
{"event":"no_more_bets"}
{"event":"card","card":"KS"}
{"event":"card","card":"10H"}
{"event":"card","card":"9D"}
{"event":"card","card":"QC"}
{"event":"card","card":"8S"}
{"event":"decision","box":1,"action":"stand"}
{"event":"decision","box":2,"action":"stand"}
{"event":"card","card":"10D"}
"""
UNFINISHED = "\n".join(ROUND.splitlines()[:-1])
DREW_ON_19 = ROUND + '{"event":"card","card":"2C"}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "round.jsonl"
    path.write_text(ROUND)
    return path


def test_a_round_is_played_to_its_end(file: Path) -> None:
    done = run("play", "--house", "es", file)
    assert (done.returncode, done.stderr) == (0, b"")
    outcomes = [(each["box"], each["result"], each["returned"]) for each in of_kind(done.stdout, "outcome")]
    assert outcomes == [(1, "win", 2000), (2, "lose", 0)]
    (closed,) = of_kind(done.stdout, "round_closed")
    assert (closed["staked"], closed["returned"], closed["carried"], closed["duration_ms"]) == (3000, 2000, 0, None)
    assert [each["card"] for each in of_kind(done.stdout, "dealt")] == ["KS", "TH", "9D", "QC", "8S", "TD"]
    assert [each["seq"] for each in notices(done.stdout)] == list(range(1, len(done.stdout.splitlines()) + 1))


def test_a_file_stdin_and_no_name_at_all_are_the_same(file: Path) -> None:
    played = run("play", "--house", "es", file).stdout
    assert run("play", "--house", "es", "-", stdin=ROUND.encode()).stdout == played
    assert run("play", "--house", "es", stdin=ROUND.encode()).stdout == played


def test_a_house_of_ones_own_is_a_file(file: Path, tmp_path: Path) -> None:
    """A copy of another with one key changed: here the minimum, which box 1 is under now."""
    text = named_files("houses")["es"].read_text()
    ours = tmp_path / "ours.toml"
    ours.write_text(text.replace("table_min = 100", "table_min = 1500"))
    assert ours.read_text() != text
    done = run("play", "--house", ours, file)
    assert [each["code"] for each in of_kind(done.stdout, "alert")][:1] == ["bet.below_min"]


def test_an_unfinished_round_stays_unfinished() -> None:
    done = run("play", "--house", "es", stdin=UNFINISHED.encode())
    assert done.returncode == 0
    assert of_kind(done.stdout, "outcome") == of_kind(done.stdout, "round_closed") == []
    assert notices(done.stdout)[-1]["code"] == "dealer_must_draw"


def test_a_critical_alert_is_exit_code_3_and_is_told_with_its_line() -> None:
    done = run("play", "--house", "es", stdin=DREW_ON_19.encode())
    assert done.returncode == 3
    (alert,) = [alert for alert in of_kind(done.stdout, "alert") if alert["severity"] == "critical"]
    assert alert["code"] == "dealer.drew_on_17"
    (told,) = done.stderr.decode().splitlines()
    assert "-:14: critical: dealer.drew_on_17: " in told


def test_a_warning_is_told_and_is_no_failure() -> None:
    done = run("play", "--house", "es", stdin=ROUND.replace('2,"action":"stand"', '2,"action":"surrender"').encode())
    assert done.returncode == 0
    assert [(alert["code"], alert["rule"]) for alert in of_kind(done.stdout, "alert") if alert["severity"] == "warning"] == [
        ("action.illegal_surrender", "R30")
    ]
    assert b"-:12: box 2: warning: action.illegal_surrender: " in done.stderr


def test_a_bad_line_outweighs_a_critical_alert() -> None:
    done = run("play", "--house", "es", stdin=(DREW_ON_19 + "no JSON\n").encode())
    assert done.returncode == 1
    assert b"critical: dealer.drew_on_17" in done.stderr


def test_times_come_out_in_one_form_and_last_until_the_next() -> None:
    lines = (
        '{"event":"bet","box":1,"amount":1000,"at":"2026-11-30T06:57:42.5+01:00"}',
        '{"event":"no_more_bets"}',
        '{"event":"card","card":"KS","at":"2026-11-30T05:57:44Z"}',
    )
    done = run("play", "--house", "es", stdin="\n".join(lines).encode())
    times = {notice["cause"]: notice["at"] for notice in notices(done.stdout)}
    assert times == {
        1: "2026-11-30T05:57:42.500000Z",
        2: "2026-11-30T05:57:42.500000Z",
        3: "2026-11-30T05:57:44.000000Z",
    }


def test_who_feeds_it_line_by_line_is_answered_line_by_line() -> None:
    """Another program on both ends of it waits for the notices of each observation."""
    with start("play", "--house", "es", "-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in ROUND.splitlines()[2:5]:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], 20)
        process.stdin.close()
        assert ready, "nothing was said before the end of the input"


@pytest.mark.parametrize("house", rules.names())
def test_an_evening_without_mistakes(house: str) -> None:
    """Legal play by `Table.due` raises no alert when another process plays it."""
    lines = [observations.encode(each) for each in LegalPlay(rules.load(house).house, seed=11, rounds=40)]
    done = run("play", "--house", house, stdin=b"\n".join(lines))
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(of_kind(done.stdout, "round_closed")) == 40
    assert of_kind(done.stdout, "alert") == []


def test_a_reader_that_has_seen_enough_is_no_news(file: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe, start("play", "--house", "es", file, stdout=pipe) as process:
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (1, b"")


def test_a_full_disk_under_stdout_is_one_line(file: Path) -> None:
    with Path("/dev/full").open("wb") as full, start("play", "--house", "es", file, stdout=full) as process:
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 1
    assert stderr == b"tablectl: the system refused: No space left on device; set TABLECTL_DEBUG=1 for details\n"
