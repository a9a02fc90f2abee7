"""How long a look at the felt takes: processor milliseconds a look on one core, beside what only telling a change costs.

    python -m tests.felt.speed [--frames 40] [--times 3] [--json]

The floor is `cv2.cvtColor` and `cv2.absdiff` of the same frames in the same run. Frames are rendered before the clock starts:
seven boxes of fanned cards, chips, noise. *Unchanged*: all was read, and nothing moves. *One card*: the looks from a card's fall
until it is read through. *All new*: an empty felt, and in the next frame all cards lie there; until each place is read once.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import cv2

from tablectl.cards import PACK
from tablectl.felt.calibration import load
from tablectl.felt.render import RenderedFelt
from tablectl.felt.seeing import READINGS, Seeing
from tablectl.felt.staging import Arrangement, Lying, Scene, Stack
from tablectl.felt.view import Picture

__all__ = ["Watched", "measured"]

BAR = {"unchanged": "twice the floor", "one card": "the floor and 25 ms", "all new": "the floor and 200 ms"}
Pictures = dict[str, Picture]


class Watched:
    """A calibration's cameras over a full felt, and who looks at it."""

    def __init__(self, name: str) -> None:
        self.calibration = load(name)
        layout = self.calibration.layout
        self._felts = {camera: RenderedFelt(layout, seen) for camera, seen in self.calibration.views.items()}
        arrangement = Arrangement(layout, seed=3)
        lay, pack = arrangement._laid, iter(PACK)
        cards = [lay(next(pack), box, 0, 1, index, crosswise=False) for box in range(1, 8) for index in range(3)]
        cards += [lay(next(pack), "dealer", 0, 1, index, crosswise=False) for index in range(2)]
        self.one: Lying = lay(next(pack), 4, 0, 1, 3, crosswise=False)
        self.full = Scene(tuple(cards), tuple(Stack(*stake.centre, 3, look=stake.box) for stake in layout.stakes))
        self.at = 1_796_000_000_000_000

    def frames(self, scene: Scene, count: int) -> list[Pictures]:
        """So many frames of a scene, each with its own noise."""
        return [{camera: felt.picture(scene) for camera, felt in self._felts.items()} for _ in range(count)]

    def looks(self, seeing: Seeing, frames: Sequence[Pictures]) -> list[float]:
        """Processor milliseconds of each look."""
        return [self._look(seeing, pictures) for pictures in frames]

    def until_read(self, seeing: Seeing, frames: Sequence[Pictures], places: int) -> list[float]:
        """The same, until so many places more were read."""
        spent: list[float] = []
        before = seeing.read
        for pictures in frames:
            spent.append(self._look(seeing, pictures))
            if seeing.read - before >= places:
                return spent
        raise AssertionError(f"{seeing.read - before} of {places} places were read in {len(frames)} frames")

    def read_through(self, seeing: Seeing, frames: Sequence[Pictures]) -> None:
        """Look until all that has changed was read as often as it is to be."""
        for _ in range(20):
            self.looks(seeing, frames)
            if not any(spot.readings for spot in seeing._spots):
                return
        raise AssertionError("there is no end to what changes")

    def _look(self, seeing: Seeing, pictures: Pictures) -> float:
        self.at += 66_667
        began = time.process_time()
        seeing.look(pictures, self.at)
        return 1000 * (time.process_time() - began)


def floor(frames: Sequence[Pictures]) -> list[float]:
    """Only to tell whether a frame is another than the one before."""
    spent = []
    before = {camera: cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY) for camera, picture in frames[0].items()}
    for pictures in frames[1:]:
        began = time.process_time()
        for camera, picture in pictures.items():
            grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
            cv2.absdiff(grey, before[camera])
            before[camera] = grey
        spent.append(1000 * (time.process_time() - began))
    return spent


def figures(spent: Sequence[float], **more: object) -> dict[str, Any]:
    """What there is to say of so many looks."""
    ordered = sorted(spent)
    median, slowest = ordered[len(ordered) // 2], ordered[-1]
    return {"looks": len(spent), "median_ms": round(median, 1), "slowest_ms": round(slowest, 1), **more}


def measured(name: str, frames: int, times: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """All that is measured of one set-up."""
    watched = Watched(name)
    empty, still = watched.frames(Scene(), 10), watched.frames(watched.full, 10)
    floors = [floor(still) for _ in range(max(1, frames // 9))]
    yield "floor", figures([each for some in floors for each in some])
    places = sum(len(some) for some in watched.calibration.regions.values())
    fallen = watched.frames(Scene((*watched.full.cards, watched.one), watched.full.stacks), READINGS + 4)
    unchanged: list[float] = []
    one: list[float] = []
    new: list[float] = []
    whole: list[float] = []
    for _ in range(times):
        seeing = Seeing(watched.calibration)
        watched.looks(seeing, empty)
        spent = watched.until_read(seeing, [*still, *still], places)
        new += spent
        whole.append(sum(spent))
        watched.read_through(seeing, still)
        unchanged += [each for _ in range(max(1, frames // 10 // times)) for each in watched.looks(seeing, still)]
        before = seeing.read
        one += watched.looks(seeing, fallen[: READINGS + 2])
        assert seeing.read >= before + READINGS, "the card that fell was not read"
    yield "unchanged", figures(unchanged)
    yield "one card", figures(one)
    yield "all new", figures(new, all_places_ms=round(sorted(whole)[len(whole) // 2], 1), places=places)


def main() -> None:
    """Measure and print."""
    cv2.setNumThreads(1)
    parser = argparse.ArgumentParser(prog="python -m tests.felt.speed")
    parser.add_argument("--frames", type=int, default=40, help="looks at what does not change")
    parser.add_argument("--times", type=int, default=3, help="times that a card falls, and that all is new")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for name, words in (("fr", "one camera of 3840x2160"), ("fr-two", "two cameras of 1920x1080")):
        for what, found in measured(name, arguments.frames, arguments.times):
            results[f"{words}, {what}"] = found
            if not arguments.json:
                bar = f" (bar: {BAR[what]})" if what in BAR else ""
                print(f"{words}, {what}: " + ", ".join(f"{key} {value}" for key, value in found.items()) + bar, flush=True)
    if arguments.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
