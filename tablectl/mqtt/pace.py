"""How fast a table lets itself be commanded. Pure: no network, no thread, no clock; times are microseconds since 1970.

Two limits. Of each person's commands so many are handed to the game, and the rest is `busy`: the game commits each one, the
ledger keeps it, and its response is remembered. A repeat counts on an account of its own, since whoever overhears a signed
command can send it again, and must not use up what the person has. And whoever writes so much to his own topic that the table
would do nothing else than refuse it is not listened to for a while, so that it stays with the broker, and others' commands do not
wait behind it. Only the broker's word tells whose topic it is; where anybody may write to one, this cannot help.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

__all__ = ["AT_ONCE", "A_MINUTE", "FLOOD", "QUARANTINE", "Pace"]

AT_ONCE: Final = 100
"""How many commands of one person may come one after the other."""
A_MINUTE: Final = 120
"""How many commands of one person are taken a minute, in the long run."""
FLOOD: Final = 100
"""How many messages a second on one person's topics are a flood."""
QUARANTINE: Final = 60_000_000
"""How long who floods is not listened to, in microseconds."""
_SECOND: Final = 1_000_000
_MINUTE: Final = 60_000_000
_KNOWN: Final = 4096
_PLACES: Final = 1000


class Pace:
    """Counts what comes. A clock that is set back gives nobody more, and costs at most what was saved up."""

    def __init__(self) -> None:
        self._accounts: dict[tuple[str, bool], tuple[int, float]] = {}
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._counts: dict[str, tuple[int, int]] = {}
        self._deaf: dict[str, int] = {}

    def admits(self, person: str, digest: bytes, now: int) -> bool:
        """Whether this command of a person, who was identified, may be handed to the game. `digest` tells a repeat."""
        repeat = self.knows(digest)
        since, left = self._accounts.get((person, repeat), (now, float(AT_ONCE)))
        left = min(AT_ONCE, left + max(0, now - since) * A_MINUTE / _MINUTE)
        admitted = left >= 1
        self._accounts[person, repeat] = (now, left - admitted)
        if admitted:
            self._known[digest] = None
            self._known.move_to_end(digest)
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)
        return admitted

    def knows(self, digest: bytes) -> bool:
        """Whether this command was handed to the game lately: then it is a repeat."""
        return digest in self._known

    def hears(self, person: str, now: int) -> bool:
        """Whether what came on this person's topic is looked at; call it for each message. False from a flood's beginning on."""
        if person in self._deaf:
            return False
        since, count = self._counts.get(person, (now, 0))
        if abs(now - since) >= _SECOND:
            since, count = now, 0
        if len(self._counts) > _PLACES:
            self._counts.clear()
        self._counts[person] = (since, count + 1)
        if count < FLOOD:
            return True
        self._deaf[person] = now + QUARANTINE
        return False

    def deaf(self, now: int) -> frozenset[str]:
        """To whom the table does not listen at the moment."""
        over = [person for person, until in self._deaf.items() if not now < until <= now + QUARANTINE]
        for person in over:
            del self._deaf[person]
        return frozenset(self._deaf)
