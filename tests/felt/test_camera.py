"""A live camera: its newest picture, and what it tells when a file ends, a driver hangs, a picture freezes or is dark."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import cv2
import numpy as np
import pytest

from tablectl.errors import DeviceError
from tablectl.felt.camera import Back, Camera, CameraEvent, CameraPatience, Dark, Ended, Frame, Frozen, Lost
from tablectl.felt.view import Picture

Found = TypeVar("Found")
QUICK = CameraPatience(open=0.6, picture=0.5, dark=0.1, frozen=0.4, first_retry=0.05, last_retry=0.2)


def felt(seed: int = 1, size: tuple[int, int] = (320, 180)) -> Picture:
    """A green picture with something on it, and noise."""
    chance = np.random.default_rng(seed)
    picture = np.full((size[1], size[0], 3), (60, 110, 30), np.uint8)
    cv2.rectangle(picture, (60, 20), (200, 150), (240, 250, 250), -1)
    return np.clip(picture + chance.normal(0, 3, picture.shape), 0, 255).astype(np.uint8)


class Made:
    """A camera that does what the test tells it to: gives what `look(number)` makes; `live` as a real one."""

    live = True

    def __init__(self, look: Callable[[int], Picture | None], pace: float = 0.01) -> None:
        self.look, self.pace, self.number = look, pace, 0

    def grab(self) -> bool:
        time.sleep(self.pace)
        self.number += 1
        return True

    def retrieve(self) -> Picture | None:
        return self.look(self.number)

    def close(self) -> None:
        pass


def heard(camera: Camera, seconds: float = 3.0) -> Iterator[CameraEvent]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        event = camera.take(0.05)
        if event is not None:
            yield event


def first(camera: Camera, kind: type[Found], seconds: float = 3.0) -> Found:
    """The next of a kind."""
    for event in heard(camera, seconds):
        if isinstance(event, kind):
            return event
    raise AssertionError(f"no {kind.__name__} within {seconds} s")


def video(path: Path, count: int, codec: str, fps: float = 50.0) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*codec), fps, (320, 180))
    for number in range(count):
        writer.write(felt(number))
    writer.release()
    return path


@pytest.mark.parametrize(("name", "codec"), [("v.avi", "MJPG"), ("v.mp4", "mp4v")])
def test_a_video_plays_at_its_own_pace_and_ends(tmp_path: Path, name: str, codec: str) -> None:
    began = time.monotonic()
    with Camera("top", str(video(tmp_path / name, 20, codec)), fps=50) as camera:
        events = []
        for event in heard(camera):
            events.append(event)
            if isinstance(event, Ended):
                break
    assert isinstance(events[0], Back)
    frames = [event for event in events if isinstance(event, Frame)]
    assert len(frames) >= 5
    assert [frame.number for frame in frames] == sorted({frame.number for frame in frames})
    assert frames[0].picture.shape == (180, 320, 3)
    assert time.monotonic() - began > 0.3  # 20 pictures at 50 a second


def test_a_folder_of_pictures_and_one_without_any(tmp_path: Path) -> None:
    for number in range(3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), felt(number))
    (tmp_path / "1.png").write_bytes(b"\x89PNG\r\n\x1a\ntorn")
    with Camera("top", str(tmp_path)) as camera:
        frames = []
        for event in heard(camera):
            if isinstance(event, Frame):
                frames.append(event)
            if isinstance(event, Ended):
                break
    assert len(frames) == 2  # the damaged one is passed over
    empty = tmp_path / "empty"
    empty.mkdir()
    with Camera("top", str(empty), patience=QUICK) as camera:
        assert "no pictures" in first(camera, Lost).why


@pytest.mark.parametrize("address", ["/nowhere/v.avi", "/dev/video63", "63"])
def test_what_is_not_there_is_told_once_and_tried_again(address: str) -> None:
    with Camera("top", address, patience=QUICK) as camera:
        events = list(heard(camera, 0.5))
    assert [type(event) for event in events] == [Lost]
    assert "No such file" in events[0].why  # type: ignore[union-attr]


def test_a_file_that_is_no_video(tmp_path: Path) -> None:
    (tmp_path / "v.mp4").write_bytes(bytes(5000))
    with Camera("top", str(tmp_path / "v.mp4"), patience=QUICK) as camera:
        assert "cannot be opened" in first(camera, Lost).why


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(DeviceError, match="no camera's address") as caught:
        Camera("top", "ftp://user:secret@host/x")
    assert "secret" not in str(caught.value)


@contextmanager
def silent_host() -> Iterator[int]:
    """A host that takes connections and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        taken = []

        def accept() -> None:
            while True:
                try:
                    taken.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()


def test_an_rtsp_host_that_hangs_is_told_and_its_password_is_not() -> None:
    with silent_host() as port, Camera("top", f"rtsp://u:secret@127.0.0.1:{port}/a", patience=QUICK) as camera:
        began = time.monotonic()
        lost = first(camera, Lost)
        assert time.monotonic() - began < 1.5
        assert "opening it took more than 0.6 s" in lost.why
        assert "secret" not in lost.why


def test_an_address_without_video_is_told_from_one_that_is_not_there() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    program = """
import sys
from tablectl.errors import DeviceError
from tablectl.felt.capture import opened
try:
    opened(sys.argv[1])
except DeviceError as error:
    print(error)
"""
    for address, why in (
        (f"rtsp://u:secret@127.0.0.1:{port}/a", "cannot be reached: Connection refused"),
        ("rtsp://u:secret@127.0.0.1:99999/a", "is no address: Port out of range"),
    ):
        done = subprocess.run([sys.executable, "-c", program, address], capture_output=True, text=True, check=True, timeout=60)
        assert why in done.stdout
        assert "secret" not in done.stdout
        assert done.stderr == ""  # FFmpeg says nothing of its own


def test_a_driver_that_never_returns_is_left_behind_and_the_process_still_ends(tmp_path: Path) -> None:
    """A pipe whose writer stops in the middle is a device whose read never returns: FFmpeg's time-outs do nothing there."""
    pipe = tmp_path / "camera"
    os.mkfifo(pipe)
    data = video(tmp_path / "v.avi", 60, "MJPG").read_bytes()
    program = f"""
import sys, time
from tablectl.felt.camera import Camera, CameraPatience, Frame
camera = Camera("top", {str(pipe)!r}, patience=CameraPatience(1.5, 0.5, 0.1, 9.0, 0.05, 0.2, 2))
camera.start()
until = time.monotonic() + 15
while time.monotonic() < until and not camera.is_stuck:
    event = camera.take(0.1)
    if event is not None:
        print("frame" if isinstance(event, Frame) else f"{{type(event).__name__}}: {{event.why}}", flush=True)
print("stuck", camera.is_stuck, flush=True)
camera.close()
"""
    command = [sys.executable, "-c", program]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        pipe.open("wb") as writer,
    ):
        writer.write(data[: len(data) * 3 // 4])
        writer.flush()
        out, err = process.communicate(timeout=20)
    lines = out.splitlines()
    assert process.returncode == 0, err
    assert lines[0].startswith("Back: "), lines
    assert "frame" in lines
    assert "Lost: waiting for a picture took more than 0.5 s, and has not returned" in lines
    assert lines[-1] == "stuck True"
    assert err == ""


def test_a_camera_that_comes_back() -> None:
    """Each opening gives five pictures and then fails, as a loose plug does."""

    class Loose(Made):
        def grab(self) -> bool:
            return super().grab() and self.number <= 5

    with Camera("top", "loose", fps=200, source=lambda: Loose(felt), patience=QUICK) as camera:
        kinds = []
        for event in heard(camera):
            if not isinstance(event, Frame):
                kinds.append(type(event))
            if len(kinds) == 6:
                break
    assert kinds == [Back, Lost] * 3


def test_a_slow_reader_gets_the_newest_picture() -> None:
    with Camera("top", "made", fps=100, source=lambda: Made(felt)) as camera:
        before = first(camera, Frame)
        time.sleep(0.3)
        asked = time.time_ns() // 1000
        after = first(camera, Frame)
    assert after.at > asked - 20_000
    assert after.number - before.number > 15


def test_a_frozen_picture_is_told_and_nothing_of_it_is_handed_on() -> None:
    frozen = threading.Event()
    with Camera(
        "top", "made", fps=100, source=lambda: Made(lambda n: felt(0 if frozen.is_set() else n)), patience=QUICK
    ) as camera:
        first(camera, Frame)
        frozen.set()
        assert "has not changed" in first(camera, Frozen).why
        assert list(heard(camera, 0.6)) == []  # opened again, it is the same still
        frozen.clear()
        assert isinstance(camera.take(2.0), Back)
        assert isinstance(camera.take(2.0), Frame)


def test_lights_out_and_a_covered_lens() -> None:
    dark = np.full((180, 320, 3), 6, np.uint8)
    hand = cv2.GaussianBlur(np.full((180, 320, 3), (70, 90, 130), np.uint8), (0, 0), 9)
    now = [felt(1)]

    def look(number: int) -> Picture:
        return np.clip(now[0] + np.random.default_rng(number).normal(0, 2.0, now[0].shape), 0, 255).astype(np.uint8)

    with Camera("top", "made", fps=100, source=lambda: Made(look), patience=QUICK) as camera:
        first(camera, Frame)
        for bad, word in ((dark, "no light"), (np.asarray(hand, np.uint8), "covered")):
            now[0] = bad
            assert word in first(camera, Dark).why
            assert not [event for event in heard(camera, 0.2) if isinstance(event, Frame)]
            now[0] = felt(1)
            first(camera, Back)


def test_a_camera_that_changes_its_size_is_told_so() -> None:
    with Camera(
        "top", "made", fps=100, source=lambda: Made(lambda n: felt(n, (320, 180) if n < 5 else (640, 360))), patience=QUICK
    ) as camera:
        assert "640x360, not 320x180" in first(camera, Lost).why
        frame = first(camera, Frame)  # opened again, it begins with the right size
        assert frame.picture.shape == (180, 320, 3)


def test_a_camera_of_another_size_than_it_was_calibrated_for() -> None:
    with Camera("top", "made", source=lambda: Made(felt), size=(1920, 1080), patience=QUICK) as camera:
        events = list(heard(camera, 0.6))
    assert [type(event) for event in events] == [Lost]
