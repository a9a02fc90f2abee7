"""The display of `tablectl demo`: `tablectl display` as a process of its own, on a free loopback port."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tablectl.cli.live_table import SUPERVISOR
from tablectl.errors import TablectlError
from tablectl.mqtt.address import Address

__all__ = ["DemoDisplay"]

HOST: Final = "127.0.0.1"
START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0

_PEOPLE = """\
[[people]]
name = "{name}"
token_sha256 = "{digest}"
"""


class DemoDisplay:
    """A display at work while this is entered; its files stand in `folder`, below which it also finds the ledgers.

    Entering starts it, and `address` waits until it serves.
    """

    def __init__(self, folder: Path, broker: Address) -> None:
        self._token = secrets.token_hex(8)
        self._folder = folder
        self._broker = broker
        self._log = folder / "display.log"
        self._address: str | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        people = self._folder / "people.toml"
        people.touch(0o600)
        people.write_text(_PEOPLE.format(name=SUPERVISOR, digest=hashlib.sha256(self._token.encode()).hexdigest()))
        setpriv = shutil.which("setpriv")
        # When we are killed it is killed: it has nothing to put away, and with its broker gone as well it would be slow to end.
        command = [*([setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []), sys.executable, "-m", "tablectl", "display"]
        command += ["--mqtt", str(self._broker), "--people", str(people), "--ledgers", str(self._folder)]
        with self._log.open("wb") as log:
            # A session of its own: Ctrl-C is for us, who then end it when the last has been said. Port 0: one that nobody has.
            self._process = subprocess.Popen(  # noqa: S603  our own program
                [*command, "--listen", f"{HOST}:0"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "TABLECTL_DEBUG": "0"},
            )
        return self

    @property
    def address(self) -> str:
        """Where browsers find it. Raises `TablectlError` with its own last words when it does not start."""
        if self._address is None:
            self._address = self._started()
        return self._address

    @property
    def sign_in(self) -> str:
        """Who may look, and who may do more."""
        return f"to look needs nothing; to acknowledge alerts, sign in with {self._token}"

    def check(self) -> None:
        """See that it still runs. Raises `TablectlError` when it does not."""
        assert self._process is not None, "it was never started"
        code = self._process.poll()
        if code is not None:
            raise TablectlError(f"the display ended with exit code {code}: {self._last_words}")

    def _started(self) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            found = re.search(rf"http://({re.escape(HOST)}:\d+)$", self._log.read_text(errors="replace"), re.MULTILINE)
            if found is not None and _serves(found[1]):
                return f"http://{found[1]}"
            time.sleep(0.02)
        raise TablectlError(f"the display does not start within {START_SECONDS:g} s: {self._last_words}")

    @property
    def _last_words(self) -> str:
        words = self._log.read_text(errors="replace").splitlines()
        return words[-1].removeprefix("tablectl: ") if words else "it said nothing"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _serves(netloc: str) -> bool:
    connection = http.client.HTTPConnection(netloc, timeout=1.0)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
