"""Bar codes on a card that lies anyhow: cut out, upright, enlarged; pyzbar and zxing-cpp then read them."""

import numpy as np
import pytest

from tablectl.cards import Card
from tablectl.felt.codes import Symbology, linear, matrix, upright
from tablectl.felt.faces import draw_face, shipped_glyphs
from tests.felt.coded_cards import FORMATS, STYLE, coded


@pytest.mark.parametrize("angle", [0, 37, 90, 143, 180])
@pytest.mark.parametrize("symbology", FORMATS)
def test_a_code_is_read_at_any_angle_once_the_card_is_found(symbology: Symbology, angle: float) -> None:
    picture, outline = coded(symbology, angle, 2.8 if symbology.two_dimensional else 1.8)
    card = upright(picture, outline)
    assert (matrix if symbology.two_dimensional else linear)(card, symbology) == [FORMATS[symbology][1]]


def test_only_the_named_symbology_is_read() -> None:
    picture, outline = coded(Symbology.CODE_128, 0, 1.8)
    assert linear(upright(picture, outline), Symbology.EAN_8) == []


def test_a_card_without_a_code_has_none() -> None:
    face = np.ascontiguousarray(draw_face(Card.DK, STYLE, shipped_glyphs()[0], 6.0)[..., :3])
    assert [linear(face, Symbology.CODE_128), matrix(face, Symbology.QR)] == [[], []]
