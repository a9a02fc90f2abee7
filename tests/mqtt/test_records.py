"""How much of a flood of refused commands is recorded."""

from __future__ import annotations

from tablectl.instants import from_micros
from tablectl.mqtt.records import IN_FULL, MINUTE, Refusals, Refused, RefusedCount, decode

NOW = 1_796_000_000_000_000


def flood(refusals: Refusals, seconds: int, a_second: int, first: int = NOW) -> list[Refused | RefusedCount]:
    records: list[bytes] = []
    for number in range(seconds * a_second):
        now = first + number * 1_000_000 // a_second
        reason = "unsigned" if number % 4 else "expired"
        records += refusals.note(reason, now, lambda at=now, why=reason: Refused(at=from_micros(at), name="ack", reason=why))  # type: ignore[misc]
    found = [decode(body) for body in records]
    assert all(isinstance(record, Refused | RefusedCount) for record in found)
    return [record for record in found if isinstance(record, Refused | RefusedCount)]


def test_a_few_are_recorded_one_by_one() -> None:
    assert [type(record) for record in flood(Refusals(), 120, 1)][:IN_FULL] == [Refused] * IN_FULL
    slow = Refusals()
    for minute in range(20):
        for number in range(IN_FULL):
            assert slow.note("x", NOW + minute * MINUTE + number, lambda: Refused(at=None, name="a", reason="x"))
    assert slow.due(NOW + 30 * MINUTE, at_once=True) == []


def test_of_a_flood_each_one_is_counted_and_few_are_records() -> None:
    refusals = Refusals()
    records = flood(refusals, 300, 500)
    last = map(decode, refusals.due(NOW + 300_000_000, at_once=True))
    records += [record for record in last if isinstance(record, RefusedCount)]
    counted = [record for record in records if isinstance(record, RefusedCount)]
    assert len(records) <= 6 * (IN_FULL + 1)
    assert len(records) - len(counted) + sum(record.refused for record in counted) == 300 * 500
    for record in counted:
        assert sum(record.reasons.values()) == record.refused
        assert record.since < record.at
    assert set(counted[0].reasons) == {"unsigned", "expired"}


def test_a_clock_that_is_set_back_or_on_loses_none() -> None:
    refusals = Refusals()
    records = flood(refusals, 10, 100)
    records += flood(refusals, 10, 100, NOW - 3600 * 1_000_000)
    records += flood(refusals, 10, 100, NOW + 3600 * 1_000_000)
    records += [record for body in refusals.due(NOW, at_once=True) if isinstance(record := decode(body), RefusedCount)]
    assert sum(record.refused if isinstance(record, RefusedCount) else 1 for record in records) == 3000
    assert len(records) < 50


def test_words_that_are_made_up_do_not_swell_the_count() -> None:
    refusals = Refusals()
    for number in range(2000):
        refusals.note(f"word {number}", NOW, lambda: Refused(at=None, name="a", reason="x"))
    (body,) = refusals.due(NOW, at_once=True)
    assert len(body) < 2000
    counted = decode(body)
    assert isinstance(counted, RefusedCount)
    assert counted.refused == 2000 - IN_FULL
