"""Looking at the felt: what has not changed is not read again, what moves or is no card covers, stakes are seen."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.felt.calibration import Calibration, load
from tablectl.felt.render import RenderedFelt
from tablectl.felt.seeing import AGAIN, READINGS, Seeing, _once
from tablectl.felt.sighting import SeenCard, Sighting
from tablectl.felt.staging import Arrangement, Lying, Reaching, Scene, Shadow, Stack
from tablectl.felt.stakes import alike
from tablectl.felt.view import Picture


class Table:
    """One 4K camera over a French felt, 15 pictures a second."""

    def __init__(self) -> None:
        self.calibration: Calibration = load("fr")
        self.felt = RenderedFelt(self.calibration.layout, self.calibration.views["main"])
        self.arrangement = Arrangement(self.calibration.layout, loose=0.0)
        self.seeing = Seeing(self.calibration)
        self.at = 1_796_000_000_000_000

    def look(self, scene: Scene, times: int = 1) -> Sighting:
        for _ in range(times):
            self.at += 66_667
            pictures: dict[str, Picture] = {"main": self.felt.picture(scene)}
            sighting = self.seeing.look(pictures, self.at)
        return sighting

    def card(self, card: Card, box: int, index: int = 0) -> Lying:
        return self.arrangement._laid(card, box, 0, 1, index, crosswise=False)


@pytest.fixture(scope="module")
def table() -> Table:
    made = Table()
    made.look(Scene(), 6)
    return made


def covers(sighting: Sighting, card: Lying) -> bool:
    """Whether a card's middle is told to be hidden."""
    return any(cv2.pointPolygonTest(np.array(outline, np.float32), (card.x, card.y), False) >= 0 for outline in sighting.covered)


def test_an_empty_felt_shows_nothing_and_is_soon_not_read_any_more(table: Table) -> None:
    sighting = table.look(Scene(), 2)
    assert (sighting.cards, sighting.covered) == ((), ())
    assert [stake.occupied for stake in sighting.stakes] == [False] * 7
    before = table.seeing.read
    table.look(Scene(), 3)
    assert table.seeing.read == before
    table.at += AGAIN
    table.look(Scene(), 8)
    assert table.seeing.read == before + 8  # now and then each place, one at a time


def test_only_the_place_where_a_card_was_laid_is_read_and_the_card_lies_where_it_was_laid(table: Table) -> None:
    card = table.card(Card.H8, 4)
    before = table.seeing.read
    first = table.look(Scene(cards=(card,)))
    assert covers(first, card)  # it has just moved
    sighting = table.look(Scene(cards=(card,)), READINGS + 3)
    assert before < table.seeing.read <= before + READINGS
    near = [seen for seen in sighting.cards if np.hypot(seen.centre[0] - card.x, seen.centre[1] - card.y) < 15]
    assert near
    assert {seen.card for seen in near} <= {Card.H8, Card.UNREAD}
    assert not covers(sighting, card)
    assert table.look(Scene(), READINGS + 3).cards == ()


def test_a_card_that_reaches_into_the_next_places_patch_is_seen_once_and_gone_when_it_is_gone(table: Table) -> None:
    cards = [table.card(card, box) for box, card in enumerate((Card.S7, Card.DT, Card.H8, Card.C2, Card.D5, Card.SQ, Card.CK), 1)]
    sighting = table.look(Scene(cards=tuple(cards)), READINGS + 8)
    places = [table.calibration.layout.place_at(seen.centre) for seen in sighting.cards]
    assert sorted(map(str, places)) == list("1234567")
    left = table.look(Scene(cards=(*cards[:1], *cards[2:])), READINGS + 4)
    assert Card.DT not in {seen.card for seen in left.cards}
    assert len(left.cards) == 6
    assert table.look(Scene(), READINGS + 8).cards == ()


def test_a_hand_that_rests_over_a_card_takes_it_away_for_nobody(table: Table) -> None:
    """In each picture the card is seen, or its place is told to be hidden."""
    card = table.card(Card.SQ, 4)
    scene = Scene(cards=(card,))
    table.look(scene, 4)
    resting = replace(scene, hands=(Reaching(card.x, card.y + 50, -90.0),))
    table.look(resting, 3)
    for _ in range(6):  # it does not move any more
        sighting = table.look(resting)
        assert covers(sighting, card) or any(seen.card is Card.SQ for seen in sighting.cards)
    assert not covers(table.look(scene, 4), card)


def test_chips_in_a_circle_are_a_stake_and_another_stack_is_another(table: Table) -> None:
    def stake(scene: Scene) -> tuple[bool, tuple[float, ...]]:
        found = next(stake for stake in table.look(scene, 2).stakes if stake.box == 3)
        return found.occupied, found.colours

    x, y = table.calibration.layout.stakes[2].centre
    one, other = (stake(Scene(stacks=(Stack(x, y, 2, look=look),))) for look in (11, 512))
    assert one[0]
    assert other[0]
    assert one[1] != other[1]
    assert not stake(Scene())[0]


@pytest.mark.parametrize("look", [3, 11, 77, 512])
@pytest.mark.parametrize("off", [0.0, 60.0, 150.0])
def test_a_stack_in_a_shadow_is_the_stack_it_was(table: Table, look: int, off: float) -> None:
    x, y = table.calibration.layout.stakes[2].centre
    stack = Stack(x, y, 3, look=look)
    seen = []
    for shadows in ((), (Shadow(x + off, y, 130.0, 0.35),)):
        found = table.look(Scene(stacks=(stack,), shadows=shadows), 2).stakes
        seen.append(next(stake for stake in found if stake.box == 3))
    assert alike(*seen), [stake.colours for stake in seen]
    table.look(Scene(), 2)


def test_a_light_that_stays_is_how_the_table_is_lit_and_a_stack_that_changes_in_it_is_another(table: Table) -> None:
    x, y = table.calibration.layout.stakes[2].centre
    one, other = (Stack(x, y, 3, look=look) for look in (11, 512))
    first = table.look(Scene(stacks=(one,)), 2)
    dim = table.look(Scene(stacks=(other,), light=0.7), 2)
    assert first.stakes[2] == dim.stakes[2]  # it may be a shadow that changes its colours
    table.at += 20_000_000
    assert not alike(first.stakes[2], table.look(Scene(stacks=(other,), light=0.7), 2).stakes[2])
    table.look(Scene(), 2)


def test_a_camera_that_sees_nothing_leaves_all_covered(table: Table) -> None:
    sighting = table.seeing.look({}, table.at)
    assert not sighting.alive
    assert len(sighting.covered) == 8


def seen(face: str, x: float, angle: float, confidence: float = 0.99) -> SeenCard:
    return SeenCard(Card(face), confidence, (x, 500.0), angle)


def test_two_ends_of_a_card_that_name_different_cards_are_one_card_unread() -> None:
    assert _once([seen("7S", 400.0, 90.0), seen("7D", 407.0, -92.0, 0.97)]) == (seen("??", 400.0, 90.0, 0.97),)


def test_ends_that_agree_and_were_not_joined_are_one_card_though_each_has_it_a_little_elsewhere() -> None:
    assert _once([seen("7S", 400.0, 90.0), seen("7S", 411.0, -92.0, 0.97)]) == (seen("7S", 400.0, 90.0),)


def test_two_cards_of_a_fan_are_two_cards() -> None:
    fan = (seen("7S", 400.0, 90.0), seen("7D", 415.0, 91.0, 0.98), seen("8D", 430.0, -90.0, 0.97))
    assert _once(fan) == fan
