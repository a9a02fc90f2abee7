"""The daemon: a live table, the threads around it, and the loop of the game's thread. It wires, and holds no rule.

| thread | job |
|---|---|
| main | the game: owns table, ledger and recording; takes what is in the inbox, does what is due, tells systemd that it lives |
| `tablectl-NAME` | one a device: opens it, reads it, delivers into the inbox |
| `tablectl-felt` | with `[[cameras]]`: keeps a process that watches the felt, delivers what that reports into the inbox |
| `tablectl-mqtt` | the publisher: reads the ledger, drives its connection to the broker |
| `tablectl-commands` | commands: drives a second connection, judges what arrives |
| `tablectl-metrics` | with `[metrics]`: serves figures |
| `tablectl-recordings` | packs and removes closed recordings, while there are any |

SIGTERM and SIGINT end it after what has come in was taken in; SIGHUP has it read the configuration again.
"""

from __future__ import annotations

import gc
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from tablectl import config
from tablectl.config import ConfigFile
from tablectl.daemon import reload
from tablectl.daemon.inbox import Inbox
from tablectl.daemon.journal import Journal
from tablectl.daemon.metrics import MetricsServer
from tablectl.daemon.notify import Notify
from tablectl.daemon.outlets import Outlets
from tablectl.daemon.storage import RECORD, Storage
from tablectl.daemon.table import LiveTable, Tell
from tablectl.errors import ConfigError, LedgerError
from tablectl.instants import from_micros
from tablectl.mqtt.judgement import Order
from tablectl.mqtt.orders import ShoeCommand
from tablectl.notices import Notice
from tablectl.observations import Link, Observation
from tablectl.recording.chunks import Chunk
from tablectl.shoe.encoder import Encoder
from tablectl.shoe.events import Bytes, Down, Event, Sent, Trouble, Up
from tablectl.shoe.port import Patience, Port
from tablectl.shoe.profile import Profile

if TYPE_CHECKING:
    from tablectl.daemon.felt import FeltWatch
    from tablectl.felt.watching import WatchingEvent

__all__ = ["Daemon"]

LOOK: Final = 0.2
"""Seconds for which the game waits for an event before it looks at what is due."""
GROUP: Final = 64
"""Events that may go into one commit, where so many wait."""
ORDERS: Final = 4
"""Commands that may be carried out, a commit each, before the devices are looked at again."""
LAST_WORDS: Final = 2.0
"""Seconds for which the devices' threads may deliver what they have read, when the table stops."""
START_SECONDS: Final = 60.0
"""What systemd is asked for at a time, while a long ledger is read."""
STATUS_EVERY: Final = 5.0

COMMANDS: Final = {"lock": "lock on", "unlock": "lock off", "clear_error": "clear error"}
"""What the order to a shoe is called in its profile."""


class Daemon:
    """One live table, from start to stop. `tell` hears what happens, `log` lines for the journal.

    `clock` gives microseconds since 1970 UTC; `patience` is that of the devices' threads.
    """

    def __init__(
        self,
        file: ConfigFile,
        *,
        tell: Tell = lambda *_: None,
        log: Callable[[str], object],
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        patience: Patience = Patience(),  # noqa: B008 (a NamedTuple cannot be changed)
    ) -> None:
        self._file = file
        self._patience = patience
        self._tell = tell
        self._log = log
        self._journal = Journal(log)
        self._clock = clock
        self._inbox = Inbox()
        self._notify = Notify()
        self._ports: dict[str, Port] = {}
        self._felt: FeltWatch | None = None
        self._profiles: dict[str, Profile] = {}
        self._stopping = False
        self._reload = False
        self._ordered = False  # there may be more commands than were carried out
        self._pending: ConfigFile | None = None
        self._reported = ""
        self._unanswered: deque[tuple[Order, bytes]] = deque()
        self._due_status = self._due_alive = 0.0

    def run(self) -> int:
        """Run until asked to stop. Gives the exit code: 0, or 7 when not all could be written.

        Raises `ConfigError`, `LedgerError`, before anything was taken in.
        """
        with self._signals(), ExitStack() as stack:
            storage = Storage(self._file.beside(self._file.config.storage.folder))
            stack.callback(storage.close)
            self._felt = self._felt_of(storage)
            table = stack.enter_context(
                LiveTable(
                    self._file,
                    storage,
                    clock=self._clock,
                    tell=self._heard,
                    device=self._order_device,
                    tried=self._tried,
                    warn=self._log,
                )
            )
            outlets = stack.enter_context(Outlets(self._file, storage, table, log=self._log, notify=self._inbox.wake))
            if self._file.config.metrics is not None:
                stack.enter_context(MetricsServer(self._file.config.metrics.listen, table.figures, log=self._log))
            self._profiles = table.profiles
            for device in self._file.config.devices:
                address = self._file.address_of(device)
                link = self._profiles[device.name].link
                self._ports[device.name] = Port(
                    device.name, address, link, self._inbox.put, clock=self._clock, patience=self._patience
                )
            for port in self._ports.values():
                port.start()
            stack.callback(self._close_ports)
            if self._felt is not None:
                stack.enter_context(self._felt)
            gc.freeze()  # what is there now stays: to look through it again would hold up a card for tens of milliseconds
            stack.callback(gc.unfreeze)
            self._notify.ready(self._status(table, outlets))
            self._log(f"table {self._file.name} runs; its record is {table.ledger.path}")
            if table.doubt is not None:
                self._log(table.doubt)
            while not self._stopping:
                self._turn(table, outlets)
            self._notify.stopping("taking in the last that came")
            self._last_words(table, outlets)
        if table.live.trouble is not None:
            self._log(f"not all could be written: {table.live.trouble}")
            return LedgerError.exit_code
        self._log(f"table {self._file.name} has stopped, and all is written")
        return 0

    def _felt_of(self, storage: Storage) -> FeltWatch | None:
        """What watches the felt, where there are cameras. Raises `ConfigError`."""
        if not self._file.config.cameras:
            return None
        from tablectl.daemon.felt import FeltWatch, settings_of  # OpenCV, which a table without cameras can do without

        settings = settings_of(self._file, storage.folder)
        return FeltWatch(settings, self._inbox.put, log=self._log, clock=self._clock)

    def _heard(self, observation: Observation, notices: tuple[Notice, ...]) -> None:
        if isinstance(observation, Link) and observation.device != RECORD and self._ports:  # before that, nobody has looked
            self._journal.device(observation)
        if self._felt is not None:
            self._felt.hear(notices)
        self._tell(observation, notices)

    def _tried(self, line: str) -> None:
        self._notify.more_time(START_SECONDS, line)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(*_: object) -> None:
            self._stopping = True

        def again(*_: object) -> None:
            self._reload = True

        wanted = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: again}
        before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        try:
            yield
        finally:
            for number, old in before.items():
                signal.signal(number, old)

    # The loop

    def _turn(self, table: LiveTable, outlets: Outlets) -> None:
        """Wait for something, take in what is there, commit it, and hand it on."""
        now = time.monotonic()
        if table.is_choked:
            time.sleep(LOOK)  # the devices wait, aloud, until the disk takes what there is
        else:
            event = self._inbox.take(0.0 if self._ordered else LOOK)
            now = time.monotonic()
            for _ in range(GROUP):
                if event is None:
                    break
                self._take(table, event, now)
                event = self._inbox.take(0.0)
            if event is not None:
                self._take(table, event, now)
        self._commit(table, outlets)
        self._ordered = False
        for _ in range(0 if table.is_choked else ORDERS):
            order = outlets.order()
            self._ordered = order is not None
            if order is None:
                break
            self._carry_out(table, outlets, order)
        if table.tend(now):
            outlets.wake()
        self._follow_up(table, outlets, now)

    def _take(self, table: LiveTable, event: Event | WatchingEvent, now: float) -> None:
        if isinstance(event, Bytes):
            table.take(Chunk(event.at, event.port, "<", event.data), now)
        elif isinstance(event, Sent):
            table.take(Chunk(event.at, event.port, ">", event.data), now)
        elif isinstance(event, Up):
            table.observe(Link(device=event.port, state="up", why=f"opened: {event.why}"[:500]))
        elif isinstance(event, Down):
            table.observe(Link(device=event.port, state="down", why=event.why[:500]))
        elif isinstance(event, Trouble):
            self._trouble(table, event)
        elif self._felt is not None:
            self._felt.take(table, event)

    def _trouble(self, table: LiveTable, event: Trouble) -> None:
        device = table.table.devices.get(event.port)
        if device is not None and device.state == "up":
            table.observe(Link(device=event.port, state="up", why=f"corrupt: {event.why}"[:500]))
        elif device is None or device.why != event.why:
            table.observe(Link(device=event.port, state="down", why=event.why[:500]))

    def _commit(self, table: LiveTable, outlets: Outlets) -> None:
        if table.commit():
            if self._felt is not None:
                self._felt.ask(table)
            outlets.wake()
            while self._unanswered:  # "done" is said of what is on the disk
                outlets.answer(*self._unanswered.popleft())
        else:
            outlets.say_aside(table)
        self._journal.record(table.live.trouble)

    def _carry_out(self, table: LiveTable, outlets: Outlets, order: Order | bytes) -> None:
        if isinstance(order, bytes):
            table.refused(order)
        else:
            now = self._clock()
            self._unanswered.append((order, table.desk.carry_out(order, at=from_micros(now), now=now)))
        self._commit(table, outlets)

    def _order_device(self, command: ShoeCommand) -> str | None:
        """Hand a host command to the shoe; gives the reason why not."""
        device = next(device for device in self._file.config.devices if device.name == "shoe")
        port = self._ports.get("shoe")
        if not device.write:
            return "read_only"
        values = {} if command.number is None else {"error_number": command.number}
        try:
            frame = Encoder(self._profiles["shoe"]).command(COMMANDS[command.do], values)
        except ValueError:
            return "unknown_to_the_shoe"
        return None if port is not None and port.write(frame) else "shoe_down"

    def _follow_up(self, table: LiveTable, outlets: Outlets, now: float) -> None:
        """The next day, the configuration, systemd."""
        outlets.follow(table.ledger.path)
        if outlets.has_broker:
            self._journal.broker(outlets.online, outlets.trouble)
        if self._reload:
            self._reload = False
            self._read_again(table)
        if self._pending is not None and not table.table.round_open:
            self._change(table, outlets)
        if self._inbox.was_full():
            self._log("the table is behind: the devices wait")
        if now >= self._due_alive:
            self._due_alive = now + (self._notify.watchdog or STATUS_EVERY * 4) / 4
            self._notify.alive()
        if now >= self._due_status:
            self._due_status = now + STATUS_EVERY
            status = self._status(table, outlets)
            if status != self._reported:
                self._reported = status
                self._notify.status(status)

    def _status(self, table: LiveTable, outlets: Outlets) -> str:
        game = table.table
        devices = ", ".join(f"{name} {device.state}" for name, device in sorted(game.devices.items()))
        record = f"; NOT WRITTEN: {table.live.trouble}" if table.live.trouble else ""
        return f"round {game.round.number}, {game.phase}; {devices or 'no device yet'}; broker {outlets.status}{record}"

    # Reading the configuration again

    def _read_again(self, table: LiveTable) -> None:
        self._notify.reloading()
        try:
            file = config.load(self._file.path)
            reload.check(self._file, file)
        except ConfigError as error:
            self._log(f"the configuration stays as it was: {error}")
            self._notify.ready("the configuration stays as it was")
            return
        self._pending = file
        if table.table.round_open:
            self._log("the configuration was read; it is taken over when the round ends")

    def _change(self, table: LiveTable, outlets: Outlets) -> None:
        file, self._pending = self._pending, None
        assert file is not None
        try:
            table.change(file)
        except ConfigError as error:
            self._log(f"the configuration stays as it was: {error}")
        else:
            self._file = file
            outlets.change(file)
            self._log("the configuration was read again")
        self._notify.ready(self._status(table, outlets))

    # The end

    def _last_words(self, table: LiveTable, outlets: Outlets) -> None:
        """Take in what the devices have sent, and hand on what can be handed on."""
        for port in self._ports.values():
            port.stop()
        if self._felt is not None:
            self._notify.more_time(START_SECONDS, "writing the last evidence")
            self._felt.close()
        until = time.monotonic() + LAST_WORDS
        while (now := time.monotonic()) < until and not table.is_choked:
            event = self._inbox.take(0.05)
            if event is not None:
                self._take(table, event, now)
            elif not any(port.is_alive for port in self._ports.values()):
                break
        if self._felt is not None:
            self._felt.settle(table)
        for record in outlets.stop_listening():
            table.refused(record)
        table.desk.settle(self._clock(), at_once=True)
        self._commit(table, outlets)
        table.checkpoint()
        outlets.last_words()

    def _close_ports(self) -> None:
        self._inbox.close()
        for port in self._ports.values():
            port.close()
