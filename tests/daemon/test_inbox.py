"""The one queue of a live table."""

from __future__ import annotations

from tablectl.daemon.inbox import Inbox
from tablectl.shoe.events import Bytes


def test_a_card_does_not_wait_behind_a_thousand_calls() -> None:
    inbox = Inbox()
    for _ in range(1000):
        inbox.wake()
    card = Bytes("shoe", 1, b"card")
    inbox.put(card)
    assert [inbox.take(0.0), inbox.take(0.0), inbox.take(0.0)] == [None, card, None]
    inbox.wake()
    assert inbox.take(1.0) is None  # at once, and again after it was heard
    inbox.wake()
    assert inbox.take(1.0) is None
