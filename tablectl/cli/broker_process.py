"""A Mosquitto of our own: on a free loopback port, in a folder that is thrown away, gone when we are."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from tablectl.errors import BrokerError
from tablectl.mqtt.address import Address

__all__ = ["BrokerProcess"]

HOST = "127.0.0.1"
TRIES = 5
"""A port that was free a moment ago may be taken by the time the broker wants it."""
START_SECONDS = 10.0
STOP_SECONDS = 5.0


class BrokerProcess:
    """A context manager: `address` is where the broker listens while it is entered.

    Entering raises `BrokerError` when there is no mosquitto, or when it does not start.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._address: Address | None = None

    @property
    def address(self) -> Address:
        """Where it listens."""
        assert self._address is not None, "it has not been entered"
        return self._address

    def __enter__(self) -> Self:
        command = _command()
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tablectl-broker-")))
            self._address = _started(command, folder, stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()


def _command() -> list[str]:
    """The program and what stands before it: `setpriv` lets the kernel end it even when we are killed and can end nothing."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])  # Debian's is in /usr/sbin
    program = shutil.which("mosquitto", path=places)
    if program is None:
        raise BrokerError("this needs the MQTT broker mosquitto; install it: apt install mosquitto")
    setpriv = shutil.which("setpriv", path=places)
    return [*([setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []), program]


def _started(command: list[str], folder: Path, stack: ExitStack) -> Address:
    """Start it, and have `stack` end it. Raises `BrokerError` with its own last words when it does not start."""
    for _ in range(TRIES):
        address = Address(HOST, _free_port())
        with ExitStack() as started:
            process = _process(command, folder, address.port)
            started.callback(_end, process)
            if _runs(process, folder):
                stack.push(started.pop_all())
                return address
        words = _log(folder)
        if not any("in use" in line for line in words):
            break
    raise BrokerError(f"mosquitto does not start: {words[-1] if words else 'it said nothing'}", where=str(address))


def _process(command: list[str], folder: Path, port: int) -> subprocess.Popen[bytes]:
    lines = [
        f"listener {port} {HOST}",
        "allow_anonymous true",
        "persistence false",
        "set_tcp_nodelay true",
        "max_queued_messages 0",  # none of a slow reader's are dropped
        *(["user root"] if os.geteuid() == 0 else []),  # else it would become a user who may not exist
    ]
    configuration = folder / "mosquitto.conf"
    configuration.write_text("".join(f"{line}\n" for line in lines))
    with (folder / "log").open("wb") as log:
        # A session of its own: Ctrl-C is for us, who then end it when the last has been said.
        return subprocess.Popen(  # noqa: S603  a program that was looked up, and no words of anyone's
            [*command, "-c", str(configuration)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def _runs(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Wait until it says that it runs: whether its port answers is no proof, since somebody else's might."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if any(line.endswith(" running") for line in _log(folder)):
            return True
        time.sleep(0.01)
    return False


def _log(folder: Path) -> list[str]:
    return (folder / "log").read_text(errors="replace").splitlines()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
