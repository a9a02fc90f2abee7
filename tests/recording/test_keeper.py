"""The live table's recording: nothing that was given to it is lost or torn, whatever becomes of the process and the disk."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tablectl.errors import InputError, LedgerError, UsageError
from tablectl.instants import to_micros
from tablectl.recording.chunks import CHUNK_LIMIT, Chunk, pieces
from tablectl.recording.folder import Position, begun_at, find, name_of, of_ledger, recordings
from tablectl.recording.importers import open_log
from tablectl.recording.keeper import Keeper
from tablectl.recording.native import header_lines, line_of
from tablectl.recording.table_lines import LIVE, is_live
from tablectl.recording.upkeep import Upkeep

BEGUN = to_micros("2026-11-30T10:27:15.123456Z")
SECOND = 1_000_000
DAY = 86_400 * SECOND
HEADER = {"table": "BJ 4", "house": "fr", "zone": "Europe/Paris", "profile.shoe": "bee-tek", "ledger": "2026-11-30.db"}
NOISE = random.Random(4)


def chunk(data: bytes = b" [Game]<Card:KH> ", seconds: float = 0, port: str = "shoe") -> Chunk:
    return Chunk(BEGUN + int(seconds * SECOND), port, "<", data)


MakeKeeper = Callable[..., Keeper]


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[MakeKeeper]:
    """Makes keepers of the folder, and closes them."""
    made: list[Keeper] = []

    def make(header: dict[str, str] = HEADER, **changed: object) -> Keeper:
        options: dict[str, object] = {"rotate_bytes": 1 << 20, "rotate_seconds": 3600, "keep_seconds": None, "keep_bytes": None}
        keeper = Keeper(tmp_path, header, **(options | changed))  # type: ignore[arg-type]
        made.append(keeper)
        return keeper

    yield make
    for keeper in made:
        keeper.close()


def until(done: Callable[[], bool]) -> None:
    """Wait for what the thread does."""
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end, "not within 20 s"
        time.sleep(0.01)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Writing


def test_what_was_written_is_read(keeping: MakeKeeper, tmp_path: Path) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    chunks = [chunk(), chunk(NOISE.randbytes(CHUNK_LIMIT), 1, "pad"), chunk(b"\n", 2, "table")]
    for each in chunks:
        keeper.write(each)
    keeper.sync()
    assert names(tmp_path) == ["20261130T102715.123456Z.rec"]
    path = tmp_path / "20261130T102715.123456Z.rec"
    log = open_log(path)
    assert list(log) == chunks
    assert log.header == HEADER | {"profile.table": "table"}
    assert is_live(log.header)
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_file_is_for_its_group_whatever_the_umask(keeping: MakeKeeper, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        keeping().open(BEGUN)
    finally:
        os.umask(before)
    assert next(tmp_path.iterdir()).stat().st_mode & 0o777 == 0o640


def test_the_position_is_where_the_next_chunk_stands(keeping: MakeKeeper, tmp_path: Path) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    positions = []
    for second in range(5):
        positions.append(keeper.position)
        keeper.write(chunk(NOISE.randbytes(40), second))
    log = open_log(tmp_path / keeper.position.file)
    ends = [log.position for _ in log]
    assert ends[:-1] == [position.offset for position in positions[1:]]
    assert keeper.position == Position("20261130T102715.123456Z.rec", ends[-1])


def test_a_burst_is_one_call_to_the_system(keeping: MakeKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a process that is killed has written all of a chunk or none."""
    keeper = keeping()
    keeper.open(BEGUN)
    calls: list[int] = []
    write = os.write

    def counted(file: int, data: bytes) -> int:
        calls.append(len(data))
        return write(file, data)

    monkeypatch.setattr(os, "write", counted)
    keeper.write(chunk(NOISE.randbytes(3 * CHUNK_LIMIT)))
    assert len(calls) == 1


def test_what_the_system_takes_in_parts_is_written_whole(
    keeping: MakeKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:7]))
    keeper.write(chunk())
    assert list(open_log(tmp_path / keeper.position.file)) == [chunk()]
    assert keeper.position.offset == (tmp_path / keeper.position.file).stat().st_size


def test_a_header_that_fits_no_line_is_refused(keeping: MakeKeeper, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        keeping({"table": "one\ntwo"}).open(BEGUN)
    assert names(tmp_path) == []


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "none", HEADER, rotate_bytes=1, rotate_seconds=1, keep_seconds=None, keep_bytes=None)
    with pytest.raises(LedgerError, match=r"none: cannot be begun: No such file") as refused:
        keeper.open(BEGUN)
    assert refused.value.exit_code == 7


# One file after the other


def test_no_file_is_written_over(keeping: MakeKeeper, tmp_path: Path) -> None:
    """Two starts at one moment, and one after the clock was set back: three files, in the order in which they were begun."""
    for number, at in enumerate((BEGUN, BEGUN, BEGUN - 3600 * SECOND)):
        keeper = keeping({**HEADER, "table": f"start {number}"})
        keeper.open(at)
        keeper.write(chunk())
        keeper.close()
    assert [open_log(path).header["table"] for path in recordings(tmp_path)] == ["start 0", "start 1", "start 2"]


def test_a_file_is_due_by_its_size_and_must_end_at_twice_that(keeping: MakeKeeper) -> None:
    keeper = keeping(rotate_bytes=1000)
    keeper.open(BEGUN)
    seen = []
    while not keeper.must:
        keeper.write(chunk())
        seen.append((keeper.position.offset >= 1000, keeper.is_due(BEGUN), keeper.position.offset < 2000))
    assert all(large == due for large, due, _ in seen)
    assert [below for *_, below in seen] == [True] * (len(seen) - 1) + [False]
    keeper.rotate(BEGUN + 1)
    assert not keeper.is_due(BEGUN + 1)
    assert not keeper.must


def test_a_file_is_due_by_its_age_but_not_when_it_is_empty(keeping: MakeKeeper) -> None:
    keeper = keeping(rotate_seconds=60)
    keeper.open(BEGUN)
    assert not keeper.is_due(BEGUN + 61 * SECOND)
    keeper.write(chunk())
    assert not keeper.is_due(BEGUN + 59 * SECOND)
    assert keeper.is_due(BEGUN + 60 * SECOND)
    assert not keeper.must


def test_a_new_file_has_the_header_of_its_own_ledger(keeping: MakeKeeper, tmp_path: Path) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    keeper.write(chunk())
    keeper.header = {**HEADER, "ledger": "2026-12-01.db"}
    keeper.rotate(BEGUN + DAY)
    keeper.write(chunk(seconds=86_400))
    keeper.rotate(BEGUN + DAY + 1)
    (tmp_path / "20261201T000000.000000Z.rec").touch()  # begun, and killed before it had a header
    (tmp_path / "20269999T000000.000000Z.rec").write_text("no recording's name")
    (tmp_path / "notes.txt").touch()
    keeper.close()  # and nothing is packed meanwhile
    first, second, third = (find(tmp_path, name_of(at)) for at in (BEGUN, BEGUN + DAY, BEGUN + DAY + 1))
    assert of_ledger(tmp_path, "2026-11-30.db") == [first]
    assert of_ledger(tmp_path, "2026-12-01.db") == [second, third]
    assert of_ledger(tmp_path, "2026-12-02.db") == []
    with pytest.raises(InputError):
        of_ledger(tmp_path / "none", "2026-11-30.db")


# Packing


def test_closed_files_are_packed_and_read_like_any(keeping: MakeKeeper, tmp_path: Path) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    chunks = [chunk(NOISE.randbytes(50), number) for number in range(2000)]
    for each in chunks:
        keeper.write(each)
    end = keeper.position
    plain = (tmp_path / end.file).read_bytes()
    keeper.rotate(BEGUN + SECOND)
    until(lambda: not (tmp_path / end.file).exists())

    packed = find(tmp_path, end.file)
    assert packed == tmp_path / f"{end.file}.gz"
    assert packed.stat().st_mode & 0o777 == 0o640
    assert packed.stat().st_size < 0.6 * len(plain), "hexadecimal packs to half and less"
    assert gzip.decompress(packed.read_bytes()) == plain
    log = open_log(packed)
    assert (log.format, log.header["ledger"], log.size) == ("native", "2026-11-30.db", len(plain))
    assert list(log) == chunks
    assert (log.warnings, log.damaged, log.position) == ([], 0, end.offset)
    assert names(tmp_path) == sorted([packed.name, keeper.position.file])
    assert of_ledger(tmp_path, "2026-11-30.db") == [packed, tmp_path / keeper.position.file]
    assert keeper.trouble is None


def test_packing_has_the_lowest_priority(keeping: MakeKeeper) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "tablectl-recordings"]
    assert thread.native_id is not None
    until(lambda: os.getpriority(os.PRIO_PROCESS, thread.native_id or 0) == 19)
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) < 19 or os.nice(0) == 19
    keeper.close()
    assert not thread.is_alive()


def test_a_table_that_asks_all_the_time_is_looked_after_now_and_then(keeping: MakeKeeper) -> None:
    looks: list[int] = []

    def counted() -> list[str]:
        looks.append(1)
        return []

    keeper = keeping(protected=counted)
    keeper.open(BEGUN)
    until(lambda: len(looks) == 2)  # before and after it packs
    for second in range(1000):
        keeper.tend(BEGUN + second)
    keeper.rotate(BEGUN + SECOND)
    until(lambda: len(looks) == 4)
    keeper.close()
    assert len(looks) == 4


def filled(folder: Path, *, files: int, size: int = 5000) -> list[str]:
    """Recordings of so many days, one a day."""
    made = []
    for at in range(BEGUN, BEGUN + files * DAY, DAY):
        lines = (line_of(at, "shoe", "<", piece) for piece in pieces(NOISE.randbytes(size)))
        (folder / name_of(at)).write_bytes(header_lines({**HEADER, **LIVE}) + b"".join(lines))
        made.append(name_of(at))
    return made


def test_the_newest_and_the_protected_are_not_removed(tmp_path: Path) -> None:
    """A recording by its name, packed or not; and all those of a ledger."""
    made = filled(tmp_path, files=4)
    Upkeep(tmp_path, keep_seconds=0, keep_bytes=0, protected=lambda: ["2026-11-30.db"]).look(BEGUN + 9 * DAY)
    assert names(tmp_path) == [*(f"{name}.gz" for name in made[:3]), made[3]]
    Upkeep(tmp_path, keep_seconds=0, keep_bytes=0, protected=lambda: ["2026-12-01.db", made[1]]).look(BEGUN + 9 * DAY)
    assert names(tmp_path) == [f"{made[1]}.gz", made[3]]


def test_a_file_without_a_header_is_none_when_another_was_begun(tmp_path: Path) -> None:
    made = filled(tmp_path, files=2)
    (tmp_path / name_of(BEGUN - DAY)).touch()
    Upkeep(tmp_path).look(BEGUN)
    assert names(tmp_path) == [f"{made[0]}.gz", made[1]]
    assert [path.name for path in of_ledger(tmp_path, "2026-11-30.db")] == names(tmp_path)


def test_files_are_removed_by_age(tmp_path: Path) -> None:
    """Counted from their end, which is when the next one was begun."""
    made = filled(tmp_path, files=4)
    upkeep = Upkeep(tmp_path, keep_seconds=86_400)
    upkeep.look(BEGUN + 2 * DAY + SECOND)
    assert names(tmp_path) == [f"{made[1]}.gz", f"{made[2]}.gz", made[3]]


def test_files_are_removed_by_size_the_oldest_first(tmp_path: Path) -> None:
    made = filled(tmp_path, files=5)
    Upkeep(tmp_path).look(BEGUN)
    sizes = {name: (tmp_path / name).stat().st_size for name in names(tmp_path)}
    keep = sizes[made[4]] + sizes[f"{made[3]}.gz"] + sizes[f"{made[2]}.gz"]
    Upkeep(tmp_path, keep_bytes=keep).look(BEGUN)
    assert names(tmp_path) == [f"{made[2]}.gz", f"{made[3]}.gz", made[4]]


def test_what_a_power_failure_left_of_a_packing_is_cleared(tmp_path: Path) -> None:
    """Half a packed file; and an original beside its packed file, which is there once."""
    made = filled(tmp_path, files=3)
    (tmp_path / f"{made[0]}.gz.part").write_bytes(b"half")
    (tmp_path / f"{made[1]}.gz").write_bytes(gzip.compress((tmp_path / made[1]).read_bytes()))
    assert [path.name for path in recordings(tmp_path)] == made
    Upkeep(tmp_path).look(BEGUN)
    assert names(tmp_path) == [f"{made[0]}.gz", f"{made[1]}.gz", made[2]]


def test_a_packing_that_fails_is_told_and_loses_nothing(tmp_path: Path) -> None:
    made = filled(tmp_path, files=2)
    (tmp_path / f"{made[0]}.gz").mkdir()  # in the way
    upkeep = Upkeep(tmp_path)
    upkeep.look(BEGUN)
    troubles = [upkeep.trouble]
    assert names(tmp_path) == [made[0], f"{made[0]}.gz", made[1]]
    (tmp_path / f"{made[0]}.gz").rmdir()
    upkeep.look(BEGUN)
    troubles.append(upkeep.trouble)
    assert "Is a directory" in (troubles[0] or "")
    assert troubles[1] is None
    assert names(tmp_path) == [f"{made[0]}.gz", made[1]]


# Reading what is packed


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    made = filled(tmp_path, files=2, size=200_000)
    Upkeep(tmp_path).look(BEGUN)
    return tmp_path / f"{made[0]}.gz"


def test_a_packed_file_that_was_cut_off_gives_what_came_before(packed: Path) -> None:
    whole = b"".join(chunk.data for chunk in open_log(packed))
    content = packed.read_bytes()
    for kept in (0.1, 0.5, 0.9, 0.9999):
        packed.write_bytes(content[: int(len(content) * kept)])
        log = open_log(packed)
        read = b"".join(chunk.data for chunk in log)
        assert whole.startswith(read)
        assert len(read) > (kept - 0.4) * len(whole)
        assert (log.damaged, log.position <= log.size) == (0, True)
        assert f"{packed}: the packed file ends too early" in log.warnings


def test_a_packed_file_that_is_damaged_is_a_fault(packed: Path) -> None:
    content = bytearray(packed.read_bytes())
    content[-6] ^= 1  # of its checksum
    packed.write_bytes(content)
    log = open_log(packed)
    assert sum(len(chunk.data) for chunk in log) == 200_000
    assert log.damaged == 1
    assert "the packed file is damaged" in log.warnings[-1]


def test_noise_in_a_packed_file_raises_nothing(packed: Path) -> None:
    content = packed.read_bytes()
    for seed in range(40):
        noise = random.Random(seed)
        spoiled = bytearray(content)
        for _ in range(3):
            spoiled[noise.randrange(10, len(spoiled))] = noise.randrange(256)
        packed.write_bytes(spoiled)
        try:
            log = open_log(packed, "native")
            for _ in log:
                pass
        except InputError:
            continue
        assert log.damaged or spoiled == content


# A disk that refuses

FULL = """
import json, resource, sys
from pathlib import Path
from tablectl.errors import LedgerError
from tablectl.recording.chunks import Chunk
from tablectl.recording.keeper import Keeper
folder, how = Path(sys.argv[1]), sys.argv[2]
ballast = folder / "ballast"
if how == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
else:
    ballast.write_bytes(bytes(40_000))
keeper = Keeper(folder, {"house": "fr"}, rotate_bytes=1 << 20, rotate_seconds=60, keep_seconds=None, keep_bytes=None)
keeper.open(1_796_034_435_123_456)
told, written, at = [], 0, 0
def write():
    global written, at
    at += 1
    try:
        keeper.write(Chunk(1_796_034_435_123_456 + at, "shoe", "<", bytes([at % 256]) * 300))
        written += 1
    except LedgerError as error:
        told.append(str(error))
while len(told) < 3:
    write()
path = folder / keeper.position.file
full = path.stat().st_size == keeper.position.offset and path.read_bytes().endswith(b"\\n")
if how == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
else:
    ballast.unlink()
for _ in range(5):
    write()
keeper.close()
from tablectl.recording.importers import open_log
log = open_log(path)
read = [chunk.at for chunk in log]
print(json.dumps({"told": told, "full": full, "written": written, "read": len(read), "distinct": len(set(read)),
    "all": len(read) == written and all(len(chunk.data) == 300 for chunk in log), "warnings": log.warnings}))
"""


def run_full(folder: Path) -> dict[str, object]:
    """Fill a disk of 64 KB, in a mount that only this process sees; where that is not allowed, a limit stands for it."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    mount = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"'
    python = [sys.executable, "-c", FULL, str(folder)]
    ran = subprocess.run(
        ["unshare", *user, "--mount", "sh", "-c", mount, str(folder), *python, "disk"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        return run_limited(folder)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


def run_limited(folder: Path) -> dict[str, object]:
    ran = subprocess.run([sys.executable, "-c", FULL, str(folder), "limit"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


@pytest.mark.parametrize(
    ("run", "words"), [(run_full, ("No space left on device", "File too large")), (run_limited, ("File too large",))]
)
def test_a_full_disk_tears_no_line(run: Callable[[Path], dict[str, object]], words: tuple[str, ...], tmp_path: Path) -> None:
    """What did not fit is taken back and told; when there is room again, the next chunk begins on a line of its own."""
    found = run(tmp_path)
    told = found["told"]
    assert isinstance(told, list)
    assert all(line.startswith(str(tmp_path)) and line.endswith(words) for line in told)
    assert len(told) == 3
    assert found["full"], "a torn line was left in the file"
    assert found["all"]
    assert found["warnings"] == []


def test_what_could_not_be_taken_back_is_taken_back_before_the_next_chunk(
    keeping: MakeKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    keeper.write(chunk())

    def half(file: int, data: bytes, write: Callable[[int, bytes], int] = os.write) -> int:
        if len(data) < 30:
            raise OSError(5, "Input/output error")
        return write(file, data[:25])

    def refused(file: int, size: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "write", half)
        broken.setattr(os, "ftruncate", refused)
        with pytest.raises(LedgerError, match="cannot be written: Input/output error"):
            keeper.write(chunk(seconds=1))
    assert (tmp_path / keeper.position.file).stat().st_size > keeper.position.offset
    keeper.write(chunk(seconds=2))
    log = open_log(tmp_path / keeper.position.file)
    assert [each.at for each in log] == [BEGUN, BEGUN + 2 * SECOND]
    assert log.warnings == []


def test_a_failed_sync_is_never_said_to_be_well_again(keeping: MakeKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system reports what it could not write once, and forgets it."""
    keeper = keeping()
    keeper.open(BEGUN)
    keeper.write(chunk())

    def failing(file: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", failing)
        with pytest.raises(LedgerError, match="cannot be synced: Input/output error"):
            keeper.sync()
    with pytest.raises(LedgerError, match="a new recording must be begun"):
        keeper.sync()
    assert keeper.must
    assert keeper.is_due(BEGUN)
    keeper.rotate(BEGUN + SECOND)
    keeper.sync()
    assert not keeper.must


def test_a_rotation_that_cannot_sync_is_told_and_the_next_one_goes_through(
    keeping: MakeKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    keeper.write(chunk())
    file = keeper.position.file

    def failing(file: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", failing)
        with pytest.raises(LedgerError, match="cannot be synced"):
            keeper.rotate(BEGUN + SECOND)
        assert keeper.position.file == file
        keeper.rotate(BEGUN + SECOND)
    assert keeper.position.file != file


def test_where_there_is_no_room_for_a_new_file_the_old_one_goes_on(keeping: MakeKeeper, tmp_path: Path) -> None:
    keeper = keeping()
    keeper.open(BEGUN)
    keeper.write(chunk())
    keeper.header = {"table": "no\nline"}
    position = keeper.position
    with pytest.raises(UsageError):
        keeper.rotate(BEGUN + SECOND)
    keeper.write(chunk(seconds=2))
    assert keeper.position.file == position.file
    assert len(list(open_log(tmp_path / position.file))) == 2


# A process that is killed

KILLED = """
import sys
from pathlib import Path
from tablectl.recording.chunks import Chunk
from tablectl.recording.keeper import Keeper
keeper = Keeper(Path(sys.argv[1]), {"house": "fr"}, rotate_bytes=30_000, rotate_seconds=60, keep_seconds=None, keep_bytes=None)
at = 1_796_034_435_123_456
keeper.open(at)
for number in range(10**9):
    keeper.write(Chunk(at + number, "shoe", "<", number.to_bytes(4, "big") * 20))
    sys.stdout.buffer.write(number.to_bytes(4, "big"))
    sys.stdout.buffer.flush()
    if keeper.is_due(at):
        keeper.rotate(at + number)
"""


@pytest.mark.parametrize("wait", [0.03, 0.1, 0.17, 0.3])
def test_a_kill_loses_nothing_that_was_given(wait: float, tmp_path: Path) -> None:
    """Killed while it writes, rotates and packs: what it had acknowledged is there, whole, once and in order."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        acknowledged = process.stdout.read(4)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.read()
    last = int.from_bytes(acknowledged[-4:], "big")
    read = [each.data for path in recordings(tmp_path) if path.stat().st_size for each in open_log(path)]
    assert [data[:4] for data in read] == [number.to_bytes(4, "big") for number in range(len(read))]
    assert last < len(read) <= last + 2
    assert all(data == data[:4] * 20 for data in read[:-1])
    Upkeep(tmp_path).look(BEGUN)
    assert [each.data for path in recordings(tmp_path) if path.stat().st_size for each in open_log(path)] == read
    assert begun_at(recordings(tmp_path)[0]) == 1_796_034_435_123_456
