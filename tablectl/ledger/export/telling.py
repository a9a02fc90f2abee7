"""The facts that a feed tells of an entry, by name: flat, and the same in syslog's structured data and in ONVIF's JSON.

The shoe's books, the pin and every other thing from which one could read what is left in the shoe are not among them.
"""

from __future__ import annotations

from typing import Final

from tablectl.ledger.export.columns import COLUMNS, row
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.export.speaking import Spoken

__all__ = ["facts"]

_NOT_TOLD: Final = frozenset(
    {"kind", "at_utc", "text", "remedy_text", "remaining", "drawn", "unread", "body", "table_name", "name"}
)


def facts(one: Selected, told: Spoken) -> dict[str, str | int | bool]:
    """Table, session, entry and round, and whatever the entry itself says, by the names of the columns of `docs/feeds.md`."""
    found: dict[str, str | int | bool] = {"site": one.table.site, "pit": one.table.pit, "table": one.table.table}
    for column, value in zip(COLUMNS, row(one), strict=True):
        if value is not None and value != () and column.name not in _NOT_TOLD:
            found[column.name] = " ".join(value) if isinstance(value, tuple) else value
    return found
