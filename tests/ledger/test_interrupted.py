"""A commit that is interrupted at the worst moment: it was written, and the program does not know."""

from pathlib import Path

from tablectl.ledger.reader import Reader
from tablectl.ledger.store import Ledger
from tests.mqtt.tables import PIN, TICK


def test_what_was_written_before_an_interrupt_is_not_written_again(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "day.db", PIN) as ledger:
        ledger.append(TICK)
        waiting = [*ledger._waiting]
        ledger.commit()
        ledger._waiting[:] = waiting  # Ctrl-C came between SQLite's COMMIT and our noting it
        ledger.append(TICK)
        ledger.commit()
    with Reader(tmp_path / "day.db") as reader:
        assert [(entry.seq, entry.kind) for entry in reader.entries()] == [(1, "pin"), (2, "observation"), (3, "observation")]
