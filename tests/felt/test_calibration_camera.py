"""Finding a lens and a felt again that are known, and a camera that has moved: on pictures drawn with distortion and noise."""

from functools import cache

import cv2
import numpy as np
import pytest

from tablectl.errors import ConfigError, InputError
from tablectl.felt.calibration import load, straight_lens
from tablectl.felt.drift import look, require_this_table
from tablectl.felt.layout import Points
from tablectl.felt.lens import BOARDS, Lens, LensFound, calibrate_lens
from tablectl.felt.registration import Registered, register_by_markers, register_by_points
from tests.felt.scene import Camera, Picture, board_pictures, felt_picture, layout, picture_through

CAMERA = Camera()
PLACES = np.concatenate(list(layout().areas.values()))
"""Every corner of every box, and of the dealer's place."""


@cache
def boards() -> list[tuple[str, Picture]]:
    return [(f"{number}.png", picture) for number, picture in enumerate(board_pictures(CAMERA, BOARDS["a4"], 12))]


@cache
def found_lens() -> LensFound:
    return calibrate_lens(boards(), BOARDS["a4"])


@cache
def registered() -> Registered:
    pictures = [(str(seed), felt_picture(CAMERA, seed=seed)) for seed in (1, 2)]
    return register_by_markers(pictures, layout(), found_lens().lens, "main")


def test_the_lens_is_found_again() -> None:
    lens = found_lens().lens
    truth = CAMERA.matrix
    assert lens.size == (1920, 1080)
    assert lens.fx == pytest.approx(truth[0, 0], rel=0.002)
    assert lens.fy == pytest.approx(truth[1, 1], rel=0.002)
    assert abs(lens.cx - truth[0, 2]) < 3
    assert abs(lens.cy - truth[1, 2]) < 3
    assert lens.distortion[0] == pytest.approx(CAMERA.distortion[0], abs=0.01)
    assert lens.rms < 0.1
    assert found_lens().rms_mm < 0.05


def test_what_the_found_lens_says_of_the_whole_picture_is_within_half_a_pixel() -> None:
    pixels = np.array([(x, y) for x in np.linspace(0, 1919, 13) for y in np.linspace(0, 1079, 9)])
    rays = (found_lens().lens.straight(pixels) - (found_lens().lens.cx, found_lens().lens.cy)) / found_lens().lens.fx
    there = CAMERA._replace(above=(0.0, 0.0, -1.0), turned=(0.0, 0.0, 0.0)).places(pixels)
    assert np.abs(rays - there).max() * 1700 < 0.5


def test_too_few_boards_are_told_by_their_number() -> None:
    blank = np.full((1080, 1920, 3), 90, np.uint8)
    with pytest.raises(InputError, match="the board is seen in 5 of 7 pictures; 6 are needed"):
        calibrate_lens([*boards()[4:9], ("blank.png", blank), ("blank2.png", blank)], BOARDS["a4"])
    with pytest.raises(InputError, match="the board is seen in 0 of 12 pictures"):
        calibrate_lens(boards(), BOARDS["a3"])  # another board's markers are elsewhere on it
    with pytest.raises(InputError, match="no picture was given"):
        calibrate_lens([], BOARDS["a4"])


def test_a_board_that_was_never_in_the_corners_does_not_tell_a_lens() -> None:
    with pytest.raises(InputError, match=r"the board was seen in \d+% of the picture; 55% is needed"):
        calibrate_lens([(str(number), boards()[5][1]) for number in range(6)], BOARDS["a4"])


def test_pictures_of_two_sizes_are_refused_by_name() -> None:
    small = np.zeros((720, 1280, 3), np.uint8)
    with pytest.raises(InputError, match=r"small\.png: is 1280x720 and 0\.png is 1920x1080"):
        calibrate_lens([boards()[0], ("small.png", small)], BOARDS["a4"])


def test_the_felt_is_found_within_a_millimetre() -> None:
    view = registered().view
    assert len(view.pose.markers) >= 20
    assert view.pose.residual_mm < 1.0
    assert registered().misplaced == ()
    assert np.abs(view.to_mm(CAMERA.pixels(PLACES)) - PLACES).max() < 0.5
    assert np.abs(view.to_px(PLACES) - CAMERA.pixels(PLACES)).max() < 0.5


def test_without_the_lens_the_felt_is_not_found_so_well() -> None:
    straight = straight_lens(1920, 1080)
    with pytest.raises(
        InputError, match=r"the marks are \d+\.\d mm \(up to \d+\.\d\) from the layout's places; 1\.5 is the most"
    ):
        register_by_points(_points(PLACES), layout(), straight, "main")


def _points(places: Points) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    return [
        ((float(pixel[0]), float(pixel[1])), (float(place[0]), float(place[1])))
        for pixel, place in zip(CAMERA.pixels(places), places, strict=True)
    ]


def test_four_clicked_points_are_enough_and_three_are_not() -> None:
    four = np.array([(100.0, 300.0), (1700.0, 300.0), (1400.0, 800.0), (400.0, 800.0)])
    found = register_by_points(_points(four), layout(), found_lens().lens, "main")
    assert found.view.pose.by == "points"
    assert np.abs(found.view.to_mm(CAMERA.pixels(PLACES)) - PLACES).max() < 0.5
    assert look(felt_picture(CAMERA), found.view, layout()).state == "unwatched"
    with pytest.raises(InputError, match="3 points were given; four are needed"):
        register_by_points(_points(four[:3]), layout(), found_lens().lens, "main")
    with pytest.raises(InputError, match=r"in a line|span"):
        register_by_points(_points(np.array([(100.0 * x, 300.0) for x in range(1, 6)])), layout(), found_lens().lens, "main")
    for one, two in ((0, 1), (1, 2)):  # mirrored, folded
        pairs = _points(four)
        pairs[one], pairs[two] = (pairs[one][0], pairs[two][1]), (pairs[two][0], pairs[one][1])
        with pytest.raises(InputError, match="mirrored or folded: were two of them"):
            register_by_points(pairs, layout(), found_lens().lens, "main")
    with pytest.raises(InputError, match="a point lies outside the picture of 1920x1080"):
        register_by_points([((2000.0, 5.0), (0.0, 0.0)), *_points(four[1:])], layout(), found_lens().lens, "main")


def test_a_marker_glued_elsewhere_is_named_and_left_out() -> None:
    picture = felt_picture(CAMERA, moved=((2, 12.0),))
    found = register_by_markers([("felt.png", picture)], layout(), found_lens().lens, "main")
    assert found.misplaced == (2,)
    assert found.residuals[2] == pytest.approx(12.0, abs=1.0)
    assert 2 not in {marker.id for marker in found.view.pose.markers}
    assert np.abs(found.view.to_mm(CAMERA.pixels(PLACES)) - PLACES).max() < 0.5


def test_a_felt_without_markers_with_too_few_or_with_anothers_is_refused() -> None:
    lens = found_lens().lens
    blank = np.full((1080, 1920, 3), 90, np.uint8)
    with pytest.raises(InputError, match=r"blank\.png: no marker of the layout \(apriltag_36h11\) is seen"):
        register_by_markers([("blank.png", blank)], layout(), lens, "main")
    picture = felt_picture(CAMERA)
    picture[:, 300:] = 90
    with pytest.raises(InputError, match=r"part\.png: \d of the layout's 25 markers are seen; 4 are needed"):
        register_by_markers([("part.png", picture)], layout(), lens, "main")
    with pytest.raises(
        InputError, match=r"felt\.png: markers 100, 101, .* are seen, and none of the layout's: it is another table's"
    ):
        register_by_markers([("felt.png", felt_picture(CAMERA, 100))], layout(), lens, "main")
    with pytest.raises(InputError, match=r"small\.png: is 1280x720, camera main's lens is for 1920x1080"):
        register_by_markers([("small.png", blank[:720, :1280].copy())], layout(), lens, "main")


@pytest.mark.parametrize(
    ("right", "down"), [(0.0, 0.0), (0.5, 0.0), (0.0, -0.5), (3.0, 0.0), (-2.0, 2.3), (0.0, 9.0), (40.0, 25.0)]
)
def test_a_camera_that_moved_by_three_millimetres_is_found_and_half_a_millimetre_is_not(right: float, down: float) -> None:
    x, y, z = CAMERA.above
    picture = felt_picture(CAMERA._replace(above=(x + right, y + down, z)), seed=7)
    drift = look(picture, registered().view, layout(), wide=True)
    moved = float(np.hypot(right, down))
    assert drift.state == ("moved" if moved > 2 else "still")
    assert drift.mm == pytest.approx(moved, abs=0.3)
    assert drift.peeled == ()


@pytest.mark.parametrize("turned", [(0.02, -0.03, 0.014), (0.0225, -0.03, 0.01)])
def test_a_camera_that_was_turned_is_found_by_what_it_does_to_the_boxes(turned: tuple[float, float, float]) -> None:
    """By 4 mrad about its axis, or 2.5 mrad to the side: the felt's middle, or its rim, stays where it was."""
    picture = felt_picture(CAMERA._replace(turned=turned), seed=7)
    drift = look(picture, registered().view, layout())
    assert drift.state == "moved"
    before = registered().view.to_mm(CAMERA.pixels(PLACES))
    after = registered().view.to_mm(CAMERA._replace(turned=turned).pixels(PLACES))
    assert drift.mm == pytest.approx(np.linalg.norm(after - before, axis=1).max(), abs=0.6)


def test_hands_over_markers_are_no_drift_and_hide_none() -> None:
    still, knocked = felt_picture(CAMERA, seed=3), felt_picture(CAMERA._replace(above=(904.0, 500.0, -1640.0)), seed=3)
    for picture, state in ((still, "still"), (knocked, "moved")):
        for number in (0, 1, 8, 10, 12, 14, 17):  # seven of them
            x, y = CAMERA.pixels(np.array([layout().by_id[number].centre]))[0]
            cv2.ellipse(picture, (round(x) + 10, round(y) - 6), (45, 30), 30, 0, 360, (120, 150, 210), -1)
        drift = look(picture, registered().view, layout())
        assert drift.state == state
        assert not {0, 1, 8, 10, 12, 14, 17} & set(drift.markers)
        assert drift.of - drift.found >= 7


def test_nothing_is_said_of_a_camera_that_sees_no_markers() -> None:
    dark = np.full((1080, 1920, 3), 8, np.uint8)
    drift = look(dark, registered().view, layout(), wide=True)
    assert (drift.state, drift.mm, drift.found) == ("unseen", None, 0)


def test_a_marker_that_was_peeled_off_is_no_moved_camera() -> None:
    picture = felt_picture(CAMERA, moved=((5, 8.0),))
    drift = look(picture, registered().view, layout())
    assert drift.state == "still"
    assert drift.peeled == (5,)


def test_another_tables_picture_is_refused() -> None:
    view = registered().view
    with pytest.raises(ConfigError, match=r"felt\.png: camera main sees the markers of another table"):
        require_this_table(felt_picture(CAMERA, 100), view, layout(), "felt.png")
    elsewhere = felt_picture(CAMERA._replace(above=(960.0, 470.0, -1700.0)))
    with pytest.raises(ConfigError, match=r"sees the felt \d+\.\d mm from where it was calibrated \(2 is the most\)"):
        require_this_table(elsewhere, view, layout(), "felt.png")
    with pytest.raises(ConfigError, match="camera main sends 1280x720, and was calibrated for 1920x1080"):
        look(np.zeros((720, 1280, 3), np.uint8), view, layout())
    assert require_this_table(felt_picture(CAMERA), view, layout(), "felt.png").state == "still"


def test_two_cameras_calibrated_each_by_itself_agree_where_both_see() -> None:
    other = Camera(1280, 720, 1100.0, (-0.08, 0.0, 0.0, 0.0, 0.0), (1150.0, 450.0, -1100.0), (0.1, 0.08, 0.3))
    truth = other.matrix
    lens = Lens(
        width=1280,
        height=720,
        fx=truth[0, 0],
        fy=truth[1, 1],
        cx=truth[0, 2],
        cy=truth[1, 2],
        distortion=(-0.08, 0.0, 0.0, 0.0, 0.0),
    )
    second = register_by_markers([("other.png", felt_picture(other))], layout(), lens, "other").view
    first = registered().view
    both = PLACES[second.sees(PLACES) & first.sees(PLACES)]
    assert len(both) > 20
    assert np.abs(second.to_mm(other.pixels(both)) - first.to_mm(CAMERA.pixels(both))).max() < 1.0


def test_boxes_far_from_the_only_markers_are_no_guess() -> None:
    picture = felt_picture(CAMERA)
    picture[:, 500:] = 90
    with pytest.raises(
        InputError, match=r"part\.png: without marker \d+ the corner of a box at \d+, \d+ mm would lie \d+\.\d mm"
    ):
        register_by_markers([("part.png", picture)], layout(), found_lens().lens, "main")


@pytest.mark.parametrize("camera", ["left", "right"])
def test_the_two_cameras_that_ship_can_be_calibrated_by_the_markers_they_see(camera: str) -> None:
    shipped = load("fr-two").views[camera]
    found = register_by_markers([("felt.png", picture_through(shipped))], load("fr-two").layout, shipped.lens, camera)
    assert found.view.pose.residual_mm < 0.5
    seen = PLACES[shipped.sees(PLACES)]
    assert np.abs(found.view.to_mm(shipped.to_px(seen)) - seen).max() < 0.5
