"""What `config check` and the doctor say of cameras: folders, videos, addresses that do not answer, pictures of another size."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copytree

import cv2
import numpy as np
import pytest

from tablectl import config
from tablectl.cards import Card
from tablectl.doctor.cameras import cameras
from tablectl.doctor.commented import commented
from tablectl.doctor.configuration import faults
from tablectl.doctor.finding import account
from tablectl.doctor.record import Running
from tablectl.felt.calibration import find, load
from tablectl.felt.deck import Enrolled, load_deck, write_deck
from tablectl.felt.networks import eyes
from tablectl.felt.render import RenderedFelt
from tablectl.felt.sharpening import key_of
from tablectl.felt.staging import Scene

NOBODY, SOMEBODY = Running(False, ()), Running(True, ())


def table(folder: Path, source: str, calibration: str = "fr", name: str = "main") -> Path:
    text = commented("bj07")
    for line in ("[felt]", 'calibration = "fr"', "[[cameras]]", 'name = "main"'):
        text = text.replace(f"#{line}\n", f"{line}\n", 1)
    text = text.replace('calibration = "fr"', f'calibration = "{calibration}"').replace('name = "main"', f'name = "{name}"')
    path = folder / "bj07.toml"
    path.write_text(re.sub(r'#source = ".*"', f'source = "{source}"', text))
    return path


def said(path: Path, seconds: float = 60.0, runs: Running = NOBODY) -> list[tuple[str, str]]:
    return [(finding.verdict, finding.text) for finding in cameras(config.load(path), account(), runs, seconds)]


def filmed(folder: Path, *pictures: np.ndarray) -> None:
    """A folder of pictures, as a camera's source."""
    (folder / "pictures").mkdir()
    for number, made in enumerate(pictures):
        cv2.imwrite(str(folder / "pictures" / f"{number}.png"), made)


def felt(calibration: str = "es-two", camera: str = "left") -> np.ndarray:
    """What a camera sees of its empty table."""
    known = load(calibration)
    return RenderedFelt(known.layout, known.views[camera]).picture(Scene())


def picture(size: tuple[int, int]) -> np.ndarray:
    made = np.full((size[1], size[0], 3), (60, 110, 30), np.uint8)
    cv2.rectangle(made, (size[0] // 5, 20), (size[0] // 2, size[1] // 2), (255, 255, 255), -1)
    return made


def test_the_camera_of_a_calibration_that_ships(tmp_path: Path) -> None:
    path = table(tmp_path, "pictures")
    assert faults(path) == []
    assert "is not there" in said(path)[0][1]
    filmed(tmp_path, felt())
    verdicts = said(table(tmp_path, "pictures", "es-two", "left"))
    assert [verdict for verdict, _ in verdicts[-3:]] == ["pass", "pass", "warn"]
    assert re.fullmatch(r"1920x1080, as it was calibrated: \d+ of \d+ markers, 0\.[0-5] mm off", verdicts[-2][1])
    assert verdicts[-1][1].startswith("none is enrolled")
    assert ("pass", "is left to the table, which runs") in said(path, runs=SOMEBODY)


def test_pictures_of_another_size_are_told(tmp_path: Path) -> None:
    filmed(tmp_path, picture((640, 480)))
    assert ("fail", "its pictures are 640x480, not 3840x2160 as it was calibrated") in said(table(tmp_path, "pictures"))


@pytest.mark.parametrize(
    ("made", "verdict", "words"),
    [
        (
            lambda: np.roll(felt(), 14, axis=1),
            "fail",
            r"it sees the felt [5-9]\.\d mm from where it was calibrated \(2 is the most\)",
        ),
        (lambda: felt("fr-two"), "fail", "it shows the markers of another table"),
        (lambda: picture((1920, 1080)), "warn", r"it sees 0 of its \d+ markers: .* is not known"),
    ],
)
def test_a_picture_that_is_not_this_tables_as_it_was_calibrated(
    tmp_path: Path, made: Callable[[], np.ndarray], verdict: str, words: str
) -> None:
    filmed(tmp_path, made())
    found = said(table(tmp_path, "pictures", "es-two", "left"))[-2]
    assert found[0] == verdict
    assert re.fullmatch(words, found[1]), found


def test_a_camera_that_is_of_no_use_is_told_within_seconds(tmp_path: Path) -> None:
    """One that hangs when it is opened is waited for as long as one may; one that says what is wrong, no longer than a moment."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        (tmp_path / "no-video.mp4").write_bytes(b"no video")
        filmed(tmp_path, np.zeros((2160, 3840, 3), np.uint8))
        assert ("fail", "no picture came within 0.6 s") in said(table(tmp_path, f"rtsp://127.0.0.1:{port}/felt"), 1.0)
    for source, words in (("no-video.mp4", "cannot be opened, or sends no video"), ("pictures", "it is at its end")):
        began = time.monotonic()
        assert ("fail", words) in said(table(tmp_path, source), 600.0)
        assert time.monotonic() - began < 60.0, source


def test_a_deck_that_the_reader_misreads_is_told_and_one_of_too_few_cards_to_know(tmp_path: Path) -> None:
    """What was found of it when it was enrolled is kept beside it."""
    folder = copytree(find("es-two"), tmp_path / "bj07")
    patch = np.full((136, 80, 3), 250, np.uint8)
    deck = [Enrolled(card, (patch, patch), "") for card in (Card("AS"), Card("KH"))]
    write_deck(folder, deck, (63.0, 88.0))
    kept = load_deck(folder)
    assert kept is not None
    filmed(tmp_path, felt())
    path = table(tmp_path, "pictures", "bj07", "left")
    path.write_text(path.read_text().replace('calibration = "bj07"', 'calibration = "./bj07"'))
    verdict, text = said(path, 0.0)[-1]
    assert verdict == "warn"
    assert text.startswith(
        "whether the reader can read the enrolled deck is not known: it does not sharpen the reader: fewer than 2"
    )
    found = {"of": 379, "before": 10, "after": 10, "why": "hardly better", "wrong": 72, "ranks": [], "suits": []}
    (folder / "deck.sharpened.json").write_text(json.dumps({"found_from": key_of(kept, eyes()), **found}))
    assert said(path, 0.0)[-1] == (
        "warn",
        "of the enrolled deck the reader reads 72 of 379 corners wrongly: deal another deck",
    )


def test_an_address_that_does_not_answer_and_its_password(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    (verdict, text), _ = said(table(tmp_path, f"rtsp://viewer:secret@127.0.0.1:{port}/felt"))
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
