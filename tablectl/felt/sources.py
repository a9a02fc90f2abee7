"""Picture files and folders of them: read and written, and refused with a word where they are none."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from tablectl.errors import InputError
from tablectl.felt.view import Picture

__all__ = ["MAX_PIXELS", "SUFFIXES", "folder_pictures", "is_camera", "read_picture", "write_picture"]

MAX_PIXELS = 64_000_000
"""A picture with more is refused before it is decoded: twice an 8K camera's."""
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})


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
