"""What the journal is told of a running table's surroundings: a line for each trouble, and one for its end."""

from __future__ import annotations

from collections.abc import Callable

from tablectl.observations import Link

__all__ = ["Journal"]


class Journal:
    """Remembers how things stood, and hands `log` a line where that changes."""

    def __init__(self, log: Callable[[str], object]) -> None:
        self._log = log
        self._devices: dict[str, str | None] = {}
        self._broker: bool | None = None
        self._record: str | None = None

    def device(self, link: Link) -> None:
        """What was seen of a device: it is there, or away; broken frames are no news here."""
        now = None if link.state == "up" else link.why
        if link.device not in self._devices or self._devices[link.device] != now:
            self._devices[link.device] = now
            why = link.why.removeprefix("opened: ")
            self._log(f"{link.device} is {'there' if now is None else 'away'}: {why}")

    def broker(self, online: bool, trouble: str | None) -> None:
        """How it stands with the broker; before it was reached for the first time that is no news without a `trouble`."""
        if online != self._broker and (online or self._broker or trouble):
            self._broker = online
            self._log(
                "the broker is there, and is told" if online else f"the broker is away: {trouble or 'nothing is told to it'}"
            )

    def record(self, trouble: str | None) -> None:
        """Why the record cannot be written; None: it is."""
        if trouble != self._record:
            self._record = trouble
            self._log(f"the record cannot be written: {trouble}" if trouble else "the record is written again")
