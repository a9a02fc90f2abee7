"""Real photographs, their cards told by eye in a `labels.csv`: for measuring, never to learn from.

python -m tests.felt.photographs FOLDER
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.sources import read_picture as load

__all__ = ["Score", "measure", "photographs"]

Picture = NDArray[np.uint8]


class Score(NamedTuple):
    """Of the cards told by eye, how many were read right; of those reported, how many are wrong or extra; how many `??`."""

    cards: int
    right: int
    reported: int
    wrong: int
    unread: int


def photographs(folder: Path) -> list[tuple[Path, list[Card]]]:
    """The pictures of a folder with their cards."""
    with (folder / "labels.csv").open(newline="") as file:
        return [(folder / row["file"], [Card(card) for card in row["cards"].split()]) for row in csv.DictReader(file)]


def measure(folder: Path, read: Callable[[Picture], list[Card]], tell: Callable[[str], None] | None = None) -> Score:
    """Read the pictures of a folder; `tell` hears of each that is not all right."""
    total = np.zeros(5, int)
    for path, cards in photographs(folder):
        got = read(load(path))
        told: Counter[Card] = Counter(card for card in got if card is not Card.UNREAD)
        truth: Counter[Card] = Counter(cards)
        missed, extra = truth - told, told - truth
        total += (len(cards), len(cards) - missed.total(), told.total(), extra.total(), got.count(Card.UNREAD))
        if tell is not None and (missed or extra):
            tell(f"{path.name}: missed {' '.join(missed.elements()) or '-'}; wrong or extra {' '.join(extra.elements()) or '-'}")
    return Score(*map(int, total))


if __name__ == "__main__":
    from tablectl.felt.read import read_picture

    print(measure(Path(sys.argv[1]), lambda picture: [seen.card for seen in read_picture(picture)], print))
