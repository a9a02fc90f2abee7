"""Evidence: the last seconds, the still and the clip of an alert, whole files with true hashes, bounds, a full disk."""

from __future__ import annotations

import hashlib
import os
import queue
import time
from pathlib import Path

import cv2
import numpy as np

from tablectl.felt.camera import Frame
from tablectl.felt.evidence import WAITING, Evidence, Keep, Kept, Outlined, Ring
from tablectl.felt.view import Picture

START = 1_796_000_000_000_000


def picture(number: int, size: tuple[int, int] = (640, 360)) -> Picture:
    """A felt on which a white square walks to the right."""
    made = np.full((size[1], size[0], 3), (60, 110, 30), np.uint8)
    cv2.rectangle(made, (20 + 10 * number, 100), (80 + 10 * number, 180), (255, 255, 255), -1)
    return made


def seen(evidence: Evidence, count: int, *, gap: float = 0.2, camera: str = "main", size: tuple[int, int] = (640, 360)) -> None:
    """So many pictures, `gap` seconds apart by their own time, as fast as they are packed."""
    for number in range(count):
        cards = (Outlined(((100.0, 100.0), (160.0, 100.0), (160.0, 180.0), (100.0, 180.0)), "7S", sure=True),)
        evidence.see(Frame(camera, START + round(number * gap * 1e6), number, picture(number, size)), cards)
        time.sleep(0.02)


def held(folder: Path, kept: Kept) -> None:
    """Each file is there, whole, and is what its hash says."""
    for file in kept.files:
        data = (folder / file.name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file.bytes, file.sha256)


def test_the_ring_keeps_the_last_seconds_in_so_many_bytes() -> None:
    ring = Ring(seconds=20, most=10_000)
    for number in range(1000):
        ring.add(START + number * 200_000, bytes(50))
        assert ring.bytes <= 10_000
    times = [packed.at for packed in ring]
    assert (times[-1] - times[0]) / 1e6 == 20
    assert len(ring) == 101
    for number in range(1000, 1200):
        ring.add(START + number * 200_000, bytes(900))
    assert len(ring) == 11
    assert ring.bytes == 9900


def test_an_alert_has_a_still_with_the_cards_outlined_and_a_clip_in_time(tmp_path: Path) -> None:
    told: queue.Queue[Kept] = queue.Queue()
    with Evidence(tmp_path, told.put, after=0.2) as evidence:
        seen(evidence, 25, size=(1920, 1080))
        evidence.keep(Keep(17, "felt.card_missing", START + 4_800_000))
        kept = told.get(timeout=8)
    assert kept.alert == 17
    assert kept.why == ""
    held(tmp_path, kept)
    still, clip = kept.files
    assert still.name.endswith("-alert-17-main.jpg")
    shown = cv2.imread(str(tmp_path / still.name))
    assert shown is not None
    assert shown.shape == (1080, 1920, 3)  # all that the camera has
    assert (np.abs(shown[140, 98:103].astype(int) - (60, 220, 60)).max(axis=1) < 60).any()  # the outline's left side
    video = cv2.VideoCapture(str(tmp_path / clip.name))
    assert abs(video.get(cv2.CAP_PROP_FRAME_COUNT) / video.get(cv2.CAP_PROP_FPS) - 5.0) < 0.5
    _, first = video.read()
    assert first.shape == (720, 1280, 3)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".new")]


def test_alerts_that_come_together_have_a_still_each_and_share_a_clip(tmp_path: Path) -> None:
    told: queue.Queue[Kept] = queue.Queue()
    with Evidence(tmp_path, told.put, after=1.5) as evidence:
        seen(evidence, 3)
        seen(evidence, 3, camera="right")
        for alert in (1, 2, 3):
            evidence.keep(Keep(alert, "felt.card_moved", START))
        kept = [told.get(timeout=8) for _ in range(3)]
    assert [one.alert for one in kept] == [1, 2, 3]
    assert all(len(one.files) == 4 for one in kept)
    assert len({file.name for one in kept for file in one.files}) == 3 * 2 + 2
    for one in kept:
        held(tmp_path, one)


def test_too_many_at_once_are_refused_aloud(tmp_path: Path) -> None:
    told: queue.Queue[Kept] = queue.Queue()
    evidence = Evidence(tmp_path, told.put)  # its thread does not run yet
    for alert in range(WAITING + 5):
        evidence.keep(Keep(alert, "felt.card_moved", START))
    assert [told.get_nowait().why for _ in range(5)] == ["too many alerts at once"] * 5
    with evidence:
        pass  # those that wait are answered at the end
    answered = [told.get_nowait() for _ in range(WAITING)]
    assert {one.why for one in answered} == {"no camera has sent a picture"}


def test_a_folder_that_cannot_be_written_is_told_and_ends_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    folder.write_text("no folder")
    told: queue.Queue[Kept] = queue.Queue()
    with Evidence(folder, told.put, after=0.0) as evidence:
        seen(evidence, 2)
        evidence.keep(Keep(1, "felt.card_moved", START))
        first = told.get(timeout=8)
        assert first.files == ()
        assert first.why.startswith("camera main: ")
        folder.unlink()
        evidence.keep(Keep(2, "felt.card_moved", START))
        second = told.get(timeout=8)
    assert len(second.files) == 2
    held(folder, second)


def test_old_evidence_goes_when_there_is_too_much_of_it(tmp_path: Path) -> None:
    told: queue.Queue[Kept] = queue.Queue()
    (tmp_path / "2020-01-01").mkdir()
    old = tmp_path / "2020-01-01" / "old.jpg"
    old.write_bytes(bytes(10))
    os.utime(old, (1, 1))
    large = tmp_path / "2020-01-01" / "large.jpg"
    large.write_bytes(bytes(3_000_000))
    os.utime(large, (time.time() - 60, time.time() - 60))
    with Evidence(tmp_path, told.put, after=0.0, keep_mb=2, keep_days=30) as evidence:
        seen(evidence, 2)
        evidence.keep(Keep(1, "felt.card_moved", START))
        kept = told.get(timeout=8)
    assert not old.exists()
    assert not large.exists()
    held(tmp_path, kept)


def test_seeing_costs_the_watcher_next_to_nothing(tmp_path: Path) -> None:
    """A 4K picture is packed elsewhere: `see` hands over a reference."""
    frame = Frame("main", START, 1, np.zeros((2160, 3840, 3), np.uint8))
    with Evidence(tmp_path, lambda kept: None) as evidence:
        evidence.see(frame)
        began = time.perf_counter()
        for number in range(200):
            evidence.see(frame._replace(at=START + number))
        assert (time.perf_counter() - began) / 200 < 0.005
