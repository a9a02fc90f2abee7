"""A live table's figures for Prometheus, served over HTTP from a thread of their own: `/metrics`, and nothing else.

A table does not stay down because of its figures: an address at which nothing can be listened to is told, and tried again.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

from tablectl.ledger.pin import TableName
from tablectl.ledger.prometheus import CONTENT_TYPE, Meter
from tablectl.notices import Notice
from tablectl.observations import Observation

__all__ = ["Figures", "MetricsServer"]

RETRY: Final = 30.0
"""Seconds after which an address at which nothing could be listened to is tried again."""
_PATIENCE = 10.0
"""Seconds for which a client may be silent."""


class Figures:
    """A table's running figures, counted by the game's thread and read by others."""

    def __init__(self, table: TableName) -> None:
        self._meter = Meter(table)
        self._lock = threading.Lock()

    def take(self, observation: Observation, notices: tuple[Notice, ...]) -> None:
        """Count an observation and what followed."""
        with self._lock:
            self._meter.take(observation, notices)

    def render(self) -> str:
        """All figures as they stand now."""
        with self._lock:
            return self._meter.render()


class MetricsServer:
    """Serves figures at `listen` (`ADDRESS:PORT`) while it is entered. `log` hears when it cannot, and when again it can."""

    def __init__(self, listen: str, figures: Figures, *, log: Callable[[str], object], retry: float = RETRY) -> None:
        host, _, port = listen.rpartition(":")
        self._listen = listen
        self._address = (host.strip("[]"), int(port))
        self._log = log
        self._retry = retry
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tablectl-metrics", daemon=True)

        class Handler(_Handler):
            render = staticmethod(figures.render)

        self._handler = Handler

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopping.set()
        self._thread.join(1.0)

    def _run(self) -> None:
        told = None
        while not self._stopping.is_set():
            try:
                server = _Server(self._address, self._handler)
            except (OSError, OverflowError) as error:
                why = f"metrics.listen: {self._listen}: figures cannot be served: {getattr(error, 'strerror', None) or error}"
                if why != told:
                    told = why
                    self._log(f"{why}; it is tried again, and the table runs on")
                self._stopping.wait(self._retry)
                continue
            if told is not None:
                self._log(f"figures are served at {self._listen}")
            with server:
                while not self._stopping.is_set():
                    server.handle_request()
            return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    timeout = 0.5
    """Seconds after which it looks whether it shall stop."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news, and no traceback for the journal."""


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE
    render = staticmethod(str)

    def do_GET(self) -> None:
        """The figures."""
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        body = self.render().encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """A scrape every few seconds is no news."""
