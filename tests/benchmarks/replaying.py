"""A whole `tablectl replay` with its ledger, as a process of its own: rounds per second, and the memory that it needs.

The recording is one session of legal play, and the shorter ones are its beginnings, so what grows with the length is seen. Beside
each replay runs what its ledger costs at the least: the same rows in the same batches into a bare SQLite table, as durable.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tablectl.cli.session import BATCH
from tests.benchmarks.slices import rounded
from tests.benchmarks.traffic import record

__all__ = ["Run", "measure", "run"]

Row = tuple[int, str, bytes]
POLL = 0.02
ROOT = Path(__file__).resolve().parents[2]
CLOSED = b'{"notice":"round_closed"'


class Run(NamedTuple):
    """A finished process: its exit code, seconds on the wall and of the processor, and the most memory it held, in KiB."""

    code: int
    wall: float
    cpu: float
    peak: int


def measure(house: str, rounds: Collection[int], tell: Callable[[str], None]) -> dict[str, object]:
    """Replay as many rounds as each of `rounds` says."""
    with TemporaryDirectory(prefix="tablectl-bench-") as folder:
        whole = Path(folder) / "whole.rec"
        tell(f"replay: recording {max(rounds)} rounds")
        lengths = record(whole, house, rounds)
        found = []
        for number in sorted(lengths):
            tell(f"replay: {number} rounds")
            found.append(_replay(Path(folder), whole, lengths[number], number))
    first, last = found[0], found[-1]
    return {
        "what": "tablectl replay of a native recording, with --ledger and --json, beside the same rows into bare SQLite",
        "house": house,
        "observations_in_a_commit": BATCH,
        "runs": found,
        "memory_growth": rounded(last["peak_mib"] / first["peak_mib"]),
    }


def _replay(folder: Path, whole: Path, length: int, rounds: int) -> dict[str, float]:
    recording, ledger = folder / f"{rounds}.rec", folder / f"{rounds}.db"
    with whole.open("rb") as source:
        recording.write_bytes(source.read(length))
    done = run(["replay", str(recording), "--ledger", str(ledger), "--json", "--check"])
    assert done.code == 0, f"legal play ended with {done.code}"
    with closing(sqlite3.connect(ledger)) as connection:
        entries, observations = connection.execute("SELECT count(*), sum(kind = 'observation') FROM entries").fetchone()
        closed = connection.execute(
            "SELECT count(*) FROM entries WHERE substr(body, 1, ?) = ?", (len(CLOSED), CLOSED)
        ).fetchone()[0]
        assert closed == rounds, f"{closed} of {rounds} rounds were closed"
        bare_wall, bare_cpu = _bare(connection, folder / "bare.db")
    found = {
        "rounds": rounds,
        "observations": observations,
        "ledger_entries": entries,
        "rounds_per_second": rounded(rounds / done.wall),
        "observations_per_second": rounded(observations / done.wall),
        "seconds": rounded(done.wall),
        "cpu_seconds": rounded(done.cpu),
        "peak_mib": rounded(done.peak / 1024),
        "ledger_bytes_per_round": rounded(ledger.stat().st_size / rounds),
        "bare_sqlite_seconds": rounded(bare_wall),
        "bare_sqlite_cpu_seconds": rounded(bare_cpu),
        "of_bare_sqlite": rounded(bare_cpu / done.cpu),
    }
    ledger.unlink()
    return found


def run(args: list[str]) -> Run:
    """Run `tablectl` and watch it.

    The memory is the kernel's own high-water mark, read while the process lives: what `getrusage` tells of a child begins with
    the memory of its parent.
    """
    began = time.monotonic()
    before = os.times()
    env = {**os.environ, "PYTHONUNBUFFERED": ""}  # as users have it
    with subprocess.Popen([sys.executable, "-m", "tablectl", *args], stdout=subprocess.DEVNULL, cwd=ROOT, env=env) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, _high_water(process.pid))
            time.sleep(POLL)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(process.returncode, time.monotonic() - began, cpu, peak)


def _high_water(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _bare(source: sqlite3.Connection, path: Path) -> tuple[float, float]:
    """Seconds on the wall and of the processor for the ledger's rows in the ledger's batches, in a table without an index."""
    path.unlink(missing_ok=True)
    wall = cpu = 0.0
    with closing(sqlite3.connect(path, isolation_level=None)) as target:
        target.execute("PRAGMA journal_mode = WAL")
        target.execute("PRAGMA synchronous = FULL")
        target.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL) STRICT")
        for batch in _batches(source):
            began, used = time.monotonic(), time.process_time()
            target.execute("BEGIN IMMEDIATE")
            target.executemany("INSERT INTO entries VALUES (?, ?, ?)", batch)
            target.execute("COMMIT")
            wall += time.monotonic() - began
            cpu += time.process_time() - used
    return wall, cpu


def _batches(source: sqlite3.Connection) -> Iterator[list[Row]]:
    """The rows, so many observations and their notices at a time."""
    seen = 0

    def number(row: Row) -> int:
        nonlocal seen
        seen += row[1] == "observation"
        return max(seen - 1, 0) // BATCH

    for _, rows in groupby(source.execute("SELECT seq, kind, body FROM entries ORDER BY seq"), key=number):
        yield list(rows)
