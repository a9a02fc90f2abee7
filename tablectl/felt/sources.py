"""Where pictures come from that are looked at once: picture files, folders of them, videos, and a camera for a moment.

A live table's camera is another matter: this is for calibrating, and for reading pictures that are at hand.
"""

from __future__ import annotations

import queue
import re
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from tablectl.errors import DeviceError, InputError
from tablectl.felt.view import Picture

__all__ = ["MAX_PIXELS", "folder_pictures", "is_camera", "pictures", "read_picture", "write_picture"]

MAX_PIXELS = 64_000_000
"""A picture with more is refused before it is decoded: twice an 8K camera's."""
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
PATIENCE_S = 10.0
"""How long a camera may take to open, and to send a picture."""


def read_picture(path: Path) -> Picture:
    """A picture file in blue, green and red of 8 bits, upright; grey and 16-bit ones are converted.

    Raises `InputError`: missing, no picture, truncated, or larger than `MAX_PIXELS`.
    """
    where = str(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(path)
        with image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise InputError(f"is {width}x{height}: more than {MAX_PIXELS // 1_000_000} million pixels", where=where)
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith(("I", "F")):  # 16 bits, or floating
                deep = np.asarray(upright, dtype=np.float64)
                top = 65535.0 if upright.mode.startswith("I") else max(float(deep.max()), 1e-9)
                grey = np.clip(deep * (255.0 / top), 0, 255).astype(np.uint8)
                return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)
            return np.ascontiguousarray(np.asarray(upright.convert("RGB"))[:, :, ::-1])
    except Image.DecompressionBombError:
        raise InputError(f"has more than {MAX_PIXELS // 1_000_000} million pixels", where=where) from None
    except UnidentifiedImageError:
        raise InputError("is no picture", where=where) from None
    except (OSError, SyntaxError, ValueError, MemoryError) as fault:  # what decoders raise for damaged files
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else f"is damaged: {fault}"
        raise InputError(reason, where=where) from None


def write_picture(path: Path, picture: Picture) -> None:
    """Write a PNG, JPEG ... by the file's suffix. Raises `InputError` for a suffix that is none, `OSError` as ever."""
    try:
        done, data = cv2.imencode(path.suffix or ".png", picture)
    except cv2.error:
        done = False
    if not done:
        raise InputError(f"no picture is written as {path.suffix!r}; name it .png or .jpg", where=str(path))
    path.write_bytes(data.tobytes())


def folder_pictures(folder: Path) -> list[Path]:
    """The picture files of a folder, by name. Raises `InputError` when there are none."""
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    if not found:
        raise InputError("no pictures are in this folder", where=str(folder))
    return found


def is_camera(source: str) -> bool:
    """Whether a source is a camera: `/dev/video0`, `0`, or an address such as `rtsp://...`."""
    return bool(re.fullmatch(r"\d{1,2}|/dev/.+|[a-z]+://.+", source))


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
    video = cv2.VideoCapture(str(path))
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
    """A camera's newest pictures. It is read in a thread of its own: opening and reading may hang for good."""
    latest: queue.Queue[Picture | None] = queue.Queue(maxsize=1)
    enough = threading.Event()

    def show(picture: Picture | None) -> None:
        with suppress(queue.Empty):
            latest.get_nowait()
        latest.put(picture)  # this thread alone puts: there is room

    def read() -> None:
        with suppress(cv2.error):  # told as a camera that cannot be opened
            camera = cv2.VideoCapture(int(address)) if address.isdigit() else cv2.VideoCapture(address)
            while not enough.is_set():
                done, picture = camera.read()
                if not done:
                    break
                show(np.asarray(picture, np.uint8))
            camera.release()
        show(None)

    threading.Thread(target=read, name="tablectl-camera", daemon=True).start()
    try:
        for number in range(most):
            try:
                picture = latest.get(timeout=PATIENCE_S)
            except queue.Empty:
                raise DeviceError(f"the camera sent no picture for {PATIENCE_S:g} s", where=address) from None
            if picture is None:
                raise DeviceError("the camera cannot be opened" if not number else "the camera stopped sending", where=address)
            yield f"{address}#{number}", picture
            time.sleep(gap_s)
    finally:
        enough.set()
