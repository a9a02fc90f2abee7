"""What `tablectl demo` says before and after what it shows."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tablectl.cli.demo_plays import SESSIONS
from tablectl.cli.demo_watch import Shown
from tablectl.cli.telling import SEVERITY, money
from tablectl.mqtt.address import Address
from tablectl.resources import data_folder

__all__ = ["introduction", "next_steps", "summary"]

RULED = "The dealer drew on 17 on purpose; the table stood still until a supervisor had that card burned, over MQTT."
UNPLUGGED = "Others use the processor, and the cameras lagged behind: they were unplugged, and the shoe went on alone."


def introduction(plays: Sequence[tuple[str, bool]], broker: Address) -> str:
    """What is about to be seen: the titles, each with whether its cards are laid on a felt."""
    named = " and ".join(title[0].lower() + title[1:] for title, _ in plays)
    laid = [title[0].lower() + title[1:] for title, laid in plays if laid]
    which = "" if len(laid) == len(plays) else f" of {' and '.join(laid)}"
    felt = f"; two virtual cameras see each card{which} come to rest on a rendered felt" if laid else ""
    return click.wrap_text(
        f"A live table: the daemon reads a virtual shoe and pad, on which you see {named}{felt}. It publishes to a Mosquitto of "
        f"its own at {broker}; what is shown is what a subscriber there hears.",
        width=78,
    )


def summary(session: Shown) -> Iterator[str]:
    """What was seen."""
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
    if session.unplugged:
        yield f"  {UNPLUGGED}"
    if session.ruled and any(alert.code == "dealer.drew_on_17" for alert in session.alerts):
        yield f"  {RULED}"


def next_steps(house: str, another: str) -> Iterator[str]:
    """What may be tried after this."""
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
