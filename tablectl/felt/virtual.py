"""The virtual camera: it sees the scene that a file says, as rendered. Who emulates the table writes the file, in any process.

`virtual:PATH` is such a camera's source in a configuration; the calibration is that of the camera. The file is JSON, and replaced
as a whole, so a reader sees one scene or the next and never half of one.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tablectl.errors import DeviceError
from tablectl.felt.capture import Pace
from tablectl.felt.render import RenderedFelt
from tablectl.felt.staging import Scene
from tablectl.felt.view import Picture
from tablectl.settings import bytes_of

__all__ = ["PREFIX", "VirtualCamera", "read_scene", "scene_file", "write_scene"]

PREFIX = "virtual:"
"""What such a source begins with."""

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Scene)


def scene_file(source: str) -> Path | None:
    """The file that `virtual:PATH` names; None for another kind of source."""
    return Path(source.removeprefix(PREFIX)) if source.startswith(PREFIX) else None


def write_scene(path: Path, scene: Scene) -> None:
    """Have the virtual camera see a scene from now on."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(_ENCODER.encode(scene))
    os.replace(new, path)


def read_scene(path: Path) -> Scene:
    """The scene that a file says. Raises `DeviceError`."""
    try:
        return _DECODER.decode(bytes_of(path))
    except (OSError, msgspec.DecodeError) as fault:
        raise DeviceError(f"shows no scene: {fault}", where=str(path)) from None


class VirtualCamera:
    """A camera (a `Source`) over a rendered felt, `fps` pictures a second. Raises `DeviceError` without a scene."""

    live = True

    def __init__(self, path: Path, felt: RenderedFelt, *, fps: float = 15.0) -> None:
        self._path = path
        self._felt = felt
        self._pace = Pace(fps)
        self._stamp: tuple[int, int] | None = None
        self._scene = read_scene(path)

    def grab(self) -> bool:
        """Wait for the next picture's time; False: the scene is gone, as a camera that was unplugged."""
        self._pace.wait()
        try:
            found = os.stat(self._path)
        except OSError:
            return False  # unplugged
        stamp = (found.st_mtime_ns, found.st_ino)
        if stamp != self._stamp:
            self._stamp = stamp
            self._scene = read_scene(self._path)
        return True

    def retrieve(self) -> Picture | None:
        """Draw it."""
        return self._felt.picture(self._scene)

    def close(self) -> None:
        """There is nothing to let go of."""
