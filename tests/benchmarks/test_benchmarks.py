"""`make bench` works: one small run of it all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablectl.shoe import profile

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    small = ["--turns", "1", "--slices", "1", "--rounds", "3", "12", "--cards", "20", "--seconds", "6"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *small], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "replay: 12 rounds" in done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_game_is_held_against_a_bare_machine(figures: dict[str, Any]) -> None:
    assert set(figures["feed"]["houses"]) == {"fr", "es", "lt"}
    for house in figures["feed"]["houses"].values():
        assert house["ratio"]["min"] <= house["ratio"]["median"] <= house["ratio"]["max"]
        assert house["observations_per_second"] > 1000  # a table sees one or two
        assert 0.1 < house["share_that_moves_a_phase"] < 0.4  # five or six of the thirty observations of a round


def test_every_profile_decodes_faster_than_its_line_is(figures: dict[str, Any]) -> None:
    assert list(figures["decode"]["profiles"]) == profile.names()
    for contents in figures["decode"]["profiles"].values():
        for name, content in contents.items():
            assert name == "bare_megabytes_per_second" or content["times_the_line"] > 10


def test_a_replay_is_measured_at_each_length(figures: dict[str, Any]) -> None:
    short, long = figures["replay"]["runs"]
    assert (short["rounds"], long["rounds"]) == (3, 12)
    assert 0 < short["observations"] < long["observations"] < long["ledger_entries"]
    assert 20 < short["peak_mib"] < 200  # an interpreter with our imports, not the measuring process
    assert long["rounds_per_second"] > 0


def test_a_card_is_timed_on_both_ways(figures: dict[str, Any]) -> None:
    found = figures["latency"]
    assert found["cards"] == 20
    for side in ("table", "bare", "bare_on_disk"):
        assert 0 < found[side]["p50"] <= found[side]["p99"] <= found[side]["most"]
    assert found["table"]["p50"] < 1000  # far from any bar: the machine may be busy


def test_a_screen_is_timed_before_a_pit_full_of_tables(figures: dict[str, Any]) -> None:
    found = figures["display"]
    assert (found["tables"], found["readers"]) == (60, 20)
    assert found["changes"] > 0
    assert 0 < found["p50"] <= found["p99"] <= found["most"]
    assert found["messages_per_second"] > 60
    assert 0 < found["server_cores"] < 2
    assert 20 < found["server_megabytes"] < 200
