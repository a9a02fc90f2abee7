"""Which messages are under way, up to where everything was acknowledged, and where that was a little ago. Pure.

A broker may acknowledge in any order; the ledger's cursor moves in one. So it moves to the last entry before the first that is
still open, and a restart from there loses nothing.
"""

from __future__ import annotations

from collections import deque

__all__ = ["Lately", "Window"]

_SECONDS = 5.0
_EVERY = 0.1


class _Sent:
    __slots__ = ("acknowledged", "seq")

    def __init__(self, seq: int | None):
        self.seq = seq
        self.acknowledged = False


class Window:
    """At most `size` messages under way. `done` begins with the entry up to which all was acknowledged before."""

    def __init__(self, size: int, done: int):
        self.size = size
        self.done = done
        self._in_order: deque[_Sent] = deque()
        self._by_mid: dict[int, _Sent] = {}

    @property
    def has_room(self) -> bool:
        """Whether another message may be sent."""
        return len(self._in_order) < self.size

    @property
    def is_empty(self) -> bool:
        """Whether all that was sent is acknowledged."""
        return not self._in_order

    def sent(self, mid: int, seq: int | None) -> None:
        """A message went out under the packet number `mid`; `seq` is its entry, None for one that is no entry."""
        sent = _Sent(seq)
        self._in_order.append(sent)
        self._by_mid[mid] = sent

    def acknowledged(self, mid: int) -> None:
        """The broker has a message. Unknown numbers, and repeats, are ignored."""
        sent = self._by_mid.pop(mid, None)
        if sent is None:
            return
        sent.acknowledged = True
        while self._in_order and self._in_order[0].acknowledged:
            first = self._in_order.popleft()
            if first.seq is not None:
                self.done = max(self.done, first.seq)  # what is told a second time does not move it back


class Lately:
    """Where the last acknowledged entry stood in the last 5 s, by a clock that only goes forward."""

    def __init__(self) -> None:
        self._stood: deque[tuple[float, int]] = deque()

    @property
    def first(self) -> int | None:
        """Where it stood then; None when nothing is known of it."""
        return self._stood[0][1] if self._stood else None

    def note(self, now: float, done: int) -> None:
        """It stands at entry `done` now."""
        if not self._stood or now - self._stood[-1][0] >= _EVERY:
            self._stood.append((now, done))
        while len(self._stood) > 1 and self._stood[1][0] <= now - _SECONDS:
            self._stood.popleft()

    def clear(self) -> None:
        """What was before is of no account any more."""
        self._stood.clear()
