"""The scenes on the disk: drawn once by a process of its own, in order, in parts; learnt from as they come.

Which scenes a step may use is a rule of the step's number, so that the training is the same however quick the drawing was.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.art import decks_of_art
from training.corners import small_scenes
from training.fonts import font_files
from training.scenes import scene

__all__ = ["DECKS", "PART", "Corners", "Pool", "draw", "draw_corners", "draw_for_tuning"]

Images = NDArray[np.uint8]
Rows = NDArray[np.float32]
PART = 50  # scenes in a part
DECKS = 10  # in a part of corners
TUNING_FROM = 900_000  # the decks that the confidence is tuned on
OWN = 1000  # so many scenes show faces of our own drawing alone; after them a fifth shows an artist's


def draw(folder: Path, count: int, first: int = 0) -> None:
    """Draw the scenes `first` to `count` into a folder, in parts of `PART`; those that are there already stay."""
    logging.disable(logging.WARNING)  # fontTools wonders about the dates of old fonts
    folder.mkdir(parents=True, exist_ok=True)
    fonts, art = font_files()[0], decks_of_art()
    for start in range(first, count, PART):
        target = folder / f"{start:06d}.npz"
        if target.exists():
            continue
        made = [scene(seed, fonts, art if seed >= OWN else None) for seed in range(start, start + PART)]
        _keep(target, made)


def draw_corners(folder: Path, parts: range) -> None:
    """Draw the small pictures of parts of corners (`DECKS` decks each) into a folder; those there already stay."""
    logging.disable(logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    fonts, art = font_files()[0], decks_of_art()
    for part in parts:
        target = folder / f"corners-{part:05d}.npz"
        if target.exists():
            continue
        made = [one for seed in range(part * DECKS, (part + 1) * DECKS) for one in small_scenes(seed, fonts, art)]
        _keep(target, made)


def draw_for_tuning(folder: Path, decks: range) -> Iterator[list[tuple[Images, Rows]]]:
    """The small pictures, over a table, of decks in the fonts that only the confidence is tuned on; kept in a folder."""
    logging.disable(logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    fonts = font_files()[2]
    for deck in decks:
        target = folder / f"tuning-{deck:05d}.npz"
        if not target.exists():
            made = small_scenes(TUNING_FROM + deck, fonts, over_table=True)
            _keep(target, made)
        images, rows = _kept(target)
        yield [(image, rows[rows[:, 0] == place, 1:]) for place, image in enumerate(images)]


def _keep(target: Path, made: list[tuple[Images, Rows]]) -> None:
    """Write pictures and the indices in them so that a reader never sees half of them."""
    rows = np.concatenate([np.c_[np.full(len(of_one), place, np.float32), of_one] for place, (_, of_one) in enumerate(made)])
    unfinished = target.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(file, images=np.stack([image for image, _ in made]), rows=rows)
    os.replace(unfinished, target)


def _kept(path: Path) -> tuple[Images, Rows]:
    """The pictures of a part, and the indices in them: the picture's number, then `training.scenes.COLUMNS`.

    Waits for a part that is still being drawn.
    """
    while not path.exists():
        time.sleep(1)
    with np.load(path) as data:
        return data["images"], data["rows"]


class Corners:
    """The parts of corners in a folder, read when asked for."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __getitem__(self, part: int) -> tuple[Images, Rows]:
        """The small pictures of a part, and the indices in them: see `_kept`."""
        return _kept(self.folder / f"corners-{part:05d}.npz")


class Pool:
    """The scenes of a folder, read when first asked for."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._parts: dict[int, tuple[Images, list[Rows]]] = {}

    def part(self, number: int) -> tuple[Images, Rows]:
        """`PART` scenes, and the indices in them: see `_kept`."""
        return _kept(self.folder / f"{number * PART:06d}.npz")

    def __getitem__(self, seed: int) -> tuple[Images, Rows]:
        """The picture and the indices of a scene."""
        part, place = divmod(seed, PART)
        if part not in self._parts:
            images, rows = self.part(part)
            self._parts[part] = (images, [rows[rows[:, 0] == i, 1:] for i in range(PART)])
        images, rows_of = self._parts[part]
        return images[place], rows_of[place]
