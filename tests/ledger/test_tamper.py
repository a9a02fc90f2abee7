"""Nothing can be changed in a signed ledger unseen; `python -m tests.ledger.tamper` prints the figures."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tablectl.errors import LedgerError
from tablectl.ledger.reader import Outbox, Reader
from tablectl.ledger.store import Ledger
from tablectl.ledger.verify import verify
from tests.ledger.days import Day
from tests.ledger.tamper import KINDS, PLAIN_ONLY, answers, bytes_changed, change_byte, change_rows, judge, log_changed

FOUND_BY = {"chained": {"key", "witness"}, "own key": {"key"}, "insider": {"witness"}}
"""Who finds what each hand has changed; an entry that is added at the end is found by the next day's ledger."""


def test_a_day_that_nobody_changed_is_whole(day: Day) -> None:
    assert judge(day.path, day, answers(day.path)).found == "harmless"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [1, 41, 97, 139])
def test_a_careless_change_is_found_by_the_ledger_alone_which_names_the_first_bad_entry(
    kind: str, at: int, day: Day, tmp_path: Path
) -> None:
    first = change_rows(day, tmp_path / "changed.db", kind, "plain", at)
    report = verify(tmp_path / "changed.db")
    assert report.faults[0].entry == first


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in PLAIN_ONLY])
@pytest.mark.parametrize("hand", FOUND_BY)
@pytest.mark.parametrize("at", [5, 97, 138])
def test_a_careful_change_is_found_by_the_key_by_the_witness_or_by_the_next_day(
    kind: str, hand: str, at: int, day: Day, tmp_path: Path
) -> None:
    change_rows(day, tmp_path / "changed.db", kind, hand, at)
    outcome = judge(tmp_path / "changed.db", day)
    assert outcome.found in ({"next day"} if kind == "appended" and hand != "own key" else FOUND_BY[hand])


def test_an_older_copy_is_whole_and_only_the_witness_knows_better(day: Day) -> None:
    outcome = judge(day.older, day)
    assert outcome.found == "witness"
    fault = outcome.report.faults[0]
    assert fault.entry == outcome.report.size + 1
    assert "shortened or rolled back" in fault.what


def test_a_byte_of_an_entry_is_found_and_the_entry_named(day: Day, tmp_path: Path) -> None:
    whole = day.path.read_bytes()
    chance = random.Random(3)
    with Reader(day.path) as reader:
        entries = reader.entries(limit=1000)
    tried = 0
    for entry in chance.sample(entries[1:], 25):
        if whole.count(entry.body) != 1:
            continue  # it stands beside the entries as well
        tried += 1
        at = whole.index(entry.body) + chance.randrange(len(entry.body))
        target = tmp_path / f"{entry.seq}.db"
        target.write_bytes(whole[:at] + bytes([whole[at] ^ chance.randrange(1, 256)]) + whole[at + 1 :])
        assert verify(target).faults[0].entry == entry.seq
    assert tried > 15


def test_single_bytes_are_found_or_were_in_no_record(day: Day, tmp_path: Path) -> None:
    found = Counter(outcome.found for _, outcome in bytes_changed(day, tmp_path, 40, random.Random(4)))
    assert not found["missed"]
    assert found["alone"] > found["harmless"] / 2


def test_whoever_reads_a_file_with_a_changed_byte_gets_what_was_written_or_an_error_in_words(day: Day, tmp_path: Path) -> None:
    chance = random.Random(7)
    with Reader(day.path) as reader:
        written = reader.entries(limit=1000)
        latest = {name: reader.latest(name) for name in ("pin", "state", "prompt", "status", "checkpoint", "recording")}
    refused = 0
    for number in range(60):
        path = tmp_path / f"{number}.db"
        change_byte(day.path, path, chance)
        try:
            with Outbox(path) as outbox:
                assert {name: outbox.latest(name) for name in latest} == latest
                assert outbox.cursor("mqtt") in (0, len(written))
                assert len(outbox.entries(limit=1000)) <= len(written)
            with Ledger.resume(path) as ledger:
                assert ledger.head().size == len(written)
            with Reader(path) as reader:
                assert reader.entries(limit=1000) == written
        except LedgerError:
            refused += 1
    assert refused > 10


def test_a_byte_of_the_log_of_a_killed_table_is_found(day: Day, tmp_path: Path) -> None:
    assert {outcome.found for outcome in log_changed(day, tmp_path, 10, random.Random(5))} <= {"alone", "key", "witness"}


@pytest.mark.slow
def test_a_thousand_single_bytes(day: Day, tmp_path: Path) -> None:
    found = Counter(outcome.found for _, outcome in bytes_changed(day, tmp_path, 1000, random.Random(6)))
    assert not found["missed"]
    assert found["alone"] > 400
