"""Cues for a video: what is shown under it, from when to when. WebVTT and SRT are two ways of writing them.

A cue begins when its entry happened, to the millisecond. A prompt stays until the next one, the rest for as long as it takes to
read it. Cues come in the order of the ledger, which is that of their beginnings, as WebVTT asks, unless a clock was set back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.export.speaking import CUED, What, spoken

__all__ = ["SHOWN", "Cue", "Cues", "clock"]

SHOWN: Final[dict[What, int]] = {"prompt": 10_000, "dealt": 2_000, "outcome": 4_000, "alert": 8_000, "ruling": 6_000}
"""How long each is shown, in milliseconds; a prompt no longer than that."""
MOST_HELD: Final = 10_000
"""Cues that are held at once until a prompt's end is known: it bounds what a ledger without times can fill the memory with."""


class Cue(NamedTuple):
    """A cue. `start` and `end` are in milliseconds since the video's first picture, `number` is the entry's."""

    number: int
    start: int
    end: int
    what: What
    text: str


class _Held:
    """A cue whose end may still come nearer."""

    def __init__(self, cue: Cue, *, ended: bool):
        self.cue = cue
        self.ended = ended


class Cues:
    """The cues of a selection; iterated over once. `start` is the video's, in microseconds since 1970, once the first has come.

    What has no time, or was over before the video began, has no cue; a cue that had begun by then begins with the video.
    """

    def __init__(self, selected: Iterable[Selected], options: Options) -> None:
        self._selected = selected
        self._language = options.language
        self.start = options.video_start
        self._held: deque[_Held] = deque()
        self._open: _Held | None = None

    def __iter__(self) -> Iterator[Cue]:
        for one in self._selected:
            if one.at is None:
                continue
            if self.start is None:
                self.start = one.at
            told = spoken(one, self._language)
            if told is None or told.what not in CUED:
                continue
            start = (one.at - self.start + 500) // 1000
            if told.what == "prompt":
                self._close(start)
            yield from self._ready(start)
            held = _Held(Cue(one.entry.seq, start, start + SHOWN[told.what], told.what, told.text), ended=told.what != "prompt")
            if told.what == "prompt":
                self._open = held
            self._held.append(held)
        self._close(None)
        yield from self._ready(None)

    def _close(self, at: int | None) -> None:
        """End the prompt that is shown: at the next one's beginning, or where that is too far off in its own time."""
        if self._open is not None:
            cue = self._open.cue
            if at is not None and at >= cue.start:
                self._open.cue = cue._replace(end=min(at, cue.end))
            self._open.ended = True
            self._open = None

    def _ready(self, now: int | None) -> Iterator[Cue]:
        """Those that nothing changes any more. One that lasted no time was never to be seen."""
        if self._open is not None and (now is None or now >= self._open.cue.end or len(self._held) >= MOST_HELD):
            self._close(None)
        while self._held and self._held[0].ended:
            cue = self._held.popleft().cue
            if cue.end > max(0, cue.start):
                yield cue._replace(start=max(0, cue.start))


def clock(milliseconds: int, point: str) -> str:
    """`HH:MM:SS.mmm`, with more digits of hours where there are more."""
    seconds, thousandths = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02}:{minute:02}:{second:02}{point}{thousandths:03}"
