"""Ledgers for the tests: one table, and every kind of notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tablectl import notices, observations
from tablectl.cards import Card
from tablectl.game.view import BoxView, DealerView, HandView, HeldView, PromptView, ShoeView, TableView
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.ledger.store import Ledger
from tablectl.notices import Notice
from tablectl.places import BoxPlace

TABLE = TableName("Vilnius", "pit 2", "BJ-7")
BASE = "tablectl/v1/Vilnius/pit 2/BJ-7"
PIN = Pin(
    software="tablectl 0.1.0",
    table=TABLE,
    house=Pinned("lt", "ab" * 32),
    language="lt",
    profiles={"shoe": Pinned("bee-tek", "cd" * 32)},
)
AT = "2026-11-30T05:57:42.000631Z"
STATE = msgspec.json.encode(
    TableView(
        at=AT,
        house="lt",
        phase="players",
        round=1,
        round_open=True,
        boxes=(BoxView(3, 1000, 0, (HandView(0, (Card("AS"), Card("??")), None, False, 1000, None, True, None, None),)),),
        dealer=DealerView((Card("9D"),), 9, False),
        held=(HeldView(Card("4S"), "dealer"),),
        shoe=ShoeView(300, 12, 1, "loaded"),
        prompt=PromptView("ask_box", 3, 0, {"box": 3}, "Dėžė 3"),
        alerts=(),
        devices={"shoe": notices.DeviceState("up", "")},
    )
)
TICK = observations.encode(observations.Tick(at=AT))


def every_kind() -> list[Notice]:
    """One of each notice at least, numbered from 1."""
    made: list[Notice] = [
        notices.PhaseChanged(1, AT, 0, 1, "closed", "betting"),
        notices.Status(2, AT, 0, 1, {"shoe": notices.DeviceState("up", ""), "pad": notices.DeviceState("down", "unplugged")}),
        notices.ShoeNotice(3, None, 0, 1, 312, 0, 0, "loaded"),
        notices.Prompt(4, AT, 1, 2, "deal_to_box", 3, 0, {"box": 3, "cards": ("AS",), "last": True, "by": None}, "Dėžė 3"),
        notices.Dealt(5, AT, 1, 2, Card("AS"), BoxPlace(3, 0), 11, True, "shoe"),
        notices.Dealt(6, AT, 1, 3, Card("??"), "dealer", None, False, None),
        notices.Alert(
            7,
            AT,
            1,
            3,
            1,
            "shoe.unread",
            "warning",
            "none",
            None,
            None,
            (Card("??"),),
            None,
            {},
            "?",
            notices.Remedy("call_supervisor", "Kvieskite", "R33"),
            True,
        ),
        notices.Outcome(8, AT, 1, 4, 3, 0, "blackjack", (Card("AS"), Card("KH")), 21, None, 1000, 0, 2500, 0, None),
        notices.RoundClosed(9, AT, 1, 4, 1, 1000, 2500, 0, 3, None, 1),
    ]
    assert {type(notice) for notice in made} == set(Notice.__args__)
    return made


def many(count: int, first: int = 1) -> Iterator[bytes]:
    """`count` notices, of all kinds but `status` in turn, numbered from `first`."""
    kinds = [notice for notice in every_kind() if not isinstance(notice, notices.Status)]
    for number in range(first, first + count):
        yield notices.encode(msgspec.structs.replace(kinds[number % len(kinds)], seq=number))


def fill(ledger: Ledger, said: Iterator[bytes], *, batch: int = 500) -> list[bytes]:
    """Append notices, two for each observation, in batches of `batch` observations, with a state after each; give them back."""
    all_said = list(said)
    for start in range(0, len(all_said), 2):
        state = b'{"at":"%s","round":1,"told":%d}' % (AT.encode(), start + 2)
        ledger.append(TICK, all_said[start : start + 2], state)
        if ledger.waiting >= 3 * batch:
            ledger.commit()
    ledger.commit()
    return all_said


def new_ledger(folder: Path, name: str = "table.ledger") -> Ledger:
    return Ledger.create(folder / name, PIN)
