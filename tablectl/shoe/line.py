"""The line to a device, opened by its address: the one place that knows pyserial.

| address | is |
|---|---|
| `/dev/serial/by-id/usb-…` | a device file, or any link to one; where it leads is looked up at each opening |
| `usb:A10KZP45` | the port of the USB adapter with this serial number |
| `socket://host:port` | a converter that passes raw bytes over TCP |
| `rfc2217://host:port` | a converter that can be told the line's settings |

A device file is ours alone while it is open, and what it received while it was being set up is kept (pyserial would throw it
away).
"""

from __future__ import annotations

import errno
import fcntl
import grp
import os
import select
import socket
import stat
import termios
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import urlsplit

import serial
from serial import rfc2217
from serial.serialutil import SerialBase
from serial.tools.list_ports import comports
from serial.urlhandler import protocol_socket

from tablectl.errors import UsageError
from tablectl.shoe.holders import holders, is_pseudo_terminal
from tablectl.shoe.line_errors import NONE_YET, LineErrors, counted, of_line_state
from tablectl.shoe.profile import LinkSettings

__all__ = ["Gone", "Line", "NotTaken", "checked_address", "opened", "reason"]

SIZE = 4096
"""Bytes taken in one go at most: what a terminal's buffer in the kernel holds."""

_CONVERTERS = ("socket", "rfc2217")
_USB = "usb:"
_GONE = "the device is gone"
_TURN = 0.05  # seconds after which the port of an RFC 2217 converter looks up from waiting
_NOTICES = 0x1E  # of the line's state by RFC 2217: breaks, framing errors, parity errors, overruns


class Gone(Exception):
    """The device cannot be opened, or is no more. The text is for people."""


class NotTaken(Exception):
    """The device does not take what it is sent."""


class Line(Protocol):
    """A device that is open. `where` names it to people, `file` is its device file where it has one."""

    where: str
    file: str | None

    def take(self, seconds: float) -> bytes:
        """Wait for bytes, for so long or until woken; give what is there, perhaps none. Raises `Gone`, `OSError`."""

    def send(self, data: bytes) -> None:
        """Write all of it. Raises `NotTaken` when that takes too long, `OSError` when the device is gone."""

    def errors(self) -> LineErrors | None:
        """What went wrong on the line so far, or None where nobody counts."""

    def close(self) -> None:
        """Let go of the device."""


def checked_address(address: str) -> str:
    """The address of a device, in one of the forms above. Raises `UsageError` for what can be none."""
    scheme, mark, _ = address.partition("://")
    if not address or address == _USB or not address.isprintable() or (mark and scheme not in _CONVERTERS):
        raise UsageError(f"{address!r} is no address of a device: /dev/…, usb:SERIAL, socket://host:port, rfc2217://host:port")
    if mark:
        try:
            parts = urlsplit(address)
            known = parts.hostname and parts.port
        except ValueError:
            known = None
        if not known:
            raise UsageError(f"{address!r} is no address of a converter: {scheme}://host:port")
    return address


def opened(address: str, link: LinkSettings, *, write_timeout: float, wake: int) -> Line:
    """Open what the address leads to now.

    What is readable on the descriptor `wake` (an eventfd) ends a wait. Raises `Gone` with the reason, `OSError` and whatever else
    pyserial raises; `reason` puts it into words.
    """
    settings: dict[str, Any] = {
        "baudrate": link.baud,
        "bytesize": link.bits,
        "parity": link.parity[0].upper(),  # pyserial's letters: N E O M S
        "stopbits": link.stop,
    }
    if address.startswith("rfc2217://"):
        telnet = _Telnet(address, timeout=_TURN, **settings)
        _keep_alive(telnet)
        telnet.rfc2217_send_subnegotiation(rfc2217.SET_LINESTATE_MASK, bytes([_NOTICES]))
        return _Converted(telnet, address, wake)
    if address.startswith("socket://"):
        connected = _Socket(address, timeout=0, write_timeout=write_timeout)
        _keep_alive(connected)
        return _Direct(connected, address, None, wake)
    path = _device_file(address)
    try:
        device = _Tty(path, timeout=0, write_timeout=write_timeout, exclusive=True, **settings)
    except serial.SerialException as error:
        if refusal := _refusal(path, error.errno):
            raise Gone(refusal) from error
        raise
    try:
        _set_up(device)
    except BaseException:
        device.close()
        raise
    return _Direct(device, path if path == address else f"{path} ({address})", path, wake)


def reason(error: Exception) -> str:
    """An exception of the above in the words of its cause, on one line."""
    if isinstance(error, Gone):
        return str(error)
    cause: BaseException = error
    if isinstance(error, serial.SerialException) and isinstance(error.__context__, OSError | termios.error):
        cause = error.__context__  # pyserial wraps it in words of its own
    if not isinstance(cause, OSError | termios.error):
        return f"internal fault: {type(error).__name__}: {_line_of(error)}"
    number = cause.args[0] if cause.args else None
    words = str(cause.args[1]) if len(cause.args) > 1 else _line_of(cause)
    return f"{_GONE}: {words}" if number in (errno.EIO, errno.ENXIO, errno.ENODEV) else words


def _line_of(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class _Direct:
    """What has a file descriptor: a device file or a socket."""

    def __init__(self, device: serial.Serial | _Socket, where: str, file: str | None, wake: int):
        self.where = where
        self.file = file
        self._device = device
        self._fd = device.fileno()
        self._wake = wake
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._poll.register(wake, select.POLLIN)

    def take(self, seconds: float) -> bytes:
        happened = dict(self._poll.poll(seconds * 1000))
        if self._wake in happened:
            _calm(self._wake)
        if self._fd not in happened:
            return b""
        try:
            data = os.read(self._fd, SIZE)
        except BlockingIOError:
            if happened[self._fd] & (select.POLLHUP | select.POLLERR | select.POLLNVAL):
                raise Gone(f"{_GONE}: it hung up") from None
            return b""  # another reader was quicker
        if not data:
            raise Gone(f"{_GONE}: it hung up" if self.file else "the converter closed the connection")
        return data

    def send(self, data: bytes) -> None:
        try:
            self._device.write(data)
        except serial.SerialTimeoutException:
            raise NotTaken from None

    def errors(self) -> LineErrors | None:
        return counted(self._fd) if self.file else None

    def close(self) -> None:
        self._device.close()


class _Converted:
    """A converter that speaks RFC 2217: a thread of pyserial's reads it."""

    def __init__(self, device: _Telnet, where: str, wake: int):
        self.where = where
        self.file: str | None = None
        self._device = device
        self._wake = wake

    def take(self, seconds: float) -> bytes:
        _calm(self._wake)
        first = self._device.read(1) if seconds > 0 or self._device.in_waiting else b""
        return first + self._device.read(min(self._device.in_waiting, SIZE - 1)) if first else b""

    def send(self, data: bytes) -> None:
        self._device.write(data)

    def errors(self) -> LineErrors | None:
        return self._device.told

    def close(self) -> None:
        self._device.close()


def _calm(wake: int) -> None:
    with suppress(BlockingIOError):
        os.eventfd_read(wake)


class _Tty(serial.Serial):
    def _reset_input_buffer(self) -> None:
        pass  # keep it


class _Socket(protocol_socket.Serial):
    def reset_input_buffer(self) -> None:
        pass  # keep it

    def close(self) -> None:
        connection = _connection(self)
        super().close()
        if connection is not None:
            connection.close()  # which pyserial forgets when the other side was first


class _Telnet(rfc2217.Serial):
    told = NONE_YET

    def reset_input_buffer(self) -> None:
        pass  # keep it

    def _telnet_process_subnegotiation(self, suboption: bytes) -> None:
        if suboption[:2] == rfc2217.COM_PORT_OPTION + rfc2217.SERVER_NOTIFY_LINESTATE and len(suboption) > 2:
            self.told = of_line_state(self.told, suboption[2])
        super()._telnet_process_subnegotiation(suboption)  # type: ignore[misc]  # the stubs leave it out

    def close(self) -> None:
        connection = _connection(self)
        super().close()
        if connection is not None:
            connection.close()


def _connection(device: SerialBase) -> socket.socket | None:
    """The connection to a converter, which pyserial keeps to itself."""
    return getattr(device, "_socket", None)


def _device_file(address: str) -> str:
    """The device file that the address leads to now. Raises `Gone`."""
    if address.startswith(_USB):
        found = sorted(str(port.device) for port in comports() if port.serial_number == address.removeprefix(_USB))
        if not found:
            raise Gone(f"{address} is not plugged in")
        if len(found) > 1:
            raise Gone(f"{address} has several ports, so name one by its file: {', '.join(found)}")
        return found[0]
    path = os.path.realpath(address)
    try:
        is_device = stat.S_ISCHR(os.stat(path).st_mode)
    except OSError as error:
        raise Gone(f"{address} is not there" if error.errno == errno.ENOENT else f"{address}: {error.strerror}") from None
    if not is_device:
        raise Gone(f"{address} is no serial device")
    return path


def _refusal(path: str, number: int | None) -> str | None:
    """Why a device file could not be opened and what to do, where the system's own words do not say it."""
    if number in (errno.EAGAIN, errno.EBUSY):
        who = ", ".join(str(holder) for holder in holders(path))
        return f"{path} is in use{': it is open in ' if who else ''}{who}"
    if number in (errno.EACCES, errno.EPERM):
        group = "its group"
        with suppress(OSError, KeyError):
            group = f"the group {grp.getgrgid(os.stat(path).st_gid).gr_name}"
        return f"no permission to open {path}: is the user in {group}?"
    return f"{path} is not there" if number == errno.ENOENT else None


def _set_up(device: _Tty) -> None:
    """What pyserial leaves as it was."""
    fd = device.fileno()
    if not is_pseudo_terminal(os.fstat(fd)):  # whose other side keeps them, and with them this mark, alive after our crash
        fcntl.ioctl(fd, termios.TIOCEXCL)  # the lock keeps out who asks for one, this keeps out the others
    modes = termios.tcgetattr(fd)
    modes[0] &= ~(termios.BRKINT | termios.IGNPAR)  # a break must not flush what was received
    modes[6][termios.VMIN] = 1  # so that "nothing there" and "hung up" are not the same answer
    termios.tcsetattr(fd, termios.TCSANOW, modes)
    with suppress(ValueError, OSError):
        device.set_low_latency_mode(True)  # an FTDI adapter else keeps bytes for up to 16 ms


def _keep_alive(device: SerialBase) -> None:
    """Notice within about half a minute that a converter has lost its power."""
    connection = _connection(device)
    if connection is None:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {socket.TCP_KEEPIDLE: 10, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3, socket.TCP_NODELAY: 1}
    for option, value in options.items():
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
