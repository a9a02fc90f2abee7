"""What is wrong with a file is told with its name, line and field; what came before is kept; the exit code is the right one.

No traceback, whatever the file holds, and no more memory for a long one than for a short one.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tablectl.cli import main
from tablectl.resources import named_files
from tests.cli.samples import ES, FR, TABLECTL, environment, notices, of_kind, run

TOOLS = Path(__file__).resolve().parents[1] / "recordings" / "tools"
MEGA = 1_000_000
ROOM = 80 * 1024  # KiB: an interpreter with our imports has half of it

# What is wrong, and what is said of it after `FILE:LINE: `.
BAD_LINES = {
    "this is no JSON": r"no JSON object: .+",
    '{"event":"bet","box":1,"amount":1000': r"no JSON object: .+",
    '{"event":"bet","box":1,"amount":1000}{"event":"tick"}': r"no JSON object: .+",
    "[" * 100_000: r".+",
    '{"a":' * 100_000: r"no JSON object: .+",
    '["bet"]': r"expected keys with values, got .+",
    "null": r"expected keys with values, got .+",
    '{"box":1,"amount":1000}': r"event: .+",
    '{"event":"dance"}': r"event: .*dance.*",
    '{"event":"card","card":"1S"}': r"card: .*1S.*",
    '{"event":"card","card":""}': r"card: .+",
    '{"event":"card"}': r"card: .+",
    '{"event":"card","card":"AS","to":{"box":8}}': r"to\.box: .+",
    '{"event":"card","card":"AS","to":"the floor"}': r"to: .*the floor.*",
    '{"event":"bet","box":9,"amount":1000}': r"box: .*7.*",
    '{"event":"bet","box":0,"amount":1000}': r"box: .*1.*",
    '{"event":"bet","box":1,"amount":10.5}': r"amount: .*with a point",
    '{"event":"bet","box":1,"amount":1000.0}': r"amount: .*with a point",
    '{"event":"bet","box":1,"amount":1e3}': r"amount: .*with a point",
    '{"event":"bet","box":1,"amount":"1000"}': r"amount: .*text",
    '{"event":"bet","box":1,"amount":-1}': r"amount: .*0.*",
    '{"event":"bet","box":1,"amount":99999999999999999999}': r"amount: .+",
    '{"event":"bet","box":true,"amount":1000}': r"box: .*true or false",
    '{"event":"bet","box":1,"amount":1000,"colour":"red"}': r"colour: .+",
    '{"event":"decision","box":1,"action":"jump"}': r"action: .*jump.*",
    '{"event":"tick","at":"yesterday"}': r"at: .*yesterday.*",
    '{"event":"felt","kind":"stake_laid","last":"yesterday"}': r"last: .*yesterday.*",
    '{"event":"felt","kind":"stake_laid","first":"2026-12-01T20:00:00"}': r"first: .*no RFC 3339 time with a zone",
    '{"event":"tick","at":"2026-02-30T00:00:00Z"}': r"at: .+",
    '{"event":"tick","at":"2026-11-30T05:57:42"}': r"at: .*zone.*",
    '{"event":"seat","box":1,"state":"taken","player":"' + "x" * 81 + '"}': r"player: .+",
    "x" * (5 * MEGA): r"is longer than \d+ bytes",
}
NOTHING_HAPPENS = (
    "# tablectl recording 1\n# house: es\n# profile.pad: dealer-pad\n(1796014107.421005) pad < 54 20 6F 70 65 6E 0A\n"
)
NOT_TEXT = b'{"event":"bet","box":1,"amount":1000,"by":"\xff\xfe"}'


Here = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def here(capsysbinary: pytest.CaptureFixture[bytes]) -> Here:
    """`tablectl WORDS...` in this process, for calls that end before there is anything to see."""

    def call(*words: str) -> subprocess.CompletedProcess[bytes]:
        code = main.run(words)
        return subprocess.CompletedProcess(words, code, *capsysbinary.readouterr())

    return call


def told(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """What was said on stderr: whole lines of ours."""
    lines = done.stderr.decode().splitlines()
    assert all(line.startswith("tablectl: ") for line in lines), lines
    return [line.removeprefix("tablectl: ") for line in lines]


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, so that files are named as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Observations


@pytest.mark.parametrize("way", [["play", "--house", "es", "day.jsonl"], ["replay", "es.rec", "--with", "day.jsonl", "--json"]])
def test_every_bad_line_is_told_by_file_line_and_field_and_the_others_count(way: list[str], at_home: Path) -> None:
    good = [b'{"event":"bet","box":1,"amount":1000}', b'{"event":"no_more_bets"}', b'{"event":"card","card":"KS"}']
    bad = [line.encode() for line in BAD_LINES] + [NOT_TEXT]
    (at_home / "day.jsonl").write_bytes(b"\n".join([good[0], *bad, *good[1:]]) + b"\n")
    (at_home / "es.rec").write_text(NOTHING_HAPPENS)
    done = run(*way)
    assert done.returncode == 1
    expected = [*BAD_LINES.values(), r"no JSON object: .+"]
    lines = told(done)
    assert len(lines) == len(expected)
    for number, (pattern, line) in enumerate(zip(expected, lines, strict=True), start=2):
        assert re.fullmatch(rf"day\.jsonl:{number}: {pattern}", line), line
        assert len(line) < 300, "a long line is not repeated"
    assert [each["card"] for each in of_kind(done.stdout, "dealt")] == ["KS"]


def test_a_stake_on_a_closed_table_is_no_bad_line_but_a_late_bet(at_home: Path) -> None:
    (at_home / "day.jsonl").write_text('{"event":"table","state":"closed"}\n{"event":"bet","box":1,"amount":1000}\n')
    done = run("play", "--house", "fr", "day.jsonl")
    assert done.returncode == 3
    (alert,) = of_kind(done.stdout, "alert")
    assert (alert["code"], alert["severity"], alert["box"], alert["cause"]) == ("bet.late", "critical", 1, 2)
    (line,) = told(done)
    assert line.startswith("day.jsonl:2: box 1: critical: bet.late: ")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing but a comment\n"])
def test_a_file_without_an_observation_is_a_failure(content: bytes, at_home: Path, here: Here) -> None:
    (at_home / "day.jsonl").write_bytes(content)
    done = here("play", "--house", "es", "day.jsonl")
    assert (done.returncode, done.stdout, told(done)) == (1, b"", ["day.jsonl: holds no observation"])


def test_a_byte_order_mark_and_the_line_ends_of_windows_are_no_fault(at_home: Path) -> None:
    """What its editors write into a file of text."""
    (at_home / "day.jsonl").write_bytes(b'\xef\xbb\xbf{"event":"bet","box":1,"amount":1000}\r\n')
    done = run("play", "--house", "es", "day.jsonl")
    assert (done.returncode, done.stderr, len(notices(done.stdout))) == (0, b"", 1)


def test_a_name_in_the_input_cannot_touch_the_terminal_or_forge_a_line(at_home: Path) -> None:
    name = "\x1b[2J\x1b[31mCHIEF\ntablectl: all is well"
    lines = [
        {"event": "seat", "box": 1, "player": "A", "state": "taken"},
        {"event": "bet", "box": 1, "amount": 1000, "by": "A"},
        {"event": "no_more_bets"},
        *({"event": "card", "card": card} for card in ("2S", "3S", "4S")),
        {"event": "decision", "box": 1, "action": "hit", "by": name},
    ]
    day = "day\x1b[31m\n.jsonl"
    (at_home / day).write_bytes(b"\n".join(msgspec.json.encode(line) for line in lines) + b"\nno JSON\n")
    (at_home / "es.rec").write_text(NOTHING_HAPPENS)
    done = run("play", "--house", "es", day)
    first, second = told(done)
    assert r"\x1b[2J\x1b[31mCHIEF\ntablectl: all is well" in first
    assert second.startswith(r"day\x1b[31m\n.jsonl:8: no JSON object: ")
    words = run("replay", "es.rec", "--with", day).stdout.decode()
    assert r"CHIEF\ntablectl: all is well" in words
    assert "\x1b" not in words


def test_the_spaces_that_a_language_writes_are_no_control_characters(at_home: Path) -> None:
    """French puts a narrow or a no-break one before a colon."""
    (at_home / "day.jsonl").write_text('{"event":"table","state":"closed"}\n{"event":"bet","box":1,"amount":1000}\n')
    (line,) = told(run("play", "--house", "fr", "--lang", "fr", "day.jsonl"))
    assert "\\" not in line
    assert "\xa0" in line


# Files that are not there, or are something else


def replaying(*more: str) -> list[str]:
    return ["replay", "--house", "fr", *more, "--json"]


CALLS: dict[str, tuple[list[str], int, str]] = {
    "no such observations": (["play", "--house", "es", "no.jsonl"], 1, "no.jsonl: cannot be read: No such file or directory"),
    "a folder of observations": (["play", "--house", "es", "."], 1, ".: cannot be read: Is a directory"),
    "no such house": (["play", "--house", "nowhere", "-"], 4, "nowhere: no such house; known are es, fr, lt, .+"),
    "no such house file": (["play", "--house", "no.toml", "-"], 4, "no.toml: cannot be read: No such file or directory"),
    "no such log": (replaying("--shoe", "no.log", "--shoe-profile", "bee-tek"), 1, "no.log: cannot be read: No such file .+"),
    "no such recording": (replaying("no.rec"), 1, "no.rec: cannot be read: No such file or directory"),
    "a folder as a log": (replaying("--shoe", ".", "--shoe-profile", "bee-tek"), 1, r"\.: is no file .+"),
    "no such observations to merge": (replaying("fr.rec", "--with", "no.jsonl"), 1, "no.jsonl: cannot be read: No such file .+"),
    "a folder of observations to merge": (replaying("fr.rec", "--with", "."), 1, r"\.: cannot be read: Is a directory"),
    "an empty log": (replaying("--shoe", "empty.log", "--shoe-profile", "bee-tek"), 1, "empty.log: is empty"),
    "no such profile": (replaying("--shoe", "shoe.log", "--shoe-profile", "no"), 4, "no: no such profile; known are .*bee-tek.+"),
    "no profile": (replaying("--shoe", "shoe.log"), 2, "--shoe-profile: which profile.+"),
    "nothing": (replaying(), 2, "nothing to replay: .+"),
    "both": (replaying("fr.rec", "--shoe", "shoe.log"), 2, "give FILE, or --shoe and --pad, not both"),
    "no house": (["replay", "--pad", "pad.log"], 2, "--house: which house.+"),
    "a start that is no time": (replaying("fr.rec", "--start", "noon"), 2, "--start: 'noon' is no time; .+"),
    "a zone that is nowhere": (
        replaying("fr.rec", "--zone", "Nowhere/Land"),
        2,
        "--zone: the zone 'Nowhere/Land' is not known .+",
    ),
    "a broker that is none": (replaying("fr.rec", "--mqtt", "http://127.0.0.1"), 2, "no broker address: .+"),
    "a site that no topic holds": (replaying("fr.rec", "--site", "a/b"), 4, "site: .+"),
    "a ledger in no folder": (replaying("fr.rec", "--ledger", "no/day.ledger"), 7, "no/day.ledger: cannot be opened: .+"),
    "a folder as a ledger": (replaying("fr.rec", "--ledger", "."), 7, r"\.: .+"),
    "another format than it is": (
        replaying("--shoe", "shoe.log", "--shoe-profile", "bee-tek", "--format", "jpnevulator"),
        1,
        r"shoe\.log:1: .*this is no log of jpnevulator: .+",
    ),
    "a lossy format": (
        replaying("--shoe", "shoe.log", "--shoe-profile", "bee-tek", "--format", "minicom"),
        1,
        r"shoe\.log: minicom .+ --lossy-ok .+",
    ),
    "two logs without times": (
        replaying("--shoe", "raw.bin", "--shoe-profile", "bee-tek", "--pad", "raw.bin", "--format", "raw"),
        2,
        r"raw\.bin: the bytes of 'shoe' have no times, .+ --start",
    ),
    "a recording of the future": (replaying("future.rec"), 1, r"future\.rec:1: recording version 2 is not known, only 1"),
    "a recording of an unknown device": (replaying("device.rec"), 4, "no-such-shoe: no such profile; .+"),
    "a recording without profiles": (replaying("bare.rec"), 2, "bare.rec: names no profile; .+"),
}


@pytest.fixture
def files(at_home: Path) -> Path:
    recording = "(1796014107.421005) pad < 42 31 20 31 30 30 0A\n"
    head = "# tablectl recording 1\n"
    (at_home / "fr.rec").write_text(f"{head}# house: fr\n# profile.pad: dealer-pad\n{recording}")
    (at_home / "device.rec").write_text(f"{head}# profile.shoe: no-such-shoe\n{recording}")
    (at_home / "future.rec").write_text(f"# tablectl recording 2\n# profile.pad: dealer-pad\n{recording}")
    (at_home / "bare.rec").write_text(recording)
    (at_home / "empty.log").touch()
    (at_home / "raw.bin").write_bytes(b"\x02\xa5\x00")
    for port, log in FR.logs.items():
        (at_home / f"{port}.log").write_bytes(log.read_bytes())
    return at_home


@pytest.mark.parametrize("case", CALLS)
def test_a_call_that_cannot_be_is_one_sentence_and_its_exit_code(case: str, files: Path, here: Here) -> None:
    words, code, sentence = CALLS[case]
    done = here(*words)
    (line,) = told(done)
    assert re.fullmatch(sentence, line), line
    assert (done.returncode, done.stdout) == (code, b"")


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "fast"])
def test_a_speed_that_never_arrives_is_a_usage_error(speed: str, files: Path, here: Here) -> None:
    done = here(*replaying("fr.rec", "--speed", speed))
    assert done.returncode == 2
    assert f"'{speed}' is neither a number above 0 nor max" in done.stderr.decode()


def test_a_failed_replay_leaves_no_ledger_in_the_way(files: Path) -> None:
    """Corrected and called again, it does not find its own ledger and refuse."""
    words = replaying("--shoe", "shoe.log", "--shoe-profile", "bee-tek", "--ledger", "day.ledger")
    assert run(*words, "--format", "jpnevulator").returncode == 1
    assert run(*words).returncode == 0


# House and profile files


def changed(source: Path, target: Path, change: Callable[[list[str]], None]) -> None:
    lines = source.read_text("utf-8").splitlines()
    change(lines)
    target.write_text("\n".join(lines) + "\n", "utf-8")


def test_a_house_that_allows_no_hand_at_all(files: Path, here: Here) -> None:
    numbers = []

    def none(lines: list[str]) -> None:
        (at,) = [index for index, line in enumerate(lines) if line.startswith("max_hands =")]
        lines[at] = "max_hands = 0"
        numbers.append(at + 1)

    changed(named_files("houses")["fr"], files / "ours.toml", none)
    for words in (["play", "--house", "ours.toml"], ["replay", "fr.rec", "--house", "ours.toml"]):
        done = here(*words)
        (line,) = told(done)
        assert re.fullmatch(rf"ours\.toml:{numbers[0]}: rules\.max_hands: .*1.*", line), line
        assert (done.returncode, done.stdout) == (4, b"")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('stop = "one"', r"link\.stop: .*1, 2.*"),
        ("stop = 3", r"link\.stop: .*3.*"),
        ("stoop = 1", r"link\.stoop: there is no such key.*"),
        ("stop = ", r"no TOML: .+"),
        ("stop = 1 stop", r"no TOML: .+"),
    ],
)
def test_a_profile_with_an_error_in_line_12(line: str, said: str, files: Path, here: Here) -> None:
    def wrong(lines: list[str]) -> None:
        (at,) = [index for index, text in enumerate(lines) if text.startswith("stop =")]
        del lines[at]
        section = lines.index("[link]")
        while section < 11 - 1:  # so that the key stands in line 12
            lines.insert(section, "# more")
            section += 1
        lines.insert(11, line)
        assert lines[10] == "[link]"

    changed(named_files("firmware_profiles")["bee-tek"], files / "ours.toml", wrong)
    done = here(*replaying("--shoe", "shoe.log", "--shoe-profile", "ours.toml", "--pad", "pad.log"))
    (sentence,) = told(done)
    assert re.fullmatch(rf"ours\.toml:12: {said}", sentence), sentence
    assert (done.returncode, done.stdout) == (4, b"")


# Logs that hold something else


@pytest.mark.parametrize(
    ("log", "profile"),
    [
        (FR.logs["pad"], "bee-tek"),
        (FR.logs["shoe"], "angel-eye-ii"),
        (ES.logs["shoe"], "bee-tek"),
        (TOOLS / "socat_r.bin", "bee-tek"),
    ],
    ids=["the pad's as the shoe's", "an angel-eye-ii's, they say", "a bee-tek's, they say", "another device's"],
)
def test_a_log_without_one_message_of_its_profile_is_a_failure(log: Path, profile: str) -> None:
    """It is told as corrupt while it is played, and at the end as what it is: the wrong log, or the wrong profile."""
    done = run("replay", "--house", "fr", "--shoe", log, "--shoe-profile", profile, "--json")
    assert [alert["code"] for alert in of_kind(done.stdout, "alert")] == ["link.corrupt"]
    assert [line for line in told(done) if line.startswith(f"{log}: ") and profile in line]
    assert done.returncode == 1


def test_the_two_logs_exchanged(files: Path) -> None:
    done = run(*replaying("--shoe", "pad.log", "--shoe-profile", "bee-tek", "--pad", "shoe.log"))
    assert {alert["code"] for alert in of_kind(done.stdout, "alert")} == {"link.corrupt"}
    assert [line.partition(":")[0] for line in told(done) if "bee-tek" in line or "dealer-pad" in line] == ["pad.log", "shoe.log"]
    assert done.returncode == 1


def test_a_port_that_no_profile_decodes_is_told(files: Path) -> None:
    """A recording's header was lost, and only one of its two ports was given a profile."""
    lines = [
        "(1796014107.421005) pad < 42 31 20 31 30 30 0A",
        "(1796014108.421005) shoe < 20 5B 47 61 6D 65 5D 3C 43 61 72 64 3A 32 43 3E 20",
    ]
    (files / "bare.rec").write_text("\n".join(lines) + "\n")
    done = run(*replaying("bare.rec", "--shoe-profile", "bee-tek"))
    assert [line for line in told(done) if "pad" in line and "profile" in line]
    # And given one, it counts.
    done = run(*replaying("bare.rec", "--shoe-profile", "bee-tek", "--pad-profile", "dealer-pad"))
    assert "pad" in of_kind(done.stdout, "status")[0]["devices"]


@pytest.mark.parametrize("line", [12, 20])
def test_a_bad_line_of_a_recording_is_told_and_the_others_count(line: int, tmp_path: Path) -> None:
    run(*FR.import_to(tmp_path / "good.rec"))
    lines = (tmp_path / "good.rec").read_text().splitlines()
    lines[line - 1] = lines[line - 1].replace("<", "=")
    (tmp_path / "bad.rec").write_text("\n".join(lines) + "\n")
    done = run("replay", tmp_path / "bad.rec", "--json")
    assert done.returncode == 1
    assert f"{tmp_path / 'bad.rec'}:{line}: direction: '=' is neither < nor >" in told(done)
    assert len(of_kind(done.stdout, "dealt")) > 5


# Noise


def peak(words: list[str], limit: float = 120) -> tuple[int, int, bytes]:
    """Run `tablectl`, its stdout dropped: its exit code, the most memory it held in KiB, and its stderr."""
    script = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    # A small process of its own is the parent, since a child's mark begins with the memory of its parent.
    done = subprocess.run(
        [TABLECTL[0], "-c", script, *TABLECTL, *words], env=environment(), capture_output=True, timeout=limit, check=True
    )
    code, kibibytes = done.stdout.split()
    return int(code), int(kibibytes), done.stderr


@pytest.mark.parametrize(
    ("profile", "code"),
    [
        ("bee-tek", 1),
        pytest.param("angel-eye-ii", 1, marks=pytest.mark.slow),
        # Two bytes are a scan, and three a line of the pad: some of the noise is a message, by chance.
        pytest.param("barcode-scanner", 0, marks=pytest.mark.slow),
        pytest.param("dealer-pad", 0, marks=pytest.mark.slow),
    ],
)
def test_a_long_noise_is_few_words_and_little_memory(profile: str, code: int, at_home: Path) -> None:
    (at_home / "noise.bin").write_bytes(random.Random(1).randbytes(20 * MEGA))
    ended, kibibytes, stderr = peak(["replay", "--house", "fr", "--shoe", "noise.bin", "--shoe-profile", profile, "--json"])
    lines = stderr.decode().splitlines()
    assert any(line.startswith("tablectl: noise.bin: is no known tool's log, so it was taken for raw bytes") for line in lines)
    assert len(lines) < 1000, "not a line of words for each of noise"
    assert kibibytes < ROOM
    assert ended == code


def test_a_noise_of_observations_is_told_in_bounded_words_and_memory(at_home: Path) -> None:
    noise = random.Random(1)
    (at_home / "noise.jsonl").write_bytes(noise.randbytes(5 * MEGA))
    code, kibibytes, stderr = peak(["play", "--house", "fr", "noise.jsonl"])
    assert code == 1
    assert stderr.startswith(b"tablectl: noise.jsonl:1: no JSON object: ")
    assert len(stderr) < MEGA
    assert kibibytes < ROOM
