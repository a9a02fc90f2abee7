"""Evidence: for each alert a still with the cards outlined and a clip of the last seconds, each known by its SHA-256.

The last seconds of each camera are kept as JPEGs in memory, never more than so many bytes. All that takes time (packing pictures,
writing, removing what is too old) is done in one thread, which takes the newest picture and passes over the others. A file
is written under another name, synced and then renamed: what bears its name is whole.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import cv2
import msgspec
import numpy as np

from tablectl.felt.camera import Frame
from tablectl.felt.footage import FPS, Footage
from tablectl.felt.view import Picture
from tablectl.instants import from_micros

__all__ = ["Evidence", "File", "Keep", "Kept", "Outlined", "Ring"]

SECONDS: Final = 20.0
AFTER: Final = 2.0
"""Seconds after an alert that its clip still shows."""
WIDTH: Final = 1280
"""Pixels across of what is kept; a still has all that the camera has."""
RING_BYTES: Final = 32_000_000
WAITING: Final = 32
"""Alerts that may wait for their evidence."""
SURE, UNSURE = (60, 220, 60), (0, 165, 255)


class Outlined(NamedTuple):
    """A card to be outlined in a still: its corners in pixels, what is written on it, and whether it was read."""

    polygon: Sequence[tuple[float, float]]
    words: str
    sure: bool


class Keep(msgspec.Struct, frozen=True, tag="keep"):
    """Keep the evidence of an alert: its number, its code, when it was raised (microseconds since 1970)."""

    alert: int
    code: str
    at: int


class File(msgspec.Struct, frozen=True):
    """A file of evidence: its path within the folder, its size, and its SHA-256 in hex."""

    name: str
    bytes: int
    sha256: str


class Kept(msgspec.Struct, frozen=True, tag="kept"):
    """What was kept of an alert: a still and a clip of each camera. `why` says what is missing, in words; empty: nothing is."""

    alert: int
    files: tuple[File, ...]
    why: str = ""


class Packed(NamedTuple):
    """A picture of a ring: when it was taken, and its JPEG."""

    at: int
    jpeg: bytes


class Ring:
    """The last `seconds` of one camera, in at most `most` bytes. Times are microseconds since 1970, and go forward."""

    def __init__(self, seconds: float = SECONDS, most: int = RING_BYTES) -> None:
        self._span = round(seconds * 1e6)
        self._most = most
        self._packed: deque[Packed] = deque()
        self.bytes = 0

    def add(self, at: int, jpeg: bytes) -> None:
        """Add a picture; the oldest go."""
        self._packed.append(Packed(at, jpeg))
        self.bytes += len(jpeg)
        while len(self._packed) > 1 and (self._packed[0].at < at - self._span or self.bytes > self._most):
            self.bytes -= len(self._packed.popleft().jpeg)

    def __iter__(self) -> Iterator[Packed]:
        return iter(tuple(self._packed))

    def __len__(self) -> int:
        return len(self._packed)


class _Order(NamedTuple):
    keep: Keep
    files: list[File]
    due: float
    """When the clip is made (monotonic)."""


class Evidence:
    """The evidence of one table, in `folder`. `deliver` gets each `Kept`, in the evidence's thread.

    `seconds` is what a clip goes back. Files beyond `keep_mb` megabytes or older than `keep_days` are removed, the oldest first;
    None: none is. `footage` gets all that is packed.
    """

    def __init__(
        self,
        folder: Path,
        deliver: Callable[[Kept], object],
        *,
        seconds: float = SECONDS,
        after: float = AFTER,
        keep_mb: float | None = None,
        keep_days: float | None = None,
        footage: Footage | None = None,
    ) -> None:
        self._folder = folder
        self._deliver = deliver
        self._seconds = seconds
        self._after = after
        self._keep_mb, self._keep_days = keep_mb, keep_days
        self._footage = footage
        self._news = threading.Condition()
        self._fresh: dict[str, Frame] = {}  # under the condition, as are the next three
        self._last: dict[str, tuple[Frame, tuple[Outlined, ...]]] = {}
        self._orders: deque[Keep] = deque()
        self._closing = False
        self._rings: dict[str, Ring] = {}  # the thread's
        self._due: dict[str, int] = {}
        self._clips: list[_Order] = []
        self._thread = threading.Thread(target=self._run, name="tablectl-evidence", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def see(self, frame: Frame, cards: Iterable[Outlined] = ()) -> None:
        """A camera's picture, and the cards that were seen in it. It returns at once; the picture must not be changed."""
        with self._news:
            self._last[frame.camera] = (frame, tuple(cards))
            if frame.at >= self._due.get(frame.camera, 0):
                self._fresh[frame.camera] = frame
                self._news.notify()

    def keep(self, order: Keep) -> None:
        """Keep the evidence of an alert. It returns at once; a `Kept` follows."""
        with self._news:
            if len(self._orders) + len(self._clips) < WAITING:
                self._orders.append(order)
                self._news.notify()
                return
        self._deliver(Kept(order.alert, (), "too many alerts at once"))

    def close(self, seconds: float = 10.0) -> None:
        """Finish what is waited for, clips at once, and end."""
        with self._news:
            self._closing = True
            self._news.notify()
        if self._thread.ident is not None:
            self._thread.join(seconds)

    # The thread

    def _run(self) -> None:
        while True:
            with self._news:
                if not (self._fresh or self._orders or self._closing):
                    next_due = min((order.due for order in self._clips), default=None)
                    self._news.wait(None if next_due is None else max(0.0, next_due - time.monotonic()))
                fresh, self._fresh = self._fresh, {}
                orders = list(self._orders)
                self._orders.clear()
                last, closing = dict(self._last), self._closing
            for frame in fresh.values():
                with suppress(cv2.error):
                    self._pack(frame)
            for order in orders:
                self._clips.append(_Order(order, self._stills(order, last), time.monotonic() + self._after))
            now = time.monotonic()
            if any(closing or order.due <= now for order in self._clips):  # one clip for those that came together
                ripe = [order for order in self._clips if closing or order.due <= now + self._after / 2]
                self._clips = [order for order in self._clips if order not in ripe]
                self._finish(ripe)
            if closing and not orders:
                if self._footage is not None:
                    self._footage.close()
                return

    def _pack(self, frame: Frame) -> None:
        self._due[frame.camera] = frame.at + round(0.9e6 / FPS)
        rows, columns = frame.picture.shape[:2]
        picture: Picture = frame.picture
        if columns > WIDTH:
            size = (WIDTH, 2 * round(rows * WIDTH / columns / 2))
            picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
        self._rings.setdefault(frame.camera, Ring(self._seconds)).add(frame.at, _jpeg(picture, 80))
        if self._footage is not None:
            self._footage.add(frame.camera, frame.at, picture)

    def _stills(self, order: Keep, last: dict[str, tuple[Frame, tuple[Outlined, ...]]]) -> list[File]:
        files = []
        for camera, (frame, cards) in sorted(last.items()):
            with suppress(cv2.error, OSError):  # what is missing is told when the clip is done
                data = _jpeg(_outlined(frame.picture, cards, f"{from_micros(frame.at)} {order.code}"), 92)
                files.append(self._write(_name(order, camera, "jpg"), data))
        return files

    def _finish(self, ripe: list[_Order]) -> None:
        """One clip a camera for all alerts whose time has come, and their words."""
        clips, why = [], "" if self._rings else "no camera has sent a picture"
        for camera, ring in sorted(self._rings.items()):
            try:
                clips.append(self._clip(ripe[0].keep, camera, ring))
            except (OSError, cv2.error) as fault:
                why = f"camera {camera}: {fault.strerror if isinstance(fault, OSError) else 'no clip can be made'}"
        for order in ripe:
            missing = why or ("" if len(order.files) == len(self._rings) else "a still could not be written")
            self._deliver(Kept(order.keep.alert, (*order.files, *clips), missing))
        with suppress(OSError):
            self._remove_old()

    def _clip(self, order: Keep, camera: str, ring: Ring) -> File:
        """The ring as a video that runs as time did."""
        name = _name(order, camera, "mp4")
        path = self._made(name)
        draft = path.with_name(f".new-{path.name}")
        writer: cv2.VideoWriter | None = None
        try:
            for at, picture in _in_time(ring):
                if writer is None:
                    size = (picture.shape[1], picture.shape[0])
                    writer = cv2.VideoWriter(str(draft), cv2.VideoWriter.fourcc(*"mp4v"), FPS, size)
                    if not writer.isOpened():
                        raise OSError(0, "no video can be written here")
                writer.write(_stamped(picture, from_micros(at)))
        finally:
            if writer is not None:
                writer.release()
        return _settled(draft, path, self._folder)

    def _write(self, name: str, data: bytes) -> File:
        path = self._made(name)
        draft = path.with_name(f".new-{path.name}")
        draft.write_bytes(data)
        return _settled(draft, path, self._folder)

    def _made(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _remove_old(self) -> None:
        files = sorted((path for path in self._folder.glob("*/*") if path.is_file()), key=lambda path: path.stat().st_mtime)
        sizes = {path: path.stat().st_size for path in files}
        left = sum(sizes.values())
        for path in files:
            old = self._keep_days is not None and path.stat().st_mtime < time.time() - self._keep_days * 86400
            if old or (self._keep_mb is not None and left > self._keep_mb * 1e6):
                left -= sizes[path]
                path.unlink()


def _name(order: Keep, camera: str, suffix: str) -> str:
    """`2026-11-30/101502-alert-17-main.jpg`: the date and the time are UTC."""
    at = from_micros(order.at)
    return f"{at[:10]}/{at[11:19].replace(':', '')}-alert-{order.alert}-{camera}.{suffix}"


def _settled(draft: Path, path: Path, folder: Path) -> File:
    """Sync a file, give it its name, and say what it is."""
    try:
        digest, size = hashlib.sha256(), 0
        with draft.open("rb") as file:
            os.fsync(file.fileno())
            while part := file.read(1 << 20):
                digest.update(part)
                size += len(part)
        if not size:
            raise OSError(0, "nothing was written")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    there = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(there)
    finally:
        os.close(there)
    return File(path.relative_to(folder).as_posix(), size, digest.hexdigest())


def _in_time(ring: Ring) -> Iterator[tuple[int, Picture]]:
    """A picture for each step of a clip: what was the newest then."""
    packed = list(ring)
    step, number = round(1e6 / FPS), 0
    size: tuple[int, ...] | None = None
    while number < len(packed):
        data = np.frombuffer(packed[number].jpeg, np.uint8)
        picture = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
        size = size or picture.shape
        until = packed[number + 1].at if number + 1 < len(packed) else packed[number].at + step
        if picture.shape == size:
            for _ in range(max(1, round((until - packed[number].at) / step))):
                yield packed[number].at, picture
        number += 1


def _jpeg(picture: Picture, quality: int) -> bytes:
    return cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()


def _outlined(picture: Picture, cards: Sequence[Outlined], words: str) -> Picture:
    """A copy with the cards outlined, and words at its foot."""
    seen = picture.copy()
    wide = max(1, seen.shape[1] // 960)
    for card in cards:
        colour = SURE if card.sure else UNSURE
        corners = np.round(np.array(card.polygon, dtype=np.float64)).astype(np.int32)
        if len(corners):
            cv2.polylines(seen, [corners], True, colour, wide, cv2.LINE_AA)
            x, y = (int(value) for value in corners.mean(axis=0))
            _words(seen, card.words, (x - 10 * wide, y), colour, 0.5 * wide)
    return _stamped(seen, words)


def _stamped(picture: Picture, words: str) -> Picture:
    """Words at the foot of a picture, which is written on."""
    scale = max(0.4, picture.shape[1] / 1920 * 0.8)
    _words(picture, words, (round(12 * scale), picture.shape[0] - round(12 * scale)), (255, 255, 255), scale)
    return picture


def _words(picture: Picture, words: str, at: tuple[int, int], colour: tuple[int, int, int], scale: float) -> None:
    for ink, thick in (((0, 0, 0), 4), (colour, 1.6)):
        cv2.putText(picture, words, at, cv2.FONT_HERSHEY_SIMPLEX, scale, ink, max(1, round(scale * thick)), cv2.LINE_AA)
