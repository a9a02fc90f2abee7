"""How well bar codes are read by rotation and by pixels a module: on the located card, and by pyzbar on the whole frame.

    python -m tests.felt.bench_codes [--rounds 4] [--json]

A frame is 1920x1080 and shows one card, turned by 0 to 180 degrees in steps of 15, each time with other blur, noise and
compression. *Read* is: that code alone, with its payload; *wrong*: another payload. Located, the card's outline is known, as a
calibrated table knows it, and shaken by half a millimetre.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pyzbar.pyzbar import ZBarSymbol, decode

from tablectl.felt.codes import Symbology, linear, matrix, upright
from tests.felt.coded_cards import FORMATS, PX_PER_MM, coded

__all__ = ["codes"]

TURNS = range(0, 181, 15)
MODULES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5)
ZBAR = {
    Symbology.CODE_128: [ZBarSymbol.CODE128],
    Symbology.EAN_8: [ZBarSymbol.EAN8],
    Symbology.QR: [ZBarSymbol.QRCODE],
}
"""What pyzbar is asked for on the whole frame; it knows no DataMatrix."""
FRAME = (1080, 1920)


def codes(rounds: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A symbology at a time: of so many frames a cell how many were read, by turn and by px a module, and what a frame took."""
    for symbology in FORMATS:
        payload = [FORMATS[symbology][1]]
        cells: dict[str, Counter[tuple[int, float]]] = {"located": Counter(), "whole": Counter()}
        spent = dict.fromkeys(cells, 0.0)
        wrong: Counter[str] = Counter()
        for turn in TURNS:
            for module in MODULES:
                for again in range(rounds):
                    seed = [turn, round(module * 100), again]
                    frame, outline = _frame(symbology, turn, module, seed)
                    for way in cells:
                        begun = time.process_time()
                        found = _located(frame, outline, symbology) if way == "located" else _whole(frame, symbology)
                        spent[way] += time.process_time() - begun
                        cells[way][turn, module] += found == payload
                        wrong[way] += bool(set(found) - set(payload))
        for way, read in cells.items():
            if way == "located" or symbology in ZBAR:
                frames = rounds * len(TURNS) * len(MODULES)
                name = f"codes {symbology.value} {'located' if way == 'located' else 'whole frame by pyzbar'}"
                yield (
                    name,
                    _figures(read, rounds) | {"wrong": f"{wrong[way]}/{frames}", "ms": round(spent[way] / frames * 1000, 1)},
                )


def _figures(read: Counter[tuple[int, float]], rounds: int) -> dict[str, Any]:
    """The counts in all, by px a module, by turn, and in each cell."""

    def of(turns: Iterator[int] | range, modules: tuple[float, ...]) -> str:
        turned = list(turns)
        count = sum(read[turn, module] for turn in turned for module in modules)
        return f"{count}/{rounds * len(turned) * len(modules)}"

    return {
        "read": of(TURNS, MODULES),
        "by px a module": {f"{module}": of(TURNS, (module,)) for module in MODULES},
        "by turn": {f"{turn}": of(range(turn, turn + 1), MODULES) for turn in TURNS},
        "by turn and px a module": {
            f"{turn}": {f"{module}": of(range(turn, turn + 1), (module,)) for module in MODULES} for turn in TURNS
        },
    }


def _frame(
    symbology: Symbology, turn: float, module: float, seed: list[int]
) -> tuple[NDArray[np.uint8], list[tuple[float, float]]]:
    """A whole frame with one such card on it, and where its outline is taken to be."""
    chance = np.random.default_rng(seed)
    card, outline = coded(symbology, turn, module, rough=int(chance.integers(1 << 30)))
    frame = np.empty((*FRAME, 3), np.uint8)
    frame[...] = np.array((50, 90, 30), np.uint8) + chance.integers(0, 6, (*FRAME, 1), np.uint8)
    top, left = (int(chance.integers(0, side - 500)) for side in FRAME)
    frame[top : top + 500, left : left + 500] = card
    shaken = np.array(outline) + np.array((left, top)) + chance.normal(0, 0.5 * PX_PER_MM / 2, (4, 2))
    return frame, [(float(x), float(y)) for x, y in shaken]


def _located(frame: NDArray[np.uint8], outline: list[tuple[float, float]], symbology: Symbology) -> list[str]:
    read = matrix if symbology.two_dimensional else linear
    return read(upright(frame, outline), symbology)


def _whole(frame: NDArray[np.uint8], symbology: Symbology) -> list[str]:
    if symbology not in ZBAR:
        return []
    return sorted({one.data.decode() for one in decode(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), ZBAR[symbology])})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.felt.bench_codes")
    parser.add_argument("--rounds", type=int, default=4, help="frames of each turn and size")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    results = {}
    for name, figures in codes(arguments.rounds):
        results[name] = figures
        if not arguments.json:
            print(f"{name}: {figures['read']} read, {figures['wrong']} wrong, {figures['ms']} ms", flush=True)
            for key in ("by px a module", "by turn"):
                print(f"  {key}: " + "  ".join(f"{at} {count}" for at, count in figures[key].items()), flush=True)
            for turn, row in figures["by turn and px a module"].items():
                print(f"  {turn:>3} degrees: " + "  ".join(f"{at} px {count}" for at, count in row.items()), flush=True)
    if arguments.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
