"""The recording is synced ahead of the ledger: what `wait` returns from is on the disk, however the two threads meet."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest

from tablectl.daemon.ahead import Ahead
from tablectl.errors import LedgerError
from tablectl.recording.chunks import Chunk
from tablectl.recording.keeper import Keeper


class Disk:
    """What is written, and how much of it a sync has seen. A sync takes a while, as a disk does."""

    def __init__(self) -> None:
        self.written = self.synced = 0
        self.full = False
        self.threads: set[str] = set()

    def sync(self) -> None:
        seen = self.written
        self.threads.add(threading.current_thread().name)
        time.sleep(0.0005)
        if self.full:
            raise LedgerError("cannot be synced")
        self.synced = seen


def test_all_that_was_written_before_a_wait_is_synced_after_it() -> None:
    disk, chance = Disk(), random.Random(1)
    ahead = Ahead(disk.sync)
    for _ in range(300):
        for _ in range(chance.randint(0, 3)):
            disk.written += 1
            ahead.begin()
            time.sleep(chance.choice((0.0, 0.0, 0.0004, 0.001)))
        ahead.wait()
        assert disk.synced == disk.written
    ahead.close()
    assert disk.threads == {"tablectl-sync", threading.current_thread().name}


def test_a_sync_that_failed_is_told_by_the_wait_and_by_each_until_it_succeeds() -> None:
    disk = Disk()
    ahead = Ahead(disk.sync)
    disk.full = True
    disk.written = 1
    ahead.begin()
    for _ in range(2):
        with pytest.raises(LedgerError, match="cannot be synced"):
            ahead.wait()
    disk.full = False
    ahead.wait()
    assert disk.synced == 1
    ahead.close()


def test_the_thread_ends_with_it_even_while_it_syncs() -> None:
    disk = Disk()
    ahead = Ahead(disk.sync)
    disk.written = 1
    ahead.begin()
    ahead.close()
    assert disk.synced == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "tablectl-sync"]


def test_a_failure_of_the_disk_in_the_other_thread_is_that_of_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told until a new recording is begun, though the system would say of the next sync that all is well."""
    failing = threading.Event()
    real = os.fdatasync

    def fdatasync(file: int) -> None:
        if failing.is_set():
            failing.clear()  # as Linux does it: once
            raise OSError(5, "Input/output error")
        real(file)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    header = {"table": "site/pit/t07", "house": "es", "zone": "UTC"}
    keeper = Keeper(tmp_path, header, rotate_bytes=10**6, rotate_seconds=86400.0, keep_seconds=None, keep_bytes=None)
    with keeper:
        ahead = Ahead(keeper.sync)
        keeper.open(1)
        failing.set()
        keeper.write(Chunk(2, "shoe", "<", b"x"))
        ahead.begin()
        for _ in range(2):
            with pytest.raises(LedgerError, match="synced"):
                ahead.wait()
        ahead.rest()
        keeper.rotate(3)
        ahead.wait()
        ahead.close()
