"""A live table with a camera: what following saw is in its recording, what came of it in its ledger; nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tablectl.felt.sighting import Tracked
from tablectl.houses import rules
from tablectl.observations import CardDrawn, Felt, Link, Observation, decode
from tablectl.recording.chunks import Chunk
from tablectl.shoe import profile as profiles
from tablectl.shoe.encoder import Encoder
from tests.daemon.test_table import Clock, Running, assert_rebuilds, entries_of, ledgers
from tests.felt.scripted import BEGINS, Session
from tests.table_toml import configured

ES = rules.load("es").house


class Spied(Session):
    """A scripted session that keeps what goes in, with its time."""

    def __init__(self, *, seed: int, rounds: int) -> None:
        self.came: list[tuple[int, Observation | Tracked]] = []
        super().__init__(ES, seed=seed, rounds=rounds)

    def take(self, item: Observation | Tracked) -> None:
        self.came.append((self.now, item))
        super().take(item)


def inputs(session: Spied) -> Iterator[tuple[int, Chunk | Tracked | Observation]]:
    """What came to a session, as a live table gets it: bytes of shoe and pad, events of the felt, links."""
    voices = {"shoe": Encoder(profiles.load("bee-tek").profile), "pad": Encoder(profiles.load("dealer-pad").profile)}
    for at, item in session.came:
        if isinstance(item, Tracked | Link):
            yield at, item
        elif type(item).__name__ != "Tick":  # the table asks for those by itself
            port = "shoe" if isinstance(item, CardDrawn) else "pad"
            yield at, Chunk(at, port, "<", voices[port].observation(item))


def feed(running: Running, items: list[tuple[int, Chunk | Tracked | Observation]]) -> None:
    for at, item in items:
        running.clock.now = max(running.clock.now, at)
        if isinstance(item, Chunk):
            running.feed([item])
        elif isinstance(item, Tracked):
            running.table.see(item)
        else:
            running.table.observe(item)
        running.tend(seconds=0.0)


def heard(running: Running) -> list[Observation]:
    (path,) = ledgers(running.file)
    return [decode(entry.body) for entry in entries_of(path) if entry.kind == "observation"]


@pytest.fixture
def session() -> Spied:
    session = Spied(seed=4, rounds=2)
    session.all()
    assert not session.alerts
    return session


def test_what_the_felt_showed_is_recorded_and_the_ledger_is_made_again_from_it(tmp_path: Path, session: Spied) -> None:
    running = Running(configured(tmp_path), Clock(BEGINS))
    feed(running, list(inputs(session)))
    running.stop()
    seen = heard(running)
    placed = [one for one in seen if isinstance(one, Felt) and one.kind == "placed"]
    burned = ES.rules.burn_cards
    assert len(placed) == sum(isinstance(one, CardDrawn) for one in seen) - burned > 10
    assert_rebuilds(running.file)


@pytest.mark.parametrize("part", [0.3, 0.55, 0.8])
def test_killed_with_a_card_in_the_air_it_knows_what_lies_there(tmp_path: Path, session: Spied, part: float) -> None:
    """The camera comes up again with the table; no card is lost or doubled, and none is said to have appeared."""
    items = list(inputs(session))
    cut = round(len(items) * part)
    (tmp_path / "first").mkdir()
    running = Running(configured(tmp_path / "first"), Clock(BEGINS))
    feed(running, items[:cut])
    file = running.kill(tmp_path / "second")
    again = Running(file, Clock(running.clock.now + 1000))
    again.table.observe(Link(device="camera", state="up", why="opened"))
    feed(again, items[cut:])
    again.stop()
    cards = [one.card for one in heard(again) if isinstance(one, CardDrawn)]
    assert cards == [item.card for _, item in session.came if isinstance(item, CardDrawn)]
    codes = [alert.code for alert in again.table.table.open_alerts]
    assert [code for code in codes if code not in ("link.lost", "felt.camera_lost")] == []
    assert_rebuilds(file)
