"""A file that is there whole or not at all: written under another name beside it, and renamed when it is done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tablectl.errors import InputError

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` at the end of the block; when the block fails, `path` is as it was.

    Raises `InputError` when it cannot be written.
    """
    if path.is_dir():
        raise InputError("is a folder", where=str(path))
    if path.exists() and not path.is_file():  # a pipe or a device is written as it is: it cannot be put in place
        with _faults(path), path.open("wb") as pipe:
            yield pipe
        return
    with _faults(path):
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.absolute().parent)
    draft = Path(name)
    try:
        with _faults(path), os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
            os.fchmod(descriptor, _mode(path))
        with _faults(path):
            draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _mode(path: Path) -> int:
    """That of the file that is replaced, else what a new file has."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
