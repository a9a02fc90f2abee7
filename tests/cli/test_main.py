"""The command itself: its verbs, and every way in which it can end."""

import errno
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import click
import pytest

from tablectl import errors
from tablectl.cli import main

Command = Callable[..., subprocess.CompletedProcess[str]]
Failing = Callable[[Callable[[], object]], None]

TABLECTL = [sys.executable, "-m", "tablectl"]


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Make `tablectl broken` a verb that does what it is given."""

    def install(body: Callable[[], object]) -> None:
        module = ModuleType("broken_verb")
        module.__dict__["command"] = click.command("broken")(body)
        monkeypatch.setitem(sys.modules, "broken_verb", module)
        monkeypatch.setitem(main.VERBS, "broken", main.Verb("broken_verb:command", "Do what the test says."))

    return install


def raising(error: BaseException) -> Callable[[], object]:
    def body() -> object:
        raise error

    return body


def test_version(tablectl: Command) -> None:
    result = tablectl("--version")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"tablectl {version('tablectl')}\n", "")


def test_help_names_every_verb_with_its_summary_on_one_line(tablectl: Command) -> None:
    result = tablectl("--help")
    assert result.returncode == 0
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    for name, verb in main.VERBS.items():
        assert [name, verb.summary] in lines


def commands(name: str) -> list[str]:
    """The words of a verb and of every command under it."""
    command = main.cli.get_command(click.Context(main.cli), name)
    assert command is not None
    below = list(command.commands) if isinstance(command, click.Group) else []
    return [name, *(f"{name} {sub}" for sub in below)]


@pytest.mark.parametrize("name", list(main.VERBS))
def test_every_command_has_an_example_of_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in commands(name):
        assert main.run([*words.split(), "--help"]) == 0
        _, _, example = capsys.readouterr().out.partition("Example")
        assert f"tablectl {words}" in example


def test_a_word_that_is_no_verb_is_a_usage_error(tablectl: Command) -> None:
    result = tablectl("shuffle")
    assert result.returncode == 2
    assert "No such command 'shuffle'" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.TablectlError("x"), 1),
        (errors.InputError("x"), 1),
        (errors.LossyLog("x"), 1),
        (errors.UsageError("x"), 2),
        (errors.ConfigError("x"), 4),
        (errors.HouseError("x"), 4),
        (errors.ProfileError("x"), 4),
        (errors.DeviceError("x"), 5),
        (errors.BrokerError("x"), 6),
        (errors.LedgerError("x"), 7),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_each_of_our_errors_is_one_line_and_has_its_exit_code(
    error: errors.TablectlError, code: int, verb: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    error.where, error.line, error.field = "night.toml", 12, "rules.max_hands"
    verb(raising(error))
    assert main.run(["broken"]) == code
    assert capsys.readouterr().err == "tablectl: night.toml:12: rules.max_hands: x\n"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ZeroDivisionError("by nought\nand more"),
            "internal fault: ZeroDivisionError: by nought; set TABLECTL_DEBUG=1 for details",
        ),
        (MemoryError(), "internal fault: MemoryError; set TABLECTL_DEBUG=1 for details"),
        (RecursionError("too deep"), "internal fault: RecursionError: too deep; set TABLECTL_DEBUG=1 for details"),
        (AssertionError(), "internal fault: AssertionError; set TABLECTL_DEBUG=1 for details"),
        (
            OSError(errno.ENOSPC, "No space left on device", "night.db"),
            "the system refused: night.db: No space left on device; set TABLECTL_DEBUG=1 for details",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_whatever_else_happens_is_one_line(
    error: Exception, told: str, verb: Failing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "drop_stdout", lambda: None)  # this process keeps its stdout
    verb(raising(error))
    assert main.run(["broken"]) == 1
    assert capsys.readouterr().err == f"tablectl: {told}\n"


def test_the_traceback_is_there_for_who_asks(
    verb: Failing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verb(raising(ZeroDivisionError("by nought")))
    monkeypatch.setenv("TABLECTL_DEBUG", "1")
    assert main.run(["broken"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.splitlines()[-1] == "tablectl: internal fault: ZeroDivisionError: by nought; set TABLECTL_DEBUG=1 for details"


def test_a_verb_may_end_with_any_exit_code(verb: Failing) -> None:
    verb(lambda: 3)
    assert main.run(["broken"]) == 3
    verb(lambda: click.get_current_context().exit(3))
    assert main.run(["broken"]) == 3
    verb(raising(SystemExit(3)))
    assert main.run(["broken"]) == 3
    verb(lambda: None)
    assert main.run(["broken"]) == 0


def test_control_characters_in_a_message_cannot_touch_the_terminal(verb: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    verb(raising(errors.InputError("cannot be read", where="evil\x1b[2J\n\udcff.log")))
    assert main.run(["broken"]) == 1
    assert capsys.readouterr().err == "tablectl: evil\\x1b[2J\\n\\udcff.log: cannot be read\n"


def test_a_reader_that_has_seen_enough_is_no_news() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([*TABLECTL, "house", "show", "fr"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, "")


def test_a_full_disk_under_stdout_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run([*TABLECTL, "house", "show", "fr"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "tablectl: the system refused: No space left on device; set TABLECTL_DEBUG=1 for details\n"


def test_no_stdout_at_all_does_no_harm() -> None:
    line = f"{sys.executable} -m tablectl house list >&-"
    result = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts(how: signal.Signals) -> None:
    """`play` says what is due, then waits for more on a standard input that does not end."""
    process = subprocess.Popen(
        [*TABLECTL, "play", "--house", "fr", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write('{"event":"bet","box":1,"amount":1000}\n')
        process.stdin.flush()
        assert "place_bets" in process.stdout.readline()
        process.send_signal(how)
        assert process.wait(timeout=30) == errors.EXIT_INTERRUPTED
        assert process.stderr.read() == "tablectl: interrupted\n"


THREAD = """
import sys, threading, types, click
from tablectl.cli import main
def body():
    thread = threading.Thread(target=lambda: 1 / 0, name="publisher")
    thread.start()
    thread.join()
module = types.ModuleType("broken_verb")
module.command = click.command("broken")(body)
sys.modules["broken_verb"] = module
main.VERBS["broken"] = main.Verb("broken_verb:command", "")
sys.argv = ["tablectl", "broken"]
main.main()
"""


def test_an_exception_in_a_thread_is_one_line_too() -> None:
    result = subprocess.run([sys.executable, "-c", THREAD], capture_output=True, text=True, check=False)
    told = "internal fault: ZeroDivisionError: division by zero (in thread publisher); set TABLECTL_DEBUG=1 for details"
    assert result.stderr == f"tablectl: {told}\n"


def on_a_terminal(args: list[str], env: dict[str, str]) -> str:
    """What a command shows on a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*TABLECTL, *args], stdout=theirs, stderr=theirs, env={**os.environ, **env}) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # Linux says EIO where the other side has closed
                break
            if not chunk:
                break
            shown += chunk
        assert process.wait(timeout=30) == 0
    os.close(ours)
    return shown.decode()


def test_no_color() -> None:
    terminal = {"TERM": "xterm-256color", "COLUMNS": "160"}
    yellow = "\x1b[33m"
    assert yellow in on_a_terminal(["house", "show", "fr"], terminal)
    assert yellow not in on_a_terminal(["house", "show", "fr"], {**terminal, "NO_COLOR": "1"})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, tablectl: Command) -> None:
    result = tablectl("completion", shell)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"_TABLECTL_COMPLETE={shell}_complete" in result.stdout


def test_bash_completes_verbs_and_what_is_under_them(tablectl: Command) -> None:
    def completed(words: str, at: int) -> list[str]:
        env = {"_TABLECTL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        return [line.partition(",")[2] for line in tablectl(env=env).stdout.splitlines()]

    assert completed("tablectl ho", 1) == ["house"]
    assert completed("tablectl ", 1) == list(main.VERBS)
    assert completed("tablectl house ", 2) == ["check", "list", "show"]
    assert completed("tablectl --ver", 1) == ["--version"]
