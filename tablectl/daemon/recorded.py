"""What a live table's recordings say of themselves, how long each is, and for how long they are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tablectl.config import ConfigFile
from tablectl.daemon.opening import Ruled
from tablectl.daemon.storage import MEGABYTE, Storage
from tablectl.recording.keeper import Keeper
from tablectl.recording.native import pinned_lines

__all__ = ["header_of", "keeper_of"]


def header_of(file: ConfigFile, ruled: Ruled, ledger: str) -> dict[str, str]:
    """What a recording for the ledger of this file name says of itself."""
    return {
        "table": str(file.name),
        "house": ruled.house.house.name,
        "zone": file.config.table.zone,
        "ledger": ledger,
        **{f"profile.{port}": found.profile.name for port, found in ruled.profiles.items()},
        **pinned_lines(ruled.calibration, ruled.deck),
    }


def keeper_of(
    file: ConfigFile, ruled: Ruled, storage: Storage, ledger: str, *, protected: Callable[[], Collection[str]]
) -> Keeper:
    """Who keeps a table's recordings within the limits that its configuration sets; those of `protected` ledgers stay."""
    limits = file.config.recording
    return Keeper(
        storage.recordings,
        header_of(file, ruled, ledger),
        rotate_bytes=limits.rotate_mb * MEGABYTE,
        rotate_seconds=limits.rotate_hours * 3600,
        keep_seconds=None if limits.keep_days is None else limits.keep_days * 86400,
        keep_bytes=None if limits.keep_mb is None else limits.keep_mb * MEGABYTE,
        protected=protected,
    )
