"""Parquet: the columns of CSV, typed, and with what each means beside it; compressed. It takes pyarrow, which is extra."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from tablectl.errors import UsageError
from tablectl.ledger.export.columns import COLUMNS, Kind, row
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TOGETHER", "write"]

TOGETHER: Final = 20_000
"""Rows in a row group, which is what is in memory at once: some 20 MB."""


def write(selected: Iterable[Selected], file: BinaryIO, options: Options) -> int:
    """One file of any number of tables and days. Raises `UsageError` where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'tablectl[analytics]'", field="--format") from None
    schema = _schema(pyarrow)
    rows = iter(selected)
    count = 0
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := [row(one) for one in islice(rows, TOGETHER)]:
            columns = [
                pyarrow.array(list(values), field.type) for values, field in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
            count += len(group)
    return count


def _schema(arrow: Any) -> pyarrow.Schema:
    types: dict[Kind, Any] = {
        "text": arrow.string(),
        "int": arrow.int64(),
        "flag": arrow.bool_(),
        "time": arrow.timestamp("us", "UTC"),
        "cards": arrow.list_(arrow.string()),
    }
    return arrow.schema([arrow.field(one.name, types[one.kind], metadata={"meaning": one.meaning}) for one in COLUMNS])
