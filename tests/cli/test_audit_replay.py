"""`tablectl audit verify --replay`: the day made again from its bytes, and what it finds where ledger and bytes differ."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tablectl.felt.calibration import load
from tablectl.ledger import chain as chains
from tests.cli.samples import run
from tests.daemon.lines import chunks_of
from tests.daemon.test_felt_watch import FELT
from tests.daemon.test_table import Clock, Running
from tests.table_toml import configured


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A day's ledger and its two recordings."""
    file = configured(tmp_path)
    chunks = list(chunks_of("es", seed=21, rounds=3))
    half = next(index for index in range(len(chunks) // 2, len(chunks)) if b">" in chunks[index].data) + 1
    clock = Clock()
    for part in (chunks[:half], chunks[half:]):
        running = Running(file, clock)
        running.feed(part)
        running.stop()
    return tmp_path / "store"


def verify(store: Path, *words: str | Path) -> tuple[int, str, str]:
    ledger = next((store / "ledger").glob("*.db"))
    done = run("audit", "verify", ledger, *words)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_same_head(store: Path) -> None:
    code, out, err = verify(store, "--replay", store / "recordings")
    assert (code, err) == (0, "")
    assert out.endswith("  replayed from its recordings, to the same head\n")


def test_by_which_calibration_the_felt_was_seen_stands_in_the_ledger_and_in_a_replay_of_its_recording(tmp_path: Path) -> None:
    running = Running(configured(tmp_path, more=FELT), Clock())
    running.feed(chunks_of("es", seed=21, rounds=1))
    running.stop()
    told = f"  cameras  from entry 1 on calibration es-two {load('es-two').digest}, no deck enrolled\n"
    code, out, err = verify(tmp_path / "store")
    assert (code, err) == (0, "")
    assert told in out
    (recording,) = (tmp_path / "store" / "recordings").glob("*.rec")
    again, older = tmp_path / "again.db", tmp_path / "older.rec"
    run("replay", recording, "--ledger", again)
    assert told in run("audit", "verify", again).stdout.decode()
    lines = recording.read_text().splitlines(keepends=True)
    older.write_text("".join(line for line in lines if not line.startswith("# calibration")))
    run("replay", older, "--ledger", tmp_path / "older.db")
    assert "cameras" not in run("audit", "verify", tmp_path / "older.db").stdout.decode()


def test_files_by_name_and_in_their_order(store: Path) -> None:
    first, second = sorted((store / "recordings").iterdir())
    assert verify(store, "--replay", first, "--replay", second)[0] == 0
    code, _, err = verify(store, "--replay", first)
    assert code == 7
    assert "is in none of the recordings: they have ended" in err
    code, _, err = verify(store, "--replay", second, "--replay", first)
    assert code == 7
    assert "is not what the recordings give there" in err


def forged(ledger: Path, before: bytes, after: bytes) -> int:
    """Change an entry's body, and make the chain anew as somebody would who knows how; gives the entry's number."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        triggers = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for trigger in triggers:
            connection.execute(f'DROP TRIGGER "{trigger}"')
        rows = connection.execute("SELECT seq, kind, body FROM entries ORDER BY seq").fetchall()
        bad = next(seq for seq, _, body in rows if before in body)
        chain = chains.START
        for seq, kind, body in rows:
            body = body.replace(before, after) if seq == bad else body
            chain = chains.link(chain, chains.leaf(seq, kind, body))
            connection.execute("UPDATE entries SET body = ?, chain = ? WHERE seq = ?", (body, chain, seq))
        connection.execute("DELETE FROM checkpoints")
    return int(bad)


def test_a_card_that_never_came_over_the_line(store: Path) -> None:
    bad = forged(next((store / "ledger").glob("*.db")), b'"event":"card","card":"', b'"event":"card" ,"card":"')
    code, _, err = verify(store, "--replay", store / "recordings")
    assert code == 7
    assert f"is not what its recordings give: entry {bad} is not what the recordings give there" in err


def test_no_recordings_and_what_is_none(store: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    code, _, err = verify(store, "--replay", empty)
    assert (code, err) == (1, f"tablectl: {empty}: holds no recording of 2026-11-30.db\n")
    assert verify(store, "--replay", tmp_path / "none")[0] == 1


def test_other_rules(store: Path, tmp_path: Path) -> None:
    house = tmp_path / "es.toml"
    house.write_text((Path(__file__).resolve().parents[2] / "tablectl/houses/es.toml").read_text() + "\n# changed\n")
    code, _, err = verify(store, "--replay", store / "recordings", "--house", house)
    assert code == 4
    assert "has not the rules of this ledger" in err


def test_a_damaged_recording_is_named(store: Path) -> None:
    first, second = sorted((store / "recordings").iterdir())
    whole = first.read_bytes()
    lines = gzip.decompress(whole).split(b"\n")
    lines[20] = bytes(len(lines[20]))
    first.write_bytes(b"\n".join(lines))
    code, _, err = verify(store, "--replay", store / "recordings")
    assert (code, err.count("\n")) == (7, 2)
    assert f"the recording {first}: is damaged: 1 lines or blocks cannot be read, and are passed over (the first: 21: " in err
    first.write_bytes(whole)
    second.write_bytes(b"\x1f\x8b\x08" + bytes(500))
    code, _, err = verify(store, "--replay", store / "recordings")
    assert code == 7
    assert f"the recording {second}: is damaged at its beginning: it does not say of which ledger it is" in err
