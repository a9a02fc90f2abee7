"""A log: a file of serial traffic that some tool wrote, read as chunks one after the other.

Reading is lazy and its memory bounded, whatever the file holds. A line that is not what the tool writes is counted, told with
file, line and field, and passed over; what stands before and after it is kept. Where not even the first line fits, the file is
no log of that tool, and that is an error. A last line without its end is a recording that was cut off: it is told, and
no fault. A file that gzip packed is read as what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tablectl.errors import InputError
from tablectl.recording.chunks import Chunk, Direction, pieces
from tablectl.recording.packed import BLOCK, unpacked, unpacked_size
from tablectl.recording.stamps import Base, Stamps

__all__ = ["FAULTS_TOLD", "HEAD_LIMIT", "LINE_LIMIT", "Head", "Importer", "Line", "Log", "Options", "Reading", "head_of"]

HEAD_LIMIT = 1 << 16
"""The bytes at the beginning of a file that tell which tool wrote it."""

LINE_LIMIT = 1 << 20
"""A longer line is no tool's."""

FAULTS_TOLD = 20
"""So many bad lines are told one by one."""

SNIFFED = 200


class Head(NamedTuple):
    """How a file begins: its first bytes, and the whole lines in them as text (a byte a letter), without their ends."""

    data: bytes
    lines: list[str]


class Line(NamedTuple):
    """A line, or a part of one that is longer than was asked for.

    `number` counts from 1; `data` holds the line feed where there is one; `first` says that the line begins here, `torn` that the
    file ends without ending it.
    """

    number: int
    data: bytes
    first: bool = True
    torn: bool = False

    @property
    def ended(self) -> bool:
        """The line feed is there."""
        return self.data.endswith(b"\n")

    @property
    def text(self) -> str:
        """A letter for each byte, without the line's end."""
        return self.data.removesuffix(b"\n").removesuffix(b"\r").decode("latin-1")


@dataclass(frozen=True)
class Options:
    """What the user says of a log. `fd` is for strace, `pattern` for stamped text; `swap` exchanges the directions."""

    port: str = "shoe"
    base: Base = field(default_factory=Base)
    fd: int | None = None
    pattern: str | None = None
    swap: bool = False


class Reading:
    """One pass through a log: what an importer reads from and reports to."""

    def __init__(self, path: Path, tool: str, head: Head, options: Options):
        self.path = path
        self.tool = tool
        self.head = head
        self.options = options
        self.warnings: list[str] = []
        self.damaged = 0
        self.position = 0
        self.recognised = False
        self.stamps = Stamps(options.base, self.warn)
        self._told: set[str] = set()

    def warn(self, message: str) -> None:
        """Tell the user, once, something about the whole log."""
        if message not in self._told:
            self._told.add(message)
            self.warnings.append(f"{self.path}: {message}")

    def bad(self, message: str, line: Line, field: str | None = None) -> None:
        """Report a line that is not what the tool writes. Raises `InputError` when no line before it was, either."""
        if not self.recognised:
            raise InputError(f"this is no log of {self.tool}: {message}", where=str(self.path), line=line.number, field=field)
        if line.torn:
            self.torn(line.number, message)
            return
        self.damaged += 1
        if self.damaged <= FAULTS_TOLD:
            self.warnings.append(str(InputError(message, where=str(self.path), line=line.number, field=field)))

    def torn(self, number: int, message: str) -> None:
        """Report that the log ends in the middle of something."""
        self.warnings.append(f"{self.path}:{number}: the log was cut off here: {message}")

    def _spoiled(self, message: str) -> None:
        """Report that the file itself cannot be read further."""
        self.damaged += 1
        self.warn(message)

    def lines(self, limit: int = LINE_LIMIT) -> Iterator[Line]:
        """The file's lines; one of more than `limit` bytes comes in parts."""
        number, first = 1, True
        with self._open() as file:
            for data in iter(partial(file.readline, limit), b""):
                self.position += len(data)
                ended = data.endswith(b"\n")
                yield Line(number, data, first, not ended and len(data) < limit)
                first = ended
                number += ended

    def rows(self) -> Iterator[Line]:
        """The file's lines, whole; one of more than `LINE_LIMIT` bytes is bad, and passed over."""
        for line in self.lines():
            if len(line.data) >= LINE_LIMIT and not line.ended:
                if line.first:
                    self.bad(f"the line is longer than {LINE_LIMIT} bytes", line)
            elif line.first:
                yield line

    def again(self) -> Reading:
        """Another pass through the same file, for what must be known before the first chunk."""
        return Reading(self.path, self.tool, self.head, self.options)

    def blocks(self) -> Iterator[bytes]:
        """The file's bytes."""
        with self._open() as file:
            for data in iter(partial(file.read, BLOCK), b""):
                self.position += len(data)
                yield data

    def chunks(self, at: int | None, from_device: bool, data: bytes, port: str | None = None) -> Iterator[Chunk]:
        """The chunks of one burst; none when it is empty."""
        self.recognised = True
        direction: Direction = "<" if from_device != self.options.swap else ">"
        for piece in pieces(data):
            yield Chunk(at, port or self.options.port, direction, piece)

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        """The file, unpacked; a disk that fails while it is read is an `InputError`."""
        try:
            with self.path.open("rb", buffering=BLOCK) as file:
                yield unpacked(file, self.warn, self._spoiled)
        except OSError as error:
            raise _unreadable(self.path, error) from None


@dataclass(frozen=True)
class Importer:
    """How the logs of one tool are recognised and read.

    `tool` names it in messages. `sniff` says of a file's beginning whether it is such a log. `lossy` says what the tool throws
    away, where nothing in the log shows it.
    """

    tool: str
    read: Callable[[Reading], Iterator[Chunk]]
    sniff: Callable[[Head], bool] = lambda head: False
    lossy: str | None = None


class Log:
    """A log that was opened. Iterate over it for its chunks; `warnings` and `damaged` grow meanwhile.

    `format` is the importer's name; `header` holds what a native recording says of itself; `size` is the file's in bytes,
    unpacked.
    """

    def __init__(
        self, path: Path, name: str, importer: Importer, head: Head, options: Options, header: Mapping[str, str], told: list[str]
    ):
        self.path = path
        self.format = name
        self.port = options.port
        self.header = dict(header)
        self.size = unpacked_size(path)
        self._importer = importer
        self._head = head
        self._options = options
        self._told = told
        self._reading = self._begin()

    @property
    def warnings(self) -> list[str]:
        """What the user should know of this log, so far: what it lacks, where it is torn, which lines are bad."""
        hidden = self.damaged - FAULTS_TOLD
        more = [f"{self.path}: and {hidden} more lines like these"] if hidden > 0 else []
        return [*self._told, *self._reading.warnings, *more]

    @property
    def damaged(self) -> int:
        """How many lines could not be read, so far. More than 0 makes a command exit with 1."""
        return self._reading.damaged

    @property
    def position(self) -> int:
        """The bytes that were read, so far, unpacked: for a progress bar, and to find a place in a recording again."""
        return self._reading.position

    def __iter__(self) -> Iterator[Chunk]:
        """Read the file from its beginning. Raises `InputError` when it cannot be read, or is no such log."""
        reading = self._reading = self._begin()
        empty = True
        for chunk in self._importer.read(reading):
            empty = False
            yield chunk
        if not reading.recognised:
            raise InputError(f"there is nothing of a log of {reading.tool} in it", where=str(self.path))
        if empty:
            reading.warn("there is no traffic in it")

    def _begin(self) -> Reading:
        return Reading(self.path, self._importer.tool, self._head, self._options)


def head_of(path: Path) -> Head:
    """Read how a file begins. Raises `InputError` when it cannot be read, is no file, or is empty."""
    where = str(path)
    told: list[str] = []
    try:
        if path.exists() and not path.is_file():
            raise InputError("is no file that can be read twice; save it to one first", where=where)
        with path.open("rb") as file:
            data = unpacked(file, told.append, told.append).read(HEAD_LIMIT)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not data:
        raise InputError(told[0] if told else "is empty", where=where)
    lines = data.split(b"\n", SNIFFED)
    if len(data) == HEAD_LIMIT or len(lines) > SNIFFED or not lines[-1]:
        lines.pop()  # cut by our limit, or what follows the last line feed
    return Head(data, [line.removesuffix(b"\r").decode("latin-1") for line in lines])


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"cannot be read: {reason}", where=str(path))
