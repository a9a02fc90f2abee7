"""The closed recordings of a live table: packed, and removed when they are too old or too many.

A thread of its own, with the lowest priority, does it, so that the game never waits for it. What it cannot do it tries again the
next time, and says why in `trouble`. It leaves the newest recording as it is, and removes none of a ledger that is not ended:
when the table starts again, what that ledger lacks is taken from them.
"""

from __future__ import annotations

import gzip
import os
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from tablectl.errors import TablectlError
from tablectl.recording.folder import PACKED, PLAIN, begun_at, ledger_of, recordings, stem_of

__all__ = ["PAUSE", "Upkeep", "sync_folder"]

PAUSE = 60.0
"""Seconds between two looks at a folder in which nothing was begun."""

_BLOCK = 1 << 18
_LEVEL = 6
_PART = ".part"
_LOWEST = 19


class Upkeep:
    """Looks after a folder of recordings whenever it is told the time.

    A recording is removed when the one after it was begun more than `keep_seconds` ago, or, oldest first, while all of them
    take more than `keep_bytes` (None: never). `protected` names what is not removed: ledgers, all whose recordings stay, or
    single recordings. It is called in the thread.
    """

    def __init__(
        self,
        folder: Path,
        *,
        keep_seconds: float | None = None,
        keep_bytes: int | None = None,
        protected: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self.folder = folder
        self.trouble: str | None = None
        self._keep_seconds = keep_seconds
        self._keep_bytes = keep_bytes
        self._protected = protected
        self._wanted = threading.Event()
        self._stopping = False
        self._at = 0
        self._due = 0.0
        self._thread: threading.Thread | None = None

    def tend(self, at: int, *, changed: bool = False) -> None:
        """Look after the folder, now that it is `at` (microseconds since 1970 UTC); returns at once.

        Unless the folder has `changed`, no more is done than once in `PAUSE` seconds, however often this is called.
        """
        now = time.monotonic()
        if not changed and now < self._due:
            return
        self._due = now + PAUSE
        self._at = at
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tablectl-recordings", daemon=True)
            self._thread.start()
        self._wanted.set()

    def close(self) -> None:
        """Stop; what is being packed is left as it was."""
        self._stopping = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        if sys.platform == "linux":  # elsewhere the number is no thread's
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)
        while not self._stopping:
            self._wanted.wait()
            self._wanted.clear()
            if not self._stopping:
                self.look(self._at)

    def look(self, at: int) -> None:
        """Do what is to be done at this time, once, in the caller's own thread."""
        try:
            self._clear()
            self._remove(at)
            for path in recordings(self.folder)[:-1]:
                if self._stopping:
                    return
                if path.name.endswith(PLAIN):
                    self._pack(path)
            self._remove(at)
        except OSError as error:
            self.trouble = f"{error.filename or self.folder}: {error.strerror or error}"
        except TablectlError as error:
            self.trouble = str(error)
        else:
            self.trouble = None

    def _clear(self) -> None:
        """Remove what a packing that was cut off has left."""
        for path in self.folder.glob(f"*{PACKED}{_PART}"):
            path.unlink(missing_ok=True)

    def _remove(self, at: int) -> None:
        everything = recordings(self.folder)
        protected = {stem_of(name) or name for name in self._protected()}
        sizes = [path.stat().st_size for path in everything]
        total = sum(sizes)
        for size, (path, following) in zip(sizes, pairwise(everything), strict=False):
            old = self._keep_seconds is not None and at - begun_at(following) > self._keep_seconds * 1_000_000
            much = self._keep_bytes is not None and total > self._keep_bytes
            if (old or much) and stem_of(path.name) not in protected and ledger_of(path) not in protected:
                path.unlink(missing_ok=True)
                total -= size

    def _pack(self, path: Path) -> None:
        """Pack a recording. The packed file has its name only when it is whole and on the disk; then the original goes."""
        packed = path.with_name(path.name.removesuffix(PLAIN) + PACKED)
        part = packed.with_name(packed.name + _PART)
        try:
            with path.open("rb") as source, part.open("xb") as target:
                status = os.fstat(source.fileno())
                if not status.st_size:
                    path.unlink()  # begun, and killed before it had its header
                    return
                os.fchmod(target.fileno(), status.st_mode & 0o777)
                # Without name and time in it, the same recording is always packed to the same bytes.
                with gzip.GzipFile("", "wb", _LEVEL, target, mtime=0) as out:
                    while block := source.read(_BLOCK):
                        if self._stopping:
                            return
                        out.write(block)
                target.flush()
                os.utime(target.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
                os.fsync(target.fileno())
            part.replace(packed)
            sync_folder(self.folder)
            path.unlink()
        finally:
            part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """See that what was made, renamed and removed in a folder outlives a power failure. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
