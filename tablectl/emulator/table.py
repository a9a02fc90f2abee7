"""The emulated table: a shoe and a pad behind pseudo-terminals, played by a dealer, or as a recording has it.

It keeps a table of its own, to know what is due. What the host that reads the ports makes of it is the host's. The two lines
race, as on a real table, where a key is pressed before the card is drawn; so a gap lies between two messages of different ports.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType

from tablectl.emulator.dealer import Dealer
from tablectl.emulator.device import VirtualDevice
from tablectl.emulator.script import RESTARTED, Message, Script
from tablectl.emulator.wrong import CALM, Account, Line, Weather
from tablectl.errors import DeviceError, UsageError
from tablectl.game.table import Table
from tablectl.houses.rules import House
from tablectl.houses.rules import load as load_house
from tablectl.observations import Link, Observation
from tablectl.recording.chunks import Chunk
from tablectl.recording.player import paced
from tablectl.shoe.profile import load as load_profile

__all__ = ["EmulatedTable"]

THREAD = "tablectl-emulator"
SLICE = 0.05
GRACE = 1.0  # seconds that a reader still has when no more is to be dealt
PART = 0.02  # seconds that a host has to read one part of a message before the next


class EmulatedTable:
    """One table of a house. Its ports are `shoe.path` and `pad.path`, links in `folder`.

    `pause` seconds lie between two observations; 0 is as fast as the host reads. `gap` seconds lie between messages of different
    ports. It waits up to `patience` seconds for a host that does not read, or has not opened a port that came back, and goes on
    without it. `outage` is how long an unplugged device is away. `weather` is that of both lines, or of each by its name.
    All else is the dealer's (see `Dealer`). Raises `HouseError`, `ProfileError`, `DeviceError`, `UsageError`.
    """

    def __init__(
        self,
        folder: Path,
        house: str | House = "fr",
        shoe_profile: str = "angel-eye-ii",
        pad_profile: str = "dealer-pad",
        *,
        seed: int = 1,
        rounds: int | None = None,
        boxes: tuple[int, int] | None = None,
        mistakes: Sequence[str] = (),
        every: int = 5,
        supervisor: str | None = "CHIEF7",
        pause: float = 0.0,
        gap: float = 0.03,
        patience: float = 5.0,
        outage: float = 0.05,
        weather: Weather | Mapping[str, Weather] = CALM,
        account: Account | None = None,
    ) -> None:
        self.script = Script(load_profile(shoe_profile).profile, load_profile(pad_profile).profile)
        self.dealer = Dealer(
            house if isinstance(house, House) else load_house(house).house,
            seed=seed,
            rounds=rounds,
            boxes=boxes,
            can_say=self.script.can_say,
            mistakes=mistakes,
            every=every,
            supervisor=supervisor,
        )
        self.account = account or Account()
        self.pause, self.gap, self.patience, self.outage = pause, gap, patience, outage
        each = weather if isinstance(weather, Mapping) else dict.fromkeys(self.script.voices, weather)
        self.lines = {name: Line(voice, each.get(name, CALM), seed) for name, voice in self.script.voices.items()}
        folder.mkdir(parents=True, exist_ok=True)
        self.shoe = VirtualDevice("shoe", folder)
        try:
            self.pad = VirtualDevice("pad", folder)
        except DeviceError:
            self.shoe.close()
            raise
        self.devices = {"shoe": self.shoe, "pad": self.pad}
        self._thrown_away = dict.fromkeys(self.devices, 0)
        self._observations: Iterator[Observation] = iter(())
        self._last_port: str | None = None
        self.ended = False
        """Whether it was told to deal no more."""
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None

    def __enter__(self) -> EmulatedTable:
        """Itself, until the block ends."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def table(self) -> Table:
        """The dealer's own table."""
        return self.dealer.table

    def opened(self, patience: float | None = None) -> bool:
        """Wait up to `patience` seconds (its own, where none are given) until a host has both ports open; whether one has."""
        deadline = monotonic() + (self.patience if patience is None else patience)
        return all(device.opened(max(0.0, deadline - monotonic())) for device in self.devices.values())

    def step(self) -> Observation | None:
        """Deal on by one observation and put it on the wire. None: there is nothing more, or a ruling is waited for."""
        observation = next(self._observations, None)
        if observation is None:
            self._observations = iter(self.dealer)
            observation = next(self._observations, None)
        if observation is not None:
            self.say(observation)
            self._wait(self.pause)
        return observation

    def run(self, rounds: int | None = None) -> int:
        """Deal so many rounds, or until `stop`, or until there is nothing more to deal; gives how many were closed."""
        began = self.dealer.closed
        while not self.ended and (rounds is None or self.dealer.closed - began < rounds):
            if self.step() is None:
                break
        return self.dealer.closed - began

    def say(self, observation: Observation) -> Message | None:
        """Send what the device in question says of an observation. None: neither has words for it, and nothing is sent."""
        message = self.script.message(observation)
        if message is None:
            return None
        line = self.lines[message.port]
        self._change_to(message.port)
        if line.restarts() and not isinstance(observation, Link):
            self.restart(message.port)
            message = self.script.message(observation) or message
        self._send(message)
        return message

    def restart(self, port: str = "shoe") -> None:
        """Switch a device off and on: where it has a word for that, it says it, and its numbers begin again."""
        voice = self.script.voices[port]
        message = voice.say(RESTARTED)
        if message is not None:
            self._send(message)

    def noise(self, port: str, length: int) -> None:
        """Put so many bytes of noise on a line, between two frames."""
        for start in range(0, length, 4096):
            self._put(port, self.lines[port].noise(min(4096, length - start)))
        self._look(port)

    def unplug(self, port: str) -> bool:
        """Take a device away; whether the host had read all. What it had not is in doubt."""
        read = self._look(port)
        self.devices[port].unplug()
        self.account.lost(port)
        return read

    def replug(self, port: str) -> None:
        """Put it back, and wait until a host has opened it."""
        device = self.devices[port]
        device.replug()
        self._patiently(device.opened)
        self._wait(self.gap)
        device.waiting()
        self._thrown_away[port] = device.thrown_away

    def play(self, chunks: Iterable[Chunk], speed: float | None = None) -> int:
        """Send a recording's bytes as they are; gives how many chunks were sent.

        `speed` is that of `tablectl.recording.player.paced`; None waits for the host and the `pause` alone. What the recording
        has of other ports is passed over. Raises `UsageError` for a recording that has none of these, `InputError` for a bad one.
        """
        count = 0
        for chunk in paced(chunks, speed, self._wait, monotonic):
            if self.ended:
                break
            device = self.devices.get(chunk.port)
            if chunk.direction != "<" or device is None:
                continue
            self._change_to(chunk.port)
            self._put(chunk.port, chunk.data)
            self._look(chunk.port)
            self._wait(self.pause)
            count += 1
        if not count and not self.ended:
            raise UsageError(f"the recording has nothing of the ports {' and '.join(self.devices)}")
        return count

    def start(self, rounds: int | None = None) -> None:
        """Deal in a thread of its own. Raises `UsageError` when it deals already."""
        if self._thread is not None:
            raise UsageError("the emulated table is dealing already")
        self.ended = False
        self._thread = threading.Thread(target=self._dealing, args=(rounds,), name=THREAD, daemon=True)
        self._thread.start()

    def join(self, patience: float | None = None) -> bool:
        """Wait until the thread has dealt what it was to deal; whether it has. Raises what it failed by."""
        if self._thread is not None:
            self._thread.join(patience)
            if self._thread.is_alive():
                return False
            self._thread = None
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        return True

    def end(self) -> None:
        """Deal no more, after the message that is under way; may be called from a signal's handler."""
        self.ended = True

    def stop(self) -> None:
        """Deal no more, and wait for the thread. Raises what that failed by."""
        self.end()
        self.join()

    def close(self) -> None:
        """Stop, and unplug both devices for good."""
        told = self.ended
        self.end()
        if self._thread is not None:
            self._thread.join()
        self.ended = told  # who was not told to end waits for the reader
        for port, device in self.devices.items():
            self._look(port)
            device.close()
            self.account.lost(port)
        self.end()

    def _dealing(self, rounds: int | None) -> None:
        try:
            self.run(rounds)
        except BaseException as error:  # told to who waits for the thread
            self._failed = error

    def _change_to(self, port: str) -> None:
        """Let what the other port said arrive before this one speaks."""
        if self._last_port not in (None, port):
            self._wait(self.gap)
        self._last_port = port

    def _send(self, message: Message) -> None:
        """Let a message, and what the weather makes of it, happen on its line."""
        port = message.port
        device = self.devices[port]
        sent = self.lines[port].send(message)
        certain = True
        for happening in sent.happenings:
            if happening == "unplug":
                certain = self.unplug(port) and certain
                self._wait(self.outage)
            elif happening == "replug":
                self.replug(port)
            elif isinstance(happening, bytes):
                certain = self._put(port, happening) and certain
                device.drained(PART)  # what is written in parts is read in parts
        self.account.sent(port, message.observation, whole=sent.whole)
        if certain:
            self._look(port)
        else:
            self.account.lost(port)

    def _look(self, port: str) -> bool:
        """Wait for the host to read; whether it has read all. Enters in the account what became of what was sent."""
        device = self.devices[port]
        read = self._patiently(device.drained) and device.plugged
        if device.thrown_away > self._thrown_away[port]:
            self._thrown_away[port] = device.thrown_away
            self.account.lost(port)
            return False
        if read:
            self.account.read(port)
        return read

    def _put(self, port: str, data: bytes) -> bool:
        """Write it all, as far as somebody reads; whether all of it went."""
        left = data

        def written(seconds: float) -> bool:
            nonlocal left
            left = left[self.devices[port].send(left, seconds) :]
            return not left or not self.devices[port].plugged

        return self._patiently(written) and not left

    def _patiently(self, done: Callable[[float], bool]) -> bool:
        """Wait until it is done, `patience` seconds, or from the end on `GRACE` at the most; whether it is."""
        began = monotonic()
        while True:
            left = began + (min(self.patience, GRACE) if self.ended else self.patience) - monotonic()
            if done(max(0.0, min(left, SLICE))):
                return True
            if left <= 0:
                return False

    def _wait(self, seconds: float) -> None:
        """Sleep, but no longer than until the end. A plain flag is all that a signal's handler can set without harm."""
        until = monotonic() + seconds
        while not self.ended and (left := until - monotonic()) > 0:
            sleep(min(left, SLICE))
