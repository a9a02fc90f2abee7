"""`tablectl audit export` on ledgers that the recorded sessions really made."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import tracemalloc
from contextlib import closing
from pathlib import Path

import duckdb
import msgspec
import pytest

from tablectl.cli.audit_export import export
from tablectl.errors import UsageError
from tablectl.instants import from_micros
from tablectl.ledger.export import FORMATS
from tablectl.ledger.export.columns import COLUMNS
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import select
from tablectl.ledger.pin import TableName
from tests.cli.samples import FR, SESSIONS, read_ledger, run
from tests.ledger.export.written import BEGAN, Written

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("ledgers")
    made = {}
    for name, session in SESSIONS.items():
        made[name] = folder / f"{name}.ledger"
        assert run(*session.replay, "--ledger", made[name]).returncode == 0
    return made


def exported(*words: str | Path) -> bytes:
    result = run("audit", "export", *words)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout


def test_jsonl_has_every_entry_to_the_byte(ledgers: dict[str, Path]) -> None:
    lines = exported(ledgers["fr"]).splitlines()
    entries = read_ledger(ledgers["fr"])
    assert len(lines) == len(entries)
    for line, entry in zip(lines, entries, strict=True):
        assert line == b'{"seq":%d,"kind":"%s","body":%s}' % (entry.seq, entry.kind.encode(), entry.body)


def test_csv_and_parquet_say_the_same(ledgers: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "both.parquet"
    told = run("audit", "export", ledgers["fr"], ledgers["es"], "--format", "parquet", "-o", file)
    assert told.returncode == 0, told.stderr
    text = exported(ledgers["fr"], ledgers["es"], "--csv").decode()
    names, *rows = csv.reader(io.StringIO(text, newline=""))
    assert names == [column.name for column in COLUMNS]
    assert text.count("\r\n") == len(rows) + 1
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        found = duck.execute(f"SELECT {', '.join(names)} FROM '{file}'").fetchall()  # no name needs quotation marks
    assert len(found) == len(rows) == sum(len(read_ledger(path)) for path in ledgers.values())
    for values, row in zip(found, rows, strict=True):
        assert [_text(value) for value in values] == row


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " ".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    if hasattr(value, "isoformat"):
        return str(value.isoformat(timespec="microseconds")).replace("+00:00", "Z")
    return str(value)


def test_duckdb_finds_the_story_in_the_parquet(ledgers: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "fr.parquet"
    assert run("audit", "export", ledgers["fr"], "--format", "parquet", "-o", file).returncode == 0
    with duckdb.connect() as duck:
        types = {name: kind for name, kind, *_ in duck.execute(f"DESCRIBE SELECT * FROM '{file}'").fetchall()}
        money = duck.execute(
            f"SELECT staked, returned, carried FROM '{file}' WHERE name = 'round_closed' ORDER BY round"
        ).fetchall()
        outcomes = duck.execute(
            f"SELECT round, box, hand, result, array_to_string(cards, ' '), dealer_total, stake, insurance, returned, carried "
            f"FROM '{file}' WHERE name = 'outcome' ORDER BY entry"
        ).fetchall()
    assert money == FR.rounds
    assert outcomes == FR.outcomes
    kinds = {"text": "VARCHAR", "int": "BIGINT", "flag": "BOOLEAN", "time": "TIMESTAMP WITH TIME ZONE", "cards": "VARCHAR[]"}
    assert types == {column.name: kinds[column.kind] for column in COLUMNS}


def test_the_columns_are_those_of_the_page() -> None:
    page = (ROOT / "docs/feeds.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", page, re.M) == [tuple(column) for column in COLUMNS]


def test_times_bound_what_is_written(ledgers: dict[str, Path]) -> None:
    entries = [json.loads(line) for line in exported(ledgers["fr"]).splitlines()]
    times = [entry["body"].get("at") for entry in entries]
    first, last = "2026-11-30T05:57:45.133052Z", "2026-11-30T05:57:46.387694Z"
    chosen = [
        json.loads(line)
        for line in exported(ledgers["fr"], "--from", first, "--to", "2026-11-30T06:57:46.387694+01:00").splitlines()
    ]
    assert chosen == [entry for entry, at in zip(entries, times, strict=True) if at is not None and first <= at < last]
    assert chosen[0]["body"]["at"] == first


def test_a_round_is_all_that_belongs_to_it(ledgers: dict[str, Path]) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(ledgers["fr"], "--round", "2", "--csv").decode())))
    assert {row["round"] for row in rows if row["kind"] == "notice"} >= {"2"}
    assert [row["name"] for row in rows].count("round_closed") == 1
    assert [row["name"] for row in rows].count("outcome") == 2
    numbers = [int(row["entry"]) for row in rows]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    missing = run("audit", "export", ledgers["fr"], "--round", "99")
    assert (missing.returncode, missing.stdout) == (7, b"")
    assert b"no ledger here has round 99" in missing.stderr


def test_one_table_is_chosen_out_of_several_and_a_video_shows_one(tmp_path: Path) -> None:
    paths = []
    for name in ("t07", "t08"):
        written = Written(tmp_path / f"{name}.db", TableName("hall", "main", name))
        written.prompt(0, name)
        paths.append(written.close())
    both = run("audit", "export", *paths, "--format", "webvtt")
    assert both.returncode == 2
    assert b"--table" in both.stderr
    for given in ("t08", "hall/main/t08"):
        cues = exported(*paths, "--format", "webvtt", "--table", given)
        assert b"t08" in cues
        assert b"t07" not in cues
    unknown = run("audit", "export", *paths, "--table", "t09")
    assert unknown.returncode == 7
    assert b"'t09'" in unknown.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "csv", "--json"], "give one of"),
        (["--from", "yesterday"], "--from"),
        (["--from", "2026-11-30T06:00:00"], "--from"),
        (["--from", "2026-11-30T06:00:00Z", "--to", "2026-11-30T06:00:00Z"], "--to"),
        (["--format", "csv", "--video-start", "2026-11-30T06:00:00Z"], "--video-start"),
    ],
)
def test_what_makes_no_sense_is_said_with_its_option(words: list[str], said: str, ledgers: dict[str, Path]) -> None:
    with pytest.raises(UsageError) as caught:
        export.main([str(ledgers["fr"]), *words], standalone_mode=False)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["csv", "parquet", "webvtt"])
def test_an_entry_that_cannot_be_read_is_named_and_the_old_file_stays(name: str, tmp_path: Path) -> None:
    written = Written(tmp_path / "day.db")
    for number in range(50):
        written.alert(number * 100, f"a{number}", number=number)
    path = written.close()
    with closing(sqlite3.connect(path)) as connection:
        [(trigger,)] = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%BEFORE UPDATE ON entries%'"
        )
        connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("""UPDATE entries SET body = CAST('{"notice":"alert","seq":' AS BLOB) WHERE seq = 81""")
        connection.commit()
    out = tmp_path / "out"
    out.mkdir()
    file = out / f"day.{name}"
    file.write_bytes(b"the old one")
    result = run("audit", "export", path, "--format", name, "-o", file)
    assert result.returncode == 7
    assert f"{path}: ".encode() in result.stderr
    assert b"entry 81 cannot be read" in result.stderr
    assert b"Traceback" not in result.stderr
    assert file.read_bytes() == b"the old one"
    assert list(out.iterdir()) == [file]


def test_a_file_takes_the_place_of_the_old_one_and_keeps_its_mode(ledgers: dict[str, Path], tmp_path: Path) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("")
    old.chmod(0o640)
    for file in (old, new):
        assert run("audit", "export", ledgers["es"], "--csv", "-o", file).returncode == 0
        assert file.read_bytes() == exported(ledgers["es"], "--csv")
    mask = os.umask(0)
    os.umask(mask)
    assert [stat.S_IMODE(file.stat().st_mode) for file in (old, new)] == [0o640, 0o666 & ~mask]
    refused = run("audit", "export", ledgers["es"], "-o", tmp_path / "none" / "x.csv")
    assert refused.returncode == 1
    assert b"x.csv: cannot be written" in refused.stderr


def test_a_ledger_that_is_being_written_is_exported_as_far_as_it_is(tmp_path: Path) -> None:
    written = Written(tmp_path / "day.db")
    written.alert(0, "one")
    written.ledger.append(b'{"event":"tick"}')  # not committed
    assert len(exported(written.path).splitlines()) == 3
    written.close()


@pytest.mark.parametrize(("name", "most"), [("jsonl", 2), ("csv", 2), ("webvtt", 2), ("syslog", 2), ("parquet", 64)])
def test_a_large_ledger_is_never_in_memory_as_a_whole(name: str, most: int, large: Path, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        FORMATS[name].write(select([large]), io.BytesIO(), Options()) if name == "parquet" else None  # its library once
        tracemalloc.start()
        try:
            count = FORMATS[name].write(select([large]), file, Options())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert count > 5_000
    assert peak < most * 2**20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12,000 entries, of some 4 MB; a page of them is some 500 kB."""
    written = Written(tmp_path_factory.mktemp("large") / "large.db")
    written.alert(0, "x" * 300)
    alert = read_ledger(written.path)[-1].body
    for number in range(6_000):
        at = from_micros(BEGAN + number * 1_000_000).encode()
        written.ledger.append(b'{"event":"tick","at":"%s"}' % at, [alert.replace(from_micros(BEGAN).encode(), at)])
        if number % 1000 == 0:
            written.ledger.commit()
    written.ledger.commit()
    return written.close()


def test_without_pyarrow_parquet_says_what_to_install(ledgers: dict[str, Path], tmp_path: Path) -> None:
    program = "import sys; sys.modules['pyarrow'] = None; from tablectl.cli.main import main; main()"
    words = ["audit", "export", str(ledgers["es"]), "--format", "parquet", "-o", str(tmp_path / "es.parquet")]
    result = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, check=False)
    assert result.returncode == 2
    assert b"pip install 'tablectl[analytics]'" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_syslog_tells_the_alert_of_the_spanish_day(ledgers: dict[str, Path]) -> None:
    [alert] = [line for line in exported(ledgers["es"], "--format", "syslog").splitlines() if b" alert [" in line]
    assert alert.startswith(b"<130>1 2026-11-30T06:01:04.214401Z - tablectl - alert [tablectl@32473 ")
    assert b'code="dealer.drew_on_17" severity="critical"' in alert


def test_what_a_pin_carries_over_is_in_the_record_alone(tmp_path: Path) -> None:
    written = Written(tmp_path / "day.db", carried='{"books":{"order":"Xc9Q"}}')
    path = written.close()
    assert b"Xc9Q" in exported(path)
    rows = list(csv.DictReader(io.StringIO(exported(path, "--csv").decode())))
    pin = msgspec.json.decode(rows[0]["body"])
    assert pin["table"] == {"site": "hall", "pit": "main", "table": "t07"}
    assert "carried" not in pin
