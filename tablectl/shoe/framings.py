"""Framing kinds: how a frame is told from the bytes around it.

Each kind is a small settings type that stands in a profile as `[[frames]]` with `kind = "..."`. Three kinds are *marked*: a frame
begins with known bytes, so that a false start is left behind at the next one. Two are *ended*: a frame is what stands before
a known byte. A scanner looks for all marked frames of a profile at once, or for its one ended frame.

A scanner keeps the promise that everything rests on: what it finds depends on the bytes alone, never on how they were split
into reads. It never looks back further than the longest frame, so what it needs kept is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from tablectl.shoe.ended import Ended, Lines, Records
from tablectl.shoe.frames import Candidate, Frame, unhex
from tablectl.shoe.marked import Delimited, Fixed, LengthPrefixed, Marked

__all__ = ["FRAMINGS", "AnyFrame", "EndedScanner", "Judge", "MarkedScanner", "Scanner"]

FRAMINGS: dict[str, type[Frame]] = {
    "delimited": Delimited,
    "fixed": Fixed,
    "length_prefixed": LengthPrefixed,
    "lines": Lines,
    "records": Records,
}
"""Every framing kind that a profile may name."""

AnyFrame = Delimited | Fixed | LengthPrefixed | Lines | Records

Judge = Callable[[Candidate], int]
"""Takes a candidate and says where to look on: its end when it is a frame, its `retry` when it is none."""


class Scanner(Protocol):
    """Finds frames in a buffer."""

    longest: int
    filling: bytes

    def scan(self, buffer: bytes, position: int, final: bool, judge: Judge) -> int:
        """Show every candidate at or after `position` to `judge`, in order; return from where on bytes must be kept.

        What stands before that and was in no candidate is noise. `final` says that no more bytes come.
        """


class MarkedScanner:
    """Looks for several marked frames at once. Of two that begin at the same byte, the one that stands first in the profile."""

    filling = b""

    def __init__(self, frames: list[Marked]):
        self.longest = max(frame.size for frame in frames)
        # A device's vocabulary is small, and every message comes again and again: most frames have been opened before.
        self._frames = {f"f{index}": (frame, lru_cache(maxsize=4096)(frame.open)) for index, frame in enumerate(frames)}
        heads = [frame.head(group) for group, (frame, _) in self._frames.items()]
        self._head = re.compile(b"|".join(heads), re.DOTALL)
        self._partial = re.compile(b"(?:" + b"|".join(frame.partial() for frame in frames) + rb")\Z", re.DOTALL)

    def scan(self, buffer: bytes, position: int, final: bool, judge: Judge) -> int:
        """See `Scanner.scan`."""
        unfinished = len(buffer) if final else self._unfinished(buffer, position)
        while True:
            if unfinished < position:
                unfinished = self._unfinished(buffer, position)
            match = self._head.search(buffer, position)
            # A frame inside one that may yet become whole has to wait, or the answer would depend on the reads.
            if match is None or unfinished < match.start():
                return unfinished
            start, end = match.span()
            frame, opened = self._frames[str(match.lastgroup)]
            last = frame.reach(buffer, start, end)
            if last is None:
                found = Candidate(start, end, start + 1, frame.name, b"", "length cannot be", False)
            elif last > len(buffer):
                if not final:
                    return start
                found = Candidate(start, len(buffer), start + 1, frame.name, b"", "cut short", False)
            else:
                body, why = opened(buffer[start:last])
                found = Candidate(start, last, start + 1, frame.name, body, why, frame.doubtful())
            position = judge(found)

    def _unfinished(self, buffer: bytes, position: int) -> int:
        match = self._partial.search(buffer, max(position, len(buffer) - self.longest + 1))
        return match.start() if match else len(buffer)


class EndedScanner:
    """Looks for one ended frame: between two end bytes, the longest tail of what stands there that is a frame."""

    def __init__(self, frame: Ended):
        self.longest = frame.longest
        self.filling = frame.filling()
        self._frame = frame
        self._end = unhex(frame.end)
        end = re.escape(self._end)
        # Runs of end bytes too close for a frame between them are passed over at once; possessive, so in linear time.
        self._too_short = re.compile(b"(?:[^" + end + b"]{0,%d}" % max(0, frame.least() - 2) + end + b")++", re.DOTALL)

    def scan(self, buffer: bytes, position: int, final: bool, judge: Judge) -> int:
        """See `Scanner.scan`."""
        while True:
            skipped = self._too_short.match(buffer, position)
            if skipped:
                position = skipped.end()
            end = buffer.find(self._end, position) + 1
            if not end:
                return len(buffer) if final else max(position, len(buffer) - self.longest)
            found = self._frame.find(buffer, max(position, end - self.longest), end)
            if found is None:
                position = end
                continue
            # The blank after the last frame and the one before this: two bytes of filler belong to it.
            start = max(position, found.start - 2)
            start += len(buffer[start : found.start].rstrip(self.filling))
            position = judge(found._replace(start=start))
