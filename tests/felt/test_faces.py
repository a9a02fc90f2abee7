"""The faces that are drawn, and the felts they are laid on."""

import numpy as np
import pytest

from tablectl.cards import PACK, Card
from tablectl.felt.faces import FaceStyle, draw_face, index_blocks, random_style, shipped_glyphs
from tablectl.felt.scene import Deck, Laid, exposed, lay_cards, view


def test_every_face_differs_from_every_other() -> None:
    faces = {draw_face(card, FaceStyle(), shipped_glyphs()[0], 3.0).tobytes() for card in Card}
    assert len(faces) == 53


@pytest.mark.parametrize("seed", range(20))
def test_an_index_is_ink_on_the_card_in_its_suits_colour(seed: int) -> None:
    style = random_style(np.random.default_rng(seed))
    glyphs = shipped_glyphs()[seed % len(shipped_glyphs())]
    card = PACK[seed * 7 % 52]
    face = draw_face(card, style, glyphs, 4.0)
    assert card.suit is not None
    ink = {"C": style.club or style.black, "D": style.diamond or style.red, "H": style.red, "S": style.black}[card.suit.value]
    for x, y, height, width, _ in index_blocks(card, style, glyphs):
        left, right, top, bottom = x - width / 2, x + width / 2, y - height / 2, y + height / 2
        assert min(left, top, style.width - right, style.height - bottom) > 0
        block = face[round(top * 4) : round(bottom * 4), round(left * 4) : round(right * 4), :3].astype(int)
        assert (np.abs(block - ink).max(axis=2) < 12).mean() > 0.1


def test_the_same_style_draws_the_same_face() -> None:
    style = random_style(np.random.default_rng(3))
    one, other = (draw_face(Card.SK, style, shipped_glyphs()[1], 2.5) for _ in range(2))
    assert np.array_equal(one, other)


def test_a_card_covers_the_index_of_the_one_beneath_it() -> None:
    deck = Deck(FaceStyle(), shipped_glyphs()[0])
    camera = view(2.0, (0, 0), (400, 400))
    picture = np.zeros((400, 400, 3), np.uint8)
    beneath, above = Laid(Card.H7, 0, 0, 0), Laid(Card.SA, 15, 0, 0)
    owner = lay_cards(picture, [beneath, above], deck, camera, face_scale=2.5)
    upper_left, lower_right = exposed([beneath, above], deck, camera, owner)[:2]
    assert upper_left.rank_seen > 0.95
    assert lower_right.rank_seen < 0.05
    assert upper_left.up == pytest.approx((0, -1), abs=1e-6)
    assert (upper_left.x, upper_left.y) == pytest.approx((200 - (31.5 - 5.2) * 2, 200 - (44 - 4 - 14.7 / 2) * 2), abs=1)
