"""Feeding a table and handing on what it says: to stdout, to a ledger, to people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tablectl.cli.main import say
from tablectl.errors import EXIT_ALERTS
from tablectl.game.table import Table
from tablectl.notices import Alert, Notice, encode
from tablectl.observations import Observation

__all__ = ["Feeding"]


class Feeding:
    """One table being fed. `write` takes each notice as a line of JSON, `tell` each notice as it is.

    `criticals` counts the alerts of severity critical; `exit_code` is 3 when there was one.
    """

    def __init__(
        self,
        table: Table,
        *,
        write: Callable[[bytes], Any] | None = None,
        tell: Callable[[Notice], Any] | None = None,
    ) -> None:
        self.table = table
        self.criticals = 0
        self._write = write
        self._tell = tell

    @property
    def exit_code(self) -> int:
        """3 when there was an alert of severity critical, else 0."""
        return EXIT_ALERTS if self.criticals else 0

    def feed(self, observation: Observation, *, where: str) -> list[bytes]:
        """Feed one observation that was read at `where`, and hand on what follows; the notices come back encoded."""
        lines = []
        for notice in self.table.feed(observation):
            line = encode(notice)
            lines.append(line)
            if self._write:
                self._write(line + b"\n")
            if self._tell:
                self._tell(notice)
            if isinstance(notice, Alert) and notice.severity != "info":
                self._alert(notice, where)
        return lines

    def _alert(self, alert: Alert, where: str) -> None:
        self.criticals += alert.severity == "critical"
        field = f"box {alert.box}: " if alert.box else ""
        say(f"{where}: {field}{alert.severity}: {alert.code}: {alert.text}")
