"""The ledgers of several gaming days: each round, ruling and time is found in the day that it is of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tablectl.display.ledgers import Found, Ledgers
from tablectl.display.typed import time_of
from tablectl.game.carried import carry, take_over
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.instants import from_micros, to_micros
from tablectl.ledger.keys import Signer
from tablectl.ledger.pin import Pin, Pinned
from tablectl.ledger.store import Ledger
from tablectl.notices import encode
from tablectl.observations import decode
from tests.broker import Broker
from tests.display.screens import PATH, Screens
from tests.display.test_view import DREW
from tests.display.told import NAME

SECOND = timedelta(seconds=1) // timedelta(microseconds=1)
DAYS = {"2026-11-29": "2026-11-29T20:00:00Z", "2026-11-30": "2026-11-30T06:00:00Z", "2026-11-30.2": "2026-11-30T12:00:00Z"}
"""The ledgers of a table, and when each was begun."""
RULING: dict[str, Any] = {"event": "ruling", "by": "CHIEF7", "do": "burn"}
NEXT = [{"event": "bet", "box": 1, "amount": 500}, {"event": "no_more_bets"}, {"event": "card", "card": "9S"}]


def write(folder: Path) -> None:
    """A round a day, with an error and its ruling; the third begins another round, and is not signed yet."""
    signer = Signer.make("tablectl/v1/hall/main/t_7")
    table = Table(rules.load("fr").house)
    carried = None
    for number, (name, opened) in enumerate(DAYS.items(), start=1):
        begun = to_micros(opened)
        pin = Pin(
            software="tablectl",
            table=NAME,
            house=Pinned("fr", None),
            language="fr",
            profiles={},
            opened=from_micros(begun),
            carried=carried,
            signer=signer.verifier.vkey,
        )
        times = count(begun + SECOND, SECOND)
        with Ledger.create(folder / f"{name}.db", pin) as ledger:
            for one in [*DREW, {**RULING, "reason": f"day {number}"}, *(NEXT if number == len(DAYS) else ())]:
                observation = decode(msgspec.json.encode({"at": from_micros(next(times)), **one}))
                ledger.append(msgspec.json.encode(observation), [encode(notice) for notice in table.feed(observation)])
            ledger.commit()
            if number < len(DAYS):
                ledger.checkpoint(signer, from_micros(next(times)))
                carried = carry(table).decode()
        if number < len(DAYS):
            assert carried is not None
            table = Table(rules.load("fr").house)
            take_over(table, carried.encode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("storage") / "ledger"
    folder.mkdir()
    write(folder)
    return folder


@pytest.fixture(scope="module")
def ledgers(folder: Path) -> Ledgers:
    return Ledgers(folder.parent)


@pytest.fixture(scope="module")
def screens(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    with Broker(tmp_path_factory.mktemp("broker")) as broker, Screens(broker.url, "--ledgers", str(folder.parent)) as made:
        yield made


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_round_is_read_from_the_ledger_of_its_day(ledgers: Ledgers, number: int) -> None:
    name, opened = list(DAYS.items())[number - 1]
    record = ledgers.round(NAME, number)
    assert record is not None
    assert record.proof is not None
    assert record.proof.ledger == f"{name}.db"
    assert {line.at[:13] for line in record.lines if line.at} == {opened[:13]}
    assert [line.text for line in record.lines if line.event == "ruling"] == [f"day {number}"]
    assert len([line for line in record.lines if line.event == "card" and line.place.startswith("box")]) == 7


def test_a_round_that_was_only_begun_is_there_and_has_no_proof_yet(ledgers: Ledgers) -> None:
    record = ledgers.round(NAME, 4)
    assert record is not None
    assert record.proof is not None
    assert (record.proof.size, record.proof.trouble) == (0, "")
    assert [line.amount for line in record.lines if line.event == "bet"] == [500]
    assert ledgers.round(NAME, 5) is None


@pytest.mark.parametrize(
    ("at", "found"),
    [
        ("2026-11-29T19:00:00Z", None),
        ("2026-11-29T20:00:09Z", Found(1, "2026-11-29.db")),
        ("2026-11-30T03:00:00Z", Found(1, "2026-11-29.db")),  # nobody played: the last round before it
        ("2026-11-30T06:00:09Z", Found(2, "2026-11-30.db")),
        ("2026-11-30T12:00:09Z", Found(3, "2026-11-30.2.db")),
        ("2026-12-24T00:00:00Z", Found(4, "2026-11-30.2.db")),
    ],
)
def test_a_time_leads_to_the_round_and_the_ledger_of_its_day(ledgers: Ledgers, at: str, found: Found | None) -> None:
    assert ledgers.round_at(NAME, at) == found


def test_what_is_asked_for_by_time_is_found_however_old(ledgers: Ledgers) -> None:
    def rulings(*period: str) -> list[tuple[int, str]]:
        return [(one.round, one.line.text) for one in ledgers.incidents(NAME, *period) if one.line.event == "ruling"]

    assert rulings() == [(2, "day 2"), (3, "day 3")]  # the two newest ledgers
    assert rulings("2026-11-29") == [(1, "day 1"), (2, "day 2"), (3, "day 3")]
    assert rulings("2026-11-29", "2026-11-29T23") == [(1, "day 1")]
    assert rulings("2026-11-30", "2026-11-30T06") == [(2, "day 2")]
    assert rulings("2026-12-01") == []


def test_a_ledger_that_grows_is_read_on(tmp_path: Path) -> None:
    write(tmp_path)
    ledgers = Ledgers(tmp_path)
    assert ledgers.round_at(NAME, "2026-11-30T13:00:00Z") == Found(4, "2026-11-30.2.db")
    before = len(ledgers.incidents(NAME))
    with Ledger.resume(tmp_path / "2026-11-30.2.db") as ledger:
        said = {"event": "ack", "at": "2026-11-30T13:30:00.000000Z", "alert": 1, "by": "CHIEF7"}
        ledger.append(msgspec.json.encode(decode(msgspec.json.encode(said))))
        ledger.commit()
    after = ledgers.incidents(NAME)
    assert len(after) == before + 1
    assert (after[-1].line.event, after[-1].line.by) == ("ack", "CHIEF7")


@pytest.mark.parametrize(
    ("typed", "where"),
    [
        ("2", "2"),
        ("2026-11-29 20:00:09", "1?ledger=2026-11-29.db"),
        ("2026-11-30T06:00:09.5Z", "2?ledger=2026-11-30.db"),
        ("2026-11-30T13:00%2B01:00", "2?ledger=2026-11-30.db"),
        ("2026-11-30 12:01", "4?ledger=2026-11-30.2.db"),
    ],
)
def test_what_is_typed_leads_to_a_page_of_that_round_and_its_proof(screens: Screens, typed: str, where: str) -> None:
    found = screens.get(f"/surveillance/find?table={PATH}&q={typed.replace(' ', '%20')}")
    assert (found.code, found.headers["location"]) == (303, f"/surveillance/round/{PATH}/{where}")
    page = screens.get(found.headers["location"])
    number = where.partition("?")[0]
    assert page.code == 200
    assert f"Round {number}, table t 7" in page.body
    if number != "4":
        assert screens.get(f"/surveillance/proof/{PATH}/{where}").json["proof"] == 1
        assert screens.get(f"/surveillance/round/{PATH}/{number}?ledger=other.db").code == 404


@pytest.mark.parametrize(
    ("typed", "at"),
    [
        ("2026-11-30 05:57:46", "2026-11-30T05:57:46.000000Z"),
        ("2026-11-30T05:57:46.25Z", "2026-11-30T05:57:46.250000Z"),
        (" 2026-11-30 05:57 ", "2026-11-30T05:57:00.000000Z"),
        ("2026-11-30 06:57+01:00", "2026-11-30T05:57:00.000000Z"),
        ("05:57", "2026-11-30T05:57:00.000000Z"),
        ("05:57:46.5", "2026-11-30T05:57:46.500000Z"),
        ("12:00:01", "2026-11-29T12:00:01.000000Z"),  # today it is not so late yet
        ("2026-11-31 05:57", None),
        ("25:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_time_as_people_type_it(typed: str, at: str | None) -> None:
    assert time_of(typed, now=to_micros("2026-11-30T12:00:00Z")) == at


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "card burned · day 1 · CHIEF7"),
        ("fr", "carte brûlée · day 1 · CHIEF7"),
        ("es", "carta quemada · day 1 · CHIEF7"),
        ("lt", "korta sudeginta · day 1 · CHIEF7"),
    ],
)
def test_a_ruling_is_in_the_readers_language(screens: Screens, language: str, said: str) -> None:
    body = screens.get(f"/surveillance/round/{PATH}/1?lang={language}").body
    assert said in body
    assert ">burn" not in body
    assert "La banque a tiré 4H à 18" in body  # and the alert as the table said it, besides
    assert ('class="original"' in body) == (language != "fr")
