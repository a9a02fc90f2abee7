"""`tablectl profile`: what it lists, how it explains, what it finds wrong."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tablectl.shoe.profile import load, names

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_list(tablectl: Command) -> None:
    result = tablectl("profile", "list")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[:4] for line in result.stdout.splitlines()] == [
        ["angel-eye-ii", "shoe", "4800", "8N1"],
        ["barcode-scanner", "shoe", "9600", "8N1"],
        ["bee-tek", "shoe", "9600", "8N1"],
        ["dealer-pad", "pad", "9600", "8N1"],
    ]


def test_list_as_json(tablectl: Command) -> None:
    profiles = json.loads(tablectl("profile", "list", "--json").stdout)
    assert [(profile["name"], profile["sha256"]) for profile in profiles] == [(name, load(name).digest) for name in names()]


@pytest.mark.parametrize("name", names())
def test_show_has_link_framing_messages_and_what_is_assumed(name: str, tablectl: Command) -> None:
    file = load(name)
    text = tablectl("profile", "show", name).stdout
    assert f"link      {file.profile.link.baud} 8N1" in text
    for frame in file.profile.frames:
        assert f"frame     {frame.name}: {frame.__struct_config__.tag}" in text
    for message in file.profile.messages:
        assert f"message   {message.name}: {message.frame} " in text
        assert message.observation is None or f"  gives     {message.observation['event']}" in text
    for command in file.profile.commands:
        assert f"command   {command.name}: " in text
    assert text.count("[assumed]") == len(file.assumed)
    assert text.splitlines()[-1] == f"{file.path} sha256 {file.digest}"
    assert "ChecksumXor8" in text or not any(getattr(frame, "checksum", None) for frame in file.profile.frames)
    shown = json.loads(tablectl("profile", "show", name, "--json").stdout)
    assert shown["assumed"] == sorted(file.assumed)
    assert [message["name"] for message in shown["profile"]["messages"]] == [message.name for message in file.profile.messages]


def test_check_all(tablectl: Command) -> None:
    result = tablectl("profile", "check")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [["ok", f"{name}:"] for name in names()]


def copied(to: Path, vectors: str) -> Path:
    (to / "ours.toml").write_text(load("dealer-pad").path.read_text())
    (to / "ours.vectors.toml").write_text(vectors)
    return to / "ours.toml"


FAILS = '[[vector]]\nname = "closed too early"\ntext = "N\\n"\nexpect = [{ event = "cut_card" }]\n'


def test_check_says_which_vector_failed(tmp_path: Path, tablectl: Command) -> None:
    path = copied(tmp_path, FAILS)
    result = tablectl("profile", "check", "bee-tek", path)
    assert result.returncode == 4
    assert result.stdout.startswith("ok bee-tek: ")
    assert result.stderr == (
        f"tablectl: {tmp_path}/ours.vectors.toml:1: closed too early: whole: "
        'observation 1 is {"event":"no_more_bets"}, expected {"event":"cut_card"}\n'
    )


def test_check_as_json(tmp_path: Path, tablectl: Command) -> None:
    path = copied(tmp_path, FAILS)
    result = tablectl("profile", "check", path, "bee-tek", "nothing", "--json")
    assert result.returncode == 4
    ours, shipped, nothing = json.loads(result.stdout)
    assert (ours["ok"], shipped["ok"], nothing["ok"]) == (False, True, False)
    assert [(failure["line"], failure["vector"], failure["how"]) for failure in ours["failures"]] == [
        (1, "closed too early", "whole")
    ]
    assert nothing["error"].startswith("nothing: no such profile")


def test_check_names_messages_without_a_vector(tmp_path: Path, tablectl: Command) -> None:
    path = copied(tmp_path, FAILS.replace("cut_card", "no_more_bets"))
    result = tablectl("profile", "check", path)
    assert result.returncode == 0
    assert "1 vectors, none for stake, decision, " in result.stdout


def test_an_error_in_line_12(tmp_path: Path, tablectl: Command) -> None:
    path = copied(tmp_path, "vector = []")
    text = path.read_text().splitlines()
    at = next(number for number, line in enumerate(text) if line.startswith("parity"))
    lines = ["# a comment"] * (11 - at) + text
    lines[11] = 'parity = "odds"'
    path.write_text("\n".join(lines))
    for args in (("check", path), ("show", path)):
        result = tablectl("profile", *args)
        assert result.returncode == 4
        assert result.stderr.startswith(f"tablectl: {path}:12: link.parity: ")
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("verb", ["list", "show", "check"])
def test_help_has_an_example(verb: str, tablectl: Command) -> None:
    assert f"  tablectl profile {verb}" in tablectl("profile", verb, "--help").stdout
