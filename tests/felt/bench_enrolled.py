"""What enrolling a deck does for the reader: rendered felts read before and after, with faces that nothing was learnt from.

    python -m tests.felt.bench_enrolled [--cards 500] [--art FOLDER] [--deck NAME ...]

Each deck is enrolled by `tablectl calibrate deck`, from one rendered picture of each card on a table of two cameras; the hands
that are read are other pictures, by another camera. *Right*, *wrong*, *false* and `??` are as in `tests.felt.bench`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from subprocess import SubprocessError

import cv2
import numpy as np
from click.testing import CliRunner

from tablectl.cards import PACK
from tablectl.cli.calibrate_deck import deck as calibrate_deck
from tablectl.felt.calibration import find, load
from tablectl.felt.faces import FaceStyle, shipped_glyphs
from tablectl.felt.find import corners_in, layers
from tablectl.felt.networks import Eyes, eyes
from tablectl.felt.read import cards_of, read_corners
from tablectl.felt.render import RenderedFelt
from tablectl.felt.scene import Deck
from tablectl.felt.sharpening import eyes_for
from tablectl.felt.staging import Lying, Scene
from tests.felt.bench import felt_with_hands, score
from tests.felt.decks import artists, drawn_in_held_out_fonts

__all__ = ["ODD", "compared", "enrolled"]

ODD = FaceStyle(red=(60, 160, 30), black=(160, 60, 120))
"""Green hearts and diamonds, violet clubs and spades."""
WIDE = 62.0  # mm: the narrower decks are no cards of this table's size


def enrolled(deck: Deck, folder: Path, seed: int = 3) -> tuple[Path, str]:
    """A calibration's folder in which a deck was enrolled, and what was said of it."""
    table = Path(shutil.copytree(find("fr-two"), folder / "table"))
    known = load(table)
    x, y = known.layout.areas[4].mean(axis=0)
    felt, chance = RenderedFelt(known.layout, known.views["left"], deck, seed=seed), np.random.default_rng(seed)
    (folder / "cards").mkdir()
    for card in PACK:
        lying = Lying(card, float(x + chance.normal(0, 5)), float(y + chance.normal(0, 5)), float(chance.uniform(-40, 40)))
        cv2.imwrite(str(folder / "cards" / f"{card}.jpg"), felt.picture(Scene(cards=(lying,))))
    said = CliRunner().invoke(calibrate_deck, [str(table), str(folder / "cards"), "--camera", "left"], catch_exceptions=False)
    assert said.exit_code == 0, said.output
    return table, said.stdout.splitlines()[-1]


def compared(deck: Deck, sharp: Eyes, cards: int, seed: int) -> list[list[int]]:
    """Cards that count, right, wrong, false and `??`, by the networks as they are and sharpened."""
    plain = eyes()
    totals = np.zeros((2, 5), int)
    frame = 0
    while totals[0, 0] < cards:
        picture, sights = felt_with_hands(deck, np.random.default_rng([seed, frame]), 2.0)
        sizes = layers(picture, 2.0)
        corners = corners_in(sizes, plain)
        for row, network in enumerate((plain, sharp)):
            totals[row] += score(cards_of(read_corners(sizes, corners, network), network.tuning.certain, 2.0), sights)
        frame += 1
    return [[int(value) for value in row] for row in totals]


def main() -> None:
    """Measure and print."""
    cv2.setNumThreads(1)
    parser = argparse.ArgumentParser(prog="python -m tests.felt.bench_enrolled")
    parser.add_argument("--cards", type=int, default=500, help="cards of each deck")
    parser.add_argument("--art", type=Path, help="where the artists' decks are kept between runs")
    parser.add_argument("--deck", action="append", help="only these")
    arguments = parser.parse_args()
    decks: dict[str, Deck] = {}
    with tempfile.TemporaryDirectory(prefix="tablectl-enrolled-") as scratch:
        try:
            decks.update(artists(arguments.art or Path(scratch) / "art"))
        except (OSError, SubprocessError) as error:
            print(f"no decks from npm: {error}", file=sys.stderr)
        fitting = [deck for deck in drawn_in_held_out_fonts(12) if deck.style.width >= WIDE]
        decks["green and violet"] = Deck(ODD, shipped_glyphs()[0])
        decks.update({f"held-out font {number}": deck for number, deck in enumerate(fitting[:4], 1)})
        for number, (name, deck) in enumerate(decks.items()):
            if arguments.deck and name not in arguments.deck:
                continue
            place = Path(scratch) / str(number)
            place.mkdir()
            table, said = enrolled(deck, place)
            print(f"enrolled {name}: {said}", flush=True)
            for when, (count, right, wrong, false, unread) in zip(
                ("before", "after"), compared(deck, eyes_for(table)[0], arguments.cards, 41), strict=True
            ):
                print(
                    f"  {when}: cards {count}, right {right}, right_share {right / count:.4f}, wrong {wrong}, false {false}, "
                    f"unread_reported {unread}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
