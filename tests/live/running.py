"""A real table for the proofs: the daemon as a process, an emulated shoe and pad, a real Mosquitto, a subscriber that keeps all.

`staged` puts them together in a folder. What the table did is read from its files, as an inspector would: `ledgers`, `notices`,
`cards`, `standing`; `assert_whole` and `assert_told` are what must be true of every table that was stopped, however often and
however hard it was stopped before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, Unpack

import msgspec
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tablectl.config import ConfigFile
from tablectl.emulator.table import EmulatedTable
from tablectl.game.table import Table
from tablectl.game.view import TableView
from tablectl.houses import rules
from tablectl.ledger import pin as pins
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.refold import all_entries, refold, table_of
from tablectl.ledger.verify import verify_days
from tablectl.mqtt.messages import CHANNELS, Envelope, type_name
from tablectl.observations import CardDrawn, Observation, decode
from tablectl.recording import folder as recordings
from tablectl.recording.rebuilding import rebuild
from tests import table_toml
from tests.broker import Broker
from tests.table_toml import Given

__all__ = [
    "Heard",
    "Program",
    "Stage",
    "Standing",
    "Subscriber",
    "are_up",
    "assert_told",
    "assert_whole",
    "cards",
    "configured",
    "entries",
    "folded",
    "ledgers",
    "notices",
    "observations",
    "recordings_of",
    "staged",
    "standing",
    "until",
    "wait_for_phase",
]

ROOT = Path(__file__).resolve().parents[2]
RUN = ("tablectl", "run", "--quiet", "--config")
RUNS = " runs; its record is "
"""What the daemon tells when it takes in what its devices send."""

_NOTICES = frozenset(type_name(name) for name in CHANNELS)
_ENDS = tuple(f"/{channel}" for channel in CHANNELS.values())
_envelope = msgspec.json.Decoder(Envelope).decode


def configured(folder: Path, **given: Unpack[Given]) -> ConfigFile:
    """A configuration in this folder, of devices in `folder/devices` and a record in `folder/store`."""
    return table_toml.configured(folder, ports="devices/", **given)


def until(true: Callable[[], bool], seconds: float = 10.0, what: str = "what was waited for") -> None:
    """Wait until something is true. An `AssertionError` where it is not in time."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"{what} did not come within {seconds:g} s"
        time.sleep(0.01)


class Program:
    """`tablectl run` as a process. `before` are words that start it, such as `nice`; `environment` is added to ours.

    `module` is what Python runs, with its arguments; the configuration's path is added to them.
    """

    def __init__(
        self,
        file: ConfigFile,
        *,
        before: Sequence[str] = (),
        module: Sequence[str] = RUN,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.file = file
        self._words = [*before, sys.executable, "-m", *module, str(file.path)]
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._log = file.path.with_name("daemon.log")
        self._log_begins = 0
        self._started = 0.0

    @property
    def pid(self) -> int:
        """Its process; it must have been started."""
        assert self._process is not None
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def log(self) -> str:
        """What it has said since it was started last."""
        data = self._log.read_bytes() if self._log.exists() else b""
        return data[self._log_begins :].decode(errors="replace")

    def start(self) -> None:
        """Start it, and do not wait for it."""
        assert self._process is None or self.code is not None
        with self._log.open("ab") as log:
            self._log_begins = log.tell()
            self._started = time.monotonic()
            self._process = subprocess.Popen(self._words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment)

    def is_ready(self) -> bool:
        """Whether it takes in what its devices send."""
        return RUNS in self.log()

    def ready(self, seconds: float = 30.0) -> float:
        """Wait until it is ready; gives the seconds since its start."""
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            assert self.code is None, f"it ended with {self.code}: {self.log()}"
            assert time.monotonic() < deadline, f"it was not ready within {seconds:g} s: {self.log()}"
            time.sleep(0.01)
        return time.monotonic() - self._started

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut would, but for the disk's cache."""
        self.signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait(30)

    def stop(self, seconds: float = 30.0) -> int:
        """End it as systemd does; gives its exit code."""
        self.signal(signal.SIGTERM)
        assert self._process is not None
        return self._process.wait(seconds)

    def memory(self) -> int:
        """The bytes that it holds in memory now."""
        return self._status("VmRSS")

    def peak_memory(self) -> int:
        """The most bytes that it ever held in memory."""
        return self._status("VmHWM")

    def threads(self) -> int:
        """How many threads it has."""
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def descriptors(self) -> int:
        """How many files it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def _status(self, key: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None and self.code is None:
            self.kill()


class Heard(NamedTuple):
    """A message: when it came, in seconds of `time.monotonic`, and `retained` where the broker had kept it from before."""

    at: float
    topic: str
    payload: bytes
    retained: bool


class Subscriber:
    """Listens to `topics` with a session that outlives its connection, and keeps `messages`, all of them, as they came.

    It comes back when the broker does. `keep` False counts them only (`count`), where there would be too many.
    """

    def __init__(self, port: int, topics: str = "tablectl/v1/#", *, session: str = "proof", keep: bool = True) -> None:
        self.messages: list[Heard] = []
        self.count = 0
        self.repeats = 0
        self._keep = keep
        self._topics = topics
        self._read = 0
        self._told: dict[str, bytes] = {}
        self._ready = threading.Event()
        self._client = client = Client(CallbackAPIVersion.VERSION2, session, protocol=MQTTProtocolVersion.MQTTv5)
        client.reconnect_delay_set(1, 1)
        client.on_connect = self._on_connect
        client.on_subscribe = lambda *rest: self._ready.set()
        client.on_message = self._on_message
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 36000
        client.connect("127.0.0.1", port, clean_start=False, properties=properties)

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        client.subscribe(self._topics, 1)

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        self.count += 1
        if self._keep:
            self.messages.append(Heard(time.monotonic(), message.topic, bytes(message.payload), message.retain))

    def told(self) -> dict[str, bytes]:
        """The notices heard so far by id, in the order of their first arrival; `repeats` counts those that came again.

        What a broker had kept from before we listened is passed over: it comes at its own time.
        """
        while self._read < len(self.messages):
            message = self.messages[self._read]
            self._read += 1
            if message.retained or not message.topic.endswith(_ENDS):
                continue
            event = _envelope(message.payload)
            if event.type not in _NOTICES:
                continue
            if event.id in self._told:
                self.repeats += 1
            self._told.setdefault(event.id, bytes(event.data))
        return self._told

    def latest(self, name: str) -> Envelope | None:
        """The last message whose topic ends in this name, such as `state`, `status` or `prompt`."""
        for message in reversed(self.messages):
            if message.topic.endswith(f"/{name}") and message.payload:
                return _envelope(message.payload)
        return None

    def __enter__(self) -> Self:
        self._client.loop_start()
        assert self._ready.wait(10), "the broker does not answer a subscriber"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.disconnect()
        self._client.loop_stop()


# What the table wrote


def ledgers(file: ConfigFile) -> list[Path]:
    """The ledgers of a table, oldest first."""
    found = (file.beside(file.config.storage.folder) / "ledger").glob("*.db")
    return sorted(found, key=lambda path: (path.name[:10], len(path.name), path.name))


def entries(path: Path) -> list[Entry]:
    """All entries of a ledger; it may be written meanwhile."""
    with Reader(path) as reader:
        return list(all_entries(reader))


def notices(file: ConfigFile) -> Iterator[tuple[str, bytes]]:
    """The notices of a table by their ids, over all its ledgers."""
    for path in ledgers(file):
        with Reader(path) as reader:
            for entry in all_entries(reader):
                if entry.kind == "notice":
                    yield f"{reader.session}-{entry.seq}", entry.body


def observations(file: ConfigFile) -> Iterator[Observation]:
    """What a table observed, over all its ledgers."""
    for path in ledgers(file):
        yield from (decode(entry.body) for entry in entries(path) if entry.kind == "observation")


def cards(file: ConfigFile) -> list[str]:
    """The cards that are in a table's ledgers, in their order; `??` is one that passed unread."""
    return [str(seen.card) for seen in observations(file) if isinstance(seen, CardDrawn)]


def recordings_of(file: ConfigFile) -> list[Path]:
    """The recordings of a table, oldest first."""
    folder = file.beside(file.config.storage.folder) / "recordings"
    return recordings.recordings(folder) if folder.is_dir() else []


class Standing(NamedTuple):
    """Where a game stands."""

    phase: str
    round: int


def folded(file: ConfigFile) -> Table:
    """The game as the newest ledger has it, folded again, and its notices compared; it may be written meanwhile."""
    path = ledgers(file)[-1]
    house = rules.load(file.config.table.house).house
    with Reader(path) as reader:
        found = pins.decode(reader.entries(0, 1)[0].body)
        table = table_of(found, house)
        refold(reader, table)
    return table


def standing(file: ConfigFile) -> Standing:
    """Where the game stands by the newest ledger."""
    table = folded(file)
    return Standing(table.phase, table.round.number)


def are_up(file: ConfigFile) -> bool:
    """Whether all devices are up by the newest ledger: what they send from now on is read, and nothing thrown away any more."""
    with Reader(ledgers(file)[-1]) as reader:
        state = reader.latest("state")
    devices = msgspec.json.decode(state.body, type=TableView).devices if state is not None else {}
    return all(device.name in devices and devices[device.name].state == "up" for device in file.config.devices)


def wait_for_phase(file: ConfigFile, phase: str, seconds: float = 30.0) -> None:
    """Wait until the game is in this phase, by its ledger."""
    until(lambda: bool(ledgers(file)) and standing(file).phase == phase, seconds, f"the phase {phase}")


def assert_whole(file: ConfigFile) -> int:
    """Every ledger verifies, and its recordings rebuild it to the same head; gives how many entries there are.

    The table must have been stopped in order: one that was killed has recorded more than its ledger knows.
    """
    house = rules.load(file.config.table.house).house
    size = 0
    reports = verify_days(ledgers(file))
    assert reports, "there is no ledger"
    for report in reports:
        assert report.whole, report.faults
        path = Path(report.ledger)
        with Reader(path) as reader:
            again = rebuild(reader, recordings.of_ledger(file.beside("store/recordings"), path.name), house, {})
        assert (again.size, again.root.hex()) == (report.size, report.root)
        size += report.size
    return size


def assert_told(file: ConfigFile, subscriber: Subscriber, seconds: float = 20.0) -> int:
    """Every notice in the ledgers reached the subscriber, once by its id and in order; gives how many there are."""
    wanted = list(notices(file))
    sessions = {name.partition("-")[0] for name, _ in wanted}

    def heard() -> list[tuple[str, bytes]]:
        told = subscriber.told().items()  # less what was said past a ledger that could not be written
        return [(name, body) for name, body in told if name.partition("-")[0] in sessions and "-aside-" not in name]

    with suppress(AssertionError):  # what is missing is said below
        until(lambda: len(heard()) >= len(wanted), seconds)
    found = heard()
    missing = [name for name, _ in wanted if name not in dict(found)]
    assert not missing, f"{len(missing)} of {len(wanted)} notices did not reach the subscriber: {missing[:5]}"
    for want, got in zip(wanted, found, strict=True):
        assert want == got, f"{got[0]} came where {want[0]} was due"
    return len(wanted)


# All of it together


class Stage(NamedTuple):
    """A table with all that is around it. Its parts end with `staged`."""

    file: ConfigFile
    broker: Broker
    subscriber: Subscriber
    emulated: EmulatedTable
    program: Program

    def begin(self) -> float:
        """Start the table, and wait until it is ready and its devices are up; gives the seconds until it was ready."""
        self.program.start()
        took = self.program.ready()
        until(lambda: are_up(self.file), 20, f"the devices: {self.program.log()}")
        return took


@contextmanager
def staged(
    folder: Path,
    *,
    broker: Broker | None = None,
    subscriber: Subscriber | None = None,
    name: str = "t07",
    house: str = "es",
    shoe: str = "bee-tek",
    pad: str = "dealer-pad",
    table: str = "",
    more: str = "",
    start: bool = True,
    module: Sequence[str] = RUN,
    environment: Mapping[str, str] | None = None,
    **emulated: Any,
) -> Iterator[Stage]:
    """A table in this folder, started and ready unless `start` is False. `emulated` is handed to `EmulatedTable`.

    A `broker` and a `subscriber` that are given go on afterwards.
    """
    with ExitStack() as stack:
        broker = broker or stack.enter_context(Broker(folder / "broker"))
        subscriber = subscriber or stack.enter_context(Subscriber(broker.port))
        file = configured(folder, broker=broker.url, name=name, house=house, shoe=shoe, pad=pad, table=table, more=more)
        devices = stack.enter_context(EmulatedTable(folder / "devices", house, shoe, pad, **emulated))
        program = stack.enter_context(Program(file, module=module, environment=environment))
        stage = Stage(file, broker, subscriber, devices, program)
        if start:
            stage.begin()
        yield stage
