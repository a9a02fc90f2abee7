"""Rounds as surveillance reads them from the tables' ledgers, with what proves them; printed without a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tablectl.display.ledgers import Ledgers
from tablectl.ledger import pin as pins
from tablectl.ledger.prove import check_proof
from tablectl.ledger.reader import Reader
from tests.broker import Broker
from tests.display.screens import Screens, eventually
from tests.ledger.days import Day, make_day, played


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    folder = tmp_path_factory.mktemp("ledgers")
    (folder / "ledger").mkdir()
    (folder / "ledger" / "broken.db").write_text("no ledger")
    made = make_day(folder / "ledger", played(tmp_path_factory.mktemp("played")))
    made.older.unlink()
    return made


@pytest.fixture(scope="module")
def ledgers(day: Day) -> Ledgers:
    return Ledgers(day.path.parent.parent)


@pytest.fixture(scope="module")
def screens(day: Day, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    folder = str(day.path.parent.parent)
    with Broker(tmp_path_factory.mktemp("broker")) as broker, Screens(broker.url, "--ledgers", folder, "--lang", "en") as made:
        yield made


@pytest.fixture(scope="module")
def table(day: Day) -> pins.TableName:
    with Reader(day.path) as reader:
        return pins.decode(reader.entries(0, 1)[0].body).table


def test_a_ledger_tells_a_round_with_its_stakes_and_decisions(ledgers: Ledgers, table: pins.TableName) -> None:
    record = ledgers.round(table, 1)
    assert record is not None
    events = [line.event for line in record.lines]
    assert {"bet", "card", "decision", "outcome", "round_closed"} <= set(events)
    assert [line.entry for line in record.lines] == sorted(line.entry for line in record.lines)
    assert [line.at for line in record.lines] == sorted(line.at or "" for line in record.lines)
    assert sum(line.amount or 0 for line in record.lines if line.event == "bet") == 4000
    closed = next(line for line in record.lines if line.event == "round_closed")
    assert closed.amount == sum(line.amount or 0 for line in record.lines if line.event == "outcome")
    assert ledgers.round(table, 99) is None
    assert ledgers.round(pins.TableName("a", "b", "c"), 1) is None


def test_what_proves_it_holds_for_a_stranger(ledgers: Ledgers, table: pins.TableName, day: Day) -> None:
    record, body = ledgers.round(table, 1), ledgers.proof(table, 1)
    assert record is not None
    assert record.proof is not None
    assert body is not None
    proved = check_proof(body, [signer.verifier for signer in day.signers], where="proof")
    assert proved.checkpoint.size == record.proof.size
    assert {line.entry for line in record.lines} <= {entry.seq for entry in proved.entries}
    assert (record.proof.first, record.proof.last) == (proved.entries[1].seq, proved.entries[-1].seq)


def test_a_round_is_found_by_a_time(ledgers: Ledgers, table: pins.TableName) -> None:
    for number in (1, 2):
        record = ledgers.round(table, number)
        assert record is not None
        dealt = next(line.at for line in record.lines if line.event == "card")
        assert dealt is not None
        assert ledgers.round_at(table, dealt) == (number, "day.db")
    assert ledgers.round_at(table, "2001-01-01T00:00:00Z") is None


def test_the_page_of_a_round_has_all_of_it_and_the_way_to_its_proof(screens: Screens, table: pins.TableName) -> None:
    path = "/".join((table.site, table.pit, table.table)).replace(" ", "%20")
    page = screens.get(f"/surveillance/round/{path}/1")
    assert page.code == 200
    assert "Ledger proof" in page.body
    assert page.body.count("<td>Stake</td>") >= 2
    proof = screens.get(f"/surveillance/proof/{path}/1")
    assert proof.headers["content-disposition"] == 'attachment; filename="round-1.proof.json"'
    assert proof.json["proof"] == 1
    record = screens.get("/surveillance/record")
    assert record.code == 200
    assert all(one["line"]["event"] in ("alert", "ruling", "ack") for one in record.json)


def test_a_typed_number_leads_to_the_round_of_a_table_that_is_not_heard(screens: Screens, table: pins.TableName) -> None:
    path = "/".join((table.site, table.pit, table.table)).replace(" ", "%20")
    found = eventually(lambda: screens.get(f"/surveillance/find?table={path}&q=2"))
    assert found.headers["location"] == f"/surveillance/round/{path}/2"


def test_a_file_that_is_no_ledger_is_passed_over(ledgers: Ledgers, day: Day, table: pins.TableName) -> None:
    assert ledgers.of(table) == [day.path]
    assert Path("broken.db").name in {path.name for path in day.path.parent.iterdir()}
