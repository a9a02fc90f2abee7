"""The recordings that ship: what they must show, and that they are what `tablectl import` makes of the tools' logs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablectl.resources import data_folder

Command = Callable[..., subprocess.CompletedProcess[str]]

LOGS = Path(__file__).parent.parent / "recordings" / "table"
MADE_FROM = {
    "fr": ["shoe=fr-shoe.socat-xv.log", "pad=fr-pad.jpnevulator.log", "shoe=bee-tek"],
    "es": ["shoe=es-shoe.jpnevulator.log", "pad=es-pad.tio.log", "shoe=angel-eye-ii"],
}


def sample(house: str) -> Path:
    return data_folder("samples") / f"{house}.rec"


def test_there_is_one_for_each_session() -> None:
    assert sorted(path.stem for path in data_folder("samples").glob("*.rec")) == sorted(MADE_FROM)


def replayed(house: str, tablectl: Command, *options: str, code: int = 0) -> list[dict[str, Any]]:
    result = tablectl("replay", sample(house), "--json", *options)
    assert result.returncode == code
    return [json.loads(line) for line in result.stdout.splitlines()]


def closed(notices: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    return [(n["staked"], n["returned"], n["carried"]) for n in notices if n["notice"] == "round_closed"]


def test_the_french_session(tablectl: Command) -> None:
    notices = replayed("fr", tablectl, "--check")
    assert closed(notices) == [(8000, 10500, 2000), (3500, 1500, 0)]
    assert [notice for notice in notices if notice["notice"] == "alert"] == []
    assert [(n["card"], n["to"]) for n in notices if n["notice"] == "dealt"][:5] == [
        (card, "burn") for card in ("2C", "9D", "KS", "4H", "7S")
    ]


def test_the_spanish_session(tablectl: Command) -> None:
    notices = replayed("es", tablectl, "--check", code=3)
    assert closed(notices) == [(5000, 8000, 0), (1000, 1000, 0)]
    alerts = [(n["code"], n["severity"], n["seq"]) for n in notices if n["notice"] == "alert"]
    assert [alert[:2] for alert in alerts] == [("dealer.drew_on_17", "critical")]
    assert alerts[0][2] > max(n["seq"] for n in notices if n["notice"] == "round_closed")
    assert [n["to"] for n in notices if n["notice"] == "phase"][-1] == "suspended"


@pytest.mark.parametrize("house", MADE_FROM)
def test_it_is_what_import_makes_of_the_logs(house: str, tablectl: Command, tmp_path: Path) -> None:
    shoe, pad, profile = MADE_FROM[house]
    logs = [f"{name.split('=')[0]}={LOGS / name.split('=')[1]}" for name in (shoe, pad)]
    line = ["import", *logs, "-o", "made.rec", "--profile", profile, "--profile", "pad=dealer-pad", "--house", house]
    assert tablectl(*line).returncode == 0
    assert (tmp_path / "made.rec").read_bytes() == sample(house).read_bytes()


@pytest.mark.parametrize("house", MADE_FROM)
def test_its_header_names_everything_that_a_replay_needs_and_no_folder(house: str) -> None:
    header = [line for line in sample(house).read_text("ascii").splitlines() if line.startswith("#")]
    assert header[:4] == [
        "# tablectl recording 1",
        f"# house: {house}",
        f"# profile.shoe: {MADE_FROM[house][2].split('=')[1]}",
        "# profile.pad: dealer-pad",
    ]
    assert not [line for line in header if "/" in line]
