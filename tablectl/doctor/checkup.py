"""The whole check-up of one table, in the order in which a person would mend things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tablectl import config
from tablectl.config import ConfigFile
from tablectl.doctor import record
from tablectl.doctor.broker import broker
from tablectl.doctor.configuration import doubts, faults, house_of, misprints
from tablectl.doctor.finding import Finding, account, failed, passed, warned
from tablectl.doctor.machine import Clock, disk, metrics
from tablectl.doctor.ports import ports
from tablectl.errors import ConfigError

__all__ = ["checkup"]


def checkup(path: Path, seconds: float) -> Iterator[Finding]:
    """Everything there is to say, as it is found. `seconds` is how long one listens on the ports (0: not at all).

    A running daemon is not disturbed: its ports are left to it, its ledger is read only.
    """
    wrong = faults(path)
    for error in wrong:
        yield failed("configuration", str(error), f"tablectl config check {path}", ConfigError.exit_code)
    try:
        found = config.load(path)
    except ConfigError:
        return  # said above, and nothing can be looked at
    clock = Clock()
    if not wrong:
        yield passed("configuration", f"{path} and all that it names")
    for doubt in doubts(found):
        yield warned("configuration", str(doubt), "tablectl config init --help; docs/mqtt.md")
    yield from _house(found)
    who, runs = account(), record.running(found)
    yield passed("table", f"{found.name}: {_runs(runs)}")
    yield from ports(found, who, runs, seconds)
    if found.config.cameras:
        from tablectl.doctor.cameras import cameras  # only a table with a camera needs what sees

        yield from cameras(found, who, runs, seconds)
    else:
        yield passed("camera", "none is configured")
    yield from clock.findings(record.last_time(found))
    yield from disk(found, who)
    yield from metrics(found, runs.is_held)
    yield from record.recordings(found, who)
    yield from record.ledger(found, runs)
    yield from record.keys(found)
    yield from broker(found)


def _house(found: ConfigFile) -> Iterator[Finding]:
    try:
        house = house_of(found)
    except ConfigError:
        return  # a fault of the configuration, and said there
    layout = found.config.table.layout
    printed = list(misprints(found, house))
    for key, message in printed:
        mend = f"tablectl house show {found.config.table.house}"
        yield failed("layout", f"{key}: {message}; the table will not open", mend, ConfigError.exit_code)
    if not printed:
        text = "what is printed on the felt is as the house says" if layout else "what is printed on the felt is not said"
        yield passed("layout", f"{text} (house {house.house.name})")


def _runs(runs: record.Running) -> str:
    if not runs.is_held:
        return "no daemon runs it"
    who = ", ".join(map(str, runs.holders))
    return f"a daemon runs it{f': {who}' if who else ''}"
