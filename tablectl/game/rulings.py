"""What a supervisor's ruling does to a suspended game.

A ruling that names an alert is about that one; one that names none is about all that the game waits for. `accept` lets what
happened stand: a card stays where it lies, a deal that began wrongly goes on. `burn` takes the waiting cards out of the game.
`void_round` gives every stake back. `void_hand` gives one hand's stake back. `move` lays the waiting card where it should have
gone. When nothing is waited for any more, the game goes on from where the cards really lie.
"""

from __future__ import annotations

from msgspec.structs import replace

from tablectl.game.bets_in import close_betting
from tablectl.game.cards_in import place_card
from tablectl.game.phases import BETWEEN_ROUNDS
from tablectl.game.round import change_hand, find
from tablectl.game.state import Held, State
from tablectl.notices import Alert
from tablectl.observations import CardDrawn, Ruling
from tablectl.places import BoxPlace, Place

__all__ = ["ruling"]


def ruling(state: State, ruled: Ruling) -> None:
    """A supervisor decides what a suspended game does next. What does not fit the game changes nothing."""
    about = tuple(alert for alert in state.blockers if ruled.alert in (None, alert.id))
    if not about:
        return
    waiting = tuple(held for held in state.held if any(held.alert == alert.id for alert in about))
    if not _makes_sense(state, ruled, waiting):
        return
    state.held = tuple(held for held in state.held if held not in waiting)
    if ruled.do == "accept":
        _let_stand(state, about)
    elif ruled.do == "void_hand" and ruled.box is not None:
        _void(state, ruled.box, ruled.hand or 0)
    state.resume(*(alert.id for alert in about))
    if state.phase == "suspended":
        return
    if ruled.do == "void_round":
        _void_round(state)
    elif ruled.do == "move" and ruled.to is not None:
        _lay(state, waiting[0], ruled.to)
    elif ruled.do == "accept":
        _go_on(state, about, waiting)


def _makes_sense(state: State, ruled: Ruling, waiting: tuple[Held, ...]) -> bool:
    """Whether the ruling can be carried out on the table as it stands."""
    if ruled.do == "void_hand":
        hand = find(state.round, ruled.box or 0, ruled.hand or 0)
        return hand is not None and hand.result is None
    if ruled.do == "move":
        to = ruled.to
        known = not isinstance(to, BoxPlace) or find(state.round, to.box, to.hand or 0) is not None
        return len(waiting) == 1 and to is not None and known
    if ruled.do == "burn":
        return bool(waiting)
    return ruled.do in ("accept", "void_round")


def _let_stand(state: State, about: tuple[Alert, ...]) -> None:
    """Take away what would stop the game again for the same reason."""
    codes = {alert.code for alert in about}
    state.waived |= codes
    if "shoe.burn_omitted" in codes:
        state.burn_left = 0
        state.resume_to = "betting"
    if "insurance.not_offered" in codes:
        for hand in state.round.hands:
            if hand.number == 0 and hand.insurance is None:
                state.round = change_hand(state.round, hand, replace(hand, insurance=0))


def _go_on(state: State, about: tuple[Alert, ...], waiting: tuple[Held, ...]) -> None:
    """The game goes on, and the cards that waited come to lie where they were seen, or where the dealing order says."""
    if any(alert.code in ("deal.too_few_boxes", "shoe.past_cut_card") for alert in about):
        close_betting(state)
    for held in waiting:
        state.go_on()
        if state.phase == "suspended":
            state.held = (*state.held, held)
        elif held.place is None or state.phase in BETWEEN_ROUNDS:
            place_card(state, CardDrawn(card=held.card, to=held.place, source=held.source))
        else:
            _lay(state, held, held.place)


def _lay(state: State, held: Held, place: Place) -> None:
    state.go_on()
    state.lay(held.card, place, held.source)


def _void(state: State, box: int, number: int) -> None:
    hand = find(state.round, box, number)
    if hand is not None:
        state.end_hand(hand, "void")


def _void_round(state: State) -> None:
    """Every hand that is not settled yet gets its stake back, and the round closes."""
    if not state.round_open:
        return
    for hand in state.round.hands:
        if hand.result is None:
            _void(state, hand.box, hand.number)
    if state.phase in BETWEEN_ROUNDS:
        state.close_round()  # it was stopped before the deal began
    else:
        state.fire("void_round")
