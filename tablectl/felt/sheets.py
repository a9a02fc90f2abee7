"""Sheets to print, true to scale: the board that a lens is calibrated with, and the markers of a felt.

Drawn as vectors in millimetres, so that no printer's resolution blurs an edge. Each sheet has a rule of 100 mm: a printer that
"fits to the page" shows there.
"""

from __future__ import annotations

from io import BytesIO
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from reportlab.lib.pagesizes import A3, A4, landscape
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas

from tablectl.felt.layout import Layout, Marker, MarkerFamily, dictionary
from tablectl.felt.lens import BOARDS, Board

__all__ = ["Paper", "sheets"]

Paper = Literal["a4", "a3"]
SIZES = {"a4": landscape(A4), "a3": landscape(A3)}
EDGE = 10.0
"""Millimetres at the paper's edge that a printer may leave white."""
GAP = 8.0


def sheets(layout: Layout | None, paper: Paper) -> bytes:
    """A PDF: the board of this paper, and after it the markers of a layout, as many on a page as there is room for."""
    width, height = (side / mm for side in SIZES[paper])
    file = BytesIO()
    canvas = Canvas(file, pagesize=SIZES[paper], invariant=1)  # the same bytes for the same layout
    canvas.setTitle("tablectl calibration sheets")
    _board(canvas, BOARDS[paper], width, height)
    _rule(canvas, f"board {paper.upper()}, for the lens: glue it to a flat plate, show it near and far, tilted, in all corners")
    canvas.showPage()
    if layout is not None:
        _markers(canvas, layout, width, height)
    canvas.save()
    return file.getvalue()


def _board(canvas: Canvas, board: Board, width: float, height: float) -> None:
    """OpenCV's board: dark squares where row and column add up to an odd number are white and hold a marker."""
    left, top = (width - board.columns * board.square) / 2, (height - board.rows * board.square) / 2 - 4
    charuco = board.charuco()
    family = charuco.getDictionary()
    ids = [int(number) for number in np.asarray(charuco.getIds()).ravel()]
    inset = (board.square - board.marker) / 2
    white = 0
    for row in range(board.rows):
        for column in range(board.columns):
            x, y = left + column * board.square, top + row * board.square
            if (row + column) % 2 == 0:
                _black(canvas, x, y, board.square, board.square, height)
            else:
                _bits(canvas, _modules(family, ids[white]), x + inset, y + inset, board.marker, height)
                white += 1


def _markers(canvas: Canvas, layout: Layout, width: float, height: float) -> None:
    """Each with its white rim and a dotted line to cut along, its number outside of it."""
    x = y = EDGE
    row = 0.0
    drawn = False
    for marker in sorted(layout.markers, key=lambda marker: (-marker.size, marker.id)):
        whole = marker.size + 2 * _rim(marker)
        if x + whole > width - EDGE:
            x, y, row = EDGE, y + row + GAP, 0.0
        if y + whole > height - EDGE - 12 and drawn:
            _rule(canvas, f"markers of {layout.title}")
            canvas.showPage()
            x, y, row = EDGE, EDGE, 0.0
        _marker(canvas, marker, layout.family, x, y, height)
        drawn = True
        x, row = x + whole + GAP, max(row, whole)
    if drawn:
        _rule(canvas, f"markers of {layout.title}")
        canvas.showPage()


def _marker(canvas: Canvas, marker: Marker, family: MarkerFamily, x: float, y: float, height: float) -> None:
    rim = _rim(marker)
    whole = marker.size + 2 * rim
    canvas.setDash(1, 2)
    canvas.setStrokeGray(0.6)
    canvas.rect(x * mm, (height - y - whole) * mm, whole * mm, whole * mm)
    canvas.setDash()
    _bits(canvas, _modules(dictionary(family), marker.id), x + rim, y + rim, marker.size, height)
    canvas.setFillGray(0.4)
    canvas.setFont("Helvetica", 7)
    canvas.drawString(x * mm, (height - y - whole - 3) * mm, f"{marker.id}: {marker.size:g} mm")


def _rim(marker: Marker) -> float:
    """The white that a detector needs around the black: a little more than a module."""
    return marker.size * 0.16


def _modules(family: cv2.aruco.Dictionary, number: int) -> NDArray[np.bool_]:
    """A marker's modules with its black border: True is black."""
    side = family.markerSize + 2
    return np.asarray(family.generateImageMarker(number, side)) < 128


def _bits(canvas: Canvas, modules: NDArray[np.bool_], x: float, y: float, size: float, height: float) -> None:
    """Modules as runs of black, one rectangle a run; each reaches a hair under the next row, so that no white line shows."""
    step = size / len(modules)
    for row, line in enumerate(modules):
        start = None
        for column, black in enumerate([*line.tolist(), False]):
            if black and start is None:
                start = column
            elif not black and start is not None:
                below = row + 1 < len(modules) and bool(modules[row + 1][start:column].all())
                _black(canvas, x + start * step, y + row * step, (column - start) * step, step * (1.02 if below else 1), height)
                start = None


def _black(canvas: Canvas, x: float, y: float, across: float, down: float, height: float) -> None:
    """A black rectangle, in millimetres from the paper's upper left corner."""
    canvas.setFillGray(0)
    canvas.rect(x * mm, (height - y - down) * mm, across * mm, down * mm, stroke=0, fill=1)


def _rule(canvas: Canvas, words: str) -> None:
    """At the foot: 100 mm to measure, and what the sheet is."""
    canvas.setStrokeGray(0)
    canvas.setLineWidth(0.3)
    canvas.line(EDGE * mm, 7 * mm, (EDGE + 100) * mm, 7 * mm)
    for part in range(11):
        canvas.line((EDGE + part * 10) * mm, 7 * mm, (EDGE + part * 10) * mm, (9 if part % 10 == 0 else 8) * mm)
    canvas.setFillGray(0)
    canvas.setFont("Helvetica", 8)
    canvas.drawString((EDGE + 104) * mm, 6.5 * mm, f"100 mm: print at 100 %, not fitted to the page. {words}")
