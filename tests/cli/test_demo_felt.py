"""`tablectl demo --felt`: the cards are laid on a rendered felt, and what the table's cameras saw is counted by the ledger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tablectl.cards import Card
from tablectl.cli.demo_felt import DemoFelt, Saw, saw
from tablectl.config import load
from tablectl.observations import CardDrawn, Felt, Link
from tablectl.places import BoxPlace
from tests.daemon.test_table import Clock, Running, ledgers
from tests.table_toml import configured, table_toml


def test_its_felt_is_one_that_a_table_can_be_configured_with(tmp_path: Path) -> None:
    felt = DemoFelt(tmp_path, "lt")
    path = tmp_path / "table.toml"
    path.write_text(table_toml(house="lt", more=felt.configuration))
    file = load(path)
    assert [file.source_of(camera) for camera in file.config.cameras] == [f"virtual:{tmp_path / 'scene.json'}"] * 2
    assert file.calibration == "lt-two"
    assert (tmp_path / "scene.json").exists()


def test_what_the_cameras_saw_is_counted(tmp_path: Path) -> None:
    running = Running(configured(tmp_path), Clock())
    running.table.observe(Link(device="camera", state="up"))
    for card in (Card.H8, Card.SQ, Card.D5):
        running.table.observe(CardDrawn(card=card, source="shoe"))
    for ago, card in ((2, Card.H8), (1, Card.UNREAD), (0, Card.D5)):
        running.table.observe(Felt(kind="placed", to=BoxPlace(1, 0), card=card, ago=ago))
    running.stop()
    (path,) = ledgers(running.file)
    seen = saw(path)
    assert seen._replace(dealt=3) == Saw(3, 3, 2, 1, away=False)
    assert [*seen._replace(dealt=3).lines()] == [
        "  the felt, seen by two cameras: 3 of 3 cards at rest, 2 read as the shoe read them, 1 not read"
    ]
    assert "shown alone" in next(seen._replace(away=True).lines())


@pytest.mark.slow
def test_a_round_is_dealt_laid_and_seen() -> None:
    line = [sys.executable, "-m", "tablectl", "demo", "--house", "es", "--felt"]
    shown = subprocess.run(line, capture_output=True, text=True, timeout=300, check=True).stdout
    assert "the felt, seen by two cameras: " in shown
