"""What README.md and CONTRIBUTING.md promise is there: files, targets, commands and their options."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tablectl.cli.main import VERBS, cli

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {name: (ROOT / name).read_text("utf-8") for name in ("README.md", "CONTRIBUTING.md")}
LINES = sorted({line for text in TEXTS.values() for line in re.findall(r"`(tablectl (?!\.)[a-z][^`]*)`", text)})


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_has_words_and_options_that_exist(line: str) -> None:
    _, *words = [word for word in shlex.split(line) if word != "…"]
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words.pop(0))
        assert found is not None, line
        command = found
    options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    assert {word for word in words if word.startswith("-") and word != "-"} <= options


EXAMPLES = dict(re.findall(r"^\| `([a-z]+)` \|.*\| `(tablectl .*)` \|$", TEXTS["README.md"], re.MULTILINE))


def test_every_verb_is_in_the_table() -> None:
    assert list(EXAMPLES) == list(VERBS)


@pytest.mark.parametrize("verb", list(VERBS))
def test_its_example_works_as_it_stands(verb: str) -> None:
    line = [sys.executable, "-m", *shlex.split(EXAMPLES[verb])]
    result = subprocess.run(line, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_the_spanish_session_ends_with_a_critical_alert() -> None:
    block = re.search(r"^    (tablectl replay .*) \\\n +(.*)$", TEXTS["README.md"], re.MULTILINE)
    assert block is not None
    line = [sys.executable, "-m", *shlex.split(" ".join(block.groups()))]
    result = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 3, result.stderr
    assert [word for word in result.stdout.splitlines() if '"severity":"critical"' in word and "dealer.drew_on_17" in word]


def test_every_target_and_file_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name, text in TEXTS.items():
        assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets, name
        for path in re.findall(r"`((?:tablectl|firmware_profiles|calibration|systemd|tests|docs)/[\w./-]*)`", text):
            assert (ROOT / path).exists(), f"{name}: {path}"


def test_every_page_is_named_in_the_readme() -> None:
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").iterdir() if path.is_file()}
    assert pages - set(re.findall(r"`(docs/[\w./-]+)`", TEXTS["README.md"])) == set()


def test_the_round_in_the_readme_says_what_it_says(tablectl: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    block = re.search(
        r"^    \$ tablectl (play .*) <<\.\n((?:    .*\n)+?)    \.\n((?:    .*\n)+)", TEXTS["README.md"], re.MULTILINE
    )
    assert block is not None
    words, observations, shown = block.groups()
    result = tablectl(*words.split(), stdin=re.sub("^ +", "", observations, flags=re.MULTILINE))
    assert (result.returncode, result.stderr) == (0, "")
    expected = [line.strip() for line in shown.splitlines() if line.strip() != "…"]
    assert len(expected) > 3
    for line, said in zip(expected, result.stdout.splitlines(), strict=False):
        assert re.fullmatch(".*".join(re.escape(part.strip()) for part in line.split("…")), said), said
