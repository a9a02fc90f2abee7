"""What happened since the round opened: enough to fold it again when a card turns out to have been another.

The history ends when the next round opens; an older round is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tablectl.notices import Alert, Dealt, Notice, Outcome, RoundClosed
from tablectl.observations import CardDrawn, Observation

__all__ = ["LONGEST", "Entry", "History"]

LONGEST = 4096
"""Observations that are remembered for one round, far more than a round can have."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One observation with its number, and what was said of it."""

    cause: int
    observation: Observation
    notices: tuple[Notice, ...]


class History(NamedTuple):
    """All since the round opened.

    `base` is the table as it stood before (None: too much happened to fold it again); `placed` are the numbers of draws whose
    place was said later than they came, by a correction.
    """

    base: tuple[Any, ...] | None
    entries: tuple[Entry, ...] = ()
    placed: frozenset[int] = frozenset()

    def with_draw(self, index: int, drawn: CardDrawn) -> History:
        """The history with another card, or one that lies elsewhere, at `index`."""
        changed = replace(self.entries[index], observation=drawn)
        return self._replace(entries=(*self.entries[:index], changed, *self.entries[index + 1 :]))

    def draws(self, before: int | None = None) -> list[int]:
        """The indices of the entries that are cards, in the order in which they were drawn: all, or those before a number."""
        return [
            index
            for index, entry in enumerate(self.entries)
            if isinstance(entry.observation, CardDrawn) and (before is None or entry.cause < before)
        ]

    def draw(self, index: int) -> CardDrawn:
        """The card at `index`."""
        drawn = self.entries[index].observation
        assert isinstance(drawn, CardDrawn)
        return drawn

    def alerts(self) -> list[Alert]:
        """The alerts that were said, in order."""
        return [notice for notice in self._said() if isinstance(notice, Alert)]

    def outcomes(self) -> dict[tuple[int, int, int], Outcome]:
        """What was said last of each hand's end, by round, box and hand: a correction may have opened a further round."""
        return {(notice.round, notice.box, notice.hand): notice for notice in self._said() if isinstance(notice, Outcome)}

    def closed(self) -> dict[int, RoundClosed]:
        """What was said last of each round's close."""
        return {notice.number: notice for notice in self._said() if isinstance(notice, RoundClosed)}

    def placed_causes(self) -> frozenset[int]:
        """The numbers of the draws of which it was said where they lie."""
        return self.placed | {notice.cause for notice in self._said() if isinstance(notice, Dealt)}

    def _said(self) -> Iterator[Notice]:
        for entry in self.entries:
            yield from entry.notices
