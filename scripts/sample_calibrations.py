"""Write the calibrations that ship: `python scripts/sample_calibrations.py calibration`.

Each is a felt of 1.8 m and the cameras that the rendered felt is drawn through: one of 3840x2160 over its middle, or two of
1920x1080, where one sees the dealer and boxes 1 to 4, the other boxes 5 to 7.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import NamedTuple

import cv2
import msgspec
import numpy as np
from msgspec.structs import replace

from tablectl.felt.calibration import About, load
from tablectl.felt.folder import write_about, write_layout, write_lens, write_pose
from tablectl.felt.half_circle import half_circle
from tablectl.felt.layout import Layout
from tablectl.felt.lens import Lens
from tablectl.felt.view import FeltPose, Homography, SeenMarker, View


class Hung(NamedTuple):
    """A camera: its picture, pixels a millimetre below it, height, the point below it, and how it is turned."""

    size: tuple[int, int]
    px_per_mm: float
    height: float
    over: tuple[float, float]
    down: float
    """Degrees on the felt, clockwise from the dealer's left, to which the picture's lower edge lies; 90: to the players."""
    tilt: tuple[float, float]
    distortion: tuple[float, float, float, float, float]


HOUSES = {
    "fr": ("a felt for the house fr", 0),
    "es": ("a felt for the house es", 30),
    "lt": ("a felt for the house lt", 60),
}
ONE = {
    "fr": Hung((3840, 2160), 2.08, 1900.0, (900.0, 502.0), 90.0, (0.004, -0.003), (-0.05, 0.008, 0.0002, -0.0001, 0.0)),
    "es": Hung((3840, 2160), 2.09, 2100.0, (903.0, 500.0), 90.3, (-0.006, 0.004), (-0.04, 0.005, -0.0002, 0.0002, 0.0)),
    "lt": Hung((3840, 2160), 2.08, 1800.0, (898.0, 501.0), 89.8, (0.003, 0.005), (-0.045, 0.006, 0.0001, 0.0001, 0.0)),
}


def two(house: str) -> dict[str, Hung]:
    """The two cameras of a house: their pictures are turned so that the boxes lie along the longer side."""
    distortion = (-0.012, 0.001, 0.0001, -0.0001, 0.0)
    other = {"fr": 0.0, "es": 0.4, "lt": 0.2}[house]
    middle = (900.0, 100.0)

    def along(degrees: float, out: float, aside: float) -> tuple[float, float]:
        """`out` from the arc's middle towards `degrees`, and `aside` to the right of it as the picture has it."""
        x, y = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        return middle[0] + out * x + aside * y, middle[1] + out * y - aside * x

    return {
        "left": Hung((1920, 1080), 2.02, 1500.0, along(79 + other, 358, 190), 79 + other, (0.001, 0.001), distortion),
        "right": Hung((1920, 1080), 2.15, 1450.0, along(138 - other, 450, 0), 138 - other, (-0.001, 0.001), distortion),
    }


def view(camera: str, hung: Hung, layout: Layout) -> View:
    """What a camera that hangs so sees; the markers are where it sees them."""
    width, height = hung.size
    focal = hung.px_per_mm * hung.height
    lens = Lens(
        width=width,
        height=height,
        fx=focal,
        fy=focal,
        cx=(width - 1) / 2,
        cy=(height - 1) / 2,
        distortion=hung.distortion,
        rms=0.0,
        pictures=0,
    )
    down = math.radians(hung.down)
    about = np.array([(math.sin(down), -math.cos(down), 0), (math.cos(down), math.sin(down), 0), (0, 0, 1)])
    turn = np.asarray(cv2.Rodrigues(np.array([*hung.tilt, 0.0]))[0]) @ about
    axis = turn.T @ np.array([0, 0, 1.0])
    place = np.array([*hung.over, 0.0]) - axis / axis[2] * hung.height  # its axis meets the felt at `over`
    homography = lens.matrix @ np.column_stack([turn[:, 0], turn[:, 1], -turn @ place])
    homography /= homography[2, 2]
    rows = msgspec.convert(homography.tolist(), Homography)
    pose = FeltPose(width=width, height=height, to_pixels=rows, by="markers", residual_mm=0.0, worst_mm=0.0)
    seen = View(camera, lens, pose)
    marks = []
    for marker in layout.markers:
        if seen.sees(marker.corners(), margin=marker.size * hung.px_per_mm * 0.2).all():
            marks.append(
                msgspec.convert({"id": marker.id, "corners": seen.to_px(marker.corners()).round(3).tolist()}, SeenMarker)
            )
    return View(camera, lens, replace(pose, markers=tuple(marks)))


def main(to: Path) -> None:
    """Write them all."""
    for house, (title, first) in HOUSES.items():
        layout = half_circle(title, first_marker=first)
        for name, cameras in ((house, {"main": ONE[house]}), (f"{house}-two", two(house))):
            folder = to / name
            write_layout(folder, layout)
            write_about(
                folder, About(title=f"{title}, {'one camera' if len(cameras) == 1 else 'two cameras'}", cameras=tuple(cameras))
            )
            for camera, hung in cameras.items():
                seen = view(camera, hung, layout)
                write_lens(folder, camera, seen.lens)
                write_pose(folder, camera, seen.pose)
            made = load(folder, fine=False)
            sys.stdout.write(f"{name}: {dict(made.homes)}\n" + "".join(f"  {one}\n" for one in made.fineness))
            for camera, seen in made.views.items():
                sys.stdout.write(
                    f"  {camera}: {len(seen.pose.markers)} markers, outline in it: {seen.sees(layout.outline).mean():.0%}\n"
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
