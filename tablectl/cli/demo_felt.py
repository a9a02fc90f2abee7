"""The felt of `tablectl demo`: rendered, in step with the virtual shoe, and seen by the table's own virtual cameras."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tablectl.errors import LedgerError
from tablectl.ledger.reader import Reader
from tablectl.ledger.refold import all_entries
from tablectl.notices import Dealt
from tablectl.notices import decode as decode_notice
from tablectl.observations import CardDrawn, Felt, Link, decode

if TYPE_CHECKING:
    from tablectl.game.table import Table

__all__ = ["RESTS", "DemoFelt", "Saw", "saw"]

READY: Final = 30.0
"""Seconds for which the cameras are waited for; without them the shoe is shown alone."""
RESTS: Final = 2.5
"""Seconds for which the last card is waited for to be seen at rest."""

_CONFIG = """
[felt]
calibration = "{calibration}"
"""
_CAMERA = """
[[cameras]]
name = "{name}"
source = "virtual:scene.json"
fps = 10
"""


class Saw(NamedTuple):
    """What the cameras saw, by the ledger: of `dealt` cards `placed` lay on the felt, `read` of them as the shoe read them."""

    dealt: int
    placed: int
    read: int
    unread: int
    away: bool
    """They never saw the felt."""

    def lines(self) -> Iterator[str]:
        """What there is to say."""
        if self.away:
            yield "  the cameras were not ready in time, and the shoe was shown alone"
            return
        other = self.placed - self.read - self.unread
        words = [f"{self.read} read as the shoe read them"]
        words += [f"{self.unread} not read"] if self.unread else []
        words += [f"{other} read as another"] if other else []
        yield f"  the felt, seen by two cameras: {self.placed} of {self.dealt} cards at rest, {', '.join(words)}"


class DemoFelt:
    """A rendered felt of this house in `folder`; after each thing that happened, `after` shows the table as it is then."""

    def __init__(self, folder: Path, house: str) -> None:
        from tablectl.emulator.felt import EmulatedFelt  # OpenCV takes a moment: only where a felt is shown
        from tablectl.felt.calibration import load

        self._calibration = load(f"{house}-two")
        self._felt = EmulatedFelt(self._calibration.layout, folder / "scene.json", pause=0.0)
        self._felt.show(self._felt.scene)

    @property
    def configuration(self) -> str:
        """The sections of a table's configuration that name its cameras."""
        cameras = "".join(_CAMERA.format(name=name) for name in self._calibration.views)
        return _CONFIG.format(calibration=self._calibration.name) + cameras

    def after(self, table: Table) -> None:
        """Show the felt as the dealer's own table has it now."""
        self._felt.after(table)

    def is_seen(self, ledger: Path) -> bool:
        """Wait until the cameras see the felt; whether they do."""
        until = time.monotonic() + READY
        while time.monotonic() < until:
            if _camera(ledger) == "up":
                return True
            time.sleep(0.1)
        return False


def _camera(ledger: Path) -> str | None:
    state = None
    try:
        with Reader(ledger) as reader:
            for entry in all_entries(reader):
                if entry.kind == "observation" and b'"camera"' in entry.body:
                    seen = decode(entry.body)
                    state = seen.state if isinstance(seen, Link) and seen.device == "camera" else state
    except LedgerError:
        return None  # it is being made
    return state


def saw(ledger: Path) -> Saw:
    """What the cameras saw of a day, by its ledger."""
    drawn: list[CardDrawn] = []
    placed: dict[int, Felt] = {}
    up, dealt = False, 0
    with Reader(ledger) as reader:
        for entry in all_entries(reader):
            if entry.kind == "notice" and b'"notice":"dealt"' in entry.body:
                said = decode_notice(entry.body)
                dealt += isinstance(said, Dealt) and said.to != "burn"
            if entry.kind != "observation":
                continue
            seen = decode(entry.body)
            if isinstance(seen, Link) and seen.device == "camera":
                up = up or seen.state == "up"
            elif isinstance(seen, CardDrawn):
                drawn.append(seen)
            elif isinstance(seen, Felt) and seen.kind == "placed" and seen.ago is not None and seen.ago < len(drawn):
                placed[len(drawn) - 1 - seen.ago] = seen
    faces = Counter("read" if seen.card == drawn[number].card else str(seen.card) for number, seen in placed.items())
    return Saw(dealt, len(placed), faces["read"], faces["??"], not up)
