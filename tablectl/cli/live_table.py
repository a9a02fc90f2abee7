"""A live table to show: the real daemon as a process of its own, on a virtual shoe and pad, with a broker on loopback.

Everything stands in a folder that is thrown away. When we are killed, the daemon ends as well.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tablectl.emulator.device import VirtualDevice
from tablectl.errors import DeviceError
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address

__all__ = ["SUPERVISOR", "LiveTable"]

SUPERVISOR = "CHIEF7"
"""Who may rule at the table."""
START_SECONDS = 60.0
"""Just installed, on a busy machine, everything is read for the first time."""
STOP_SECONDS = 20.0

_CONFIG = """\
[table]
site = "{name.site}"
pit = "{name.pit}"
name = "{name.table}"
house = "{house}"

[storage]
folder = "store"
min_free_mb = 0

[broker]
url = "{broker}"

[commands]
accept = ["open"]

[[people]]
name = "{supervisor}"
may = ["ruling", "ack"]
"""
_DEVICE = """
[[devices]]
name = "{port}"
port = "{port}"
profile = "{profile}"
"""


class LiveTable:
    """A daemon at work while this is entered. `devices`, by port, are links in `folder`; `profiles` names their makes.

    `more` is added to the configuration. Entering raises `DeviceError` when it does not open its ports.
    """

    def __init__(
        self,
        folder: Path,
        name: TableName,
        house: str,
        profiles: Mapping[str, str],
        devices: Mapping[str, VirtualDevice],
        broker: Address,
        *,
        more: str = "",
    ) -> None:
        self.folder = folder
        self._devices = devices
        self._log = folder / "log"
        text = _CONFIG.format(name=name, house=house, broker=broker, supervisor=SUPERVISOR)
        sections = "".join(_DEVICE.format(port=port, profile=profile) for port, profile in profiles.items())
        (folder / "table.toml").write_text(text + sections + more)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def ledger(self) -> Path:
        """The ledger of the day."""
        return max((self.folder / "store" / "ledger").glob("*.db"))

    def __enter__(self) -> Self:
        setpriv = shutil.which("setpriv")
        command = [*([setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []), sys.executable, "-m", "tablectl", "run"]
        with self._log.open("wb") as log:
            # A session of its own: Ctrl-C is for us, who then end it when the last has been said.
            self._process = subprocess.Popen(  # noqa: S603  our own program, on a file that we wrote
                [*command, "--quiet", "--config", str(self.folder / "table.toml")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "NOTIFY_SOCKET": ""},
            )
        try:
            if not all(device.opened(START_SECONDS) for device in self._devices.values()):
                raise DeviceError(f"the table does not open its ports: {self.last_words}")
        except BaseException:
            self._end()
            raise
        return self

    @property
    def last_words(self) -> str:
        """The last line that the daemon said."""
        return next(iter(self._log.read_text(errors="replace").splitlines()[::-1]), "it said nothing")

    @property
    def is_alive(self) -> bool:
        """Whether the daemon runs."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> int:
        """Ask the daemon to stop, as systemd does; gives its exit code."""
        assert self._process is not None, "it was never started"
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _end(self) -> None:
        if self.is_alive:
            self.stop()
