"""The service of the screens, held by systemd's own tools."""

import re
import shlex
from pathlib import Path

from tablectl.cli.display import display
from tests.systemd.test_units import BAR, HERE, ask, machine

__all__ = ["machine"]

UNIT = (HERE / "tablectl-display.service").read_text()


def ask_of(root: Path, unit: str, *words: str) -> tuple[int, str]:
    (root / "etc/systemd/system/tablectl-display.service").write_text(unit)
    result = ask("systemd-analyze", *words, f"--root={root}", "tablectl-display.service")
    return result.returncode, result.stdout + result.stderr if result.returncode else result.stderr


def test_systemd_finds_nothing_wrong(machine: Path) -> None:
    result = ask_of(machine, UNIT, "verify", "--man=no", "--recursive-errors=yes")
    assert result == (0, "")


def test_and_would_find_what_is_wrong(machine: Path) -> None:
    code, said = ask_of(machine, UNIT.replace("KillSignal=", "KillSignall="), "verify", "--man=no", "--recursive-errors=yes")
    assert "Unknown key" in said
    assert code != 0


def test_it_is_shut_in_more_than_a_table(machine: Path) -> None:
    code, said = ask_of(machine, UNIT, "security", "--offline=yes", f"--threshold={BAR}", "--no-pager")
    assert code == 0, said
    assert re.search(r"^PrivateDevices=yes$", UNIT, re.MULTILINE)


def test_its_example_has_options_that_there_are() -> None:
    example = re.search(r"^#   OPTIONS=(.*)$", UNIT, re.MULTILINE)
    assert example
    known = {option for parameter in display.params for option in parameter.opts}
    assert {word for word in shlex.split(example[1]) if word.startswith("--")} <= known


def test_its_user_is_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    made = ask("systemd-sysusers", f"--root={tmp_path}", HERE / "sysusers.d" / "tablectl-display.conf")
    assert made.returncode == 0, made.stderr
    assert re.search(r"^tablectl-display:", (tmp_path / "etc/passwd").read_text(), re.MULTILINE)
