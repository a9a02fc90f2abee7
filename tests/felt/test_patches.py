"""Patches about indices: how far an index lies beside its patch, and back."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tablectl.felt.patches import BLOCK, PATCH_HEIGHT, PATCH_WIDTH, Place, cut, misfit, refitted

angles = st.floats(-math.pi, math.pi)
sizes = st.floats(14, 80)


@given(angles, sizes, st.floats(4, 60), angles, sizes, st.tuples(st.floats(-20, 20), st.floats(-20, 20)))
def test_an_index_is_where_its_misfit_puts_it(
    turn: float, high: float, wide: float, cut_turn: float, cut_high: float, off: tuple[float, float]
) -> None:
    index = Place((100.0, 90.0), (math.cos(turn), math.sin(turn)), high, wide)
    at = Place((100.0 + off[0], 90.0 + off[1]), (math.cos(cut_turn), math.sin(cut_turn)), cut_high, 11.0)
    back = refitted(at, misfit(index, at.middle, at.up, at.height))
    assert np.allclose(back.middle, index.middle)
    assert np.allclose(back.up, index.up)
    assert np.allclose((back.height, back.width), (index.height, index.width))


def test_a_misfit_is_told_as_the_patch_shows_it() -> None:
    picture = np.zeros((200, 200, 3), np.uint8)
    picture[80:84, 118:122] = 255  # a spot 20 right of and 18 above the middle of the cut, which is as high as the patch's block
    spot = Place((119.5, 81.5), (0.0, -1.0), 4.0, 4.0)
    lies = misfit(spot, (99.5, 99.5), (0.0, -1.0), 66.0, 1.2)
    rows, columns = np.nonzero(cut(picture, (99.5, 99.5), (0.0, -1.0), 66.0, 1.2)[..., 0] > 60)
    assert abs(columns.mean() + 0.5 - (PATCH_WIDTH / 2 + lies.right * BLOCK)) < 0.6
    assert abs(rows.mean() + 0.5 - (PATCH_HEIGHT / 2 - lies.above * BLOCK)) < 0.6
    assert lies.turn == 0


def test_an_index_that_leans_to_the_right_turns_to_the_right() -> None:
    leaning = Place((0.0, 0.0), (math.sin(0.2), -math.cos(0.2)), 30.0, 12.0)
    assert math.isclose(misfit(leaning, (0.0, 0.0), (0.0, -1.0), 30.0).turn, 0.2)
