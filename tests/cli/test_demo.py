"""`tablectl demo`: what a person sees, on a terminal and in lines, and that nothing is left behind however it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from tablectl.cli import demo_watch, main
from tablectl.cli.onlooker import Onlooker
from tablectl.resources import data_folder
from tests.cli.demos import NOTHING, STAYS, left, nothing_left
from tests.processes import named
from tests.terminal import Screen, Terminal

Command = Callable[..., subprocess.CompletedProcess[str]]

SAMPLES = {house: data_folder("samples") / f"{house}.rec" for house in ("fr", "es")}


def replayed(house: str, *options: str) -> list[str]:
    """What `tablectl replay` says of a session: the words of prompts and alerts are its to choose, in the house's language."""
    line = [sys.executable, "-m", "tablectl", "replay", str(SAMPLES[house]), *options]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()


@cache
def notices(house: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in replayed(house, "--json")]


def drew() -> str:
    """The words of the Spanish session's alert."""
    return next(str(notice["text"]) for notice in notices("es") if notice["notice"] == "alert")


def untimed(lines: list[str]) -> list[str]:
    """What was told, without the clock: a live table has its own time."""
    return [line[12:] for line in lines]


FRENCH_SUMMARY = """\
The French session, house fr
  round 1: staked 80.00, returned 105.00, carried 20.00
  round 2: staked 35.00, returned 15.00, carried 0.00
  NN notices in the ledger, all received over MQTT, each once by id, in order
  no alerts
"""


def spanish_summary() -> str:
    return f"""\
The Spanish session, house es
  round 1: staked 50.00, returned 80.00, carried 0.00
  round 2: staked 10.00, returned 10.00, carried 0.00
  NN notices in the ledger, all received over MQTT, each once by id, in order
  ! critical: dealer.drew_on_17: {drew()}
  The dealer drew on 17 on purpose; the table stood still until a supervisor had that card burned, over MQTT.
"""


def counted(text: str) -> str:
    """The text with its counts of notices made alike: how often a state is told depends on the time."""
    return re.sub(r"\d+(?= notices in the ledger)", "NN", text)


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Where the demo may leave nothing; its broker's command line names it."""
    place = tmp_path / "temporary"
    place.mkdir()
    return place


COLOURS = {str(number) for number in [*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108)]}

SHOE_ALONE = ("--no-felt", "--no-display")


def test_in_lines_where_stdout_is_no_terminal(tablectl: Command, temporary: Path) -> None:
    result = tablectl("demo", "--no-felt", env={"TMPDIR": str(temporary)})
    assert (result.returncode, result.stderr) == (0, "")
    assert left(temporary) == NOTHING
    assert "\x1b" not in result.stdout
    introduction, _, _ = result.stdout.partition("\n\n")
    assert re.fullmatch(
        r"A live table: .* the French session and the Spanish session\. .* at mqtt://127\.0\.0\.1:\d+; .*",
        introduction.replace("\n", " "),
    )
    assert re.search(r"^The display: http://127\.0\.0\.1:\d+$", result.stdout, re.MULTILINE)
    french, _, spanish = counted(result.stdout).partition("\nThe Spanish session\n")
    assert untimed(french.partition("\nThe French session\n")[2].splitlines()) == untimed(replayed("fr"))
    session, _, summary = spanish.partition("\n\n")
    told = untimed(session.splitlines())
    assert told[:-2] == untimed(replayed("es"))
    assert [line.strip() for line in told[-2:]] == ["4S  to the burned cards", "> Hagan juego"], "what the ruling led to"
    assert summary.startswith(f"{FRENCH_SUMMARY}\n{spanish_summary()}\nTo try next:\n")
    assert "    AS  to box 1.0 = soft 11\n" in french
    assert "    box 3.1  8D TC: carried, nothing back, 20.00 stays in place of 20.00\n" in french
    assert f"  ! critical: dealer.drew_on_17: {drew()}\n" in spanish
    assert max(map(len, [*introduction.splitlines(), *FRENCH_SUMMARY.splitlines()])) < 80


def test_one_house_and_what_to_try_next_can_be_tried(tablectl: Command, tmp_path: Path) -> None:
    result = tablectl("demo", "--house", "es", *SHOE_ALONE)
    assert result.returncode == 0
    assert "display" not in result.stdout
    assert "French" not in result.stdout
    assert spanish_summary() in counted(result.stdout)
    tries = result.stdout.partition("To try next:\n")[2].splitlines()
    assert [line.split("tablectl ", 1)[1].split()[0] for line in tries] == ["demo", "house", "replay"]
    for line in tries[1:]:  # the first is another test's
        tried = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert (tried.returncode, bool(tried.stdout)) == (0, True)


@pytest.fixture(scope="module")
def french(tmp_path_factory: pytest.TempPathFactory) -> Screen:
    """The French session on a terminal, from beginning to end."""
    place = tmp_path_factory.mktemp("temporary")
    with Terminal("demo", "--house", "fr", "--no-felt", env={"TMPDIR": str(place)}) as terminal:
        terminal.until(STAYS, 60)
        terminal.press("\x03")
        assert terminal.end() == 0, "Ctrl-C is what it waited for"
        screen = terminal.screen
    assert left(place) == NOTHING
    return screen


def test_a_picture_on_a_terminal(french: Screen) -> None:
    screen = french
    assert (screen.cursor, screen.other, screen.jolted) == (True, False, False)
    for frame in screen.frames:
        assert re.match(r" House fr, round [012]: ", frame[0]), frame[0]
        assert (frame[1][0], frame[3][0], frame[5][0], frame[7][0], frame[15][0]) == ("┏", "┗", "╭", "├", "╰")
        assert re.fullmatch(r" display: http://127\.0\.0\.1:\d+", frame[-1])
    prompts = [text for text, _ in groupby(frame[2].strip("┃ ") for frame in screen.frames)]
    assert len(prompts) > 20  # a state that is followed by the next at once need not be shown
    said = iter([notice["text"] for notice in notices("fr") if notice["notice"] == "prompt"])
    assert [prompt for prompt in prompts if prompt not in said] == []  # in the order in which they were said
    box = [[line.split("│")[3].strip() for line in frame[8:15]] for frame in screen.frames]
    assert ["8H 3C TH", "21 doubled", "40.00", "- hand 1 -", "8D TC", "18 stood", "20.00"] in box
    assert ["8H 3C TH", "21 win", "40.00", "- hand 1 -", "8D TC", "18 carried", "20.00"] in box


def test_the_last_picture_stays_and_the_summary_follows(french: Screen) -> None:
    assert french.colours & COLOURS
    text = "\n".join(french.lines)
    assert text.count("House ") == 1
    assert re.search(r" House fr, round 2: betting   \d\d:\d\d:\d\d +Shoe: 24 drawn, 288 remain\n", text)
    assert f"\n\n{FRENCH_SUMMARY}\nTo try next:\n" in counted(text)


def test_no_color() -> None:
    with Terminal("demo", "--house", "es", *SHOE_ALONE, env={"NO_COLOR": "1"}) as terminal:
        terminal.until("House es, round 1")
        terminal.press("\x03")
        terminal.end()
        assert not terminal.screen.colours & COLOURS


@pytest.mark.parametrize(("columns", "rows", "term"), [(70, 24, "xterm"), (80, 15, "xterm"), (80, 24, "dumb")])
def test_a_terminal_without_room_is_told_in_lines(columns: int, rows: int, term: str) -> None:
    with Terminal("demo", "--house", "es", *SHOE_ALONE, columns=columns, rows=rows, env={"TERM": term}) as terminal:
        terminal.until("7H  to the burned cards")
        terminal.press("\x03")
        terminal.end()
        assert terminal.screen.frames == []


@pytest.mark.parametrize("end", ["Ctrl-C", "Ctrl-C twice", "SIGTERM"])
def test_it_is_ended_while_it_shows(temporary: Path, end: str) -> None:
    with Terminal("demo", "--no-felt", env={"TMPDIR": str(temporary)}) as terminal:
        terminal.until("House fr, round 1", 60)
        assert len(left(temporary)[0]) >= 5, "ourselves, a broker, the display and two tables"
        if end == "SIGTERM":
            terminal.process.send_signal(signal.SIGTERM)
        else:
            terminal.press("\x03")
        if end == "Ctrl-C twice":
            terminal.press("\x03")
        assert terminal.end() == 130
        if end != "Ctrl-C twice":  # at which a terminal throws away what it has not shown yet
            assert (terminal.screen.cursor, terminal.screen.other) == (True, False)
            assert "tablectl: interrupted" in terminal.screen.lines
    assert left(temporary) == NOTHING


def test_it_is_ended_while_its_cameras_open(temporary: Path) -> None:
    with Terminal("demo", env={"TMPDIR": str(temporary)}) as terminal:
        terminal.until("the cameras open their eyes", 60)
        terminal.press("\x03")
        assert terminal.end() == 130
    assert left(temporary) == NOTHING


def test_a_terminal_that_is_closed(temporary: Path) -> None:
    with Terminal("demo", "--no-felt", env={"TMPDIR": str(temporary)}) as terminal:
        terminal.until("House fr, round 1", 60)
        terminal.hang_up()
        terminal.process.wait(15)
    assert left(temporary) == NOTHING


def test_it_is_killed_and_all_that_it_started_goes_too(temporary: Path) -> None:
    with Terminal("demo", env={"TMPDIR": str(temporary)}) as terminal:
        terminal.until("the cameras open their eyes", 60)
        assert left(temporary)[0]
        terminal.process.send_signal(signal.SIGKILL)
        terminal.process.wait(15)
        assert nothing_left(temporary)


def test_the_broker_is_killed(temporary: Path) -> None:
    with Terminal("demo", "--no-felt", env={"TMPDIR": str(temporary)}) as terminal:
        terminal.until("House fr, round 1", 60)
        os.kill(next(iter({*named(temporary)} & {*named("mosquitto.conf")})), signal.SIGKILL)
        assert terminal.end() == 6
        last = next(line for line in reversed(terminal.screen.lines) if line)
        assert re.fullmatch(r"tablectl: mqtt://127\.0\.0\.1:\d+: the connection broke: .*", last)
    assert left(temporary) == NOTHING


def test_a_reader_that_has_seen_enough(temporary: Path) -> None:
    line = f"{sys.executable} -m tablectl demo | head -1"
    env = {**os.environ, "TMPDIR": str(temporary)}
    result = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (result.stdout.count("\n"), result.stderr) == (1, "")
    assert nothing_left(temporary)
    assert left(temporary) == NOTHING


def test_a_notice_that_does_not_arrive_is_missed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    deaf_to, hear = 20, Onlooker.hear

    def mishear(self: Onlooker, payload: bytes) -> object:
        return None if f'"seq":{deaf_to},'.encode() in payload else hear(self, payload)

    monkeypatch.setattr(Onlooker, "hear", mishear)
    monkeypatch.setattr(demo_watch, "PATIENCE", 1.0)
    assert main.run(["demo", "--house", "fr", *SHOE_ALONE]) == 6
    told = re.search(r": (\d+) notices were told, not the same (\d+) arrived\n$", capsys.readouterr().err)
    assert told is not None
    assert int(told[1]) == int(told[2]) + 1


def test_no_mosquitto_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "which", lambda *args, **more: None)
    assert main.run(["demo"]) == 6
    assert capsys.readouterr() == ("", "tablectl: this needs the MQTT broker mosquitto; install it: apt install mosquitto\n")


def test_random_rounds_with_mistakes_and_rulings(tablectl: Command, temporary: Path) -> None:
    result = tablectl("demo", "--house", "lt", "--rounds", "2", "--wrong", *SHOE_ALONE, env={"TMPDIR": str(temporary)})
    assert (result.returncode, result.stderr) == (0, "")
    assert left(temporary) == NOTHING
    assert len(re.findall(r"Round \d closed", result.stdout)) == 2
    assert "  ! " in result.stdout.partition("2 dealt rounds, house lt")[2], "a mistake was made"
    assert re.search(r"^To try next:\n.*tablectl demo$", result.stdout, re.MULTILINE), "and not the same again"


def test_a_house_without_a_recorded_session(tablectl: Command) -> None:
    result = tablectl("demo", "--house", "lt")
    assert result.returncode == 2
    assert "give --rounds N" in result.stderr
