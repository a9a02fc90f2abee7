"""An enrolled deck sharpens the reader for itself; under wrong names, or too few cards, it leaves the reader as it was."""

import cv2
import numpy as np

from tablectl.cards import PACK, Card
from tablectl.felt.deck import CORNER_MM, PX_PER_MM, DeckFile, EnrolledDeck
from tablectl.felt.faces import FaceStyle, draw_face, shipped_glyphs
from tablectl.felt.networks import eyes
from tablectl.felt.scene import Deck
from tablectl.felt.sharpening import SharpEyes, sharpen
from tests.felt.bench_enrolled import compared

ODD = FaceStyle(red=(60, 160, 30), black=(160, 60, 120))


def enrolled(style: FaceStyle) -> EnrolledDeck:
    """A deck as enrolling keeps it: both corners of each card, a little soft and with noise."""
    chance = np.random.default_rng(1)
    wide, high = (round(side * PX_PER_MM) for side in CORNER_MM)
    patches = {}
    for card in PACK:
        corner = draw_face(card, style, shipped_glyphs()[0], PX_PER_MM)[:high, :wide, :3]
        soft = cv2.GaussianBlur(corner, (0, 0), 1.0).astype(np.float32)
        ends = [np.clip(soft + chance.normal(0, 2, soft.shape), 0, 255).astype(np.uint8) for _ in range(2)]
        patches[card] = tuple(ends)
    return EnrolledDeck(DeckFile(cards=tuple(card.value for card in PACK)), patches)


def test_a_face_that_is_hard_to_read_is_read_better_once_enrolled_and_nothing_wrong() -> None:
    found = sharpen(enrolled(ODD), eyes(), rounds=2)
    assert found.sharpening is not None, found.why
    assert str(found) == f"sharpens the reader: corners read for certain {found.before} of {found.of} before, {found.after} after"
    sharp = SharpEyes(eyes(), found.sharpening)
    plain, after = compared(Deck(ODD, shipped_glyphs()[0]), sharp, cards=30, seed=5)
    assert plain[2] > 0  # told wrongly: no deck has green hearts and violet spades
    assert after[1] > plain[1]
    assert after[2:4] == [0, 0]


def test_two_cards_that_were_exchanged_leave_the_reader_as_it_was() -> None:
    right = enrolled(ODD)
    patches = right.patches | {Card.HK: right.patches[Card.C9], Card.C9: right.patches[Card.HK]}
    found = sharpen(EnrolledDeck(right.file, patches), eyes(), rounds=1)
    assert found.sharpening is None
    assert {"9C", "KH"} <= set(found.why.split())
    assert str(found).endswith("look like other cards: enrolled under a wrong name?")


def test_from_a_few_cards_nothing_is_learnt() -> None:
    whole = enrolled(ODD)
    few = {card: whole.patches[card] for card in PACK if card.value[0] != "T" or card is Card.ST}
    found = sharpen(EnrolledDeck(whole.file, few), eyes())
    assert (found.sharpening, found.why) == (None, "fewer than 2 cards are enrolled of T")
