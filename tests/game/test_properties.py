"""What holds for every table, whatever it sees: the laws of `laws.py`, and that the game is a pure fold."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl import notices
from tablectl.game import view
from tablectl.game.table import Table
from tablectl.observations import decode
from tests.game.laws import ALWAYS, IN_ANY_HOUSE, IN_GOOD_PLAY, Law
from tests.game.shorthand import read
from tests.strategies import HOUSES, Stream, a_few, mishaps, noise, play, smallest, some_house, very_many

MOMENT = st.integers(0, 100)


@a_few
@given(play(), MOMENT)
def test_good_play(stream: Stream, moment: int) -> None:
    hold(stream, moment, IN_GOOD_PLAY)


@a_few
@given(mishaps(), MOMENT)
def test_mishaps(stream: Stream, moment: int) -> None:
    hold(stream, moment, ALWAYS)


@a_few
@given(mishaps(some_house()), MOMENT)
def test_mishaps_in_other_houses(stream: Stream, moment: int) -> None:
    hold(stream, moment, IN_ANY_HOUSE)


@a_few
@given(noise(), MOMENT)
def test_noise(stream: Stream, moment: int) -> None:
    hold(stream, moment, IN_ANY_HOUSE)


@pytest.mark.slow
@very_many
@given(play(), MOMENT)
def test_very_much_good_play(stream: Stream, moment: int) -> None:
    hold(stream, moment, IN_GOOD_PLAY)


@pytest.mark.slow
@very_many
@given(mishaps(), MOMENT)
def test_very_many_mishaps(stream: Stream, moment: int) -> None:
    hold(stream, moment, ALWAYS)


@pytest.mark.slow
@very_many
@given(mishaps(some_house()), MOMENT)
def test_very_many_mishaps_in_other_houses(stream: Stream, moment: int) -> None:
    hold(stream, moment, IN_ANY_HOUSE)


@pytest.mark.slow
@very_many
@given(noise(), MOMENT)
def test_very_much_noise(stream: Stream, moment: int) -> None:
    hold(stream, moment, IN_ANY_HOUSE)


def test_a_failing_stream_is_shortened_to_what_makes_it_fail() -> None:
    seen = tuple(read("load 2C bet1 cut bet2 TS jam unjam bet3"))
    shortest = smallest(Stream(HOUSES["es"], seen), lambda shorter: {seen[3], seen[6]} <= set(shorter.seen))
    assert shortest.seen == (seen[3], seen[6])
    assert [decode(line) for line in repr(shortest).splitlines()[1:]] == list(shortest.seen)


def hold(stream: Stream, moment: int, laws: tuple[type[Law], ...]) -> None:
    """No law is broken, nothing raises, and the fold is pure; what fails is told with the shortest stream that fails alike."""

    def fault(stream: Stream) -> tuple[str, str] | None:
        try:
            play_out(stream, moment, laws)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            return f"{frames[-1].name}: {frames[-1].line}", "".join(traceback.format_exception(error))
        return None

    broken = fault(stream)
    if broken is None:
        return
    shortest = smallest(stream, lambda shorter: (fault(shorter) or ("",))[0] == broken[0])
    _, how = fault(shortest) or broken
    pytest.fail(f"{how}\n{shortest}", pytrace=False)


def play_out(stream: Stream, moment: int, laws: tuple[type[Law], ...]) -> None:
    """Feed a table, hold it against the laws; a second table, and one that goes on from a snapshot, must say the same bytes."""
    table = Table(stream.house)
    held = [law(stream.house.name) for law in laws]
    snapshot = table.snapshot()
    taken = moment % (len(stream.seen) + 1)
    lines: list[list[bytes]] = []
    for number, seen in enumerate(stream.seen):
        if number == taken:
            snapshot = table.snapshot()
        due = table.due()
        said = table.feed(seen)
        lines.append([notices.encode(notice) for notice in said])
        for law in held:
            law.hear(seen, said, due)
    if taken == len(stream.seen):
        snapshot = table.snapshot()
    last_view = view.encode(table)

    again = Table(stream.house)
    assert [[notices.encode(notice) for notice in again.feed(seen)] for seen in stream.seen] == lines
    assert view.encode(again) == last_view

    for resumed in (table, Table(stream.house)):
        resumed.restore(snapshot)
        assert [[notices.encode(notice) for notice in resumed.feed(seen)] for seen in stream.seen[taken:]] == lines[taken:]
        assert view.encode(resumed) == last_view
