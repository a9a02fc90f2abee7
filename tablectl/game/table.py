"""The table: observations in, notices out, and what is due next.

`Table.feed` is a fold: the same observations give the same notices, to the byte, and no observation, legal or not, raises. The
rules stand elsewhere: whose card it is in `dealing`, what a hand may do in `legality`, what it is paid in `settlement`, the
phases in `phases`; what is known of the game, and how it goes on, in `state`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tablectl.game import bets_in, cards_in, felt_in, pit_in, play_in, rulings
from tablectl.game.dealing import due_place, unanswered
from tablectl.game.history import Entry, History
from tablectl.game.legality import ACTIONS, Refusal, awaits_card, refusal
from tablectl.game.round import Hand
from tablectl.game.state import State
from tablectl.notices import Notice
from tablectl.observations import (
    Ack,
    Action,
    Bet,
    CardDrawn,
    Collected,
    CutCard,
    Decision,
    Felt,
    Insurance,
    Link,
    NoMoreBets,
    Observation,
    Paid,
    Ruling,
    Seat,
    ShoeFault,
    ShoeLoaded,
    TableState,
    Tick,
)
from tablectl.places import Place

__all__ = ["Due", "Table"]

TAKE_IN: dict[type[Any], Callable[[State, Any], None]] = {
    Ack: pit_in.ack,
    Bet: bets_in.bet,
    CardDrawn: cards_in.card_drawn,
    Collected: felt_in.collected,
    CutCard: cards_in.cut_card,
    Decision: play_in.decision,
    Felt: felt_in.felt,
    Insurance: play_in.insurance,
    Link: pit_in.link,
    NoMoreBets: bets_in.no_more_bets,
    Paid: play_in.paid,
    Ruling: rulings.ruling,
    Seat: bets_in.seat,
    ShoeFault: cards_in.shoe_fault,
    ShoeLoaded: cards_in.shoe_loaded,
    TableState: bets_in.table_state,
    Tick: pit_in.tick,
}
"""Who takes in each observation."""


class Due(msgspec.Struct, frozen=True):
    """What must or may happen next.

    `card` is where the next card goes (None: none is due, or it is not known before a decision whether one is), `insurance`
    the box that must answer, `hand` the one that decides, and `actions` what it may do, each with the rule that refuses it or
    None.
    """

    card: Place | None = None
    insurance: Hand | None = None
    hand: Hand | None = None
    actions: dict[Action, Refusal | None] = {}

    @property
    def allowed(self) -> tuple[Action, ...]:
        """The actions that no rule refuses."""
        return tuple(action for action, no in self.actions.items() if no is None)


class Table(State):
    """One blackjack table of one house."""

    def feed(self, observation: Observation) -> tuple[Notice, ...]:
        """Take in one observation and say what follows from it. Never raises."""
        self.cause += 1
        before = None if self.round_open else self.standing()
        self.take_in(observation)
        self.prompt_current()
        notices = self.speak()
        if before is not None and self.round_open:
            self.history = History(before)
        self.remember(Entry(self.cause, observation, notices))
        return notices

    def take_in(self, observation: Observation) -> None:
        """Take in one observation and let the game go on from it, without a word to the outside yet."""
        at = observation.at
        if at is not None:
            if self.at is not None and at < self.at:
                pit_in.clock_set_back(self, at)
            self.at = at
        TAKE_IN[type(observation)](self, observation)
        self.go_on()
        if self.books.remaining == 0:
            self.look_for_exhausted_shoe()

    def due(self) -> Due:
        """What must or may happen next: the prompt, the checks, the emulator and the tests all ask here."""
        phase = self.phase
        if phase == "burning":
            return Due(card="burn")
        if phase == "insurance":
            return Due(insurance=unanswered(self.round))
        acting = self.round.acting if phase == "players" else None
        if acting is None or acting.owed is not None or awaits_card(acting, self.round):
            return Due(card=due_place(phase, self.round, self.rules))
        return Due(hand=acting, actions={action: refusal(acting, action, self.round, self.rules) for action in ACTIONS})
