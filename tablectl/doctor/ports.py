"""Serial ports: are they there, may the table open them, who else has, and does what the device sends fit its profile.

A port that somebody has open is not opened by us: two readers would each get half of the bytes.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

from tablectl.config import ConfigFile, DeviceConfig
from tablectl.doctor.configuration import profile_of
from tablectl.doctor.finding import Account, Finding, described, failed, passed, warned
from tablectl.doctor.record import Running
from tablectl.errors import DeviceError
from tablectl.shoe.decoder import Decoder
from tablectl.shoe.events import Bytes, Down, Event, Trouble
from tablectl.shoe.holders import Holder, holders
from tablectl.shoe.port import Port
from tablectl.shoe.profile import LinkSettings

__all__ = ["ports"]

_BY_ID = Path("/dev/serial/by-id")
_FAULT = DeviceError.exit_code
_NAMES = "udevadm trigger --subsystem-match=usb --subsystem-match=tty && ls -l /dev/tablectl /dev/serial/by-id"
_TURN = 0.05


def ports(found: ConfigFile, account: Account, runs: Running, seconds: float) -> Iterator[Finding]:
    """What there is to say of each port. `seconds` is how long one listens; while the table runs one does not."""
    free = []
    for device in found.config.devices:
        findings, is_free = _access(device.name, found.address_of(device), account, runs)
        yield from findings
        if is_free:
            free.append(device)
    if seconds > 0:
        yield from _listened(found, free, seconds)


def _access(name: str, address: str, account: Account, runs: Running) -> tuple[list[Finding], bool]:
    """What is to be said before the port is opened, and whether it may be."""
    check, path = f"port {name}", _file_of(address)
    if path is None:
        return [passed(check, f"{address} is a converter on the network")], not runs.is_held
    if not path.exists():
        return [failed(check, f"{path} is not there", _NAMES, _FAULT)], False
    if not stat.S_ISCHR(path.stat().st_mode):
        return [failed(check, f"{path} is no serial port", f"ls -l {path}", _FAULT)], False
    findings = []
    if account.may(path, 6):
        findings.append(passed(check, f"{path} ({described(path)}) may be opened by {account.name}"))
    else:
        mend = f"usermod -aG {described(path).rpartition(':')[2]} {account.name}"
        findings.append(failed(check, f"{path} ({described(path)}) may not be opened by {account.name}", mend, _FAULT))
    others = holders(path)
    ours = [holder for holder in others if holder in runs.holders]
    strangers = [holder for holder in others if holder not in runs.holders]
    if strangers:
        findings.append(_stolen(check, path, strangers))
    if ours:
        findings.append(passed(check, f"{path} is held by tablectl (pid {ours[0].pid}), and was left to it"))
    elif runs.is_held and not strangers and os.geteuid() == 0:
        findings.append(warned(check, f"{path} is not open, though the table runs", "journalctl -u 'tablectl@*' -n 50"))
    return findings, not others and not runs.is_held and findings[0].verdict == "pass"


def _stolen(check: str, path: Path, strangers: list[Holder]) -> Finding:
    names = ", ".join(map(str, strangers))
    return failed(check, f"{path} is open in {names}, which takes bytes away", f"kill {strangers[0].pid}", _FAULT)


def _file_of(address: str) -> Path | None:
    """The device's file; None for a converter. A USB serial number that is not plugged in is a file that is not there."""
    if "://" in address:
        return None
    if address.startswith("usb:"):
        serial = address.removeprefix("usb:")
        return next(iter(sorted(_BY_ID.glob(f"*_{serial}-*"))), _BY_ID / serial)
    return Path(address)


class _Heard:
    """What a port said while we listened. Filled in by the port's thread."""

    def __init__(self, device: DeviceConfig, found: ConfigFile):
        self.device = device
        self.address = found.address_of(device)
        self.profile = profile_of(found, device.profile).profile
        self.bytes: Counter[str] = Counter()
        self.sound = 0
        self.trouble: deque[str] = deque(maxlen=3)
        self.down: str | None = None
        self.why = ""
        self._decoder = Decoder(self.profile)

    def take(self, event: Event) -> None:
        """An event of the port."""
        if isinstance(event, Bytes):
            for piece in self._decoder.feed(event.data):
                self._count(piece.what, piece.end - piece.start, piece.why)
        elif isinstance(event, Down):
            self.down = event.why
        elif isinstance(event, Trouble):
            self.trouble.append(event.why)

    def _count(self, what: str, length: int, why: str) -> None:
        self.bytes["rejected" if what == "rejected" else "sound"] += length
        self.sound += what != "rejected"
        self.why = why or self.why

    def finding(self, seconds: float) -> Finding:
        """What it comes to."""
        check, link = f"profile {self.device.name}", _line(self.profile.link)
        heard, rejected = self.bytes["sound"], self.bytes["rejected"] + self._decoder.pending
        if self.down is not None and not heard + rejected:
            return failed(check, f"{self.address} cannot be opened: {self.down}", _NAMES, _FAULT)
        listen = f"tablectl doctor --listen {max(30, round(2 * seconds))} …, and let it send something"
        if not heard + rejected:
            return warned(check, f"nothing was heard in {seconds:g} s ({link})", listen)
        noise = f"{rejected} bytes are in no sound frame of {self.profile.name} at {link}"
        if not heard:
            mend = f"tablectl profile show {self.profile.name}: is it this make, and set to {link}?"
            return failed(check, f"{noise}{f' ({self.why})' if self.why else ''}", mend, _FAULT)
        if self.trouble:
            return warned(check, f"{self.sound} sound messages, and: {'; '.join(self.trouble)}", f"check cable and {link}")
        if rejected > heard:
            return warned(check, f"{self.sound} sound messages, but {noise}", f"check cable and {link}")
        return passed(check, f"{self.sound} sound messages of {self.profile.name} at {link}")


def _listened(found: ConfigFile, devices: list[DeviceConfig], seconds: float) -> Iterator[Finding]:
    """Listen on all of them at once, until each has said something sound or the time is up."""
    heard = [_Heard(device, found) for device in devices]
    open_ports = [Port(one.device.name, one.address, one.profile.link, one.take) for one in heard]
    try:
        for port in open_ports:
            port.start()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not all(one.sound for one in heard):
            time.sleep(_TURN)
    finally:
        for port in open_ports:
            port.close()
    for one in heard:
        yield one.finding(seconds)


def _line(link: LinkSettings) -> str:
    return f"{link.baud} {link.bits}{link.parity[0].upper()}{link.stop}"
