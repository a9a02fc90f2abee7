"""A round as surveillance reads it: what happened, in order, with its times; from the table's ledger, or from what was heard.

A ledger has all of it, stakes and decisions too, and can prove it. Where no ledger is given, the last rounds are told from the
notices that came over the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tablectl import notices, observations
from tablectl.display.heard import Heard
from tablectl.display.view import path_of
from tablectl.errors import LedgerError, TablectlError
from tablectl.instants import to_micros
from tablectl.ledger import pin as pins
from tablectl.ledger.checkpoint import Checkpoint
from tablectl.ledger.pin import Pin, TableName
from tablectl.ledger.prove import entries_of_round, prove
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.signed_note import Note
from tablectl.notices import Alert, Dealt, Outcome, PhaseChanged, RoundClosed
from tablectl.observations import Ack, Bet, Decision, Insurance, Ruling
from tablectl.places import BoxPlace

__all__ = ["Ledgers", "Line", "Proof", "Record", "heard_record", "lines_of", "on_record"]


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened. `entry` is its number in the ledger, 0 where only its notice was heard; amounts as in notices."""

    entry: int
    at: str | None
    event: str
    place: str = ""
    cards: tuple[str, ...] = ()
    total: int | None = None
    amount: int | None = None
    text: str = ""
    by: str | None = None
    result: str | None = None
    returned: int | None = None
    severity: str | None = None
    remedy: str = ""


class Proof(msgspec.Struct, frozen=True):
    """What proves a round: its entries, and the signed head that covers them; `trouble` says why there is none."""

    ledger: str
    first: int
    last: int
    size: int = 0
    note: str = ""
    trouble: str = ""


class Record(msgspec.Struct, frozen=True):
    """A round of a table. `proof` is None where it was only heard."""

    table: TableName
    language: str
    house: str
    round: int
    lines: tuple[Line, ...]
    proof: Proof | None


def heard_record(heard: Heard, number: int) -> Record | None:
    """A round from what was heard; None where it is too old, or never was."""
    found = next((one for one in heard.rounds if one.number == number), None)
    if found is None:
        return None
    entries = (Entry(0, "notice", body) for body in found.notices)
    house = heard.view.house if heard.view is not None else ""
    return Record(heard.name, heard.language, house, number, tuple(lines_of(entries)), None)


def lines_of(entries: Iterable[Entry]) -> Iterator[Line]:
    """What a person wants to read of these entries, in their order."""
    for entry in entries:
        try:
            if entry.kind == "notice":
                line = _of_notice(entry.seq, notices.decode(entry.body))
            elif entry.kind == "observation":
                line = _of_observation(entry.seq, observations.decode(entry.body))
            else:
                line = None
        except (msgspec.DecodeError, TablectlError):
            line = Line(entry.seq, None, "other", text=entry.body.decode(errors="replace")[:200])
        if line is not None:
            yield line


def _of_notice(entry: int, said: notices.Notice) -> Line | None:
    if isinstance(said, Dealt):
        return Line(entry, said.at, "card", _place(said.to), (said.card,), said.total)
    if isinstance(said, Alert):
        place = _of_box(said.box, said.hand)
        remedy = " ".join(filter(None, (said.remedy.text, f"({said.remedy.cite})" if said.remedy.cite else "")))
        return Line(entry, said.at, "alert", place, said.cards, text=said.text, severity=said.severity, remedy=remedy)
    if isinstance(said, Outcome):
        place = _of_box(said.box, said.hand)
        return Line(
            entry,
            said.at,
            "outcome",
            place,
            said.cards,
            said.total,
            said.stake,
            result=said.result,
            returned=said.returned + said.carried,
        )
    if isinstance(said, PhaseChanged):
        return Line(entry, said.at, "phase", text=said.to)
    if isinstance(said, RoundClosed):
        return Line(entry, said.at, "round_closed", amount=said.staked, returned=said.returned + said.carried)
    return None


def _of_observation(entry: int, seen: observations.Observation) -> Line | None:
    if isinstance(seen, Bet):
        return Line(entry, seen.at, "bet", _of_box(seen.box, 0), amount=seen.amount, text=seen.kind, by=seen.by)
    if isinstance(seen, Decision):
        return Line(entry, seen.at, "decision", _of_box(seen.box, seen.hand), text=seen.action, by=seen.by)
    if isinstance(seen, Insurance):
        return Line(entry, seen.at, "insurance", _of_box(seen.box, 0), amount=seen.amount)
    if isinstance(seen, Ruling):
        card = (seen.card,) if seen.card is not None else ()
        place = _of_box(seen.box, seen.hand) if seen.box is not None else _place(seen.to) if seen.to is not None else ""
        reason = f"{seen.do}: {seen.reason}" if seen.reason else seen.do
        return Line(entry, seen.at, "ruling", place, card, text=reason, by=seen.by)
    if isinstance(seen, Ack):
        return Line(entry, seen.at, "ack", text=str(seen.alert), by=seen.by)
    return None


def _place(place: BoxPlace | str) -> str:
    return _of_box(place.box, place.hand) if isinstance(place, BoxPlace) else place


def _of_box(box: int | None, hand: int | None) -> str:
    """`box 3`, `box 3.1`: the tokens of `tablectl.texts`."""
    return "" if box is None else f"box {box}.{hand}" if hand else f"box {box}"


class Ledgers:
    """The ledgers in a folder and those below it, of whichever tables. Every method reads files: not for the event loop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pins: dict[Path, Pin] = {}

    def of(self, table: TableName) -> list[Path]:
        """A table's ledgers, the newest first. A file that is no ledger is passed over."""
        found = []
        for path in self.folder.rglob("*.db"):
            pin = self._pin(path)
            if pin is not None and pin.table == table:
                found.append((pin.opened or "", path.name, path))
        return [path for *_, path in sorted(found, reverse=True)]

    def tables(self) -> list[TableName]:
        """The tables of which there is a ledger."""
        pins = (self._pin(path) for path in self.folder.rglob("*.db"))
        return sorted({pin.table for pin in pins if pin is not None}, key=str)

    def _pin(self, path: Path) -> Pin | None:
        if path not in self._pins:
            try:
                with Reader(path) as reader:
                    self._pins[path] = pins.decode(reader.entries(0, 1)[0].body)
            except (TablectlError, msgspec.DecodeError, IndexError):
                return None
        return self._pins[path]

    def round(self, table: TableName, number: int) -> Record | None:
        """The newest round of that number, with its proof; None where no ledger has one. Raises `LedgerError`."""
        for path in self.of(table):
            with Reader(path) as reader:
                numbers = set(entries_of_round(_all(reader), number))
                if not numbers:
                    continue
                entries = [entry for entry in _all(reader) if entry.seq in numbers]
            pin = self._pins[path]
            lines = tuple(_own(list(lines_of(entries))))
            return Record(table, pin.language, pin.house.name, number, lines, self._proof(path, numbers))
        return None

    def proof(self, table: TableName, number: int) -> bytes | None:
        """What proves a round to `tablectl audit check-proof`. Raises `LedgerError` where there is no proof yet."""
        for path in self.of(table):
            with Reader(path) as reader:
                numbers = entries_of_round(_all(reader), number)
            if numbers:
                return prove(path, numbers)
        return None

    @staticmethod
    def _proof(path: Path, numbers: set[int]) -> Proof:
        first, last = min(numbers), max(numbers)
        try:
            note = msgspec.json.decode(prove(path, numbers))["checkpoint"]
            size = Checkpoint.parse(Note.parse(note.encode()).text).size
        except LedgerError as error:
            return Proof(path.name, first, last, trouble=error.message)
        return Proof(path.name, first, last, size, note)

    def round_at(self, table: TableName, at: str) -> int | None:
        """The round that was on at a time, or the last before it; None before all ledgers. Raises `LedgerError`."""
        wanted = to_micros(at)
        for path in self.of(table):
            found = None
            with Reader(path) as reader:
                for entry in _all(reader):
                    if entry.kind != "notice":
                        continue
                    head = _head(entry.body)
                    if head.at is None:
                        continue
                    if to_micros(head.at) <= wanted:
                        found = head.round
                    elif found is None:
                        break  # it is from before this ledger
                    elif found or head.round:
                        return found or head.round  # what was burned before the first round is told with it
            if found:
                return found
        return None

    def incidents(self, table: TableName, limit: int = 500) -> list[tuple[int, Line]]:
        """The alerts, rulings and acknowledgements of the table's newest ledger, each with its round; the newest last."""
        found: list[tuple[int, Line]] = []
        for path in self.of(table)[:1]:
            number = 0
            with Reader(path) as reader:
                for entry in _all(reader):
                    if entry.kind == "notice":
                        number = max(number, _head(entry.body).round)
                    if b'"alert"' in entry.body or b'"ruling"' in entry.body or b'"ack"' in entry.body:
                        found += [(number, line) for line in lines_of([entry]) if line.event in ("alert", "ruling", "ack")]
        return found[-limit:]


def on_record(ledgers: Ledgers) -> bytes:
    """The alerts, rulings and acknowledgements of the tables' newest ledgers, as JSON for the page."""
    found = [
        {"table": path_of(name), "round": number, "line": line}
        for name in ledgers.tables()
        for number, line in ledgers.incidents(name)
    ]
    return msgspec.json.encode(found)


def _own(lines: list[Line]) -> list[Line]:
    """Without the stakes that were laid for the next round, when this one was over."""
    over = max((index for index, line in enumerate(lines) if line.event == "round_closed"), default=len(lines))
    return [line for index, line in enumerate(lines) if index < over or line.event != "bet"]


class _Head(msgspec.Struct, frozen=True):
    at: str | None = None
    round: int = 0


_head = msgspec.json.Decoder(_Head).decode


def _all(reader: Reader) -> Iterator[Entry]:
    after = 0
    while entries := reader.entries(after):
        yield from entries
        after = entries[-1].seq
