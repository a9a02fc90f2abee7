"""Where pictures come from: what is converted, and what is refused with a word instead of a crash."""

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from tablectl.errors import DeviceError, InputError
from tablectl.felt.showing import pictures
from tablectl.felt.sources import is_camera, put, read_picture, write_picture
from tests.felt.scene import Picture

PICTURE: Picture = np.random.default_rng(1).integers(0, 255, (120, 160, 3), dtype=np.uint8)


def test_grey_and_16_bit_pictures_become_8_bits_of_three_colours(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "grey.png"), PICTURE[:, :, 0])
    cv2.imwrite(str(tmp_path / "deep.png"), PICTURE[:, :, 0].astype(np.uint16) * 257)
    cv2.imwrite(str(tmp_path / "deep3.png"), PICTURE.astype(np.uint16) * 257)
    cv2.imwrite(str(tmp_path / "colour.png"), PICTURE)
    for name, expected in (("grey", PICTURE[:, :, :1]), ("deep", PICTURE[:, :, :1]), ("deep3", PICTURE), ("colour", PICTURE)):
        read = read_picture(tmp_path / f"{name}.png")
        assert read.dtype == np.uint8
        assert read.shape == (120, 160, 3)
        assert np.abs(read.astype(int) - expected).max() <= 1


def test_any_way_of_storing_colours_is_read(tmp_path: Path) -> None:
    whole = Image.fromarray(np.ascontiguousarray(np.full((12, 16, 3), (204, 51, 0), np.uint8)))
    for name, mode in (("a.png", "RGBA"), ("b.jpg", "CMYK"), ("c.tif", "LAB"), ("d.png", "P"), ("e.tif", "CMYK")):
        whole.convert(mode).save(tmp_path / name)
        assert np.abs(read_picture(tmp_path / name).astype(int) - (0, 51, 204)).max() <= 12, name
    Image.fromarray(np.array([[0.0, np.nan], [np.inf, 2.0]], np.float32)).save(tmp_path / "f.tif")
    assert read_picture(tmp_path / "f.tif")[:, :, 0].tolist() == [[0, 0], [0, 255]]


def test_a_picture_is_turned_as_its_camera_was_held_and_damaged_words_on_it_do_not_matter(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    image = Image.fromarray(np.ascontiguousarray(PICTURE[:, :, ::-1]))
    held = Image.Exif()
    held[0x112] = 6
    image.save(tmp_path / "held.jpg", exif=held)
    assert read_picture(tmp_path / "held.jpg").shape == (160, 120, 3)
    for number, words in enumerate((b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0nonsense", b"Exif\0\0II*\0\x08\0\0\0\xff\xff")):
        image.save(tmp_path / f"{number}.jpg", exif=words)
        assert read_picture(tmp_path / f"{number}.jpg").shape == (120, 160, 3)
    assert capfd.readouterr().err == ""


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "there.png").write_bytes(b"before")
    (tmp_path / "link.png").symlink_to("there.png")
    write_picture(tmp_path / "link.png", PICTURE)
    assert (tmp_path / "link.png").is_symlink()
    assert np.array_equal(read_picture(tmp_path / "there.png"), PICTURE)
    (tmp_path / "folder").mkdir()
    for path, why in (
        ("folder/none/x.png", "No such file"),
        ("folder", "Is a directory"),
        ("/dev/full", "No space left"),
        ("there.png/x.png", "Not a directory"),
    ):
        with pytest.raises(InputError, match=f"{path}: cannot be written: {why}"):
            put(tmp_path / path, bytes(100_000))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link.png", "there.png"]


def test_a_truncated_jpeg_is_refused(tmp_path: Path) -> None:
    write_picture(tmp_path / "whole.jpg", PICTURE)
    data = (tmp_path / "whole.jpg").read_bytes()
    for part in (10, 200, len(data) // 2, len(data) - 40):
        (tmp_path / "cut.jpg").write_bytes(data[:part])
        with pytest.raises(InputError, match=r"cut\.jpg: is (damaged|no picture)"):
            read_picture(tmp_path / "cut.jpg")


@pytest.mark.parametrize("side", [9000, 11000, 20000, 100000])
def test_a_picture_far_too_large_is_refused_by_its_header(tmp_path: Path, side: int) -> None:
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    data += struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    (tmp_path / "huge.png").write_bytes(data)
    with pytest.raises(InputError, match=r"huge\.png: .*64 million pixels"):
        read_picture(tmp_path / "huge.png")


def test_what_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("not a picture")
    (tmp_path / "empty").mkdir()
    (tmp_path / "film.avi").write_bytes(b"RIFF" + bytes(100))
    for source, message in (
        ("text.jpg", r"text\.jpg: is no picture"),
        ("nothing.jpg", r"nothing\.jpg: No such file"),
        ("empty", r"empty: no pictures are in this folder"),
        ("film.avi", r"film\.avi: is neither a picture nor a video"),
    ):
        with pytest.raises(InputError, match=message):
            list(pictures([str(tmp_path / source)], most=5))
    with pytest.raises(InputError, match=r"x\.pdf: no picture is written as '\.pdf'"):
        write_picture(tmp_path / "x.pdf", PICTURE)


def test_a_folder_is_read_by_name_and_a_video_is_spread_over_its_length(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("b.png", "a.jpg"):
        write_picture(folder / name, PICTURE)
    (folder / "notes.txt").write_text("")
    assert [Path(name).name for name, _ in pictures([str(folder)], most=1)] == ["a.jpg", "b.png"]
    film = cv2.VideoWriter(str(tmp_path / "film.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10, (160, 120))
    for shade in range(0, 200, 10):
        film.write(np.full((120, 160, 3), shade, np.uint8))
    film.release()
    seen = list(pictures([str(tmp_path / "film.avi")], most=5))
    assert [name.split("#")[1] for name, _ in seen] == ["0", "4", "8", "12", "16"]
    assert [round(float(picture.mean()), -1) for _, picture in seen] == [0, 40, 80, 120, 160]


def test_a_camera_that_is_not_there_is_a_device_error() -> None:
    assert all(map(is_camera, ("0", "/dev/video0", "rtsp://host/1")))
    assert not any(map(is_camera, ("felt.jpg", "folder/film.mp4")))
    with pytest.raises(DeviceError, match=r"^/dev/video77: No such file or directory$"):
        list(pictures(["/dev/video77"], most=1))
