"""A replay that was cut anywhere goes on from its ledger: the same alerts, the same ledger, to the byte."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from tablectl.cli.session import RULED, Session
from tablectl.errors import LedgerError
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.instants import from_micros, to_micros
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.ledger.reader import Entry
from tablectl.observations import Observation, Ruling, decode
from tablectl.recording.day import rest_of
from tablectl.recording.fusing import fused
from tablectl.recording.sources import Seen
from tests.cli.samples import ES, notices, of_kind, read_ledger, run, start
from tests.cli.test_replay import wait_for_entries
from tests.daemon.test_felt import Spied, feed, inputs
from tests.daemon.test_table import Clock, Running
from tests.felt.scripted import BEGINS
from tests.table_toml import configured

ROUNDS = Path(__file__).resolve().parents[1] / "irregularities"
NOON = to_micros("2026-11-30T12:00:00Z")


def day(house: str) -> list[Observation]:
    """All the irregular rounds of one house on file, one after the other: alerts, suspensions, rulings, corrections."""
    seen: list[Observation] = []
    for path in sorted(ROUNDS.glob("*.jsonl")):
        lines = path.read_text().splitlines()
        if not any(line.startswith(f"# house {house}") for line in lines):
            continue
        seen += [decode(line) for line in lines if line.startswith('{"event"')]
    assert len(seen) > 100
    return [msgspec.structs.replace(each, at=from_micros(NOON + 500_000 * index)) for index, each in enumerate(seen)]


def pin(house: str) -> Pin:
    file = rules.load(house)
    return Pin(
        software="tablectl test",
        table=TableName("site", "pit", "t07"),
        house=Pinned(house, file.digest),
        language=file.house.language,
        profiles={},
    )


def played(house: str, seen: Sequence[Observation], ledger: Path, *, resume: bool = False, batch: int = 1) -> list[bytes]:
    """What one session prints."""
    printed: list[bytes] = []
    table = Table(rules.load(house).house)
    with Session(table, pin(house), ledger=ledger, resume=resume, batch=batch, write=printed.append) as session:
        for each in seen:
            session.take(Seen("test", each))
    return printed


def kept(ledger: Path) -> list[Entry]:
    return read_ledger(ledger)


@pytest.mark.parametrize("house", ["fr", "lt", pytest.param("es", marks=pytest.mark.slow)])
def test_a_session_cut_anywhere_goes_on_as_if_it_had_not_been(house: str, tmp_path: Path) -> None:
    seen = day(house)
    whole = played(house, seen, tmp_path / "whole")
    entries = kept(tmp_path / "whole")
    assert sum(b'"notice":"alert"' in line for line in whole) > 10
    for cut in range(0, len(seen), max(1, len(seen) // 12)):
        ledger = tmp_path / f"cut-{cut}"
        before = played(house, seen[:cut], ledger, batch=3) if cut else played(house, seen[:1], ledger)
        after = played(house, seen, ledger, resume=True)
        assert before + after == whole, cut
        assert kept(ledger) == entries, cut


def test_a_session_cut_twice_goes_on_twice(tmp_path: Path) -> None:
    seen = day("fr")
    whole = played("fr", seen, tmp_path / "whole")
    ledger = tmp_path / "cut"
    printed = played("fr", seen[:40], ledger) + played("fr", seen[:90], ledger, resume=True)
    assert printed + played("fr", seen, ledger, resume=True) == whole
    assert played("fr", seen, ledger, resume=True) == []


def watched(folder: Path) -> Path:
    """The recording of a live table with a camera, which has seen two rounds."""
    session = Spied(seed=4, rounds=2)
    session.all()
    running = Running(configured(folder), Clock(BEGINS))
    feed(running, list(inputs(session)))
    running.stop()
    (path,) = running.file.beside("store/recordings").glob("*.rec")
    return path


def replayed(recording: Path, ledger: Path, *, most: int | None = None, resume: bool = False) -> list[bytes]:
    """What a replay of a watched day prints, which is cut after so many observations."""
    printed: list[bytes] = []
    table = Table(rules.load("es").house)
    with Session(table, pin("es"), ledger=ledger, resume=resume, batch=3, write=printed.append) as session:
        found = (seen for seen in fused(session.fusion, rest_of(recording, {})) if isinstance(seen, Seen))
        for seen in islice(found, most):
            session.take(seen)
    return printed


def test_what_a_camera_saw_is_fused_as_if_the_replay_had_not_been_cut(tmp_path: Path) -> None:
    """What shoe and felt give depends on the table as it stood, which at every cut is another than at the end."""
    recording = watched(tmp_path)
    whole = replayed(recording, tmp_path / "whole")
    entries = kept(tmp_path / "whole")
    seen = sum(entry.kind == "observation" for entry in entries)
    assert sum(b'"felt"' in entry.body for entry in entries if entry.kind == "observation") > 10
    for cut in range(1, seen, seen // 7):
        ledger = tmp_path / f"cut-{cut}"
        before = replayed(recording, ledger, most=cut)
        assert before + replayed(recording, ledger, resume=True) == whole, cut
        assert kept(ledger) == entries, cut


def test_a_ruling_over_mqtt_among_what_a_camera_saw_is_not_gone_on_with(tmp_path: Path) -> None:
    """Between which two sightings it came no ledger tells. In a day without a camera that is of no account."""
    recording, ledger = watched(tmp_path), tmp_path / "day"
    seen = sum(entry.kind == "observation" for entry in kept(replayed_into(recording, ledger, ruled=15)))
    with pytest.raises(LedgerError, match=r"entry \d+ came over MQTT while a camera saw the felt, and so cannot be gone on with"):
        replayed(recording, ledger, resume=True)
    assert sum(entry.kind == "observation" for entry in kept(ledger)) == seen, "and nothing is added to it"


def replayed_into(recording: Path, ledger: Path, *, ruled: int) -> Path:
    """A replay that is cut after a ruling over MQTT, which came after so many observations."""
    table = Table(rules.load("es").house)
    with Session(table, pin("es"), ledger=ledger) as session:
        found = (seen for seen in fused(session.fusion, rest_of(recording, {})) if isinstance(seen, Seen))
        for seen in islice(found, ruled):
            session.take(seen)
        session.take(Seen(RULED, Ruling(do="void_round", by="CHIEF7", reason="seen on the film")))
        for seen in islice(found, 3):
            session.take(seen)
    return ledger


def test_open_alerts_survive_the_cut(tmp_path: Path) -> None:
    seen = [decode(line) for line in ('{"event":"shoe_loaded","decks":6,"cut":true}', '{"event":"shoe_fault","code":"empty"}')]
    closed, opened, ack = map(
        decode,
        ('{"event":"table","state":"closed"}', '{"event":"table","state":"open"}', '{"event":"ack","alert":1,"by":"CHIEF7"}'),
    )
    assert any(b'"code":"shoe.missing_cards"' in line for line in played("es", seen, tmp_path / "cut"))
    after = played("es", [*seen, closed, opened, ack, closed, opened], tmp_path / "cut", resume=True)
    repeated = [line for line in after if b'"code":"shoe.missing_cards"' in line]
    assert len(repeated) == 1, "said again when the table opens, and no more once it was acknowledged"


def test_another_recording_does_not_go_on_with_a_ledger(tmp_path: Path) -> None:
    recording = tmp_path / "es.rec"
    run(*ES.import_to(recording))
    ledger = tmp_path / "day.ledger"
    with start("replay", recording, "--json", "--speed", "4", "--ledger", ledger) as process:
        wait_for_entries(ledger, 40)
        process.send_signal(signal.SIGKILL)
    lines = recording.read_text().splitlines(keepends=True)
    header = [line for line in lines if line.startswith("#")]
    shoe = [line for line in lines if " shoe " in line]
    (tmp_path / "other.rec").write_text("".join([*header, *shoe]))
    done = run("replay", tmp_path / "other.rec", "--json", "--ledger", ledger, "--resume")
    assert done.returncode == 7
    assert "is not what the recording has there" in done.stderr.decode()


def test_a_killed_replay_goes_on(tmp_path: Path) -> None:
    recording = tmp_path / "es.rec"
    run(*ES.import_to(recording))
    whole = run("replay", recording, "--json", "--ledger", tmp_path / "whole")
    ledger = tmp_path / "day.ledger"
    with start("replay", recording, "--json", "--speed", "4", "--ledger", ledger) as process:
        wait_for_entries(ledger, 40)
        process.send_signal(signal.SIGKILL)
    before = [entry.body for entry in read_ledger(ledger) if entry.kind == "notice"]
    after = run("replay", recording, "--json", "--ledger", ledger, "--resume")
    assert after.returncode == 0, after.stderr
    assert [*before, *after.stdout.splitlines()] == whole.stdout.splitlines()
    assert read_ledger(ledger) == read_ledger(tmp_path / "whole")
    assert len(of_kind(whole.stdout, "alert")) == sum(each["notice"] == "alert" for each in notices(whole.stdout))


def test_resume_needs_a_ledger(tmp_path: Path) -> None:
    recording = tmp_path / "es.rec"
    run(*ES.import_to(recording))
    assert run("replay", recording, "--resume").returncode == 2
    missing = run("replay", recording, "--resume", "--ledger", tmp_path / "none")
    assert (missing.returncode, missing.stderr.decode()) == (7, f"tablectl: {tmp_path / 'none'}: there is no such ledger\n")
