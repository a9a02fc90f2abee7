"""What the ledger says of commands: those that were taken, and those that were refused. Pure: no network, no thread, no clock.

A record is a JSON object, named by `command`. What was taken is recorded before it is done. Of what was refused at most `IN_FULL`
a minute are recorded one by one; the rest of that minute is one record that counts them. So whoever sends ten thousand a second
is on record, and fills no disk.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from tablectl.instants import from_micros
from tablectl.mqtt.identity import Vouched

__all__ = ["IN_FULL", "MINUTE", "Record", "Refusals", "Refused", "RefusedCount", "Taken", "decode", "encode"]

IN_FULL: Final = 10
"""How many refused commands a minute are recorded one by one."""
MINUTE: Final = 60_000_000
"""A minute, in microseconds."""
_MOST_REASONS: Final = 50

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Taken(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="command", tag="taken"):
    """A command that is about to be done. `at` is None in a replay of a recording without times.

    `digest` is the SHA-256 of its bytes, and with its `id` tells a repeat; until it `expires` both are remembered. `observed`:
    the next observation in the ledger is what it became; otherwise it was an order to a device. Of one that was signed,
    `signed` and `signature` are as they came (`tablectl.mqtt.identity`), so that anybody with the person's public key can see
    who ordered it.
    """

    at: str | None
    name: str
    id: str
    person: str
    vouched: Vouched
    digest: Digest
    expires: str
    observed: bool = True
    topic: str = ""
    signed: str | None = None
    signature: str | None = None


class Refused(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="command", tag="refused"):
    """A command that was not done. What could not be read of it is None; `size` is its payload's, None where it was not kept."""

    at: str | None
    name: str
    reason: str
    detail: str = ""
    id: str | None = None
    person: str | None = None
    vouched: Vouched | None = None
    digest: Digest | None = None
    size: int | None = None


class RefusedCount(msgspec.Struct, frozen=True, kw_only=True, tag_field="command", tag="refused_count"):
    """How many more were refused from `since` to `at`, in all and by reason."""

    at: str
    since: str
    refused: int
    reasons: dict[str, int]


Record = Taken | Refused | RefusedCount

_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Record)
encode = msgspec.json.Encoder().encode
"""A record as an entry's body."""


def decode(body: bytes) -> Record:
    """Read a record back. Raises `msgspec.DecodeError` for what is none."""
    record: Record = _decoder.decode(body)
    return record


class Refusals:
    """Lets at most `IN_FULL` refusals a minute through, and counts the others. Times are microseconds since 1970.

    A clock that is set back costs nothing but that the count covers a longer time.
    """

    def __init__(self) -> None:
        self._lately: deque[int] = deque(maxlen=IN_FULL)
        self._since: int | None = None
        self._counted: Counter[str] = Counter()

    def note(self, reason: str, now: int, made: Callable[[], Refused]) -> list[bytes]:
        """What is to be recorded now: the count of a minute that is over, and what was just refused; or nothing yet.

        `made` is called only where it is recorded one by one.
        """
        due = self.due(now)
        if not self._counted and (len(self._lately) < IN_FULL or abs(now - self._lately[0]) >= MINUTE):
            self._lately.append(now)
            return [*due, encode(made())]
        if self._since is None:
            self._since = now
        self._counted[reason if reason in self._counted or len(self._counted) < _MOST_REASONS else "other"] += 1
        return due

    def due(self, now: int, *, at_once: bool = False) -> list[bytes]:
        """The count of what was refused and not recorded, if its minute is over or it is wanted `at_once`; else nothing."""
        if self._since is None or not (at_once or abs(now - self._since) >= MINUTE):
            return []
        counted = RefusedCount(
            at=from_micros(now),
            since=from_micros(self._since),
            refused=self._counted.total(),
            reasons=dict(sorted(self._counted.items())),
        )
        self._since = None
        self._counted.clear()
        return [encode(counted)]
