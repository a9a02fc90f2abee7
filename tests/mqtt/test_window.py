"""The window: the cursor never passes a message that is still open."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tablectl.mqtt.window import Lately, Window


@given(st.permutations(range(8)), st.lists(st.booleans(), min_size=8, max_size=8))
def test_the_cursor_is_the_last_entry_before_the_first_open_message(order: list[int], is_entry: list[bool]) -> None:
    window = Window(8, done=100)
    for mid in range(8):
        assert window.has_room
        window.sent(mid, 101 + mid if is_entry[mid] else None)
    assert not window.has_room
    acknowledged: set[int] = set()
    for mid in order:
        window.acknowledged(mid)
        window.acknowledged(mid)
        acknowledged.add(mid)
        first_open = min(set(range(8)) - acknowledged, default=8)
        assert window.done == max([100, *(101 + before for before in range(first_open) if is_entry[before])])
        assert window.is_empty == (first_open == 8)


def test_what_was_never_sent_cannot_be_acknowledged() -> None:
    window = Window(1, done=5)
    window.acknowledged(3)
    assert (window.done, window.is_empty, window.has_room) == (5, True, True)


def test_lately_is_where_it_stood_five_seconds_ago() -> None:
    lately = Lately()
    stood = [lately.first]
    for tick in range(100):
        lately.note(tick / 8, tick)
        stood.append(lately.first)
    lately.note(60.0, 500)
    stood.append(lately.first)
    lately.clear()
    stood.append(lately.first)
    assert stood == [None, *[max(0, tick - 40) for tick in range(100)], 99, None]
