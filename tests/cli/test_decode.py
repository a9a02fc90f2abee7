"""`tablectl decode`: every byte accounted for, in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
SAMPLES = Path(__file__).parent.parent / "shoe" / "samples"


def lines(result: subprocess.CompletedProcess[str]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The runs of bytes, and the summary."""
    assert result.returncode == 0, result.stderr
    *pieces, last = (json.loads(line) for line in result.stdout.splitlines())
    return pieces, last["summary"]


@pytest.mark.parametrize(
    ("name", "profile", "count"),
    [("fr-shoe", "bee-tek", 24), ("fr-pad", "dealer-pad", 15), ("es-shoe", "angel-eye-ii", 21), ("es-pad", "dealer-pad", 14)],
)
def test_a_capture_is_all_frames(name: str, profile: str, count: int, tablectl: Command) -> None:
    path = SAMPLES / f"{name}.bin"
    pieces, summary = lines(tablectl("decode", path, "--profile", profile, "--format", "raw", "--json"))
    assert summary["bytes"] == summary["in_frames"] == path.stat().st_size
    assert (summary["rejected"], summary["observations"]) == (0, count)
    assert sum(piece["observation"] is not None for piece in pieces) == count
    assert sum(piece["end"] - piece["start"] for piece in pieces) == path.stat().st_size


def test_the_shape_of_the_json(tmp_path: Path, tablectl: Command) -> None:
    (tmp_path / "capture.bin").write_bytes(b"\xff\xfe [Game]<Card:10H> ")
    pieces, summary = lines(tablectl("decode", "capture.bin", "--profile", "bee-tek", "--format", "raw", "--json"))
    card = {"event": "card", "card": "TH", "source": "shoe"}
    assert pieces == [
        {"start": 0, "end": 2, "what": "rejected", "message": None, "why": "no frame", "observation": None},
        {"start": 2, "end": 19, "what": "frame", "message": "card", "why": "", "observation": card},
        {"start": 19, "end": 20, "what": "ignored", "message": None, "why": "between frames", "observation": None},
    ]
    assert summary == {"bytes": 20, "in_frames": 18, "rejected": 2, "observations": 1, "repeats": 0}


def test_for_people(tmp_path: Path, tablectl: Command) -> None:
    (tmp_path / "capture.bin").write_bytes(b"\x05\x31\x50\x03\x36\x32" * 2 + b"\x02\x1b[2J")
    result = tablectl("decode", "capture.bin", "--profile", "angel-eye-ii", "--format", "raw")
    assert result.stdout.splitlines() == [
        "     start     bytes  what      message",
        "         0         6  ignored   stand-by",
        "         6         6  repeat    stand-by: sent again",
        "        12         5  rejected  no frame",
        "17 bytes: 12 in frames, 5 rejected; 0 observations, 1 repeats",
    ]


def test_raw_bytes_on_stdin(tablectl: Command) -> None:
    pieces, summary = lines(tablectl("decode", "-", "--profile", "dealer-pad", "--device", "pad-2", "--json", stdin="N\nB3 10"))
    assert [piece["what"] for piece in pieces] == ["frame", "rejected"]
    assert summary == {"bytes": 7, "in_frames": 2, "rejected": 5, "observations": 1, "repeats": 0}


def test_nothing_on_stdin(tablectl: Command) -> None:
    assert lines(tablectl("decode", "-", "--profile", "bee-tek", "--json")) == (
        [],
        {"bytes": 0, "in_frames": 0, "rejected": 0, "observations": 0, "repeats": 0},
    )


NATIVE = """\
# tablectl recording 1
(1796014107.421005) shoe < 05 33 44 81 BA 03
(1796014107.422000) shoe > 02 4F 50 4C 4B 30 32 03 31 42
(1796014107.423000) shoe < 34 46
(1796014108.000000) pad < 4E 0A
"""


def test_a_recording_brings_its_times(tmp_path: Path, tablectl: Command) -> None:
    (tmp_path / "day.rec").write_text(NATIVE)
    (piece,), summary = lines(tablectl("decode", "day.rec", "--profile", "angel-eye-ii", "--json"))
    assert piece["observation"] == {"event": "card", "card": "TS", "source": "shoe", "at": "2026-11-30T04:48:27.423000Z"}
    assert summary["bytes"] == 8
    (piece,), _ = lines(tablectl("decode", "day.rec", "--profile", "dealer-pad", "--json"))
    assert piece["observation"]["event"] == "no_more_bets"


def test_a_recording_without_that_port(tmp_path: Path, tablectl: Command) -> None:
    (tmp_path / "day.rec").write_text(NATIVE)
    result = tablectl("decode", "day.rec", "--profile", "angel-eye-ii", "--port", "left")
    assert result.returncode == 1
    assert result.stderr.startswith("tablectl: day.rec: has nothing from the device on port 'left', but pad <, shoe <, shoe >")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("none.bin", "--profile", "bee-tek"), 1, "none.bin: cannot be read: No such file"),
        ((".", "--profile", "bee-tek"), 1, ".: "),
        (("empty.bin", "--profile", "bee-tek"), 1, "empty.bin: is empty"),
        (("empty.bin", "--profile", "be-tek"), 4, "be-tek: no such profile; known are"),
        (("empty.bin", "--profile", "bad.toml"), 4, "bad.toml:12: frames[0].kind: "),
        (("empty.bin", "--profile", "bee-tek", "--format", "x"), 2, "--format: the format 'x' is not known"),
    ],
)
def test_bad_input(tmp_path: Path, args: tuple[str, ...], code: int, message: str, tablectl: Command) -> None:
    (tmp_path / "empty.bin").touch()
    (tmp_path / "bad.toml").write_text(
        'name = "x"\nkind = "shoe"\ntitle = "x"\nmessages = []\n[link]\nbaud = 9600\nbits = 8\nparity = "none"\nstop = 1\n'
        '[[frames]]\nname = "f"\nkind = "xml"\n'
    )
    result = tablectl("decode", *args)
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr.startswith(f"tablectl: {message}")
    assert len(result.stderr.splitlines()) == 1


def test_no_profile_is_a_usage_error(tablectl: Command) -> None:
    result = tablectl("decode", "x")
    assert result.returncode == 2
    assert "--profile" in result.stderr


def test_help_has_an_example(tablectl: Command) -> None:
    assert "tablectl decode capture.bin --profile bee-tek --json" in tablectl("decode", "--help").stdout


def _peak(path: Path, out: Path) -> int:
    """Decode in a child of its own and return its largest resident size in bytes."""
    before = (
        "import resource, sys\n"
        "from tablectl.cli.main import run\n"
        f"code = run(['decode', {str(path)!r}, '--format', 'raw', '--profile', 'angel-eye-ii', '--json'])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    with out.open("wb") as stdout:
        result = subprocess.run([sys.executable, "-c", before], stdout=stdout, stderr=subprocess.PIPE, timeout=120, check=True)
    return int(result.stderr)


def _noise(path: Path, megabytes: int) -> int:
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(os.urandom(1 << 20))
    return megabytes << 20


def _summary(out: Path) -> dict[str, int]:
    summary: dict[str, int] = json.loads(out.read_text().splitlines()[-1])["summary"]
    return summary


def test_memory_does_not_grow_with_noise(tmp_path: Path) -> None:
    peaks = []
    for megabytes in (1, 16):
        size = _noise(tmp_path / "noise.bin", megabytes)
        peaks.append(_peak(tmp_path / "noise.bin", tmp_path / "out.json"))
        summary = _summary(tmp_path / "out.json")
        assert summary["bytes"] == summary["in_frames"] + summary["rejected"] == size
    assert peaks[1] - peaks[0] < 4 << 20


@pytest.mark.slow
def test_a_gigabyte_of_noise(tmp_path: Path) -> None:
    size = _noise(tmp_path / "noise.bin", 1024)
    assert _peak(tmp_path / "noise.bin", tmp_path / "out.json") < 100 << 20
    assert _summary(tmp_path / "out.json")["bytes"] == size
