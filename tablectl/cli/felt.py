"""`tablectl felt`: what the camera's side sees, tried on pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from tablectl.cli.main import say
from tablectl.errors import DeviceError, InputError, UsageError

if TYPE_CHECKING:
    from tablectl.felt.calibration import Calibration
    from tablectl.felt.read import Seen

__all__ = ["CODES", "felt"]

CODES = ("code128", "code39", "ean8", "ean13", "qr", "datamatrix")
"""The names of `tablectl.felt.codes.Symbology`, here so that `--help` needs no OpenCV."""

MOST = 20_000_000
"""Pixels that are looked at in one go: more than twice a 4K camera's; they take a gigabyte."""


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
@click.option("--codes", type=click.Choice(CODES), help="Read such a bar code on each card, too.")
def read(
    images: tuple[Path, ...],
    as_json: bool,
    overlay: Path | None,
    calibration: str | None,
    camera: str | None,
    px_per_mm: float | None,
    codes: str | None,
) -> int:
    """Read the playing cards in pictures.

    A card whose face is not certain is `??`. The polygon is where the card should lie, in pixels, from its upper left clockwise;
    of a fanned card only the index may show. Without a scale, cards of any size are looked for, which is slower and less sure.
    A picture that its camera turned is upright, the polygons too. Exit code 1 if a picture could not be read; the others are.
    """
    if px_per_mm is not None and not 0.2 <= px_per_mm <= 50:
        raise UsageError("--px-per-mm is from 0.2 to 50")
    if calibration is None and camera is not None:
        raise UsageError("--camera names one of a calibration's: give --calibration too")
    paths, bad = _paths(images)
    drawn = _drawn(overlay, paths)
    known, camera = _calibrated(calibration, camera)
    from tablectl.felt.marking import marked  # OpenCV and the networks take a moment: only where they are used
    from tablectl.felt.read import read_picture
    from tablectl.felt.sharpening import eyes_for
    from tablectl.felt.sources import read_picture as load
    from tablectl.felt.sources import write_picture

    network = eyes_for(calibration)[0] if calibration is not None else None
    for path in paths:
        try:
            picture = load(path)
            scale = px_per_mm or _scale(known, camera, picture, path)
            _require_room(picture, scale, path)
            cards = read_picture(picture, scale, network)
            on = [_codes(picture, card, codes) for card in cards]
            if as_json:
                told = [_told(card, known, camera) | found for card, found in zip(cards, on, strict=True)]
                click.echo(json.dumps({"file": _text(path), "cards": told}, separators=(",", ":")))
            else:
                words = [" ".join([card.card.value, *found.get("codes", ())]) for card, found in zip(cards, on, strict=True)]
                click.echo(f"{path}: " + ((", " if codes else " ").join(words) or "no cards"))
            if path in drawn:
                write_picture(drawn[path], marked(picture, cards))
        except InputError as error:
            say(str(error))
            bad = True
        except (OSError, DeviceError):  # stdout is gone; there is no library for such codes
            raise
        except Exception as fault:  # whatever a picture did to the networks: the others are read
            say(f"{_text(path)}: cannot be read, is there memory enough? {type(fault).__name__}: {str(fault)[:80]}")
            bad = True
    return 1 if bad else 0


def _text(path: Path) -> str:
    """A path as text that any reader of JSON takes: bytes that are none are shown as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _drawn(overlay: Path | None, paths: Sequence[Path]) -> dict[Path, Path]:
    """Where each picture's overlay goes. Raises `UsageError` for what would write over a picture, and where nothing can go."""
    if overlay is None or not paths:
        return {}
    from tablectl.cli.drawn import require_apart

    if len(paths) == 1 and not os.path.isdir(overlay):
        made = {paths[0]: overlay}
    else:
        try:
            overlay.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = "is no folder; the overlays of several pictures go into one" if os.path.exists(overlay) else error.strerror
            raise UsageError(f"{why}", where=str(overlay), field="--overlay") from None
        made, taken = {}, set()
        for path in dict.fromkeys(paths):
            name, number = path.stem, 1
            while name in taken:  # pictures of one name, from several folders
                number += 1
                name = f"{path.stem}-{number}"
            taken.add(name)
            made[path] = overlay / f"{name}.png"
    require_apart("--overlay", made.values(), made)
    return made


def _require_room(picture: Any, px_per_mm: float | None, path: Path) -> None:
    """Raise `InputError` for a picture that, brought to the scale that the reader wants, would take many gigabytes."""
    from tablectl.felt.find import WORKING_SCALE

    pixels = picture.shape[0] * picture.shape[1] * (WORKING_SCALE / px_per_mm) ** 2 if px_per_mm else 0
    if pixels > MOST:
        raise InputError(
            f"at {px_per_mm:.3g} px/mm it shows {picture.shape[1] / px_per_mm / 1000:.1f} m by "
            f"{picture.shape[0] / px_per_mm / 1000:.1f} m of felt: more than can be looked at",
            where=str(path),
        )


def _codes(picture: Any, card: Seen, symbology: str | None) -> dict[str, Any]:
    """The codes of that kind on a card, as its JSON has them."""
    if symbology is None:
        return {}
    from tablectl.felt.codes import Symbology, codes_on

    return {"codes": codes_on(picture, card, Symbology(symbology))}


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
            paths += folder_pictures(image) if os.path.isdir(image) else [image]
        except InputError as error:
            say(str(error))
            bad = True
    return paths, bad
