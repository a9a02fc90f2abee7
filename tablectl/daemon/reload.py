"""What may change while a table runs: read again on SIGHUP, taken over between two rounds."""

from __future__ import annotations

from typing import Final

from tablectl.config import ConfigFile, DeviceConfig

__all__ = ["check"]

FIXED: Final = (
    "table.site",
    "table.pit",
    "table.name",
    "table.house",
    "table.zone",
    "table.day_begins",
    "storage.folder",
    "felt",
    "cameras",
    "broker",
    "metrics",
)
"""What needs a restart: it says who the table is, by which rules it plays, or which sockets it holds."""


def check(before: ConfigFile, now: ConfigFile) -> None:
    """See that only what may change has changed. Raises `ConfigError` at the first key that may not."""
    for key in FIXED:
        if _value(before, key) != _value(now, key):
            raise now.fault(key, "cannot change while the table runs; restart it between two rounds")
    old, new = before.config.devices, now.config.devices
    for index, device in enumerate(new):
        if index >= len(old) or _wiring(device) != _wiring(old[index]):
            raise now.fault(f"devices[{index}]", "a device cannot change while the table runs; restart it between two rounds")
    if len(new) < len(old):
        raise now.fault("devices", "a device cannot go while the table runs; restart it between two rounds")


def _value(file: ConfigFile, key: str) -> object:
    value: object = file.config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def _wiring(device: DeviceConfig) -> tuple[str, str, str]:
    return device.name, device.port, device.profile
