"""A patch read again only where it has changed tells what a patch read as a whole tells, and asks the networks for less."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.calibration import load
from tablectl.felt.networks import Eyes
from tablectl.felt.patches import Misfit
from tablectl.felt.read import Seen, read_picture
from tablectl.felt.render import RenderedFelt
from tablectl.felt.rereading import PARTS, Rereading, cells_of
from tablectl.felt.staging import Arrangement, Lying, Scene
from tablectl.felt.view import Picture

BOX, SIZE = 4, (240.0, 260.0)


class Counting(Eyes):
    """The networks of the package; counts what they are asked."""

    pixels = patches = 0

    def heat(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
        self.pixels += picture.shape[0] * picture.shape[1]
        return super().heat(picture)

    def ranks(self, patches: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32], list[Misfit]]:
        self.patches += len(patches)
        return super().ranks(patches)


class Box:
    """A box before a 4K camera, each patch of it with its own noise, read again and again."""

    def __init__(self) -> None:
        calibration = load("fr")
        self.view = calibration.views["main"]
        self.felt = RenderedFelt(calibration.layout, self.view)
        self.arrangement = Arrangement(calibration.layout, loose=0.0)
        x, y = calibration.layout.areas[BOX].mean(axis=0)
        self.maps = self.view.maps((float(x), float(y)), SIZE)
        self.eyes = Counting()
        self.reading = Rereading()

    def card(self, card: Card, index: int) -> Lying:
        return self.arrangement._laid(card, BOX, 0, 1, index, crosswise=False)

    def patch(self, *cards: Lying) -> Picture:
        picture = self.felt.picture(Scene(cards=cards))
        return np.asarray(cv2.remap(picture, *self.maps, cv2.INTER_LINEAR), np.uint8)

    def read(self, patch: Picture, *, anyway: bool = False) -> list[Seen]:
        self.eyes.pixels = self.eyes.patches = 0
        return self.reading.read(patch, cells_of(patch), self.eyes, anyway=anyway)


@pytest.fixture(scope="module")
def made() -> Box:
    return Box()


@pytest.fixture
def box(made: Box) -> Box:
    made.reading = Rereading()
    return made


def where(seen: list[Seen]) -> list[tuple[str, float, float]]:
    """Cards and their middles."""
    return [(card.card.value, *np.mean(card.polygon, axis=0)) for card in seen]


def test_a_card_that_is_laid_on_a_fan_is_read_as_if_all_were_read_for_a_third_of_it(box: Box) -> None:
    faces = (Card.S7, Card.DT, Card.H8, Card.C2)
    cards = [box.card(card, index) for index, card in enumerate(faces)]
    box.read(box.patch(*cards[:3]))
    whole = box.eyes.pixels
    box.reading.begin()
    patch = box.patch(*cards)
    seen = box.read(patch)
    assert box.eyes.pixels < whole / 3
    plain = read_picture(patch, 2.0, box.eyes)
    assert [card for card, _, _ in where(seen)] == [card for card, _, _ in where(plain)]
    assert {card.card for card in seen} - {Card.UNREAD} <= set(faces)
    assert np.allclose([place for _, *place in where(seen)], [place for _, *place in where(plain)], atol=2.0)


def test_noise_is_no_change_and_what_was_surely_read_is_read_again_only_part_by_part(box: Box) -> None:
    cards = [box.card(Card.S7, 0), box.card(Card.DT, 1)]
    first = box.read(box.patch(*cards))
    whole = box.eyes.pixels
    box.reading.begin()
    again = box.read(box.patch(*cards))
    assert box.eyes.pixels == 0
    assert {card.card for card in again} == {card.card for card in first} == {Card.S7, Card.DT}
    looked = []
    for _ in range(PARTS):
        assert {card.card for card in box.read(box.patch(*cards), anyway=True)} == {Card.S7, Card.DT}
        looked.append(box.eyes.pixels)
    assert max(looked) < whole / 2
    assert sum(looked) > whole


def test_what_has_changed_is_read_several_times_and_every_other_time_indices_are_looked_for(box: Box) -> None:
    box.read(box.patch())
    box.reading.begin()
    asked = []
    for _ in range(4):
        assert {card.card for card in box.read(box.patch(box.card(Card.H8, 0)))} == {Card.H8}
        asked.append((box.eyes.pixels > 0, box.eyes.patches > 0))
    assert asked == [(True, True), (False, True), (True, True), (False, True)]


def test_a_card_that_was_taken_away_is_gone_and_what_it_hid_is_seen(box: Box) -> None:
    under, over = box.card(Card.S7, 0), box.card(Card.DT, 0)
    assert {card.card for card in box.read(box.patch(under, over))} == {Card.DT}
    box.reading.begin()
    assert {card.card for card in box.read(box.patch(under))} == {Card.S7}
    box.reading.begin()
    assert box.read(box.patch()) == []


def test_another_card_in_the_very_place_of_one_is_that_other(box: Box) -> None:
    box.read(box.patch(box.card(Card.S7, 0), box.card(Card.D6, 1)))
    box.reading.begin()
    assert {card.card for card in box.read(box.patch(box.card(Card.S7, 0), box.card(Card.D7, 1)))} == {Card.S7, Card.D7}
