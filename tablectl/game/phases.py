"""The phases of a table, and the arcs between them. Read this to learn the game.

A table is closed, or a round goes its way: the shoe is shuffled and loaded, cards are burned, bets are placed, each box and
the dealer get a first card, each box a second one, insurance is offered against an ace, the players play, the dealer draws,
and everything is settled. Whatever goes wrong leads to `suspended`, and only a ruling leads back to where the game was.

Whose turn it is, splits and cards owed are data of the round, never phases. `transitions` keeps the arcs and asks the guards;
there are no callbacks with effects, and a refused trigger, for whatever reason, is one value: False. The state diagram in the
documentation is drawn from `ARCS` (`python -m tablectl.game.phases`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, get_args

from transitions import Machine

from tablectl.game.dealing import dealer_due, needs_insurance, unanswered
from tablectl.game.round import Round
from tablectl.houses.rules import Rules
from tablectl.notices import PhaseName

__all__ = ["ARCS", "ONWARD", "PHASES", "Arc", "Facts", "Phases", "diagram"]

PHASES: tuple[PhaseName, ...] = get_args(PhaseName)


class Facts(Protocol):
    """What the guards may look at: the table, seen from here."""

    rules: Rules
    round: Round
    burn_left: int
    past_cut: bool
    resume_to: PhaseName
    waived: frozenset[str]


Guard = Callable[[Facts], bool]


class Arc(NamedTuple):
    """One way from phase to phase; the guard, where there is one, must agree."""

    trigger: str
    source: PhaseName
    dest: PhaseName
    guard: Guard | None = None


def burn_is_due(facts: Facts) -> bool:
    """R04: cards are to be burned before the next round."""
    return facts.burn_left > 0


def burn_is_done(facts: Facts) -> bool:
    """R04: all burn cards have been burned."""
    return facts.burn_left == 0


def cut_card_is_out(facts: Facts) -> bool:
    """The cut card came: the shoe is to be shuffled before the next round."""
    return facts.past_cut and facts.burn_left == 0


def shuffle_is_waived(facts: Facts) -> bool:
    """A supervisor let one more round be played after the cut card."""
    return "shoe.past_cut_card" in facts.waived


def shoe_is_fit(facts: Facts) -> bool:
    """Neither a burn nor a shuffle is due."""
    return facts.burn_left == 0 and not facts.past_cut


def enough_boxes(facts: Facts) -> bool:
    """R03: enough boxes have a stake, or a supervisor let it pass."""
    boxes = len(facts.round.hands)
    return boxes >= facts.rules.min_boxes or (boxes > 0 and "deal.too_few_boxes" in facts.waived)


def each_has_one_card(facts: Facts) -> bool:
    """R10: every box has its first card, and the dealer too."""
    return bool(facts.round.dealer) and all(hand.cards or hand.ended is not None for hand in facts.round.hands)


def insurance_is_due(facts: Facts) -> bool:
    """R17, R18: every box has two cards and the dealer shows an ace."""
    return needs_insurance(facts.round, facts.rules) and _each_has_two_cards(facts)


def no_insurance_is_due(facts: Facts) -> bool:
    """R17: every box has two cards and the dealer shows no ace."""
    return not needs_insurance(facts.round, facts.rules) and _each_has_two_cards(facts)


def _each_has_two_cards(facts: Facts) -> bool:
    hands = reversed(facts.round.hands)  # the last to be dealt to is the first to look at
    return all(len(hand.cards) >= 2 or hand.ended is not None for hand in hands)


def all_answered(facts: Facts) -> bool:
    """Every staked box has taken or declined insurance."""
    return unanswered(facts.round) is None


def no_hand_acts(facts: Facts) -> bool:
    """Every hand has ended."""
    return facts.round.acting is None


def dealer_is_finished(facts: Facts) -> bool:
    """R33: no stake depends on another card of the dealer's, and all that lie there are known."""
    return facts.round.dealer_total is not None and not dealer_due(facts.round, facts.rules)


def all_settled(facts: Facts) -> bool:
    """Every hand has its result."""
    return all(hand.result is not None for hand in facts.round.hands)


def settled_shoe_fit(facts: Facts) -> bool:
    """The round is over and the shoe goes on."""
    return all_settled(facts) and shoe_is_fit(facts)


def settled_shoe_cut(facts: Facts) -> bool:
    """The round is over and the cut card is out."""
    return all_settled(facts) and cut_card_is_out(facts)


def settled_burn_due(facts: Facts) -> bool:
    """The round is over, and a shoe that was loaded meanwhile has its burn due."""
    return all_settled(facts) and burn_is_due(facts)


def resumes_to(phase: PhaseName) -> Guard:
    """The guard of a suspended game's way back: it was suspended in this phase."""

    def guard(facts: Facts) -> bool:
        return facts.resume_to == phase

    guard.__name__ = f"suspended_in_{phase}"
    return guard


BETWEEN_ROUNDS: tuple[PhaseName, ...] = ("shuffling", "burning", "betting")
IN_ROUND: tuple[PhaseName, ...] = ("first_cards", "second_cards", "insurance", "players", "dealer", "settling")

ARCS: tuple[Arc, ...] = (
    Arc("open", "closed", "burning", burn_is_due),
    Arc("open", "closed", "shuffling", cut_card_is_out),
    Arc("open", "closed", "betting", shoe_is_fit),
    *(Arc("close", phase, "closed") for phase in BETWEEN_ROUNDS),
    *(Arc("load_shoe", phase, "burning", burn_is_due) for phase in ("shuffling", "betting")),
    Arc("load_shoe", "shuffling", "betting", shoe_is_fit),
    Arc("cut", "betting", "shuffling", cut_card_is_out),
    Arc("shuffle_waived", "shuffling", "betting", shuffle_is_waived),
    Arc("burned", "burning", "betting", burn_is_done),
    Arc("close_bets", "betting", "first_cards", enough_boxes),
    Arc("dealt_first", "first_cards", "second_cards", each_has_one_card),
    Arc("dealt_second", "second_cards", "insurance", insurance_is_due),
    Arc("dealt_second", "second_cards", "players", no_insurance_is_due),
    Arc("insured", "insurance", "players", all_answered),
    Arc("played", "players", "dealer", no_hand_acts),
    Arc("drawn", "dealer", "settling", dealer_is_finished),
    Arc("settled", "settling", "betting", settled_shoe_fit),
    Arc("settled", "settling", "shuffling", settled_shoe_cut),
    Arc("settled", "settling", "burning", settled_burn_due),
    *(Arc("void_round", phase, "settling") for phase in IN_ROUND if phase != "settling"),
    *(Arc("suspend", phase, "suspended") for phase in (*BETWEEN_ROUNDS, *IN_ROUND)),
    *(Arc("resume", "suspended", phase, resumes_to(phase)) for phase in (*BETWEEN_ROUNDS, *IN_ROUND)),
)
"""Every way the game can go. For one trigger in one phase the first arc whose guard agrees is taken."""

_KNOWN = frozenset((arc.source, arc.trigger) for arc in ARCS)
_BY_THEMSELVES = frozenset({"burned", "dealt_first", "dealt_second", "insured", "played", "drawn", "settled"})

ONWARD: dict[PhaseName, tuple[Arc, ...]] = {
    phase: tuple(arc for arc in ARCS if arc.source == phase and arc.trigger in _BY_THEMSELVES) for phase in PHASES
}
"""The arcs that a table takes by itself, as soon as their guard agrees."""


class Phases:
    """The machine that is in one phase and moves along `ARCS`; one for each table."""

    phase: PhaseName

    def __init__(self, initial: PhaseName) -> None:
        self._machine = Machine(
            self,
            states=list(PHASES),
            initial=initial,
            transitions=[
                {"trigger": arc.trigger, "source": arc.source, "dest": arc.dest, "conditions": [arc.guard] if arc.guard else None}
                for arc in ARCS
            ],
            auto_transitions=False,
            ignore_invalid_triggers=True,
            model_attribute="phase",
        )
        self._triggers: dict[str, Callable[[Facts], bool]] = {arc.trigger: getattr(self, arc.trigger) for arc in ARCS}

    def fire(self, trigger: str, facts: Facts) -> bool:
        """Take the arc of this trigger if there is one here and its guard agrees; False, and nothing changed, if not."""
        take = self._triggers[trigger]
        # Asked of the machine, a trigger without an arc here would be a warning on stderr.
        return (self.phase, trigger) in _KNOWN and take(facts)

    def go_back_to(self, phase: PhaseName) -> None:
        """Put the machine where a snapshot was taken."""
        self._machine.set_state(phase, self)


def diagram() -> str:
    """The state diagram as Mermaid text, drawn from `ARCS`; the suspension arcs are told in one line."""
    lines = ["stateDiagram-v2", "    [*] --> closed"]
    for arc in ARCS:
        if "suspended" not in (arc.source, arc.dest):
            guard = f" [{arc.guard.__name__}]" if arc.guard else ""
            lines.append(f"    {arc.source} --> {arc.dest}: {arc.trigger}{guard}")
    lines.append("    note right of suspended: any phase but closed can be suspended, and is resumed by a ruling")
    return "\n".join(lines)


if __name__ == "__main__":
    import sys

    sys.stdout.write(diagram() + "\n")
