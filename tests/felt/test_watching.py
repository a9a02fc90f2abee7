"""The felt watched from another process: cards that come to rest are told, evidence is kept, a dead watcher is replaced."""

from __future__ import annotations

import os
import queue
import signal
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from tablectl.cards import Card
from tablectl.felt.calibration import load
from tablectl.felt.camera import Frame
from tablectl.felt.evidence import Keep, Kept
from tablectl.felt.render import RenderedFelt
from tablectl.felt.reports import Alive, CameraSays, Happened, Settings, SourceSettings, Stands
from tablectl.felt.sighting import Began, Placed, Removed, StakeSeen
from tablectl.felt.staging import Arrangement, Scene, Stack
from tablectl.felt.view import Picture
from tablectl.felt.virtual import write_scene
from tablectl.felt.watcher import Watcher
from tablectl.felt.watching import WatcherDown, Watching, WatchingEvent, WatchingPatience
from tablectl.places import BoxPlace
from tests.felt.scene import flat_felt, picture_through

PATIENCE = WatchingPatience(silence=5.0, first_retry=0.05, last_retry=0.2)


class Heard:
    """What a watcher reported, and waiting for more."""

    def __init__(self) -> None:
        self._queue: queue.Queue[WatchingEvent] = queue.Queue()
        self.all: list[WatchingEvent] = []
        self.put = self._queue.put

    def until(self, is_it: Callable[[WatchingEvent], bool], seconds: float = 40.0) -> WatchingEvent:
        deadline = time.monotonic() + seconds
        while True:
            try:
                event = self._queue.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError("\n".join(map(str, self.all[-40:]))) from None
            self.all.append(event)
            if is_it(event):
                return event


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one picture of the French felt."""
    folder = tmp_path_factory.mktemp("pictures")
    table = load("fr")
    felt = RenderedFelt(table.layout, table.views["main"])
    cv2.imwrite(str(folder / "1.jpg"), felt.picture(Scene(stacks=(Stack(*table.layout.stakes[2].centre, 3),))))
    return folder


def process_of(watching: Watching) -> int:
    process = watching._process
    assert process is not None
    return process.pid


def test_a_camera_that_is_knocked_is_told_however_far_and_one_odd_picture_is_not(tmp_path: Path) -> None:
    said: list[object] = []
    sources = tuple(SourceSettings(name, str(tmp_path), 8.0) for name in ("left", "right"))
    watcher = Watcher(Settings("fr-two", sources), said.append)
    view = load("fr-two").views["left"]
    stood = picture_through(view)
    knocked, odd, hidden = np.roll(stood, 100, axis=1), np.roll(stood, 12, axis=1), np.full_like(stood, 60)
    now = 100.0

    def looks(picture: Picture, seconds: float) -> list[str]:
        nonlocal now
        said.clear()
        for _ in range(round(seconds * 10)):
            now += 0.1
            watcher._look_for_drift(Frame("left", round(now * 1e6), 1, picture), now)
        return [event.state for event in said if isinstance(event, Stands)]

    assert looks(stood, 3) == ["still"]
    assert looks(odd, 0.1) + looks(stood, 2) == []
    assert looks(knocked, 3) == ["moved"]
    assert [event.mm for event in said if isinstance(event, Stands)] == [pytest.approx(50, abs=3)]
    assert looks(hidden, 3) == []
    assert looks(stood, 3) == ["still"]
    assert looks(picture_through(view, flat_felt(100)), 12) == ["other_table"]


def test_cards_and_chips_on_a_rendered_felt_are_tracked_and_their_evidence_is_kept(tmp_path: Path, heard: Heard) -> None:
    """Two 1080p cameras see a felt; a stake and two cards are laid, and one card is taken away."""
    layout = load("fr-two").layout
    arrangement = Arrangement(layout, loose=0.0)
    place = arrangement._laid
    cards = (place(Card.H8, 2, 0, 1, 0, crosswise=False), place(Card.SQ, 6, 0, 1, 0, crosswise=False))
    stacks = (Stack(*layout.stakes[1].centre, 3),)
    scene = tmp_path / "scene.json"
    write_scene(scene, Scene())
    cameras = tuple(SourceSettings(name, f"virtual:{scene}", 8.0) for name in ("left", "right"))
    with Watching(Settings("fr-two", cameras, evidence=str(tmp_path / "evidence")), heard.put, patience=PATIENCE) as watching:
        for _ in cameras:
            heard.until(lambda event: isinstance(event, CameraSays) and event.state == "back")
        heard.until(lambda event: isinstance(event, Alive) and event.frames > 0)
        write_scene(scene, Scene(cards=cards, stacks=stacks))
        seen: set[object] = set()

        def laid(event: WatchingEvent) -> bool:
            if isinstance(event, Happened):
                seen.update(what.place for what in event.events if isinstance(what, Placed))
                seen.update(what.box for what in event.events if isinstance(what, StakeSeen) and what.state == "occupied")
            return seen >= {BoxPlace(2, 0), BoxPlace(6, 0), 2}

        heard.until(laid)
        assert watching.keep(Keep(3, "felt.card_missing", time.time_ns() // 1000))
        write_scene(scene, Scene(cards=cards[:1], stacks=stacks))
        heard.until(lambda event: isinstance(event, Happened) and any(isinstance(what, Removed) for what in event.events))
        kept = heard.until(lambda event: isinstance(event, Kept))
    assert isinstance(kept, Kept)
    assert kept.why == ""
    assert sorted(Path(file.name).suffix for file in kept.files) == [".jpg", ".jpg", ".mp4", ".mp4"]
    assert all((tmp_path / "evidence" / file.name).stat().st_size == file.bytes for file in kept.files)
    assert {(event.camera, event.state) for event in heard.all if isinstance(event, Stands)} == {
        ("left", "still"),
        ("right", "still"),
    }
    first = next(event for event in heard.all if isinstance(event, Happened))
    assert isinstance(first.events[0], Began)


def test_a_watcher_that_is_killed_or_hangs_is_replaced(pictures: Path, heard: Heard) -> None:
    settings = Settings("fr", (SourceSettings("main", str(pictures)),))
    with Watching(settings, heard.put, patience=PATIENCE._replace(silence=2.0)) as watching:
        heard.until(lambda event: isinstance(event, CameraSays) and event.state == "ended")
        assert watching.keep(Keep(1, "felt.card_missing", 0))
        kept = heard.until(lambda event: isinstance(event, Kept))
        assert isinstance(kept, Kept)
        assert kept.why == "no evidence is kept"
        os.kill(process_of(watching), signal.SIGKILL)
        down = heard.until(lambda event: isinstance(event, WatcherDown))
        assert isinstance(down, WatcherDown)
        assert "code -9" in down.why
        assert not watching.keep(Keep(1, "felt.card_missing", 0))
        heard.until(lambda event: isinstance(event, Alive))
        os.kill(process_of(watching), signal.SIGSTOP)
        down = heard.until(lambda event: isinstance(event, WatcherDown))
        assert isinstance(down, WatcherDown)
        assert "said nothing for 2 s" in down.why
        heard.until(lambda event: isinstance(event, Alive))


def test_a_watcher_that_cannot_begin_says_why(heard: Heard) -> None:
    with Watching(Settings("nowhere", ()), heard.put, patience=PATIENCE):
        down = heard.until(lambda event: isinstance(event, WatcherDown))
    assert isinstance(down, WatcherDown)
    assert "no such calibration" in down.why
