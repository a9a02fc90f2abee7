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


def four_ends(x: float, y: float, wide: float = 63.0) -> tuple[Corner, Corner, Corner, Corner]:
    """The indices of an upright card of a deck with four: upper left and right, lower left and right."""
    left, right = x + 6, x + wide - 6
    return corner(left, y + 12), corner(right, y + 12), corner(left, y + 76, 180), corner(right, y + 76, 180)


@pytest.mark.parametrize("wide", [57.0, 63.0])
@pytest.mark.parametrize("shown", [(0, 1, 2, 3), (0, 1, 2), (1, 2, 3), (0, 1), (2, 3), (0, 3), (1, 2), (0, 2, 3), (0, 1, 3)])
def test_a_card_with_four_indices_is_one_card_whichever_of_them_show(shown: tuple[int, ...], wide: float) -> None:
    four = four_ends(10, 20, wide)
    (card,) = join([(four[place], Card.H9) for place in shown], [], SCALE)
    assert len(card.corners) == len(shown)
    assert np.allclose(np.array(card.polygon).mean(axis=0) / SCALE, (10 + wide / 2, 20 + 44), atol=4)


@pytest.mark.parametrize("turned", [False, True])
def test_the_side_of_a_card_with_four_indices_lies_towards_the_card_that_hides_the_rest(turned: bool) -> None:
    """A fan, each card over the one before; turned about, it is the right sides that show."""
    hidden, top = four_ends(0, 0), four_ends(17, 0)
    told = [(hidden[0], Card.S5), (hidden[2], Card.S5), *((end, Card.DK) for end in top)]
    middle = {Card.S5: (31.5, 44), Card.DK: (48.5, 44)}
    if turned:
        told = [(end._replace(x=-end.x, y=-end.y, up=(-end.up[0], -end.up[1])), card) for end, card in told]
        middle = {card: (-x, -y) for card, (x, y) in middle.items()}
    cards = join(told, [], SCALE)
    assert sorted(card.card for card in cards) == [Card.S5, Card.DK]
    for card in cards:
        assert np.allclose(np.array(card.polygon).mean(axis=0) / SCALE, middle[card.card], atol=4)


@pytest.mark.parametrize("step", [57.5, 63.0, 64.0, 70.0])
@pytest.mark.parametrize("four", [False, True])
def test_two_like_cards_side_by_side_stay_two(step: float, four: bool) -> None:
    wide = 57.0 if step < 63 else 63.0
    ones, others = four_ends(0, 0, wide), four_ends(step, 0, wide)
    shown = range(4) if four else (0, 3)
    cards = join([(end, Card.C8) for place in shown for end in (ones[place], others[place])], [], SCALE)
    assert {frozenset(card.corners) for card in cards} == {frozenset(ends[place] for place in shown) for ends in (ones, others)}


def test_two_like_cards_half_upon_each_other_stay_two() -> None:
    """Their upper indices stand as far apart as one card's with four; the lower one fits only the second."""
    first, _ = ends(0, 0)
    second, end = ends(45, 0)
    cards = join([(first, Card.SA), (second, Card.SA), (end, Card.SA)], [], SCALE)
    assert {frozenset(card.corners) for card in cards} == {frozenset({first}), frozenset({second, end})}


def test_the_first_and_fourth_of_a_fan_stay_two_like_cards() -> None:
    upper = [(ends(place * 16.0, 0)[0], card) for place, card in enumerate((Card.D4, Card.SA, Card.HK, Card.D4))]
    assert len(join(upper, [], SCALE)) == 4
