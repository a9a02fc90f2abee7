"""A broker that fails costs the table nothing, and what it missed arrives; `tests.live.outage` is the whole proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.outage import TROUBLES, long_outage, prove
from tests.live.soak import assert_flat


@pytest.mark.parametrize("trouble", ["killed", "frozen"])
def test_the_table_does_not_wait_for_its_broker(trouble: str, tmp_path: Path) -> None:
    found = prove(tmp_path, trouble, steps=12)
    assert found.backlog > 12
    assert found.arrived < 30


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES)
def test_in_no_trouble_the_table_waits_for_its_broker(trouble: str, tmp_path: Path) -> None:
    prove(tmp_path, trouble, seconds=120)


def test_an_outage_over_a_new_day_is_told_ledger_after_ledger(tmp_path: Path) -> None:
    assert long_outage(tmp_path, days=2, hours=0.01, seconds=60).notices > 40


@pytest.mark.slow
def test_memory_is_flat_over_a_day_without_a_broker(tmp_path: Path) -> None:
    outage = long_outage(tmp_path, days=1, hours=24, seconds=3600)
    assert outage.samples[-1].hours > 20
    assert_flat(outage.samples[1:])
