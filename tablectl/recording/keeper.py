"""The recording of a live table while it is made: every chunk is in a file before anything is made of it.

Files follow one another (see `folder`): a new one at each start, and when the last is large or old enough and the lines are
quiet, which the caller knows. A chunk goes to the system in one call, so a process that is killed loses none that it gave; only
the last line of a file can be torn, and it is read as far as it goes. When the disk is full, what was written of a chunk is
taken back, so that the next one begins on a line of its own. Only the thread that owns the table may call this.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tablectl.errors import LedgerError
from tablectl.recording.chunks import Chunk, checked_port, pieces
from tablectl.recording.folder import Position, begun_at, name_of, recordings
from tablectl.recording.native import header_lines, line_of
from tablectl.recording.table_lines import LIVE
from tablectl.recording.upkeep import Upkeep, sync_folder

__all__ = ["Keeper", "Position"]

_MODE = 0o640


class Keeper:
    """Keeps the recording of one table in `folder`, which must exist.

    `header` is what the next file says of itself: `table`, `house`, `zone`, `profile.PORT`, and `ledger`, the ledger that it is
    made for; set it anew before a `rotate`. A file is due for its end at `rotate_bytes`, or `rotate_seconds` after it was begun.
    `keep_seconds`, `keep_bytes` and `protected` (the ledgers that are not ended) are those of `Upkeep`.

    Whatever the disk refuses is a `LedgerError` with the file's name: this is the record.
    """

    def __init__(
        self,
        folder: Path,
        header: Mapping[str, str],
        *,
        rotate_bytes: int,
        rotate_seconds: float,
        keep_seconds: float | None,
        keep_bytes: int | None,
        protected: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self.header: Mapping[str, str] = header
        self._folder = folder
        self._rotate_bytes = rotate_bytes
        self._rotate_micros = int(rotate_seconds * 1_000_000)
        self._upkeep = Upkeep(folder, keep_seconds=keep_seconds, keep_bytes=keep_bytes, protected=protected)
        self._file = -1
        self._path = folder
        self._size = self._beginning = self._begun = 0
        self._torn = False
        self._unsynced = False

    @property
    def position(self) -> Position:
        """Where the next chunk will stand: all before it was written."""
        return Position(self._path.name, self._size)

    @property
    def trouble(self) -> str | None:
        """Why closed recordings could not be packed or removed the last time; None when they could."""
        return self._upkeep.trouble

    @property
    def must(self) -> bool:
        """Whether a new file is needed even if the lines are never quiet: this one is twice too large, or could not be synced."""
        return self._unsynced or self._size >= 2 * self._rotate_bytes

    def is_due(self, at: int) -> bool:
        """Whether it is time for a new file; `at` is in microseconds since 1970 UTC. One without a chunk goes on for ever."""
        large = self._size >= self._rotate_bytes or at - self._begun >= self._rotate_micros
        return self.must or (large and self._size > self._beginning)

    def open(self, at: int) -> None:
        """Begin the first file. Raises `LedgerError`, `UsageError` for a header that no recording can hold."""
        self._file, self._path, self._size = self._begin(at)
        self._beginning, self._begun = self._size, at
        self._torn = self._unsynced = False
        self._upkeep.tend(at, changed=True)

    def write(self, chunk: Chunk) -> None:
        """Write one chunk. Raises `LedgerError` when not all of it could be written; then nothing of it is in the file."""
        checked_port(chunk.port)
        at = self._begun if chunk.at is None else chunk.at
        text = b"".join(line_of(at, chunk.port, chunk.direction, piece) for piece in pieces(chunk.data))
        try:
            if self._torn:
                self._take_back()
            _written(self._file, text)
        except OSError as error:
            self._torn = True
            with suppress(OSError):  # else before the next chunk
                self._take_back()
            raise self._failed("written", error) from None
        self._size += len(text)

    def sync(self) -> None:
        """See that all that was written is on the disk. Raises `LedgerError`, and does so again until a new file is begun.

        The system forgets what it could not write, and would say of the next try that all is well.
        """
        if self._unsynced:
            raise LedgerError("could not be synced before: a new recording must be begun", where=str(self._path))
        try:
            os.fdatasync(self._file)
        except OSError as error:
            self._unsynced = True
            raise self._failed("synced", error) from None

    def rotate(self, at: int) -> None:
        """Close this file and begin a new one. Raises `LedgerError`; then this one goes on.

        What could not be synced does not keep a file open for ever: that was told, and the next call begins a new one.
        """
        if not self._unsynced:
            self.sync()
        old = self._file
        self.open(at)
        with suppress(OSError):  # it was synced
            os.close(old)

    def tend(self, at: int) -> None:
        """Let closed files be packed and removed where it is time for that; returns at once."""
        self._upkeep.tend(at)

    def close(self) -> None:
        """End the recording, and the thread that packs. Raises `LedgerError` when the last of it could not be synced."""
        self._upkeep.close()
        if self._file < 0:
            return
        try:
            self.sync()
        finally:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _begin(self, at: int) -> tuple[int, Path, int]:
        """Make a new file with its header. Its name comes after all that are there, even when the clock was set back."""
        begin = header_lines({**self.header, **LIVE})
        path = self._folder
        try:
            there = recordings(self._folder)
            path = self._folder / name_of(max(at, begun_at(there[-1]) + 1) if there else at)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, _MODE)
            try:
                os.fchmod(file, _MODE)
                _written(file, begin)
                os.fsync(file)
                sync_folder(self._folder)
            except OSError:
                os.close(file)
                path.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise LedgerError(_words("begun", error), where=str(path)) from None
        return file, path, len(begin)

    def _take_back(self) -> None:
        os.ftruncate(self._file, self._size)
        self._torn = False

    def _failed(self, what: str, error: OSError) -> LedgerError:
        return LedgerError(_words(what, error), where=str(self._path))


def _written(file: int, data: bytes) -> None:
    """Write all of it, in one call unless the system takes only a part."""
    done = os.write(file, data)
    while done < len(data):
        done += os.write(file, data[done:])


def _words(what: str, error: OSError) -> str:
    return f"cannot be {what}: {error.strerror or error}"
