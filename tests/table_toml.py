"""The configuration of a live table, as tests and benchmarks give it: what all have in common, and what each has of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict, Unpack

from tablectl import config
from tablectl.config import ConfigFile

__all__ = ["Given", "configured", "table_toml"]

TABLE = """
[table]
site = "{site}"
pit = "{pit}"
name = "{name}"
house = "{house}"
{table}
[storage]
folder = "store"
min_free_mb = 0

[[devices]]
name = "shoe"
port = "{ports}shoe"
profile = "{shoe}"

[[devices]]
name = "pad"
port = "{ports}pad"
profile = "{pad}"

[[people]]
name = "CHIEF7"
may = ["ruling", "ack", "table", "shoe"]
"""
BROKER = """
[broker]
url = "{url}"
"""


class Given(TypedDict, total=False):
    """What a table has of its own. `table` is added to what is said of the table, `more` to all of it."""

    site: str
    pit: str
    name: str
    house: object
    shoe: str
    pad: str
    table: str
    more: str
    broker: str | None


USUAL: Given = {
    "site": "site",
    "pit": "pit",
    "name": "t07",
    "house": "es",
    "shoe": "bee-tek",
    "pad": "dealer-pad",
    "table": "",
    "more": "",
    "broker": None,
}


def table_toml(ports: str = "", **given: Unpack[Given]) -> str:
    """A table's TOML. `ports` is the devices' folder."""
    said: Given = {**USUAL, **given}
    return TABLE.format(ports=ports, **said) + said["more"] + (BROKER.format(url=said["broker"]) if said["broker"] else "")


def configured(folder: Path, ports: str = "", **given: Unpack[Given]) -> ConfigFile:
    """A configuration in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "table.toml"
    path.write_text(table_toml(ports, **given))
    return config.load(path)
