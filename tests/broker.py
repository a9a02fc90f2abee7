"""A real Mosquitto for a test: on a free loopback port, stopped, killed, frozen and started again at will."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Broker", "free_port", "mosquitto"]


def mosquitto() -> str:
    """The program; Debian keeps it in a folder that is not on everyone's path."""
    program = shutil.which("mosquitto", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))
    assert program, "install mosquitto: apt-get install mosquitto"
    return program


def free_port() -> int:
    """A loopback port that nobody listens on at the moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Broker:
    """A Mosquitto in `folder`, running on entering the context and gone after it.

    `persistent`: what it retains survives `stop` and `start`. `settings` are further lines of its configuration, `listener` lines
    for its listener. It queues without limit for slow subscribers, as a test must see everything.
    """

    def __init__(self, folder: Path, *, persistent: bool = False, settings: str = "", listener: str = ""):
        self.folder = folder
        self.port = free_port()
        self._persistent = persistent
        self._settings = settings
        self._listener = listener
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def log(self) -> str:
        return (self.folder / "mosquitto.log").read_text()

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        assert self._process is None
        for _ in range(5):
            configuration = self._configure()
            with (self.folder / "mosquitto.log").open("ab") as log:
                self._process = subprocess.Popen([mosquitto(), "-c", str(configuration)], stdout=log, stderr=log)
            if self._accepts():
                return
            self.kill()
            if "in use" not in self.log():
                break
            self.port = free_port()
        raise AssertionError(self.log())

    def _configure(self) -> Path:
        lines = [
            f"listener {self.port} 127.0.0.1",
            self._listener,
            "set_tcp_nodelay true",
            "max_queued_messages 0",
            f"user {pwd.getpwuid(os.getuid()).pw_name}",
            f"persistence {'true' if self._persistent else 'false'}",
            f"persistence_location {self.folder}/" if self._persistent else "",
            "" if "allow_anonymous" in self._settings else "allow_anonymous true",
            self._settings,
        ]
        path = self.folder / "mosquitto.conf"
        path.write_text("\n".join(lines) + "\n")
        return path

    def _accepts(self) -> bool:
        assert self._process is not None
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return self._process.poll() is None
            time.sleep(0.01)
        return False

    def stop(self) -> None:
        """End it as `systemctl stop` does."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut does."""
        self._end(signal.SIGKILL)

    def _end(self, by: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(by)
                self._process.send_signal(signal.SIGCONT)
            self._process.wait(10)
            self._process = None

    def freeze(self) -> None:
        """Keep its sockets open and do nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def reload(self) -> None:
        """Have it read its access list again, as `systemctl reload` does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end(signal.SIGTERM)
