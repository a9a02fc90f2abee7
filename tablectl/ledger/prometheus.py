"""A live table's figures in Prometheus's text format, version 0.0.4: what a scrape reads, or a textfile collector.

Source of the format: https://prometheus.io/docs/instrumenting/exposition_formats/. The numbers are those of the table's ledger
from its beginning, so a table that is started again goes on where it was; nothing here is global, each table has its own `Meter`.

Money is a gauge: a ruling that corrects a card may lessen it, and a counter never goes down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tablectl.ledger.answers import BOUNDS, Answers, decimal
from tablectl.ledger.figures import Fold
from tablectl.ledger.pin import TableName
from tablectl.notices import Notice
from tablectl.observations import Observation

__all__ = ["CONTENT_TYPE", "Meter"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What a web server says it sends."""

Sample = tuple[str, dict[str, str], int | str]
"""A name's ending, labels besides the table's, and a value."""


class Meter:
    """The running figures of one table. Belongs to one thread."""

    def __init__(self, table: TableName) -> None:
        self._labels = {"site": table.site, "pit": table.pit, "table": table.table}
        self._fold = Fold("all")

    def take(self, observation: Observation, notices: Sequence[Notice]) -> None:
        """Count one observation and the notices it caused."""
        self._fold.take(observation, notices)

    def render(self) -> str:
        """All figures as they stand now, with the line end after the last."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        figures, now = self._fold.current().figures, self._fold.now
        yield from self._metric("rounds_total", "counter", "Rounds closed.", [("", {}, figures.rounds)])
        yield from self._metric("hands_total", "counter", "Hands settled.", [("", {}, figures.hands)])
        yield from self._metric("cards_total", "counter", "Cards drawn from the shoe.", [("", {}, figures.cards)])
        money = {
            "staked": figures.staked,
            "returned": figures.returned,
            "carried": figures.carried,
            "house_win": figures.house_win,
        }
        for name, amount in money.items():
            words = f"{name.replace('_', ' ').capitalize()}, in the smallest currency unit."
            yield from self._metric(name, "gauge", words, [("", {}, amount)])
        alerts: list[Sample] = [
            ("", {"code": code, "severity": severity}, count) for (severity, code), count in sorted(figures.codes.items())
        ]
        yield from self._metric("alerts_total", "counter", "Alerts.", alerts)
        yield from self._metric("alerts_waiting", "gauge", "Alerts that wait for a ruling.", [("", {}, figures.waiting)])
        yield from self._metric("ruling_seconds", "histogram", "From an alert to its ruling.", _histogram(figures.answers))
        stood = decimal(figures.stood, 1, 6)
        yield from self._metric("stood_seconds_total", "counter", "How long the game was suspended.", [("", {}, stood)])
        yield from self._metric("suspended", "gauge", "1 while the game is suspended.", [("", {}, int(self._fold.suspended))])
        if now is not None:
            words = "The time of the last thing seen, since 1970."
            yield from self._metric("last_seen_timestamp_seconds", "gauge", words, [("", {}, decimal(now, 1, 6))])

    def _metric(self, name: str, kind: str, words: str, samples: Iterable[Sample]) -> Iterator[str]:
        yield f"# HELP tablectl_{name} {words}"
        yield f"# TYPE tablectl_{name} {kind}"
        for ending, labels, value in samples:
            pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in {**self._labels, **labels}.items())
            yield f"tablectl_{name}{ending}{{{pairs}}} {value}"


def _histogram(answers: Answers) -> Iterator[Sample]:
    """Each class holds those before it as well."""
    below = 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), answers.classes, strict=True):
        below += count
        yield "_bucket", {"le": bound}, below
    yield "_sum", {}, decimal(answers.total, 1, 6)
    yield "_count", {}, answers.timed


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
