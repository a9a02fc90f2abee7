"""Notices in words, one line each, for a person at a terminal."""

from __future__ import annotations

import click

from tablectl.cli.visible import visible
from tablectl.notices import Alert, Dealt, Notice, Outcome, Prompt, RoundClosed
from tablectl.places import BoxPlace
from tablectl.texts import Texts

__all__ = ["money", "told"]

money = Texts.of("en").money
"""Amounts as these lines, which are English, write them."""

SEVERITY = {"info": "blue", "warning": "yellow", "critical": "red"}


def told(notice: Notice) -> str | None:
    """The notice as a line of text, with the time of day where it has one; None for what a person need not read."""
    line = _line(notice)
    if line is None:
        return None
    clock = notice.at[11:23] if notice.at else ""
    return f"{clock:12}  {line}"


def _styled(text: str, colour: str) -> str:
    return click.style(visible(text), fg=colour, bold=colour != "green")


def _line(notice: Notice) -> str | None:
    match notice:
        case Dealt():
            total = "" if notice.total is None else f" = {'soft ' if notice.soft else ''}{notice.total}"
            return f"  {notice.card}  to {_place(notice.to)}{total}"
        case Alert():
            return _styled(f"! {notice.severity}: {notice.code}: {notice.text}", SEVERITY[notice.severity])
        case Outcome():
            back = f"{money(notice.returned)} back" if notice.returned else "nothing back"
            carried = f", {money(notice.carried)} stays in place" if notice.carried else ""
            cards = " ".join(notice.cards)
            return f"  box {notice.box}.{notice.hand}  {cards}: {notice.result}, {back}{carried} of {money(_laid(notice))}"
        case RoundClosed():
            sums = f"staked {money(notice.staked)}, returned {money(notice.returned)}, carried {money(notice.carried)}"
            return click.style(f"Round {notice.number} closed: {sums}", bold=True)
        case Prompt():
            return _styled(f"> {notice.text}", "green")
        case _:
            return None


def _laid(outcome: Outcome) -> int:
    return outcome.stake + outcome.insurance


def _place(place: BoxPlace | str) -> str:
    return (
        f"box {place.box}.{place.hand}"
        if isinstance(place, BoxPlace)
        else f"the {place}"
        if place == "dealer"
        else "the burned cards"
    )
