"""A disk that fails is told, the dealer is still told what to do, and the record stays whole; `tests.live.disk` has all disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.disk import DISKS, ENDS, End, Limited, able, prove


@pytest.mark.parametrize("end", ENDS)
def test_a_disk_that_takes_no_more(end: End, tmp_path: Path) -> None:
    found = prove(tmp_path, Limited, end, rounds=1, cards_meanwhile=10)
    assert found.told < 5
    assert found.code == (7 if end == "stopped" else 0)


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", [name for name, kind in DISKS.items() if able(kind)])
def test_no_disk_makes_the_record_lie(name: str, end: End, tmp_path: Path) -> None:
    prove(tmp_path, DISKS[name], end)
