"""Where a command that was given pictures may write its own: never over one of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tablectl.errors import UsageError
from tablectl.felt.sources import SUFFIXES

__all__ = ["require_apart"]


def require_apart(option: str, targets: Iterable[Path], pictures: Iterable[Path]) -> None:
    """Raise `UsageError` for a target that is no picture by its name, or is one of the pictures or lies in their folders.

    Of a folder its pictures count: a drawn one among them would be taken for one of theirs the next time.
    """
    there = {_identity(path) for path in pictures if os.path.exists(path)}
    for target in targets:
        if target.suffix.lower() not in SUFFIXES:
            raise UsageError("name it .png or .jpg", where=str(target), field=option)
        if os.path.exists(target) and _identity(target) in there:
            raise UsageError("is one of the pictures: it would be written over", where=str(target), field=option)
        if os.path.exists(target.parent) and _identity(target.parent) in there:
            raise UsageError("lies among the pictures that are read", where=str(target), field=option)


def _identity(path: Path) -> tuple[int, int]:
    """What tells a file from another, whatever names and links it has."""
    found = os.stat(path)
    return found.st_dev, found.st_ino
