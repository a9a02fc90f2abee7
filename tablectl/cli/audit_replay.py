"""`tablectl audit verify --replay`: a ledger made again from its recordings, and the two heads compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tablectl.errors import ConfigError, InputError, LedgerError
from tablectl.houses import rules
from tablectl.ledger import pin as pins
from tablectl.ledger.pin import Pin
from tablectl.ledger.reader import Reader
from tablectl.ledger.verify import Fault, Report
from tablectl.recording.damage import damage_of, headless
from tablectl.recording.folder import of_ledger
from tablectl.recording.rebuilding import rebuild

__all__ = ["replay_into"]


def replay_into(report: Report, recordings: Sequence[Path], house: str | None) -> None:
    """Make the ledger of a report again, and add to its faults what comes out otherwise.

    `recordings` are files in their order, or folders in which those of this ledger are looked for; `house` names the house's file
    where it is not one that ships. Raises `ConfigError` for rules that are not those of the ledger, `InputError` for a recording
    that cannot be read or where there is none. Where something comes out otherwise, the recordings that are damaged are named.
    """
    path = Path(report.ledger)
    files = [file for given in recordings for file in (of_ledger(given, path.name) if given.is_dir() else [given])]
    strays = [f"the recording {damage}" for given in recordings if given.is_dir() for damage in headless(given)]
    if not files:
        raise InputError("; ".join([f"holds no recording of {path.name}", *strays]), where=", ".join(map(str, recordings)))
    sound = len(report.faults)
    try:
        with Reader(path) as reader:
            first = reader.entries(0, 1)
            pin = pins.decode(first[0].body) if first else None
            if pin is None:
                raise LedgerError("has no entries", where=str(path))
            again = rebuild(reader, files, _house_of(pin, house).house, {})
    except LedgerError as error:
        report.faults.append(Fault(None, f"is not what its recordings give: {error.message}"))
    except msgspec.DecodeError:
        report.faults.append(Fault(1, "cannot be read as a pin, so that the recordings cannot be replayed"))
    else:
        if (again.size, again.root.hex()) != (report.size, report.root):
            report.faults.append(
                Fault(None, f"has another head than its recordings give: {again.size} entries, {again.root.hex()}")
            )
    if len(report.faults) > sound:
        lost = [f"the recording {damage}" for damage in map(damage_of, files) if damage is not None]
        report.faults += [Fault(None, what) for what in (*lost, *strays)]


def _house_of(pin: Pin, house: str | None) -> rules.HouseFile:
    found = rules.load(house or pin.house.name)
    if found.digest != pin.house.digest:
        raise ConfigError(
            f"has not the rules of this ledger, which are {pin.house.name} with SHA-256 {pin.house.digest}: give --house FILE",
            where=str(found.path),
        )
    return found
