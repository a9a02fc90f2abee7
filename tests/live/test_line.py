"""Lines and a clock that suffer: no card that arrived whole is lost, none invented; the table goes on, and tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.line import HOUR, MB, clock_set_back, flooded, shared, unplugged


def test_devices_that_are_unplugged_in_the_middle_of_a_frame_lose_no_whole_card(tmp_path: Path) -> None:
    found = unplugged(tmp_path, times=12, seed=3)
    assert found.downs == 12
    assert found.kept == found.cards >= 6


def test_noise_fills_neither_memory_nor_the_ledger_and_the_table_answers_meanwhile(tmp_path: Path) -> None:
    found = flooded(tmp_path, 2 * MB, seed=4)
    assert found.recorded > 2 * MB
    assert found.entries - 5 * found.answers < 400  # of the play, and of the answers
    assert found.slowest < 5


def test_a_second_program_at_a_port_is_told_and_named(tmp_path: Path) -> None:
    assert shared(tmp_path).seconds < 15


def test_a_clock_set_back_an_hour_is_told_and_the_record_stays_in_order(tmp_path: Path) -> None:
    found = clock_set_back(tmp_path, seed=8, days=1)
    assert len(found.told) == 1
    assert HOUR - 10 < found.told[0] <= HOUR
    assert found.kept == found.cards > 6
    assert found.recordings == 2


@pytest.mark.slow
def test_so_500_times(tmp_path: Path) -> None:
    found = unplugged(tmp_path, times=500, seed=5)
    print("\n".join(found.lines()))
    assert found.downs == 500
    assert found.kept == found.cards >= 250


@pytest.mark.slow
def test_so_with_100_megabytes(tmp_path: Path) -> None:
    found = flooded(tmp_path, 100 * MB, seed=6)
    print("\n".join(found.lines()))
    assert found.recorded > 100 * MB
    assert found.memory_most - found.memory_before < 100 * MB
    assert found.ledger < MB
    assert found.slowest < 30


@pytest.mark.slow
def test_a_clock_set_back_an_hour_from_a_new_day_begins_no_earlier_one(tmp_path: Path) -> None:
    found = clock_set_back(tmp_path, seed=7)
    assert all(HOUR - 10 < seconds <= HOUR for seconds in found.told)
    assert len(found.told) == 2
    assert found.kept == found.cards
    assert len(found.ledgers) == 2
