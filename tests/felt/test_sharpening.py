"""An enrolled deck sharpens the reader for itself; under wrong names, or too few cards, it leaves the reader as it was."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from tablectl.cards import PACK, Card
from tablectl.felt.calibration import find, load
from tablectl.felt.deck import CORNER_MM, PX_PER_MM, DeckFile, Enrolled, EnrolledDeck, write_deck
from tablectl.felt.faces import FaceStyle, draw_face, shipped_glyphs
from tablectl.felt.networks import eyes
from tablectl.felt.scene import Deck
from tablectl.felt.sharpening import SharpEyes, eyes_for, sharpen
from tests.felt.bench_enrolled import ODD, compared


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


@pytest.fixture(scope="module")
def odd() -> EnrolledDeck:
    """A deck in colours that no house has."""
    return enrolled(ODD)


def test_a_face_that_is_hard_to_read_is_read_better_once_enrolled_and_nothing_wrong() -> None:
    small = FaceStyle(suit_height=3.0)  # six pixels
    found = sharpen(enrolled(small), eyes())
    assert found.sharpening is not None, found.why
    assert str(found) == f"sharpens the reader: corners read for certain {found.before} of {found.of} before, {found.after} after"
    plain, after = compared(Deck(small, shipped_glyphs()[0]), SharpEyes(eyes(), found.sharpening), cards=60, seed=5)
    assert after[1] > plain[1]
    assert after[2:4] == [0, 0]


def test_two_cards_that_were_exchanged_leave_the_reader_as_it_was(odd: EnrolledDeck) -> None:
    patches = odd.patches | {Card.HK: odd.patches[Card.C9], Card.C9: odd.patches[Card.HK]}
    found = sharpen(EnrolledDeck(odd.file, patches), eyes(), rounds=1)
    assert found.sharpening is None
    assert {"9C", "KH"} <= set(found.why.split())
    assert "look like other cards: enrolled under a wrong name?" in str(found)
    assert str(found).endswith(f"; it reads {found.wrong} of {found.of} corners wrongly")  # such colours are no deck to deal


def test_from_a_few_cards_nothing_is_learnt(odd: EnrolledDeck) -> None:
    few = {card: odd.patches[card] for card in PACK if card.value[0] != "T" or card is Card.ST}
    found = sharpen(EnrolledDeck(odd.file, few), eyes())
    assert (found.sharpening, found.why) == (None, "fewer than 2 cards are enrolled of T")


def test_what_was_found_is_kept_and_found_anew_when_the_deck_is_another(odd: EnrolledDeck, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(find("fr-two"), tmp_path / "ours"))
    assert eyes_for(folder) == (eyes(), None)
    ends = {card: (odd.patches[card][0], odd.patches[card][1]) for card in (Card.SA, Card.HK, Card.S2)}
    write_deck(folder, [Enrolled(card, ends[card], "") for card in (Card.SA, Card.HK)], (63.0, 88.0))
    assert eyes_for(folder)[0] is eyes()
    kept = folder / "deck.sharpened.json"
    assert not kept.exists()
    digest = load(folder).digest
    _, outcome = eyes_for(folder, keep=True)
    assert outcome is not None
    assert outcome.why.startswith("fewer than 2 cards are enrolled of A 2 3")
    assert load(folder).digest == digest
    said = json.loads(kept.read_bytes())
    said |= {"ranks": np.zeros((15, 14)).tolist(), "suits": np.zeros((5, 4)).tolist(), "after": 7}
    kept.write_text(json.dumps(said))
    network, outcome = eyes_for(folder)
    assert isinstance(network, SharpEyes)
    assert outcome is not None
    assert outcome.after == 7
    write_deck(folder, [Enrolled(Card.S2, ends[Card.S2], "")], (63.0, 88.0))
    assert eyes_for(folder)[0] is eyes()
    kept.write_text("{")
    assert eyes_for(folder)[0] is eyes()
