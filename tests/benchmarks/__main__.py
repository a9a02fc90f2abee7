"""`make bench`: what tablectl costs, measured side by side in one run, as one JSON document on stdout."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version

from tests.benchmarks import decoding, display, feeding, latency, replaying, watched

PARTS = ("feed", "decode", "replay", "latency", "camera", "display")
WATCHED = 400
"""Cards of the tables with and without a camera, at the most."""
ROUNDS = [1000, 3000, 10000]


def main(args: Sequence[str]) -> int:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which to run, of {', '.join(PARTS)}; else all but camera")
    parser.add_argument(
        "--house", action="append", metavar="HOUSE", help="for feed, replay and latency: fr, es, lt; else all, and fr"
    )
    parser.add_argument("--rounds", type=int, nargs="+", default=ROUNDS, metavar="N", help="rounds of each replay")
    parser.add_argument("--turns", type=int, default=15, metavar="N", help="how many ratios the median is of")
    parser.add_argument("--slices", type=int, default=10, metavar="N", help="slices of each side in a turn")
    parser.add_argument("--cards", type=int, default=latency.CARDS, metavar="N", help="cards of the latency")
    parser.add_argument("--seconds", type=float, default=display.SECONDS, metavar="N", help="seconds of the display")
    given = parser.parse_args(args)
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    parts = given.parts or [part for part in PARTS if part != "camera"]
    began = time.monotonic()
    found: dict[str, object] = {"machine": _machine()}
    if "feed" in parts:
        _tell("feed: observations into the game")
        found["feed"] = feeding.measure(given.house or ["fr", "es", "lt"], given.turns, given.slices)
    if "decode" in parts:
        _tell("decode: bytes into the decoders")
        found["decode"] = decoding.measure(given.turns, given.slices)
    if "replay" in parts:
        found["replay"] = replaying.measure((given.house or ["fr"])[0], given.rounds, _tell)
    if "latency" in parts:
        found["latency"] = latency.measure((given.house or ["fr"])[0], given.cards, _tell)
    if "camera" in parts:
        found["camera"] = watched.measure((given.house or ["fr"])[0], min(given.cards, WATCHED), _tell)
    if "display" in parts:
        found["display"] = display.measure(given.seconds, _tell)
    found["seconds"] = round(time.monotonic() - began, 1)
    print(json.dumps(found, indent=2))
    return 0


def _machine() -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "sqlite": sqlite3.sqlite_version,
        **{name: version(name) for name in ("tablectl", "msgspec", "transitions")},
    }


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
