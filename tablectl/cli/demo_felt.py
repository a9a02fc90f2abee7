"""The felt of `tablectl demo`: rendered, in step with the virtual shoe, and seen by the table's own virtual cameras.

What the cameras saw is read from the ledger, as far as it is written, so that the dealer can wait for them: no hand deals on
before the card that it laid has come to rest.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tablectl.cards import Card
from tablectl.errors import LedgerError
from tablectl.game.view import view
from tablectl.ledger.reader import Reader
from tablectl.ledger.refold import all_entries
from tablectl.notices import Dealt
from tablectl.notices import decode as decode_notice
from tablectl.observations import CardDrawn, Felt, Link, Observation, decode
from tablectl.places import BoxPlace, Place

if TYPE_CHECKING:
    from tablectl.felt.staging import Key
    from tablectl.game.table import Table
    from tablectl.game.view import TableView

__all__ = ["DemoFelt", "Saw", "saw"]

READY: Final = 30.0
"""Seconds for which the cameras are waited for; without them the shoe is shown alone."""
HELD: Final = ("both", "camera")
"""Sources of a card that was held for the felt's word, which came."""

_CONFIG = """
[felt]
calibration = "{calibration}"
"""
_CAMERA = """
[[cameras]]
name = "{name}"
source = "virtual:scene.json"
fps = 8
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
        self._scene = folder / "scene.json"
        self._felt = EmulatedFelt(self._calibration.layout, self._scene, pause=0.0)
        self._felt.show(self._felt.scene)
        self._ledger: _Following | None = None
        self._drawn = 0
        self._lie = 0
        self._held = 0
        self._laid: set[int] = set()
        self._staked: set[int] = set()
        self._bust: set[Key] = set()
        self._unplugged = False

    @property
    def configuration(self) -> str:
        """The sections of a table's configuration that name its cameras."""
        cameras = "".join(_CAMERA.format(name=name) for name in self._calibration.views)
        return _CONFIG.format(calibration=self._calibration.name) + cameras

    # The dealer's hands

    def after(self, table: Table, done: Observation) -> None:
        """Show the felt as the dealer's own table has it now that this was `done`; what went bust before is collected."""
        if self._unplugged:
            return
        for key in self._bust & self._felt.arrangement.placed.keys():
            self._felt.arrangement.remove(key)
        self._felt.after(table)
        now = view(table)
        hands = [(box.box, hand) for box in now.boxes for hand in box.hands]
        lie = len(now.dealer.cards) + sum(len(hand.cards) for _, hand in hands)
        more = lie > self._lie or self._lay_held(now)
        self._drawn += isinstance(done, CardDrawn)
        if more:
            self._laid.add(self._drawn)
        self._lie = lie
        self._staked = {box.box for box in now.boxes if box.staked + box.carried}
        bust = [(box, hand) for box, hand in hands if hand.result == "bust"] if now.round_open else []
        self._bust = {(box, hand.hand, index) for box, hand in bust for index in range(len(hand.cards))}

    def _lay_held(self, now: TableView) -> bool:
        """A card that the game has no place for lies there too, until it is ruled on: before the dealer, who drew it."""
        more = now.held[self._held :]
        for held in more:
            self._felt.arrangement.add(held.card, held.to.box if isinstance(held.to, BoxPlace) else "dealer")
        if more:
            self._felt.refresh()
        self._held = len(now.held)
        return bool(more)

    def unplug(self) -> None:
        """Take the cameras away, for good; the shoe goes on alone."""
        self._unplugged = True
        self._scene.unlink(missing_ok=True)

    # The cameras' eyes

    def follow(self, ledger: Path) -> None:
        """Look from now on into this ledger for what the cameras see."""
        self._ledger = _Following(ledger)

    def news(self) -> list[tuple[Card, Place | None]]:
        """The cards that were seen to lie at rest since this was asked last, and where."""
        return self._ledger.news() if self._ledger is not None else []

    def is_seen(self, ledger: Path, wait: Callable[[float], object] = time.sleep) -> bool:
        """Wait until this ledger says that the cameras see the felt; whether they do. `wait` takes seconds."""
        self.follow(ledger)
        until = time.monotonic() + READY
        while not self.is_watched and time.monotonic() < until:
            wait(0.1)
            self.news()
        return self.is_watched

    @property
    def is_watched(self) -> bool:
        """Whether the cameras see the felt, as far as the news tell."""
        return self._ledger is not None and self._ledger.up

    def is_at_rest(self, but: int = 0) -> bool:
        """Whether all that was laid, `but` so many cards, has come to rest, as far as the news tell; True without cameras."""
        return not self.is_watched or self._ledger is None or len(self._laid - self._ledger.placed) <= but

    @property
    def is_staked(self) -> bool:
        """Whether all chips are seen to stand where they do; True without cameras."""
        return not self.is_watched or self._ledger is None or self._ledger.staked == self._staked


class _Following:
    """A ledger that is being written: whether its cameras are up, which draws they saw at rest, and where chips."""

    def __init__(self, path: Path) -> None:
        self.up = False
        self.placed: set[int] = set()
        self.staked: set[int] = set()
        self._path = path
        self._last = 0
        self._drawn = 0

    def news(self) -> list[tuple[Card, Place | None]]:
        """Read on; gives the cards that came to rest. A ledger that is being made has none."""
        found: list[tuple[Card, Place | None]] = []
        try:
            with Reader(self._path) as reader:
                for entry in all_entries(reader, self._last):
                    self._last = entry.seq
                    if entry.kind == "observation":
                        found += self._seen(decode(entry.body))
        except LedgerError:
            return found
        return found

    def _seen(self, seen: Observation) -> Iterator[tuple[Card, Place | None]]:
        if isinstance(seen, Link) and seen.device == "camera":
            self.up = seen.state == "up"
        elif isinstance(seen, CardDrawn):
            self._drawn += 1
            if seen.source in HELD:
                self.placed.add(self._drawn)
                yield seen.card, seen.to
        elif isinstance(seen, Felt) and seen.kind == "placed" and seen.ago is not None and seen.to is not None:
            self.placed.add(self._drawn - seen.ago)
            yield seen.card or Card.UNREAD, seen.to
        elif isinstance(seen, Felt) and isinstance(seen.to, BoxPlace):
            if seen.kind == "stake_laid":
                self.staked.add(seen.to.box)
            elif seen.kind == "stake_taken":
                self.staked.discard(seen.to.box)


def saw(ledger: Path) -> Saw:
    """What the cameras saw of a day, by its ledger."""
    drawn: list[CardDrawn] = []
    placed: dict[int, Card] = {}
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
                if seen.source in HELD:
                    placed[len(drawn)] = seen.card
                drawn.append(seen)
            elif isinstance(seen, Felt) and seen.kind == "placed" and seen.ago is not None and seen.ago < len(drawn):
                placed[len(drawn) - 1 - seen.ago] = seen.card or Card.UNREAD
    faces = Counter("read" if card is drawn[number].card else str(card) for number, card in placed.items())
    return Saw(dealt, len(placed), faces["read"], faces["??"], not up)
