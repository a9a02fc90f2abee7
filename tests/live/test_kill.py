"""A table that is killed again and again: nothing that was recorded is lost, and nothing doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.kill import killed
from tests.live.turn import killed_at_the_turn


def test_a_killed_table_keeps_every_recorded_card_once_and_goes_on_where_it_was(tmp_path: Path) -> None:
    figures = killed(tmp_path, runs=8, seed=11, longest=0.8)
    assert figures.runs == 8
    assert figures.kept == figures.recorded > 20
    assert figures.resumed >= 2


@pytest.mark.slow
def test_so_it_is_200_times(tmp_path: Path) -> None:
    figures = killed(tmp_path, runs=200, seed=12)
    print("\n".join(figures.lines()))
    assert figures.kept == figures.recorded > 1000
    assert figures.phases["start-up"] >= 20
    assert figures.resumed >= 50


@pytest.mark.slow
def test_so_at_the_turn_of_the_day(tmp_path: Path) -> None:
    turned = killed_at_the_turn(tmp_path, runs=16, seed=13)
    print("\n".join(turned.lines()))
    assert turned.kept == turned.recorded > 100
