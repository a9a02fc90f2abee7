"""Writing a calibration's files: what was found, so that a person can read it and a digest can pin it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tablectl.errors import ConfigError, InputError
from tablectl.felt.calibration import About, CameraName, read_about
from tablectl.felt.half_circle import to_toml
from tablectl.felt.layout import Layout, parse_layout
from tablectl.felt.lens import Lens
from tablectl.felt.sources import put
from tablectl.felt.view import FeltPose

__all__ = ["add_camera", "checked_camera", "write_about", "write_layout", "write_lens", "write_pose"]


def write_about(folder: Path, about: About) -> None:
    """Write `calibration.toml`. Raises `InputError`, as all that write do, where nothing can be written."""
    cameras = msgspec.json.encode(about.cameras).decode().replace(",", ", ")
    text = f"title = {msgspec.json.encode(about.title).decode()}\ncameras = {cameras}\n"
    put(folder / "calibration.toml", text.encode())


def checked_camera(camera: str) -> str:
    """A camera's name, when it is one. Raises `ConfigError`."""
    try:
        return msgspec.convert(camera, CameraName)
    except msgspec.ValidationError:
        raise ConfigError(f"{camera!r} is no camera's name: small letters, digits, - and _, at most 32") from None


def add_camera(folder: Path, camera: str) -> None:
    """Have a camera named in `calibration.toml`, which is begun where there is none. Raises `ConfigError` for a bad name."""
    checked_camera(camera)
    _begin(folder)
    if not (folder / "calibration.toml").exists():
        write_about(folder, About(title=folder.resolve().name or "table", cameras=(camera,)))
        return
    about = read_about(folder)
    if camera not in about.cameras:
        write_about(folder, About(title=about.title, cameras=(*about.cameras, camera)))


def write_layout(folder: Path, layout: Layout) -> Path:
    """Write `layout.toml`. Raises `ConfigError` for a layout that no table can have, and leaves the file as it was."""
    path = folder / "layout.toml"
    text = to_toml(layout)
    parse_layout(text, str(path))
    _begin(folder)
    put(path, text.encode())
    return path


def _begin(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise InputError(f"cannot be made: {fault.strerror}", where=str(folder)) from None


def write_lens(folder: Path, camera: str, lens: Lens) -> Path:
    """Write `CAMERA.lens.toml`."""
    path = folder / f"{camera}.lens.toml"
    text = (
        "# A camera's lens in pixels, from pictures of a board. The middle of the upper left pixel is (0, 0).\n"
        f"width = {lens.width}\nheight = {lens.height}\n"
        f"fx = {lens.fx:.4f}\nfy = {lens.fy:.4f}\ncx = {lens.cx:.4f}\ncy = {lens.cy:.4f}\n"
        f"distortion = [{', '.join(f'{value:.8g}' for value in lens.distortion)}]   # k1, k2, p1, p2, k3\n"
        f"rms = {lens.rms:.4f}   # pixels\npictures = {lens.pictures}\n"
    )
    put(path, text.encode())
    return path


def write_pose(folder: Path, camera: str, pose: FeltPose) -> Path:
    """Write `CAMERA.felt.toml`."""
    rows = ",\n".join(f"    [{', '.join(f'{value:.12g}' for value in row)}]" for row in pose.to_pixels)
    lines = [
        "# How the felt lies before a camera.",
        f"width = {pose.width}",
        f"height = {pose.height}",
        f'by = "{pose.by}"',
        f"residual_mm = {pose.residual_mm:g}",
        f"worst_mm = {pose.worst_mm:g}",
        "# millimetres of the felt to pixels of a lens without distortion",
        f"to_pixels = [\n{rows},\n]",
    ]
    for marker in pose.markers:
        corners = ", ".join(f"[{x:.3f}, {y:.3f}]" for x, y in marker.corners)
        lines += ["", "[[markers]]", f"id = {marker.id}", f"corners = [{corners}]"]
    path = folder / f"{camera}.felt.toml"
    put(path, ("\n".join(lines) + "\n").encode())
    return path
