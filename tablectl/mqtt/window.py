"""Which messages are under way, and up to where everything was acknowledged. Pure.

A broker may acknowledge in any order; the ledger's cursor moves in one. So it moves to the last entry before the first that is
still open, and a restart from there loses nothing.
"""

from __future__ import annotations

from collections import deque

__all__ = ["Window"]


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
