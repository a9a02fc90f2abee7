"""The daemon with what `Daemon` takes and its configuration does not: another clock, and ports that are opened again sooner.

`python -m tests.live.eager --behind FILE --retry SECONDS TABLE.toml`: the clock is behind the system's by the seconds in the
file, read anew each time, so that it can be set while the table runs; less than nothing is ahead.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tablectl import config
from tablectl.cli.main import say
from tablectl.daemon.run import Daemon
from tablectl.shoe.port import Patience

__all__ = ["clock_of"]


def clock_of(behind: Path) -> Callable[[], int]:
    """A clock that is so many seconds behind the system's as the file says; an empty file says what it said before."""
    last = 0.0

    def clock() -> int:
        nonlocal last
        last = float(behind.read_text() or last)
        return time.time_ns() // 1000 - int(last * 1_000_000)

    return clock


def main() -> int:
    """Run the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.eager", description=__doc__)
    parser.add_argument("--behind", type=Path)
    parser.add_argument("--retry", type=float, default=Patience().last_retry)
    parser.add_argument("table", type=Path)
    given = parser.parse_args()
    patience = Patience(first_retry=min(given.retry, Patience().first_retry), last_retry=given.retry)
    if given.behind is None:
        return Daemon(config.load(given.table), log=say, patience=patience).run()
    return Daemon(config.load(given.table), log=say, clock=clock_of(given.behind), patience=patience).run()


if __name__ == "__main__":
    sys.exit(main())
