"""Who has a device open: real processes and a real pseudo-terminal."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tablectl.shoe.holders import Holder, holders

READER = "import os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); print(flush=True); sys.stdin.read()"


DEVICE = "import os, sys; ours, theirs = os.openpty(); print(os.ttyname(theirs), flush=True); os.close(theirs); sys.stdin.read()"


@contextmanager
def device() -> Iterator[str]:
    """A pseudo-terminal whose other side is another process."""
    with subprocess.Popen([sys.executable, "-c", DEVICE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def terminal() -> Iterator[str]:
    with device() as name:
        yield name


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
        assert [holder.pid for holder in found] == sorted([os.getpid(), other.pid])
        theirs = next(holder for holder in found if holder.pid == other.pid)
        assert theirs.command == Path(f"/proc/{other.pid}/comm").read_text().strip()
        other.send_signal(signal.SIGKILL)
    assert [holder.pid for holder in holders(link)] == [os.getpid()]
    for fd in mine:
        os.close(fd)
    assert holders(link) == []


def test_who_plays_the_device_is_no_holder_of_it() -> None:
    """A program may keep its terminal's near side open too, lest it hang up between two readers."""
    ours, theirs = os.openpty()
    name = os.ttyname(theirs)
    assert holders(name) == []
    with subprocess.Popen([sys.executable, "-c", READER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert [holder.pid for holder in holders(name)] == [other.pid]
        other.send_signal(signal.SIGKILL)
    os.close(ours)
    os.close(theirs)


def test_another_terminal_is_another_device(terminal: str) -> None:
    with device() as other:
        mine = os.open(other, os.O_RDWR | os.O_NOCTTY)
        assert [holder.pid for holder in holders(other)] == [os.getpid()]
        assert holders(terminal) == []
        os.close(mine)


def test_a_device_of_the_system_is_known_by_its_number() -> None:
    with open("/dev/null", "rb"):
        assert os.getpid() in {holder.pid for holder in holders("/dev/null")}


def test_it_reads_as_a_person_would_say_it() -> None:
    assert str(Holder(4711, "minicom")) == "minicom (pid 4711)"
