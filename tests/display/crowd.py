"""Tables that play by themselves and tell all of it, at the times that they are given: a pit full of them, without daemons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tablectl.emulator.dealer import Dealer
from tablectl.houses.rules import load
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tests.display.told import Telling, Told

__all__ = ["Player"]


class Player:
    """A table of a house at which is played on and on. `supervisor` None leaves what stops the game to somebody else."""

    def __init__(
        self,
        name: TableName,
        house: str,
        seed: int,
        *,
        mistakes: Sequence[str] = (),
        every: int = 5,
        supervisor: str | None = "CHIEF7",
    ) -> None:
        self.name = name
        self.telling = Telling(house, name, session=f"{seed:016x}")
        dealer = Dealer(load(house).house, seed=seed, mistakes=mistakes, every=every, supervisor=supervisor)
        self._play = iter(dealer)

    def begin(self) -> Iterator[Told]:
        """What a broker retains of it."""
        return self.telling.begin()

    def next(self, at: int) -> list[Told]:
        """What is told of the next thing that happens, at this time in microseconds; nothing where the game is stopped."""
        observation = next(self._play, None)
        return [] if observation is None else list(self.telling.seen(replace(observation, at=from_micros(at))))
