"""All that a table knows, and how it says what happens.

Everything known is in a few immutable values (`KEPT`), so a snapshot is a tuple. What happens is said with `say` and `alert`
while an observation is taken in; `speak` then puts the notices into the contract's order and numbers them.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game import prompting, shuffle
from tablectl.game.betting import Sitting, Stakes
from tablectl.game.books import Books
from tablectl.game.hand import total
from tablectl.game.history import LONGEST, Entry, History
from tablectl.game.irregularities import CATALOGUE, policy, remedy
from tablectl.game.phases import Phases
from tablectl.game.round import Hand, Round
from tablectl.houses.rules import House
from tablectl.notices import (
    Alert,
    Dealt,
    DeviceState,
    Notice,
    Operand,
    Outcome,
    PhaseChanged,
    PhaseName,
    Prompt,
    RoundClosed,
    ShoeNotice,
    Status,
)
from tablectl.observations import Observation, Tick
from tablectl.places import Place
from tablectl.texts import Texts

__all__ = ["Drafted", "Held", "Speech"]

KEPT = (
    "round",
    "round_open",
    "claims_cards",
    "dealt_since_load",
    "stakes",
    "seats",
    "books",
    "burn_left",
    "past_cut",
    "resume_to",
    "waived",
    "waived_of_shoe",
    "faults",
    "drawn_at",
    "devices",
    "open_alerts",
    "blockers",
    "held",
    "lies",
    "paid_late",
    "prompted",
    "at",
    "seq",
    "cause",
    "alerts",
    "superseded",
    "superseded_close",
)
"""The names of all that a table knows; each holds an immutable value."""

_kept = attrgetter(*KEPT)

_ORDER: dict[type[Any], int] = {
    kind: rank for rank, kind in enumerate((Dealt, Alert, Outcome, RoundClosed, PhaseChanged, ShoeNotice, Status, Prompt))
}


_rank = itemgetter(0)


def _order(drafted: Drafted) -> tuple[int, ...]:
    """By the contract's order; outcomes among each other by box, then hand, those of an older round first."""
    rank, kind, fields = drafted
    older = isinstance(kind, _OfRound)
    if (kind.kind if older else kind) is not Outcome:
        return (rank,)
    return (rank, 0 if older else 1, fields[0], fields[1])


MOST_OPEN = 99
"""How many open alerts are kept in sight beside the newest; the ledger has them all."""


Drafted = tuple[int, Any, tuple[Any, ...]]
"""A notice before it is numbered: its rank in the contract's order, its type, its own fields."""


class Held(NamedTuple):
    """A card that was drawn but has no place in the game until a supervisor rules; `place` None: nothing saw where it went."""

    card: Card
    place: Place | None
    source: str | None
    alert: int
    cause: int = 0  # the number of its draw


class _OfRound(NamedTuple):
    """Makes a notice of an older round."""

    kind: type[Any]
    number: int

    def __call__(self, seq: int, at: str | None, _: int, cause: int, *fields: Any) -> Any:
        return self.kind(seq, at, self.number, cause, *fields)


class Speech:
    """One table: what it knows, and its words.

    `opened` tells whether it begins open, between two rounds; `supervisors` who may rule and acknowledge (None: anybody);
    `language` which words it uses (None: the house's). `rules` and the names in `KEPT` may be read by all; only this package
    changes them.
    """

    def __init__(
        self,
        house: House,
        *,
        opened: bool = True,
        supervisors: frozenset[str] | None = None,
        language: str | None = None,
    ) -> None:
        self.house = house
        self.supervisors = supervisors
        self.texts = Texts.of(language or house.language)
        self.rules = house.rules
        self.phases = Phases("betting" if opened else "closed")
        self.round = Round(0)
        self.round_open = False
        self.claims_cards = False  # a card before the next stake belongs to the round that closed
        self.dealt_since_load = False
        self.stakes = Stakes()
        self.seats: tuple[Sitting, ...] = ()
        self.books = Books()
        self.burn_left = 0
        self.past_cut = False
        self.resume_to: PhaseName = "betting"
        self.waived: frozenset[str] = frozenset()
        self.waived_of_shoe: frozenset[str] = frozenset()
        self.faults: tuple[tuple[str, int], ...] = ()  # the shoe's open faults by code, and their alerts
        self.drawn_at: str | None = None  # when the last card left the shoe
        self.devices: dict[str, DeviceState] = {}
        self.open_alerts: tuple[Alert, ...] = ()
        self.blockers: tuple[Alert, ...] = ()  # what a suspended game waits for, oldest first
        self.held: tuple[Held, ...] = ()
        self.lies: tuple[tuple[int, Place | None], ...] = ()  # where each draw of the round came to lie, by its number
        self.paid_late: tuple[int, ...] = ()  # boxes whose blackjack was due at once when another box played on
        self.prompted: prompting.Said | None = None
        self.at: str | None = None
        self.seq = 0
        self.cause = 0
        self.judge = shuffle.Judge()  # remembers its last look; what it says depends on the cards alone
        self.alerts = 0
        self.superseded: dict[tuple[int, int], int] = {}  # outcomes that a correction took back, by hand
        self.superseded_close: int | None = None
        self.known_alerts: dict[tuple[int, str], list[int]] = {}  # while a round is folded again: alerts that keep their ids
        self.folding = False  # the round is being folded again
        self.hushed: Place | None = None  # where the card that is being ruled on lies: that was said when it came
        self.settled = 0  # outcomes in the draft
        self._alerted = False
        self._draft: list[Drafted] = []
        self.history = History(self.standing())

    @property
    def history(self) -> History:
        """What happened since the round opened."""
        return History(self._base, tuple(self._entries), self._placed)

    @history.setter
    def history(self, history: History) -> None:
        self._base, entries, self._placed = history
        self._entries = list(entries)

    def remember(self, entry: Entry) -> None:
        """Add to the history; a tick is nothing to remember, and too much is not remembered at all."""
        if type(entry.observation) is not Tick:
            self._entries.append(entry)
            if len(self._entries) > LONGEST:
                self.history = History(None)

    @property
    def phase(self) -> PhaseName:
        """The phase the table is in."""
        return self.phases.phase

    @property
    def playing(self) -> PhaseName:
        """The phase the table is in, or was suspended in."""
        phase = self.phases.phase
        return self.resume_to if phase == "suspended" else phase

    @property
    def shoe_up(self) -> bool:
        """Whether the shoe is there, as far as is known."""
        shoe = self.devices.get("shoe")
        return shoe is None or shoe.state == "up"

    def snapshot(self) -> tuple[tuple[Any, ...], History]:
        """All that the table knows, to be handed to `restore`."""
        return self.standing(), self.history

    def restore(self, snapshot: tuple[tuple[Any, ...], History]) -> None:
        """Put the table back to where a snapshot was taken."""
        self.restore_standing(snapshot[0])
        self.history = snapshot[1]

    def standing(self) -> tuple[Any, ...]:
        """Where the table stands, without how it came there."""
        return (self.phase, *_kept(self))

    def restore_standing(self, standing: tuple[Any, ...]) -> None:
        """Put the table to where it stood."""
        self.phases.go_back_to(standing[0])
        for name, value in zip(KEPT, standing[1:], strict=True):
            setattr(self, name, value)

    def take_in(self, observation: Observation) -> None:
        """Take in one observation and go on from it; `tablectl.game.table` knows how."""
        raise NotImplementedError

    # What is said

    def say(self, kind: type[Any], *fields: Any) -> None:
        """Say a notice: its own fields, without those that all notices share."""
        self._draft.append((_ORDER[kind], kind, fields))

    def say_of(self, number: int, kind: type[Any], *fields: Any) -> None:
        """Say a notice of a round that may not be the newest: a correction reaches back."""
        self.settled += kind is Outcome
        self._draft.append((_ORDER[kind], kind if number == self.round.number else _OfRound(kind, number), fields))

    def prompt(self, said: prompting.Said) -> None:
        """Prompt the dealer."""
        operands, text = prompting.words(said, self.texts)
        self._draft.append((_ORDER[Prompt], Prompt, (said.code, said.box, said.hand, operands, text)))
        self.prompted = said

    def dealt(self, card: Card, place: Place, source: str | None, cards: tuple[Card, ...]) -> None:
        """Say where a card came to lie, and what the hand it lies in is worth (`cards`; none when it was burned)."""
        if place == self.hushed:
            return
        value, soft = total(cards) if cards else (None, False)
        self._draft.append((_ORDER[Dealt], Dealt, (card, place, value, soft, source)))

    def shoe_notice(self, inferred: tuple[Card, ...] = ()) -> None:
        """Say the shoe's books; at its end also what the unread cards must have been."""
        books = self.books
        self.say(ShoeNotice, books.remaining, books.drawn, books.unread, books.state(past_cut=self.past_cut), inferred)

    def alert(
        self,
        code: str,
        numbers: Mapping[str, Operand] | None = None,
        /,
        *,
        hand: Hand | None = None,
        box: int | None = None,
        cards: tuple[Card, ...] = (),
        rule: str | None = None,
        **operands: Operand,
    ) -> Alert | None:
        """Say what went wrong, with the numbers that decided, and suspend the game where the house does.

        None where the house has switched this code off.
        """
        said, suspends = policy(code, self.house)
        if not said:
            return None
        known = CATALOGUE[code]
        operands = {**(numbers or {}), **operands}
        box, number = (hand.box, hand.number) if hand else (box, None)
        rule = rule or known.rule
        text = self.texts.alert(code, operands, box=box, hand=number, cards=" ".join(cards), rule=rule)
        known_ids = self.known_alerts.get((self.cause, code))
        if not known_ids:
            self.alerts += 1
        fields = (
            known_ids.pop(0) if known_ids else self.alerts,
            code,
            known.severity,
            known.favours,
            box,
            number,
            cards,
            rule,
            operands,
            text,
            remedy(code, self.playing, self.house, self.texts.call_supervisor()),
            known.integrity,
        )
        alert = self.say_alert(fields)
        self.round = replace(self.round, alerts=self.round.alerts + 1)
        if suspends and self.phase != "closed":
            self.suspend(alert)
        return alert

    def say_alert(self, fields: tuple[Any, ...]) -> Alert:
        """Say an alert whose fields are known, and keep it in sight."""
        self.say(Alert, *fields)
        alert = Alert(0, self.at, self.round.number, self.cause, *fields)  # numbered by `speak`
        self._alerted = True
        if alert.severity != "info":
            self.open_alerts = (*self.open_alerts[-MOST_OPEN:], alert)
        return alert

    def repeat_integrity_alerts(self) -> None:
        """The table opens: what no supervisor has acknowledged is said again, with the number it has."""
        for alert in self.open_alerts:
            if alert.ack_required:
                self.say(Alert, *(getattr(alert, name) for name in Alert.__struct_fields__[4:]))

    def suspend(self, alert: Alert) -> None:
        """Stop the game until this alert is ruled on."""
        self.blockers = (*self.blockers, alert)
        if self.phase != "suspended":
            self.resume_to = self.phase
            self.fire("suspend")

    def resume(self, *ended: int) -> None:
        """End these alerts; when nothing else holds the game, it goes on where it was."""
        self.open_alerts = tuple(alert for alert in self.open_alerts if alert.id not in ended)
        self.blockers = tuple(alert for alert in self.blockers if alert.id not in ended)
        if self.phase == "suspended" and not self.blockers:
            self.open_alerts = tuple(alert for alert in self.open_alerts if alert.code != "deal.while_suspended")
            self.fire("resume")

    def fire(self, trigger: str) -> bool:
        """Take an arc of the game, and say so; False when there is none here or its guard refuses."""
        before = self.phases.phase
        if not self.phases.fire(trigger, self):
            return False
        self.say(PhaseChanged, before, self.phases.phase)
        return True

    def speak(self) -> tuple[Notice, ...]:
        """Number what was said and hand it out, in the order of the contract."""
        draft, self._draft = self._draft, []
        if len(draft) > 1:
            draft.sort(key=_order if self.settled > 1 else _rank)
        self.settled = 0
        at, number, cause, seq = self.at, self.round.number, self.cause, self.seq
        notices = tuple([kind(seq + index, at, number, cause, *fields) for index, (_, kind, fields) in enumerate(draft, start=1)])
        self.seq = seq + len(notices)
        if self._alerted:
            self._alerted = False
            said = {notice.id: notice for notice in notices if isinstance(notice, Alert)}
            self.open_alerts = tuple(said.get(alert.id, alert) for alert in self.open_alerts)
            self.blockers = tuple(said.get(alert.id, alert) for alert in self.blockers)
        return notices

    def drop_draft(self) -> list[Drafted]:
        """Take what was about to be said, unsaid."""
        draft, self._draft = self._draft, []
        self._alerted = False
        self.settled = 0
        return draft
