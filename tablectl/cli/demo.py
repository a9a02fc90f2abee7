"""`tablectl demo`: the live table on a virtual shoe and pad, and a subscriber who shows it.

The real daemon runs as a process of its own and reads two pseudo-terminals, on which recorded sessions are played or random
rounds are dealt. What is shown is what arrived over MQTT, never what the game knows; at the end of a session it is compared with
the ledger, notice by notice.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, Protocol

import click
from rich.console import Console
from rich.live import Live

from tablectl.cli.broker_process import BrokerProcess
from tablectl.cli.demo_felt import RESTS, DemoFelt, Saw, saw
from tablectl.cli.felt_view import HEIGHT, WIDTH, felt
from tablectl.cli.live_table import SUPERVISOR, LiveTable
from tablectl.cli.onlooker import Onlooker
from tablectl.cli.telling import SEVERITY, money, told
from tablectl.emulator.device import VirtualDevice
from tablectl.emulator.mistakes import MISTAKES
from tablectl.emulator.table import EmulatedTable
from tablectl.errors import BrokerError, TablectlError, UsageError
from tablectl.game.table import Table
from tablectl.game.view import TableView
from tablectl.houses import rules
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.ledger.reader import Reader
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import ask
from tablectl.mqtt.listener import Listener
from tablectl.mqtt.orders import RulingCommand
from tablectl.notices import Alert, Notice, Outcome, RoundClosed
from tablectl.recording.importers import open_log
from tablectl.recording.native import profiles_of
from tablectl.recording.player import paced
from tablectl.resources import data_folder

__all__ = ["demo"]

SESSIONS = {"fr": "French", "es": "Spanish"}
RULED = "The dealer drew on 17 on purpose; the table stood still until a supervisor had that card burned, over MQTT."
PACE = 1.0
"""Times as fast as recorded: nearly half a minute in all."""
QUICKEST = 2.0
"""Quicker, and two cards would follow one another faster than a hand deals, which the table says."""
PAUSE = 1.5
"""Seconds, at the recorded speed, for which the end of a round, or a critical alert, stays to be read."""
DEALT = 0.3
"""Seconds between two things that a dealer does, where rounds are dealt."""
LAID = 0.9
"""The same where the cards are also laid: as quick as a hand."""
SAID = frozenset({"evt", "prompt", "state", "status", "info"})
"""The topics on which a table says how it stands; others are for the audit, and for commands."""
SETTLES = 0.5
"""Seconds for which what follows from the last of it is waited for."""
PATIENCE = 10.0
"""Seconds for the broker to hand on what it was told; on a loopback port it needs milliseconds."""
TALLEST = 24
"""Rows of the picture, where the terminal has them."""

Show = Callable[[Notice | TableView], None]
Laid = Callable[[Table], object]


@click.command(epilog="\b\nExamples:\n  tablectl demo --house es\n  tablectl demo --house lt --rounds 20 --wrong")
@click.option(
    "--house", type=click.Choice(rules.names()), help="Only this house's session; or where rounds are dealt, by its rules."
)
@click.option("--rounds", type=click.IntRange(min=1), help="Deal so many random rounds instead of the recorded sessions.")
@click.option("--seed", type=int, default=2, show_default=True, help="The same seed deals the same rounds.")
@click.option("--wrong", is_flag=True, help="The dealer makes a mistake now and then, on which a supervisor rules.")
@click.option("--shoe", default="angel-eye-ii", show_default=True, metavar="PROFILE", help="The make of the shoe that deals.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0.1, max=QUICKEST),
    default=PACE,
    show_default=True,
    metavar="N",
    help=f"Times faster than recorded, at most {QUICKEST:g}.",
)
@click.option("--felt", "with_felt", is_flag=True, help="Lay the cards too: a rendered felt, and two virtual cameras.")
def demo(house: str | None, rounds: int | None, seed: int, wrong: bool, shoe: str, speed: float, with_felt: bool) -> None:
    """Show a live table at work, with no hardware and no configuration.

    The real daemon reads a virtual shoe and a virtual dealer's pad, on which two recorded sessions are played (or, with --rounds,
    random rounds dealt); it publishes to a Mosquitto of its own on a loopback port. The table is drawn from what a subscriber
    there receives; where stdout is no terminal, it is told in lines. With --felt one random round is dealt
    (or --rounds), each card is laid on a rendered felt too, and the table's cameras say where it lies.
    """
    if rounds is None and not with_felt and house is not None and house not in SESSIONS:
        raise UsageError(f"there is no recorded session of {house}; give --rounds N to deal some", field="--house")
    if with_felt:
        rounds = rounds or 1
    with _ended_by_a_closed_terminal(), BrokerProcess() as broker:
        if rounds is not None:
            plays: list[Play] = [_Dealt(house or "fr", shoe, rounds, seed, wrong)]
        else:
            plays = [_Recorded(name) for name in ([house] if house else SESSIONS)]
        click.echo(_introduction(plays, broker.address))
        if _watched():
            time.sleep(PAUSE / speed)  # the picture will stand before it
        shown = [_show(play, broker.address, speed, with_felt=with_felt) for play in plays]
    another = "demo" if wrong and rounds is not None else "demo --rounds 2 --wrong"
    for session in shown:
        click.echo("\n" + "\n".join(_summary(session)))
    click.echo("\n" + "\n".join(_next_steps(shown[-1].house, another)))


@contextmanager
def _ended_by_a_closed_terminal() -> Iterator[None]:
    """Meanwhile a terminal that is closed ends us as Ctrl-C does, so that nothing is left behind."""
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:  # as under nohup
        yield
        return
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Shown(NamedTuple):
    """What was seen of a table, over MQTT: it ended in `phase`; `notices` all arrived once by id, `repeats` more than once."""

    title: str
    house: str
    rounds: list[RoundClosed]
    alerts: list[Alert]
    phase: str
    notices: int
    repeats: int
    ruled: bool
    saw: Saw | None = None


class Play(Protocol):
    """What is shown: whose, on which makes of devices, and how the devices are made to speak."""

    title: str
    house: str

    @property
    def profiles(self) -> Mapping[str, str]:
        """The makes of the devices, by port."""

    def devices(self, folder: Path) -> AbstractContextManager[Mapping[str, VirtualDevice]]:
        """The devices, in `folder`, while the context is entered."""

    def go(self, watch: _Watch, speed: float, laid: Laid | None) -> None:
        """Let them speak, and have `watch` look on meanwhile; `laid` is shown a dealer's own table after each thing he did."""


class _Recorded:
    """One of the recorded sessions, byte for byte and at its pace."""

    def __init__(self, house: str) -> None:
        self.house = house
        self.title = f"The {SESSIONS[house]} session"
        self._log = open_log(data_folder("samples") / f"{house}.rec")
        self.profiles = profiles_of(self._log.header)
        self._devices: Mapping[str, VirtualDevice] = {}

    @contextmanager
    def devices(self, folder: Path) -> Iterator[Mapping[str, VirtualDevice]]:
        with ExitStack() as stack:
            self._devices = {port: stack.enter_context(VirtualDevice(port, folder)) for port in self.profiles}
            yield self._devices

    def go(self, watch: _Watch, speed: float, laid: Laid | None) -> None:
        for chunk in paced(self._log, speed, watch.look, watch.clock):
            self._devices[chunk.port].send(chunk.data)
            watch.look(0.0)


class _Dealt:
    """Random rounds, as a dealer deals them who makes mistakes now and then, or none."""

    def __init__(self, house: str, shoe: str, rounds: int, seed: int, wrong: bool) -> None:
        self.house = house
        self.title = f"{rounds} dealt round{'s' if rounds > 1 else ''}"
        self.profiles = {"shoe": shoe, "pad": "dealer-pad"}
        self._rounds = rounds
        self._seed = seed
        self._wrong = wrong
        self._table: EmulatedTable | None = None

    @contextmanager
    def devices(self, folder: Path) -> Iterator[Mapping[str, VirtualDevice]]:
        mistakes = tuple(MISTAKES) if self._wrong else ()
        with EmulatedTable(
            folder, self.house, self.profiles["shoe"], seed=self._seed, rounds=self._rounds, mistakes=mistakes, every=1,
            supervisor=SUPERVISOR,
        ) as table:  # fmt: skip
            self._table = table
            yield table.devices

    def go(self, watch: _Watch, speed: float, laid: Laid | None) -> None:
        table = self._table
        assert table is not None, "its devices come first"
        table.pause = (DEALT if laid is None else LAID) / speed
        while table.dealer.closed < self._rounds and table.step() is not None:
            if laid is not None:
                laid(table.table)
            watch.look(0.0)


def _show(play: Play, address: Address, speed: float, *, with_felt: bool = False) -> Shown:
    """Play it to a live table, and show what is heard of that. Raises `BrokerError` when not all of it arrives."""
    name = TableName("demo", "demo", play.house)
    click.echo(click.style(f"\n{play.title}", bold=True))
    with (
        tempfile.TemporaryDirectory(prefix="tablectl-demo-") as folder,
        Listener(address, f"tablectl/v1/{name}/#") as listener,
        play.devices(Path(folder)) as devices,
        nullcontext(DemoFelt(Path(folder), play.house) if with_felt else None) as laid_on,
        LiveTable(
            Path(folder), name, play.house, play.profiles, devices, address, more=laid_on.configuration if laid_on else ""
        ) as table,
        _screen() as show,
    ):
        if laid_on is not None:
            laid_on.is_seen(table.ledger)
        watch = _Watch(name, listener, show, PAUSE / speed if _watched() else 0.0)
        play.go(watch, speed, laid_on.after if laid_on else None)
        watch.look(RESTS if laid_on else SETTLES)
        ruled = watch.is_suspended
        if ruled:
            _rule(address, name)
            watch.look(SETTLES)
        code = table.stop()
        if code:
            raise TablectlError(f"the table ended with exit code {code}: {table.last_words}")
        watch.see_out(table.ledger, address)
        seen = saw(table.ledger) if laid_on is not None else None
    return watch.shown(play, ruled=ruled)._replace(saw=seen)


def _rule(address: Address, name: TableName) -> None:
    """What `tablectl rule burn --by CHIEF7` does. Raises `BrokerError` when the table gives no answer."""
    expires = from_micros(time.time_ns() // 1000 + 20_000_000)
    order = RulingCommand(id=secrets.token_hex(16), expires=expires, do="burn", by=SUPERVISOR, reason="drawn on 17")
    ask(address, name, "ruling", order, seconds=PATIENCE)


class _Watch:
    """The subscriber's side: shows what it hears, and stops the session's clock for what is worth a second look.

    `pause` is in seconds, 0 to stop for nothing.
    """

    def __init__(self, name: TableName, listener: Listener, show: Show, pause: float) -> None:
        self._base = f"tablectl/v1/{name}/"
        self._listener = listener
        self._show = show
        self._pause = pause
        self._paused = 0.0
        self._onlooker = Onlooker()
        self._rounds: list[RoundClosed] = []
        self._alerts: list[Alert] = []

    def clock(self) -> float:
        """Seconds that only go forward, and not while the session is paused."""
        return time.monotonic() - self._paused

    def look(self, seconds: float) -> None:
        """Show what arrives within `seconds`, and for longer where it deserves a pause. Raises `BrokerError`."""
        until = time.monotonic() + seconds
        while True:
            for heard in self._listener.turn(max(0.0, until - time.monotonic())):
                if heard.topic.removeprefix(self._base).partition("/")[0] not in SAID:
                    continue
                what = self._onlooker.hear(heard.payload)
                if what is not None and self._take(what):
                    until += self._pause
                    self._paused += self._pause
            if time.monotonic() >= until:
                return

    def _take(self, what: Notice | TableView) -> bool:
        """Show it, and say whether it deserves a pause."""
        self._show(what)
        if isinstance(what, RoundClosed):
            self._rounds.append(what)
            return True
        if isinstance(what, Alert):
            self._alerts.append(what)
            return what.severity == "critical"
        return False

    def see_out(self, ledger: Path, address: Address) -> None:
        """Wait for the rest, and see that everything in the ledger arrived. Raises `BrokerError` when it did not."""
        with Reader(ledger) as reader:
            said = reader.notices_after(0, reader.count_notices(0))
            wanted = [(f"{reader.session}-{entry.seq}", entry.body) for entry in said]
            last = reader.last()
        onlooker = self._onlooker
        deadline = time.monotonic() + PATIENCE
        while (len(onlooker.told) < len(wanted) or onlooker.view_holds < last) and time.monotonic() < deadline:
            self.look(0.02)
        if [*onlooker.told.items()] != wanted:
            raise BrokerError(f"{len(wanted)} notices were told, not the same {len(onlooker.told)} arrived", where=str(address))

    @property
    def is_suspended(self) -> bool:
        """Whether the table waits for a ruling, as far as was heard."""
        return self._onlooker.view is not None and self._onlooker.view.phase == "suspended"

    def shown(self, play: Play, *, ruled: bool) -> Shown:
        """What was seen in all."""
        heard = self._onlooker
        phase = heard.view.phase if heard.view else ""
        return Shown(play.title, play.house, self._rounds, self._alerts, phase, len(heard.told), heard.repeats, ruled)


def _watched() -> bool:
    """Whether a person may be looking."""
    return sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def _screen() -> Iterator[Show]:
    """Where things are shown: a picture on a terminal that has room for it, else lines."""
    console = Console(highlight=False)
    if not _watched() or console.is_dumb_terminal or console.width < WIDTH or console.height < HEIGHT:
        yield _in_lines
        return
    said: list[Outcome | RoundClosed] = []
    last: TableView | None = None
    with Live(console=console, screen=True, auto_refresh=False) as live:

        def picture(what: Notice | TableView) -> None:
            nonlocal last
            if isinstance(what, Outcome | RoundClosed):
                said.append(what)
            elif isinstance(what, TableView):
                last = what
                live.update(felt(what, said, height=min(console.height, TALLEST)), refresh=True)

        yield picture
    if last is not None:
        console.print(felt(last, said))  # the other screen, on which it was drawn, is gone


def _in_lines(what: Notice | TableView) -> None:
    line = None if isinstance(what, TableView) else told(what)
    if line is not None:
        click.echo(line)


def _introduction(plays: Sequence[Play], address: Address) -> str:
    titles = " and ".join(play.title[0].lower() + play.title[1:] for play in plays)
    return click.wrap_text(
        f"A live table: the daemon reads a virtual shoe and pad, on which you see {titles}, and publishes to a Mosquitto of its "
        f"own at {address}; what is shown is what a subscriber there hears.",
        width=78,
    )


def _summary(session: Shown) -> Iterator[str]:
    yield click.style(f"{session.title}, house {session.house}", bold=True)
    for closed in session.rounds:
        sums = f"staked {money(closed.staked)}, returned {money(closed.returned)}, carried {money(closed.carried)}"
        yield f"  round {closed.number}: {sums}"
    yield f"  {session.notices} notices in the ledger, all received over MQTT, each once by id, in order"
    if session.repeats:
        yield f"  {session.repeats} came again, and were dropped by their ids"
    if session.saw is not None:
        yield from session.saw.lines()
    for alert in session.alerts:
        yield f"  {click.style(f'! {alert.severity}: {alert.code}: {alert.text}', fg=SEVERITY[alert.severity], bold=True)}"
    if not session.alerts:
        yield "  no alerts"
    if session.ruled and any(alert.code == "dealer.drew_on_17" for alert in session.alerts):
        yield f"  {RULED}"


def _next_steps(house: str, another: str) -> Iterator[str]:
    sample = data_folder("samples") / f"{house if house in SESSIONS else next(iter(SESSIONS))}.rec"
    if sample.is_relative_to(Path.cwd()):
        sample = sample.relative_to(Path.cwd())
    command = _called()
    yield "To try next:"
    yield f"  {command} {another}"
    yield f"  {command} house show {house}"
    yield f"  {command} replay {shlex.quote(str(sample))} --json"


def _called() -> str:
    """The command as it can be called again from here."""
    called = Path(sys.argv[0])
    if called.name != "tablectl":
        return f"{shlex.quote(sys.executable)} -m tablectl"
    return "tablectl" if shutil.which("tablectl") == str(called) else shlex.quote(os.path.relpath(called))
