"""Who has a device open: real processes and a real pseudo-terminal."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablectl.shoe.holders import Holder, holders

READER = "import os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); print(flush=True); sys.stdin.read()"


@pytest.fixture
def terminal() -> Iterator[str]:
    ours, theirs = os.openpty()
    name = os.ttyname(theirs)
    os.close(theirs)
    yield name
    os.close(ours)


def test_nobody(terminal: str, tmp_path: Path) -> None:
    assert holders(terminal) == []
    assert holders(tmp_path / "gone") == []


def test_each_process_once_under_any_name(terminal: str, tmp_path: Path) -> None:
    link = tmp_path / "shoe"
    link.symlink_to(terminal)
    mine = [os.open(terminal, os.O_RDWR | os.O_NOCTTY) for _ in range(2)]
    with subprocess.Popen([sys.executable, "-c", READER, terminal], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        found = holders(link)
        assert found == holders(terminal)
        assert [holder.pid for holder in found] == [other.pid], "we are the device at its other side, and no holder"
        assert found[0].command == Path(f"/proc/{other.pid}/comm").read_text().strip()
        other.send_signal(signal.SIGKILL)
    for fd in mine:
        os.close(fd)
    assert holders(link) == []


def test_another_terminal_is_another_device(terminal: str) -> None:
    ours, theirs = os.openpty()
    name = os.ttyname(theirs)
    with subprocess.Popen([sys.executable, "-c", READER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert [holder.pid for holder in holders(name)] == [other.pid]
        assert holders(terminal) == []
    os.close(ours)
    os.close(theirs)


def test_a_device_of_the_system_is_known_by_its_number(tmp_path: Path) -> None:
    with open("/dev/null", "rb"):
        assert os.getpid() in {holder.pid for holder in holders("/dev/null")}


def test_it_reads_as_a_person_would_say_it() -> None:
    assert str(Holder(4711, "minicom")) == "minicom (pid 4711)"
