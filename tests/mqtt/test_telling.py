"""What is told on a connection and in what order, over a real ledger and a clock of the test's own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tablectl.ledger.published import LATEST as ANNOUNCED
from tablectl.ledger.reader import Outbox
from tablectl.ledger.store import Ledger
from tablectl.mqtt.messages import Message, Messages
from tablectl.mqtt.telling import CURSOR, Telling
from tests.mqtt.tables import BASE, TABLE, TICK, new_ledger

ONLINE = Message(f"{BASE}/status", b"{}", True, None)
DEALT = b'{"notice":"dealt"}'
PROMPT = b'{"notice":"prompt"}'


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path) as made:
        yield made


@pytest.fixture
def outbox(ledger: Ledger) -> Iterator[Outbox]:
    with Outbox(ledger.path) as made:
        yield made


class Broker:
    """Takes what it is told at a time and acknowledges it at once, or not."""

    def __init__(self, outbox: Outbox, **how: float | None):
        again_from = how.pop("again_from", None)
        self.telling = Telling(
            outbox,
            Messages(TABLE, "s"),
            ONLINE,
            size=int(how.pop("size", None) or 100),
            now=0.0,
            held_until=how.pop("held_until", None) or 0.0,
            again_from=None if again_from is None else int(again_from),
        )
        self._mid = 0

    def takes(self, now: float, *, heard: bool | None = True, acknowledges: bool = True) -> list[str]:
        """The kinds of what comes until nothing more does, with the entries' numbers."""
        came = []
        while (outgoing := self.telling.next(now)) is not None:
            message, seq = outgoing
            kind = message.topic.split("/")[-1]
            came.append(kind if seq is None else f"{kind} {seq}")
            self._mid += 1
            self.telling.window.sent(self._mid, seq)
            if acknowledges:
                self.telling.acknowledged(self._mid, heard, now)
        return came


def commit(ledger: Ledger, *said: bytes, state: bytes | None = None) -> None:
    ledger.append(TICK, said, state)
    ledger.commit()


def test_first_what_is_retained_then_the_notices_then_the_state(ledger: Ledger, outbox: Outbox) -> None:
    commit(ledger, PROMPT, DEALT, state=b"{}")
    broker = Broker(outbox)
    assert broker.takes(0.0) == ["info", "state", "status", "prompt 3", "dealt 4"]
    commit(ledger, DEALT, state=b"{}")
    assert broker.takes(0.1) == []
    broker.telling.look()
    assert broker.takes(0.2) == ["dealt 6", "state"]
    assert broker.telling.is_done
    broker.telling.store(0.3)
    commit(ledger, DEALT)
    assert Broker(outbox).takes(0.0) == ["info", "state", "prompt", "status", "dealt 8"], "the prompt was told, and is retained"


def test_a_state_is_told_ten_times_a_second_and_the_last_one_always(ledger: Ledger, outbox: Outbox) -> None:
    broker = Broker(outbox)
    broker.takes(0.0)
    told = []
    for step in range(100):
        commit(ledger, state=b"{}")
        broker.telling.look()
        told += broker.takes(step / 100)
    assert 9 <= len(told) <= 11
    assert not broker.telling.is_done
    assert 0 < broker.telling.wait(0.99) <= 0.1
    assert broker.takes(0.99 + broker.telling.wait(0.99)) == ["state"]
    assert broker.telling.is_done


def test_in_an_endless_stream_of_notices_the_state_still_has_its_turn(ledger: Ledger, outbox: Outbox) -> None:
    for _ in range(10):
        ledger.append(TICK, [DEALT] * 200, b"{}")
    ledger.commit()
    broker = Broker(outbox, size=1)
    told: list[str] = []
    now = 0.0
    while len(told) < 400:
        now += 0.01
        commit(ledger, DEALT, state=b"{}")
        broker.telling.look()
        outgoing = broker.telling.next(now)
        assert outgoing is not None
        told.append("state" if outgoing[0].topic.endswith("/state") else "other")
        broker.telling.window.sent(len(told), outgoing[1])
        broker.telling.acknowledged(len(told), True, now)
    assert 3 <= told.count("state") <= 6


def test_no_more_than_the_window_is_under_way(ledger: Ledger, outbox: Outbox) -> None:
    commit(ledger, *[DEALT] * 10)
    broker = Broker(outbox, size=4)
    assert broker.takes(0.0, acknowledges=False) == ["info", "status", "dealt 3", "dealt 4"]
    broker.telling.acknowledged(3, True, 0.0)
    assert broker.takes(0.0, acknowledges=False) == [], "the first of them is still open"
    broker.telling.store(0.0)
    assert outbox.cursor(CURSOR) == 0
    for mid in (1, 2):
        broker.telling.acknowledged(mid, True, 0.0)
    broker.telling.store(0.0)
    assert outbox.cursor(CURSOR) == 3
    assert broker.takes(0.0, acknowledges=False) == ["dealt 5", "dealt 6", "dealt 7"]


@pytest.mark.parametrize(("heard", "until"), [(False, 5.0), (None, 1.5), (True, 0.3)])
def test_after_a_broken_connection_notices_wait_for_somebody_to_listen(
    ledger: Ledger, outbox: Outbox, heard: bool | None, until: float
) -> None:
    commit(ledger, DEALT)
    broker = Broker(outbox, held_until=5.0)
    assert broker.takes(0.0, heard=heard) == ["info", "status"]
    now = 0.0
    while not (came := [kind for kind in broker.takes(now, heard=heard) if kind != "status"]):
        assert not broker.telling.is_done
        now = round(now + 0.1, 1)
        assert now < 6
    assert (came, now) == (["dealt 3"], until)
    assert broker.telling.listened == (heard is not False)


def test_the_last_of_what_was_acknowledged_is_told_again_and_the_cursor_stays(ledger: Ledger, outbox: Outbox) -> None:
    commit(ledger, *[DEALT] * 4)
    outbox.advance(CURSOR, 5)
    broker = Broker(outbox, again_from=3)
    assert broker.takes(0.0) == ["info", "status", "dealt 4", "dealt 5", "dealt 6"]
    broker.telling.store(0.0)
    assert outbox.cursor(CURSOR) == 6
    late = Broker(outbox, again_from=3)
    late.telling.window.sent(1, 4)
    late.telling.acknowledged(1, True, 0.0)
    assert (late.telling.window.done, late.telling.is_stored) == (6, True)


def test_a_cursor_that_cannot_be_moved_is_moved_later(ledger: Ledger, outbox: Outbox) -> None:
    commit(ledger, DEALT)
    broker = Broker(outbox)
    broker.takes(0.0)
    busy = sqlite3.connect(ledger.path, isolation_level=None)
    busy.execute("BEGIN IMMEDIATE")
    broker.telling.store(0.0)
    stored = [broker.telling.is_stored]
    busy.execute("ROLLBACK")
    busy.close()
    for now in (0.01, 0.06):  # not more than twenty times a second
        broker.telling.store(now)
        stored.append(broker.telling.is_stored)
    assert stored == [False, False, True]
    assert outbox.cursor(CURSOR) == 3


def test_a_state_that_did_not_change_is_not_told_again(ledger: Ledger, outbox: Outbox) -> None:
    commit(ledger, DEALT, state=b"{}")
    broker = Broker(outbox)
    broker.takes(0.0)
    broker.telling.look()
    assert broker.takes(1.0) == []


def test_a_checkpoint_is_told_with_what_is_retained_and_whenever_there_is_a_new_one(ledger: Ledger, outbox: Outbox) -> None:
    def keep(body: bytes) -> None:
        ledger.keep(ANNOUNCED, body)
        ledger.commit()

    keep(b'{"note":"1"}')
    broker = Broker(outbox)
    assert broker.takes(0.0) == ["info", "checkpoint", "status"]
    broker.telling.look()
    assert broker.takes(0.1) == []
    for second in (b'{"note":"2"}', b'{"note":"3"}'):
        keep(second)
        broker.telling.look()
        assert not broker.telling.is_done
        outgoing = broker.telling.next(0.2)
        assert outgoing == (Message(f"{BASE}/audit/checkpoint", second, True, None), None)
        assert broker.telling.next(0.2) is None
    assert Broker(outbox).takes(0.0) == ["info", "checkpoint", "status"]


ASIDE = Message(f"{BASE}/prompt", b'{"aside":1}', True, None)


def test_what_is_said_aside_goes_out_at_once_and_stays_the_last_word_on_its_topic(ledger: Ledger, outbox: Outbox) -> None:
    commit(ledger, DEALT, PROMPT, DEALT)
    broker = Broker(outbox)
    assert broker.telling.say_aside(ASIDE, 5)
    assert broker.telling.say_aside(ASIDE, 5), "it is said once"
    assert broker.takes(0.0) == ["prompt", "info", "status", "dealt 3", "prompt 4", "prompt", "dealt 5"]
    assert broker.telling.is_done
    newer = ASIDE._replace(payload=b'{"aside":2}')
    assert broker.telling.say_aside(newer, 5)
    assert broker.telling.next(0.1) == (newer, None)
    commit(ledger, PROMPT)
    broker.telling.look()
    assert broker.takes(0.2) == ["prompt 7"], "the ledger has something newer to say"
    assert not broker.telling.say_aside(newer, 5)
    assert broker.takes(0.2) == []


def test_what_is_said_aside_comes_after_what_a_new_connection_tells_again(ledger: Ledger, outbox: Outbox) -> None:
    commit(ledger, PROMPT)
    outbox.advance(CURSOR, 3)
    broker = Broker(outbox)
    broker.telling.say_aside(ASIDE, 3)
    assert broker.takes(0.0) == ["prompt", "info", "prompt", "prompt", "status"]
    online = Broker(outbox)
    online.telling.say_aside(ONLINE._replace(payload=b"no"), 3)
    assert online.takes(0.0)[-2:] == ["status", "status"]


def test_a_table_with_nothing_to_tell_is_heard_of_all_the_same(ledger: Ledger, outbox: Outbox) -> None:
    broker = Broker(outbox)
    assert broker.takes(0.0) == ["info", "status"]
    assert broker.takes(1.9) == []
    again = broker.telling.next(2.0)
    assert again == (ONLINE, None)  # under its id: a repeat, which a reader drops
    commit(ledger, DEALT)
    broker.telling.look()
    assert broker.takes(3.9) == ["dealt 3"]
    assert broker.takes(5.8) == []
    assert broker.takes(5.9) == ["status"]


def test_what_is_told_again_is_the_last_status_and_waits_for_a_broker_that_is_stuck(ledger: Ledger, outbox: Outbox) -> None:
    broker = Broker(outbox)
    broker.takes(0.0)
    commit(ledger, b'{"notice":"status","devices":{}}')
    broker.telling.look()
    assert broker.takes(1.0) == ["status 3"]
    again = broker.telling.next(3.0)
    assert again is not None
    assert msgspec.json.decode(again[0].payload)["id"] == "s-3"
    broker.telling.window.sent(99, None)
    assert broker.telling.next(9.0) is None  # not acknowledged: there is no heap of them when it wakes
