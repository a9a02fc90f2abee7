"""Cards read from pictures: hands as dealt, nothing where nothing is, and `??` rather than a guess."""

import cv2
import numpy as np
import pytest

from tablectl.cards import Card
from tablectl.felt.faces import FaceStyle, shipped_glyphs
from tablectl.felt.find import Corner
from tablectl.felt.read import Reading, cards_of, read_picture
from tablectl.felt.scene import Deck, Laid, draw_chip, glare, lay_cards, sensor, view, woven
from tests.felt.bench import felt_with_hands, score

DECK = Deck(FaceStyle(), shipped_glyphs()[0])


def felt(cards: list[Laid], px_per_mm: float = 2.0, seed: int = 1, deck: Deck = DECK) -> np.ndarray:
    """A clean picture of cards on a green felt."""
    chance = np.random.default_rng(seed)
    picture = woven(chance, (480, 640), (60, 95, 25), 2.0)
    lay_cards(picture, cards, deck, view(px_per_mm, (0, 0), (640, 480)), face_scale=round(px_per_mm * 1.25 * 4) / 4)
    return sensor(picture.astype(np.float32), chance, 0.4, 2.0, 92)


def test_hands_as_they_are_dealt() -> None:
    decks = [Deck(FaceStyle(), glyphs) for glyphs in shipped_glyphs()]
    total = np.zeros(5, int)
    for frame in range(40):
        picture, sights = felt_with_hands(decks[frame % len(decks)], np.random.default_rng([77, frame]))
        total += score(read_picture(picture, 2.0), sights)
    cards, right, wrong, false, _ = total
    assert cards > 150
    assert right / cards > 0.8
    assert (wrong, false) == (0, 0)


@pytest.mark.parametrize("px_per_mm", [1.6, 2.0, 2.8, 4.0])
def test_a_card_is_read_at_any_scale_known_or_not(px_per_mm: float) -> None:
    picture = felt([Laid(Card.H8, 0, 0, 35)], px_per_mm)
    for known in (px_per_mm, None):
        (seen,) = read_picture(picture, known)
        assert seen.card is Card.H8
        assert len(seen.corners) == 2


@pytest.mark.parametrize("angle", range(0, 360, 45))
def test_a_card_is_read_however_it_lies(angle: int) -> None:
    assert [seen.card for seen in read_picture(felt([Laid(Card.C6, 0, 0, angle)]), 2.0)] == [Card.C6]


def test_chips_print_and_cloth_are_no_cards() -> None:
    for seed in range(12):
        chance = np.random.default_rng(seed)
        picture = woven(chance, (480, 640), (60, 95, 25), 4.0)
        for _ in range(6):
            draw_chip(picture, None, chance, tuple(chance.uniform(0, 480, 2)), 40)
        cv2.putText(picture, "BLACKJACK PAYS 3 TO 2", (20, 240), cv2.FONT_HERSHEY_DUPLEX, 1.4, (220, 230, 235), 3, cv2.LINE_AA)
        assert read_picture(picture, 2.0) == []


def test_a_card_face_down_is_no_card_that_could_be_read() -> None:
    assert [seen.card for seen in read_picture(felt([Laid(Card.UNREAD, 0, 0, 10)]), 2.0) if seen.card is not Card.UNREAD] == []


@pytest.mark.parametrize("strength", [60, 120, 200, 400])
def test_what_glare_hides_is_never_guessed(strength: float) -> None:
    picture = felt([Laid(Card.S7, 0, 0, 0)]).astype(np.float32)
    for middle in ((320 - 52, 240 - 66), (320 + 52, 240 + 66)):
        glare(picture, np.random.default_rng(4), middle, 60, strength)
    dimmed = np.clip(picture, 0, 255).astype(np.uint8)
    assert {seen.card for seen in read_picture(dimmed, 2.0)} <= {Card.S7, Card.UNREAD}


def test_an_index_covered_in_part_is_never_guessed() -> None:
    for covered in range(2, 22, 2):
        picture = felt([Laid(Card.CK, 0, 0, 0)])
        cv2.rectangle(picture, (0, 0), (640, 240), (60, 95, 25), -1)  # the upper half lies under something
        cv2.rectangle(picture, (0, 0), (320 + 63 - covered, 480), (60, 95, 25), -1)
        assert {seen.card for seen in read_picture(picture, 2.0)} <= {Card.CK, Card.UNREAD}


@pytest.mark.parametrize("rows", range(176, 188, 2))
def test_an_index_that_reaches_beyond_the_picture_is_never_told(rows: int) -> None:
    """The picture ends in the suit of the upper left index, which reaches from row 160 to row 189."""
    picture = np.ascontiguousarray(felt([Laid(Card.S8, 0, 0, 0)])[:rows])
    assert {seen.card for seen in read_picture(picture, 2.0)} <= {Card.UNREAD}


def test_a_card_with_indices_in_all_four_corners_is_one_card() -> None:
    deck = Deck(FaceStyle(four_indices=True), shipped_glyphs()[0])
    laid = [Laid(Card.H8, -75, 0, 5), Laid(Card.S3, 20, 0, 0), Laid(Card.D4, 38, 0, 0), Laid(Card.D4, 105, 0, 0)]
    for turn in (0, 180):
        seen = read_picture(felt([card._replace(angle=card.angle + turn) for card in laid], deck=deck), 2.0)
        assert sorted(one.card for one in seen) == sorted(card.card for card in laid), turn
        told = {(one.card, round(float(np.mean([x for x, _ in one.polygon])) / 2 - 160)) for one in seen}
        for card in laid:
            assert any(card.card is face and abs(card.x - x) < 6 for face, x in told), (turn, card, told)


@pytest.mark.parametrize("step", [15.0, 20.0, 64.0])
def test_two_like_cards_in_a_fan_or_side_by_side_are_two(step: float) -> None:
    laid = [Laid(Card.S9, -40, 0, 0), Laid(Card.S9, step - 40, 0, 0)]
    assert [one.card for one in read_picture(felt(laid), 2.0)] == [Card.S9, Card.S9]


@pytest.mark.parametrize(("confidence", "told"), [(0.9, Card.UNREAD), (0.97, Card.SJ)])
def test_two_ends_that_agree_are_one_card_certain_or_not(confidence: float, told: Card) -> None:
    ends = [Corner(112.0, 130.0, (0.0, -1.0), 29.0, 12.0, 0.6, 0), Corner(214.0, 246.0, (0.0, 1.0), 29.0, 12.0, 0.4, 0)]
    under = Corner(127.0, 85.0, (0.0, -1.0), 29.0, 12.0, 0.9, 0)  # its other end is where the second of those is
    readings = [Reading(under, Card.CA, 1.0, 0.0), *(Reading(end, Card.SJ, confidence, 0.0) for end in ends)]
    seen = cards_of(readings, 0.9761, 2.0)
    assert sorted((card.card, len(card.corners)) for card in seen) == sorted([(Card.CA, 1), (told, 2)])
