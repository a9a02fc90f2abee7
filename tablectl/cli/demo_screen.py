"""Where `tablectl demo` shows a table: a picture on a terminal that has room for it, else lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tablectl.cards import Card
from tablectl.cli.felt_view import HEIGHT, WIDTH, felt
from tablectl.cli.telling import told
from tablectl.game.view import TableView
from tablectl.notices import Notice, Outcome, RoundClosed
from tablectl.places import BoxPlace, Place

__all__ = ["Screen", "attended", "screen", "watched"]

TALLEST = 24
"""Rows of the picture, where the terminal has them."""


class Screen(Protocol):
    """What a person looks at."""

    def show(self, what: Notice | TableView) -> None:
        """Show what a subscriber heard."""

    def lies(self, card: Card, place: Place | None) -> None:
        """Show that the cameras have seen a card come to rest."""


def watched() -> bool:
    """Whether a person may be looking."""
    return sys.stdout is not None and sys.stdout.isatty()


def attended() -> bool:
    """Whether that person can also end us, by Ctrl-C."""
    return watched() and sys.stdin is not None and sys.stdin.isatty()


@contextmanager
def screen(address: str | None) -> Iterator[Screen]:
    """The screen, until the block ends. `address` is where the display serves its pages, to be seen beside the picture."""
    console = Console(highlight=False)
    if not watched() or console.is_dumb_terminal or console.width < WIDTH or console.height < HEIGHT:
        yield _Lines()
        return
    with Live(console=console, screen=True, auto_refresh=False) as live:
        picture = _Picture(console, live, address)
        yield picture
    if picture.last is not None:
        console.print(felt(picture.last, picture.said))  # the other screen, on which it was drawn, is gone


class _Lines:
    """Each thing in a line."""

    def show(self, what: Notice | TableView) -> None:
        line = None if isinstance(what, TableView) else told(what)
        if line is not None:
            click.echo(line)

    def lies(self, card: Card, place: Place | None) -> None:
        click.echo(f"{'':12}    felt: {card} lies {_where(place)}")


class _Picture:
    """The table as it stands, drawn anew whenever it changes; below it the display's address and the felt, given room."""

    def __init__(self, console: Console, live: Live, address: str | None) -> None:
        self.last: TableView | None = None
        self.said: list[Outcome | RoundClosed] = []
        self._console = console
        self._live = live
        self._address = address
        self._felt = ""

    def show(self, what: Notice | TableView) -> None:
        if isinstance(what, Outcome | RoundClosed):
            self.said.append(what)
        elif isinstance(what, TableView):
            self.last = what
            self._draw(what)

    def lies(self, card: Card, place: Place | None) -> None:
        self._felt = f"felt: {card} lies {_where(place)}"
        if self.last is not None:
            self._draw(self.last)

    def _draw(self, table: TableView) -> None:
        height = min(self._console.height, TALLEST)
        words = [words for words in (f"display: {self._address}" if self._address else "", self._felt) if words]
        if not words or height == HEIGHT:
            self._live.update(felt(table, self.said, height=height), refresh=True)
            return
        below = Text(f" {'   '.join(words)}", "dim", no_wrap=True, overflow="ellipsis")
        self._live.update(Group(felt(table, self.said, height=height - 1), below), refresh=True)


def _where(place: Place | None) -> str:
    if isinstance(place, BoxPlace):
        return f"at box {place.box}" + (f", hand {place.hand}" if place.hand else "")
    return "where its hand is" if place is None else f"before the {place}"
