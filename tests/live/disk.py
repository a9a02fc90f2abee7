"""A disk that fails under the live table, in every way and to every end: `python -m tests.live.disk` prints what was found.

A real small file system that is full; one that is read-only; writes of which half is taken, with and without the rest being taken
back; fsync that fails; a limit to the size of files. Each meets a table at play, and ends in one of three ways: there is room
again, the table is killed, the table is stopped.

While it fails the broker's retained `status` must say so, the retained `prompt` follow the game, the log tell it. Afterwards all
that happened is in the ledger once, in order; it verifies, and is made again from its recordings.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from tablectl.emulator.wrong import Account
from tablectl.errors import LedgerError
from tablectl.observations import CardDrawn, Link, Observation, decode
from tests.live.running import Stage, Subscriber, assert_told, assert_whole, cards, entries, ledgers, staged, until

__all__ = ["DISKS", "ENDS", "Disk", "End", "Found", "Limited", "able", "prove"]

SOURCE = Path(__file__).with_name("failing.c")
SMALL = 4 << 20
"""Bytes of the small file system."""
LIMIT = 4096
"""Bytes that a file may have, where that is what fails."""

End = Literal["room again", "killed", "stopped"]
ENDS: Final[tuple[End, ...]] = ("room again", "killed", "stopped")


class Disk:
    """What can be made to fail. `environment` is what the daemon needs for it; `folder` is the table's."""

    environment: Mapping[str, str] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "store"

    def __enter__(self) -> Disk:
        self.store.mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing stays behind."""

    def fail(self, pid: int) -> None:
        """From now on it fails, for this process."""
        raise NotImplementedError

    def mend(self, pid: int | None) -> None:
        """All is well again."""
        raise NotImplementedError


class Limited(Disk):
    """No file of the daemon's may grow beyond a size: needs no rights and no compiler."""

    def fail(self, pid: int) -> None:
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (LIMIT, hard))

    def mend(self, pid: int | None) -> None:
        if pid is not None:
            _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


class Full(Disk):
    """A small file system in memory, which is filled to its last block. Needs the right to mount."""

    def __enter__(self) -> Disk:
        super().__enter__()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "small", str(self.store)], check=True)
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.store)], check=True)

    def fail(self, pid: int) -> None:
        with suppress(OSError), (self.store / "ballast").open("ab", buffering=0) as ballast:
            while True:
                ballast.write(b"\0" * 4096)

    def mend(self, pid: int | None) -> None:
        (self.store / "ballast").unlink()


class Shimmed(Disk):
    """The C library's calls fail for the table's folder: `how` is one of `failing.c`. Needs a C compiler."""

    how = b"-"

    def __enter__(self) -> Disk:
        super().__enter__()
        library, self._said = self.folder / "failing.so", self.folder / "how"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
        self._said.write_bytes(b"-")
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAILING_FOLDER": str(self.store),
            "FAILING_HOW": str(self._said),
        }
        return self

    def _say(self, how: bytes) -> None:
        with self._said.open("r+b") as file:
            file.write(how)

    def fail(self, pid: int) -> None:
        self._say(self.how)

    def mend(self, pid: int | None) -> None:
        self._say(b"-")


class Halved(Shimmed):
    how = b"f"


class Torn(Shimmed):
    how = b"t"


class ReadOnly(Shimmed):
    how = b"r"


class Unsynced(Shimmed):
    how = b"s"


DISKS: Final[dict[str, type[Disk]]] = {
    "full": Full,
    "half written": Halved,
    "torn": Torn,
    "read-only": ReadOnly,
    "fsync fails": Unsynced,
    "file size": Limited,
}


class Found(NamedTuple):
    """Figures of one run; seconds where nothing else is said."""

    told: float
    """Until the retained status said that the record is down."""
    prompted: int
    """Prompts that came while it failed."""
    back: float
    """Until the retained status said that it is up again; 0 where it was not to be."""
    code: int
    entries: int
    lost: int
    """Cards that were dealt while nothing could be recorded, and are in no ledger since the table was killed or stopped."""


class Dealt(Account):
    """Keeps the cards as they are sent."""

    def __init__(self) -> None:
        super().__init__()
        self.cards: list[str] = []

    def sent(self, port: str, observation: Observation, *, whole: bool) -> None:
        super().sent(port, observation, whole=whole)
        if isinstance(observation, CardDrawn):
            self.cards.append(str(observation.card))


def prove(folder: Path, kind: type[Disk], end: End, *, seed: int = 1, rounds: int = 2, cards_meanwhile: int = 25) -> Found:
    """One disk, one end. Raises `AssertionError` for what is not as it must be."""
    dealt = Dealt()
    with ExitStack() as stack:
        disk = stack.enter_context(kind(folder))
        stage = stack.enter_context(staged(folder, environment=disk.environment, account=dealt, seed=seed, gap=0.06))
        table, program, subscriber = stage.emulated, stage.program, stage.subscriber
        table.run(rounds)
        until(lambda: len(cards(stage.file)) == len(dealt.cards), 10, "the first cards")
        _settled(subscriber)
        sound = len(dealt.cards)

        disk.fail(program.pid)
        prompts, began = _prompts(subscriber), time.monotonic()
        while len(dealt.cards) < sound + 2 or not _record_is(subscriber, "down"):
            table.step()
            assert time.monotonic() - began < 20, f"the status does not say that the disk fails: {program.log()}"
        told = time.monotonic() - began
        while len(dealt.cards) < sound + cards_meanwhile:
            table.step()
        prompt = _settled(subscriber)
        prompted = _prompts(subscriber) - prompts
        assert prompted >= cards_meanwhile // 4, "the prompts do not follow the game"
        assert program.code is None, program.log()
        assert "the record cannot be written" in program.log()

        back, code = 0.0, 0
        if end == "room again":
            disk.mend(program.pid)
            began = time.monotonic()
            until(lambda: _record_is(subscriber, "up"), 20, "the status that the disk is well again")
            back = time.monotonic() - began
            assert _prompt_before_the_end_of_trouble(stage) == prompt, "the last prompt is not that of the ledger"
        elif end == "killed":
            program.kill()
            disk.mend(None)
        else:
            code = program.stop()
            assert code == LedgerError.exit_code, f"it ended with {code}: {program.log()}"
            assert "not all could be written" in program.log() or "cannot be" in program.log(), program.log()
            disk.mend(None)
        if end != "room again":
            program.start()
            program.ready()
            assert table.opened(10)
            stay = cards(stage.file)
        else:
            stay = list(dealt.cards)
        kept = len(dealt.cards)
        assert stay == dealt.cards[: len(stay)], "what is in the ledger is not what was dealt"
        assert len(stay) >= sound
        table.run(rounds)
        until(lambda: len(cards(stage.file)) == len(stay) + len(dealt.cards) - kept, 10, "the last cards")
        assert program.stop() == 0, program.log()
        assert cards(stage.file) == stay + dealt.cards[kept:]
        size = assert_whole(stage.file)
        assert_told(stage.file, subscriber)
    return Found(told, prompted, back, code, size, kept - len(stay))


def _record_is(subscriber: Subscriber, state: str) -> bool:
    latest = subscriber.latest("status")
    if latest is None:
        return False
    devices: Mapping[str, Any] = msgspec.json.decode(latest.data)["devices"]
    return "record" in devices and devices["record"]["state"] == state


def _prompts(subscriber: Subscriber) -> int:
    return sum(message.topic.endswith("/prompt") for message in list(subscriber.messages))


def _settled(subscriber: Subscriber, seconds: float = 0.5) -> bytes:
    """The last prompt, once no other has come for so long."""
    count, since = -1, time.monotonic()
    while time.monotonic() - since < seconds:
        if (now := len(subscriber.messages)) != count:
            count, since = now, time.monotonic()
        time.sleep(0.02)
    latest = subscriber.latest("prompt")
    return b"" if latest is None else bytes(latest.data)


def _prompt_before_the_end_of_trouble(stage: Stage) -> bytes:
    """The last prompt that the ledger has from before the record was up again."""
    prompt = b""
    for entry in entries(ledgers(stage.file)[-1]):
        if entry.kind == "observation":
            seen = decode(entry.body)
            if isinstance(seen, Link) and (seen.device, seen.state, seen.why) == ("record", "up", "written again"):
                break
        elif entry.kind == "notice" and entry.body.startswith(b'{"notice":"prompt"'):
            prompt = entry.body
    return prompt


def refuses_to_start(folder: Path) -> str:
    """On a file system that is read-only a table does not begin: exit code 7, and words that say why. Gives them."""
    with Full(folder) as disk, staged(folder, start=False) as stage:
        stage.program.start()
        stage.program.ready()
        assert stage.program.stop() == 0
        subprocess.run(["mount", "-o", "remount,ro", str(disk.store)], check=True)
        stage.program.start()
        until(lambda: stage.program.code is not None, 20, "the end of a table on a read-only disk")
        assert stage.program.code == LedgerError.exit_code, stage.program.log()
        said = stage.program.log().strip()
        assert "Traceback" not in said, said
        subprocess.run(["mount", "-o", "remount,rw", str(disk.store)], check=True)
        stage.program.start()
        stage.program.ready()
        assert stage.program.stop() == 0
        assert_whole(stage.file)
        return said


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tablectl-disk-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def able(kind: type[Disk]) -> bool:
    """Whether this machine lets us have such a disk."""
    if issubclass(kind, Shimmed):
        return shutil.which("cc") is not None
    return kind is not Full or os.geteuid() == 0


def main(say: Callable[[str], object] = print) -> int:
    """All disks, all ends."""
    failed = 0
    say("disk          end          told s  prompts  back s  code  entries  cards in no record")
    for name, kind in DISKS.items():
        if not able(kind):
            say(f"{name:<13} needs {'cc' if issubclass(kind, Shimmed) else 'the right to mount'}: not tried")
            continue
        for end in ENDS:
            with _folder() as folder:
                try:
                    found = prove(folder, kind, end)
                except AssertionError as error:
                    failed += 1
                    say(f"{name:<13} {end:<11} FAILED: {error}")
                    continue
            say(
                f"{name:<13} {end:<11} {found.told:>7.2f} {found.prompted:>8} {found.back:>7.2f} {found.code:>5} "
                f"{found.entries:>8} {found.lost:>8}"
            )
    if able(Full):
        with _folder() as folder:
            say(f"read-only at the start: exit code 7; {refuses_to_start(folder).splitlines()[-1]}")
    return 1 if failed else 0


def _in_own_mounts() -> None:
    """Begin again where mounts are our own affair, if we may: as root, or in a namespace in which we are it."""
    if os.environ.get("TABLECTL_OWN_MOUNTS") or shutil.which("unshare") is None:
        return
    words = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0:
        os.environ["TABLECTL_OWN_MOUNTS"] = "1"
        os.execvp("unshare", [*words, sys.executable, "-m", "tests.live.disk"])


if __name__ == "__main__":
    _in_own_mounts()
    sys.exit(main())
