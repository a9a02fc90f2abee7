"""Bar codes on a card that was found: the card is cut out, set upright and enlarged first.

No reader decodes a linear code that lies aslant, and a whole frame is slow; so codes are only ever read on a located card.
pyzbar reads the linear ones, zxing-cpp the two-dimensional ones. The symbology is named by the deck and not guessed: with every
one switched on, a reader now and then gives a code that is not there. What a payload means, and whether it is a card's, the
caller checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.errors import DeviceError

if TYPE_CHECKING:
    from tablectl.felt.read import Seen

__all__ = ["Symbology", "codes_on", "linear", "matrix", "upright"]

Picture = NDArray[np.uint8]
CARD = (63.0, 88.0)  # mm
ENLARGED = 2.0


class Symbology(StrEnum):
    """The codes that decks are printed with."""

    CODE_128 = "code128"
    CODE_39 = "code39"
    EAN_8 = "ean8"
    EAN_13 = "ean13"
    QR = "qr"
    DATA_MATRIX = "datamatrix"

    @property
    def two_dimensional(self) -> bool:
        """Whether it is made of modules in rows and columns."""
        return self in (Symbology.QR, Symbology.DATA_MATRIX)


def upright(picture: Picture, polygon: Sequence[tuple[float, float]], margin: float = 3.0) -> Picture:
    """A card cut out of a picture, upright and twice its size.

    `polygon` has its corners in pixels, from the upper left clockwise.

    `margin` mm about the card are kept, since the outline of a card that was seen by one index is not exact.
    """
    quad = np.array(polygon, np.float32)
    across = (np.hypot(*(quad[1] - quad[0])) + np.hypot(*(quad[2] - quad[3]))) / 2
    down = (np.hypot(*(quad[3] - quad[0])) + np.hypot(*(quad[2] - quad[1]))) / 2
    scale = float(max(across / CARD[0], down / CARD[1])) * ENLARGED
    left, top = margin * scale, margin * scale
    right, bottom = left + CARD[0] * scale, top + CARD[1] * scale
    goal = np.array([(left, top), (right, top), (right, bottom), (left, bottom)], np.float32)
    size = (min(4000, round(right + left)), min(4000, round(bottom + top)))
    matrix = cv2.getPerspectiveTransform(quad, goal)
    return np.asarray(
        cv2.warpPerspective(picture, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE), np.uint8
    )


def codes_on(picture: Picture, card: Seen, symbology: Symbology) -> list[str]:
    """The payloads of one symbology on a card that was seen in a picture."""
    cut = upright(picture, card.polygon)
    return matrix(cut, symbology) if symbology.two_dimensional else linear(cut, symbology)


def linear(card: Picture, symbology: Symbology) -> list[str]:
    """The payloads of linear codes on an upright card, along it or across. Raises `DeviceError` without the library zbar."""
    decode, symbols = _zbar()
    wanted = symbols[symbology.value.upper()]
    found = decode(cv2.cvtColor(card, cv2.COLOR_BGR2GRAY), symbols=[wanted])
    return sorted({one.data.decode("utf-8", "replace") for one in found})


def matrix(card: Picture, symbology: Symbology) -> list[str]:
    """The payloads of two-dimensional codes on an upright card."""
    import zxingcpp  # only decks with codes need it

    kinds = {Symbology.QR: zxingcpp.BarcodeFormat.QRCode, Symbology.DATA_MATRIX: zxingcpp.BarcodeFormat.DataMatrix}
    found = zxingcpp.read_barcodes(
        np.ascontiguousarray(card), formats=zxingcpp.BarcodeFormats(kinds[symbology]), try_invert=False
    )
    return sorted({one.text for one in found})


def _zbar() -> tuple[Any, Any]:
    """The `decode` of pyzbar and its symbologies; it looks for the system's library when it is imported."""
    try:
        from pyzbar.pyzbar import ZBarSymbol, decode
    except ImportError as error:
        raise DeviceError("linear bar codes need the library zbar: apt-get install libzbar0") from error
    return decode, ZBarSymbol
