"""The configuration of a live table, as tests and benchmarks give it: what all have in common, and what each has of its own."""

from __future__ import annotations

__all__ = ["table_toml"]

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


def table_toml(
    *,
    site: str = "site",
    pit: str = "pit",
    name: str = "t07",
    house: object = "es",
    shoe: str = "bee-tek",
    pad: str = "dealer-pad",
    ports: str = "",
    table: str = "",
    more: str = "",
    broker: str | None = None,
) -> str:
    """A table's TOML. `ports` is the devices' folder, `table` is added to what it says of the table, `more` to all of it."""
    text = TABLE.format(site=site, pit=pit, name=name, house=house, shoe=shoe, pad=pad, ports=ports, table=table)
    return text + more + (BROKER.format(url=broker) if broker else "")
