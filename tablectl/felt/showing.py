"""What is shown to a camera once, to calibrate it: picture files, folders of them, videos, and a camera for a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from tablectl.errors import DeviceError, InputError
from tablectl.felt.camera import Back, Camera, Frame
from tablectl.felt.capture import quiet, shown
from tablectl.felt.sources import SUFFIXES, folder_pictures, is_camera, read_picture
from tablectl.felt.view import Picture

__all__ = ["pictures"]

PATIENCE_S = 15.0
"""How long a camera may take to open, and to send a picture."""


def pictures(sources: Sequence[str], *, most: int, gap_s: float = 0.7) -> Iterator[tuple[str, Picture]]:
    """The pictures of files, folders, videos and cameras, each with its name.

    Of a video and of a camera, `most` at the most: a video's are spread over its length, a camera's are `gap_s` apart. Raises
    `InputError` and `DeviceError`.
    """
    for source in sources:
        path = Path(source)
        if is_camera(source):
            yield from _camera(source, most, gap_s)
        elif path.is_dir():
            for file in folder_pictures(path):
                yield str(file), read_picture(file)
        elif path.suffix.lower() in SUFFIXES or not path.exists():
            yield str(path), read_picture(path)
        else:
            yield from _video(path, most)


def _video(path: Path, most: int) -> Iterator[tuple[str, Picture]]:
    if not path.is_file():
        raise InputError("is no file", where=str(path))
    quiet()
    video = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    try:
        if not video.isOpened():
            raise InputError("is neither a picture nor a video", where=str(path))
        count = int(video.get(cv2.CAP_PROP_FRAME_COUNT))
        every = max(1, count // most) if count > 0 else 10
        given = number = 0
        while given < most and video.grab():
            if number % every == 0:
                done, picture = video.retrieve()
                if done:
                    given += 1
                    yield f"{path}#{number}", np.asarray(picture, np.uint8)
            number += 1
        if not given:
            raise InputError("no picture of it can be decoded", where=str(path))
    finally:
        video.release()


def _camera(address: str, most: int, gap_s: float) -> Iterator[tuple[str, Picture]]:
    """A camera's newest pictures."""
    name = shown(address)
    with Camera("calibration", address, fps=1 / gap_s) as camera:
        given = 0
        while given < most:
            event = camera.take(PATIENCE_S)
            if isinstance(event, Frame):
                yield f"{name}#{given}", event.picture
                given += 1
            elif not isinstance(event, Back):
                why = event.why if event else f"sent no picture for {PATIENCE_S:g} s"
                raise DeviceError(why.removeprefix(f"{name}: "), where=name)
