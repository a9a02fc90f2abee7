"""How well cards are read: rendered felts with faces that nothing was learnt from, and photographs; each figure with its count.

    python -m tests.felt.bench [--cards 6700] [--followed 500] [--photos FOLDER] [--art FOLDER] [--json]

A card counts when one of its indices is uncovered. *Right*: reported where it lies, as what it is. *Wrong*: reported as another.
*False*: reported where no card has an index. The rest is unread: `??`, or not reported. *Followed* is what a tracker tells
of cards that lay in plain sight for half a second and two frames.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import PACK, Card
from tablectl.felt.inset import DeckShape
from tablectl.felt.joining import learnt
from tablectl.felt.networks import Eyes, eyes
from tablectl.felt.read import Seen, read_picture
from tablectl.felt.scene import (
    Deck,
    Laid,
    Matrix,
    Sight,
    draw_chip,
    draw_hand,
    exposed,
    lay_cards,
    sensor,
    smooth_field,
    view,
    woven,
)
from tablectl.felt.seeing import READINGS, _once
from tablectl.felt.sighting import SeenCard, Sighting
from tablectl.felt.track import REST, Tracker
from tests.felt.decks import artists, drawn_in_held_out_fonts

__all__ = ["felt_with_hands", "score"]

Picture = NDArray[np.uint8]
SIZE = (640, 480)
RATE = 15  # frames a second
GRACE = 2  # frames
OFF = 25.0  # mm from a card's middle to where it is told at the most; of a card seen by one end the rest is reckoned
BESIDE = 90.0  # mm: within so many the face is right and the place is not, as of a deck with indices in all four corners


class Felt(NamedTuple):
    """A part of a felt with hands on it: the camera, the picture before light and lens, and what is in sight."""

    camera: Matrix
    picture: Picture
    cards: list[Laid]
    owner: NDArray[np.int16]


def dealt(deck: Deck, chance: np.random.Generator, px_per_mm: float) -> Felt:
    """One or two hands as dealt, and now and then a chip."""
    tilt = float(chance.uniform(0, 35))
    camera = view(px_per_mm, (0, 0), SIZE, float(chance.uniform(0, 360)), tilt, float(chance.uniform(1200, 2500)))
    colour = [(60, 95, 25), (110, 60, 20), (40, 25, 110), (50, 60, 45)][int(chance.integers(4))]
    picture = woven(chance, (SIZE[1], SIZE[0]), colour, float(chance.uniform(1, 4)))
    cards: list[Laid] = []
    for hand in range(int(chance.integers(1, 3))):
        x, y = chance.uniform(-45, 45), (hand * 2 - 1) * chance.uniform(20, 60)
        angle = float(chance.uniform(-25, 25)) + 180 * int(chance.integers(2))
        cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        step = (float(chance.uniform(13, 20)), float(chance.choice([0, -1, 1])) * float(chance.uniform(8, 24)))
        for place in range(int(chance.integers(2, 7))):
            u, v = step[0] * place + chance.normal(0, 0.8), step[1] * place + chance.normal(0, 0.8)
            card = PACK[int(chance.integers(52))]
            cards.append(
                Laid(card, float(x + u * cos - v * sin), float(y + u * sin + v * cos), angle + float(chance.normal(0, 2)))
            )
    for _ in range(int(chance.integers(0, 3))):
        draw_chip(picture, None, chance, tuple(chance.uniform(0, 480, 2)), 20 * px_per_mm)
    owner = lay_cards(picture, cards, deck, camera, face_scale=round(px_per_mm * 1.25 * 4) / 4)
    return Felt(camera, picture, cards, owner)


def felt_with_hands(deck: Deck, chance: np.random.Generator, px_per_mm: float = 2.0) -> tuple[Picture, list[Sight]]:
    """A camera's picture of a part of a felt with one or two hands as dealt, and where it shows which index."""
    camera, picture, cards, owner = dealt(deck, chance, px_per_mm)
    if chance.random() < 0.15:
        draw_hand(picture, owner, chance, tuple(chance.uniform(0, 480, 2)), px_per_mm)
    light = smooth_field(chance, (SIZE[1], SIZE[0]), 3, float(chance.uniform(0.5, 0.9)), 1.05)[..., None]
    seen = picture.astype(np.float32) * light * chance.uniform(0.93, 1.07, 3).astype(np.float32)
    quality = int(chance.integers(75, 96))
    return sensor(seen, chance, float(chance.uniform(0.3, 0.8)), float(chance.uniform(1, 5)), quality), exposed(
        cards, deck, camera, owner
    )


def score(seen: list[Seen], sights: list[Sight]) -> tuple[int, int, int, int, int]:
    """Cards that count, and of them right; wrong and false ones among those reported; and `??`."""
    due = {sight.laid for sight in sights if min(sight.rank_seen, sight.suit_seen) > 0.95}
    right: set[int] = set()
    wrong = false = unread = 0
    for one in seen:
        if one.card is Card.UNREAD:
            unread += 1
            continue
        corner = one.corners[0]
        near = [
            s for s in sights if np.hypot(s.x - corner.x, s.y - corner.y) < 0.5 * s.height and min(s.rank_seen, s.suit_seen) > 0.2
        ]
        same = [s.laid for s in near if s.card is one.card]
        if same:
            right.update(same)
        elif near:
            wrong += 1
        else:
            false += 1
    return len(due), len(right & due), wrong, false, unread


def rendered(decks: list[Deck], cards: int, seed: int, px_per_mm: float = 2.0, network: Eyes | None = None) -> dict[str, Any]:
    """Read felts until so many cards have counted."""
    network = network or eyes()
    total = np.zeros(5, int)
    frames, spent = 0, 0.0
    while total[0] < cards:
        chance = np.random.default_rng([seed, frames])
        picture, sights = felt_with_hands(decks[frames % len(decks)], chance, px_per_mm)
        begun = time.process_time()
        seen = read_picture(picture, px_per_mm, network)
        spent += time.process_time() - begun
        total += score(seen, sights)
        frames += 1
    count, right, wrong, false, unread = (int(v) for v in total)
    return {
        "frames": frames,
        "cards": count,
        "right": right,
        "right_share": round(right / count, 5),
        "wrong": wrong,
        "false": false,
        "unread_reported": unread,
        "ms_a_frame": round(spent / frames * 1000, 1),
    }


def followed(decks: list[Deck], cards: int, seed: int, px_per_mm: float = 2.0, network: Eyes | None = None) -> dict[str, Any]:
    """Follow felts at `RATE` frames a second until so many cards have counted; a hand passes over some of them first.

    From then on they lie in plain sight for `REST` and `GRACE` frames more, since not each is read in the first. Each frame has
    light, a shake of the camera, noise and compression of its own. As in `tablectl.felt.seeing`, `READINGS` frames are read and
    the last reading stands for those after; what a deck has shown of its indices is kept, as a table keeps it. *Wrong*: a face
    told where no such card lies; *misplaced*: it lies beside.
    """
    network = network or eyes()
    total, later = np.zeros(5, int), np.zeros(5, int)
    felts = 0
    shapes = [DeckShape()] * len(decks)
    while total[0] < cards:
        which, chance = felts % len(decks), np.random.default_rng([seed, 3, felts])
        deck = decks[which]
        felt = dealt(deck, chance, px_per_mm)
        light = smooth_field(chance, (SIZE[1], SIZE[0]), 3, float(chance.uniform(0.5, 0.9)), 1.05)[..., None]
        tint = chance.uniform(0.93, 1.07, 3).astype(np.float32)
        blur, noise, quality = float(chance.uniform(0.3, 0.8)), float(chance.uniform(1, 5)), int(chance.integers(75, 96))
        passing = int(chance.integers(1, 4)) if chance.random() < 0.15 else 0
        tracker = Tracker(lambda _: 1)
        seen: tuple[SeenCard, ...] = ()
        settled = passing + -(-REST * RATE // 1_000_000) + GRACE
        sights = exposed(felt.cards, deck, felt.camera, felt.owner)
        for frame in range(passing + RATE + 1):
            if frame < passing + READINGS:
                now = felt.picture.copy()
                if frame < passing:
                    draw_hand(now, None, chance, tuple(chance.uniform(0, 480, 2)), px_per_mm)
                shake = np.array([[1, 0, chance.normal(0, 0.25)], [0, 1, chance.normal(0, 0.25)]])
                bright = now.astype(np.float32) * light * (tint * np.float32(chance.normal(1, 0.015)))
                shaken = cv2.warpAffine(bright, shake, SIZE, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
                picture = sensor(np.asarray(shaken, np.float32), chance, blur, noise, quality)
                found = read_picture(picture, px_per_mm, network, shapes[which])
                shapes[which] = learnt(shapes[which], [(one.card, one.corners) for one in found], px_per_mm)
                seen = _once(_in_mm(one, felt.camera) for one in found)
            tracker.feed(Sighting(frame * 1_000_000 // RATE, seen, (), ()))
            if frame == settled:
                total += _score_followed(tracker, sights, felt)
        later += _score_followed(tracker, sights, felt)
        felts += 1
    count, right, misplaced, wrong, unread = (int(v) for v in total)
    return {
        "felts": felts,
        "cards": count,
        "right": right,
        "right_share": round(right / count, 5),
        "misplaced": misplaced,
        "wrong": wrong,
        "unread_told": unread,
        "right_after_1_s": int(later[1]),
        "misplaced_after_1_s": int(later[2]),
        "wrong_after_1_s": int(later[3]),
    }


def _in_mm(seen: Seen, camera: Matrix) -> SeenCard:
    """A card in millimetres of the felt."""
    points = np.c_[np.array(seen.polygon), np.ones(4)] @ np.linalg.inv(camera).T
    corners = points[:, :2] / points[:, 2:]
    long = corners[3] - corners[0]
    polygon = tuple((float(x), float(y)) for x, y in corners)
    middle = corners.mean(axis=0)
    angle = float(np.degrees(np.arctan2(long[1], long[0])))
    return SeenCard(seen.card, seen.confidence, (float(middle[0]), float(middle[1])), angle, polygon)


def _score_followed(tracker: Tracker, sights: list[Sight], felt: Felt) -> NDArray[np.int64]:
    """Cards that count, and of them right; told beside where they lie; told wrongly; and those told as `??`.

    Each card answers for one that was told.
    """
    due = {sight.laid for sight in sights if min(sight.rank_seen, sight.suit_seen) > 0.95}
    left = dict(enumerate(felt.cards))
    right: set[int] = set()
    misplaced = wrong = unread = 0
    for track in sorted(tracker.lying, key=lambda track: -track.frames):
        face, (x, y) = track.face, track.centre
        if face is Card.UNREAD:
            unread += 1
            continue
        near = [(float(np.hypot(laid.x - x, laid.y - y)), place) for place, laid in left.items() if laid.card is face]
        far, place = min(near, default=(np.inf, -1))
        if far > BESIDE:
            wrong += 1
            continue
        del left[place]
        if far < OFF:
            right.add(place)
        else:
            misplaced += 1
    return np.array([len(due), len(right & due), misplaced, wrong, unread])


def measured(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """All that is measured, one after the other."""
    folder = arguments.art or Path(tempfile.mkdtemp(prefix="tablectl-decks-"))
    kinds: dict[str, tuple[list[Deck], int]] = {}
    try:
        kinds.update({name: ([deck], 11) for name, deck in artists(folder).items()})
    except (OSError, subprocess.SubprocessError) as error:
        print(f"no decks from npm: {error}", file=sys.stderr)
    if held := drawn_in_held_out_fonts(24):
        kinds["held-out fonts"] = (held, 12)
    for name, (decks, seed) in kinds.items():
        yield f"rendered {name}", rendered(decks, arguments.cards, seed)
    for name, (decks, seed) in kinds.items():
        yield f"followed {name}", followed(decks, arguments.followed, seed)
    if arguments.photos:
        from tests.felt.baseline import Baseline
        from tests.felt.photographs import measure

        ways = {"photographs": lambda p: [seen.card for seen in read_picture(p)], "photographs, baseline": Baseline().read}
        for name, way in ways.items():
            yield name, measure(arguments.photos, way, lambda line: print("  " + line, file=sys.stderr))._asdict()


def main() -> None:
    """Measure and print."""
    cv2.setNumThreads(1)
    parser = argparse.ArgumentParser(prog="python -m tests.felt.bench")
    parser.add_argument("--cards", type=int, default=6700, help="cards of each rendered kind")
    parser.add_argument("--followed", type=int, default=500, help="cards of each rendered kind that are followed")
    parser.add_argument("--photos", type=Path, help="a folder of photographs with a labels.csv")
    parser.add_argument("--art", type=Path, help="where the artists' decks are kept between runs")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = {}
    for name, figures in measured(arguments):
        results[name] = figures
        if not arguments.json:
            print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()), flush=True)
    if arguments.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
