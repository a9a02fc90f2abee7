"""What the watcher of a felt reports, as a live table takes it in; and the evidence of alerts, on its record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import pytest

from tablectl.cards import Card
from tablectl.config import ConfigFile
from tablectl.daemon.felt import FeltWatch, settings_of
from tablectl.errors import ConfigError
from tablectl.felt import calibration as calibrations
from tablectl.felt.evidence import File, Kept
from tablectl.felt.reports import Alive, CameraSays, Happened, Stands
from tablectl.felt.sighting import Placed, encode
from tablectl.felt.watching import WatcherDown, WatchingEvent
from tablectl.ledger import pin as pins
from tablectl.ledger.verify import verify
from tablectl.notices import Alert
from tablectl.observations import Link, decode
from tablectl.places import BoxPlace
from tablectl.recording.importers import open_log
from tablectl.recording.native import pinned_of
from tests.daemon.test_table import Clock, Running, assert_rebuilds, entries_of, ledgers
from tests.table_toml import configured

FELT = """
[felt]
calibration = "es-two"

[[cameras]]
name = "left"
source = "left"

[[cameras]]
name = "right"
source = "virtual:scene.json"
"""


class Watched:
    """A live table with two cameras, whose watcher is never started: the test says what it reports."""

    def __init__(self, folder: Path, felt: str = FELT) -> None:
        self.file: ConfigFile = configured(folder, more=felt)
        self.running = Running(self.file, Clock())
        self.log: list[str] = []
        self.put: list[WatchingEvent] = []
        settings = settings_of(self.file, self.running.storage.folder)
        self.watch = FeltWatch(settings, self.put.append, log=self.log.append, clock=self.running.clock)
        self.running.table._tell = lambda _, notices: self.watch.hear(notices)

    def take(self, *events: WatchingEvent) -> None:
        for event in events:
            self.running.clock.now += 1000
            self.watch.take(self.running.table, event)
            assert self.running.table.commit()
            self.watch.ask(self.running.table)
            assert self.running.table.commit()

    def links(self) -> list[tuple[str, str]]:
        seen = [decode(entry.body) for entry in self.entries("observation")]
        return [(link.state, link.why) for link in seen if isinstance(link, Link) and link.device == "camera"]

    def entries(self, kind: str) -> list[Any]:
        (path,) = ledgers(self.file)
        return [entry for entry in entries_of(path) if entry.kind == kind]

    def evidence(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(entry.body) for entry in self.entries("evidence")]

    def codes(self) -> list[str]:
        return [alert.code for alert in self.running.table.table.open_alerts]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.running.stop()
    assert_rebuilds(made.file)


def says(camera: str, state: str, why: str = "") -> CameraSays:
    return CameraSays(0, camera, state, why, sees=True)


def test_the_camera_is_up_while_all_see_the_felt_and_the_one_that_is_gone_is_named(table: Watched) -> None:
    table.take(says("left", "back", "opened"))
    assert table.links() == []
    table.take(
        says("right", "back", "opened"), says("left", "dark", "the lights are out"), says("right", "frozen", "one picture")
    )
    table.take(says("left", "back", "it is light"))
    assert table.links() == [("up", "opened"), ("down", "left: dark: the lights are out")]
    table.take(says("right", "back", "opened again"))
    assert table.links()[2:] == [("up", "opened again")]
    assert table.codes() == ["felt.camera_lost"]


@pytest.mark.parametrize(("state", "mm"), [("moved", 12.3), ("other_table", None)])
def test_a_camera_that_was_moved_is_no_camera_until_it_stands_again(table: Watched, state: str, mm: float | None) -> None:
    table.take(*(says(camera, "back", "opened") for camera in ("left", "right")))
    table.take(Stands(0, "left", "still", 0.2), Stands(0, "right", state, mm), Stands(0, "right", "unseen", None))
    assert table.codes() == ["felt.camera_moved"]
    assert table.links()[-1][1].startswith("moved: right: ")
    table.take(Stands(0, "right", "still", 0.3))
    assert [link for link, _ in table.links()] == ["up", "down", "up"]


def test_a_watcher_that_ends_takes_the_cameras_with_it_until_they_are_back(table: Watched) -> None:
    cameras = [says(camera, "back", "opened") for camera in ("left", "right")]
    table.take(*cameras, WatcherDown(0, "it ended with code -9"), *cameras)
    assert [link for link, _ in table.links()] == ["up", "down", "up"]
    assert "code -9" in table.links()[1][1]
    assert table.log == ["the watcher of the felt has ended: it ended with code -9"]


def test_the_calibration_is_pinned_and_again_when_the_watcher_has_read_another(tmp_path: Path) -> None:
    folder = tmp_path / "t07"
    copytree(calibrations.find("es-two"), folder)
    table = Watched(tmp_path, FELT.replace("es-two", str(folder)))
    first, cameras = calibrations.load(folder).digest, [says(camera, "back", "opened") for camera in ("left", "right")]
    table.take(*cameras)
    (folder / "layout.toml").write_text((folder / "layout.toml").read_text() + "# measured again\n")
    second = calibrations.load(folder).digest
    table.take(says("left", "dark", "the lights are out"), says("left", "back", "opened"))
    table.take(WatcherDown(0, "it ended with code -9"), *cameras)
    table.take(WatcherDown(0, "it ended with code -9"), *cameras)
    (path,) = table.file.beside("store/recordings").glob("*.rec")
    table.running.stop()
    pinned = [pins.decode(entry.body) for entry in table.entries("pin")]
    assert [pin.calibration for pin in pinned] == [pins.Pinned("t07", first), pins.Pinned("t07", second)]
    assert pinned_of(open_log(path).header) == (pins.Pinned("t07", first), None)
    (ledger,) = ledgers(table.file)
    found = verify(ledger)
    assert found.whole
    assert [one.calibration for one in found.calibrated] == [pin.calibration for pin in pinned]
    down = next(entry.seq for entry in table.entries("observation") if b"code -9" in entry.body)
    assert found.calibrated[1].entry > down, "the watcher that was there had read the first"
    assert_rebuilds(table.file)


def test_a_deck_that_is_enrolled_is_pinned_when_the_table_starts_again(tmp_path: Path) -> None:
    folder = tmp_path / "t07"
    copytree(calibrations.find("es-two"), folder)
    table = Watched(tmp_path, FELT.replace("es-two", str(folder)))
    assert "no deck is enrolled" in (table.running.table.doubt or "")
    table.running.stop()
    (folder / "deck.toml").write_text('cards = ["AS"]\n')
    again = Running(table.file, table.running.clock)
    assert again.table.doubt is None
    again.stop()
    pinned = [pins.decode(entry.body) for entry in table.entries("pin")]
    found = calibrations.digests(folder)
    assert [pin.deck for pin in pinned] == [None, pins.Pinned("deck", found.deck)]
    assert pinned[1].calibration == pins.Pinned("t07", found.all)


def test_what_was_tracked_is_recorded_and_that_it_lives_is_not(table: Watched) -> None:
    table.watch._deliver(Alive(0, 15, 3, 20.0))
    placed = Placed(1, BoxPlace(2, 0), Card.H8, 1)
    table.watch._deliver(Happened(0, (placed,)))
    assert table.put == [Happened(0, (placed,))]
    assert table.watch.alive == Alive(0, 15, 3, 20.0)
    table.take(*table.put)
    (path,) = table.file.beside("store/recordings").glob("*.rec")
    assert encode(placed) in b"".join(chunk.data for chunk in open_log(path))


def test_evidence_that_was_kept_is_entered_with_its_digests_and_what_failed_with_its_reason(table: Watched) -> None:
    asked: list[int] = []
    table.watch._watching.keep = lambda order: asked.append(order.alert) or True  # type: ignore[method-assign, func-returns-value]
    cameras = [says(camera, "back", "opened") for camera in ("left", "right")]
    table.take(*cameras, says("left", "lost", "it is gone"))
    (first,) = asked
    still = File("2026-11-30/120000-alert-1-right.jpg", 1234, "ab" * 32)
    table.take(Kept(first, (still,), "camera left: no clip can be made"), Kept(first, ()), Kept(99, ()))
    table.take(says("left", "back", "opened"), says("left", "lost", "it is gone"), WatcherDown(0, "it hung"))
    alerts = [msgspec.json.decode(entry.body, type=dict) for entry in table.entries("notice")]
    raised = [alert for alert in alerts if alert["notice"] == "alert"]
    assert table.evidence() == [
        {
            "alert": first,
            "code": "felt.camera_lost",
            "at": raised[0]["at"],
            "files": [{"name": still.name, "bytes": 1234, "sha256": "ab" * 32}],
            "why": "camera left: no clip can be made",
        },
        {"alert": asked[1], "code": "felt.camera_lost", "at": raised[1]["at"], "why": "the watcher ended: it hung"},
    ]


def test_an_alert_that_nobody_watches_says_so_and_one_that_tells_nothing_bad_asks_for_nothing(table: Watched) -> None:
    table.take(*(says(camera, "back", "opened") for camera in ("left", "right")), says("left", "lost", "it is gone"))
    (entry,) = table.evidence()
    assert entry["why"] == "nobody watches the felt"
    alert = next(one for one in table.running.table.table.open_alerts if isinstance(one, Alert))
    table.watch.hear((msgspec.structs.replace(alert, severity="info"),))
    table.take(says("left", "lost", "it is gone still"))
    assert len(table.evidence()) == 1


def test_a_configuration_names_a_calibration_that_is_there_and_a_camera_of_it(tmp_path: Path) -> None:
    for before, after, field in (('"es-two"', '"nowhere"', "felt.calibration"), ('"right"', '"middle"', "cameras[1].name")):
        with pytest.raises(ConfigError) as refused:
            settings_of(configured(tmp_path, more=FELT.replace(before, after)), tmp_path)
        assert refused.value.field == field
        assert refused.value.line


def test_video_is_kept_only_where_it_is_asked_for(tmp_path: Path) -> None:
    assert settings_of(configured(tmp_path, more=FELT), tmp_path).video is None
    asked = FELT.replace('"es-two"', '"es-two"\nraw_video = true\nevidence_keep_mb = 7')
    settings = settings_of(configured(tmp_path, more=asked), tmp_path)
    assert (settings.video, settings.evidence, settings.evidence_keep_mb) == (
        str(tmp_path / "video"),
        str(tmp_path / "evidence"),
        7,
    )
    assert [camera.source for camera in settings.cameras] == [str(tmp_path / "left"), f"virtual:{tmp_path / 'scene.json'}"]
