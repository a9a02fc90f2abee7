"""What `config check` and the doctor say of cameras: folders, videos, addresses that do not answer, pictures of another size."""

from __future__ import annotations

import re
import socket
from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest

from tablectl import config
from tablectl.doctor.cameras import cameras
from tablectl.doctor.commented import commented
from tablectl.doctor.configuration import faults
from tablectl.doctor.finding import account
from tablectl.doctor.record import Running

NOBODY, SOMEBODY = Running(False, ()), Running(True, ())


def table(folder: Path, source: str, calibration: str = "fr", name: str = "main") -> Path:
    text = commented("bj07")
    for line in ("[felt]", 'calibration = "fr"', "[[cameras]]", 'name = "main"'):
        text = text.replace(f"#{line}\n", f"{line}\n", 1)
    text = text.replace('calibration = "fr"', f'calibration = "{calibration}"').replace('name = "main"', f'name = "{name}"')
    path = folder / "bj07.toml"
    path.write_text(re.sub(r'#source = ".*"', f'source = "{source}"', text))
    return path


def said(path: Path, seconds: float = 3.0, runs: Running = NOBODY) -> list[tuple[str, str]]:
    return [(finding.verdict, finding.text) for finding in cameras(config.load(path), account(), runs, seconds)]


def picture(size: tuple[int, int]) -> np.ndarray:
    made = np.full((size[1], size[0], 3), (60, 110, 30), np.uint8)
    cv2.rectangle(made, (size[0] // 5, 20), (size[0] // 2, size[1] // 2), (255, 255, 255), -1)
    return made


def test_the_camera_of_a_calibration_that_ships(tmp_path: Path) -> None:
    path = table(tmp_path, "pictures")
    assert faults(path) == []
    assert "is not there" in said(path)[0][1]
    (tmp_path / "pictures").mkdir()
    cv2.imwrite(str(tmp_path / "pictures" / "1.png"), picture((3840, 2160)))
    verdicts = said(path)
    assert [verdict for verdict, _ in verdicts] == ["pass", "pass"]
    assert verdicts[1][1] == "3840x2160, as it was calibrated"
    assert said(path, runs=SOMEBODY)[1][1] == "is left to the table, which runs"


def test_pictures_of_another_size_are_told(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    cv2.imwrite(str(tmp_path / "pictures" / "1.png"), picture((640, 480)))
    assert ("fail", "its pictures are 640x480, not 3840x2160") in said(table(tmp_path, "pictures"))


def test_an_address_that_does_not_answer_and_its_password(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    ((verdict, text),) = said(table(tmp_path, f"rtsp://viewer:secret@127.0.0.1:{port}/felt"))
    assert verdict == "fail"
    assert "cannot be reached" in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("source", "calibration", "name", "field", "words"),
    [
        ("pictures", "nowhere", "main", "felt.calibration", "no such calibration"),
        ("pictures", "fr", "left", "cameras[0].name", "known are main"),
        ("ftp://host/felt", "fr", "main", "cameras[0].source", "no camera's address"),
        ("pictures", "fr-two", "left", "cameras", "a camera right, which is not among them"),
    ],
)
def test_what_config_check_says(tmp_path: Path, source: str, calibration: str, name: str, field: str, words: str) -> None:
    found = faults(table(tmp_path, source, calibration, name))
    assert any(error.field == field and words in error.message for error in found), found


def test_cameras_and_a_calibration_go_together(tmp_path: Path) -> None:
    path = table(tmp_path, "pictures")
    text = path.read_text()
    path.write_text(text.replace("[felt]\n", "#[felt]\n").replace('calibration = "fr"', '#calibration = "fr"'))
    assert [error.field for error in faults(path)] == ["cameras"]
