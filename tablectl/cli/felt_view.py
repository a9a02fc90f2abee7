"""A table drawn on a terminal, from nothing but what it says over MQTT.

The seven boxes stand in dealing order; in each its hands, and under a hand its total, or how it ended, and its stake. `>` marks
the box that is prompted and the hand that acts. Colour only repeats what the words say.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from rich.align import Align
from rich.box import HEAVY, ROUNDED
from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tablectl.cards import Card, Suit
from tablectl.cli.telling import SEVERITY, money, told
from tablectl.game.view import BoxView, HandView, TableView
from tablectl.notices import Outcome, RoundClosed

__all__ = ["HEIGHT", "WIDTH", "felt"]

WIDTH = 78
"""The columns that a table takes."""
HEIGHT = 18
"""The rows it takes at least: room for a box of two hands, an alert, and the last outcome."""

BOXES = 7
CELL = 10
IN_A_ROW = 3
"""Cards of a hand side by side."""
GRAVITY = ("critical", "warning", "info")
ALERTS = 2
"""Open alerts shown in words; the rest are counted."""

WORDS: dict[str, str] = {
    "stood": "stood",
    "doubled": "doubled",
    "bust": "bust",
    "blackjack": "blackjack",
    "win": "win",
    "lose": "lose",
    "push": "push",
    "carried": "carried",
    "surrendered": "surrender",
    "void": "void",
}
"""How a hand ended or was settled, in a word that fits; what is not here says no more than the total does."""
ALONE = frozenset({"blackjack", "surrender", "void"})
"""Words that need no total before them."""
STYLES = {"blackjack": "bold green", "win": "green", "lose": "red", "bust": "red", "push": "yellow", "carried": "yellow"}


def felt(view: TableView, said: Sequence[Outcome | RoundClosed] = (), *, height: int = HEIGHT) -> RenderableType:
    """Draw a table in `height` rows. Of what was `said` about hands and rounds the last lines are shown that have room.

    A table of more hands than `height` has room for is as high as it must be.
    """
    alerts = _alerts(view)
    above: list[RenderableType] = [_title(view), _prompt(view), *alerts, _dealer(view)]
    room = height - (1 + 3 + len(alerts) + 1)
    boxes, rows = _boxes(view, room)
    left = room - rows
    last = [_line(_outcome(notice)) for notice in said[-left:]] if left > 0 else []
    return Constrain(Group(*above, boxes, *last, *[Text("")] * (left - len(last))), WIDTH)


def _title(view: TableView) -> RenderableType:
    suspended = view.phase == "suspended"
    left = Text(f" House {view.house}, round {view.round}: ")
    left.append(view.phase.replace("_", " "), "bold red" if suspended else "bold")
    left.append(f"   {view.at[11:19]}" if view.at else "", "dim")
    shoe = view.shoe
    remain = "its books are off" if shoe.remaining is None else f"{shoe.remaining} remain"
    state = f", {shoe.state.replace('_', ' ')}" if shoe.state in ("past_cut", "empty") else ""
    unread = f", {shoe.unread} unread" if shoe.unread else ""
    line = Table.grid(expand=True)
    line.add_column(no_wrap=True)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(left, Text(f"Shoe: {shoe.drawn} drawn, {remain}{unread}{state} "))
    return line


def _prompt(view: TableView) -> RenderableType:
    prompt = view.prompt
    urgent = prompt is not None and prompt.code == "call_supervisor"
    words = Text(
        prompt.text if prompt else "", "bold red" if urgent else "bold", justify="center", no_wrap=True, overflow="ellipsis"
    )
    return Panel(words, box=HEAVY, style="red" if urgent else "green")


def _alerts(view: TableView) -> list[RenderableType]:
    gravest = sorted(view.alerts, key=lambda alert: GRAVITY.index(alert.severity))  # and the oldest first: it is the cause
    lines: list[RenderableType] = [
        _line(Text(f" ! {alert.severity}: {alert.code}: {alert.text}", f"bold {SEVERITY[alert.severity]}"))
        for alert in gravest[:ALERTS]
    ]
    more = len(gravest) - len(lines)
    return [*lines, Text(f" ! and {more} more", "bold")] if more else lines


def _dealer(view: TableView) -> RenderableType:
    dealer = view.dealer
    line = Text("Dealer   ", "bold")
    line.append_text(_cards(dealer.cards) if dealer.cards else Text("no card", "dim"))
    if dealer.cards:
        bust = dealer.total is not None and dealer.total > 21
        line.append(f"   = {_count(dealer.total, dealer.soft)}{', bust' if bust else ''}", "bold red" if bust else "bold")
    return Align.center(line)


def _boxes(view: TableView, room: int) -> tuple[Table, int]:
    """The boxes and the rows that they take. Where there is no room for the stakes of many hands, they are left out."""
    by_box = {box.box: box for box in view.boxes}
    for stakes in (True, False):
        cells = [_cell(by_box.get(number), stakes=stakes) for number in range(1, BOXES + 1)]
        rows = max(len(cell) for cell in cells)
        if rows + 4 <= room:
            break
    rows = max(rows, min(7, room - 4))  # two hands, so that the picture keeps its size while they are dealt
    table = Table(box=ROUNDED, show_header=True, header_style="", padding=0)
    for number in range(1, BOXES + 1):
        box = by_box.get(number)
        due = view.prompt is not None and view.prompt.box == number
        heading = Text(f"> box {number} <" if due else f"box {number}", "bold" if due else "" if box else "dim")
        table.add_column(heading, justify="center", width=CELL, no_wrap=True)
    table.add_row(*(Text("\n").join([*cell, *[Text("")] * (rows - len(cell))]) for cell in cells))
    return table, rows + 4


def _cell(box: BoxView | None, *, stakes: bool) -> list[Text]:
    if box is None:
        return []
    if not box.hands:
        lines = [Text(money(box.staked))] if box.staked else []
        return [*lines, Text(money(box.carried)), Text("carried", "yellow")] if box.carried else lines
    lines = []
    for hand in box.hands:
        if len(box.hands) > 1 and hand.hand:
            lines.append(Text(f"- hand {hand.hand} -", "dim"))
        lines += _hand(hand, stakes=stakes)
    return lines


def _hand(hand: HandView, *, stakes: bool) -> list[Text]:
    rows = [hand.cards[start : start + IN_A_ROW] for start in range(0, len(hand.cards), IN_A_ROW)]
    lines = [_cards(row) for row in rows]
    if hand.cards:
        lines.append(_standing(hand))
    if stakes:
        style = "dim" if hand.result else ""
        lines.append(Text(money(hand.stake), style))
        if hand.insurance:
            lines.append(Text(f"ins {money(hand.insurance)}", style))
    return lines


def _standing(hand: HandView) -> Text:
    """The hand's total, and how it ended where it did."""
    word = WORDS.get(hand.result or hand.ended or "", "")
    if word:
        return Text(word if word in ALONE else f"{_count(hand.total, False)} {word}", STYLES.get(word, ""))
    return Text(f"{'> ' if hand.acting else ''}{_count(hand.total, hand.soft)}", "bold reverse" if hand.acting else "bold")


def _count(total: int | None, soft: bool) -> str:
    return "?" if total is None else f"soft {total}" if soft else str(total)


def _cards(cards: Sequence[Card]) -> Text:
    return Text(" ").join(Text(card, "bold red" if card.suit in (Suit.HEARTS, Suit.DIAMONDS) else "bold") for card in cards)


def _outcome(notice: Outcome | RoundClosed) -> Text:
    words = told(replace(notice, at=None)) or ""
    return Text.from_ansi(f" {words.lstrip()}")


def _line(text: Text) -> RenderableType:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
