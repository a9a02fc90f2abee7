"""A round as surveillance reads it: what happened, in order, with its times; from the table's ledger, or from what was heard.

A ledger (`tablectl.display.ledgers`) has all of it, stakes and decisions too, and can prove it. Where no ledger is given, the
last rounds are told from the notices that came over the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tablectl import notices, observations
from tablectl.display.heard import Heard
from tablectl.display.retold import Retold, retold
from tablectl.errors import TablectlError
from tablectl.ledger.pin import TableName
from tablectl.ledger.reader import Entry
from tablectl.notices import Alert, Dealt, Outcome, PhaseChanged, RoundClosed
from tablectl.observations import Ack, Bet, Decision, Insurance, Ruling
from tablectl.places import BoxPlace

__all__ = ["Line", "Proof", "Record", "heard_record", "lines_of"]


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened. `entry` is its number in the ledger, 0 where only its notice was heard; amounts as in notices.

    `text` is what people said, in their words, or a code (a phase, an action); `do` is what a ruling does; `words` are an
    alert's in the languages that are not its table's.
    """

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
    do: str = ""
    words: dict[str, Retold] = {}


class Proof(msgspec.Struct, frozen=True):
    """What proves a round: its entries, and the signed head that covers them.

    `size` is 0 while no head covers them, and `trouble` says in English what is wrong with a ledger that is damaged.
    """

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
    house = heard.view.house if heard.view is not None else ""
    return Record(heard.name, heard.language, house, number, tuple(_heard_lines(found.notices, heard.language)), None)


def _heard_lines(said: Iterable[bytes], language: str) -> Iterator[Line]:
    """A ruling is no notice: it is seen by the game's going on after it."""
    for body in said:
        notice = notices.decode(body)
        if isinstance(notice, PhaseChanged) and notice.from_ == "suspended":
            yield Line(0, notice.at, "ruling")
        yield from lines_of([Entry(0, "notice", body)], language)


def lines_of(entries: Iterable[Entry], language: str) -> Iterator[Line]:
    """What a person wants to read of these entries, in their order. `language` is their table's."""
    for entry in entries:
        try:
            if entry.kind == "notice":
                line = _of_notice(entry.seq, notices.decode(entry.body), language)
            elif entry.kind == "observation":
                line = _of_observation(entry.seq, observations.decode(entry.body))
            else:
                line = None
        except (msgspec.DecodeError, TablectlError):
            line = Line(entry.seq, None, "other", text=entry.body.decode(errors="replace")[:200])
        if line is not None:
            yield line


def _of_notice(entry: int, said: notices.Notice, language: str) -> Line | None:
    if isinstance(said, Dealt):
        return Line(entry, said.at, "card", _place(said.to), (said.card,), said.total)
    if isinstance(said, Alert):
        place = _of_box(said.box, said.hand)
        remedy = " ".join(filter(None, (said.remedy.text, f"({said.remedy.cite})" if said.remedy.cite else "")))
        return Line(
            entry,
            said.at,
            "alert",
            place,
            said.cards,
            text=said.text,
            severity=said.severity,
            remedy=remedy,
            words=retold(said, language),
        )
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
        return Line(entry, seen.at, "ruling", place, card, text=seen.reason, by=seen.by, do=seen.do)
    if isinstance(seen, Ack):
        return Line(entry, seen.at, "ack", text=str(seen.alert), by=seen.by)
    return None


def _place(place: BoxPlace | str) -> str:
    return _of_box(place.box, place.hand) if isinstance(place, BoxPlace) else place


def _of_box(box: int | None, hand: int | None) -> str:
    """`box 3`, `box 3.1`: the tokens of `tablectl.texts`."""
    return "" if box is None else f"box {box}.{hand}" if hand else f"box {box}"
