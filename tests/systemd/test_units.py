"""The service, the user, the folders and the ports' names, held by systemd's own tools in a folder for a machine."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tablectl.errors import ConfigError, UsageError

HERE = Path(__file__).resolve().parent.parent.parent / "systemd"
UNIT = (HERE / "tablectl@.service").read_text()
RULES = sorted((HERE / "udev").glob("*.rules"))
README = (HERE / "README.md").read_text()
BAR = 17
"""Ten times the exposure that `systemd-analyze security` may find."""


def ask(*line: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, line)], capture_output=True, text=True, timeout=60, check=False)


def of(key: str) -> list[str]:
    """What the unit says for a key, one value a line."""
    return re.findall(rf"^{key}=(.*)$", UNIT, re.MULTILINE)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with systemd's own units, and what the service calls."""
    root = tmp_path_factory.mktemp("machine")
    own = next(place for place in (Path("/usr/lib/systemd/system"), Path("/lib/systemd/system")) if place.is_dir())
    shutil.copytree(own, root / "usr/lib/systemd/system", symlinks=True, ignore_dangling_symlinks=True)
    for program in ("usr/bin/tablectl", "bin/kill"):
        path = root / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    (root / "etc/systemd/system").mkdir(parents=True)
    return root


def analyse(machine: Path, unit: str, *words: object) -> subprocess.CompletedProcess[str]:
    (machine / "etc/systemd/system/tablectl@.service").write_text(unit)
    return ask("systemd-analyze", *words, f"--root={machine}", "tablectl@bj07.service")


def test_systemd_finds_nothing_wrong(machine: Path) -> None:
    result = analyse(machine, UNIT, "verify", "--man=no", "--recursive-errors=yes")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [("KillSignal=", "KillSignall=", "Unknown key"), ("/usr/bin/tablectl run", "/usr/bin/tablectll run", "not executable")],
)
def test_and_would_find_what_is_wrong(right: str, wrong: str, said: str, machine: Path) -> None:
    result = analyse(machine, UNIT.replace(right, wrong), "verify", "--man=no", "--recursive-errors=yes")
    assert result.returncode == 1
    assert said in result.stderr


def test_the_exposure_is_small_and_would_be_seen_to_grow(machine: Path) -> None:
    security = ("security", "--offline=true", "--no-pager", f"--threshold={BAR}")
    result = analyse(machine, UNIT, *security)
    assert result.returncode == 0, result.stdout[-200:]
    print(result.stdout.splitlines()[-1])  # the figure
    opened = analyse(machine, UNIT.replace("CapabilityBoundingSet=\n", ""), *security)
    assert opened.returncode != 0


def test_serial_ports_are_reachable_and_no_other_device() -> None:
    assert of("DevicePolicy") == ["closed"]
    assert of("PrivateDevices") == ["no"]
    allowed = of("DeviceAllow")
    assert {"char-ttyUSB rw", "char-ttyACM rw"} <= set(allowed)
    assert all(re.fullmatch(r"(char-tty(USB|ACM)|/dev/ttyS[0-3]) rw", device) for device in allowed)
    drivers = (HERE / "modules-load.d/tablectl.conf").read_text().splitlines()
    assert {"usbserial", "cdc_acm"} <= set(drivers)  # else their names mean nothing when the service starts


def test_what_starting_again_would_not_mend_is_left_to_a_person() -> None:
    assert of("RestartPreventExitStatus") == [" ".join(str(error.exit_code) for error in (UsageError, ConfigError))]
    assert of("Restart") == ["on-failure"]


def test_the_client_of_the_broker_may_bind() -> None:
    """Paho binds a socket before it connects, so that nothing may forbid it."""
    assert "SocketBindDeny" not in UNIT


def test_every_secret_is_explained_and_may_be_missing() -> None:
    loaded = [value.partition(":") for value in of("LoadCredential")]
    assert [name for name, _, _ in loaded] == [value.partition(":")[0] for value in of("SetCredential")]
    for name, _, path in loaded:
        assert path == f"/etc/tablectl/%i/{name}"
        assert f"credential:{name}" in README


def test_every_file_is_installed_by_the_readme_and_every_line_explained() -> None:
    installation = README.partition("## Installing")[2].partition("## Secrets")[0]
    for path in HERE.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert f"systemd/{path.relative_to(HERE)}" in installation
    for key in set(re.findall(r"^([A-Z]\w+)=", UNIT.partition("# No privilege")[0], re.MULTILINE)):
        if key not in {"Description", "Documentation", "ExecStart"} and not key.endswith("DirectoryMode"):
            assert f"`{key}" in README or key.startswith("StartLimit"), key


def test_the_user_is_made(tmp_path: Path) -> None:
    result = ask("systemd-sysusers", "--dry-run", f"--root={tmp_path}", HERE / "sysusers.d/tablectl.conf")
    assert result.returncode == 0
    assert re.search(r"Creating user 'tablectl' \(Blackjack tables\) with UID \d+ and GID \d+\.", result.stderr)
    assert of("User") == of("Group") == ["tablectl"]


def test_the_folders_are_made_and_closed(tmp_path: Path) -> None:
    text = (HERE / "tmpfiles.d/tablectl.conf").read_text()
    assert re.findall(r"^d (\S+) (\d+) (\w+) (\w+)$", text, re.MULTILINE) == [
        ("/etc/tablectl", "0750", "root", "tablectl"),
        ("/var/lib/tablectl", "0750", "tablectl", "tablectl"),
    ]
    ours = tmp_path / "tablectl.conf"  # an ordinary user cannot give folders away
    ours.write_text(re.sub(r" (\w+) tablectl$", f" {os.geteuid()} {os.getegid()}", text, flags=re.MULTILINE))
    root = tmp_path / "machine"
    root.mkdir()
    result = ask("systemd-tmpfiles", "--create", f"--root={root}", ours)
    assert (result.returncode, result.stderr) == (0, "")
    for folder in ("etc/tablectl", "var/lib/tablectl"):
        assert stat.S_IMODE((root / folder).stat().st_mode) == 0o750


KEY = (
    r"(?:ACTION|SUBSYSTEM|KERNEL|DRIVER|TEST|MODE|GROUP|SYMLINK|TAG|LABEL|GOTO|ATTR\{[\w/]+\}|ENV\{\w+\})"
    r'(?:==|!=|\+=|=)"(?:[^"]*)"'
)


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_the_rules_of_the_ports_are_rules(path: Path) -> None:
    text = path.read_text()
    rules = [line for line in text.splitlines() if line and not line.startswith("# ") and line != "#"]
    assert rules
    for rule in rules:
        assert re.fullmatch(rf"#?{KEY}(?:, {KEY})*", rule), rule
    assert set(re.findall('GOTO="(.*?)"', text)) == set(re.findall('LABEL="(.*?)"', text))
    if shutil.which("udevadm") and "verify" in ask("udevadm", "--help").stdout:  # udev 254 and newer
        result = ask("udevadm", "verify", "--resolve-names=never", path)
        assert result.returncode == 0, result.stdout + result.stderr


def test_a_port_that_the_site_has_named_is_the_tables_own() -> None:
    names, ours = (path.read_text() for path in RULES)
    assert re.search(r'^#ENV\{ID_SERIAL_SHORT\}=="\w+", ENV\{TABLECTL_PORT\}="[\w-]+"$', names, re.MULTILINE)
    (port,) = [line for line in ours.splitlines() if 'ENV{TABLECTL_PORT}=="?*"' in line]
    for word in ('SYMLINK+="tablectl/$env{TABLECTL_PORT}"', 'GROUP="tablectl"', 'MODE="0660"', 'TAG+="systemd"'):
        assert word in port
    assert 'ATTR{power/control}="on"' in ours
