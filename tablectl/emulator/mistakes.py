"""What a dealer, or a player, does wrong at the emulated table: a small list of mistakes by name.

Each is made of what a shoe and a pad can report, at a moment at which it fits, and leads to an alert that such a table can raise.
A box that is passed over, for instance, is not seen by any shoe: it shows when the first hand decides and a card is still due.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

from tablectl.cards import Card
from tablectl.game.legality import ACTIONS
from tablectl.game.table import Table
from tablectl.observations import Bet, CardDrawn, Decision, Insurance, NoMoreBets, Observation, ShoeFault, ShoeLoaded

__all__ = ["MISTAKES", "Mistake", "Moment", "Play"]

Moment = Literal["load", "burning", "stakes", "turn", "closed"]
"""A shoe must be loaded; a card burned; a round staked; something is due in a round; a round has closed."""


class Play(Protocol):
    """What a mistake is made at."""

    table: Table
    chance: random.Random

    @property
    def shoe_left(self) -> int:
        """How many cards are left in the shoe."""

    def draw(self) -> CardDrawn:
        """The next card of the shoe."""

    def stake(self) -> list[Observation]:
        """A round's stakes, and the close of the betting."""

    def new_shoe(self) -> ShoeLoaded:
        """A new shoe is put in place."""


Make = Callable[[Play], list[Observation] | None]


class Mistake(NamedTuple):
    """A mistake. `make` gives what is reported in the place of what is due, or None where it does not fit now.

    `leads_to` are the alerts one of which must come of it.
    """

    name: str
    moment: Moment
    leads_to: tuple[str, ...]
    make: Make


MISTAKES: dict[str, Mistake] = {}


def mistake(moment: Moment, *leads_to: str) -> Callable[[Make], Make]:
    """Enter a mistake in the list, under the name of its function."""

    def enter(make: Make) -> Make:
        MISTAKES[make.__name__] = Mistake(make.__name__, moment, leads_to, make)
        return make

    return enter


# The shoe


@mistake("load", "shoe.not_cut")
def not_cut(play: Play) -> list[Observation] | None:
    """No player cut the shoe."""
    return _loaded(play, play.table.rules.decks, cut=False)


@mistake("load", "rules.layout_mismatch")
def wrong_packs(play: Play) -> list[Observation] | None:
    """The shoe is said to hold two packs more, or fewer, than the house plays."""
    decks = play.table.rules.decks
    return _loaded(play, decks + 2 if decks <= 10 else decks - 2, cut=True)


def _loaded(play: Play, decks: int, *, cut: bool) -> list[Observation]:
    play.new_shoe()
    return [ShoeLoaded(decks=decks, cut=cut)]


@mistake("load", "shoe.past_cut_card")
def past_cut_card(play: Play) -> list[Observation] | None:
    """The cut card is out, and another round is dealt."""
    return play.stake() if play.table.phase == "shuffling" and play.shoe_left > 60 else None


@mistake("burning", "action.out_of_turn")
def burn_omitted(play: Play) -> list[Observation] | None:
    """The rest of the burn is left out, and a round is dealt with it: that shows when a box decides."""
    stakes = play.stake()
    box = next(bet.box for bet in stakes if isinstance(bet, Bet))
    cards: list[Observation] = [play.draw() for _ in range(play.table.burn_left)]
    return [*stakes, *cards, Decision(box=box, hand=0, action="hit")]


@mistake("stakes", "deal.card_outside_round")
def burned_too_many(play: Play) -> list[Observation] | None:
    """One card more is burned than the house burns. Where stakes were carried, it would be the deal's first card."""
    return None if play.table.dealt_since_load or play.table.stakes.carried else [play.draw()]


@mistake("turn", "shoe.card_unread")
def unread_card(play: Play) -> list[Observation] | None:
    """The shoe cannot read a card."""
    if play.table.due().card is None:
        return None
    play.draw()
    return [CardDrawn(card=Card.UNREAD, source="shoe")]


@mistake("turn", "shoe.pulled_back")
def pulled_back(play: Play) -> list[Observation] | None:
    """A card is pushed back into the shoe."""
    fault = ShoeFault(code="pulled_back", text="E4 card pulled back at the exit")
    return [fault, ShoeFault(code=fault.code, text=fault.text, cleared=True)]


# Stakes


@mistake("stakes", "bet.below_min")
def below_the_minimum(play: Play) -> list[Observation] | None:
    """The first box has too little on it, and enough others are staked."""
    first, *rest = play.stake()
    least = play.table.rules.table_min
    if not isinstance(first, Bet) or least < 2 or len(rest) < 1 + play.table.rules.min_boxes:
        return None
    return [Bet(box=first.box, amount=least // 2), *rest]


@mistake("stakes", "deal.too_few_boxes")
def too_few_boxes(play: Play) -> list[Observation] | None:
    """The betting is closed with fewer boxes than the house deals to."""
    least = play.table.rules.min_boxes
    if least < 2 or play.table.stakes.carried:
        return None
    *stakes, close = play.stake()
    return [*stakes[: least - 1], close]


@mistake("turn", "bet.late")
def late_bet(play: Play) -> list[Observation] | None:
    """A stake is raised, or laid, while the round is dealt."""
    box = play.chance.randint(1, play.table.rules.boxes)
    there = sum(hand.stake for hand in play.table.round.hands if hand.box == box)
    return [Bet(box=box, amount=there + 500)] if _dealt(play) else None


# Cards


@mistake("turn", "action.out_of_turn")
def box_skipped(play: Play) -> list[Observation] | None:
    """The last box gets no second card, and the first hand decides."""
    short = [hand for hand in play.table.round.hands if len(hand.cards) == 1]
    if play.table.phase != "second_cards" or len(short) != 1:
        return None
    return [Decision(box=play.table.round.hands[0].box, hand=0, action="hit")]


@mistake("closed", "dealer.drew_on_17", "dealer.drew_idle")
def drew_on_17(play: Play) -> list[Observation] | None:
    """The dealer has enough, and takes a card."""
    return [play.draw()] if (play.table.round.dealer_total or 0) >= 17 else None


@mistake("turn", "dealer.stopped_short")
def stopped_short(play: Play) -> list[Observation] | None:
    """The dealer must take a card, and the next round is closed for bets."""
    return [NoMoreBets()] if play.table.phase == "dealer" else None


# Words


@mistake("turn", "action.out_of_turn")
def out_of_turn(play: Play) -> list[Observation] | None:
    """A box wants a card that does not act."""
    if not _dealt(play) or play.table.phase == "insurance":
        return None
    acting = play.table.round.acting if play.table.phase == "players" else None
    others = [box for box in range(1, play.table.rules.boxes + 1) if acting is None or box != acting.box]
    return [Decision(box=play.chance.choice(others), hand=0, action="hit")]


@mistake("turn", *(f"action.illegal_{action}" for action in ACTIONS))
def illegal_action(play: Play) -> list[Observation] | None:
    """A hand does what no rule lets it."""
    due = play.table.due()
    refused = [action for action, rule in due.actions.items() if rule is not None]
    if due.hand is None or not refused:
        return None
    return [Decision(box=due.hand.box, hand=due.hand.number, action=play.chance.choice(refused))]


@mistake("turn", "insurance.illegal")
def insured_too_high(play: Play) -> list[Observation] | None:
    """A box wants insurance for its whole stake."""
    due = play.table.due()
    return [Insurance(box=due.insurance.box, amount=due.insurance.stake)] if due.insurance else None


@mistake("turn", "insurance.not_offered")
def insurance_not_offered(play: Play) -> list[Observation] | None:
    """The first hand decides before the boxes were asked."""
    due = play.table.due()
    return [Decision(box=due.insurance.box, hand=0, action="stand")] if due.insurance else None


def _dealt(play: Play) -> bool:
    """Whether the round is being dealt."""
    return play.table.phase in ("first_cards", "second_cards", "insurance", "players", "dealer")
