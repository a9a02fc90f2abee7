"""What is known of one table by listening to it: its messages folded, in the order in which they came. Pure.

The table's `state` is the truth. It follows its notices within a tenth of a second; until then a card, an outcome, a phase or a
prompt is put into the picture at once, so that nobody waits for it. What was heard before, by its id, is passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from tablectl.game.view import BoxView, DealerView, HandView, PromptView, ShoeView, TableView
from tablectl.instants import to_micros
from tablectl.ledger.pin import Pin, TableName
from tablectl.mqtt.messages import CHANNELS, type_name
from tablectl.notices import Alert, Dealt, DeviceState, Notice, Outcome, PhaseChanged, Prompt, RoundClosed, ShoeNotice, Status
from tablectl.places import BoxPlace

__all__ = ["Heard", "Incident", "Round", "Seen"]

ROUNDS: Final = 16
"""Rounds of a table that are kept whole: what is older is in its ledger."""
INCIDENTS: Final = 500
"""Alerts of a table that are kept: what is older is in its ledger."""
LONGEST_ROUND: Final = 400
"""Notices of a round that are kept; a whole one of seven boxes has fewer than 200."""

_NOTICES: Final = frozenset(type_name(name) for name in CHANNELS)


class _Event(msgspec.Struct, frozen=True):
    """What is read of an envelope; attributes that this version does not know are passed over."""

    id: str
    type: str
    sequence: str
    data: msgspec.Raw
    presence: str | None = None


class _Presence(msgspec.Struct, frozen=True):
    why: str = ""
    devices: dict[str, DeviceState] = {}


_event = msgspec.json.Decoder(_Event).decode
_notice: msgspec.json.Decoder[Notice] = msgspec.json.Decoder(Notice)
_presence = msgspec.json.Decoder(_Presence).decode
_pin = msgspec.json.Decoder(Pin).decode
_view = msgspec.json.Decoder(TableView).decode


@dataclass
class Incident:
    """An alert, whether it is still open, and the table's time at which it was no longer. `entry` is its number in the ledger.

    `ruled` is whether it ended by a ruling. By whom and how is told by no notice.
    """

    alert: Alert
    entry: int = 0
    open: bool = True
    ended: str | None = None
    ruled: bool = False


@dataclass
class Round:
    """The notices of a round as they were heard, without the stakes and decisions, which no notice tells."""

    number: int
    began: str | None = None
    notices: list[bytes] = field(default_factory=list)
    closed: RoundClosed | None = None
    outcomes: list[Outcome] = field(default_factory=list)


class Seen(msgspec.Struct, frozen=True):
    """What a message changed: the picture, the alerts (by id), or nothing that anybody sees."""

    picture: bool = False
    alerts: tuple[int, ...] = ()


NOTHING: Final = Seen()
_PICTURE: Final = Seen(picture=True)


class Heard:
    """A table as its messages tell it. `at` is when it was last heard of, in the listener's own microseconds.

    `view` is the table as it stands, None before its first `state`; `prompts` are what the dealer was last told to do:
    what one event caused, in order. `online` is None until the table has said so;
    `beats` is whether it repeats that all the time, so that its silence means something.
    """

    def __init__(self, name: TableName) -> None:
        self.name = name
        self.at = 0
        self.online: bool | None = None
        self.why = ""
        self.beats = False
        self.pin: Pin | None = None
        self.view: TableView | None = None
        self.prompts: tuple[Prompt, ...] = ()
        self.rounds: deque[Round] = deque(maxlen=ROUNDS)
        self.incidents: dict[int, Incident] = {}
        self.closed: deque[int] = deque(maxlen=60)
        self.unreadable = 0
        self._session = ""
        self._status_id = ""
        self._last = 0
        self._holds = 0
        self._ruling: tuple[int, str | None] = (0, None)
        self._since: deque[tuple[int, Notice]] = deque(maxlen=LONGEST_ROUND)

    @property
    def language(self) -> str:
        """The table's language; English until it has said."""
        return self.pin.language if self.pin is not None else "en"

    def hear(self, channel: str, payload: bytes, at: int) -> Seen:
        """Take in what came on a channel (`state`, `evt/dealt` ...) at `at`; says what is to be shown anew.

        What cannot be read changes nothing and is counted.
        """
        self.at = at
        if not payload:  # a retained message was taken back, or has expired
            return NOTHING
        try:
            event = _event(payload)
            number = int(event.sequence)
            session = event.id.partition("-")[0]
            if channel == "state":
                return self._state(session, number, _view(event.data))
            if channel == "info":
                self.pin = _pin(event.data)
                return _PICTURE
            if channel == "status":
                return self._status(session, number, event)
            if event.type in _NOTICES:
                return self._told(session, number, event)
        except (msgspec.DecodeError, ValueError):
            self.unreadable += 1
        return NOTHING

    def _begin(self, session: str) -> None:
        """Another ledger, or the same one from its beginning: what its numbers were compared with is over."""
        self._session, self._last, self._holds, self._ruling = session, 0, 0, (0, None)
        self._since.clear()
        for incident in self.incidents.values():
            incident.entry = 0

    def _status(self, session: str, number: int, event: _Event) -> Seen:
        if event.presence == "online" and number == 0 and session == self._session and self._last:
            self._begin(session)  # a replay that begins anew: a live table's cursor never goes back
        self.beats, self._status_id = self.beats or event.id == self._status_id, event.id
        before = (self.online, self.why, self.view and self.view.devices)
        if event.presence is not None:
            self.online = event.presence == "online"
        said = _presence(event.data)
        self.why = said.why
        if self.view is not None and said.devices:
            self.view = msgspec.structs.replace(self.view, devices=said.devices)
        return _PICTURE if before != (self.online, self.why, self.view and self.view.devices) else NOTHING

    def _state(self, session: str, number: int, view: TableView) -> Seen:
        if session != self._session:
            self._begin(session)
        elif number < self._holds:
            return NOTHING  # a broker that came back with what it once had
        self._holds = number
        before, self.view = self.view, view
        while self._since and self._since[0][0] <= number:
            self._since.popleft()
        for _, notice in self._since:  # told while this was on its way
            self.view = _drawn_in(self.view, notice)
        changed = self._alerts(view)
        if not self.prompts and view.prompt is not None:
            said = view.prompt
            self.prompts = (Prompt(0, view.at, view.round, 0, said.code, said.box, said.hand, said.operands, said.text),)  # type: ignore[arg-type]
        return Seen(picture=before != self.view or bool(changed), alerts=changed)

    def _alerts(self, view: TableView) -> tuple[int, ...]:
        """Which alerts are open is told by the state alone."""
        open_ = {alert.id: alert for alert in view.alerts}
        changed = []
        for number, alert in open_.items():
            known = self.incidents.get(number)
            if known is None or not known.open:
                self._keep(Incident(alert, known.entry if known else 0))
                changed.append(number)
        ruling, at = self._ruling
        for number, incident in self.incidents.items():
            if incident.open and number not in open_ and incident.entry <= self._holds:
                incident.ruled = incident.entry < ruling <= self._holds
                incident.open, incident.ended = False, at if incident.ruled else view.at
                changed.append(number)
        if ruling <= self._holds:
            self._ruling = (0, None)
        return tuple(changed)

    def _keep(self, incident: Incident) -> None:
        self.incidents.pop(incident.alert.id, None)
        self.incidents[incident.alert.id] = incident
        while len(self.incidents) > INCIDENTS:
            del self.incidents[next(iter(self.incidents))]

    def _told(self, session: str, number: int, event: _Event) -> Seen:
        notice = _notice.decode(event.data)
        aside = "-aside-" in event.id
        if not aside:
            if session != self._session:
                self._begin(session)
            if number <= self._last:
                return self._again(notice)
            self._last = number
        if isinstance(notice, Prompt):
            same = self.prompts and self.prompts[-1].cause == notice.cause and self.prompts[-1].at == notice.at
            self.prompts = (*self.prompts, notice) if same else (notice,)
        else:
            self._remember(notice, bytes(event.data), number)
        if isinstance(notice, PhaseChanged) and notice.from_ == "suspended":
            self._ruling = (number, notice.at)  # nothing else lets a stopped game go on
        alerts = (notice.id,) if isinstance(notice, Alert) else ()
        if number > self._holds:
            self._since.append((number, notice))
            self.view = _drawn_in(self.view, notice)
        return Seen(picture=True, alerts=alerts)

    def _again(self, notice: Notice) -> Seen:
        """A repeat, or the retained prompt of a table that is heard of for the first time."""
        if isinstance(notice, Prompt) and (not self.prompts or self.prompts[-1].seq < notice.seq):
            self.prompts = (notice,)
            return _PICTURE
        return NOTHING

    def _remember(self, notice: Notice, body: bytes, entry: int) -> None:
        if isinstance(notice, Status):
            return
        if isinstance(notice, Alert) and notice.id not in self.incidents:
            # One of severity `info` is said and never open.
            self._keep(Incident(notice, entry, open=notice.severity != "info"))
        if notice.round and (not self.rounds or self.rounds[-1].number < notice.round):
            self.rounds.append(Round(notice.round, notice.at))
        found = next((one for one in reversed(self.rounds) if one.number == notice.round), None)
        if found is None:
            return
        if len(found.notices) < LONGEST_ROUND:
            found.notices.append(body)
        if isinstance(notice, Outcome):
            found.outcomes = [one for one in found.outcomes if (one.box, one.hand) != (notice.box, notice.hand)] + [notice]
        if isinstance(notice, RoundClosed):
            if found.closed is None and notice.at is not None:
                self.closed.append(to_micros(notice.at))
            found.closed = notice


def _drawn_in(view: TableView | None, notice: Notice) -> TableView | None:
    """The picture with one more notice in it. What it cannot show exactly, the next state will."""
    if view is None:
        return None
    if notice.round > view.round:
        view = msgspec.structs.replace(
            view,
            round=notice.round,
            round_open=True,
            boxes=tuple(msgspec.structs.replace(box, hands=()) for box in view.boxes),
            dealer=DealerView((), None, False),
        )
    view = msgspec.structs.replace(view, at=notice.at or view.at)
    if isinstance(notice, PhaseChanged):
        return msgspec.structs.replace(view, phase=notice.to)
    if isinstance(notice, Prompt):
        said = PromptView(notice.code, notice.box, notice.hand, notice.operands, notice.text)
        return msgspec.structs.replace(view, prompt=said)
    if isinstance(notice, ShoeNotice):
        return msgspec.structs.replace(view, shoe=ShoeView(notice.remaining, notice.drawn, notice.unread, notice.state))
    if isinstance(notice, RoundClosed):
        return msgspec.structs.replace(view, round_open=False)
    if isinstance(notice, Alert) and notice.severity != "info" and all(notice.id != alert.id for alert in view.alerts):
        return msgspec.structs.replace(view, alerts=(*view.alerts, notice))
    if isinstance(notice, Dealt):
        return _dealt(view, notice)
    if isinstance(notice, Outcome):
        return _in_hand(view, notice.box, notice.hand, lambda hand: msgspec.structs.replace(hand, result=notice.result))
    return view


def _dealt(view: TableView, notice: Dealt) -> TableView:
    shoe = view.shoe
    remaining = None if shoe.remaining is None else max(0, shoe.remaining - 1)
    view = msgspec.structs.replace(view, shoe=msgspec.structs.replace(shoe, drawn=shoe.drawn + 1, remaining=remaining))
    place = notice.to
    if place == "dealer":
        dealer = DealerView((*view.dealer.cards, notice.card), notice.total, notice.soft)
        return msgspec.structs.replace(view, dealer=dealer)
    if isinstance(place, BoxPlace):
        return _in_hand(
            view,
            place.box,
            place.hand or 0,
            lambda hand: msgspec.structs.replace(hand, cards=(*hand.cards, notice.card), total=notice.total, soft=notice.soft),
        )
    return view


def _in_hand(view: TableView, box: int, number: int, change: Callable[[HandView], HandView]) -> TableView:
    boxes = {one.box: one for one in view.boxes}
    found = boxes.get(box) or BoxView(box, 0, 0, ())
    hands = {hand.hand: hand for hand in found.hands}
    hand = hands.get(number) or HandView(number, (), None, False, found.staked + found.carried, None, False, None, None)
    hands[number] = change(hand)
    boxes[box] = msgspec.structs.replace(found, hands=tuple(hands[key] for key in sorted(hands)))
    return msgspec.structs.replace(view, boxes=tuple(boxes[key] for key in sorted(boxes)))
