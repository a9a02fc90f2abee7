"""Observations per second through `Table.feed`, notices encoded, beside the bare triggers of a two-state machine.

The workload is legal play as it comes: random stakes on 2 to 7 boxes, random decisions out of those that the house allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from transitions import Machine

from tablectl.emulator.dealer import LegalPlay
from tablectl.game.table import Table
from tablectl.houses.rules import House, load
from tablectl.notices import PhaseChanged, encode
from tablectl.observations import Observation
from tests.benchmarks.slices import alternate, ratio, rounded, summary

__all__ = ["BAR", "measure"]

BAR = 0.5
ROUNDS = 15  # a shoe: about a hundredth of a second
TRIGGERS = 800

Session = list[Observation]


def measure(houses: Iterable[str], turns: int, slices: int) -> dict[str, object]:
    """The ratio for each house, what is in the workload, and where the time goes."""
    found = {name: _house(load(name).house, turns, slices) for name in houses}
    least = min(house["ratio"]["median"] for house in found.values())  # type: ignore[index]
    return {
        "what": "observations through Table.feed with notices encoded, per trigger of a bare two-state transitions.Machine",
        "bar": BAR,
        "least_ratio": least,
        "reached": least >= BAR,
        "houses": found,
    }


def _house(house: House, turns: int, slices: int) -> dict[str, object]:
    sessions: list[Session] = []

    def fresh() -> Session:
        """A session that was never played before, so that nothing is remembered from the last slice."""
        sessions.append(list(LegalPlay(house, seed=len(sessions), rounds=ROUNDS)))
        return sessions[-1]

    rates = alternate(
        {"bare": _bare, "feed": lambda: _feeding(house, fresh()), "unencoded": lambda: _unencoded(house, sessions[-1])},
        turns,
        slices,
    )
    return {
        "ratio": ratio(rates, "feed", "bare"),
        "observations_per_second": summary(rates, "feed"),
        "bare_triggers_per_second": summary(rates, "bare"),
        **_content(
            house, sessions, encoding=1 - 1 / ratio(rates, "unencoded", "feed")["median"], cost=ratio(rates, "feed", "bare")
        ),
    }


def _content(house: House, sessions: list[Session], *, encoding: float, cost: dict[str, float]) -> dict[str, object]:
    """What the workload holds, and where its time goes: encoding, phase changes at the bare machine's price, the game."""
    observations = moving = notices = changes = 0
    for session in sessions:
        table = Table(house)
        for observation in session:
            said = table.feed(observation)
            changed = sum(isinstance(notice, PhaseChanged) for notice in said)
            observations += 1
            notices += len(said)
            moving += changed > 0
            changes += changed
    machine = changes / observations * cost["median"]
    return {
        "rounds": len(sessions) * ROUNDS,
        "observations": observations,
        "notices_per_observation": rounded(notices / observations),
        "share_that_moves_a_phase": rounded(moving / observations),
        "share_of_time": {
            "encoding": rounded(encoding),
            "phase_changes_at_the_bare_price": rounded(machine),
            "the_game": rounded(1 - encoding - machine),
        },
    }


class Lamp:
    """The model of the bare machine."""


def _bare() -> Callable[[], int]:
    lamp = Lamp()
    Machine(
        lamp,
        states=["off", "on"],
        initial="off",
        auto_transitions=False,
        transitions=[["press", "off", "on"], ["lift", "on", "off"]],
    )
    press, lift = lamp.press, lamp.lift  # type: ignore[attr-defined]

    def work() -> int:
        for _ in range(TRIGGERS // 2):
            press()
            lift()
        return TRIGGERS

    return work


def _feeding(house: House, session: Session) -> Callable[[], int]:
    feed = Table(house).feed

    def work() -> int:
        for observation in session:
            for notice in feed(observation):
                encode(notice)
        return len(session)

    return work


def _unencoded(house: House, session: Session) -> Callable[[], int]:
    feed = Table(house).feed

    def work() -> int:
        for observation in session:
            feed(observation)
        return len(session)

    return work
