"""Days at speed hold no more than the first; `tests.live.soak` runs ten whole ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.soak import assert_flat, soak


def test_each_day_begins_its_ledger_and_nothing_is_left_open(tmp_path: Path) -> None:
    samples = soak(tmp_path, days=2, hours=0.03, say=print, seconds=60)
    assert [sample.ledgers for sample in samples] == [1, 2]
    assert_flat(samples)


@pytest.mark.slow
def test_ten_days_are_flat(tmp_path: Path) -> None:
    samples = soak(tmp_path, days=10, hours=1.0, say=print, seconds=3600)
    assert_flat([sample for sample in samples if sample.day])
