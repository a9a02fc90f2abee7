"""Cards with bar codes on a felt, for the test and the measuring of codes."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import zxingcpp

from tablectl.cards import Card
from tablectl.felt.codes import Symbology
from tablectl.felt.faces import FaceStyle, draw_face, shipped_glyphs
from tablectl.felt.scene import Laid, card_quad, card_to_felt, sensor, view

__all__ = ["FORMATS", "STYLE", "coded"]

FORMATS = {
    Symbology.CODE_128: (zxingcpp.BarcodeFormat.Code128, "07S3"),
    Symbology.EAN_8: (zxingcpp.BarcodeFormat.EAN8, "96385074"),
    Symbology.QR: (zxingcpp.BarcodeFormat.QRCode, "07S3"),
    Symbology.DATA_MATRIX: (zxingcpp.BarcodeFormat.DataMatrix, "07S3"),
}
STYLE = FaceStyle()
PX_PER_MM, FINE = 4.0, 8.0


def coded(
    symbology: Symbology, angle: float, px_a_module: float, rough: int | None = None
) -> tuple[Any, list[tuple[float, float]]]:
    """A picture at 4 px/mm of a card with a code on it, turned by degrees; and the card's outline.

    `rough` is the seed of blur, noise and compression; None leaves the picture clean.
    """
    kind, text = FORMATS[symbology]
    code = np.array(zxingcpp.write_barcode_to_image(zxingcpp.create_barcode(text, kind), scale=3, add_quiet_zones=True))
    face = draw_face(Card.S7, STYLE, shipped_glyphs()[0], FINE)
    module = px_a_module * (FINE / PX_PER_MM) / 3
    code = cv2.resize(code, None, fx=module, fy=module if symbology.two_dimensional else 1.0, interpolation=cv2.INTER_AREA)
    rows, columns = code.shape[:2]
    top, left = face.shape[0] // 2 - rows // 2, face.shape[1] // 2 - columns // 2
    face[top : top + rows, left : left + columns, :3] = code.reshape(rows, columns, 1)
    camera = view(PX_PER_MM, (0, 0), (500, 500), tilt=15)
    laid = Laid(Card.S7, 0, 0, angle)
    picture = np.full((500, 500, 3), (50, 90, 30), np.uint8)
    matrix_ = camera @ card_to_felt(laid, STYLE) @ np.diag([1 / FINE, 1 / FINE, 1])
    warped = cv2.warpPerspective(face, matrix_, (500, 500), flags=cv2.INTER_AREA)
    picture[warped[..., 3] > 127] = warped[warped[..., 3] > 127][:, :3]
    if rough is not None:
        chance = np.random.default_rng(rough)
        picture = sensor(picture.astype(np.float32), chance, float(chance.uniform(0.3, 0.6)), float(chance.uniform(1, 4)), 90)
    return picture, [(float(x), float(y)) for x, y in card_quad(laid, STYLE, camera)]
