"""Makes the weights again: `python -m training`. A process of its own draws while the finder learns from the first scenes."""

from __future__ import annotations

import argparse
import multiprocessing
import os
from pathlib import Path

import cv2
import torch

from training.art import CACHE
from training.learn import learn_to_find
from training.mining import mined
from training.pool import Corners, Pool, draw, draw_corners, draw_for_tuning
from training.reading import false_finds, learn_to_read, scene_indices
from training.tuning import tune

MODELS = Path(__file__).parent.parent / "tablectl" / "felt" / "models"


def main() -> None:
    """Draw, learn, tune."""
    parser = argparse.ArgumentParser(prog="python -m training", description="Train the card reader's two networks on this CPU.")
    parser.add_argument("--scenes", type=int, default=4450)
    parser.add_argument("--corners", type=int, default=380, help="parts of corners, of ten decks each")
    parser.add_argument("--find-steps", type=int, default=6000)
    parser.add_argument("--read-steps", type=int, default=28000)
    parser.add_argument("--tune-decks", type=int, default=440)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pool", type=Path, default=CACHE / "scenes", help="where what was drawn is kept")
    parser.add_argument("--into", type=Path, default=MODELS, help="the folder of the weights")
    parser.add_argument("--log", type=Path, default=Path(__file__).parent / "training.log")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.use_deterministic_algorithms(True)
    cv2.setNumThreads(1)
    os.environ.setdefault("OMP_NUM_THREADS", str(arguments.threads))
    arguments.log.write_text("")

    def log(line: str) -> None:
        print(line, flush=True)
        with arguments.log.open("a") as file:
            file.write(line + "\n")

    spawned = multiprocessing.get_context("spawn").Process
    drawing = spawned(target=_draw, args=(arguments.pool, arguments.scenes, arguments.corners))
    drawing.start()
    pool, count, into = Pool(arguments.pool), arguments.scenes, arguments.into
    corners, parts = Corners(arguments.pool), arguments.corners
    learn_to_find(pool, count, corners, parts, arguments.find_steps, into / "finder.onnx", log)
    finds = mined(pool, range(count), into / "finder.onnx")
    log(f"the finder finds {len(finds)} places in {count} scenes")
    scenes, false = scene_indices(pool, count), false_finds(pool, finds)
    learn_to_read(corners, parts, scenes, false, arguments.read_steps, into / "reader.onnx", log)
    drawing.join()
    tune(draw_for_tuning(arguments.pool, range(arguments.tune_decks)), into, log)
    for left in into.glob("*.pt"):
        left.unlink()


def _draw(folder: Path, scenes: int, corners: int) -> None:
    draw(folder, scenes)
    draw_corners(folder, range(corners))


if __name__ == "__main__":
    main()
