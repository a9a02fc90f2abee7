"""The scenes on the disk: drawn once by a process of its own, in order, in parts; learnt from as they come.

Which scenes a step may use is a rule of the step's number, so that the training is the same however quick the drawing was.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.art import decks_of_art
from training.fonts import font_files
from training.scenes import scene

__all__ = ["PART", "Pool", "draw"]

PART = 50
OWN = 1000  # so many scenes show faces of our own drawing alone; after them a fifth shows an artist's


def draw(folder: Path, count: int, first: int = 0, *, tuning: bool = False) -> None:
    """Draw the scenes `first` to `count` into a folder, in parts of `PART`; those that are there already stay.

    `tuning`: in the fonts that the confidence is tuned on.
    """
    logging.disable(logging.WARNING)  # fontTools wonders about the dates of old fonts
    folder.mkdir(parents=True, exist_ok=True)
    learnt, _, tuned = font_files()
    fonts, art = (tuned, None) if tuning else (learnt, decks_of_art())
    for start in range(first, count, PART):
        target = folder / f"{start:06d}.npz"
        if target.exists():
            continue
        made = [scene(seed, fonts, art if seed >= OWN else None) for seed in range(start, start + PART)]
        rows = np.concatenate([np.c_[np.full(len(r), i, np.float32), r] for i, (_, r) in enumerate(made)])
        unfinished = target.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.savez(file, images=np.stack([image for image, _ in made]), rows=rows)
        os.replace(unfinished, target)


class Pool:
    """The scenes of a folder, read when first asked for; waits for those that are still being drawn."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._parts: dict[int, tuple[NDArray[np.uint8], list[NDArray[np.float32]]]] = {}

    def __getitem__(self, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """The picture and the indices of a scene."""
        part, place = divmod(seed, PART)
        if part not in self._parts:
            path = self.folder / f"{part * PART:06d}.npz"
            while not path.exists():
                time.sleep(1)
            with np.load(path) as data:
                rows = data["rows"]
                self._parts[part] = (data["images"], [rows[rows[:, 0] == i, 1:] for i in range(PART)])
        images, rows_of = self._parts[part]
        return images[place], rows_of[place]
