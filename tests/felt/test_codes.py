"""Bar codes on a card that lies anyhow: cut out, upright, enlarged; pyzbar and zxing-cpp then read them."""

from typing import Any

import cv2
import numpy as np
import pytest
import zxingcpp

from tablectl.cards import Card
from tablectl.felt.codes import Symbology, linear, matrix, upright
from tablectl.felt.faces import FaceStyle, draw_face, shipped_glyphs
from tablectl.felt.scene import Laid, card_quad, card_to_felt, view

FORMATS = {
    Symbology.CODE_128: (zxingcpp.BarcodeFormat.Code128, "07S3"),
    Symbology.EAN_8: (zxingcpp.BarcodeFormat.EAN8, "96385074"),
    Symbology.QR: (zxingcpp.BarcodeFormat.QRCode, "07S3"),
    Symbology.DATA_MATRIX: (zxingcpp.BarcodeFormat.DataMatrix, "07S3"),
}
STYLE = FaceStyle()


def coded(symbology: Symbology, angle: float, px_per_mm: float = 4.0) -> tuple[Any, list[tuple[float, float]]]:
    """A picture of a card with a code on it, turned by degrees; and its outline."""
    kind, text = FORMATS[symbology]
    code = np.array(zxingcpp.write_barcode_to_image(zxingcpp.create_barcode(text, kind), scale=3, add_quiet_zones=True))
    face = draw_face(Card.S7, STYLE, shipped_glyphs()[0], 8.0)
    module = 8 * (0.45 if not symbology.two_dimensional else 0.7) / 3
    code = cv2.resize(code, None, fx=module, fy=module if symbology.two_dimensional else 1.0, interpolation=cv2.INTER_AREA)
    rows, columns = code.shape[:2]
    top, left = face.shape[0] // 2 - rows // 2, face.shape[1] // 2 - columns // 2
    face[top : top + rows, left : left + columns, :3] = code.reshape(rows, columns, 1)
    camera = view(px_per_mm, (0, 0), (500, 500), tilt=15)
    laid = Laid(Card.S7, 0, 0, angle)
    picture = np.full((500, 500, 3), (50, 90, 30), np.uint8)
    matrix_ = camera @ card_to_felt(laid, STYLE) @ np.diag([1 / 8, 1 / 8, 1])
    warped = cv2.warpPerspective(face, matrix_, (500, 500), flags=cv2.INTER_AREA)
    picture[warped[..., 3] > 127] = warped[warped[..., 3] > 127][:, :3]
    return picture, [(float(x), float(y)) for x, y in card_quad(laid, STYLE, camera)]


@pytest.mark.parametrize("angle", [0, 37, 90, 143, 180])
@pytest.mark.parametrize("symbology", FORMATS)
def test_a_code_is_read_at_any_angle_once_the_card_is_found(symbology: Symbology, angle: float) -> None:
    picture, outline = coded(symbology, angle)
    card = upright(picture, outline)
    assert (matrix if symbology.two_dimensional else linear)(card, symbology) == [FORMATS[symbology][1]]


def test_only_the_named_symbology_is_read() -> None:
    picture, outline = coded(Symbology.CODE_128, 0)
    assert linear(upright(picture, outline), Symbology.EAN_8) == []


def test_a_card_without_a_code_has_none() -> None:
    face = np.ascontiguousarray(draw_face(Card.DK, STYLE, shipped_glyphs()[0], 6.0)[..., :3])
    assert [linear(face, Symbology.CODE_128), matrix(face, Symbology.QR)] == [[], []]
