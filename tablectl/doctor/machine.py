"""The machine: its clock, its disk, and the port of the figures."""

from __future__ import annotations

import ctypes
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tablectl.config import ConfigFile
from tablectl.doctor.finding import Account, Finding, described, failed, passed, warned
from tablectl.errors import LedgerError
from tablectl.instants import from_micros

__all__ = ["Clock", "disk", "metrics"]

_UNSYNC = 0x40  # STA_UNSYNC of <sys/timex.h>
_JUMP = 0.25
_SLOW, _TOO_SLOW = 0.05, 1.0
_FSYNCS = 7
_FAULT = LedgerError.exit_code


class _Timex(ctypes.Structure):
    """The beginning of `struct timex`; the rest is room for it."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


class Clock:
    """The clock, from construction on: a step that it makes while the doctor looks elsewhere is seen."""

    def __init__(self) -> None:
        self._began = _apart()

    def findings(self, recorded: int | None) -> Iterator[Finding]:
        """What there is to say of it. `recorded` is the last time in the record, in microseconds since 1970."""
        now = time.time_ns() // 1000
        step = _apart() - self._began
        if recorded is not None and recorded > now:
            behind = (recorded - now) / 1_000_000
            text = f"it is {behind:,.1f} s behind the record, which ends at {from_micros(recorded)}"
            yield failed("clock", text, "timedatectl set-ntp true")
        if abs(step) > _JUMP:
            yield warned("clock", f"it jumped by {step:+.2f} s while the doctor looked", "timedatectl timesync-status")
        yield _synchronised(from_micros(now))


def _synchronised(now: str) -> Finding:
    """What the kernel knows: it is told by whoever keeps the clock, timesyncd, chrony or ntpd."""
    timex = _Timex()
    state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    if state < 0:
        return warned("clock", f"the kernel does not say whether it is right: {os.strerror(ctypes.get_errno())}", "timedatectl")
    if timex.status & _UNSYNC:
        return warned("clock", f"{now}: nothing keeps it right", "timedatectl set-ntp true")
    return passed("clock", f"{now}, kept right to {timex.esterror / 1000:.1f} ms (at most {timex.maxerror / 1000:.0f} ms)")


def _apart() -> float:
    """Seconds between the wall's clock and the one that never jumps."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def disk(found: ConfigFile, account: Account) -> Iterator[Finding]:
    """The storage folder: there, ours, with room, and quick enough to be asked after every card."""
    folder = found.beside(found.config.storage.folder)
    make = f"install -d -m 750 -o {account.name} {folder}"
    if not folder.is_dir():
        parent = next(path for path in (folder, *folder.parents) if path.exists())
        if not parent.is_dir():
            yield failed("disk", f"{parent} is no folder, and is in the place of one", f"ls -l {parent}", _FAULT)
            return
        if not account.may(parent, 3):
            yield failed("disk", f"{folder} is not there, and {account.name} cannot make it", make, _FAULT)
            return
        yield warned("disk", f"{folder} is not there yet; the first start makes it", make)
        folder = parent
    elif not account.may(folder, 7):
        text = f"{folder} ({described(folder)}) may not be written by {account.name}"
        yield failed("disk", text, f"chown -R {account.name} {folder}", _FAULT)
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize // 1_000_000
    least = found.config.storage.min_free_mb
    usage = f"df -h {folder}; du -sh {folder}/*"
    if free < least:
        yield warned("disk", f"{free:,} MB are free in {folder}, less than {least:,}", usage)
    else:
        yield passed("disk", f"{free:,} MB are free in {folder}")
    yield _written(folder)


def _written(folder: Path) -> Finding:
    """Write and wait for the disk, some times."""
    taken = []
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
            for _ in range(_FSYNCS):
                file.write(bytes(4096))
                file.flush()
                began = time.monotonic()
                os.fsync(file.fileno())
                taken.append(time.monotonic() - began)
    except OSError as error:
        return failed("disk", f"{folder} cannot be written: {error.strerror}", f"findmnt --target {folder}", _FAULT)
    median, most = statistics.median(taken), max(taken)
    text = f"fsync takes {median * 1000:.1f} ms (the slowest of {_FSYNCS}: {most * 1000:.1f} ms)"
    if median > _TOO_SLOW:
        return failed("disk", f"{text}: too slow for a record after every card", f"findmnt --target {folder}", _FAULT)
    if median > _SLOW:
        return warned("disk", f"{text}: prompts are told late", f"findmnt --target {folder}")
    return passed("disk", text)


def metrics(found: ConfigFile, is_running: bool) -> Iterator[Finding]:
    """Whether the figures can be served where they are to be; while the table runs, the port is its own."""
    if found.config.metrics is None or is_running:
        return
    host, _, port = found.config.metrics.listen.rpartition(":")
    host = host.strip("[]")
    try:
        socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        why = error.strerror if error.errno is None else os.strerror(error.errno)
        yield warned("metrics", f"{found.config.metrics.listen} cannot be listened on: {why}", f"ss -ltnp 'sport = :{port}'")
    else:
        yield passed("metrics", f"{found.config.metrics.listen} is free")
