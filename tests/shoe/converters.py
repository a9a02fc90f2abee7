"""Converters for the tests of ports: real TCP, raw or with pyserial's own server of RFC 2217."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

import serial
from serial.rfc2217 import SERVER_NOTIFY_LINESTATE, PortManager

__all__ = ["RawConverter", "TelnetConverter"]


class RawConverter:
    """Takes one connection at a time and passes bytes as they are."""

    scheme = "socket"

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._port = self._server.getsockname()[1]
        self.connection: socket.socket | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self._port}"

    def accept(self, greeting: bytes = b"") -> None:
        """Wait for a connection; send it something before it can ask."""
        self._server.settimeout(5)
        self.connection, _ = self._server.accept()
        self.connection.settimeout(5)
        if greeting:
            self.connection.sendall(greeting)

    def send(self, data: bytes) -> None:
        assert self.connection is not None
        self.connection.sendall(data)

    def hang_up(self) -> None:
        """Close the connection; a new one is accepted."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.hang_up()
        self._server.close()


class TelnetConverter(RawConverter):
    """Speaks RFC 2217 for a serial port of its own, one that gives back what is written to it."""

    scheme = "rfc2217"

    def __init__(self) -> None:
        super().__init__()
        self.serial = serial.serial_for_url("loop://", timeout=0)
        self.written = b""
        self._manager: PortManager | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def accept(self, greeting: bytes = b"") -> None:
        super().accept()
        self._manager = PortManager(self.serial, self)  # type: ignore[arg-type]  # the stubs ask for too much
        self._thread = threading.Thread(target=self._serve, args=(self.connection,))
        self._thread.start()

    def write(self, data: bytes) -> None:
        """What the manager says over the network."""
        with self._lock:
            super().send(data)

    def send(self, data: bytes) -> None:
        assert self._manager is not None
        self.write(b"".join(self._manager.escape(data)))

    def line_state(self, bits: int) -> None:
        """Tell the other side what happened on the line, if it asked for that."""
        assert self._manager is not None
        if bits & self._manager.linstate_mask:
            self._manager.rfc2217_send_subnegotiation(SERVER_NOTIFY_LINESTATE, bytes([bits & self._manager.linstate_mask]))

    def hang_up(self) -> None:
        if self.connection is not None:
            self.connection.shutdown(socket.SHUT_RDWR)
        if self._thread is not None:
            self._thread.join(5)
        super().hang_up()

    def _serve(self, connection: socket.socket) -> None:
        assert self._manager is not None
        while True:
            try:
                data = connection.recv(1024)
            except OSError:
                return
            if not data:
                return
            self.written += b"".join(self._manager.filter(data))
