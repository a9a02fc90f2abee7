"""`tablectl record` as a process of its own, at real pseudo-terminals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tablectl.cli.main import run
from tablectl.recording.importers import open_log
from tests.shoe.converters import RawConverter
from tests.shoe.plugs import Plug

Command = Callable[..., subprocess.CompletedProcess[str]]

CARD = b" [Game]<Card:4S> "


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[Plug]:
    plug = Plug(tmp_path / "shoe")
    yield plug
    plug.pull()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def recording(folder: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    line = [sys.executable, "-m", "tablectl", "record", *args]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline().strip().removeprefix("tablectl: ")


def ended(process: subprocess.Popen[str], how: signal.Signals = signal.SIGINT) -> tuple[int, str]:
    process.send_signal(how)
    out, err = process.communicate(timeout=20)
    assert out == ""
    return process.returncode, err


def grown(path: Path, words: str) -> str:
    """The file, once these words are in it."""
    deadline = time.monotonic() + 10
    while words not in path.read_text():
        assert time.monotonic() < deadline, path.read_text()
        time.sleep(0.01)
    return path.read_text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_shoe_and_pad_until_it_is_asked_to_stop(shoe: Plug, tmp_path: Path, how: signal.Signals) -> None:
    name = shoe.plug_in()
    out = tmp_path / "day.rec"
    before = time.time_ns() // 1000
    with RawConverter() as pad:
        args = ["--shoe", "shoe", "--shoe-profile", "bee-tek", "--pad", pad.url, "--house", "fr", "-o", "day.rec"]
        with recording(tmp_path, *args) as process:
            pad.accept()
            assert {told(process), told(process)} == {f"shoe: opened {name} (shoe)", f"pad: opened {pad.url}"}
            shoe.send(CARD)
            pad.send(b"B3 1000\n")
            grown(out, "pad <")
            grown(out, CARD.hex(" ").upper())  # written while it goes on, not at its end
            code, said = ended(process, how)
    assert code == 0
    assert said == "tablectl: day.rec: 8 bytes from pad, 17 bytes from shoe\n"
    log = open_log(out)
    assert log.header == {"house": "fr", "profile.shoe": "bee-tek", "profile.pad": "dealer-pad"}
    chunks = list(log)
    for port, sent in (("shoe", CARD), ("pad", b"B3 1000\n")):
        assert b"".join(chunk.data for chunk in chunks if chunk.port == port) == sent
    assert {chunk.direction for chunk in chunks} == {"<"}
    assert all(before <= (chunk.at or 0) <= time.time_ns() // 1000 for chunk in chunks)


def test_a_shoe_that_vanishes_is_waited_for(shoe: Plug, tmp_path: Path) -> None:
    with recording(tmp_path, "--shoe", "shoe", "--shoe-profile", "bee-tek", "-o", "day.rec") as process:
        assert told(process) == "shoe: shoe is not there; waiting for it"
        shoe.plug_in()
        assert told(process).startswith("shoe: opened /dev/pts/")
        shoe.send(CARD)
        grown(tmp_path / "day.rec", CARD.hex(" ").upper())
        shoe.pull()
        assert told(process) == "shoe: the device is gone: it hung up; waiting for it"
        shoe.plug_in()
        while not (line := told(process)).startswith("shoe: opened /dev/pts/"):
            assert line == "shoe: shoe is not there"
        shoe.send(CARD)
        code, said = ended(process)
    assert (code, said) == (0, "tablectl: day.rec: 34 bytes from shoe\n")


def test_a_killed_recording_has_all_that_came_and_is_played(shoe: Plug, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shoe.plug_in()
    out = here / "day.rec"
    with recording(here, "--shoe", "shoe", "--shoe-profile", "bee-tek", "--house", "es", "-o", "day.rec") as process:
        told(process)
        shoe.send(CARD)
        grown(out, CARD.hex(" ").upper())
        process.kill()
    assert b"".join(chunk.data for chunk in open_log(out)) == CARD
    assert run(["replay", "day.rec", "--json"]) == 0
    assert '"4S"' in capsys.readouterr().out


def test_no_device_in_all_the_time(tmp_path: Path, tablectl: Command) -> None:
    result = tablectl("record", "--shoe", "nothing", "--shoe-profile", "bee-tek", "-o", "day.rec", "--seconds", "0.3")
    assert result.returncode == 5
    assert result.stderr.splitlines() == [
        "tablectl: shoe: nothing is not there; waiting for it",
        "tablectl: nothing: no device could be opened, so nothing was recorded",
    ]
    assert not (tmp_path / "day.rec").exists()


def test_the_time_is_over(shoe: Plug, tmp_path: Path, tablectl: Command) -> None:
    shoe.plug_in()
    result = tablectl("record", "--shoe", "shoe", "--shoe-profile", "bee-tek", "-o", "day.rec", "--seconds", "0.3")
    assert result.returncode == 0
    assert result.stderr.endswith("day.rec: 0 bytes from shoe\n")
    assert (tmp_path / "day.rec").read_text() == "# tablectl recording 1\n# profile.shoe: bee-tek\n"


def test_a_file_that_is_there_is_left_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "day.rec").write_text("precious")
    assert run(["record", "--shoe", "shoe", "--shoe-profile", "bee-tek", "-o", "day.rec"]) == 2
    assert capsys.readouterr().err == "tablectl: day.rec: --out: is there already, and a recording is never written over\n"
    assert (here / "day.rec").read_text() == "precious"


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["-o", "x"], 2, "nothing to record: give --shoe, --pad or both"),
        (["-o", "x", "--shoe", "s"], 2, "--shoe-profile: which profile? give the name of the device's firmware profile"),
        (["-o", "x", "--shoe", "s", "--shoe-profile", "none"], 4, "no such profile"),
        (["-o", "x", "--pad", "socket://host"], 2, "'socket://host' is no address of a converter: socket://host:port"),
        (["-o", "x", "--pad", "s", "--house", "none"], 4, "none"),
        (["-o", "no/x", "--pad", "s"], 1, "no/x: cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_asked(args: list[str], code: int, said: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["record", *args]) == code
    assert said in capsys.readouterr().err
    assert os.listdir(here) == []
