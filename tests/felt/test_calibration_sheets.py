"""Printed sheets: true to scale, and read by the same detectors as on the felt."""

import cv2
import numpy as np
import pypdfium2
import pytest

from tablectl.felt.half_circle import half_circle
from tablectl.felt.lens import BOARDS, find_board
from tablectl.felt.registration import find_markers
from tablectl.felt.sheets import Paper, sheets
from tests.felt.scene import Picture

PX_PER_MM = 8
LAYOUT = half_circle("the felt of a test", first_marker=30)


def printed(pdf: bytes) -> list[Picture]:
    """The pages as a printer of 8 dots a millimetre has them."""
    document = pypdfium2.PdfDocument(pdf)
    pages = [np.ascontiguousarray(page.render(scale=PX_PER_MM * 25.4 / 72).to_numpy()[:, :, :3]) for page in document]
    document.close()
    return pages


@pytest.mark.parametrize(("paper", "size"), [("a4", (297, 210)), ("a3", (420, 297))])
def test_the_board_is_printed_true_to_scale(paper: Paper, size: tuple[int, int]) -> None:
    (page,) = printed(sheets(None, paper))
    assert np.abs(np.array(page.shape[1::-1]) / PX_PER_MM - size).max() < 0.5
    board = BOARDS[paper]
    seen = find_board(page, board)
    assert seen is not None
    assert len(seen.pixels) == (board.columns - 1) * (board.rows - 1)  # every inner corner
    pixels, on_board = seen.pixels.reshape(-1, 2), seen.board.reshape(-1, 3)[:, :2]
    away = (pixels - pixels[0]) / PX_PER_MM - (on_board - on_board[0])
    assert np.abs(away).max() < 0.15  # millimetres, over the whole sheet


@pytest.mark.parametrize("paper", ["a4", "a3"])
def test_every_marker_of_the_layout_is_printed_once_at_its_size(paper: Paper) -> None:
    pages = printed(sheets(LAYOUT, paper))[1:]
    found: dict[int, float] = {}
    for page in pages:
        for number, corners in find_markers(page, LAYOUT.family).items():
            assert number not in found
            found[number] = float(np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1).mean()) / PX_PER_MM
    assert sorted(found) == [marker.id for marker in LAYOUT.markers]
    for marker in LAYOUT.markers:
        assert found[marker.id] == pytest.approx(marker.size, abs=0.2)


def test_the_rule_at_the_foot_is_100_millimetres() -> None:
    for page in printed(sheets(LAYOUT, "a4")):
        line = page[page.shape[0] - 7 * PX_PER_MM - 2 : page.shape[0] - 7 * PX_PER_MM + 3].min(axis=(0, 2))
        dark = np.flatnonzero(line[: 112 * PX_PER_MM] < 200)
        assert (dark.max() - dark.min() + 1) / PX_PER_MM == pytest.approx(100, abs=0.4)


def test_no_white_line_runs_through_a_marker() -> None:
    page = printed(sheets(LAYOUT, "a4"))[1]
    corners = find_markers(page, LAYOUT.family)[30]
    (left, top), (right, bottom) = np.ceil(corners.min(axis=0)).astype(int) + 4, np.floor(corners.max(axis=0)).astype(int) - 4
    border = cv2.cvtColor(page[top:bottom, left : left + 30], cv2.COLOR_BGR2GRAY)  # the black column at its left
    assert int(np.asarray(border).max()) < 60
    assert right > left


def test_the_same_layout_gives_the_same_file() -> None:
    assert sheets(LAYOUT, "a4") == sheets(LAYOUT, "a4")
