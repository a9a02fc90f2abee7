"""Options and signals that several verbs share: which broker, and being asked to stop as the ordinary end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

__all__ = ["asked_to_stop", "mqtt_option"]

mqtt_option = click.option(
    "--mqtt",
    default="mqtt://127.0.0.1:1883",
    show_default=True,
    envvar="TABLECTL_MQTT",
    show_envvar=True,
    metavar="URL",
    help="The broker.",
)
"""The broker that a verb speaks to, as text."""


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Gives whether SIGINT or SIGTERM has asked for the end, which is then the ordinary one. One that is ignored stays so."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        asked = True

    ours = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, ask) for number in ours}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
