"""`tablectl calibrate`: a camera's lens, the felt before it, the felt's layout, a deck, and sheets to print."""

from __future__ import annotations

import json
import math
from itertools import chain
from pathlib import Path
from typing import get_args

import click

from tablectl.cli.calibrate_check import check
from tablectl.cli.calibrate_deck import deck
from tablectl.cli.drawn import require_apart
from tablectl.cli.given import given
from tablectl.cli.main import say
from tablectl.errors import ConfigError, InputError, UsageError
from tablectl.felt import calibration as calibrations
from tablectl.felt import folder, registration
from tablectl.felt.half_circle import half_circle
from tablectl.felt.layout import read_layout
from tablectl.felt.lens import BOARDS, calibrate_lens
from tablectl.felt.overlay import lay_over, plan
from tablectl.felt.sheets import Paper, sheets
from tablectl.felt.showing import pictures
from tablectl.felt.sources import put, write_picture

__all__ = ["calibrate"]


@click.group(
    epilog="\b\nExample:\n  tablectl calibrate sheet -o sheets.pdf --layout fr\n"
    "  tablectl calibrate lens my-table board-pictures/ --camera main\n"
    "  tablectl calibrate layout my-table --width 1800 --depth 1000\n"
    "  tablectl calibrate felt my-table felt.jpg --camera main\n"
    "  tablectl calibrate check my-table felt.jpg"
)
def calibrate() -> None:
    """Calibrate a table's cameras: pixels to millimetres of its felt.

    A calibration is a folder of TOML files. Those that ship are called by their names; `docs/calibration.md` tells the way from
    a bare camera to a table that reads.
    """


camera_option = click.option("--camera", default="main", show_default=True, help="Which of the table's cameras.")
picture_option = click.option(
    "--picture", type=click.Path(dir_okay=False, path_type=Path), help="Where the picture to look at is put."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
sources_argument = click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")


@calibrate.command(epilog="\b\nExample:\n  tablectl calibrate lens my-table board/*.jpg --camera main --board a3")
@click.argument("calibration", type=click.Path(file_okay=False, path_type=Path))
@sources_argument
@camera_option
@click.option("--board", type=click.Choice(list(BOARDS)), default="a4", show_default=True, help="The sheet that was printed.")
@click.option("--count", type=click.IntRange(6, 200), default=24, show_default=True, help="Pictures taken of a video or camera.")
@json_option
def lens(calibration: Path, sources: tuple[str, ...], camera: str, board: str, count: int, as_json: bool) -> None:
    """Find a camera's lens from pictures of the printed board, held near and far, tilted, and into all corners.

    SOURCE is a picture file, a folder of them, a video, or a camera: /dev/video0, rtsp://...
    """
    with given("--camera"):
        folder.checked_camera(camera)
    found = calibrate_lens(pictures(sources, most=count), BOARDS[board])
    folder.add_camera(calibration, camera)
    path = folder.write_lens(calibration, camera, found.lens)
    for name, why in found.unused:
        say(f"{name}: {why}: left out")
    if as_json:
        _print(
            {"file": str(path), "rms_px": found.lens.rms, "rms_mm": found.rms_mm, "used": found.used, "covered": found.covered}
        )
        return
    click.echo(
        f"{path}: {found.lens.width}x{found.lens.height}, {len(found.used)} pictures, {found.covered:.0%} covered, "
        f"residual {found.lens.rms:.3f} px = {found.rms_mm:.3f} mm on the board"
    )


@calibrate.command(epilog="\b\nExample:\n  tablectl calibrate felt my-table felt.jpg --picture laid-over.png")
@click.argument("calibration", type=click.Path(file_okay=False, exists=True, path_type=Path))
@sources_argument
@camera_option
@click.option(
    "--point",
    "points",
    multiple=True,
    metavar="PX,PY=X,Y",
    help="A place you clicked on, in pixels = in millimetres; four of them.",
)
@picture_option
@json_option
def felt(
    calibration: Path, sources: tuple[str, ...], camera: str, points: tuple[str, ...], picture: Path | None, as_json: bool
) -> None:
    """Find how the felt lies before a camera: from the markers on it, or from four points or more.

    The felt is empty, and its layout and the camera's lens are calibrated. Writes a picture with the layout laid over the felt:
    CAMERA.layout.png in the folder, unless --picture says where.
    """
    with given("--camera"):
        folder.checked_camera(camera)
    laid = picture or calibration / f"{camera}.layout.png"
    require_apart("--picture", [laid], map(Path, sources))
    layout = read_layout(calibration / "layout.toml")
    frames = pictures(sources, most=5)
    first = next(frames, None)
    if first is None:
        raise InputError("no picture was given")
    known = calibrations.read_lens(calibration, camera)
    lens = known or calibrations.straight_lens(first[1].shape[1], first[1].shape[0])
    if points:
        if first[1].shape[1::-1] != lens.size:
            raise InputError(
                f"is {first[1].shape[1]}x{first[1].shape[0]}, the lens is for {lens.width}x{lens.height}", where=first[0]
            )
        found = registration.register_by_points([_pair(point) for point in points], layout, lens, camera)
    else:
        found = registration.register_by_markers(chain([first], frames), layout, lens, camera)
    folder.add_camera(calibration, camera)
    path = folder.write_pose(calibration, camera, found.view.pose)
    one = calibrations.Calibration(calibration.name, layout, [found.view])
    write_picture(laid, lay_over(first[1], found.view, layout, one.fineness))
    if known is None:
        say(f"{camera}: its lens was not calibrated: it is taken to draw straight lines straight")
    for number in found.misplaced:
        say(f"marker {number} lies {found.residuals[number]:.1f} mm from where the layout says: left out")
    _say_fineness(calibration)
    pose = found.view.pose
    if as_json:
        marks = {str(number): round(off, 3) for number, off in found.residuals.items()}
        _print(
            {"file": str(path), "picture": str(laid), "residual_mm": pose.residual_mm, "worst_mm": pose.worst_mm, "marks": marks}
        )
        return
    said = "" if points and len(points) == 4 else f", residual {pose.residual_mm:.2f} mm, worst {pose.worst_mm:.2f} mm"
    click.echo(f"{path}: {len(found.residuals)} {pose.by}{said}; laid over in {laid}")


@calibrate.command(epilog="\b\nExample:\n  tablectl calibrate layout my-table --width 1800 --depth 1000 --first-marker 60")
@click.argument("calibration", type=click.Path(file_okay=False, path_type=Path))
@click.option("--title", default="a half-circle felt of seven boxes", show_default=True, help="What the felt is called.")
@click.option(
    "--width", type=click.FloatRange(1000, 3000), default=1800.0, show_default=True, help="Along the dealer's edge, mm."
)
@click.option("--depth", type=click.FloatRange(500, 2000), default=1000.0, show_default=True, help="From dealer to players, mm.")
@click.option(
    "--cards",
    type=(float, float),
    default=(390.0, 620.0),
    show_default=True,
    help="Boxes begin and end so far from the arc's middle, mm.",
)
@click.option(
    "--stake", type=(float, float), default=(725.0, 55.0), show_default=True, help="Stake circles: distance and radius, mm."
)
@click.option("--first-marker", type=click.IntRange(0, 500), default=0, show_default=True, help="Give each table ids of its own.")
@click.option("--force", is_flag=True, help="Write over a layout that is there.")
@picture_option
def layout(
    calibration: Path,
    title: str,
    width: float,
    depth: float,
    cards: tuple[float, float],
    stake: tuple[float, float],
    first_marker: int,
    force: bool,
    picture: Path | None,
) -> None:
    """Draw up a half-circle felt from its measures, to be edited: layout.toml, and a plan of it to look at (layout.png)."""
    path = calibration / "layout.toml"
    if path.exists() and not force:
        raise UsageError("is there already; --force writes over it", where=str(path))
    if not cards[0] < cards[1] or depth > width:
        raise UsageError("boxes end farther out than they begin, and a half-circle is wider than deep")
    drawn = half_circle(title, width=width, depth=depth, cards=cards, stake=stake, first_marker=first_marker)
    laid = picture or calibration / "layout.png"
    require_apart("--picture", [laid], [])
    try:
        folder.write_layout(calibration, drawn)
    except ConfigError as error:  # the file would not have been one: what was asked for is wrong
        raise UsageError(f"no table can have this: {error.message}", field=error.field) from None
    write_picture(laid, plan(drawn))
    click.echo(f"{path}: {drawn.size[0]:g} x {drawn.size[1]:g} mm, {len(drawn.markers)} markers; drawn in {laid}")


@calibrate.command(epilog="\b\nExample:\n  tablectl calibrate sheet -o sheets.pdf --layout fr --paper a3")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The PDF to write.")
@click.option("--layout", "name", help="The calibration (name or folder) whose markers are printed after the board.")
@click.option("--paper", type=click.Choice(get_args(Paper)), default="a4", show_default=True)
def sheet(output: Path, name: str | None, paper: Paper) -> None:
    """Print the board for the lens and the markers of a felt, true to scale, to a PDF.

    Print at 100 %, not fitted to the page, and measure the rule at the foot: it is 100 mm.
    """
    markers = read_layout(calibrations.find(name) / "layout.toml") if name else None
    put(output, sheets(markers, paper))
    click.echo(f"{output}: the {paper.upper()} board" + (f", {len(markers.markers)} markers" if markers else ""))


def _say_fineness(calibration: Path) -> None:
    """Say where cards would be seen with too few pixels, once all the table's cameras have their felt."""
    if all((calibration / f"{camera}.felt.toml").exists() for camera in calibrations.read_about(calibration).cameras):
        try:
            table = calibrations.load(calibration, fine=False)
        except ConfigError as error:  # of another camera's file: this one's is written
            say(str(error))
            return
        for one in table.fineness:
            if one.verdict != "good":
                say(f"{one}: {one.verdict}; {calibrations.ENOUGH} are wanted, {calibrations.TOO_FEW} are needed")


def _pair(text: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """`412,96.5=1370,45` as a pixel and its millimetres."""
    try:
        pixel, place = ([float(part) for part in side.split(",")] for side in text.split("="))
        (px, py), (x, y) = pixel, place
        if not all(map(math.isfinite, (px, py, x, y))):
            raise ValueError
    except ValueError:
        raise UsageError(f"{text!r} is no PX,PY=X,Y such as 412,96.5=1370,45", field="--point") from None
    return (px, py), (x, y)


def _print(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


calibrate.add_command(deck)
calibrate.add_command(check)
