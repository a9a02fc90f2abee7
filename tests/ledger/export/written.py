"""Small ledgers for exports, written by the real writer: a few entries with awkward words, and many."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tablectl.cards import PACK
from tablectl.instants import from_micros
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.ledger.store import Ledger
from tablectl.notices import Alert, Dealt, Notice, Operand, Prompt, Remedy, Severity, ShoeNotice, encode
from tablectl.observations import Observation, Tick
from tablectl.observations import encode as encode_seen

BEGAN = 1_796_018_400_000_000
"""2026-11-30T06:00:00Z in microseconds since 1970."""
TABLE = TableName("hall", "main", "t07")


class Written:
    """A ledger being written. Times are in milliseconds after `BEGAN`."""

    def __init__(self, path: Path, table: TableName = TABLE, *, carried: str | None = None) -> None:
        self.path = path
        pin = Pin(software="tablectl", table=table, house=Pinned("fr", "ab" * 32), language="en", profiles={}, opened=path.name)
        self.ledger = Ledger.create(path, pin if carried is None else _carrying(pin, carried))
        self.said = 0
        self.cause = 0

    def say(self, at: float | None, *notices: Notice, observation: Observation | None = None) -> None:
        time = None if at is None else from_micros(BEGAN + round(at * 1000))
        self.cause += 1
        body = encode_seen(observation) if observation else encode_seen(Tick(at=time))
        self.ledger.append(body, [encode(notice) for notice in notices])
        self.ledger.commit()

    def prompt(self, at: float, text: str) -> None:
        self.say(at, Prompt(self._seq(), _time(at), 1, self.cause + 1, "place_bets", None, None, {}, text))

    def alert(self, at: float, text: str, severity: Severity = "critical", code: str = "shoe.fault", number: int = 1) -> None:
        remedy = Remedy("call_supervisor", "Call", "§")
        operands: dict[str, Operand] = {"text": text}
        self.say(
            at,
            Alert(
                self._seq(),
                _time(at),
                1,
                self.cause + 1,
                number,
                code,
                severity,
                "none",
                3,
                None,
                (),
                None,
                operands,
                text,
                remedy,
                True,
            ),
        )

    def dealt(self, at: float, number: int = 1) -> None:
        card = PACK[number % 52]
        self.say(
            at,
            Dealt(self._seq(), _time(at), 1, self.cause + 1, card, "dealer", 10, False, "shoe"),
            ShoeNotice(self._seq(), _time(at), 1, self.cause + 1, 300, 12, 0, "loaded"),
        )

    def _seq(self) -> int:
        self.said += 1
        return self.said

    def close(self) -> Path:
        self.ledger.close()
        return self.path


def _time(at: float) -> str:
    return from_micros(BEGAN + round(at * 1000))


def _carrying(pin: Pin, carried: str) -> Pin:
    return msgspec.structs.replace(pin, carried=carried)
