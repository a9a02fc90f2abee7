"""Where a table's secrets are: files that only their owner may use, or what systemd hands to the service.

systemd's stand in a folder of this service's own (`LoadCredential=` in the unit), which CREDENTIALS_DIRECTORY names; in a
configuration they are `credential:NAME`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from tablectl.config import ConfigFile

__all__ = ["PREFIX", "credential", "others_may", "secret"]

PREFIX = "credential:"


def secret(found: ConfigFile, value: str) -> Path | None:
    """The file that a key of the configuration means by `value`: a path, or `credential:NAME`.

    None where systemd handed no such credential to this process.
    """
    return credential(value.removeprefix(PREFIX)) if value.startswith(PREFIX) else found.beside(value)


def credential(name: str, environ: Mapping[str, str] | None = None) -> Path | None:
    """The file of a secret that systemd handed to this service. None: there is none, or it is blank.

    `name` is a file's name, without a folder; any other is none. Raises `OSError` when the file is there and cannot be read.
    """
    folder = (os.environ if environ is None else environ).get("CREDENTIALS_DIRECTORY")
    if not folder or "/" in name or name in ("", ".", ".."):
        return None
    path = Path(folder) / name
    try:
        return path if path.read_bytes().strip() else None  # the unit's own default for what is missing is a blank line
    except FileNotFoundError:
        return None


def others_may(path: Path) -> str | None:
    """The mode of a secret that others than its owner may read or write, such as `0644`; None where none may.

    What systemd handed us is ours, whatever its mode says: a newer one lets us in by an access list, which shows as the group's.
    Raises `OSError`.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    handed = os.environ.get("CREDENTIALS_DIRECTORY")
    return None if not mode & 0o077 or (handed and path.parent == Path(handed)) else f"{mode:04o}"
