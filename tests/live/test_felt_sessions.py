"""Shoe and felt as one, with real pictures: short here, whole rounds of each house by `tests.live.felt_sessions`."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest

from tablectl.houses import rules
from tests.live.felt_sessions import Cameras, Rendered, covered, faulty, plain, unplugged


@pytest.fixture(autouse=True)
def one_core() -> Iterator[None]:
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(before)


def test_a_deal_is_seen_where_it_was_laid() -> None:
    """To the first decision: two boxes, seven cards or so, hands that bring them."""
    session = Rendered("es", Cameras("es-two"), seed=11, rounds=1, boxes=(2, 2))
    for _ in session.steps():
        if session.table.phase == "players" or session.alerts:
            break
    session.run(1.0)
    assert session.alerts == []
    assert session.placements() == {"right": 5}


@pytest.mark.slow
@pytest.mark.parametrize("house", rules.names())
def test_rounds_end_right_faults_are_found_and_what_is_unplugged_is_done_without(house: str) -> None:
    cameras = Cameras(f"{house}-two")
    for figures in (plain(house, cameras, 20), covered(house, cameras, 4), unplugged(house, cameras, 4)):
        assert figures.bad == []
        assert figures.ended_right == figures.rounds
    faults = faulty(house, cameras, 2)
    assert faults.bad == []
    assert faults.found == faults.tried
