"""Picture files and folders of them: read and written, and refused with a word where they are none."""

from __future__ import annotations

import os
import re
import stat
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from tablectl.errors import InputError
from tablectl.felt.view import Picture

__all__ = ["MAX_PIXELS", "SUFFIXES", "folder_pictures", "is_camera", "put", "read_picture", "write_picture"]

MAX_PIXELS = 64_000_000
"""A picture with more is refused before it is decoded: twice an 8K camera's."""
MAX_BYTES = 512 << 20
"""A file with more is none: so many bytes hold `MAX_PIXELS` of 16 bits and three colours."""
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
"""What is decoded. A picture library knows others, and has a PostScript interpreter run some of them."""


def read_picture(path: Path) -> Picture:
    """A picture file in blue, green and red of 8 bits, upright; grey and 16-bit ones are converted.

    Raises `InputError`: missing, no file, no picture, truncated, or larger than `MAX_PIXELS`. It never waits, as a pipe would.
    """
    where = str(path)
    try:
        with _regular(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata, which no one asked for
            with Image.open(file, formats=_formats()) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise InputError(f"is {width}x{height}: more than {MAX_PIXELS // 1_000_000} million pixels", where=where)
                image.load()
                _turn_upright(image)
                return _eight_bits(image)
    except InputError:
        raise
    except Image.DecompressionBombError:
        raise InputError(f"has more than {MAX_PIXELS // 1_000_000} million pixels", where=where) from None
    except UnidentifiedImageError:
        raise InputError("is no picture", where=where) from None
    except MemoryError:
        raise InputError("there is not enough memory for it", where=where) from None
    except Exception as fault:  # decoders raise whatever comes to them at a damaged file
        if isinstance(fault, OSError) and fault.strerror:
            raise InputError(fault.strerror, where=where) from None
        words = (str(fault).splitlines() or [""])[0] or type(fault).__name__
        raise InputError(f"is damaged: {words}", where=where) from None


@cache
def _formats() -> tuple[str, ...]:
    """The `FORMATS` that were built in here."""
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _regular(path: Path) -> BinaryIO:
    """Open a file that is one. Raises `InputError` for a pipe or a device, which might keep one waiting, `OSError` as ever."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise InputError("is no file", where=str(path))
        if found.st_size > MAX_BYTES:
            raise InputError(f"is larger than {MAX_BYTES >> 20} MB", where=str(path))
    except BaseException:
        file.close()
        raise
    return file


def _turn_upright(image: Image.Image) -> None:
    """Turn a picture as its camera was held; it stays as it is where that cannot be made out."""
    with suppress(Exception):  # damaged metadata say nothing of the picture
        ImageOps.exif_transpose(image, in_place=True)


def _eight_bits(image: Image.Image) -> Picture:
    """A picture as OpenCV has it."""
    if not image.mode.startswith(("I", "F")):
        rgb = image if image.mode == "RGB" else image.convert("RGB")
        return np.asarray(cv2.cvtColor(np.asarray(rgb), cv2.COLOR_RGB2BGR), np.uint8)
    deep: NDArray[np.float32] = np.nan_to_num(np.asarray(image, dtype=np.float32), posinf=0.0, neginf=0.0)  # 16 bits, or floating
    top = 65535.0 if image.mode.startswith("I") else max(float(deep.max(initial=0.0)), 1e-9)
    deep *= np.float32(255.0 / top)
    grey = np.clip(deep, 0, 255, out=deep).astype(np.uint8)
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)


def write_picture(path: Path, picture: Picture) -> None:
    """Write a PNG, JPEG ... by the file's suffix. Raises `InputError`: a suffix that is none, nothing can be written there."""
    try:
        done, data = cv2.imencode(path.suffix or ".png", picture)
    except cv2.error:
        done = False
    if not done:
        raise InputError(f"no picture is written as {path.suffix!r}; name it .png or .jpg", where=str(path))
    put(path, data.tobytes())


def put(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: what stood there stays until the new one is. Raises `InputError`, which names it."""
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():  # a device is written to, and not replaced
            target.write_bytes(data)
            return
        draft = target.with_name(f".new-{target.name}")
        try:
            draft.write_bytes(data)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as fault:
        raise InputError(f"cannot be written: {fault.strerror or fault}", where=str(path)) from None


def folder_pictures(folder: Path) -> list[Path]:
    """The picture files of a folder, by name. Raises `InputError` when there are none."""
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    except OSError as fault:
        raise InputError(fault.strerror or str(fault), where=str(folder)) from None
    if not found:
        raise InputError("no pictures are in this folder", where=str(folder))
    return found


def is_camera(source: str) -> bool:
    """Whether a source is a camera: `/dev/video0`, `0`, or an address such as `rtsp://...`."""
    return bool(re.fullmatch(r"\d{1,2}|/dev/.+|[a-z]+://.+", source))
