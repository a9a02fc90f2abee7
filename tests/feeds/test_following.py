"""Following a table's ledgers while they are written, over days and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablectl.errors import InputError, LedgerError
from tablectl.feeds.following import Follower, Place, keep, kept
from tests.ledger.export.written import BEGAN, Written


def told(follower: Follower) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    while batch := follower.take():
        found += [(Path(one.where).name, one.entry.seq) for one in batch]
    return found


def test_a_folder_is_followed_from_day_to_day_and_from_now_on(tmp_path: Path) -> None:
    first = Written(tmp_path / "2026-11-30.db")
    first.alert(0, "before")
    follower = Follower(tmp_path, new=True)
    assert told(follower) == []
    first.alert(1000, "after")
    assert told(follower) == [("2026-11-30.db", 4), ("2026-11-30.db", 5)]
    first.alert(2000, "at the end")
    first.close()
    second = Written(tmp_path / "2026-11-30.2.db")
    second.alert(3000, "the house's rules were changed")
    third = Written(tmp_path / "2026-12-01.db")
    (tmp_path / "notes.db").write_text("no ledger of a day")
    assert told(follower) == [
        *[("2026-11-30.db", seq) for seq in (6, 7)],
        *[("2026-11-30.2.db", seq) for seq in (1, 2, 3)],
        ("2026-12-01.db", 1),
    ]
    third.alert(4000, "next day")
    [*_, last] = follower.take()
    assert (last.entry.seq, last.round, last.at) == (3, 1, BEGAN + 4_000_000)
    second.close()
    third.close()
    follower.close()


def test_it_goes_on_at_a_kept_place_with_the_context_of_what_came_before(tmp_path: Path) -> None:
    written = Written(tmp_path / "2026-11-30.db")
    for number in range(3):
        written.alert(number * 1000, "a", number=number)
    written.say(None)  # without a time and a round of its own
    place = Place(written.ledger.session, 7)
    keep(tmp_path / "feed.place", place)
    follower = Follower(tmp_path, kept(tmp_path / "feed.place"))
    [last] = follower.take()
    assert (last.entry.seq, last.at, last.round) == (8, BEGAN + 2_000_000, 1)
    written.close()
    follower.close()


@pytest.mark.parametrize("gone", ["another ledger", "an older copy was put back"])
def test_where_the_place_is_gone_nothing_that_is_there_is_lost(gone: str, tmp_path: Path) -> None:
    written = Written(tmp_path / "2026-11-30.db")
    written.alert(0, "a")
    place = Place("f" * 16, 3) if gone == "another ledger" else Place(written.ledger.session, 400)
    follower = Follower(tmp_path, place)
    assert follower.missed
    assert [seq for _, seq in told(follower)] == [1, 2, 3]
    written.close()
    follower.close()


def test_it_begins_at_a_time(tmp_path: Path) -> None:
    written = Written(tmp_path / "day.ledger")
    for number in range(4):
        written.alert(number * 1000, "a", number=number)
    follower = Follower(written.close(), since=BEGAN + 2_000_000)
    assert [seq for _, seq in told(follower)] == [6, 7, 8, 9]
    follower.close()


def test_a_folder_without_a_ledger_waits_for_the_first(tmp_path: Path) -> None:
    follower = Follower(tmp_path, new=True)
    assert told(follower) == []
    Written(tmp_path / "2026-11-30.db").close()
    assert told(follower) == [("2026-11-30.db", 1)]
    follower.close()


def test_what_cannot_be_followed_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no such ledger"):
        Follower(tmp_path / "none.db")
    (tmp_path / "feed.place").write_text("{}")
    with pytest.raises(InputError, match=r"feed\.place"):
        kept(tmp_path / "feed.place")
    assert kept(tmp_path / "other.place") is None
