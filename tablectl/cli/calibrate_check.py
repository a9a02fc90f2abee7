"""`tablectl calibrate check`: whether a calibration is sound, fine enough, and this table's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tablectl.cli.drawn import require_apart
from tablectl.cli.main import say
from tablectl.errors import UsageError
from tablectl.felt import calibration as calibrations
from tablectl.felt import deck as decks
from tablectl.felt.drift import Drift, require_this_table
from tablectl.felt.overlay import lay_over
from tablectl.felt.sharpening import Outcome, eyes_for, report
from tablectl.felt.showing import pictures
from tablectl.felt.sources import write_picture

__all__ = ["check"]


@click.command(
    epilog="\b\nExample:\n  tablectl calibrate check fr\n  tablectl calibrate check my-table left.jpg --camera left --json"
)
@click.argument("calibration")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--camera", default="main", show_default=True, help="Which of the table's cameras.")
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="Where the picture to look at is put.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(calibration: str, sources: tuple[str, ...], camera: str, picture: Path | None, as_json: bool) -> None:
    """Check a calibration: its files, the pixels a millimetre of each box, and whether a picture is of this table.

    Exit code 4 for a bad file, for too few pixels, and for a picture in which the markers are not where they were: the camera
    was moved, or it is another table's.
    """
    table = calibrations.load(calibration, fine=False)
    deck = decks.load_deck(calibrations.find(calibration))
    outcome = eyes_for(calibration, keep=True)[1] if deck is not None else None
    if sources and camera not in table.views:
        raise UsageError(f"no camera {camera}; there are {', '.join(table.views)}", where=calibration)
    if picture:
        require_apart("--picture", [picture], map(Path, sources))
    drifts = []
    for name, frame in pictures(sources, most=1):
        drifts.append((name, require_this_table(frame, table.views[camera], table.layout, name)))
        if picture:
            write_picture(picture, lay_over(frame, table.views[camera], table.layout, table.fineness))
    if as_json:
        click.echo(json.dumps(_report(table, drifts, deck, outcome), indent=2))
    else:
        for line in _lines(table, drifts, deck, outcome):
            click.echo(line)
    for warning in table.warnings:
        say(warning)
    table.require_fine(calibration)


def _report(
    table: calibrations.Calibration,
    drifts: list[tuple[str, Drift]],
    deck: decks.EnrolledDeck | None,
    outcome: Outcome | None,
) -> dict[str, Any]:
    return {
        "name": table.name,
        "sha256": table.digest,
        "deck_sha256": table.deck_digest,
        "cameras": {
            camera: {
                "size": view.size,
                "lens_rms_px": view.lens.rms,
                "residual_mm": view.pose.residual_mm,
                "worst_mm": view.pose.worst_mm,
                "markers": len(view.pose.markers),
            }
            for camera, view in table.views.items()
        },
        "places": [
            {"place": one.place, "camera": one.camera, "px_per_mm": round(one.px_per_mm, 3), "at": one.at, "verdict": one.verdict}
            for one in table.fineness
        ],
        "pictures": [{"file": name, **found._asdict(), "peeled": found.peeled} for name, found in drifts],
        "deck": None if deck is None else [str(card) for card in deck.patches],
        "reader": None if outcome is None else report(outcome),
        "warnings": table.warnings,
    }


def _lines(
    table: calibrations.Calibration,
    drifts: list[tuple[str, Drift]],
    deck: decks.EnrolledDeck | None,
    outcome: Outcome | None,
) -> Iterator[str]:
    yield f"{table.name}: {table.title}"
    for camera, view in table.views.items():
        yield (
            f"camera {camera}: {view.size[0]}x{view.size[1]}, lens {view.lens.rms:.3f} px, felt {view.pose.residual_mm:.2f} mm "
            f"(worst {view.pose.worst_mm:.2f}), {len(view.pose.markers)} markers watched"
        )
    for one in table.fineness:
        yield f"{one}: {one.verdict}"
    for name, found in drifts:
        shift = "" if found.mm is None else f", {found.mm:.2f} mm"
        peeled = f", by themselves moved: {', '.join(map(str, found.peeled))}" if found.peeled else ""
        yield f"{name}: camera {found.camera} {found.state.replace('_', ' ')}{shift}, {found.found} of {found.of} markers{peeled}"
    if deck is not None:
        yield f"deck: {len(deck.patches)} cards enrolled; it {outcome}"
        yield f"deck sha256 {table.deck_digest}"
    yield f"sha256 {table.digest}"
