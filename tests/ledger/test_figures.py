"""Figures worked out by hand, figures against the game's own state, and parts that add up to the whole."""

from __future__ import annotations

import re
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl import notices
from tablectl.emulator.dealer import LegalPlay
from tablectl.errors import LedgerError
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.instants import from_micros
from tablectl.ledger.answers import Answers, decimal
from tablectl.ledger.figures import PERIODS, By, Figures, Fold, Group, Period, groups
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.ledger.prometheus import Meter
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.store import Ledger
from tablectl.observations import Felt, Observation, Ruling, ShoeFault, decode, encode
from tests.strategies import Stream, a_few, mishaps

PIN = Pin(software="tablectl 0.1.0", table=TableName("s", "p", "t"), house=Pinned("es", "ab" * 32), language="es", profiles={})
CHIEF = frozenset({"CHIEF7"})

RULINGS = """
10:00:00 {"event":"bet","box":1,"amount":1000}
10:00:00 {"event":"bet","box":2,"amount":1000}
10:00:05 {"event":"card","card":"TS"}
10:00:10 {"event":"card","card":"TH"}
10:00:15 {"event":"card","card":"7S"}
10:00:20 {"event":"card","card":"9S"}
10:00:25 {"event":"card","card":"8S"}
10:00:30 {"event":"decision","box":1,"action":"stand"}
10:00:35 {"event":"decision","box":2,"action":"stand"}
10:01:00 {"event":"card","card":"KS"}
10:02:00 {"event":"card","card":"4S"}
10:02:10 {"event":"card","card":"5S"}
10:02:30 {"event":"ruling","do":"burn","by":"DEALER3"}
10:03:00 {"event":"ruling","do":"burn","by":"CHIEF7"}
10:04:00 {"event":"bet","box":1,"amount":1000}
10:04:05 {"event":"card","card":"TC"}
10:04:10 {"event":"card","card":"7D"}
10:04:15 {"event":"card","card":"9D"}
10:04:20 {"event":"decision","box":1,"action":"stand"}
10:04:30 {"event":"card","card":"TD"}
10:05:00 {"event":"ruling","do":"correct","draw":2,"card":"9H","by":"CHIEF7"}
10:06:00 {"event":"bet","box":1,"amount":1000}
10:06:10 {"event":"card","card":"2C"}
10:07:00 {"event":"bet","box":2,"amount":500}
10:07:30 {"event":"ack","alert":5,"by":"DEALER3"}
10:07:40 {"event":"ack","alert":5,"by":"CHIEF7"}
10:08:00 {"event":"card","card":"3C"}
"""
"""A session in a Spanish house. Box 1 and box 2 win 10.00 each. The dealer takes the four of spades with 17 (alert 2), and the
five while the game stands (alert 3); the dealer's own ruling is refused (alert 4), the chief's comes after 60 and 50 seconds. In
the second round the dealer's seven turns out to be a nine, and the box that was paid has tied. In the third, box 2 bets too late
(alert 5), which the dealer may not acknowledge (alert 6) and the chief does 40 seconds after the bet."""

ROUND = """
{day}T{clock}:00 {{"event":"bet","box":1,"amount":1000}}
{day}T{clock}:05 {{"event":"card","card":"TC"}}
{day}T{clock}:10 {{"event":"card","card":"8D"}}
{day}T{clock}:15 {{"event":"card","card":"7D"}}
{day}T{clock}:20 {{"event":"decision","box":1,"action":"stand"}}
{day}T{clock}:25 {{"event":"card","card":"TD"}}
"""
"""Box 1 has 17, the dealer 18."""


def played(story: str, *, opened: bool = True) -> list[Group]:
    """What a table of the Spanish house says to a story."""
    table = Table(rules.load("es").house, opened=opened, supervisors=CHIEF)
    said: list[Group] = []
    for line in story.split("\n"):
        if line:
            at, _, body = line.partition(" ")
            day = "" if "T" in at else "2026-11-30T"
            observation = decode(f'{body[:-1]},"at":"{day}{at}Z"}}')
            said.append((observation, table.feed(observation)))
    return said


def figures(said: Sequence[Group], by: By = "day", fold: Fold | None = None) -> dict[str, Figures]:
    """The figures of each period by its name."""
    fold = fold or Fold(by)
    periods = [fold.take(*group) for group in said] + [fold.finish()]
    found = [period for period in periods if period is not None]
    assert len({period.name for period in found}) == len(found)
    return dict(found)


def test_a_session_with_rulings_worked_out_by_hand() -> None:
    [(name, day)] = figures(played(RULINGS)).items()
    assert name == "2026-11-30"
    assert day.row() == {
        "from": "2026-11-30T10:00:00.000000Z",
        "to": "2026-11-30T10:08:00.000000Z",
        "rounds": 2,
        "hands": 3,
        "cards": 14,
        "rounds_per_hour": "15.00",  # two in eight minutes
        "hands_per_hour": "22.50",
        "staked": 3000,
        "returned": 5000,  # 40.00, and 10.00 instead of 20.00
        "carried": 0,
        "house_win": -2000,
        "alerts_critical": 3,
        "alerts_warning": 2,
        "alerts_info": 1,
        "errors_per_100_rounds": "250.00",
        "ruled": 3,
        "ruling_seconds_median": "50.000000",
        "ruling_seconds_max": "60.000000",
        "waiting": 0,
        "stood_seconds": "60.000000",
        "codes": {
            "action.not_authorised": 2,
            "bet.late": 1,
            "deal.while_suspended": 1,
            "dealer.drew_on_17": 1,
            "shoe.books_unknown": 1,
        },
    }


def test_each_round_has_what_happened_in_it() -> None:
    one, two, three = figures(played(RULINGS), "round").values()
    assert (one.rounds, one.hands, one.house_win, one.stood) == (1, 2, -2000, 60_000_000)
    assert (one.answers.count, one.answers.median, one.answers.largest) == (2, 55_000_000, 60_000_000)
    assert (two.rounds, two.hands, two.staked, two.returned, two.house_win) == (1, 1, 1000, 1000, 0)
    assert (three.rounds, three.errors_per_100_rounds, three.answers.largest) == (0, None, 40_000_000)


def test_what_is_not_ruled_on_waits_and_the_game_stands_until_now() -> None:
    until = RULINGS.index("10:03:00")
    [day] = figures(played(RULINGS[:until] + '10:02:50 {"event":"tick"}')).values()
    assert (day.waiting, day.answers.count, day.answers.median, day.stood) == (2, 0, None, 50_000_000)


def test_a_fault_that_goes_by_itself_was_not_ruled_on_but_the_game_stood() -> None:
    jam = '10:00:00 {"event":"shoe_fault","code":"jam"}\n10:00:09 {"event":"shoe_fault","code":"jam","cleared":true}'
    [day] = figures(played(jam)).values()
    assert day.codes == {("warning", "shoe.fault"): 1}
    assert (day.answers.count, day.waiting, day.stood) == (0, 0, 9_000_000)


def test_a_shoe_lasts_until_the_next_and_what_was_before_the_first_is_shoe_0() -> None:
    load = '{"event":"shoe_loaded","decks":6,"cut":true}\n'
    burn = "".join(f'2026-11-30T11:0{number}:00 {{"event":"card","card":"{number}H"}}\n' for number in (2,))
    story = ROUND.format(day="2026-11-30", clock="10:00") + "2026-11-30T11:00:00 " + load + burn
    shoes = figures(played(story + ROUND.format(day="2026-11-30", clock="11:10")), "shoe")
    assert {name: (shoe.rounds, shoe.cards) for name, shoe in shoes.items()} == {"0": (1, 4), "1": (1, 5)}


def test_a_shift_is_from_the_opening_to_the_closing() -> None:
    state = '2026-11-30T{} {{"event":"table","state":"{}"}}\n'
    story = (
        state.format("09:00:00", "open")
        + ROUND.format(day="2026-11-30", clock="10:00")
        + state.format("12:00:00", "closed")
        + '2026-11-30T13:00:00 {"event":"link","device":"pad","state":"down"}\n'
        + state.format("14:00:00", "open")
        + ROUND.format(day="2026-11-30", clock="15:00")
        + ROUND.format(day="2026-11-30", clock="15:30")
    )
    shifts = figures(played(story, opened=False), "shift")
    assert {name: shift.rounds for name, shift in shifts.items()} == {"1": 1, "closed": 0, "2": 2}
    assert (shifts["1"].row()["from"], shifts["1"].row()["to"]) == (
        "2026-11-30T09:00:00.000000Z",
        "2026-11-30T12:00:00.000000Z",
    )
    assert shifts["1"].an_hour(1) == "0.33"
    assert shifts["closed"].codes == {("warning", "link.lost"): 1}


def test_a_table_that_was_open_from_the_beginning_is_in_its_first_shift() -> None:
    story = ROUND.format(day="2026-11-30", clock="10:00") + '2026-11-30T12:00:00 {"event":"table","state":"closed"}\n'
    again = '2026-11-30T13:00:00 {"event":"table","state":"open"}\n' + ROUND.format(day="2026-11-30", clock="13:01")
    assert {name: shift.rounds for name, shift in figures(played(story + again), "shift").items()} == {"1": 1, "2": 1}


def test_days_are_those_of_the_zone_and_a_clock_that_steps_back_begins_no_day() -> None:
    story = ROUND.format(day="2026-11-30", clock="22:30") + ROUND.format(day="2026-11-30", clock="23:30")
    said = played(story + '2026-11-30T22:59:00 {"event":"link","device":"pad","state":"down"}')
    assert list(figures(said)) == ["2026-11-30"]
    paris = figures(said, fold=Fold("day", timezone(timedelta(hours=1))))
    assert {name: (day.rounds, day.alerts("warning")) for name, day in paris.items()} == {
        "2026-11-30": (1, 0),
        "2026-12-01": (1, 2),  # the pad was lost, and the clock had stepped back
    }


def test_without_times_everything_is_counted_and_nothing_is_timed() -> None:
    said: list[Group] = [
        (msgspec.structs.replace(observation, at=None), [msgspec.structs.replace(notice, at=None) for notice in told])
        for observation, told in played(RULINGS)
    ]
    [day] = figures(said).values()
    row = day.row()
    assert (row["rounds"], row["hands"], row["house_win"], row["ruled"]) == (2, 3, -2000, 3)
    assert {row[name] for name in ("from", "to", "rounds_per_hour", "ruling_seconds_median", "ruling_seconds_max")} == {None}


def test_an_alert_that_is_said_again_when_the_table_opens_is_one_alert() -> None:
    state = '{} {{"event":"table","state":"{}"}}\n'
    load = '10:0{}:00 {{"event":"shoe_loaded","decks":6,"cut":true}}\n10:0{}:30 {{"event":"card","card":"2H"}}\n'
    short = '10:01:00 {"event":"shoe_fault","code":"empty"}\n' + load.format(2, 2)
    said = played(load.format(0, 0) + short + state.format("10:03:00", "closed") + state.format("10:04:00", "open"))
    told = Counter(notice.id for _, told in said for notice in told if isinstance(notice, notices.Alert))
    [day] = figures(said).values()
    assert max(told.values()) == 2
    assert day.codes.total() == len(told)
    assert (day.codes["critical", "shoe.missing_cards"], day.waiting) == (1, 1)


def _may_withdraw(observation: Observation) -> bool:
    """Whether one of several alerts may end by this without a word of it in the notices, while the game stands for another."""
    corrected = isinstance(observation, Ruling) and observation.do == "correct"
    cleared = isinstance(observation, ShoeFault) and observation.cleared
    return corrected or cleared or isinstance(observation, Felt)


@a_few
@given(mishaps())
def test_what_waits_is_what_the_game_says_is_open(stream: Stream) -> None:
    table, fold, untold = Table(stream.house), Fold("all"), False
    for observation in stream.seen:
        told = table.feed(observation)
        fold.take(observation, told)
        untold = table.phase == "suspended" and (untold or _may_withdraw(observation))
        assert untold or fold.waiting(stopping=True) == {alert.id for alert in table.blockers}
        assert fold.suspended == (table.phase == "suspended")
        if not untold and len(table.open_alerts) < 90:
            critical = {alert.id for alert in table.open_alerts if alert.severity == "critical"}
            passing = {alert.id for alert in table.open_alerts if alert.code == "deal.while_suspended"}
            assert critical - passing <= fold.waiting()


@a_few
@given(mishaps(), st.sampled_from(PERIODS))
def test_the_periods_add_up_to_the_whole(stream: Stream, by: By) -> None:
    table, fold, whole = Table(stream.house), Fold(by), Fold("all")
    periods: list[Period | None] = []
    for observation in stream.seen:
        told = table.feed(observation)
        periods.append(fold.take(observation, told))
        whole.take(observation, told)
    parts = [period.figures for period in [*periods, fold.finish()] if period is not None]
    total = whole.current().figures
    for name in ("rounds", "hands", "cards", "staked", "returned", "carried", "house_win", "stood"):
        assert sum(getattr(part, name) for part in parts) == getattr(total, name), name
    assert sum((part.codes for part in parts), Counter()) == total.codes
    assert sum(part.answers.count for part in parts) == total.answers.count
    assert sum(part.answers.total for part in parts) == total.answers.total
    if parts and not parts[-1].idle:
        assert max((part.answers.largest or 0) for part in parts) == (total.answers.largest or 0)


@given(st.lists(st.integers(0, 10**10), min_size=1))
def test_the_median_has_as_many_below_it_as_above(times: list[int]) -> None:
    answers = Answers()
    for micros in times:
        answers.add(micros)
    median = answers.median
    assert median is not None
    assert sum(micros < median for micros in times) <= len(times) / 2 >= sum(micros > median + 1 for micros in times)
    assert (answers.largest, answers.total, sum(answers.classes)) == (max(times), sum(times), len(times))


@pytest.mark.parametrize(
    ("number", "by", "text"),
    [(1, 3, "0.00"), (100, 3, "0.33"), (200, 3, "0.67"), (1, 2, "0.01"), (-1, 2, "-0.01"), (-1, 3, "0.00"), (12345, 1, "123.45")],
)
def test_decimals_are_exact_and_rounded_half_away_from_zero(number: int, by: int, text: str) -> None:
    assert decimal(number, by, 2) == text


def test_an_entry_that_cannot_be_read_is_named() -> None:
    entries = [Entry(1, "pin", b"{}"), Entry(2, "observation", b'{"event":"tick"}'), Entry(3, "notice", b'{"notice":"dea')]
    with pytest.raises(LedgerError, match=r"day\.ledger: entry 3 cannot be read"):
        list(groups(entries, "day.ledger"))


SAMPLE = re.compile(r'(tablectl_[a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (-?\d+(?:\.\d+)?)')


def samples(text: str) -> dict[str, str]:
    """What a strict reader of the text format finds: every sample follows the type of its metric; names are never repeated."""
    found: dict[str, str] = {}
    types: dict[str, str] = {}
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            base = re.sub("_(bucket|sum|count)$", "", name)
            assert types.get(name) in ("counter", "gauge") or types.get(base) == "histogram", line
            assert name.endswith("_total") == (types.get(name) == "counter")
            assert f"{name}{{{labels}}}" not in found
            found[f"{name}{{{labels}}}"] = value
    return found


def test_prometheus_reads_the_same_figures() -> None:
    meter = Meter(TableName("s", "p", "t"))
    for group in played(RULINGS):
        meter.take(*group)
    of = 'site="s",pit="p",table="t"'
    found = samples(meter.render())
    assert found == samples(meter.render())
    assert {
        f"tablectl_rounds_total{{{of}}}": "2",
        f"tablectl_hands_total{{{of}}}": "3",
        f"tablectl_house_win{{{of}}}": "-2000",
        f'tablectl_alerts_total{{{of},code="bet.late",severity="critical"}}': "1",
        f"tablectl_alerts_waiting{{{of}}}": "0",
        f'tablectl_ruling_seconds_bucket{{{of},le="30"}}': "0",
        f'tablectl_ruling_seconds_bucket{{{of},le="60"}}': "3",
        f'tablectl_ruling_seconds_bucket{{{of},le="+Inf"}}': "3",
        f"tablectl_ruling_seconds_sum{{{of}}}": "150.000000",
        f"tablectl_ruling_seconds_count{{{of}}}": "3",
        f"tablectl_stood_seconds_total{{{of}}}": "60.000000",
        f"tablectl_suspended{{{of}}}": "0",
        f"tablectl_last_seen_timestamp_seconds{{{of}}}": "1796033280.000000",  # 20787 days and 10:08
    }.items() <= found.items()


def test_a_table_whose_name_has_quotes_and_another_meter_beside_it() -> None:
    meter, other = Meter(TableName('a"b', "c\\d", "t")), Meter(TableName("s", "p", "t"))
    other.take(*played(RULINGS)[0])
    assert 'site="a\\"b",pit="c\\\\d"' in next(iter(samples(meter.render())))
    assert set(samples(meter.render()).values()) <= {"0", "0.000000"}


def peak(path: Path, last: int) -> int:
    """The most memory that is in use while the first entries of a ledger are folded by round."""

    def entries(reader: Reader) -> Iterator[Entry]:
        for after in range(0, last, 500):
            yield from reader.entries(after, min(500, last - after))

    tracemalloc.start()
    try:
        with Reader(path) as reader:
            fold = Fold("round")
            rounds = sum(period is not None for group in groups(entries(reader)) if (period := fold.take(*group)))
        assert rounds > last / 300
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def fill(path: Path, least: int) -> int:
    """Play a ledger of at least so many notices; gives the number of its last entry."""
    house = rules.load("es").house
    table, told = Table(house), 0
    with Ledger.create(path, PIN) as ledger:
        for observation in LegalPlay(house, seed=3, rounds=10**6, begins=from_micros(1_796_000_000_000_000)):
            said = table.feed(observation)
            ledger.append(encode(observation), [notices.encode(notice) for notice in said])
            told += len(said)
            if ledger.waiting > 2000:
                ledger.commit()
            if told >= least:
                break
        return ledger.last


@pytest.mark.parametrize("least", [12_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_memory_is_flat_over_a_ledger_of_any_length(least: int, tmp_path: Path) -> None:
    last = fill(tmp_path / "long.ledger", least)
    peak(tmp_path / "long.ledger", 1000)  # what is imported and cached the first time
    # One batch more or less in memory is 100 kB, whenever it happens; two bytes kept of each notice would be more than this.
    assert peak(tmp_path / "long.ledger", last) < peak(tmp_path / "long.ledger", last // 6) + 200_000
