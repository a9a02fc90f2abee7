"""A live table's figures for Prometheus, served over HTTP from a thread of their own: `/metrics`, and nothing else."""

from __future__ import annotations

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from tablectl.errors import ConfigError
from tablectl.ledger.pin import TableName
from tablectl.ledger.prometheus import CONTENT_TYPE, Meter
from tablectl.notices import Notice
from tablectl.observations import Observation

__all__ = ["Figures", "MetricsServer"]

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
    """Serves figures at `listen` (`ADDRESS:PORT`) while it is entered. Raises `ConfigError` when it cannot listen there."""

    def __init__(self, listen: str, figures: Figures) -> None:
        host, _, port = listen.rpartition(":")

        class Handler(_Handler):
            render = staticmethod(figures.render)

        try:
            self._server = ThreadingHTTPServer((host.strip("[]"), int(port)), Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(f"cannot listen: {error}", where=listen, field="metrics.listen") from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="tablectl-metrics", daemon=True)

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


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
