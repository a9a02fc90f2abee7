"""A table whose clock the test sets, behind the system's or before it, while it runs (`tests.live.eager`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live.running import Stage, staged

__all__ = ["clocked"]


@contextmanager
def clocked(folder: Path, *, seed: int, table: str = "") -> Iterator[tuple[Stage, Callable[[int], object]]]:
    """A table that is not begun yet, and what sets its clock so many seconds behind the system's (before it, where negative)."""
    folder.mkdir(parents=True, exist_ok=True)
    behind = folder / "behind"

    def set_back(seconds: int) -> None:
        beside = behind.with_suffix(".new")
        beside.write_text(str(seconds))
        beside.replace(behind)

    set_back(0)
    module = ("tests.live.eager", "--behind", str(behind), "--retry", "0.5")
    with staged(folder, module=module, seed=seed, start=False, table=table) as stage:
        yield stage, set_back
