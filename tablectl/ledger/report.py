"""What was found when a ledger was verified."""

from __future__ import annotations

import msgspec

from tablectl.ledger.pin import Follows, Pinned

__all__ = ["Calibrated", "Fault", "Report"]


class Fault(msgspec.Struct, frozen=True):
    """What is wrong; `entry` is the number of the first bad one, None where it is no entry."""

    entry: int | None
    what: str


class Calibrated(msgspec.Struct, frozen=True, omit_defaults=True):
    """By which calibration the table's cameras measured from entry `entry` on, and the deck that was enrolled in it."""

    entry: int
    calibration: Pinned | None
    deck: Pinned | None = None


class Report(msgspec.Struct):
    """What was found in one ledger.

    `chain` and `root` are its head, in hexadecimal; `checkpoints` how many are right, `signed` how many entries the last of them
    covers, `at` when that was, `key` whose it is; `witnessed` how many entries a witness has seen of it. `trusted` is whether the
    keys were vouched for by those that were given, or only by the ledger itself. `calibrated` is what the cameras measured by,
    one for each change; empty where there was no camera.
    """

    ledger: str
    table: str = ""
    session: str = ""
    size: int = 0
    chain: str = ""
    root: str = ""
    checkpoints: int = 0
    signed: int = 0
    at: str = ""
    key: str = ""
    trusted: bool = False
    witnessed: int = 0
    follows: Follows | None = None
    calibrated: list[Calibrated] = []
    faults: list[Fault] = []

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.faults
