"""`tablectl felt read`: cards out of picture files, and what it says of files that are no such thing."""

import json
import os
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tablectl.cards import Card
from tablectl.cli.felt import CODES
from tablectl.felt.codes import Symbology
from tablectl.felt.faces import FaceStyle, shipped_glyphs
from tablectl.felt.scene import Deck, Laid, card_quad, lay_cards, view, woven
from tests.felt.coded_cards import coded

Command = Callable[..., subprocess.CompletedProcess[str]]
HAND = [Laid(Card.SA, -30, 5, 8), Laid(Card.HT, -12, -8, 8), Laid(Card.C7, 70, 10, -70)]
CAMERA = view(2.4, (15, 0), (640, 480), tilt=12)
DECK = Deck(FaceStyle(), shipped_glyphs()[0])


@pytest.fixture
def felt(tmp_path: Path) -> Any:
    """A picture of three cards on a felt, two of them one over the other; it is in the folder as felt.png."""
    picture = woven(np.random.default_rng(1), (480, 640), (60, 95, 25), 2.0)
    lay_cards(picture, HAND, DECK, CAMERA, face_scale=3.0)
    picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), 0.5), np.uint8)
    cv2.imwrite(str(tmp_path / "felt.png"), picture)
    return picture


def test_cards_are_told_with_confidence_outline_and_no_box(felt: Any, tablectl: Command) -> None:
    result = tablectl("felt", "read", "felt.png", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert told["file"] == "felt.png"
    assert {card["card"] for card in told["cards"]} == {"AS", "TH", "7C"}
    for card in told["cards"]:
        (laid,) = (laid for laid in HAND if laid.card.value == card["card"])
        assert 0.9 < card["confidence"] <= 1
        assert card["box"] is None
        middle = np.array(card["polygon"]).mean(axis=0)
        assert np.allclose(middle, card_quad(laid, DECK.style, CAMERA).mean(axis=0), atol=12)


def test_in_words_and_drawn_onto_the_picture(felt: Any, tablectl: Command, tmp_path: Path) -> None:
    result = tablectl("felt", "read", "felt.png", "--overlay", "seen.png", "--px-per-mm", "2.4")
    assert (result.returncode, result.stderr) == (0, "")
    name, cards = result.stdout.strip().split(": ")
    assert (name, set(cards.split())) == ("felt.png", {"AS", "TH", "7C"})
    seen = cv2.imread(str(tmp_path / "seen.png"))
    assert seen is not None
    assert seen.shape == felt.shape
    assert (seen != felt).any(axis=2).mean() > 0.005


def test_grey_and_sixteen_bits_are_taken_for_what_they_show(felt: Any, tablectl: Command, tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "deep.png"), felt.astype(np.uint16) * 257)
    cv2.imwrite(str(tmp_path / "grey.png"), cv2.cvtColor(felt, cv2.COLOR_BGR2GRAY))
    result = tablectl("felt", "read", "deep.png", "grey.png", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    deep, grey = (json.loads(line)["cards"] for line in result.stdout.splitlines())
    assert {card["card"] for card in deep} == {"AS", "TH", "7C"}
    assert {card["card"] for card in grey} <= {"AS", "TH", "7C", "??"}


def test_an_empty_felt_has_no_cards(tablectl: Command, tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "empty.png"), woven(np.random.default_rng(2), (480, 640), (60, 95, 25), 5.0))
    assert tablectl("felt", "read", "empty.png").stdout == "empty.png: no cards\n"


def _huge_png() -> bytes:
    """A PNG of 20,000 x 20,000 pixels that is a few hundred kilobytes long."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    row = bytes(1 + 20_000 * 3)
    data = b"".join(packer.compress(row) for _ in range(2_000)) + packer.flush()
    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n%%EndComments\n(x) show\n"


def _bad_files(felt: Any) -> dict[str, bytes]:
    whole = cv2.imencode(".jpg", felt)[1].tobytes()
    return {
        "short.jpg": whole[: len(whole) // 2],
        "huge.png": _huge_png(),
        "words.png": b"no picture",
        "nothing.jpg": b"",
        "printed.jpg": POSTSCRIPT,  # a picture library would have an interpreter run it
    }


def test_each_bad_file_is_said_in_one_line_and_the_others_are_read(felt: Any, tablectl: Command, tmp_path: Path) -> None:
    bad = {**_bad_files(felt), "missing.png": None}
    for name, data in bad.items():
        if data is not None:
            (tmp_path / name).write_bytes(data)
    result = tablectl("felt", "read", *bad, "felt.png", "--json", "--px-per-mm", "2.4")
    assert result.returncode == 1
    assert [line.split(": ")[:2] for line in result.stderr.splitlines()] == [["tablectl", name] for name in bad]
    assert [json.loads(out)["file"] for out in result.stdout.splitlines()] == ["felt.png"]


def test_what_would_keep_one_waiting_or_has_no_end_is_no_file(felt: Any, tablectl: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "loop.jpg").symlink_to("loop.jpg")
    result = tablectl("felt", "read", "pipe.jpg", "/dev/zero", "felt.png", "loop.jpg", "--json")
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "tablectl: pipe.jpg: is no file",
        "tablectl: /dev/zero: is no file",
        "tablectl: loop.jpg: Too many levels of symbolic links",
    ]
    assert [json.loads(out)["file"] for out in result.stdout.splitlines()] == ["felt.png"]


@pytest.mark.parametrize(
    ("options", "target"),
    [
        (["felt.png", "--overlay", "felt.png"], "felt.png"),
        (["felt.png", "--overlay", "link.png"], "link.png"),
        (["felt.png", "other.jpg", "--overlay", "."], "felt.png"),
        (["felt.png", "--overlay", "."], "felt.png"),
    ],
)
def test_an_overlay_is_never_written_over_a_picture(
    options: list[str], target: str, felt: Any, tablectl: Command, tmp_path: Path
) -> None:
    cv2.imwrite(str(tmp_path / "other.jpg"), felt)
    (tmp_path / "link.png").symlink_to("felt.png")
    before = (tmp_path / "felt.png").read_bytes()
    result = tablectl("felt", "read", *options)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"tablectl: {target}: --overlay: is one of the pictures: it would be written over\n"
    assert (tmp_path / "felt.png").read_bytes() == before


def test_pictures_of_one_name_have_an_overlay_each(felt: Any, tablectl: Command, tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    cv2.imwrite(str(tmp_path / "left" / "felt.png"), felt[:300])
    assert tablectl("felt", "read", "felt.png", "left", "--overlay", "seen").returncode == 0
    shapes = {path.name: cv2.imread(str(path)).shape for path in (tmp_path / "seen").iterdir()}  # type: ignore[union-attr]
    assert shapes == {"felt.png": (480, 640, 3), "felt-2.png": (300, 640, 3)}


def test_an_overlay_that_cannot_be_written_loses_no_card(felt: Any, tablectl: Command) -> None:
    result = tablectl("felt", "read", "felt.png", "--json", "--overlay", "/proc/seen.png")
    assert (result.returncode, result.stderr) == (
        1,
        "tablectl: /proc/seen.png: cannot be written: No such file or directory\n",
    )
    assert len(json.loads(result.stdout)["cards"]) == 3
    for overlay, words in (("seen.pdf", "name it .png or .jpg"), ("seen", "name it .png or .jpg")):
        result = tablectl("felt", "read", "felt.png", "--overlay", overlay)
        assert (result.returncode, result.stderr) == (2, f"tablectl: {overlay}: --overlay: {words}\n")


def test_a_scale_at_which_a_picture_would_be_vast_is_refused(felt: Any, tablectl: Command) -> None:
    result = tablectl("felt", "read", "felt.png", "--px-per-mm", "0.2")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "tablectl: felt.png: at 0.2 px/mm it shows 3.2 m by 2.4 m of felt: more than can be looked at\n"


def test_a_name_that_is_no_text_is_told_so_that_any_reader_takes_it(felt: Any, tablectl: Command, tmp_path: Path) -> None:
    (tmp_path / "felt.png").rename(tmp_path / os.fsdecode(b"felt\xff.png"))
    result = tablectl("felt", "read", ".", "--json")
    assert json.loads(result.stdout.encode())["file"] == "felt\\xff.png"


def test_the_codes_on_cards_are_told(tablectl: Command, tmp_path: Path) -> None:
    picture, _ = coded(Symbology.QR, 12, 2.8)
    cv2.imwrite(str(tmp_path / "coded.png"), picture)
    result = tablectl("felt", "read", "coded.png", "--codes", "qr", "--px-per-mm", "4", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    assert [(card["card"], card["codes"]) for card in json.loads(result.stdout)["cards"]] == [("7S", ["07S3"])]
    assert set(CODES) == {symbology.value for symbology in Symbology}


def test_a_folder_is_read_picture_by_picture_and_one_without_pictures_is_said(
    felt: Any, tablectl: Command, tmp_path: Path
) -> None:
    (tmp_path / "bare").mkdir()
    result = tablectl("felt", "read", ".", "bare")
    assert result.returncode == 1
    assert result.stderr == "tablectl: bare: no pictures are in this folder\n"
    assert result.stdout.startswith("felt.png: ")


@pytest.mark.parametrize("options", [["--px-per-mm", "0"], ["--camera", "left"]])
def test_options_that_make_no_sense(options: list[str], felt: Any, tablectl: Command) -> None:
    result = tablectl("felt", "read", "felt.png", *options)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("tablectl: --")
