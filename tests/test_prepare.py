"""`scripts/prepare.sh`, which `make demo` and `make test` begin with, on machines that lack something."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ["sh", "cat", "cp", "dirname", "env", "grep", "mkdir", "mktemp", "rm", "sha256sum", "tail", "true"]
YES = "exit 0"
NO = "exit 1"
MAKES_VENV = 'case "$*" in "-m venv "*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;; esac'


class Machine:
    """A checkout, and a path on which there is nothing but the plainest tools and what a test puts there."""

    def __init__(self, folder: Path):
        self.checkout = folder / "checkout"
        (self.checkout / "scripts").mkdir(parents=True)
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.calls = folder / "calls"
        self.calls.touch()
        script = (ROOT / "scripts/prepare.sh").read_text()
        for stands, here in [
            ('PATH="$PATH:/usr/sbin:/sbin"', 'PATH="$PATH"'),
            ("systemd=/run/systemd/system", f"systemd={folder}/systemd"),
        ]:
            assert stands in script
            script = script.replace(stands, here)
        (self.checkout / "scripts/prepare.sh").write_text(script)
        shutil.copy(ROOT / "pyproject.toml", self.checkout)
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None, tool
            (self.bin / tool).symlink_to(found)
        self.has("id", "echo 1000")
        self.has("python3", YES)
        self.has("ldconfig", "echo '	libzbar.so.0 (libc6,x86-64) => /lib/libzbar.so.0'")
        self.has("mosquitto", YES)
        self.has("systemd-analyze", YES)

    def has(self, name: str, body: str) -> None:
        """Put a command there that notes how it was called."""
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "RUNLEVEL=${{RUNLEVEL:-}} {name} $*" >>{self.calls}\n{body}\n')
        path.chmod(0o755)

    def lacks(self, name: str) -> None:
        (self.bin / name).unlink()

    def prepare(self, *words: str) -> subprocess.CompletedProcess[str]:
        line = ["sh", "scripts/prepare.sh", *words]
        return subprocess.run(
            line, cwd=self.checkout, env={"PATH": str(self.bin)}, capture_output=True, text=True, timeout=60, check=False
        )

    def called(self, name: str) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if line.split()[1] == name]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_who_may_not_install_is_told_in_one_sentence(machine: Machine) -> None:
    machine.has("ldconfig", YES)
    machine.lacks("mosquitto")
    machine.has("apt-get", YES)
    machine.has("sudo", NO)
    result = machine.prepare()
    assert result.returncode == 1
    assert result.stderr == (
        "tablectl: this needs Debian packages that you must install first: sudo apt-get install libzbar0 mosquitto\n"
    )
    assert machine.called("apt-get") == []
    assert not (machine.checkout / ".venv").exists()


def test_no_sudo_at_all_is_the_same(machine: Machine) -> None:
    machine.has("ldconfig", YES)
    machine.has("apt-get", YES)
    result = machine.prepare()
    assert result.returncode == 1
    assert result.stderr.endswith(" must install first: sudo apt-get install libzbar0\n")


def test_a_machine_that_is_no_debian(machine: Machine) -> None:
    machine.lacks("mosquitto")
    result = machine.prepare()
    assert result.returncode == 1
    assert result.stderr == "tablectl: this needs packages that you must install first (by their Debian names): mosquitto\n"


def test_the_tools_that_hold_the_units_come_with_systemd(machine: Machine) -> None:
    machine.lacks("systemd-analyze")
    assert machine.prepare().stderr == (
        "tablectl: this needs packages that you must install first (by their Debian names): systemd\n"
    )


def test_only_who_tests_the_pages_needs_a_browser(machine: Machine) -> None:
    machine.has("python3", MAKES_VENV)
    assert machine.prepare().returncode == 0
    assert machine.prepare("browser").stderr == (
        "tablectl: this needs packages that you must install first (by their Debian names): chromium fonts-dejavu-core\n"
    )
    machine.has("chromium", YES)
    assert machine.prepare("browser").returncode == 0


def test_a_python_without_venv(machine: Machine) -> None:
    machine.has("python3", 'case "$*" in *ensurepip*) exit 1 ;; esac')
    machine.has("apt-get", YES)
    assert machine.prepare().stderr.endswith(" must install first: sudo apt-get install python3-venv\n")


def test_a_python_that_is_too_old(machine: Machine) -> None:
    machine.has("python3", 'case "$1" in -V) echo Python 3.9.2 ;; *) exit 1 ;; esac')
    result = machine.prepare()
    assert result.returncode == 1
    assert result.stderr == "tablectl: install Python 3.11 or newer first; Python 3.9.2 is too old\n"


def test_no_python_at_all(machine: Machine) -> None:
    machine.lacks("python3")
    machine.has("apt-get", YES)
    assert machine.prepare().stderr.endswith(" must install first: sudo apt-get install python3 python3-venv\n")


@pytest.mark.parametrize("user", ["root", "sudo"])
def test_who_may_install_does_and_a_failure_says_what_is_left_to_do(user: str, machine: Machine) -> None:
    machine.lacks("mosquitto")
    machine.has("id", "echo 0" if user == "root" else "echo 1000")
    machine.has("sudo", 'shift; exec "$@"' if user == "sudo" else NO)
    machine.has("apt-get", 'case "$1" in install) echo no route to the mirror; exit 100 ;; esac')
    result = machine.prepare()
    assert result.returncode == 1
    update, install = machine.called("apt-get")
    assert update == "RUNLEVEL= apt-get update"
    assert install == "RUNLEVEL=1 apt-get install -y --no-install-recommends mosquitto"  # 1: no service is started
    first, log, last = result.stderr.splitlines()
    assert first == "tablectl: installing the Debian packages mosquitto"
    assert log == "no route to the mirror"
    assert last.endswith("once apt-get works again, install them: apt-get install mosquitto")


@pytest.mark.parametrize("init", ["systemd", "sysv"])
def test_no_broker_is_started_neither_now_nor_at_the_next_boot(init: str, machine: Machine) -> None:
    machine.lacks("mosquitto")
    machine.has("id", "echo 0")
    machine.has("python3", MAKES_VENV)
    for name in ("apt-get", "systemctl", "update-rc.d"):
        machine.has(name, YES)
    if init == "systemd":
        (machine.checkout.parent / "systemd").mkdir()
    assert machine.prepare().returncode == 0
    calls = [line.split(" ", 1)[1] for line in machine.calls.read_text().splitlines()]
    install = calls.index("apt-get install -y --no-install-recommends mosquitto")
    assert calls.index("update-rc.d mosquitto disable") > install
    if init == "systemd":
        assert calls.index("systemctl mask mosquitto.service") < install
        assert install < calls.index("systemctl unmask mosquitto.service") < calls.index("systemctl disable mosquitto.service")
    else:
        assert "RUNLEVEL=1 apt-get" in machine.calls.read_text()
        assert machine.called("systemctl") == []


def test_what_is_there_is_left_alone_until_the_project_asks_for_something_else(machine: Machine) -> None:
    machine.has("python3", MAKES_VENV)
    first = machine.prepare()
    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr.splitlines() == ["tablectl: creating the environment .venv", "tablectl: installing the Python packages"]
    installs = [line for line in machine.called("python3") if "-m pip" in line]
    assert installs[-1].endswith("-q install -e . --group dev")

    second = machine.prepare()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert [line for line in machine.called("python3") if "-m pip" in line] == installs

    with (machine.checkout / "pyproject.toml").open("a") as project:
        project.write("# another dependency\n")
    third = machine.prepare()
    assert (third.returncode, third.stderr) == (0, "tablectl: installing the Python packages\n")


def test_packages_that_cannot_be_had_stop_it_and_the_next_run_tries_again(machine: Machine) -> None:
    machine.has("python3", f'case "$*" in *install*) echo no route to the index >&2; exit 1 ;; esac\n{MAKES_VENV}')
    for _ in range(2):
        result = machine.prepare()
        assert result.returncode == 1
        *_, log, last = result.stderr.splitlines()
        assert (log, last) == ("no route to the index", "tablectl: the Python packages could not be installed; see above")
