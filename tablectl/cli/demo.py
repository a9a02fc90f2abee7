"""`tablectl demo`: the live table on a virtual shoe, pad and felt, its display, and a subscriber who shows it.

The real daemon runs as a process of its own, a table each, and reads two pseudo-terminals, on which recorded sessions are played
or random rounds are dealt; its cameras see the cards on a rendered felt, and the real display serves its pages to browsers. What
is shown here is what arrived over MQTT, never what the game knows; at the end of a session it is compared with the ledger, notice
by notice.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

import click

from tablectl.cli.broker_process import BrokerProcess
from tablectl.cli.demo_display import DemoDisplay
from tablectl.cli.demo_felt import DemoFelt, saw
from tablectl.cli.demo_plays import SESSIONS, Dealt, Play, Recorded
from tablectl.cli.demo_screen import attended, screen, watched
from tablectl.cli.demo_watch import SITE, Ears, Shown, Watch
from tablectl.cli.demo_words import introduction, next_steps, summary
from tablectl.cli.live_table import LiveTable
from tablectl.errors import TablectlError, UsageError
from tablectl.houses import rules
from tablectl.ledger.pin import TableName

__all__ = ["demo"]

PACE = 1.0
"""Times as fast as recorded."""
QUICKEST = 2.0
"""Quicker, and two cards would follow one another faster than a hand deals, which the table says."""
PAUSE = 1.5
"""Seconds, at the recorded speed, for which the end of a round, or a critical alert, stays to be read."""
SETTLES = 0.5
"""Seconds for which what follows from the last of it is waited for."""
LOOKS = 0.5
"""Seconds between two looks at whether all that stays up is well."""


@click.command(
    epilog="\b\nExamples:\n"
    "  tablectl demo --house es\n"
    "  tablectl demo --house lt --rounds 2\n"
    "  tablectl demo --rounds 20 --wrong --no-felt --no-display"
)
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
@click.option(
    "--felt/--no-felt",
    "with_felt",
    default=None,
    help="Lay all cards, or none, on a rendered felt, seen by two cameras.  [default: those of the first session]",
)
@click.option("--display/--no-display", "with_display", default=True, help="Serve the screens to browsers, or do not.")
def demo(
    house: str | None,
    rounds: int | None,
    seed: int,
    wrong: bool,
    shoe: str,
    speed: float,
    with_felt: bool | None,
    with_display: bool,
) -> None:
    """Show a live table at work, with no hardware and no configuration.

    The real daemon reads a virtual shoe and a virtual dealer's pad, on which two recorded sessions are played (or, with --rounds,
    random rounds dealt); at the first, each card is laid on a rendered felt, and the table's cameras say when and where it came
    to rest. The daemon publishes to a Mosquitto of its own on a loopback port. The table is drawn from what a subscriber there
    receives; where stdout is no terminal, it is told in lines.

    The display serves the same to browsers, on a loopback port that is told at the beginning. On a terminal it stays up when all
    was dealt, until Ctrl-C; else all ends then.
    """
    if rounds is None and house is not None and house not in SESSIONS:
        raise UsageError(f"there is no recorded session of {house}; give --rounds N to deal some", field="--house")
    if rounds is not None:
        plays: list[Play] = [Dealt(house or "fr", shoe, rounds, seed, wrong)]
    else:
        plays = [Recorded(name) for name in ([house] if house else SESSIONS)]
    laid = {play.house for play in (plays[:1] if with_felt is None else plays if with_felt else ())}
    with _ended_once(), ExitStack() as stack:
        broker = stack.enter_context(BrokerProcess())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tablectl-demo-")))
        display = stack.enter_context(DemoDisplay(folder, broker.address)) if with_display else None
        click.echo(introduction([(play.title, play.house in laid) for play in plays], broker.address))
        if display is not None:
            click.echo(f"\nThe display: {display.address}\n  {display.sign_in}")
        ears = Ears(broker.address)
        stack.callback(ears.close)
        staged = [_Staged(play, folder / play.house, ears, with_felt=play.house in laid) for play in plays]
        with ears.open():
            tables = [stack.enter_context(table) for table in staged]
        shown = [table.show(display.address if display is not None else None, speed) for table in tables]
        for session in shown:
            click.echo("\n" + "\n".join(summary(session)))
        if display is not None:
            display.check()
        another = "demo" if wrong and rounds is not None else "demo --rounds 2 --wrong"
        click.echo("\n" + "\n".join(next_steps(shown[-1].house, another)))
        if display is not None and attended():
            with suppress(KeyboardInterrupt):  # that is what it waits for, from the first letter on that says so
                click.echo(f"\nThe display stays at {display.address} until Ctrl-C.")
                _stay(display, tables, ears)
        for table in tables:
            table.end()


def _stay(display: DemoDisplay, tables: list[_Staged], ears: Ears) -> None:
    """Stay until Ctrl-C, or until the terminal is gone. Raises `TablectlError` when anything ends before."""
    while attended():  # a terminal that is closed may be told to our parent alone
        display.check()
        for table in tables:
            table.check()
            ears.turn(table.name.table, 0.0)  # it was shown
        ears.wait(LOOKS)


@contextmanager
def _ended_once() -> Iterator[None]:
    """Meanwhile Ctrl-C, SIGTERM and a terminal that is closed end us, and no second one cuts short what then is taken down."""
    told = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in told}
    heard = [number for number in told if before[number] is not signal.SIG_IGN]  # as under nohup, or in the background

    def end(number: int, frame: FrameType | None) -> None:
        for other in heard:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


class _Staged:
    """A live table with its virtual devices, in `folder`, while this is entered."""

    def __init__(self, play: Play, folder: Path, ears: Ears, *, with_felt: bool) -> None:
        self.name = TableName(SITE, SITE, play.house)
        self._play = play
        self._folder = folder
        self._ears = ears
        self._with_felt = with_felt
        self._felt: DemoFelt | None = None
        self._stack = ExitStack()
        self._table: LiveTable | None = None

    def __enter__(self) -> Self:
        """Start it. Raises `DeviceError` when it does not open its ports."""
        self._folder.mkdir()
        with ExitStack() as stack:
            devices = stack.enter_context(self._play.devices(self._folder))
            if self._with_felt:
                self._felt = DemoFelt(self._folder, self._play.house)
            more = self._felt.configuration if self._felt is not None else ""
            table = LiveTable(
                self._folder, self.name, self._play.house, self._play.profiles, devices, self._ears.address, more=more
            )  # fmt: skip
            self._table = stack.enter_context(table)
            self._stack = stack.pop_all()
        return self

    def show(self, display: str | None, speed: float) -> Shown:
        """Play to it, and show what is heard of that. Raises `BrokerError` when not all of it arrives."""
        assert self._table is not None, "it is not entered"
        table, play = self._table, self._play
        click.echo(click.style(f"\n{play.title}", bold=True))
        if self._felt is not None:
            click.echo("  the cameras open their eyes")
            self._felt.is_seen(table.ledger, self._ears.wait)
        with screen(display) as seen:
            watch = Watch(self.name, self._ears, seen, PAUSE / speed if watched() else 0.0, self._felt)
            watch.look(PAUSE / speed if watched() else 0.0)
            play.go(watch, speed, self._felt)
            watch.look(SETTLES)
            ruled = watch.is_suspended
            if ruled:
                watch.rule("burn", "drawn on 17")
                watch.look(SETTLES)
            watch.see_out(table.ledger)
        self.check()
        return watch.shown(play.title, play.house, ruled=ruled, saw=saw(table.ledger) if self._felt is not None else None)

    def check(self) -> None:
        """See that it still runs. Raises `TablectlError` when it does not."""
        assert self._table is not None, "it is not entered"
        if not self._table.is_alive:
            raise TablectlError(f"the table ended: {self._table.last_words}")

    def end(self) -> None:
        """Stop it, as systemd does. Raises `TablectlError` when it does not end as it should."""
        assert self._table is not None, "it is not entered"
        code = self._table.stop()
        if code:
            raise TablectlError(f"the table ended with exit code {code}: {self._table.last_words}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()
