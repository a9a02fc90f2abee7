"""How fast a table lets itself be commanded: each person has a pace of his own, and who floods is not listened to for a while."""

from __future__ import annotations

from tablectl.mqtt.pace import A_MINUTE, AT_ONCE, FLOOD, QUARANTINE, Pace

NOW = 1_796_000_000_000_000
SECOND = 1_000_000


def admitted(pace: Pace, person: str, count: int, *, now: int = NOW, repeat: bool = False) -> int:
    return sum(pace.admits(person, b"same" if repeat else b"%d %d" % (now, number), now) for number in range(count))


def test_each_person_has_a_pace_of_his_own() -> None:
    pace = Pace()
    assert admitted(pace, "CLERK", 10_000) == AT_ONCE
    assert admitted(pace, "CHIEF7", 10) == 10
    later = sum(admitted(pace, "CLERK", 10, now=NOW + second * SECOND) for second in range(1, 301))
    assert later == 5 * A_MINUTE


def test_a_repeat_does_not_use_up_what_the_person_has() -> None:
    pace = Pace()
    assert pace.admits("CHIEF7", b"same", NOW)
    assert admitted(pace, "CHIEF7", 10_000, repeat=True) == AT_ONCE
    assert admitted(pace, "CHIEF7", 10) == 10


def test_a_clock_that_is_set_back_gives_nothing_and_shuts_nobody_out() -> None:
    pace = Pace()
    admitted(pace, "CLERK", AT_ONCE)
    assert admitted(pace, "CLERK", 10, now=NOW - 3600 * SECOND) == 0
    assert admitted(pace, "CLERK", 10, now=NOW - 3590 * SECOND) == 10
    for _ in range(FLOOD + 1):
        pace.hears("CLERK", NOW)
    assert pace.deaf(NOW) == {"CLERK"}
    assert pace.deaf(NOW - 3600 * SECOND) == frozenset()


def test_who_floods_is_not_listened_to_for_a_while() -> None:
    pace = Pace()
    assert sum(pace.hears("CLERK", NOW + number * 100) for number in range(10_000)) == FLOOD
    assert all(pace.hears("CHIEF7", NOW + number * 20_000) for number in range(1000))
    assert pace.deaf(NOW + SECOND) == {"CLERK"}
    assert pace.deaf(NOW + QUARANTINE + SECOND) == frozenset()
    assert pace.hears("CLERK", NOW + QUARANTINE + 2 * SECOND)
