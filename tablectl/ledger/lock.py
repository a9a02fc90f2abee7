"""One writer a ledger: an advisory lock on a file beside it, `NAME-lock`.

It is not on the ledger itself, because closing any descriptor of an SQLite file drops the locks that SQLite holds on it in this
process. The lock goes with the process that held it, whatever way that ended; the file that stays behind then means nothing.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from tablectl.errors import LedgerError

__all__ = ["WriterLock"]


class WriterLock:
    """Held from construction to `release`. Raises `LedgerError` when another process (or object) holds it."""

    def __init__(self, ledger: Path):
        self._path = ledger.with_name(ledger.name + "-lock")
        while True:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._fd)
                raise LedgerError("is being written by another program", where=str(ledger)) from None
            if self._is_the_file():
                return
            os.close(self._fd)  # its last holder removed it between our opening and our locking

    def _is_the_file(self) -> bool:
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._fd))

    def release(self) -> None:
        """Let others write."""
        with suppress(OSError):  # on a disk that has become read-only it stays, which means nothing
            self._path.unlink(missing_ok=True)
        os.close(self._fd)
