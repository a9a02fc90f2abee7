"""A witness's file: lines of JSON (`tablectl.ledger.witness.Line`) that are only ever added, each on the disk before it counts.

One program writes it at a time, which a lock beside it sees to. A line that was cut off by a crash never counted: the writer
ends it and says so in the next. Nothing is ever cut or written over, so the file may be made append-only (`chattr +a`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tablectl.errors import InputError
from tablectl.ledger.lock import WriterLock
from tablectl.ledger.witness import Line

__all__ = ["WitnessFile", "lines"]

_decode = msgspec.json.Decoder(Line).decode
_encode = msgspec.json.Encoder().encode


def lines(path: Path) -> Iterator[tuple[int, Line]]:
    """The lines with their numbers, from 1. What was cut off is passed over.

    Raises `InputError` when the file cannot be read, and for a line that is none: it names the line.
    """
    pending: tuple[int, str] | None = None
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if not raw.endswith(b"\n"):
                    break  # being written, or cut off
                try:
                    line = _decode(raw)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    if pending is not None:
                        break
                    pending = number, str(error)
                    continue
                if pending is not None and not line.torn:
                    break
                pending = None
                yield number, line
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if pending is not None:
        raise InputError(f"is no line of a witness: {pending[1]}", where=str(path), line=pending[0])


class WitnessFile:
    """The writer of the file, which is made where there is none. A context manager.

    `before` are the lines that stood there. `torn`: the last of them had been cut off. Raises `InputError` when the file cannot
    be read or written, `LedgerError` when another program writes it.
    """

    def __init__(self, path: Path, *, now: str) -> None:
        self.path = path
        self.torn = False
        with self._faults():
            self._lock = WriterLock(path)
        try:
            with self._faults():
                self._fd = self._open()
            try:
                if not self._ends_rightly():
                    self.torn = True
                    self._write(b"\n" + _encode(Line(seen=now, topic="", torn=True)) + b"\n")
                self.before = [line for _, line in lines(path)]
            except BaseException:
                os.close(self._fd)
                raise
        except BaseException:
            self._lock.release()
            raise

    def _open(self) -> int:
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        folder = os.open(self.path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # else a power cut may take the new file's name
        finally:
            os.close(folder)
        return fd

    def _ends_rightly(self) -> bool:
        with self._faults():
            size = os.fstat(self._fd).st_size
            return size == 0 or os.pread(self._fd, 1, size - 1) == b"\n"

    def append(self, line: Line) -> None:
        """Add a line; it is on the disk when this returns. Raises `InputError` when that cannot be done."""
        self._write(_encode(line) + b"\n")

    def _write(self, raw: bytes) -> None:
        with self._faults():
            while raw:
                raw = raw[os.write(self._fd, raw) :]
            os.fsync(self._fd)

    def _faults(self) -> _Faults:
        return _Faults(self.path)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Faults:
    """Tells what the file system complains of, with the file's name."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, OSError):
            raise InputError(f"a witness's file cannot be written: {error.strerror}", where=str(self._path)) from error
