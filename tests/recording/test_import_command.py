"""`tablectl import`: what it writes, what it says, and what it refuses."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tablectl.recording.importers import open_log

Command = Callable[..., subprocess.CompletedProcess[str]]

RECORDINGS = Path(__file__).parent.parent / "recordings"
TOOLS = RECORDINGS / "tools"
TABLE = RECORDINGS / "table"


def test_one_log(tablectl: Command) -> None:
    result = tablectl("import", TOOLS / "strace_ttt_xx.log", "-o", "-")
    assert result.returncode == 0
    assert result.stdout.splitlines() == [
        "# tablectl recording 1",
        "# source.1: shoe strace_ttt_xx.log (strace)",
        "(1796014107.421005) shoe < 02 43 2C 41 53 2C 30 30 31 03 0D 0A",
        "(1796014107.430922) shoe > 06",
        "(1796014107.671284) shoe < 02 43 2C 4B 48 2C 30 30 32 03 0D 0A",
        "(1796014107.832368) shoe > 06",
        "(1796014108.271713) shoe < 02 43 2C 31 30 44 2C 30 30 33 03 0D 0A",
        "(1796014108.434651) shoe > 06",
        "(1796014108.571937) shoe < 02 A5 00 41 10 FF 03",
        "(1796014109.072294) shoe < 45 52 52 20 3C 6A 61 6D 3E 20 22 71 22 20 5C 20 C3 A9 0A",
    ]
    assert result.stderr == (
        "tablectl: 63 bytes from shoe, 3 bytes to shoe, 2026-11-30T04:48:27.421005Z to 2026-11-30T04:48:29.072294Z\n"
    )


def test_two_logs_become_one_table_recording(tablectl: Command, tmp_path: Path) -> None:
    result = tablectl(
        "import",
        f"shoe={TABLE / 'fr-shoe.socat-xv.log'}",
        f"pad={TABLE / 'fr-pad.jpnevulator.log'}",
        *("-o", "day.rec", "--profile", "shoe=bee-tek", "--profile", "pad=dealer-pad"),
        *("--house", "fr", "--table", "BJ 4", "--zone", "UTC"),
    )
    assert (result.returncode, result.stdout) == (0, "")
    lines = (tmp_path / "day.rec").read_text().splitlines()
    assert lines[:8] == [
        "# tablectl recording 1",
        "# table: BJ 4",
        "# house: fr",
        "# zone: UTC",
        "# profile.shoe: bee-tek",
        "# profile.pad: dealer-pad",
        "# source.1: shoe fr-shoe.socat-xv.log (socat)",
        "# source.2: pad fr-pad.jpnevulator.log (jpnevulator)",
    ]
    assert lines[8] == "(1796018262.381451) pad < 4C 36 43 0A"
    assert lines[8:] == sorted(lines[8:])
    assert [path.name for path in tmp_path.iterdir()] == ["day.rec"]


def test_recordings_are_merged_and_keep_what_they_say(tablectl: Command, tmp_path: Path) -> None:
    shoe = tmp_path / "shoe.rec"
    shoe.write_text("# tablectl recording 1\n# house: es\n# profile.shoe: bee-tek\n(0000000001.000000) shoe < 01\n")
    result = tablectl("import", shoe, TOOLS / "strace_ttt_xx.log", "--port", "pad", "-o", "-")
    assert result.returncode == 0
    assert result.stdout.splitlines()[:6] == [
        "# tablectl recording 1",
        "# house: es",
        "# profile.shoe: bee-tek",
        "# source.1: shoe.rec (native)",
        "# source.2: pad strace_ttt_xx.log (strace)",
        "(0000000001.000000) shoe < 01",
    ]


def test_what_was_imported_as_json(tablectl: Command) -> None:
    result = tablectl("import", TOOLS / "socat_x_v.log", "-o", "out.rec", "--json")
    said = json.loads(result.stdout)
    assert said["chunks"] == 7
    assert said["bytes"] == {"shoe": {"from": 63, "to": 13}}
    assert (said["first"], said["last"]) == ("2026-11-30T04:43:06.882629Z", "2026-11-30T04:43:08.533287Z")
    (log,) = said["logs"]
    assert (log["format"], log["port"], log["bad_lines"]) == ("socat", "shoe", 0)
    assert "no zone" in log["warnings"][0]


def test_a_log_without_times_is_recorded_without_times(tablectl: Command, tmp_path: Path) -> None:
    result = tablectl("import", TOOLS / "picocom_g.log", "-o", "out.rec")
    assert result.returncode == 0
    assert "it was taken for raw bytes" in result.stderr
    assert "63 bytes from shoe, without times" in result.stderr
    recording = tmp_path / "out.rec"
    assert "# time: none" in recording.read_text().splitlines()
    assert [(chunk.at, len(chunk.data)) for chunk in open_log(recording)] == [(None, 63)]


def test_options_reach_the_importers(tablectl: Command) -> None:
    ts = tablectl(
        "import", TOOLS / "moreutils_ts.log", "-o", "-", "--pattern", r"(?P<at>\S+) (?P<data>.*)", "--zone", "Europe/Paris"
    )
    assert "(1796010725.539478) shoe < 02 43 2C 41 53 2C 30 30 31 03 0D 0A" in ts.stdout.splitlines()
    spy = tablectl(
        "import", TOOLS / "pyserial_spy_hex.log", "-o", "-", "--start", "2026-11-30T04:48:00Z", "--port", "pad", "--swap"
    )
    assert "(1796014081.607000) pad < 06" in spy.stdout.splitlines()
    minicom = tablectl("import", TOOLS / "minicom_C.cap", "-o", "-", "--format", "minicom", "--lossy-ok")
    assert minicom.returncode == 0
    assert "drops" in minicom.stderr


def test_bad_lines_are_told_and_the_rest_is_kept(tablectl: Command, tmp_path: Path) -> None:
    log = tmp_path / "some.log"
    log.write_text("term 02 43  |.C|\nterm 02 4\nterm 06     |.|\n")
    result = tablectl("import", log, "-o", "out.rec")
    assert result.returncode == 1
    assert f"tablectl: {log}:2: this is neither bytes (term or tcp) nor OPEN nor CLOSE" in result.stderr.splitlines()
    assert (tmp_path / "out.rec").read_text().splitlines()[-2:] == [
        "(0000000000.000000) shoe < 02 43",
        "(0000000000.000001) shoe < 06",
    ]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["absent.log", "-o", "out.rec"], 1, "absent.log: cannot be read: No such file or directory"),
        (["empty.log", "-o", "out.rec"], 1, "empty.log: is empty"),
        (["text.log", "-o", "out.rec", "--format", "socat"], 1, "text.log:1: bytes: this is no log of socat -x -v"),
        (["text.log", "-o", "out.rec", "--format", "minicom"], 1, "text.log: minicom -C drops"),
        (["text.log", "-o", "out.rec", "--format", "x"], 2, "--format: the format 'x' is not known"),
        (["text.log", "-o", "out.rec", "--start", "noon"], 2, "--start: 'noon' is no time"),
        (["text.log", "-o", "out.rec", "--zone", "Mars"], 2, "--zone: the zone 'Mars' is not known here"),
        (["text.log", "-o", "out.rec", "--fd", "3"], 2, "--fd: there is no log of strace"),
        (["text.log", "-o", "out.rec", "--port", "a b"], 2, "'a b' is no name for a port"),
        (["text.log", "-o", "out.rec", "--pattern", "("], 2, "--pattern: '(' is no regular expression"),
        (["text.log", "-o", "out.rec", "--house", "atlantis"], 4, "atlantis: no such house"),
        (["text.log", "-o", "out.rec", "--profile", "abacus"], 4, "abacus: no such profile"),
        (["a=text.log", "b=text.log", "-o", "out.rec", "--profile", "x"], 2, "--profile: of which port is 'x'? Write a=x"),
        (["a=text.log", "b=text.log", "-o", "out.rec"], 2, "text.log: the bytes of 'a' have no times"),
        (["text.log", "-o", "-", "--json"], 2, "--out: stdout cannot take the recording and --json"),
        (["text.log", "-o", "text.log"], 2, "text.log: --out: would be written over a log"),
        (["text.log", "-o", "nowhere/out.rec"], 1, "nowhere/out.rec: cannot be written: No such file or directory"),
        (["text.log"], 2, "Missing option '-o'"),
    ],
)
def test_what_is_refused(args: list[str], code: int, message: str, tablectl: Command, tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "text.log").write_text("port;data\nshoe;02\n")
    result = tablectl("import", *args)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.log", "text.log"]
    assert (tmp_path / "text.log").read_text() == "port;data\nshoe;02\n"


def test_an_older_recording_is_kept_when_the_import_fails(tablectl: Command, tmp_path: Path) -> None:
    (tmp_path / "out.rec").write_text("precious")
    (tmp_path / "some.log").write_text("no log\n")
    assert tablectl("import", "some.log", "-o", "out.rec", "--format", "socat").returncode == 1
    assert (tmp_path / "out.rec").read_text() == "precious"


def test_a_device_is_written_to_and_not_replaced(tablectl: Command) -> None:
    assert tablectl("import", TOOLS / "socat_x_v.log", "-o", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


def test_help_has_an_example(tablectl: Command) -> None:
    assert "tablectl import shoe=fr-shoe.log pad=fr-pad.log -o day.rec" in tablectl("import", "--help").stdout
