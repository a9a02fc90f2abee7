"""What can go wrong outside the game, whose fault it is, and the exit code that says so.

A dealer's error or a noisy line is never an exception: it is a notice or an observation. What is raised is one of these.

::

    TablectlError            1   anything below; the command failed
    ├── UsageError           2   the caller: an option or argument that makes no sense
    ├── InputError           1   a file that holds data: it names file, line and field
    │   └── LossyLog         1   a log whose tool throws bytes away; accepted only on demand
    ├── ConfigError          4   a configuration, house or profile file
    │   ├── HouseError       4
    │   └── ProfileError     4
    ├── DeviceError          5   a serial port, a camera
    ├── BrokerError          6   MQTT: unreachable, refused
    └── LedgerError          7   the record: damaged, foreign, from another house

Exit code 0 is done, 3 is done with critical alerts, 130 is interrupted.
"""

from __future__ import annotations

__all__ = [
    "EXIT_ALERTS",
    "EXIT_INTERRUPTED",
    "BrokerError",
    "ConfigError",
    "DeviceError",
    "HouseError",
    "InputError",
    "LedgerError",
    "LossyLog",
    "ProfileError",
    "TablectlError",
    "UsageError",
]

EXIT_ALERTS = 3
EXIT_INTERRUPTED = 130


class TablectlError(Exception):
    """A fault that a person can act on: what happened, where, and (where known) what to do.

    `where` is a file name or a device; `line` counts from 1; `field` is a key or a JSON field. All three are part of the
    message, so that `str(error)` is enough for a log line.
    """

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, line: int | None = None, field: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.line = line
        self.field = field

    def __str__(self) -> str:
        """`FILE:LINE: FIELD: message`, without the parts that are unknown."""
        place = self.where or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        return ": ".join(part for part in (place, self.field, self.message) if part)


class UsageError(TablectlError):
    """The caller asked for something that makes no sense."""

    exit_code = 2


class InputError(TablectlError):
    """A data file (observations, a serial log, a recording) cannot be read as what it should be."""


class LossyLog(InputError):
    """The tool that wrote this log drops bytes, so what is missing cannot be seen in it."""


class ConfigError(TablectlError):
    """A file that configures the table is wrong."""

    exit_code = 4


class HouseError(ConfigError):
    """A house file is wrong."""


class ProfileError(ConfigError):
    """A firmware profile is wrong, or its vectors fail."""


class DeviceError(TablectlError):
    """A serial port or a camera failed."""

    exit_code = 5


class BrokerError(TablectlError):
    """The MQTT broker cannot be reached or refuses us."""

    exit_code = 6


class LedgerError(TablectlError):
    """The ledger is damaged, or belongs to something else."""

    exit_code = 7
