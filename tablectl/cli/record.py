"""`tablectl record`: what serial devices send, to a native recording."""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import click

from tablectl.cli.asked import asked_to_stop
from tablectl.cli.main import say
from tablectl.errors import DeviceError, TablectlError, UsageError
from tablectl.houses import rules
from tablectl.recording.chunks import Chunk
from tablectl.recording.native import Writer
from tablectl.shoe import profile as profiles
from tablectl.shoe.events import Bytes, Down, Event, Trouble, Up
from tablectl.shoe.line import checked_address
from tablectl.shoe.port import Port

__all__ = ["record"]

PAD = "dealer-pad"
"""The pad's profile where none is named."""
ROOM = 1000
"""Events that may wait to be written; then the ports wait."""
LOOK = 0.1
"""Seconds after which a recording that was asked to stop notices."""


@click.command(
    epilog="\b\nExample:\n"
    "  tablectl record --shoe /dev/ttyUSB0 --shoe-profile bee-tek -o shoe.rec\n"
    "  tablectl record --shoe usb:A10KZP45 --shoe-profile angel-eye-ii --pad socket://10.0.0.7:4001 \\\n"
    "                  --house fr -o day.rec --seconds 3600"
)
@click.option("--shoe", metavar="PORT", help="The shoe: a device file, usb:SERIAL, socket://host:port, rfc2217://host:port.")
@click.option("--shoe-profile", metavar="PROFILE", help="The shoe's firmware profile.")
@click.option("--pad", metavar="PORT", help="The dealer's pad, likewise.")
@click.option("--pad-profile", metavar="PROFILE", help="The pad's profile.  [default: dealer-pad]")
@click.option("--house", metavar="HOUSE", help="The house that the table plays by: fr, es, lt, or a TOML file.")
@click.option("-o", "--out", required=True, metavar="FILE", help="Where to write the recording: a file that is not there yet.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Stop after so long.")
def record(
    shoe: str | None,
    shoe_profile: str | None,
    pad: str | None,
    pad_profile: str | None,
    house: str | None,
    out: str,
    seconds: float | None,
) -> None:
    """Record what the shoe and the dealer's pad send, byte by byte.

    Ends with Ctrl-C or SIGTERM, or after --seconds. Nothing is sent to a device. One that is missing, or vanishes, is waited for;
    what happens to it is told on stderr. FILE grows with every byte that comes, and `tablectl replay FILE` plays it.

    Exit code 5 when not one device could be opened.
    """
    devices = _devices({"shoe": (shoe, shoe_profile), "pad": (pad, pad_profile or PAD)})
    header = {}
    if house is not None:
        rules.load(house)
        header["house"] = house
    header |= {f"profile.{device.port}": device.profile for device in devices}
    with _created(Path(out)) as file:
        recording = _Recording(file, header)
        inbox: queue.Queue[Event] = queue.Queue(ROOM)
        ports = [Port(device.port, device.address, device.link, inbox.put) for device in devices]
        with _until_stopped(seconds) as stopped, ExitStack() as stack:
            for port in ports:
                stack.enter_context(port)
            recording.take(inbox, stopped)
            for port in ports:
                port.stop()
            patience = time.monotonic() + 1.0
            recording.take(inbox, lambda: time.monotonic() > patience or not any(port.is_alive for port in ports))
        if not recording.opened:
            raise DeviceError("no device could be opened, so nothing was recorded", where=", ".join(d.address for d in devices))
    say(f"{out}: {recording}")


class _Device(NamedTuple):
    port: str
    address: str
    profile: str
    link: profiles.LinkSettings


def _devices(given: Mapping[str, tuple[str | None, str | None]]) -> list[_Device]:
    """What is to be recorded: the address and the profile of each port. Raises `UsageError`, `ProfileError`."""
    found = []
    for port, (address, profile) in given.items():
        if address is None:
            continue
        if profile is None:
            raise UsageError("which profile? give the name of the device's firmware profile", field=f"--{port}-profile")
        found.append(_Device(port, checked_address(address), profile, profiles.load(profile).profile.link))
    if not found:
        raise UsageError("nothing to record: give --shoe, --pad or both")
    return found


class _Recording:
    """What is written, and what there was of it."""

    def __init__(self, file: IO[bytes], header: Mapping[str, str]):
        self._file = file
        self._writer = Writer(file, header)
        self._file.flush()
        self._bytes: Counter[str] = Counter()
        self.opened: set[str] = set()

    def take(self, inbox: queue.Queue[Event], ended: Callable[[], bool]) -> None:
        """Write and tell what the ports deliver, until it has ended and nothing waits any more."""
        while True:
            last = ended()  # before looking: what was delivered until then is taken
            try:
                event = inbox.get(timeout=LOOK) if not last else inbox.get_nowait()
            except queue.Empty:
                if last:
                    return
                continue
            self._note(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, Bytes):
            self._writer.write(Chunk(event.at, event.port, "<", event.data))
            self._file.flush()  # so that a crash of whatever kind leaves all that came
            self._bytes[event.port] += len(event.data)
        elif isinstance(event, Up):
            self.opened.add(event.port)
            say(f"{event.port}: {event.why}")
        elif isinstance(event, Down):
            say(f"{event.port}: {event.why}; waiting for it")
        elif isinstance(event, Trouble):
            say(f"{event.port}: {event.why}")

    def __str__(self) -> str:
        return ", ".join(f"{self._bytes[port]} bytes from {port}" for port in sorted(self.opened))


@contextmanager
def _created(path: Path) -> Iterator[IO[bytes]]:
    """A new file; removed again when no device came to write anything into it."""
    try:
        file = path.open("xb")
    except FileExistsError:
        raise UsageError("is there already, and a recording is never written over", where=str(path), field="--out") from None
    except OSError as error:
        raise TablectlError(f"cannot be written: {error.strerror}", where=str(path)) from None
    with file:
        try:
            yield file
        except DeviceError:
            path.unlink()
            raise


@contextmanager
def _until_stopped(seconds: float | None) -> Iterator[Callable[[], bool]]:
    """Whether the time is over, or SIGINT or SIGTERM asked for the end: which is then the ordinary one."""
    deadline = None if seconds is None else time.monotonic() + seconds
    with asked_to_stop() as asked:
        yield lambda: asked() or (deadline is not None and time.monotonic() >= deadline)
