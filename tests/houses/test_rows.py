"""Every row of the house rules, in every house: one round on file shows it. A missing file fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablectl.houses.rules import ROWS, names
from tests.rounds_on_file import complaints, files, read

FOLDER = Path(__file__).parent
HOUSES = ("fr", "es", "lt")
ALL_ROWS = tuple(f"R{number:02}" for number in range(1, 36))


def on_file(house: str, row: str) -> Path:
    found = [path for path in files(FOLDER / house) if path.name.startswith(f"{row}-")]
    assert len(found) == 1, f"{house} {row}: one round on file is wanted, there are {len(found)}"
    return found[0]


@pytest.mark.parametrize("row", ALL_ROWS)
@pytest.mark.parametrize("house", HOUSES)
def test_row(house: str, row: str) -> None:
    round_ = read(on_file(house, row))
    assert round_.house == house
    assert round_.title.startswith(f"{row} {house}: ")
    wrong = complaints(round_)
    assert not wrong, f"{round_.title}\n" + "\n".join(wrong)


def test_the_rows_are_all_there_are() -> None:
    assert set(ROWS) == set(ALL_ROWS)
    assert set(HOUSES) == set(names())


@pytest.mark.parametrize("house", HOUSES)
def test_no_file_belongs_to_no_row(house: str) -> None:
    assert sorted(path.name.split("-")[0] for path in files(FOLDER / house)) == list(ALL_ROWS)
