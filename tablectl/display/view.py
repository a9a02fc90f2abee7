"""What a page shows of a table, from what was heard of it. Pure: no clock, no network; `now` comes in as microseconds.

What a table says (prompts, alerts, remedies) is in the table's language, as its ledger has it; alerts are in the other languages
besides. All else leaves here as codes and amounts; the page has the words of its reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import msgspec

from tablectl.display.heard import Heard, Incident, Round
from tablectl.display.retold import Retold, retold
from tablectl.errors import ConfigError
from tablectl.game.view import BoxView, DealerView, HandView, HeldView, ShoeView, TableView
from tablectl.ledger.pin import TableName
from tablectl.notices import DeviceState, Operand, Prompt, Remedy
from tablectl.texts import Texts

__all__ = ["AlertShown", "Picture", "Row", "Told", "alert_shown", "pace", "path_of", "picture", "row"]

LAST_ROUNDS: Final = 8
PACE_SECONDS: Final = 30 * 60
"""How far back a table's pace looks."""
_HOUR: Final = 3600
_MICRO: Final = 1_000_000
_GRAVITY: Final = {"critical": 0, "warning": 1, "info": 2}


class AlertShown(msgspec.Struct, frozen=True, omit_defaults=True):
    """An alert for a page. `table` is the table's path, `lang` the language of its words, `words` what it is in the others.

    `ended` is when it was no longer open, `ruled` whether a ruling ended it.
    """

    table: str
    lang: str
    id: int
    code: str
    severity: str
    favours: str
    at: str | None
    round: int
    box: int | None
    hand: int | None
    cards: tuple[str, ...]
    text: str
    remedy: Remedy
    rule: str | None
    ack_required: bool
    open: bool
    ended: str | None = None
    ruled: bool = False
    words: dict[str, Retold] = {}


class Told(msgspec.Struct, frozen=True):
    """What the dealer is told: the words for `now`, what the same event asks for besides, and what is due next."""

    code: str
    box: int | None
    hand: int | None
    now: str
    also: tuple[str, ...]
    next: str


class Result(msgspec.Struct, frozen=True):
    """How a hand of a past round ended."""

    box: int
    hand: int
    result: str


class RoundShown(msgspec.Struct, frozen=True):
    """A past round in a line."""

    number: int
    at: str | None
    results: tuple[Result, ...]
    staked: int
    returned: int
    carried: int
    alerts: int


class Picture(msgspec.Struct, frozen=True):
    """A table in full, for its own page and its dealer's. `stopped` are the alerts for which the game stands still."""

    path: str
    site: str
    pit: str
    table: str
    lang: str
    house: str
    online: bool
    why: str
    known: bool
    phase: str
    round: int
    round_open: bool
    at: str | None
    boxes: tuple[BoxView, ...]
    dealer: DealerView
    held: tuple[HeldView, ...]
    shoe: ShoeView
    told: Told | None
    stopped: tuple[AlertShown, ...]
    alerts: tuple[AlertShown, ...]
    rounds: tuple[RoundShown, ...]
    devices: dict[str, DeviceState]


class Row(msgspec.Struct, frozen=True):
    """A table at a glance, for the pit. `pace` is in rounds an hour, None while it cannot be told; so is the house's `aim`."""

    path: str
    site: str
    pit: str
    table: str
    lang: str
    online: bool
    phase: str
    round: int
    pace: int | None
    aim: int | None
    dealer: tuple[str, ...]
    total: int | None
    stopped: bool
    down: tuple[str, ...]
    alerts: tuple[AlertShown, ...]


_NO_SHOE: Final = ShoeView(None, 0, 0, "unknown")
_NOBODY: Final = DealerView((), None, False)


@lru_cache(maxsize=1000)
def path_of(name: TableName) -> str:
    """A table in the path of a page: site, pit and table, each percent-encoded."""
    return "/".join(quote(part, safe="") for part in (name.site, name.pit, name.table))


def alert_shown(heard: Heard, incident: Incident) -> AlertShown:
    """An alert of this table."""
    alert = incident.alert
    return AlertShown(
        path_of(heard.name),
        heard.language,
        alert.id,
        alert.code,
        alert.severity,
        alert.favours,
        alert.at,
        alert.round,
        alert.box,
        alert.hand,
        alert.cards,
        alert.text,
        alert.remedy,
        alert.rule,
        alert.ack_required,
        incident.open,
        incident.ended,
        incident.ruled,
        retold(alert, heard.language),
    )


def picture(heard: Heard) -> Picture:
    """The whole table."""
    view, name = heard.view, heard.name
    open_ = tuple(alert_shown(heard, Incident(alert)) for alert in view.alerts) if view is not None else ()
    return Picture(
        path_of(name),
        name.site,
        name.pit,
        name.table,
        heard.language,
        view.house if view is not None else "",
        heard.online is not False,
        heard.why,
        view is not None,
        view.phase if view is not None else "closed",
        view.round if view is not None else 0,
        view.round_open if view is not None else False,
        view.at if view is not None else None,
        view.boxes if view is not None else (),
        view.dealer if view is not None else _NOBODY,
        view.held if view is not None else (),
        view.shoe if view is not None else _NO_SHOE,
        _told(heard, view),
        _stopped(view, heard.prompts, open_),
        open_,
        tuple(_past(one) for one in [one for one in heard.rounds if one.closed is not None][-LAST_ROUNDS:][::-1]),
        view.devices if view is not None else {},
    )


def row(heard: Heard, *, now: int, aims: Mapping[str, int]) -> Row:
    """The table at a glance. `aims` are rounds an hour by house; that of `` is every other's."""
    view, name = heard.view, heard.name
    alerts = sorted((alert_shown(heard, one) for one in heard.incidents.values() if one.open), key=lambda alert: alert.at or "")
    house = view.house if view is not None else ""
    return Row(
        path_of(name),
        name.site,
        name.pit,
        name.table,
        heard.language,
        heard.online is not False,
        view.phase if view is not None else "closed",
        view.round if view is not None else 0,
        pace(heard.closed, now),
        aims.get(house, aims.get("")),
        view.dealer.cards if view is not None else (),
        view.dealer.total if view is not None else None,
        view is not None and view.phase == "suspended",
        tuple(name for name, device in sorted(view.devices.items()) if device.state == "down") if view is not None else (),
        tuple(alerts),
    )


def pace(closed: Sequence[int], now: int) -> int | None:
    """Rounds an hour over the last half hour, from the times at which rounds were closed, in microseconds.

    It falls while no round is closed for longer than they took. None with fewer than two rounds, or for a table that has rested.
    """
    recent = [at for at in closed if now - at < PACE_SECONDS * _MICRO]
    if len(recent) < 2:
        return None
    rounds, spent = len(recent) - 1, recent[-1] - recent[0]
    waited = now - recent[-1]
    if spent <= 0:
        return None
    if waited * rounds > spent:  # the round that is on takes longer than the others did
        rounds, spent = rounds + 1, spent + waited
    return round(rounds * _HOUR * _MICRO / spent)


def _stopped(view: TableView | None, prompts: Sequence[Prompt], open_: tuple[AlertShown, ...]) -> tuple[AlertShown, ...]:
    """What the dealer was told the game stands still for, and what grave is open besides."""
    if view is None or view.phase != "suspended":
        return ()
    said = {prompt.operands.get("text") for prompt in prompts if prompt.code == "call_supervisor"}
    ordered = sorted(open_, key=lambda alert: (alert.text not in said, _GRAVITY.get(alert.severity, 9), -alert.id))
    return tuple(alert for alert in ordered if alert is ordered[0] or alert.severity == "critical")[:3]


def _past(one: Round) -> RoundShown:
    closed = one.closed
    assert closed is not None
    results = tuple(Result(out.box, out.hand, out.result) for out in sorted(one.outcomes, key=lambda out: (out.box, out.hand)))
    return RoundShown(one.number, closed.at, results, closed.staked, closed.returned, closed.carried, closed.alerts)


def _told(heard: Heard, view: TableView | None) -> Told | None:
    prompts = heard.prompts
    if not prompts:
        return None
    last = prompts[-1]
    texts = _texts(heard.language)
    also = tuple(prompt.text for prompt in prompts[:-1])
    return Told(last.code, last.box, last.hand, last.text, also, "" if view is None else _next(last, view, texts))


def _texts(language: str) -> Texts:
    try:
        return Texts.of(language)
    except ConfigError:  # a table of a later version may speak another
        return Texts.of("en")


def _next(now: Prompt, view: TableView, texts: Texts) -> str:
    """What is due after this, as far as the felt tells it; empty where it does not."""

    def say(code: str, box: int | None = None, **operands: Operand) -> str:
        return texts.prompt(code, operands, box, 0)  # type: ignore[arg-type]

    staked = [box.box for box in view.boxes if box.staked or box.carried or box.hands]
    later = [box for box in staked if now.box is not None and box > now.box]
    if now.code == "place_bets":
        laid = [box.box for box in view.boxes if box.staked or box.carried]
        return say("deal_to_box", laid[0]) if laid else ""
    if now.code == "burn":
        return say("place_bets")
    if now.code == "deal_to_dealer" and view.phase == "first_cards":
        return say("deal_to_box", staked[0]) if staked else ""
    if now.code == "deal_to_box" and view.phase in ("first_cards", "second_cards"):
        if later:
            return say("deal_to_box", later[0])
        return say("deal_to_dealer") if view.phase == "first_cards" else texts.word("phase", "players")
    if now.code in ("ask_box", "offer_insurance") or (now.code == "deal_to_box" and view.phase == "players"):
        waiting = _waiting(view, now)
        if waiting is not None:
            return texts.word("place", f"box {waiting.box}")
        return texts.word("phase", "dealer" if now.code != "offer_insurance" else "players")
    return ""


class _Place(msgspec.Struct, frozen=True):
    box: int
    hand: int


def _waiting(view: TableView, now: Prompt) -> _Place | None:
    """The first box after the one that is spoken to whose hand has not ended."""
    for box in view.boxes:
        for hand in box.hands:
            if now.box is not None and box.box > now.box and _may_act(hand):
                return _Place(box.box, hand.hand)
    return None


def _may_act(hand: HandView) -> bool:
    return hand.ended is None and hand.result is None and (hand.total is None or hand.total < 21)
