"""`tablectl stats` on ledgers that the recorded sessions really made; every figure was worked out from the sessions' stories."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from tablectl.cli.stats import COLUMNS
from tablectl.ledger.store import Ledger
from tablectl.observations import decode, encode
from tests.cli.samples import ES, FR, SESSIONS, Session, run
from tests.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A ledger of each recorded session."""
    folder = tmp_path_factory.mktemp("ledgers")
    made = {}
    for name, session in SESSIONS.items():
        made[name] = folder / f"{name}.ledger"
        assert run(*session.replay, "--ledger", made[name]).returncode == 0
    return made


def rows(*words: str | Path) -> list[dict[str, object]]:
    result = run("stats", *words, "--json")
    assert (result.returncode, result.stderr) == (0, b"")
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("session", [FR, ES], ids=lambda session: session.house)
def test_each_round_has_the_money_and_the_hands_of_the_story(session: Session, ledgers: dict[str, Path]) -> None:
    before, *rounds = rows(ledgers[session.house], "--by", "round")
    assert (before["period"], before["rounds"], before["cards"]) == ("0", 0, {"fr": 5, "es": 1}[session.house])  # burned
    assert [(row["period"], row["rounds"], row["staked"], row["returned"], row["carried"]) for row in rounds] == [
        (str(number), 1, *money) for number, money in enumerate(session.rounds, start=1)
    ]
    assert [row["hands"] for row in rounds] == [sum(told[0] == number for told in session.outcomes) for number in (1, 2)]


def test_the_spanish_day(ledgers: dict[str, Path]) -> None:
    [day] = rows(ledgers["es"])
    assert list(day) == COLUMNS
    assert day == {
        "table": "site/pit/table",
        "house": "es",
        "by": "day",
        "period": "2026-11-30",
        "from": "2026-11-30T06:00:54.809787Z",
        "to": "2026-11-30T06:01:04.214401Z",
        "rounds": 2,
        "hands": 6,
        "cards": 20,
        "rounds_per_hour": "765.58",  # two in 9.404614 seconds
        "hands_per_hour": "2296.74",
        "staked": 6000,
        "returned": 9000,
        "carried": 0,
        "house_win": -3000,
        "alerts_critical": 1,
        "alerts_warning": 0,
        "alerts_info": 0,
        "errors_per_100_rounds": "50.00",
        "ruled": 0,
        "ruling_seconds_median": None,
        "ruling_seconds_max": None,
        "waiting": 1,
        "stood_seconds": "0.000000",  # it ends with the dealer's mistake
        "codes": {"dealer.drew_on_17": 1},
    }


def test_a_day_is_that_of_the_zone(ledgers: dict[str, Path]) -> None:
    assert [row["period"] for row in rows(ledgers["fr"], "--zone", "-08:00")] == ["2026-11-29"]
    result = run("stats", ledgers["fr"], "--zone", "Nowhere/Here")
    assert result.returncode == 2
    assert b"Nowhere/Here" in result.stderr


def test_csv_is_that_of_rfc_4180_and_says_what_json_says(ledgers: dict[str, Path]) -> None:
    result = run("stats", ledgers["es"], "--by", "round", "--csv")
    text = result.stdout.decode()
    assert result.stdout.count(b"\r\n") == text.count("\n") == 4
    for row, told in zip(csv.DictReader(io.StringIO(text, newline="")), rows(ledgers["es"], "--by", "round"), strict=True):
        codes = told.pop("codes")
        assert isinstance(codes, dict)
        assert row.pop("codes") == " ".join(f"{code}={count}" for code, count in codes.items())
        assert row == {name: "" if value is None else str(value) for name, value in told.items()}


def test_the_documented_columns_are_those_that_are_there() -> None:
    text = (ROOT / "docs" / "stats.md").read_text("utf-8")
    named = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `") and "--by" not in line]
    assert [name for cell in named for name in cell.replace("`", "").split()][: len(COLUMNS)] == COLUMNS


def test_in_words_for_a_pipe(ledgers: dict[str, Path]) -> None:
    result = run("stats", ledgers["es"], "--by", "round")
    lines = [line.split() for line in result.stdout.decode().splitlines()]
    first = "1 2026-11-30 06:00:56 1 5 14 665.53 3327.67 50.00 80.00 0.00 -30.00 0 0 0.00 0 - - 0 0.0"
    assert lines[0][:3] == ["site/pit/table,", "house", "es,"]
    assert " ".join(lines[3]) == first
    assert lines[5][:6] == ["all", "2026-11-30", "06:00:54", "2", "6", "20"]
    assert lines[6] == ["critical", "dealer.drew_on_17", "1"]


def test_on_a_terminal_of_80_columns_no_heading_is_broken(ledgers: dict[str, Path]) -> None:
    with Terminal("stats", str(ledgers["es"])) as terminal:
        assert terminal.end() == 0
        shown = [line.split() for line in terminal.screen.lines]
    assert ["period", "from", "rounds", "hands", "cards", "rounds/h", "hands/h"] in shown
    assert ["2026-11-30", "60.00", "90.00", "0.00", "-30.00"] in shown
    assert ["period", "crit", "warn", "/100", "ruled", "median", "max", "waiting", "stood"] in shown


def test_prometheus(ledgers: dict[str, Path]) -> None:
    lines = run("stats", ledgers["es"], "--prometheus").stdout.decode().splitlines()
    assert 'tablectl_rounds_total{site="site",pit="pit",table="table"} 2' in lines
    assert 'tablectl_suspended{site="site",pit="pit",table="table"} 1' in lines


def test_a_ledger_that_is_being_written_is_read_and_left_as_it_is(tmp_path: Path, ledgers: dict[str, Path]) -> None:
    path = Path(shutil.copy(ledgers["fr"], tmp_path))
    with Ledger.resume(path) as ledger:
        for _ in range(3):
            ledger.append(encode(decode('{"event":"card","card":"2H"}')))
            ledger.commit()
            ledger.append(encode(decode('{"event":"tick"}')))  # seen, not committed
        assert [row["cards"] for row in rows(path)] == [27]
        assert ledger.waiting == 1


@pytest.mark.parametrize(
    ("content", "words"), [(None, b"there is no such ledger"), (b"", b"is no ledger"), (b"at,card\n" * 100, b"is no ledger")]
)
def test_what_is_no_ledger_is_said_in_one_sentence(content: bytes | None, words: bytes, tmp_path: Path) -> None:
    path = tmp_path / "day.ledger"
    if content is not None:
        path.write_bytes(content)
    result = run("stats", path)
    assert (result.returncode, result.stdout) == (7, b"")
    assert result.stderr.count(b"\n") == 1
    assert words in result.stderr
    assert b"day.ledger" in result.stderr


def test_two_forms_at_once_are_refused(ledgers: dict[str, Path]) -> None:
    assert run("stats", ledgers["fr"], "--json", "--csv").returncode == 2
