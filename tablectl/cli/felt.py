"""`tablectl felt`: what the camera's side sees, tried on pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from tablectl.cli.main import say
from tablectl.errors import InputError, UsageError

if TYPE_CHECKING:
    from tablectl.felt.calibration import Calibration
    from tablectl.felt.read import Seen

__all__ = ["felt"]


@click.group(epilog="\b\nExample:\n  tablectl felt read table.jpg --overlay seen.png")
def felt() -> None:
    """The felt: cards read from pictures."""


@felt.command(
    epilog="\b\nExample:\n  tablectl felt read table.jpg\n"
    "  tablectl felt read table.jpg --json --calibration fr --overlay seen.png"
)
@click.argument("images", nargs=-1, required=True, metavar="IMAGE|FOLDER...", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a picture, each on a line.")
@click.option(
    "--overlay",
    type=click.Path(path_type=Path),
    metavar="OUT.png",
    help="Write the picture with what was seen drawn on it; of several pictures, into a folder.",
)
@click.option(
    "--calibration", metavar="NAME|FOLDER", help="How the camera sees the felt: gives the scale, and each card its box."
)
@click.option("--camera", metavar="NAME", help="Which of the calibration's cameras took the pictures; the first if not said.")
@click.option("--px-per-mm", type=float, metavar="N", help="The scale, where it is known without a calibration.")
def read(
    images: tuple[Path, ...],
    as_json: bool,
    overlay: Path | None,
    calibration: str | None,
    camera: str | None,
    px_per_mm: float | None,
) -> int:
    """Read the playing cards in pictures.

    A card whose face is not certain is `??`. The polygon is where the card should lie, in pixels, from its upper left clockwise;
    of a fanned card only the index may show. Without a scale, cards of any size are looked for, which is slower and less sure.
    Exit code 1 if a picture could not be read; the others are.
    """
    if px_per_mm is not None and not 0.2 <= px_per_mm <= 50:
        raise UsageError("--px-per-mm is from 0.2 to 50")
    if calibration is None and camera is not None:
        raise UsageError("--camera names one of a calibration's: give --calibration too")
    from tablectl.felt.marking import marked  # OpenCV and the networks take a moment: only where they are used
    from tablectl.felt.read import read_picture
    from tablectl.felt.sources import read_picture as load
    from tablectl.felt.sources import write_picture

    known, camera = _calibrated(calibration, camera)
    paths, bad = _paths(images)
    if overlay is not None and len(paths) > 1:
        overlay.mkdir(parents=True, exist_ok=True)
    for path in paths:
        try:
            picture = load(path)
            cards = read_picture(picture, px_per_mm or _scale(known, camera, picture, path))
            if overlay is not None:
                write_picture(overlay / f"{path.stem}.png" if overlay.is_dir() else overlay, marked(picture, cards))
        except InputError as error:
            say(str(error))
            bad = True
            continue
        except OSError as error:
            raise InputError(error.strerror or str(error), where=str(overlay)) from error
        if as_json:
            told = [_told(card, known, camera) for card in cards]
            click.echo(json.dumps({"file": str(path), "cards": told}, separators=(",", ":")))
        else:
            click.echo(f"{path}: " + (" ".join(card.card.value for card in cards) or "no cards"))
    return 1 if bad else 0


def _told(card: Seen, known: Calibration | None, camera: str | None) -> dict[str, Any]:
    """A card that was seen, as JSON."""
    box = None
    if known is not None and camera is not None:
        x, y = (sum(axis) / 4 for axis in zip(*card.polygon, strict=True))
        box = known.place_seen(camera, (x, y))
    return {"card": card.card.value, "confidence": card.confidence, "polygon": card.polygon, "box": box}


def _calibrated(name: str | None, camera: str | None) -> tuple[Calibration | None, str | None]:
    """The calibration of a name or folder, and the camera of it that is meant."""
    if name is None:
        return None, None
    from tablectl.felt.calibration import load

    known = load(name, fine=False)
    cameras = list(known.views)
    if camera is not None and camera not in cameras:
        raise UsageError(f"this calibration has no camera {camera}; it has {', '.join(cameras)}")
    return known, camera or cameras[0]


def _scale(known: Calibration | None, camera: str | None, picture: Any, path: Path) -> float | None:
    """The px/mm of a calibrated camera at the middle of the places it sees. Raises `InputError` for a picture of another size."""
    if known is None or camera is None:
        return None
    view = known.views[camera]
    if (picture.shape[1], picture.shape[0]) != view.size:
        wide, high = view.size
        raise InputError(
            f"is {picture.shape[1]}x{picture.shape[0]}, but camera {camera} was calibrated at {wide}x{high}", where=str(path)
        )
    middles = np.array([area.mean(axis=0) for area in known.layout.areas.values()])
    seen = view.density(middles)[view.sees(middles)]
    return float(np.median(seen)) if len(seen) else None


def _paths(images: Sequence[Path]) -> tuple[list[Path], bool]:
    """The pictures named, those of a folder by name; and whether any of them was no such thing."""
    from tablectl.felt.sources import folder_pictures

    paths: list[Path] = []
    bad = False
    for image in images:
        try:
            paths += folder_pictures(image) if image.is_dir() else [image]
        except InputError as error:
            say(str(error))
            bad = True
    return paths, bad
