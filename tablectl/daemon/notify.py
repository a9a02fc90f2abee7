"""What systemd is told of us. Without systemd it does nothing.

The protocol is one datagram of `KEY=value` lines to the socket that NOTIFY_SOCKET names (sd_notify(3)). Telling never raises and
never waits: systemd that is slow to read must not hold up a table.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

__all__ = ["Notify"]


class Notify:
    """The line to systemd. One is enough for a process; any thread may tell.

    `watchdog` is how many seconds without `alive` systemd bears before it kills us, None where it does not watch. Tell it from
    the progress of what must not be stuck, twice as often at least; never from a thread of its own.
    """

    def __init__(self, environ: Mapping[str, str] | None = None):
        variables = os.environ if environ is None else environ
        address = variables.get("NOTIFY_SOCKET", "")
        self.watchdog = _watchdog(variables)
        self._address = "\0" + address[1:] if address.startswith("@") else address  # @: a name that is in no folder

    def ready(self, status: str) -> None:
        """The start, or a reload, is done; `status` is what `systemctl status` shows."""
        self._tell("READY=1", _status(status))

    def status(self, text: str) -> None:
        """What goes on, in one line."""
        self._tell(_status(text))

    def alive(self) -> None:
        """The watchdog's ping."""
        self._tell("WATCHDOG=1")

    def reloading(self) -> None:
        """The configuration is read again; `ready` ends it."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, status: str) -> None:
        """The end has begun."""
        self._tell("STOPPING=1", _status(status))

    def more_time(self, seconds: float, status: str) -> None:
        """Start, reload or stop goes on and needs so many seconds from now; ask again before they have passed."""
        self._tell(f"EXTEND_TIMEOUT_USEC={round(seconds * 1_000_000)}", _status(status))

    def _tell(self, *lines: str) -> None:
        if self._address:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.sendto("\n".join(lines).encode("utf-8", "replace"), socket.MSG_DONTWAIT, self._address)


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())}"  # a line's end would begin another key


def _watchdog(variables: Mapping[str, str]) -> float | None:
    """WATCHDOG_USEC in seconds, where it is meant for this process."""
    try:
        microseconds = int(variables.get("WATCHDOG_USEC", "0"))
        ours = int(variables.get("WATCHDOG_PID", os.getpid())) == os.getpid()
    except ValueError:
        return None
    return microseconds / 1_000_000 if ours and microseconds > 0 else None
