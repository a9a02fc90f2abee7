"""Figures of a table: how much was played, what went wrong, how long it took until somebody ruled, how long the game stood.

A fold over what a ledger holds: `Fold.take` gets each observation with the notices it caused, counts, and hands out a period (a
round, a shoe, a shift, a day) when the next one begins. Only the period in hand is kept, so a ledger may be of any length.

Nothing is counted twice: a notice that corrects another replaces it, and an alert that is repeated when the table opens is the
same alert. Everything is a whole number (microseconds, the smallest currency unit); what is derived is exact decimal text.
`docs/stats.md` says what each figure means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, NamedTuple, get_args

import msgspec

from tablectl import notices as said
from tablectl import observations as seen
from tablectl.errors import InputError, LedgerError
from tablectl.game.irregularities import CATALOGUE
from tablectl.instants import from_micros, to_micros
from tablectl.ledger.answers import SECOND, Answers, decimal
from tablectl.ledger.reader import Entry
from tablectl.notices import Alert, Notice, Outcome, PhaseChanged, Prompt, RoundClosed, Severity
from tablectl.observations import Ack, CardDrawn, Observation, Ruling, ShoeLoaded

__all__ = ["PERIODS", "By", "Figures", "Fold", "Group", "Period", "groups"]

By = Literal["round", "shoe", "shift", "day", "all"]
PERIODS: tuple[By, ...] = get_args(By)[:-1]
"""What figures can be given for; `all` is the whole ledger in one."""

MOST_WAITING = 1000
"""How many alerts are watched for a ruling at once: what nobody acknowledges must not fill the memory."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Group = tuple[Observation, Sequence[Notice]]
"""An observation and the notices it caused."""


class Figures:
    """What was counted in one period. Amounts are in the smallest currency unit, times in microseconds since 1970 UTC.

    `codes` counts alerts by severity and code; `waiting` are the alerts still unruled at the period's end; `stood` is how long
    the game was suspended; `first` and `last` are the earliest and the latest time of a notice (None: none has a time).
    """

    def __init__(self, *, exact: bool = True) -> None:
        self.rounds = self.hands = self.cards = 0
        self.staked = self.returned = self.carried = 0
        self.codes: Counter[tuple[Severity, str]] = Counter()
        self.answers = Answers(exact=exact)
        self.waiting = 0
        self.stood = 0
        self.first: int | None = None
        self.last: int | None = None

    @property
    def house_win(self) -> int:
        """What the house won; below 0 what it lost."""
        return self.staked - self.returned - self.carried

    @property
    def idle(self) -> bool:
        """Whether nothing was played and nothing went wrong."""
        money = self.staked or self.returned or self.carried
        return not (self.rounds or self.hands or self.cards or money or self.codes or self.answers.count or self.stood)

    def alerts(self, severity: Severity) -> int:
        """How many alerts there were of one severity."""
        return sum(count for (of, _), count in self.codes.items() if of == severity)

    def an_hour(self, count: int) -> str | None:
        """So many in an hour, to two decimals. None where the period has no length."""
        if self.first is None or self.last is None or self.last <= self.first:
            return None
        return decimal(count * 3600 * SECOND * 100, self.last - self.first, 2)

    @property
    def errors_per_100_rounds(self) -> str | None:
        """Alerts of warning and above for each hundred rounds, to two decimals. None without a round."""
        errors = self.alerts("warning") + self.alerts("critical")
        return decimal(errors * 100 * 100, self.rounds, 2) if self.rounds else None

    def row(self) -> dict[str, int | str | dict[str, int] | None]:
        """The figures by the names of `docs/stats.md`, as they are in JSON and CSV."""
        answers = self.answers
        return {
            "from": _time(self.first),
            "to": _time(self.last),
            "rounds": self.rounds,
            "hands": self.hands,
            "cards": self.cards,
            "rounds_per_hour": self.an_hour(self.rounds),
            "hands_per_hour": self.an_hour(self.hands),
            "staked": self.staked,
            "returned": self.returned,
            "carried": self.carried,
            "house_win": self.house_win,
            "alerts_critical": self.alerts("critical"),
            "alerts_warning": self.alerts("warning"),
            "alerts_info": self.alerts("info"),
            "errors_per_100_rounds": self.errors_per_100_rounds,
            "ruled": answers.count,
            "ruling_seconds_median": _seconds(answers.median),
            "ruling_seconds_max": _seconds(answers.largest),
            "waiting": self.waiting,
            "stood_seconds": _seconds(self.stood),
            "codes": {code: count for (_, code), count in sorted(self.codes.items(), key=lambda item: item[0][1])},
        }


class Period(NamedTuple):
    """A period that is over (or as far as it has come): the round's, shoe's or shift's number, or the date; and its figures."""

    name: str
    figures: Figures


class _Waiting(NamedTuple):
    """An alert that nobody has ruled on: when it was raised, and what ends it besides.

    `stops`: the game stands for it, and only a ruling ends it. `passes`: it came because the game stood, and ends with that.
    """

    at: int | None
    stops: bool
    passes: bool


class Fold:
    """Counts one table's observations and notices, `by` period; days are those of `zone`.

    Rounds and shoes are periods by their number, 0 before the first; a shift is from the table's opening to its closing, by its
    number, and what lies between two shifts is `closed`. A day ends with the first time that lies in a later one.
    """

    def __init__(self, by: By = "day", zone: tzinfo = UTC) -> None:
        self.by = by
        self.suspended = False
        self.now: int | None = None
        self._zone = zone
        self._figures = self._fresh()
        self._name = {"round": "0", "shoe": "0", "shift": "1", "day": "", "all": "all"}[by]
        self._number = 0
        self._since: int | None = None  # since when the game stands
        self._waiting: dict[int, _Waiting] = {}
        self._newest_alert = 0
        self._closed: RoundClosed | None = None

    def _fresh(self) -> Figures:
        return Figures(exact=self.by != "all")

    def take(self, observation: Observation, notices: Sequence[Notice]) -> Period | None:
        """Count one observation and what it caused. Gives the period that ended before it, where one did and was not idle."""
        at = _micros(notices[0].at if notices else observation.at)
        ended = None
        name = self._period(observation, notices, at)
        if name != self._name:
            ended = self._end(at)
            self._name, self._figures = name, self._fresh()
        if at is not None:
            self.now = at
            if notices:
                self._stretch(at)
        self._figures.cards += isinstance(observation, CardDrawn)
        self._count(observation, notices, at)
        if self.by == "shift" and any(isinstance(notice, PhaseChanged) and notice.to == "closed" for notice in notices):
            ended = ended or self._end(at)  # a shift cannot begin and end in one observation
            self._number = max(self._number, 1)
            self._name, self._figures = "closed", self._fresh()
        return ended

    def current(self) -> Period:
        """The period in hand, as far as it has come; the fold may go on."""
        self._stand(self.now)
        self._figures.waiting = len(self._waiting)
        return Period(self._name, self._figures)

    def finish(self) -> Period | None:
        """The last period, as far as it has come; None when it was idle."""
        return self._end(self.now)

    def waiting(self, *, stopping: bool = False) -> frozenset[int]:
        """The ids of the alerts that no supervisor has ended yet; with `stopping` only those that the game stands for."""
        return frozenset(number for number, alert in self._waiting.items() if alert.stops or not stopping)

    # Periods

    def _period(self, observation: Observation, notices: Sequence[Notice], at: int | None) -> str:
        """The name of the period that an observation belongs to."""
        if self.by == "round" and notices:
            return str(notices[0].round)
        if self.by == "shoe" and isinstance(observation, ShoeLoaded):
            self._number += 1
            return str(self._number)
        if self.by == "day" and at is not None:
            return max(self._name, (_EPOCH + timedelta(microseconds=at)).astimezone(self._zone).date().isoformat())
        if self.by == "shift" and any(isinstance(notice, PhaseChanged) and notice.from_ == "closed" for notice in notices):
            self._name = "closed"  # that is what it was, also before the first opening
            self._number += 1
            return str(self._number)
        return self._name

    def _end(self, at: int | None) -> Period | None:
        self._stand(at)
        self._figures.waiting = len(self._waiting)
        return None if self._figures.idle else Period(self._name, self._figures)

    def _stretch(self, at: int) -> None:
        figures = self._figures
        figures.first = at if figures.first is None else min(figures.first, at)
        figures.last = at if figures.last is None else max(figures.last, at)

    def _stand(self, at: int | None) -> None:
        """Count the time that the game has stood so far to the period in hand."""
        if self._since is not None and at is not None and at > self._since:
            self._figures.stood += at - self._since
            self._since = at

    # What is counted

    def _count(self, observation: Observation, notices: Sequence[Notice], at: int | None) -> None:
        figures, stood_before = self._figures, self.suspended
        alerts: list[Alert] = []
        called_for: int | None = None
        refused = went_on = False
        for notice in notices:
            if isinstance(notice, Alert):
                refused = refused or "refused" in notice.operands
                if notice.id > self._newest_alert:
                    self._newest_alert = notice.id
                    figures.codes[notice.severity, notice.code] += 1
                    alerts.append(notice)
            elif isinstance(notice, Outcome):
                figures.hands += notice.corrects is None
            elif isinstance(notice, RoundClosed):
                self._close(notice)
            elif isinstance(notice, PhaseChanged):
                self._phase(notice, at)
                went_on = went_on or notice.from_ == "suspended"
            elif isinstance(notice, Prompt) and notice.code == "call_supervisor":
                number = notice.operands.get("alert")
                called_for = number if isinstance(number, int) else None
        if self._waiting:
            decided = isinstance(observation, Ruling | Ack) and not refused
            if decided:
                for number in self._ended(observation, called_for):
                    self._answer(number, at)
            for number in self._over(called_for, went_on=went_on):
                if decided:
                    self._answer(number, at)
                else:
                    del self._waiting[number]  # the shoe's fault went by itself
        if alerts:
            self._await(observation, alerts, called_for, at, stopped=self.suspended and not stood_before)

    def _close(self, closed: RoundClosed) -> None:
        """Count a round; one that corrects another replaces its money."""
        figures, before = self._figures, self._closed
        figures.staked += closed.staked
        figures.returned += closed.returned
        figures.carried += closed.carried
        if closed.corrects is None:
            figures.rounds += 1
        elif before is not None and before.number == closed.number:
            figures.staked -= before.staked
            figures.returned -= before.returned
            figures.carried -= before.carried
        self._closed = closed

    def _phase(self, changed: PhaseChanged, at: int | None) -> None:
        if changed.from_ == "suspended":
            self._stand(at)
            self._since, self.suspended = None, False
        if changed.to == "suspended":
            self._since, self.suspended = at, True

    def _ended(self, observation: Observation, called_for: int | None) -> list[int]:
        """The alerts that a ruling or an acknowledgement ended, by what it names."""
        if isinstance(observation, Ack):  # what the game stands for needs a ruling
            waiting = self._waiting.get(observation.alert)
            return [observation.alert] if waiting and not waiting.stops else []
        if not isinstance(observation, Ruling):
            return []
        if observation.alert is not None:
            return [observation.alert] if observation.alert in self._waiting and observation.alert != called_for else []
        return [] if observation.do == "correct" else [number for number, alert in self._waiting.items() if alert.stops]

    def _over(self, called_for: int | None, *, went_on: bool) -> list[int]:
        """The alerts that the game does not stand for any more: all when it went on, else those before the one called for.

        It may go on and stand again in one moment: the camera shows where a card lies, which ends one error and shows another.
        """
        if went_on:
            return [number for number, alert in self._waiting.items() if alert.stops or (alert.passes and not self.suspended)]
        if not self.suspended or called_for is None or called_for not in self._waiting:
            return []  # a correction may put a new alert before the old ones, which may or may not be over
        return [number for number, alert in self._waiting.items() if alert.stops and number < called_for]

    def _answer(self, number: int, at: int | None) -> None:
        raised = self._waiting.pop(number).at
        self._figures.answers.add(None if at is None or raised is None else max(0, at - raised))

    def _await(
        self, observation: Observation, alerts: Sequence[Alert], called_for: int | None, at: int | None, *, stopped: bool
    ) -> None:
        """Watch what needs a ruling: what is critical, and whatever the game stands for."""
        grave = [alert for alert in alerts if alert.severity != "info"]
        stops = {alert.id for alert in grave if alert.id == called_for or (self.suspended and _stops(alert, observation))}
        if stopped and not stops:  # a house that stands for what others do not
            stops = {alert.id for alert in grave}
        for alert in grave:
            if alert.severity == "critical" or alert.id in stops:
                passes = alert.code == "deal.while_suspended" and alert.id not in stops
                self._waiting[alert.id] = _Waiting(at, alert.id in stops, passes)
        while len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]


def _stops(alert: Alert, observation: Observation) -> bool:
    """Whether the game usually stands for such an alert; a house may say otherwise, and the notice does not tell."""
    known = CATALOGUE.get(alert.code)
    wrong_shoe = alert.code == "rules.layout_mismatch" and isinstance(observation, ShoeLoaded)
    return wrong_shoe or (known is not None and known.suspends)


def groups(entries: Iterable[Entry], where: str | None = None) -> Iterator[Group]:
    """A ledger's entries as observations, each with the notices it caused; pins are passed over.

    Raises `LedgerError`, naming the ledger `where` and the entry, for what cannot be read.
    """
    observation: Observation | None = None
    notices: list[Notice] = []
    for entry in entries:
        try:
            if entry.kind == "observation":
                following = seen.decode(entry.body)
                if observation is not None:
                    yield observation, notices
                observation, notices = following, []
            elif entry.kind == "notice":
                notices.append(said.decode(entry.body))
        except (InputError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LedgerError(f"entry {entry.seq} cannot be read: {error}", where=where) from error
    if observation is not None:
        yield observation, notices


def _seconds(micros: int | None) -> str | None:
    return None if micros is None else decimal(micros, 1, 6)


def _time(micros: int | None) -> str | None:
    return None if micros is None else from_micros(micros)


def _micros(at: str | None) -> int | None:
    """A notice's time; None where it is none, as in an observation that was made by hand."""
    try:
        return None if at is None else to_micros(at)
    except ValueError:
        return None
