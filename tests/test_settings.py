"""Files that configure are ordinary files: what might keep one waiting for ever is refused at once, and said."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

from tablectl import config
from tablectl.display import people
from tablectl.errors import ConfigError, TablectlError
from tablectl.felt import calibration
from tablectl.felt.virtual import read_scene
from tablectl.houses import rules
from tablectl.mqtt.address import Address
from tablectl.mqtt.credentials import Credentials
from tablectl.shoe import profile

TLS = Address.parse("mqtts://127.0.0.1:8883")

READERS: dict[str, Callable[[Path], object]] = {
    "table": config.load,
    "house": lambda path: rules.load(str(path)),
    "profile": lambda path: profile.load(str(path)),
    "people": people.load,
    "token": people.token_of,
    "authorities": lambda path: Credentials(authorities=path).context(TLS),
    "certificate": lambda path: Credentials(certificate=path).context(TLS),
    "password": lambda path: Credentials(user="t07", password=path).login(TLS),
    "scene": read_scene,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_and_a_device_are_refused_at_once_where_a_file_configures(reader: str, tmp_path: Path) -> None:
    pipe, device = tmp_path / "pipe.toml", tmp_path / "device.toml"
    os.mkfifo(pipe, 0o600)
    device.symlink_to("/dev/zero")
    for path in (pipe, device):
        with pytest.raises(TablectlError, match="no ordinary file") as caught:
            READERS[reader](path)
        assert caught.value.where == str(path)


@pytest.mark.parametrize("name", ["calibration.toml", "layout.toml", "left.lens.toml", "right.felt.toml"])
def test_a_pipe_in_a_calibrations_folder_is_refused_at_once(name: str, tmp_path: Path) -> None:
    folder = copytree(calibration.find("es-two"), tmp_path / "t07")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ConfigError, match=rf"{name}: cannot be read: it is no ordinary file, but a pipe or a device$"):
        calibration.load(folder)


def test_a_folder_and_what_is_not_there_are_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        config.load(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        config.load(tmp_path / "none.toml")
