"""Real receivers of syslog on loopback: they read frames as RFC 6587 has them, and can hang up and come back."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from types import TracebackType
from typing import Self


def until(done: object, seconds: float = 30.0) -> None:
    """Wait until `done()` is true."""
    assert callable(done)
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


class Receiver:
    """A TCP or TLS receiver. `messages` are what has come, in order, without their frames."""

    def __init__(self, *, context: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.messages: list[bytes] = []
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                taken, _ = self._socket.accept()
            except OSError:
                return
            with contextlib.suppress(OSError):
                if self._context is not None:
                    taken = self._context.wrap_socket(taken, server_side=True)
                self._open.append(taken)
                self._read(taken)

    def _read(self, taken: socket.socket) -> None:
        rest = b""
        while more := taken.recv(65536):
            rest += more
            while rest:
                if rest.startswith(b"<"):  # ended by a line feed
                    message, end, after = rest.partition(b"\n")
                    if not end:
                        break
                else:
                    length, blank, body = rest.partition(b" ")
                    if not blank or len(body) < int(length):
                        break
                    message, after = body[: int(length)], body[int(length) :]
                self.messages.append(message)
                rest = after

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for taken in self._open:
            with contextlib.suppress(OSError):
                taken.shutdown(socket.SHUT_RDWR)
            taken.close()
        self._thread.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
