"""Which indices are one card's: by what they say, by how they lie, by how far apart they are."""

import numpy as np
import pytest

from tablectl.cards import Card
from tablectl.felt.find import Corner
from tablectl.felt.joining import join

SCALE = 2.0


def corner(x: float, y: float, angle: float = 0.0, height: float = 16.0) -> Corner:
    """An index at a place in mm, turned clockwise by degrees from upright; pixels at 2 px/mm."""
    a = np.deg2rad(angle)
    return Corner(x * SCALE, y * SCALE, (float(np.sin(a)), float(-np.cos(a))), height * SCALE, 12.0, 0.9, 0)


def ends(x: float, y: float) -> tuple[Corner, Corner]:
    """Both indices of an upright card whose upper left corner is at a place in mm."""
    return corner(x + 6, y + 12), corner(x + 57, y + 76, 180)


@pytest.mark.parametrize("px_per_mm", [SCALE, None])
def test_both_ends_of_a_card_are_one_card_and_outline_it(px_per_mm: float | None) -> None:
    one, other = ends(10, 20)
    (card,) = join([(one, Card.H9), (other, Card.H9)], [], px_per_mm)
    assert card.card is Card.H9
    assert np.allclose(np.array(card.polygon) / SCALE, [(10, 20), (73, 20), (73, 108), (10, 108)], atol=3)


@pytest.mark.parametrize("px_per_mm", [SCALE, None])
def test_two_like_cards_in_a_fan_stay_two(px_per_mm: float | None) -> None:
    first, _ = ends(0, 0)
    second, end = ends(18, -12)
    cards = join([(first, Card.SA), (second, Card.SA), (end, Card.SA)], [], px_per_mm)
    assert sorted(len(card.corners) for card in cards) == [1, 2]
    assert {first} in [set(card.corners) for card in cards]


def test_ends_that_say_different_cards_are_not_joined() -> None:
    one, other = ends(0, 0)
    assert len(join([(one, Card.H9), (other, Card.D9)], [], SCALE)) == 2


def test_an_unread_end_of_a_told_card_is_no_second_card() -> None:
    one, other = ends(0, 0)
    assert [card.card for card in join([(one, Card.CK)], [other], SCALE)] == [Card.CK]


def test_an_unread_index_by_itself_is_an_unread_card() -> None:
    one, _ = ends(0, 0)
    lone = corner(200, 30, 90)
    assert {card.card for card in join([(one, Card.CK)], [lone], SCALE)} == {Card.CK, Card.UNREAD}


def test_a_single_index_outlines_its_card_by_the_scale_of_the_others() -> None:
    one, other = ends(0, 0)
    lone = corner(206, 12)
    cards = join([(one, Card.CK), (other, Card.CK), (lone, Card.D2)], [], None)
    (polygon,) = (card.polygon for card in cards if card.card is Card.D2)
    assert np.allclose(np.array(polygon) / SCALE, [(200, 0), (263, 0), (263, 88), (200, 88)], atol=4)
