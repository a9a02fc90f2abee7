"""`tablectl demo`: recorded sessions through decoders, game, ledger, publisher and broker to a subscriber, who shows the table.

All of the live table but its devices, in one place. What is shown is what arrived over MQTT, never what the game knows; at the
end of a session the two are compared, notice by notice.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.live import Live

from tablectl import __version__
from tablectl.cli.broker_process import BrokerProcess
from tablectl.cli.felt_view import HEIGHT, WIDTH, felt
from tablectl.cli.onlooker import Onlooker
from tablectl.cli.replay import Speed
from tablectl.cli.telling import SEVERITY, money, told
from tablectl.errors import BrokerError
from tablectl.game.table import Table
from tablectl.game.view import TableView
from tablectl.game.view import encode as encode_view
from tablectl.houses import rules
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.ledger.reader import Reader
from tablectl.ledger.store import Ledger
from tablectl.mqtt.address import Address
from tablectl.mqtt.listener import Listener
from tablectl.mqtt.publisher import Publisher
from tablectl.notices import Alert, Notice, Outcome, RoundClosed
from tablectl.notices import encode as encode_notice
from tablectl.observations import encode as encode_observation
from tablectl.recording.importers import open_log
from tablectl.recording.native import profiles_of
from tablectl.recording.player import paced
from tablectl.recording.sources import observed
from tablectl.resources import data_folder
from tablectl.settings import digest_of
from tablectl.shoe import profile as profiles
from tablectl.shoe.decoder import Decoder

__all__ = ["demo"]

SESSIONS = {"fr": "French", "es": "Spanish"}
SUSPENDED = "It ends suspended on purpose: the dealer drew on 17; a supervisor must rule."
PACE = 1.0
"""Times as fast as recorded, where a person looks on: nearly half a minute in all."""
PAUSE = 1.5
"""Seconds, at the recorded speed, for which the end of a round, or a critical alert, stays to be read."""
PATIENCE = 10.0
"""Seconds for the broker to hand on what it was told; on a loopback port it needs milliseconds."""
TALLEST = 24
"""Rows of the picture, where the terminal has them."""

Show = Callable[[Notice | TableView], None]


@click.command(epilog="\b\nExample:\n  tablectl demo --house es --speed 0.5")
@click.option("--house", type=click.Choice([*SESSIONS]), help="Show this session only.")
@click.option(
    "--speed",
    type=Speed(),
    default=lambda: PACE if _watched() else "max",
    metavar="N|max",
    help=f"Times faster than recorded.  [default: {PACE:g} on a terminal, else max]",
)
def demo(house: str | None, speed: float | None) -> None:
    """Show a table at work, with no hardware and no configuration.

    Two recorded sessions, a shoe and a dealer's pad each, run through decoders, rules and ledger to a Mosquitto of their own on a
    loopback port. The table is drawn from what a subscriber there receives; where stdout is no terminal, it is told in lines.
    """
    names = [house] if house else [*SESSIONS]
    with _ended_by_a_closed_terminal(), BrokerProcess() as broker:
        click.echo(_introduction(names, broker.address))
        if _watched() and speed is not None:
            time.sleep(PAUSE / speed)  # the picture will stand before it
        shown = [_show(name, broker.address, speed) for name in names]
    for session in shown:
        click.echo("\n" + "\n".join(_summary(session)))
    click.echo("\n" + "\n".join(_next_steps(names[-1])))


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
    """What was seen of a session, over MQTT: it ended in `phase`; `notices` all arrived once by id, `repeats` more than once."""

    house: str
    rounds: list[RoundClosed]
    alerts: list[Alert]
    phase: str
    notices: int
    repeats: int


def _show(house: str, address: Address, speed: float | None) -> Shown:
    """Replay a session and show what is heard of it. Raises `BrokerError` when not all of it arrives."""
    path = data_folder("samples") / f"{house}.rec"
    log = open_log(path)
    found = {port: profiles.load(name) for port, name in profiles_of(log.header).items()}
    house_file = rules.load(log.header.get("house", house))
    pin = Pin(
        software=f"tablectl {__version__}",
        table=TableName("demo", "demo", house),
        house=Pinned(house_file.house.name, house_file.digest),
        language=house_file.house.language,
        profiles={port: Pinned(file.profile.name, file.digest) for port, file in found.items()},
        sources=(Pinned(path.name, digest_of(path)),),
    )
    table = Table(house_file.house)
    click.echo(click.style(f"\nThe {SESSIONS[house]} session", bold=True))
    with (
        tempfile.TemporaryDirectory(prefix="tablectl-demo-") as folder,
        Listener(address, f"tablectl/v1/{pin.table}/#") as listener,
        Ledger.create(Path(folder) / "ledger.db", pin) as ledger,
        Publisher(ledger.path, address) as publisher,
        _screen() as show,
    ):
        publisher.wait_online(PATIENCE)
        watch = _Watch(listener, show, 0.0 if speed is None else PAUSE / speed)
        chunks = paced(log, speed, watch.look, watch.clock)
        for seen in observed(chunks, {port: Decoder(file.profile, port) for port, file in found.items()}):
            said = [encode_notice(notice) for notice in table.feed(seen.observation)]
            ledger.append(encode_observation(seen.observation), said, encode_view(table))
            ledger.commit()
            publisher.wake()
            watch.look(0.0)
        if not publisher.drain(PATIENCE):
            raise BrokerError(f"has not taken all notices: {publisher.trouble or 'no answer'}", where=str(address))
        watch.see_out(ledger.path, address)
    return watch.shown(house)


class _Watch:
    """The subscriber's side: shows what it hears, and stops the session's clock for what is worth a second look.

    `pause` is in seconds, 0 to stop for nothing.
    """

    def __init__(self, listener: Listener, show: Show, pause: float) -> None:
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

    def shown(self, house: str) -> Shown:
        """What was seen in all."""
        onlooker = self._onlooker
        phase = onlooker.view.phase if onlooker.view else ""
        return Shown(house, self._rounds, self._alerts, phase, len(onlooker.told), onlooker.repeats)


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


def _introduction(names: list[str], address: Address) -> str:
    who = " and ".join(f"the {SESSIONS[name]}" for name in names)
    several = len(names) > 1
    return click.wrap_text(
        f"Replaying {who} recorded session{'s' if several else ''} through decoders, house rules and ledger to a Mosquitto of "
        f"{'their' if several else 'its'} own at {address}; what you see is the table as a subscriber there hears it.",
        width=78,
    )


def _summary(session: Shown) -> Iterator[str]:
    yield click.style(f"The {SESSIONS[session.house]} session, house {session.house}", bold=True)
    for closed in session.rounds:
        sums = f"staked {money(closed.staked)}, returned {money(closed.returned)}, carried {money(closed.carried)}"
        yield f"  round {closed.number}: {sums}"
    yield f"  {session.notices} notices in the ledger, all received over MQTT, each once by id, in order"
    if session.repeats:
        yield f"  {session.repeats} came again, and were dropped by their ids"
    for alert in session.alerts:
        yield f"  {click.style(f'! {alert.severity}: {alert.code}: {alert.text}', fg=SEVERITY[alert.severity], bold=True)}"
    if not session.alerts:
        yield "  no alerts"
    if session.phase == "suspended":
        yield f"  {SUSPENDED}"


def _next_steps(house: str) -> Iterator[str]:
    sample = data_folder("samples") / f"{house}.rec"
    if sample.is_relative_to(Path.cwd()):
        sample = sample.relative_to(Path.cwd())
    command = _called()
    yield "To try next:"
    yield f"  {command} house show {house}"
    yield f"  {command} replay {shlex.quote(str(sample))} --json"


def _called() -> str:
    """The command as it can be called again from here."""
    called = Path(sys.argv[0])
    if called.name != "tablectl":
        return f"{shlex.quote(sys.executable)} -m tablectl"
    return "tablectl" if shutil.which("tablectl") == str(called) else shlex.quote(os.path.relpath(called))
