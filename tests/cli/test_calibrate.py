"""`tablectl calibrate`: from printed sheets to a table that is checked, and what is said of bad pictures."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from tablectl.felt.calibration import find, load
from tablectl.felt.layout import read_layout
from tablectl.felt.lens import BOARDS
from tablectl.felt.sources import read_picture, write_picture
from tests.felt.scene import Camera, board_pictures, felt_picture, picture_through
from tests.felt.test_calibration_deck import MIDDLE, felt_with

Command = Callable[..., subprocess.CompletedProcess[str]]


def ours(tmp_path: Path, name: str = "fr-two") -> Path:
    """A calibration that ships, as a folder of ours."""
    return Path(shutil.copytree(find(name), tmp_path / "ours"))


def test_the_whole_way_from_a_bare_camera_to_a_table_that_is_checked(tmp_path: Path, tablectl: Command) -> None:
    camera = Camera()
    boards = tmp_path / "boards"
    boards.mkdir()
    for number, picture in enumerate(board_pictures(camera, BOARDS["a4"], 12)):
        write_picture(boards / f"{number:02}.png", picture)
    write_picture(tmp_path / "felt.png", felt_picture(camera))

    made = tablectl("calibrate", "layout", "ours", "--title", "table 5")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "ours/layout.toml: 1800 x 1000 mm, 25 markers; drawn in ours/layout.png\n"
    lens = tablectl("calibrate", "lens", "ours", "boards", "--json")
    assert lens.returncode == 0
    assert json.loads(lens.stdout)["rms_px"] < 0.1
    felt = tablectl("calibrate", "felt", "ours", "felt.png", "--json")
    assert felt.returncode == 0
    assert "camera main: 1.0" in felt.stderr  # pixels a millimetre: told at once, though others may see there
    said = json.loads(felt.stdout)
    assert said["residual_mm"] < 1.0
    assert len(said["marks"]) >= 20
    laid = read_picture(tmp_path / said["picture"])
    assert laid.shape == (1080, 1920, 3)
    x, y = camera.pixels(np.array([(710.0, 290.0)]))[0]  # the left side of the dealer's place, drawn red
    around = laid[round(y) - 2 : round(y) + 3, round(x) - 2 : round(x) + 3].astype(int)
    assert np.abs(around - (60, 60, 255)).sum(axis=2).min() < 60

    check = tablectl("calibrate", "check", "ours", "felt.png", "--json")
    assert check.returncode == 4  # seen well, but this camera of 1920x1080 is too far away
    assert "box 1 at " in check.stderr
    assert "camera main: 1.0" in check.stderr
    assert "at least 1.5 px/mm are needed" in check.stderr
    report = json.loads(check.stdout)
    assert report["pictures"][0]["state"] == "still"
    assert {place["verdict"] for place in report["places"]} == {"too few"}


def test_four_points_on_the_command_line(tmp_path: Path, tablectl: Command) -> None:
    folder = ours(tmp_path)
    view = load(folder).views["left"]
    write_picture(tmp_path / "felt.png", picture_through(view))
    (folder / "left.felt.toml").unlink()
    places = [(1500.0, 200.0), (1100.0, 690.0), (750.0, 250.0), (850.0, 690.0)]
    points = [
        f"--point={px:.2f},{py:.2f}={x:g},{y:g}" for (px, py), (x, y) in zip(view.to_px(places).tolist(), places, strict=True)
    ]
    result = tablectl("calibrate", "felt", folder, "felt.png", "--camera", "left", *points, "--picture", "laid.png")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"{folder}/left.felt.toml: 4 points; laid over in laid.png\n"
    again = load(folder).views["left"]
    assert again.pose.by == "points"
    assert np.abs(again.to_mm(view.to_px(places)) - places).max() < 0.1
    bad = tablectl("calibrate", "felt", folder, "felt.png", "--camera", "left", "--point", "5,5")
    assert bad.returncode == 2
    assert "--point: '5,5' is no PX,PY=X,Y" in bad.stderr
    few = tablectl("calibrate", "felt", folder, "felt.png", "--camera", "left", *points[:3])
    assert (few.returncode, few.stderr) == (1, "tablectl: 3 points were given; four are needed\n")


def test_check_of_what_ships(tablectl: Command) -> None:
    result = tablectl("calibrate", "check", "fr")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "fr: a felt for the house fr, one camera"
    assert lines[1].startswith("camera main: 3840x2160, lens ")
    assert [line.split(" at ")[0] for line in lines[2:10]] == [*(f"box {box}" for box in range(1, 8)), "the dealer's place"]
    assert all(line.endswith(" px/mm: good") for line in lines[2:10])
    assert lines[10] == f"sha256 {load('fr').digest}"
    two = tablectl("calibrate", "check", "lt-two")
    assert two.returncode == 0
    assert two.stderr.startswith("tablectl: no camera sees the whole stake circle of box 1, 2, ")


def test_check_refuses_another_tables_calibration(tmp_path: Path, tablectl: Command) -> None:
    right = load("fr-two").views["left"]
    write_picture(tmp_path / "felt.png", picture_through(right))
    fits = tablectl("calibrate", "check", "fr-two", "felt.png", "--camera", "left", "--picture", "laid.png")
    assert fits.returncode == 0
    assert "felt.png: camera left still, 0." in fits.stdout
    assert (tmp_path / "laid.png").exists()
    for name, camera, message in (
        ("es-two", "left", "felt.png: camera left sees the markers of another table"),
        ("fr-two", "right", r"felt.png: camera right sees "),
        ("fr", "main", "camera main sends 1920x1080, and was calibrated for 3840x2160"),
    ):
        wrong = tablectl("calibrate", "check", name, "felt.png", "--camera", camera)
        assert wrong.returncode == 4
        assert message in wrong.stderr
    nobody = tablectl("calibrate", "check", "fr-two", "felt.png")
    assert (nobody.returncode, nobody.stderr) == (2, "tablectl: fr-two: no camera main; there are left, right\n")


def test_a_deck_of_pictures_named_by_their_cards(tmp_path: Path, tablectl: Command) -> None:
    folder = ours(tmp_path)
    before = load(folder).digest
    cards = tmp_path / "cards"
    cards.mkdir()
    for name in ("AS", "10H"):
        write_picture(cards / f"{name}.png", felt_with((name.replace("10", "T"), MIDDLE, 25.0)))
    result = tablectl("calibrate", "deck", folder, "cards", "--camera", "left", "--on", "3", "--json")
    assert result.returncode == 0
    said = json.loads(result.stdout)
    assert said["enrolled"] == ["TH", "AS"]
    assert len(said["missing"]) == 50
    assert sorted(path.name for path in (folder / "deck").iterdir()) == ["AS.2.png", "AS.png", "TH.2.png", "TH.png"]
    assert load(folder).digest != before
    write_picture(tmp_path / "nothing.png", felt_with())
    nameless = tablectl("calibrate", "deck", folder, "nothing.png", "--camera", "left", "--on", "3")
    assert nameless.returncode == 2
    assert "'nothing' is no card; name the pictures by their cards" in nameless.stderr
    half = ("cards/10H.png", "nothing.png", "--camera", "left", "--on", "3", "--order", "2S 3S")
    broken = tablectl("calibrate", "deck", folder, *half)
    assert broken.returncode == 1
    assert broken.stderr.splitlines() == [
        "tablectl: 2S: cards/10H.png",
        "tablectl: 1 of 2 cards are enrolled; show the others with --order",
        "tablectl: nothing.png: no card lies alone on the felt's middle, or more than one does",
    ]
    assert (folder / "deck" / "2S.png").exists()
    (folder / "deck" / "2S.png").write_bytes(b"")
    checked = tablectl("calibrate", "check", folder)
    assert checked.returncode == 4
    assert "deck.toml:5: cards[0]: 2S: " in checked.stderr


def test_a_film_of_a_deck(tmp_path: Path, tablectl: Command) -> None:
    folder = ours(tmp_path)
    film = cv2.VideoWriter(str(tmp_path / "deck.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10, (1920, 1080))
    for shown in (felt_with(), felt_with(("AC", MIDDLE, 10.0)), felt_with(), felt_with(("2C", MIDDLE, 80.0))):
        for _ in range(4):
            film.write(shown)
    film.release()
    result = tablectl("calibrate", "deck", folder, "deck.avi", "--camera", "left", "--on", "3", "--order", "AC 2C")
    assert result.returncode == 0
    assert result.stdout.startswith(f"{folder}/deck.toml: 2 cards enrolled; missing: 3C 4C ")


def test_sheets_are_printed(tmp_path: Path, tablectl: Command) -> None:
    result = tablectl("calibrate", "sheet", "-o", "x.pdf", "--layout", "fr", "--paper", "a3")
    assert (result.returncode, result.stdout, result.stderr) == (0, "x.pdf: the A3 board, 25 markers\n", "")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF-")
    assert tablectl("calibrate", "sheet", "-o", "x.pdf", "--layout", "nothing").returncode == 4


def test_bad_pictures_are_told_with_file_and_exit_code(tmp_path: Path, tablectl: Command) -> None:
    folder = ours(tmp_path)
    blank = np.full((1080, 1920, 3), 90, np.uint8)
    write_picture(tmp_path / "blank.png", blank)
    write_picture(tmp_path / "small.png", blank[:720, :1280].copy())
    write_picture(tmp_path / "noise.jpg", np.random.default_rng(1).integers(0, 255, (300, 300, 3), dtype=np.uint8))
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "noise.jpg").read_bytes()[:9000])
    (tmp_path / "empty").mkdir()
    shutil.copy(tmp_path / "blank.png", folder / "board.png")
    for args, code, message in (
        (("felt", folder, "blank.png"), 1, "blank.png: no marker of the layout (apriltag_36h11) is seen"),
        (("felt", folder, "small.png"), 1, "small.png: is 1280x720, camera left's lens is for 1920x1080"),
        (("felt", folder, "cut.jpg"), 1, "cut.jpg: is damaged: "),
        (("felt", folder, "empty"), 1, "empty: no pictures are in this folder"),
        (("felt", folder, "/dev/video77"), 5, "/dev/video77: No such file or directory"),
        (("lens", folder, "empty"), 1, "empty: no pictures are in this folder"),
        (("lens", folder, "blank.png"), 1, "the board is seen in 0 of 1 pictures; 6 are needed"),
        (("lens", folder, "blank.png", "small.png"), 1, "small.png: is 1280x720 and blank.png is 1920x1080: one lens, one size"),
        (("lens", folder, "cut.jpg"), 1, "cut.jpg: is damaged: "),
        (("lens", "new", "nothing.jpg"), 1, "nothing.jpg: No such file or directory"),
        (("check", folder, "blank.png"), 4, "blank.png: camera left sees 0 of its 10 markers: 3 are needed"),
        (("felt", folder, "blank.png", "--picture", "blank.png"), 2, "blank.png: --picture: is one of the pictures: it would be"),
        (("check", folder, "blank.png", "--picture", "x.pdf"), 2, "x.pdf: --picture: name it .png or .jpg"),
        (("lens", folder, "blank.png", "--camera", "A B"), 2, "--camera: 'A B' is no camera's name"),
        (
            ("deck", folder, "small.png", "--order", "AS"),
            4,
            "small.png: camera left sends 1280x720, and was calibrated for 1920x1080",
        ),
    ):
        result = tablectl("calibrate", args[0], "--camera", "left", *args[1:])
        assert result.returncode == code, (args, result.stderr)
        assert result.stdout == ""
        assert result.stderr.startswith(f"tablectl: {message}") or f": {message}" in result.stderr
        assert "Traceback" not in result.stderr
    assert not (tmp_path / "new").exists()  # nothing is begun with nothing


def test_a_layout_is_not_written_over_by_mistake(tmp_path: Path, tablectl: Command) -> None:
    folder = ours(tmp_path)
    before = (folder / "layout.toml").read_text()
    result = tablectl("calibrate", "layout", folder)
    assert (result.returncode, result.stderr) == (
        2,
        f"tablectl: {folder}/layout.toml: is there already; --force writes over it\n",
    )
    assert (folder / "layout.toml").read_text() == before
    narrow = tablectl("calibrate", "layout", folder, "--width", "1000", "--depth", "900", "--force")
    assert narrow.returncode == 2
    assert narrow.stderr.startswith("tablectl: boxes: no table can have this: box 1 lies outside the outline")
    assert (folder / "layout.toml").read_text() == before
    assert tablectl("calibrate", "layout", folder, "--width", "2000", "--depth", "1100", "--force").returncode == 0
    assert read_layout(folder / "layout.toml").size == (2000.0, 1100.0)
    stale = tablectl("calibrate", "check", folder)
    assert stale.returncode == 4
    assert "left.felt.toml:8: to_pixels: its markers are 100 mm from where the layout has them" in stale.stderr


@pytest.mark.parametrize("verb", ["lens", "felt", "layout", "deck", "sheet", "check"])
def test_help_has_an_example(verb: str, tablectl: Command) -> None:
    assert f"  tablectl calibrate {verb}" in tablectl("calibrate", verb, "--help").stdout
