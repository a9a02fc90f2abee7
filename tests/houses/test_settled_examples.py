"""The settled examples S01 to S15: what a stake of 10.00 brings back. S15 is two files, since two houses differ in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds_on_file import complaints, files, read

FOLDER = Path(__file__).parent / "settled"
EXAMPLES = {
    "S01": "fr",
    "S02": "fr",
    "S03": "fr",
    "S04": "fr",
    "S05": "fr",
    "S06": "fr",
    "S07": "fr",
    "S08": "es",
    "S09": "es",
    "S10": "lt",
    "S11": "lt",
    "S12": "fr",
    "S13": "fr",
    "S14": "lt",
    "S15": "es",
    "S15-fr": "fr",
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_settled_example(example: str) -> None:
    round_ = read(FOLDER / f"{example}.jsonl")
    assert round_.house == EXAMPLES[example]
    assert round_.title.startswith(f"{example[:3]} {round_.house}: ")
    wrong = complaints(round_)
    assert not wrong, f"{round_.title}\n" + "\n".join(wrong)


def test_no_file_is_left_out() -> None:
    assert {path.stem for path in files(FOLDER)} == set(EXAMPLES)
