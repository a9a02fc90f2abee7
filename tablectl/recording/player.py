"""Logs played as one: merged by time, and paced as they were recorded.

The player adds timing and nothing else: clock and sleep are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge as merged
from operator import itemgetter

from tablectl.errors import UsageError
from tablectl.recording.chunks import Chunk
from tablectl.recording.logs import Log

__all__ = ["merge", "paced"]


def merge(*logs: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks of several logs by time, lazily.

    Equal times keep the order of the arguments, and each log keeps its own order, even where its clock was set back. Raises
    `UsageError` when there are several logs and one has a chunk without a time: where it belongs is not known.
    """
    if len(logs) == 1:
        yield from logs[0]
        return
    for _, chunk in merged(*(_timed(log) for log in logs), key=itemgetter(0)):
        yield chunk


def paced(
    chunks: Iterable[Chunk], speed: float | None, sleep: Callable[[float], None], clock: Callable[[], float]
) -> Iterator[Chunk]:
    """Hand each chunk on when it is due: `speed` 2 is twice as fast as it was recorded, None does not wait at all.

    `clock` gives seconds, of any beginning; `sleep` waits for seconds. Time lost on the way is made up for. A chunk without a
    time, or earlier than one before it (a clock that was set back), is due at once. Raises `UsageError` for a speed of 0 or less.
    """
    if speed is None:
        yield from chunks
        return
    if not speed > 0:
        raise UsageError(f"a speed of {speed} never arrives; it must be more than 0", field="--speed")
    began = clock()
    first = latest = None
    for chunk in chunks:
        if chunk.at is not None:
            first = chunk.at if first is None else first
            latest = chunk.at if latest is None else max(latest, chunk.at)
            wait = began + (latest - first) / 1_000_000 / speed - clock()
            if wait > 0:
                sleep(wait)
        yield chunk


def _timed(log: Iterable[Chunk]) -> Iterator[tuple[int, Chunk]]:
    latest = 0
    for chunk in log:
        if chunk.at is None:
            raise UsageError(
                f"the bytes of {chunk.port!r} have no times, so they cannot be merged with another port's: give --start",
                where=str(log.path) if isinstance(log, Log) else None,
            )
        latest = max(latest, chunk.at)
        yield latest, chunk
