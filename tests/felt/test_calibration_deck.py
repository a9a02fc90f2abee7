"""Enrolling a deck: each card's corners, upright and to scale, whatever way it lay."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from tablectl.cards import PACK, Card
from tablectl.errors import ConfigError, InputError
from tablectl.felt.calibration import load
from tablectl.felt.deck import CORNER_MM, PX_PER_MM, LoneCard, enrol, find_lone_card, load_deck, write_deck
from tests.felt.scene import AROUND, FLAT, Picture, flat_felt, picture_through

VIEW = load("fr-two").views["left"]
AREA = load("fr-two").layout.areas[3]
CARD = (63.0, 88.0)
MIDDLE = (1130.0, 600.0)


def card_face(card: str) -> Picture:
    """A card of 63 by 88 mm at 6 pixels a millimetre: white, its name in two corners."""
    face = np.full((528, 378, 3), 245, np.uint8)
    for _ in range(2):
        cv2.putText(
            face, card, (18, 78), cv2.FONT_HERSHEY_DUPLEX, 1.6, (30, 30, 190) if card[1] in "HD" else (20, 20, 20), 5, cv2.LINE_AA
        )
        face = np.ascontiguousarray(face[::-1, ::-1])
    cv2.circle(face, (189, 264), 90, (200, 60, 60), -1)
    return face


def court_face(card: str) -> Picture:
    """A card with a court's picture, dark from side to side and nearly to the rim."""
    face = card_face(card)
    cv2.rectangle(face, (14, 130), (364, 398), (120, 30, 30), -1)
    return face


def felt_with(*cards: tuple[str, tuple[float, float], float], drawn: Callable[[str], Picture] = card_face) -> Picture:
    """What the camera sees of the felt with cards on it: (card, middle, degrees clockwise)."""
    flat = flat_felt().copy()
    for card, middle, turned in cards:
        face = drawn(card)
        angle = np.radians(turned)
        turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
        square = np.array([(-31.5, -44.0), (31.5, -44.0), (31.5, 44.0), (-31.5, 44.0)]) @ turn.T + middle
        source = np.array([(0, 0), (378, 0), (378, 528), (0, 528)], np.float32) - 0.5
        warp = cv2.getPerspectiveTransform(source, ((square + AROUND) * FLAT - 0.5).astype(np.float32))
        cv2.warpPerspective(face, warp, flat.shape[1::-1], dst=flat, borderMode=cv2.BORDER_TRANSPARENT, flags=cv2.INTER_AREA)
    return picture_through(VIEW, flat)


@pytest.mark.parametrize("turned", [0.0, 33.0, 90.0, -70.0])
def test_a_lone_card_is_found_with_its_place_and_turn(turned: float) -> None:
    lone = find_lone_card(felt_with(("7S", MIDDLE, turned)), VIEW, AREA, CARD)
    assert isinstance(lone, LoneCard)
    assert np.abs(np.subtract(lone.centre, MIDDLE)).max() < 1.0
    assert abs((lone.turned - turned + 90) % 180 - 90) < 1.0


def test_a_card_is_one_though_its_picture_is_dark_from_side_to_side() -> None:
    lone = find_lone_card(felt_with(("KS", MIDDLE, 33.0), drawn=court_face), VIEW, AREA, CARD)
    assert isinstance(lone, LoneCard)
    assert np.abs(np.subtract(lone.centre, MIDDLE)).max() < 1.5
    two = felt_with(("KS", (1085.0, 560.0), 0.0), ("KH", (1175.0, 560.0), 10.0), drawn=court_face)
    assert find_lone_card(two, VIEW, AREA, CARD) is None


def test_an_empty_box_and_two_cards_are_none() -> None:
    assert find_lone_card(felt_with(), VIEW, AREA, CARD) is None
    two = felt_with(("7S", (1085.0, 560.0), 0.0), ("8S", (1175.0, 560.0), 10.0))
    assert find_lone_card(two, VIEW, AREA, CARD) is None


def test_both_corners_come_out_upright_and_alike() -> None:
    expected = cv2.resize(card_face("KH"), None, fx=PX_PER_MM / 6, fy=PX_PER_MM / 6, interpolation=cv2.INTER_AREA)
    width, height = (round(side * PX_PER_MM) for side in CORNER_MM)
    (one,) = enrol([("KH.png", felt_with(("KH", MIDDLE, 50.0)))], VIEW, AREA, CARD, [Card("KH")], moving=False)
    for patch in one.patches:
        assert patch.shape == (height, width, 3)
        inner = patch[8:-8, 8:-8]
        best = cv2.matchTemplate(np.ascontiguousarray(expected[:height, :width]), inner, cv2.TM_CCOEFF_NORMED).max()
        assert best > 0.9


def test_a_film_counts_a_card_once_it_lies_still_and_the_next_after_the_felt_was_empty() -> None:
    empty, ace, king = felt_with(), felt_with(("AC", MIDDLE, 10.0)), felt_with(("2C", (1110.0, 590.0), -40.0))
    passing = felt_with(("AC", (1080.0, 560.0), 30.0))
    film = [empty, passing, ace, ace, ace, ace, ace, empty, king, king, king, king, empty]
    shown = enrol([(str(number), picture) for number, picture in enumerate(film)], VIEW, AREA, CARD, PACK, moving=True)
    assert [(one.card, one.source) for one in shown] == [("AC", "4"), ("2C", "10")]


def test_a_picture_without_a_lone_card_is_named() -> None:
    with pytest.raises(InputError, match=r"empty\.png: no card lies alone"):
        list(enrol([("empty.png", felt_with())], VIEW, AREA, CARD, [Card("AS")], moving=False))
    with pytest.raises(InputError, match=r"more\.png: shows a card more than were named"):
        list(enrol([("more.png", felt_with(("AS", MIDDLE, 0.0)))], VIEW, AREA, CARD, [], moving=False))


def test_a_deck_is_kept_and_read_back(tmp_path: Path) -> None:
    pictures = [(f"{card}.png", felt_with((card, MIDDLE, 20.0))) for card in ("AS", "TH")]
    shown = list(enrol(pictures, VIEW, AREA, CARD, [Card("AS"), Card("TH")], moving=False))
    assert load_deck(tmp_path) is None
    write_deck(tmp_path, shown, CARD)
    kept = load_deck(tmp_path)
    assert kept is not None
    assert (kept.file.px_per_mm, kept.file.corner, kept.file.card) == (PX_PER_MM, CORNER_MM, CARD)
    assert set(kept.patches) == {"AS", "TH"}
    for one in shown:
        assert all(np.array_equal(mine, theirs) for mine, theirs in zip(one.patches, kept.patches[one.card], strict=True))
    (tmp_path / "deck" / "TH.png").write_bytes(b"no picture")
    with pytest.raises(ConfigError, match=r"deck\.toml:5: cards\[1\]: TH: .*TH\.png: is no picture"):
        load_deck(tmp_path)
