"""Makes the reader's confidence true, and sets the threshold below which a card is `??`.

On small pictures of decks in fonts that nothing was learnt from, in which the finder finds what it finds: the temperatures are
those under which the truth was likeliest, the threshold is the lowest above which no more than one find in `ONE_IN` is told
wrongly. Left out of the threshold are about those decks that `tablectl calibrate deck` says are not to be dealt before a camera,
since the reader misreads them: one deck's spade may be another's club.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tablectl.felt.find import Layer, corners_in
from tablectl.felt.networks import Eyes, Tuning
from tablectl.felt.read import chances, looks, within
from tablectl.felt.sharpening import MISREAD
from training.mining import label
from training.patching import REJECT

__all__ = ["looked_at", "tune", "tuned"]

ONE_IN = 5000
FOUND = 0.15
LEAST, MOST = 0.9, 0.999
Scenes = Iterable[list[tuple[NDArray[np.uint8], NDArray[np.float32]]]]
Told = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]


def looked_at(decks: Scenes, folder: Path) -> Told:
    """What the networks in a folder say of all that is found in the pictures: logits of rank and suit, the truths, the decks."""
    (folder / "reader.json").write_bytes(msgspec.json.encode(Tuning(1.0, 1.0, FOUND, 0.9)))
    network = Eyes(folder)
    parts = []
    for number, deck in enumerate(decks):
        for image, rows in deck:
            sizes = [Layer(image, 1.0)]
            found = looks(sizes, corners_in(sizes, network), network)
            truths = [label(rows, corner.x, corner.y, corner.up, corner.height) for corner in found.corners]
            kept = [
                place
                for place, (corner, truth) in enumerate(zip(found.corners, truths, strict=True))
                if truth is not None and within(sizes[0], corner)
            ]
            told = np.array([truths[place] for place in kept], np.int64).reshape(-1, 2)
            parts.append((found.ranks[kept], found.suits[kept], told, np.full(len(kept), number)))
    ranks, suits, truth, whose = (np.concatenate(part) for part in zip(*parts, strict=True))
    return ranks, suits, truth, whose


def tune(decks: Scenes, folder: Path, log: Callable[[str], None]) -> Tuning:
    """Write `reader.json` into the folder of the networks."""
    return tuned(looked_at(decks, folder), folder, log)


def tuned(found: Told, folder: Path, log: Callable[[str], None]) -> Tuning:
    """Write `reader.json` by what the networks said."""
    ranks, suits, truths, whose = found
    real = truths[:, 0] != REJECT
    warm_rank = _temperature(ranks, truths[:, 0])
    warm_suit = _temperature(suits[real], truths[real, 1])
    rank, suit = chances(ranks / warm_rank), chances(suits / warm_suit)
    best, kind = rank[:, :REJECT].argmax(1), suit.argmax(1)
    sure = rank[np.arange(len(rank)), best] * suit.max(1)
    right = real & (best == truths[:, 0]) & (kind == truths[:, 1])
    misread = np.bincount(whose, real & ~right & (sure >= LEAST)) > MISREAD * np.bincount(whose, real)
    kept = ~misread[whose]
    certain = _threshold(sure[kept], right[kept])
    for name, some in (("all", np.full(len(kept), True)), ("the decks that are not misread", kept)):
        told = some & (sure >= certain)
        indices, shown, errors = int((some & real).sum()), int((told & right).sum()), int((told & ~right).sum())
        log(f"of {name}: {indices} indices, from {certain:.4f} on {shown} ({shown / indices:.4f}) told right, {errors} wrongly")
    log(f"tuned on {len(misread)} decks, {int(misread.sum())} of them misread; temperatures {warm_rank:.2f} {warm_suit:.2f}")
    tuning = Tuning(round(warm_rank, 3), round(warm_suit, 3), FOUND, round(certain, 4))
    (folder / "reader.json").write_bytes(msgspec.json.format(msgspec.json.encode(tuning)) + b"\n")
    return tuning


def _temperature(values: NDArray[np.float32], truth: NDArray[np.int64]) -> float:
    """The temperature under which the truth is likeliest."""
    tried = np.exp(np.linspace(np.log(0.4), np.log(4), 60))
    losses = [-np.log(np.maximum(chances(values / np.float32(t))[np.arange(len(truth)), truth], 1e-9)).mean() for t in tried]
    return float(tried[int(np.argmin(losses))])


def _threshold(sure: NDArray[np.float32], right: NDArray[np.bool_]) -> float:
    """The lowest confidence from which on at most one in `ONE_IN` is wrong, within `LEAST` and `MOST`."""
    order = np.argsort(-sure)
    wrong = np.cumsum(~right[order])
    allowed = wrong <= np.arange(1, len(order) + 1) / ONE_IN
    last = int(np.nonzero(allowed)[0].max()) if allowed.any() else 0
    return float(np.clip(sure[order[last]], LEAST, MOST))
