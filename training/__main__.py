"""Makes the weights again: `python -m training`. A process of its own draws scenes while the finder learns from the first."""

from __future__ import annotations

import argparse
import multiprocessing
import os
from pathlib import Path

import cv2
import torch

from training.art import CACHE
from training.learn import learn_to_find, learn_to_read
from training.mining import mined
from training.pool import Pool, draw
from training.tuning import tune

MODELS = Path(__file__).parent.parent / "tablectl" / "felt" / "models"
TUNING_FROM = 900_000  # the scenes that the confidence is tuned on


def main() -> None:
    """Draw, learn, tune."""
    parser = argparse.ArgumentParser(prog="python -m training", description="Train the card reader's two networks on this CPU.")
    parser.add_argument("--scenes", type=int, default=4450)
    parser.add_argument("--find-steps", type=int, default=2700)
    parser.add_argument("--read-steps", type=int, default=1000)
    parser.add_argument("--again-steps", type=int, default=5200, help="steps of the reader on what the finder finds")
    parser.add_argument("--tune-scenes", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pool", type=Path, default=CACHE / "scenes", help="where the drawn scenes are kept")
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

    drawing = multiprocessing.get_context("spawn").Process(
        target=_draw, args=(arguments.pool, arguments.scenes, arguments.tune_scenes)
    )
    drawing.start()
    pool, count, into = Pool(arguments.pool), arguments.scenes, arguments.into
    learn_to_find(pool, count, arguments.find_steps, into / "finder.onnx", log)
    learn_to_read(pool, count, arguments.read_steps, into / "reader.onnx", log)
    finds = mined(pool, range(count), into / "finder.onnx")
    log(f"the finder finds {len(finds)} places in {count} scenes")
    learn_to_read(pool, count, arguments.again_steps, into / "reader.onnx", log, finds=finds, begin=into / "reader.pt", rate=8e-4)
    drawing.join()
    tune(pool, range(TUNING_FROM, TUNING_FROM + arguments.tune_scenes), into, log)
    for left in into.glob("*.pt"):
        left.unlink()


def _draw(folder: Path, scenes: int, tuning: int) -> None:
    draw(folder, scenes)
    draw(folder, TUNING_FROM + tuning, TUNING_FROM, tuning=True)


if __name__ == "__main__":
    main()
