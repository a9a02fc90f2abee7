"""What a supervisor's ruling does to a suspended game.

A ruling that names an alert is about that one; one that names none is about all that the game waits for. `accept` lets what
happened stand: a card stays where it lies, a deal that began wrongly goes on. `burn` takes the waiting cards out of the game.
`void_round` gives every stake back, `void_hand` one hand's. `move` lays the waiting card where it should have gone. `correct`
says what a card was that was misread or not read (`tablectl.game.corrections`). When nothing is waited for any more, the game
goes on from where the cards really lie.
"""

from __future__ import annotations

from msgspec.structs import replace

from tablectl.game.bets_in import close_betting
from tablectl.game.cards_in import place_card
from tablectl.game.corrections import correct
from tablectl.game.phases import BETWEEN_ROUNDS, IN_ROUND
from tablectl.game.play_in import decline_all
from tablectl.game.round import find
from tablectl.game.speech import Held
from tablectl.game.state import State
from tablectl.notices import Alert
from tablectl.observations import CardDrawn, Ruling
from tablectl.places import BoxPlace, Place

__all__ = ["ruling"]

CLOSING = frozenset({"deal.too_few_boxes", "shoe.past_cut_card"})
"""What stops a betting from being closed; accepted, it is closed."""
BEGINNING = CLOSING | {"shoe.burn_omitted"}
"""What stops a deal from beginning; accepted, the cards that waited are its first."""


def ruling(state: State, ruled: Ruling) -> None:
    """A supervisor decides. What does not fit the game, or comes from somebody who may not rule, is refused: nothing changes."""
    if state.supervisors is not None and ruled.by not in state.supervisors:
        state.alert("action.not_authorised", action=ruled.do, by=ruled.by, refused="not_a_supervisor")
        return
    refused = correct(state, ruled) if ruled.do == "correct" else _ruled(state, ruled)
    if refused:
        state.alert("action.out_of_turn", action=ruled.do, by=ruled.by, refused=refused)


def _ruled(state: State, ruled: Ruling) -> str | None:
    """Carry out a ruling other than a correction. Gives the reason where it makes no sense."""
    about = tuple(alert for alert in state.blockers if ruled.alert in (None, alert.id))
    waiting = tuple(held for held in state.held if any(held.alert == alert.id for alert in about))
    if ruled.do == "void_hand" and ruled.box is None and about:
        ruled = replace(ruled, box=about[0].box, hand=about[0].hand)
    refused = _refusal(state, ruled, about, waiting)
    if refused:
        return refused
    state.held = tuple(held for held in state.held if held not in waiting)
    if ruled.do == "accept":
        _let_stand(state, about)
    elif ruled.do == "void_hand" and ruled.box is not None:
        _void(state, ruled.box, ruled.hand or 0)
    state.resume(*(alert.id for alert in about))
    if state.phase == "suspended":
        return None
    if ruled.do == "void_round":
        _void_round(state)
    elif ruled.do == "move" and ruled.to is not None:
        _lay(state, waiting[0], ruled.to)
    elif ruled.do == "burn":
        for held in waiting:
            state.note_place(held.cause, state.lay(held.card, "burn", held.source))
            if state.phase == "burning":
                state.burn_left = max(0, state.burn_left - 1)
    else:  # a hand was voided, or what happened stands
        _go_on(state, about if ruled.do == "accept" else (), waiting)
    return None


def _refusal(state: State, ruled: Ruling, about: tuple[Alert, ...], waiting: tuple[Held, ...]) -> str | None:
    """Why the ruling cannot be carried out on the table as it stands; None when it can."""
    if ruled.do == "void_hand":
        hand = find(state.round, ruled.box or 0, ruled.hand or 0)
        if hand is None or state.playing in BETWEEN_ROUNDS:
            return "no_such_hand"
        return "settled" if hand.result is not None else None
    if ruled.do == "void_round":
        return None if about or state.round_open else "nothing_open"
    if not about:
        return "nothing_open"
    if ruled.do == "burn":
        return None if waiting else "no_card_waits"
    if ruled.do == "move":
        if len(waiting) != 1:
            return "no_card_waits"
        to = ruled.to
        if to is None or (isinstance(to, BoxPlace) and find(state.round, to.box, to.hand or 0) is None):
            return "no_stake"
    return None


def _let_stand(state: State, about: tuple[Alert, ...]) -> None:
    """Take away what would stop the game again for the same reason."""
    codes = {alert.code for alert in about}
    state.waived |= codes
    if "shoe.burn_omitted" in codes:
        state.burn_left = 0
        state.resume_to = "betting"
    if "insurance.not_offered" in codes:
        decline_all(state)


def _go_on(state: State, about: tuple[Alert, ...], waiting: tuple[Held, ...]) -> None:
    """The game goes on, and the cards that waited come to lie where they were seen, or where the dealing order says.

    A card that came between two rounds stays where it lies, unless the deal itself was what had to be ruled on.
    """
    begins = any(alert.code in BEGINNING for alert in about)
    if any(alert.code in CLOSING for alert in about):
        close_betting(state)
    for held in waiting:
        state.go_on()
        state.hushed = BoxPlace(held.place.box, held.place.hand or 0) if isinstance(held.place, BoxPlace) else held.place
        if state.phase == "suspended":
            state.held = (*state.held, held)
        elif (held.place is None and state.phase in IN_ROUND) or (begins and state.phase in BETWEEN_ROUNDS):
            state.note_place(held.cause, place_card(state, CardDrawn(card=held.card, to=held.place, source=held.source)))
        elif held.place is not None:
            _lay(state, held, held.place)
    state.hushed = None


def _lay(state: State, held: Held, place: Place) -> None:
    state.go_on()
    state.note_place(held.cause, state.lay(held.card, place, held.source))


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
