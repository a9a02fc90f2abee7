"""A serial device that is none: a pseudo-terminal under a name that stays, which can be unplugged and plugged in again.

What a pseudo-terminal cannot do: it has no speed, no parity and no break, so errors of those kinds cannot be made here.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import threading
import time
import tty
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tablectl.errors import DeviceError

__all__ = ["VirtualDevice"]

LOOK = 0.0005
READ = 65536


class VirtualDevice:
    """A pseudo-terminal; `folder/name` is a link to the side that a host opens, and stays the same over unplugging.

    What is sent while nobody reads waits, as far as the kernel has room (about 16 KiB). Any thread may call any of this. Raises
    `DeviceError` when there are no pseudo-terminals, or the link cannot be made.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.path = folder / name
        self.thrown_away = 0
        """How often the host threw away what was waiting to be read, as many do when they open a port."""
        self._master = self._slave = -1
        self._terminal = ""
        self._from_host = bytearray()
        self._lock = threading.RLock()
        self.replug()

    def __enter__(self) -> VirtualDevice:
        """Itself, until the block ends."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def plugged(self) -> bool:
        """Whether there is a device behind the link."""
        return self._master >= 0

    def send(self, data: bytes, patience: float = 5.0) -> int:
        """Put bytes on the line; gives how many of them went.

        Where the line is full, it waits `patience` seconds for somebody to read, and drops the rest. An unplugged device sends
        into the air: 0.
        """
        sent, deadline = 0, time.monotonic() + patience
        while sent < len(data):
            with self._lock:
                if not self.plugged:
                    break
                with suppress(BlockingIOError):
                    sent += os.write(self._master, data[sent:])
                    continue
            if time.monotonic() >= deadline:
                break
            time.sleep(LOOK)
        return sent

    def received(self) -> bytes:
        """What the host has sent since this was asked last."""
        with self._lock:
            self._listen()
            data = bytes(self._from_host)
            self._from_host.clear()
        return data

    def waiting(self) -> int:
        """How many bytes the host could read and has not; 0 when the device is unplugged. Of very many, a part is counted."""
        with self._lock:
            if not self.plugged:
                return 0
            self._listen()
            # To be asked makes the kernel hand over what is on its way: by itself, it takes its time on a busy machine.
            asked = select.poll()
            asked.register(self._slave, select.POLLIN)
            if not asked.poll(0):
                return 0
            return int(struct.unpack("i", fcntl.ioctl(self._slave, termios.FIONREAD, b"\0" * 4))[0])

    def drained(self, patience: float = 0.0) -> bool:
        """Wait up to `patience` seconds until the host has read everything; whether it has."""
        deadline = time.monotonic() + patience
        while self.waiting():
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK)
        return True

    def opened(self, patience: float = 0.0) -> bool:
        """Wait up to `patience` seconds until a process that can be seen has the port open; whether one has."""
        deadline = time.monotonic() + patience
        while True:
            with self._lock:
                if self.plugged and _held_open(self._terminal, self._slave):
                    return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)

    def unplug(self) -> None:
        """Take the device away, with what was not read: who has it open is hung up on, and the link goes."""
        with self._lock:
            if not self.plugged:
                return
            self._listen()
            if self.path.is_symlink() and str(self.path.readlink()) == self._terminal:
                self.path.unlink(missing_ok=True)
            self._shut()

    def replug(self) -> None:
        """Put it back: another terminal, under the same name. Raises `DeviceError` when there is none."""
        with self._lock:
            if self.plugged:
                return
            try:
                self._master, self._slave = os.openpty()
                tty.setraw(self._slave)
                os.set_blocking(self._master, False)
                # In packet mode the terminal tells when the host throws away what it has not read.
                fcntl.ioctl(self._master, termios.TIOCPKT, struct.pack("i", 1))
                self._terminal = os.ttyname(self._slave)
                self._link()
            except DeviceError:
                self._shut()
                raise
            except OSError as error:
                raise DeviceError(f"there is no pseudo-terminal for it: {error.strerror}", where=str(self.path)) from None

    def close(self) -> None:
        """Unplug it for good."""
        self.unplug()

    def _shut(self) -> None:
        os.close(self._master)
        os.close(self._slave)
        self._master = self._slave = -1

    def _link(self) -> None:
        """Let the name lead to the new terminal, without a moment in which it leads nowhere. A file is not replaced."""
        is_ours = self.path.is_symlink() and self.path.readlink().parent == Path(self._terminal).parent
        if os.path.lexists(self.path) and not is_ours:
            raise DeviceError("is there already, and is no device of ours", where=str(self.path))
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        beside.unlink(missing_ok=True)
        beside.symlink_to(self._terminal)
        beside.replace(self.path)

    def _listen(self) -> None:
        """Take in what the host has sent, and what the terminal tells of it."""
        while self.plugged:
            try:
                packet = os.read(self._master, READ)
            except (BlockingIOError, OSError):
                return
            if not packet:
                return
            if packet[0] & termios.TIOCPKT_FLUSHREAD:
                self.thrown_away += 1
            elif packet[0] == termios.TIOCPKT_DATA:
                self._from_host += packet[1:]


def _held_open(terminal: str, own: int) -> bool:
    """Whether a process of ours or another has the terminal open, besides our own descriptor."""
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):
            for entry in folder.iterdir():
                mine = entry.name == str(own) and folder.parent.name == str(os.getpid())
                with suppress(OSError):
                    if not mine and os.readlink(entry) == terminal:
                        return True
    return False
