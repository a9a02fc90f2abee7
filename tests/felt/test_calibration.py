"""A calibration: the samples that ship, pixels and millimetres, boxes at points, cameras stitched, too few pixels refused."""

import re
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.errors import ConfigError
from tablectl.felt import calibration as calibrations
from tablectl.felt.calibration import Calibration, digests, load, names
from tablectl.felt.half_circle import half_circle, to_toml
from tablectl.felt.layout import Points, read_layout
from tablectl.felt.lens import Lens
from tablectl.felt.view import FeltPose, View
from tests.felt.scene import DISTORTION, Camera, felt_picture, layout


def straight_down(camera: str, px_per_mm: float, size: tuple[int, int] = (3840, 2160), left: float = 900.0) -> View:
    """A camera over the felt's middle, without distortion."""
    across, down = size[0] / 2 - px_per_mm * left, size[1] / 2 - px_per_mm * 500
    pose = FeltPose(
        width=size[0],
        height=size[1],
        to_pixels=((px_per_mm, 0.0, across), (0.0, px_per_mm, down), (0.0, 0.0, 1.0)),
        by="points",
        residual_mm=0.0,
        worst_mm=0.0,
    )
    return View(camera, calibrations.straight_lens(*size), pose)


def test_a_calibration_of_one_and_of_two_cameras_ships_for_each_house() -> None:
    assert names() == ["es", "es-two", "fr", "fr-two", "lt", "lt-two"]


@pytest.mark.parametrize("name", names())
def test_each_that_ships_is_fine_enough_everywhere(name: str) -> None:
    table = load(name)
    assert [one.place for one in table.fineness] == [1, 2, 3, 4, 5, 6, 7, "dealer"]
    assert all(2.0 <= one.px_per_mm < 2.3 for one in table.fineness)
    sizes = {view.size for view in table.views.values()}
    assert sizes == ({(1920, 1080)} if name.endswith("-two") else {(3840, 2160)})
    assert set(table.homes) == {1, 2, 3, 4, 5, 6, 7, "dealer"}  # each is seen whole by one camera
    assert all(len(view.pose.markers) >= 6 for view in table.views.values())


def test_tables_have_markers_of_their_own() -> None:
    ids = [{marker.id for marker in load(name).layout.markers} for name in ("fr", "es", "lt")]
    assert not ids[0] & ids[1]
    assert not ids[1] & ids[2]
    assert not ids[0] & ids[2]


@pytest.mark.parametrize("name", ["fr", "lt-two"])
def test_pixels_become_millimetres_and_the_same_pixels_again(name: str) -> None:
    for view in load(name).views.values():
        width, height = view.size
        pixels = np.array([(x, y) for x in np.linspace(0, width - 1, 17) for y in np.linspace(0, height - 1, 11)])
        assert np.abs(view.to_px(view.to_mm(pixels)) - pixels).max() < 0.01


def test_stitched_cameras_agree_in_millimetres() -> None:
    table = load("fr-two")
    left, right = table.views["left"], table.views["right"]
    places = np.array([(x, y) for x in range(600, 900, 10) for y in range(300, 750, 10)], dtype=float)
    both = places[left.sees(places) & right.sees(places)]
    assert len(both) > 100
    assert np.abs(left.to_mm(left.to_px(both)) - right.to_mm(right.to_px(both))).max() < 0.01


def test_a_place_is_looked_at_by_the_camera_that_sees_its_box_whole() -> None:
    table = load("fr-two")
    assert {table.homes[box] for box in (1, 2, 3, 4)} | {table.homes["dealer"]} == {"left"}
    assert {table.homes[box] for box in (5, 6, 7)} == {"right"}
    west, north = table.layout.areas[4].min(axis=0)
    edge = np.array([west + 15.0, north + 215.0])  # in box 4, and in the other camera's picture as well, and finer there
    assert table.layout.box_at(edge) == 4
    assert table.views["right"].density([edge])[0] > table.views["left"].density([edge])[0] > 0
    assert table.camera_at(edge) == "left"
    assert table.is_for("left", edge)
    assert not table.is_for("right", edge)
    assert table.camera_at((900.0, 5000.0)) is None


def test_box_1_is_at_the_dealers_left_and_the_others_follow() -> None:
    felt = layout()
    middles = [felt.areas[box].mean(axis=0) for box in range(1, 8)]
    assert [felt.box_at(middle) for middle in middles] == [1, 2, 3, 4, 5, 6, 7]
    assert [felt.place_at(middle) for middle in middles] == [1, 2, 3, 4, 5, 6, 7]
    assert middles[0][0] > 1300  # x grows to the dealer's left
    assert felt.place_at((900.0, 290.0)) == "dealer"
    assert felt.box_at((900.0, 290.0)) is None
    assert felt.place_at((900.0, 400.0)) is None  # between dealer and boxes
    assert [felt.stake_at(stake.centre) for stake in felt.stakes] == [1, 2, 3, 4, 5, 6, 7]
    assert felt.stake_at(middles[0]) is None


@given(st.floats(0, 1800), st.floats(0, 1000))
def test_no_point_is_in_two_boxes(x: float, y: float) -> None:
    felt = layout()
    alone = [box for box in range(1, 8) if _inside(felt.areas[box], x, y)]
    assert felt.box_at((x, y)) == (alone[0] if alone else None)
    assert len(alone) <= 1


def _inside(area: Points, x: float, y: float) -> bool:
    """Whether a point is in a polygon, by counting the sides to its right; on a side it may say either."""
    crossed = 0
    for (ax, ay), (bx, by) in zip(area.astype(np.float32), np.roll(area, -1, axis=0).astype(np.float32), strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            crossed += 1
    return crossed % 2 == 1


def test_the_regions_of_the_boxes_hold_their_cards_and_no_more_than_a_third_of_the_picture() -> None:
    for name in ("fr", "fr-two"):
        table = load(name)
        seen = [place for regions in table.regions.values() for place in regions]
        assert sorted(map(str, seen)) == ["1", "2", "3", "4", "5", "6", "7", "dealer"]
        for camera, regions in table.regions.items():
            view = table.views[camera]
            for place, region in regions.items():
                x, y = view.to_px([table.layout.areas[place].mean(axis=0)])[0]
                assert region.mask[round(y) - region.window.top, round(x) - region.window.left] == 255
                assert region.mask.shape == (region.window.bottom - region.window.top, region.window.right - region.window.left)
        if name == "fr":
            assert sum(int((region.mask > 0).sum()) for region in table.regions["main"].values()) < 3840 * 2160 / 3


def test_a_patch_is_cut_out_straight_and_to_scale() -> None:
    camera = Camera()
    view = _known(camera)
    marker = layout().by_id[10]  # 30 mm, beside box 1
    for turned in (0.0, 37.0):
        side = marker.size * 1.6
        patch = view.patch(felt_picture(camera), marker.centre, (side, side), turned=marker.turned + turned, px_per_mm=4.0)
        assert patch.shape[:2] == (round(side * 4), round(side * 4))
        if turned == 0.0:
            dark = np.argwhere(patch.max(axis=2) < 100)
            low, high = dark.min(axis=0), dark.max(axis=0)
            assert np.abs((high - low + 1) / 4.0 - marker.size).max() < 1.5
            assert np.abs((high + low) / 2 - side * 2).max() < 3


@pytest.mark.parametrize("size", [(3.0, 4.0), (63.0, 88.0), (180.0, 230.0)])
def test_a_patchs_map_is_where_each_of_its_pixels_is(size: tuple[float, float]) -> None:
    view = _known(Camera())
    across, down = view.maps((1200.0, 500.0), size, turned=30.0, px_per_mm=2.0)
    rows, columns = across.shape
    x, y = np.meshgrid((np.arange(columns) + 0.5) / 2.0 - size[0] / 2, (np.arange(rows) + 0.5) / 2.0 - size[1] / 2)
    cos, sin = np.cos(np.radians(30.0)), np.sin(np.radians(30.0))
    places = np.column_stack([(1200.0 + cos * x - sin * y).ravel(), (500.0 + sin * x + cos * y).ravel()])
    assert (columns, rows) == (2 * size[0], 2 * size[1])
    assert np.abs(np.column_stack([across.ravel(), down.ravel()]) - view.to_px(places)).max() < 0.02


def _known(camera: Camera) -> View:
    """The view of a camera of the drawn felt, worked out from where it hangs."""
    turn = np.asarray(cv2.Rodrigues(np.array(camera.turned))[0])
    homography = camera.matrix @ np.column_stack([turn[:, 0], turn[:, 1], -turn @ np.array(camera.above)])
    homography /= homography[2, 2]
    rows = [tuple(map(float, row)) for row in homography]
    matrix = camera.matrix
    lens = Lens(
        width=camera.width,
        height=camera.height,
        fx=matrix[0, 0],
        fy=matrix[1, 1],
        cx=matrix[0, 2],
        cy=matrix[1, 2],
        distortion=DISTORTION,
    )
    pose = FeltPose(
        width=camera.width,
        height=camera.height,
        to_pixels=(rows[0], rows[1], rows[2]),  # type: ignore[arg-type]
        by="points",
        residual_mm=0.0,
        worst_mm=0.0,
    )
    return View("main", lens, pose)


def test_a_view_says_what_opencv_says_of_the_same_camera() -> None:
    camera = Camera()
    view = _known(camera)
    places = np.concatenate(list(layout().areas.values()))
    assert np.abs(view.to_px(places) - camera.pixels(places)).max() < 1e-6
    assert np.abs(view.to_mm(camera.pixels(places)) - places).max() < 1e-3


def test_what_is_far_outside_does_not_fold_back_into_the_picture() -> None:
    camera = Camera(distortion=(-0.25, 0.0, 0.0, 0.0, 0.0))
    view = _known(camera)
    view = View(
        "main", Lens(width=1920, height=1080, fx=1700, fy=1700, cx=966, cy=536, distortion=(-0.25, 0, 0, 0, 0)), view.pose
    )
    far = np.array([(900.0 + 2600.0 * np.cos(turn), 500.0 + 2600.0 * np.sin(turn)) for turn in np.linspace(0, 6.2, 40)])
    assert np.isfinite(camera.pixels(far)).all()
    inside = ((camera.pixels(far) > 0) & (camera.pixels(far) < (1920, 1080))).all(axis=1)
    assert inside.any()  # the formula alone would have them in the picture
    assert not view.sees(far).any()
    assert (view.density(far) == 0).all()


@pytest.mark.parametrize(("px_per_mm", "verdict"), [(2.05, "good"), (1.9, "borderline"), (1.55, "borderline")])
def test_pixels_a_millimetre_are_judged(px_per_mm: float, verdict: str) -> None:
    table = Calibration("table", layout(), [straight_down("main", px_per_mm)])
    assert {one.verdict for one in table.fineness} == {verdict}
    assert all(one.px_per_mm == pytest.approx(px_per_mm, rel=1e-6) for one in table.fineness)
    table.require_fine("table")
    told = [warning for warning in table.warnings if "px/mm" in warning]
    assert len(told) == (8 if verdict == "borderline" else 0)
    assert all(f"camera main: {px_per_mm:.2f} px/mm; 2.0 are wanted" in warning for warning in told)


def test_too_few_pixels_are_refused_with_figure_box_and_camera() -> None:
    table = Calibration("table", layout(), [straight_down("main", 1.07, (1920, 1080))])
    with pytest.raises(ConfigError) as raised:
        table.require_fine("my-table")
    assert re.search(r"^my-table: box 1 at \d+, \d+ mm, camera main: 1\.07 px/mm; box 2 at ", str(raised.value))
    assert "at least 1.5 px/mm are needed, 2.0 are wanted" in str(raised.value)


def test_a_tilted_camera_is_judged_by_the_direction_in_which_it_sees_least() -> None:
    view = straight_down("main", 2.0)
    rows = np.array(view.pose.to_pixels)
    rows[1] *= 0.7
    pose = FeltPose(
        width=3840,
        height=2160,
        to_pixels=tuple(tuple(map(float, row)) for row in rows),  # type: ignore[arg-type]
        by="points",
        residual_mm=0.0,
        worst_mm=0.0,
    )
    assert View("main", view.lens, pose).density([(900.0, 500.0)])[0] == pytest.approx(1.4)


def test_a_box_that_no_camera_sees_is_refused() -> None:
    table = Calibration("table", layout(), [straight_down("left", 2.0, (1920, 1080), left=1300.0)])
    with pytest.raises(ConfigError, match=r"box 7 at \d+, \d+ mm: no camera sees it"):
        table.require_fine("my-table")


def copied(name: str, to: Path) -> Path:
    return Path(shutil.copytree(calibrations.find(name), to / name))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("calibration.toml", '"main"', '"Main"', r"calibration\.toml:2: cameras\[0\]: "),
        ("calibration.toml", '"main"', '"side"', r"side\.felt\.toml: cannot be read: No such file"),
        ("main.lens.toml", "fx = ", "focal = ", r"main\.lens\.toml(:\d+)?: (focal: )?.*focal"),
        (
            "main.lens.toml",
            "width = 3840",
            "width = 1920",
            r"main\.felt\.toml:2: width: is for pictures of 3840x2160, the lens for 1920x2160",
        ),
        ("layout.toml", "box = 2\n", "box = 3\n", r"layout\.toml:\d+: boxes: must be boxes 1 to 7, in dealing order"),
        ("layout.toml", "id = 4\n", "id = 3\n", r"layout\.toml:\d+: markers: id 3 stands there twice"),
        ("layout.toml", 'family = "apriltag_36h11"', 'family = "qr"', r"layout\.toml:\d+: family: "),
        (
            "main.lens.toml",
            "distortion = [",
            "distortion = [nan, 0.0, 0.0, 0.0, 0.0]  # [",
            r"lens\.toml:\d+: distortion\[0\]: must",
        ),
        (
            "main.lens.toml",
            "distortion = [",
            "distortion = [inf, 0.0, 0.0, 0.0, 0.0]  # [",
            r"lens\.toml:\d+: distortion\[0\]: must",
        ),
        (
            "main.felt.toml",
            "to_pixels = [\n    [",
            "to_pixels = [\n    [nan, 0, 0], #",
            r"felt\.toml:8: to_pixels\[0\]\[0\]: must",
        ),
        (
            "main.felt.toml",
            "to_pixels = [\n    [",
            "to_pixels = [\n    [1e300, 0, 0], #",
            r"felt\.toml:8: to_pixels\[0\]\[0\]: must",
        ),
        ("main.felt.toml", "corners = [[", "corners = [[nan, 0], [", r"felt\.toml:\d+: markers\[0\]\.corners"),
        ("main.felt.toml", "[[markers]]\n", "[[marks]]\n", r"main\.felt\.toml:\d+: mark(er)?s"),
    ],
)
def test_a_bad_file_is_told_with_file_and_key(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    path = copied("fr", tmp_path) / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        load(path.parent)


def test_a_homography_without_inverse_is_refused(tmp_path: Path) -> None:
    path = copied("fr", tmp_path) / "main.felt.toml"
    text = re.sub(r"to_pixels = \[\n.*?\n\]", "to_pixels = [[1, 0, 0], [2, 0, 0], [0, 0, 1]]", path.read_text(), flags=re.DOTALL)
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"main\.felt\.toml:8: to_pixels: is no homography"):
        load(path.parent)


@pytest.mark.parametrize("kept", [0, 3])
def test_a_felt_that_lost_its_markers_is_cut_short(kept: int, tmp_path: Path) -> None:
    path = copied("fr", tmp_path) / "main.felt.toml"
    parts = path.read_text().split("[[markers]]")
    path.write_text("[[markers]]".join(parts[: kept + 1]))
    with pytest.raises(ConfigError, match=rf"main\.felt\.toml(:\d+)?: markers: has {kept} of the markers .* is the file whole"):
        load(path.parent)


def test_a_felt_of_another_table_or_of_another_layout_is_refused(tmp_path: Path) -> None:
    folder = copied("fr-two", tmp_path)
    shutil.copy(calibrations.find("es-two") / "left.felt.toml", folder)
    with pytest.raises(ConfigError, match=r"left\.felt\.toml:\d+: markers: the layout has no markers 40, 41, .* another table's"):
        load(folder)
    shutil.copy(calibrations.find("fr-two") / "left.felt.toml", folder)
    (folder / "layout.toml").write_text(to_toml(half_circle("wider", width=1900.0)))
    with pytest.raises(ConfigError, match=r"felt\.toml:8: to_pixels: its markers are \d+ mm from where the layout has them"):
        load(folder)


def test_a_lens_that_is_there_and_cannot_be_read_is_not_left_out(tmp_path: Path) -> None:
    folder = copied("fr", tmp_path)
    (folder / "main.lens.toml").unlink()
    assert "its lens is taken to draw straight lines straight" in load(folder).warnings[0]
    (folder / "main.lens.toml").symlink_to("main.lens.toml")
    with pytest.raises(ConfigError, match=r"main\.lens\.toml: cannot be read: Too many levels"):
        load(folder)


def test_boxes_that_overlap_or_cross_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "layout.toml"
    path.write_text(to_toml(half_circle("too wide", gap=-4.0)))
    with pytest.raises(ConfigError, match=r"boxes: box 1 and box 2 overlap by \d+\.\d cm²"):
        read_layout(path)
    text = to_toml(half_circle("crossed"))
    path.write_text(
        re.sub(r"^dealer = .*?#", "dealer = [[710, 230], [1090, 350], [1090, 230], [710, 350]] #", text, flags=re.MULTILINE)
    )
    with pytest.raises(ConfigError, match="dealer: its sides cross"):
        read_layout(path)


def test_a_layout_is_read_back_as_it_was_drawn_up(tmp_path: Path) -> None:
    path = tmp_path / "layout.toml"
    drawn = half_circle('a "felt"', first_marker=60)
    path.write_text(to_toml(drawn))
    assert read_layout(path) == drawn


def test_the_digest_pins_every_file(tmp_path: Path) -> None:
    folder = copied("fr-two", tmp_path)
    before = load(folder).digest
    assert before == load("fr-two").digest
    (folder / "notes.txt").write_text("of no account")
    assert load(folder).digest == before
    for file in ("layout.toml", "right.felt.toml", "left.lens.toml"):
        (folder / file).write_text((folder / file).read_text() + "# changed\n")
        after = load(folder).digest
        assert after != before
        before = after
    assert digests(folder) == (folder.name, before, None), "a ledger pins what is told here"


def test_the_digest_of_an_enrolled_deck_is_of_its_files_alone(tmp_path: Path) -> None:
    folder = copied("fr-two", tmp_path)
    (folder / "deck.toml").write_text('cards = ["AS"]\n')
    (folder / "deck").mkdir()
    (folder / "deck" / "AS.png").write_bytes(b"a corner")
    first = digests(folder)
    (folder / "layout.toml").write_text((folder / "layout.toml").read_text() + "# changed\n")
    moved = digests(folder)
    assert moved.all != first.all
    assert moved.deck == first.deck is not None
    (folder / "deck" / "AS.png").write_bytes(b"another corner")
    again = digests(folder)
    assert again.deck not in (None, first.deck)
    assert again.all != moved.all


def test_a_name_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing: no such calibration; there are es, es-two, fr, "):
        load("nothing")
    with pytest.raises(ConfigError, match=r"calibration\.toml: cannot be read"):
        load(tmp_path)
