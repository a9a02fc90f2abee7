"""A virtual device is to a host what a serial port is, unplugging included."""

import os
import select
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tablectl.emulator.device import VirtualDevice
from tablectl.emulator.table import EmulatedTable
from tablectl.errors import DeviceError


@pytest.fixture
def device(tmp_path: Path) -> Iterator[VirtualDevice]:
    with VirtualDevice("shoe", tmp_path) as device:
        yield device


def opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_NOCTTY)


def read(port: int, size: int) -> bytes:
    data = b""
    while len(data) < size and select.select([port], [], [], 5)[0]:
        data += os.read(port, size - len(data))
    return data


def test_every_byte_comes_through_both_ways_as_it_was_sent(device: VirtualDevice) -> None:
    port = opened(device.path)
    every = bytes(range(256))
    assert device.send(every) == 256
    assert read(port, 256) == every
    os.write(port, every)
    deadline = time.monotonic() + 5
    heard = b""
    while len(heard) < 256 and time.monotonic() < deadline:
        heard += device.received()
    assert heard == every
    assert device.received() == b""
    os.close(port)


def test_what_is_sent_while_nobody_reads_waits(device: VirtualDevice) -> None:
    sent = [device.send(f"card {number}\n".encode(), patience=0) for number in range(500)]
    assert not device.drained(0.01)
    port = opened(device.path)
    assert read(port, sum(sent)) == b"".join(f"card {number}\n".encode() for number in range(500))
    assert device.drained(1)
    os.close(port)


def test_a_full_line_blocks_nobody_and_says_what_went(device: VirtualDevice) -> None:
    began = time.monotonic()
    went = device.send(b"x" * 1_000_000, patience=0.05)
    assert time.monotonic() - began < 2
    assert 4096 <= went < 1_000_000
    port = opened(device.path)
    assert read(port, went) == b"x" * went
    assert device.send(b"more") == 4
    assert read(port, 4) == b"more"
    os.close(port)


def test_unplugged_the_host_is_hung_up_on_and_the_name_is_gone(device: VirtualDevice) -> None:
    port = opened(device.path)
    device.unplug()
    assert select.select([port], [], [], 1)[0]
    with suppress(OSError):
        assert os.read(port, 10) == b""
    assert not device.plugged
    assert not device.path.is_symlink()
    assert device.send(b"into the air") == 0
    assert not device.opened()
    os.close(port)


def test_replugged_it_is_another_terminal_under_the_same_name(device: VirtualDevice) -> None:
    port = opened(device.path)
    device.send(b"never read")
    device.unplug()
    device.replug()
    again = opened(device.path)
    device.send(b"after")
    assert read(again, 5) == b"after"
    os.close(port)
    os.close(again)


def test_it_knows_when_a_host_has_it_open(device: VirtualDevice) -> None:
    assert not device.opened()
    port = opened(device.path)
    assert device.opened()
    os.close(port)
    assert not device.opened()


def test_it_knows_when_a_host_throws_away_what_was_sent(device: VirtualDevice) -> None:
    port = opened(device.path)
    device.send(b"lost")
    assert device.waiting() == 4
    assert device.thrown_away == 0
    termios.tcflush(port, termios.TCIFLUSH)
    assert device.waiting() == 0
    assert device.thrown_away == 1
    os.close(port)


def test_a_name_that_cannot_be_made_is_an_error_of_the_device(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="no pseudo-terminal"):
        VirtualDevice("shoe", tmp_path / "nowhere")


def test_a_file_of_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / "pad").write_text("mine")
    with pytest.raises(DeviceError, match="is there already"):
        EmulatedTable(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("pad", "mine")]
    (tmp_path / "shoe").symlink_to("/dev/pts/999999")  # as one that was killed leaves it
    with VirtualDevice("shoe", tmp_path) as device:
        assert device.path.exists()
