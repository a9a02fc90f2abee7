"""The two recorded sessions, and `tablectl` as a process that handles bytes.

The stories are told by hand, from what was dealt; nothing here was copied from what the program printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from tablectl.ledger.reader import Entry, Reader

__all__ = ["ES", "FR", "SESSIONS", "Session", "notices", "of_kind", "read_ledger", "run", "start"]

TABLE = Path(__file__).resolve().parents[1] / "recordings" / "table"
TABLECTL = [sys.executable, "-m", "tablectl"]


class Session(NamedTuple):
    """A recorded session.

    `logs` are the logs by port, `profiles` theirs; `rounds` what each round staked, returned and carried; `outcomes` each hand's
    round, box, number, result, cards, the dealer's total, stake, insurance, returned and carried.
    """

    house: str
    logs: dict[str, Path]
    profiles: dict[str, str]
    seconds: float
    rounds: list[tuple[int, int, int]]
    outcomes: list[tuple[int, int, int, str, str, int | None, int, int, int, int]]

    @property
    def replay(self) -> list[str]:
        """The command line that replays the two logs."""
        shoe, pad = (str(self.logs[port]) for port in ("shoe", "pad"))
        return ["replay", "--house", self.house, "--shoe", shoe, "--shoe-profile", self.profiles["shoe"], "--pad", pad]

    def import_to(self, recording: Path) -> list[str]:
        """The command line that makes one native recording of the two logs."""
        files = [f"{port}={path}" for port, path in self.logs.items()]
        profiles = [word for port, name in self.profiles.items() for word in ("--profile", f"{port}={name}")]
        return ["import", *files, "-o", str(recording), *profiles, "--house", self.house]


FR = Session(
    "fr",
    {"shoe": TABLE / "fr-shoe.socat-xv.log", "pad": TABLE / "fr-pad.jpnevulator.log"},
    {"shoe": "bee-tek", "pad": "dealer-pad"},
    9.5,
    [(8000, 10500, 2000), (3500, 1500, 0)],
    [
        # A blackjack against a six is paid at once; box 5 busts; the eights are split, one is doubled, the other ties and stays.
        (1, 1, 0, "blackjack", "AS KD", None, 1000, 0, 2500, 0),
        (1, 5, 0, "bust", "TD 6S 9H", None, 1000, 0, 0, 0),
        (1, 3, 0, "win", "8H 3C TH", 18, 4000, 0, 8000, 0),
        (1, 3, 1, "carried", "8D TC", 18, 2000, 0, 0, 2000),
        # The dealer's ace becomes a blackjack: box 1 had insured half, box 3 plays on the stake that stayed.
        (2, 1, 0, "lose", "9S 9C", 21, 1000, 500, 1500, 0),
        (2, 3, 0, "lose", "7D QC", 21, 2000, 0, 0, 0),
    ],
)

ES = Session(
    "es",
    {"shoe": TABLE / "es-shoe.jpnevulator.log", "pad": TABLE / "es-pad.tio.log"},
    {"shoe": "angel-eye-ii", "pad": "dealer-pad"},
    9.4,
    [(5000, 8000, 0), (1000, 1000, 0)],
    [
        # A ten and a queen are split; eleven is doubled to the dealer's eighteen; split aces with a king are no blackjack.
        (1, 2, 0, "win", "TS AH", 18, 1000, 0, 2000, 0),
        (1, 2, 1, "win", "QD 5S 4H", 18, 1000, 0, 2000, 0),
        (1, 4, 0, "push", "5H 6D 7S", 18, 2000, 0, 2000, 0),
        (1, 7, 0, "win", "AC 9D", 18, 500, 0, 1000, 0),
        (1, 7, 1, "win", "AD KC", 18, 500, 0, 1000, 0),
        (2, 2, 0, "push", "9S 8D", 17, 1000, 0, 1000, 0),
    ],
)

SESSIONS = {session.house: session for session in (FR, ES)}


def environment(**changes: str) -> dict[str, str]:
    """Ours, but with the buffering that users have."""
    return {**os.environ, "PYTHONUNBUFFERED": "", **changes}


def run(
    *words: str | Path, stdin: bytes = b"", timeout: float = 60, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run `tablectl WORDS...` to its end."""
    line = [*TABLECTL, *map(str, words)]
    return subprocess.run(line, input=stdin, capture_output=True, env=environment(), cwd=cwd, timeout=timeout, check=False)


def start(
    *words: str | Path,
    stdin: int | None = None,
    stdout: int | IO[Any] = subprocess.PIPE,
    stderr: int | IO[Any] = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Begin `tablectl WORDS...`."""
    return subprocess.Popen([*TABLECTL, *map(str, words)], stdin=stdin, stdout=stdout, stderr=stderr, env=environment())


def notices(stdout: bytes) -> list[dict[str, Any]]:
    """What was printed."""
    return [msgspec.json.decode(line) for line in stdout.splitlines()]


def of_kind(stdout: bytes, kind: str) -> list[dict[str, Any]]:
    """The notices of one kind out of what was printed."""
    return [notice for notice in notices(stdout) if notice["notice"] == kind]


def read_ledger(path: Path) -> list[Entry]:
    """All entries of a ledger."""
    with Reader(path) as reader:
        return reader.entries(limit=1_000_000)
