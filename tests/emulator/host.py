"""A host: whatever opens the ports of an emulated table, reads them, and opens them again when they come back."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tablectl.observations import Observation
from tablectl.shoe.decoder import Decoder

__all__ = ["Host"]


class Host:
    """Reads ports in a thread of its own, decodes them, and keeps what it heard, by port and in all."""

    def __init__(self, paths: Mapping[str, Path], decoders: Mapping[str, Decoder]) -> None:
        self.heard: list[Observation] = []
        self.of: dict[str, list[Observation]] = {port: [] for port in paths}
        self.hung_up = dict.fromkeys(paths, 0)
        self._paths = paths
        self._decoders = decoders
        self._open: dict[int, str] = {}
        self._ends = False
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Host:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        time.sleep(0.02)
        self._ends = True
        self._thread.join()
        for descriptor in self._open:
            os.close(descriptor)

    def _read(self) -> None:
        while not self._ends:
            for port in set(self._paths) - set(self._open.values()):
                with suppress(OSError):
                    self._open[os.open(self._paths[port], os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)] = port
            if not self._open:
                time.sleep(0.001)
                continue
            for descriptor in select.select(list(self._open), [], [], 0.01)[0]:
                self._take(descriptor)

    def _take(self, descriptor: int) -> None:
        port = self._open[descriptor]
        try:
            data = os.read(descriptor, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        decoder = self._decoders[port]
        pieces = decoder.feed(data) if data else decoder.reset()
        if not data:
            os.close(descriptor)
            del self._open[descriptor]
            self.hung_up[port] += 1
        found = [piece.observation for piece in pieces if piece.observation is not None]
        self.heard += found
        self.of[port] += found
