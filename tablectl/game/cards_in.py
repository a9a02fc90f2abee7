"""What comes from the shoe: cards, the cut card, a new shoe, faults."""

from __future__ import annotations

from collections.abc import Mapping

from tablectl.cards import Card
from tablectl.game import shuffle
from tablectl.game.bets_in import close_betting, stopped_short
from tablectl.game.books import Books
from tablectl.game.dealing import Route, due_place, idle_code, route, unanswered
from tablectl.game.phases import BETWEEN_ROUNDS
from tablectl.game.play_in import decision, offer_missed
from tablectl.game.round import Hand, find, hands_of
from tablectl.game.speech import Held
from tablectl.game.state import State
from tablectl.instants import to_micros
from tablectl.notices import Operand
from tablectl.observations import CardDrawn, CutCard, Decision, ShoeFault, ShoeLoaded
from tablectl.places import BoxPlace, Place

__all__ = ["card_drawn", "cut_card", "place_card", "shoe_fault", "shoe_loaded"]

EMPTY = "empty"
"""The word of a shoe, or of the pit that has counted it out, for the end of the shoe."""

_UNREAD = Card.UNREAD
MOST_HELD = 12 * 52
"""No shoe holds more cards than these; what is drawn beyond them is said, and not kept."""

FAULT_ALERTS = {"pulled_back": "shoe.pulled_back", "foreign_card": "shoe.foreign_card"}
"""Faults that have an alert of their own; any other is `shoe.fault`. The words are those that profiles map to."""


def card_drawn(state: State, drawn: CardDrawn) -> None:
    """A card left the shoe."""
    known_before = state.books.drawn or state.books.decks is not None
    state.books = state.books.with_card(drawn.card)
    if not known_before:
        state.alert("shoe.books_unknown")
    place = place_card(state, drawn)
    state.note_place(state.cause, place)
    _check_face(state, drawn, place)
    if state.at is not None:
        _check_pace(state, state.at)
    if shuffle.due(state.books.drawn):
        judge_shuffle(state)


def _check_pace(state: State, at: str) -> None:
    """Two cards faster than a hand can deal them. Equal stamps prove nothing: a coarse clock, or one read that held both."""
    before, state.drawn_at = state.drawn_at, at
    if before is None or before == at:
        return
    elapsed = _milliseconds(before, at)
    if elapsed is not None and 0 < elapsed < state.house.fastest_draw_ms:
        state.alert("shoe.double_draw", ms=elapsed, least=state.house.fastest_draw_ms)


def _milliseconds(before: str, at: str) -> int | None:
    """The time between two cards; None for times that are none."""
    try:
        if before[:17] == at[:17]:  # the same minute, as nearly always
            return int(at[17:19] + at[20:23]) - int(before[17:19] + before[20:23])
        return (to_micros(at) - to_micros(before)) // 1000
    except ValueError:
        return None


def judge_shuffle(state: State) -> None:
    """Look at the order in which the cards came; said once a shoe."""
    books = state.books
    if books.decks is None or "shoe.unshuffled" in state.waived_of_shoe:
        return
    found = state.judge.judge(books.order, books.decks)
    if found:
        state.waived_of_shoe |= {"shoe.unshuffled"}
        state.alert("shoe.unshuffled", test=found.test, p=f"1/{found.value}", limit=f"1/{found.limit}", drawn=found.drawn)


def _check_face(state: State, drawn: CardDrawn, place: Place | None) -> None:
    """What the card's face alone tells: unread, or one copy more than there can be."""
    card = drawn.card
    if card is _UNREAD:
        state.shoe_notice()
        hand = find(state.round, place.box, place.hand or 0) if isinstance(place, BoxPlace) else None
        state.alert("shoe.card_unread", hand=hand, cards=(card,), place=token(place))
    elif state.books.decks is not None and state.books.impossible(card):
        state.alert("shoe.impossible_card", cards=(card,), count=state.books.copies(card), decks=state.books.decks)


def place_card(state: State, drawn: CardDrawn) -> Place | None:
    """Find a card its place in the game, or say what is wrong with it. Gives the place where it lies, as far as is known."""
    phase = state.phase
    if phase == "suspended":
        state.alert("deal.while_suspended", cards=(drawn.card,))
        return _hold(state, drawn, drawn.to)
    if phase == "closed":
        return _wrong(state, drawn, "deal.card_outside_round", drawn.to)
    if phase == "burning":
        return _burn(state, drawn)
    if phase in BETWEEN_ROUNDS:
        if state.claims_cards:
            return _after_the_round(state, drawn)
        return _in_round(state, drawn) if close_betting(state) else _no_round(state, drawn)
    if phase == "insurance" and (waiting := unanswered(state.round)) and offer_missed(state, waiting, (drawn.card,)):
        return _hold(state, drawn, drawn.to)
    return _in_round(state, drawn)


def _burn(state: State, drawn: CardDrawn) -> Place | None:
    """R04: the next cards are burned, whether the shoe marks them or not."""
    if drawn.to in (None, "burn"):
        state.burn_left -= 1
        return state.lay(drawn.card, "burn", drawn.source)
    return _wrong(state, drawn, "shoe.burn_omitted", drawn.to, numbers={"count": state.burn_left})


def _no_round(state: State, drawn: CardDrawn) -> Place | None:
    """A card came though the deal may not start; where that was said already, the card waits with it."""
    if state.phase == "suspended":
        return _hold(state, drawn, drawn.to)
    return _wrong(state, drawn, "deal.card_outside_round", drawn.to)


def _after_the_round(state: State, drawn: CardDrawn) -> Place | None:
    """A card after the round closed and before the next stake belongs to that round."""
    place = drawn.to or "dealer"
    if isinstance(place, BoxPlace):
        hands = hands_of(state.round, place.box)
        code = "deal.extra_card" if hands else "deal.box_without_stake"
        return _wrong(state, drawn, code, place, hands[-1] if hands else None)
    return _wrong(state, drawn, "deal.card_outside_round" if place == "burn" else idle_code(state.round), place)


def _in_round(state: State, drawn: CardDrawn) -> Place | None:
    way = route(state.phase, state.round, drawn.to, state.rules)
    for hand in way.stands:
        state.end_hand(hand, "stood")
    if way.stands:
        state.go_on()
        way = route(state.phase, state.round, way.to, state.rules)
    if way.code:
        return _wrong(state, drawn, way.code, way.to, way.blamed, _numbers(state, way))
    if drawn.crosswise:
        _double_by(state, way.to)
    state.dealt_since_load = True
    return state.lay(drawn.card, way.to, drawn.source)


def _double_by(state: State, place: Place) -> None:
    """A card that lies across a hand of two cards, which had not said what it wants, doubles it."""
    hand = find(state.round, place.box, place.hand or 0) if isinstance(place, BoxPlace) else None
    acting = state.round.acting if state.phase == "players" else None
    if hand is not None and hand is acting and hand.owed is None and len(hand.cards) == 2:
        decision(state, Decision(box=hand.box, hand=hand.number, action="double"))


def _numbers(state: State, way: Route) -> dict[str, Operand]:
    """What decided that a card is in the wrong place."""
    due = due_place(state.phase, state.round, state.rules)
    return {"place": token(way.to), "due": token(due) if due else "nobody"}


def _wrong(
    state: State,
    drawn: CardDrawn,
    code: str,
    place: Place | None,
    hand: Hand | None = None,
    numbers: Mapping[str, Operand] | None = None,
) -> Place | None:
    """Say what is wrong with a card. Where that stops the game the card waits for a ruling; else it counts where it lies."""
    if code.startswith("dealer."):
        numbers = {"total": state.round.dealer_total}
    box = place.box if isinstance(place, BoxPlace) else None
    alert = state.alert(code, numbers, hand=hand, box=box, cards=(drawn.card,))
    if alert is not None and alert in state.blockers:
        return _hold(state, drawn, place)
    return state.lay(drawn.card, place, drawn.source) if place is not None else None


def _hold(state: State, drawn: CardDrawn, place: Place | None) -> Place | None:
    """Keep a card that has no place in the game until the newest of what stops it is ruled on; where it was seen, say so."""
    if len(state.held) < MOST_HELD:
        state.held = (*state.held, Held(drawn.card, place, drawn.source, state.blockers[-1].id, state.cause))
    if place == "dealer":
        state.dealt(drawn.card, place, drawn.source, (*state.round.dealer, drawn.card))
    elif isinstance(place, BoxPlace):
        hand = find(state.round, place.box, place.hand or 0)
        where = BoxPlace(place.box, place.hand or 0)
        state.dealt(drawn.card, where, drawn.source, (*hand.cards, drawn.card) if hand else (drawn.card,))
    elif place == "burn":
        state.dealt(drawn.card, place, drawn.source, ())
    return place


def token(place: Place | None) -> str:
    """A place as an alert's operand: `box 3`, `box 3.1`, `dealer`, `burn`; `unseen` when nothing saw it."""
    if isinstance(place, BoxPlace):
        return f"box {place.box}.{place.hand}" if place.hand else f"box {place.box}"
    return place or "unseen"


def cut_card(state: State, _: CutCard) -> None:
    """The cut card came: this round is finished, the next one needs a new shuffle."""
    state.past_cut = True
    state.shoe_notice()
    if not state.round_open:
        if state.phase == "suspended" and state.resume_to == "betting":
            state.resume_to = "shuffling"
        state.fire("cut")


def shoe_loaded(state: State, loaded: ShoeLoaded) -> None:
    """A shuffled shoe was put in place; what was left of the old one is discarded."""
    if stopped_short(state):
        return
    state.books = Books.of_new_shoe(loaded.decks)
    state.burn_left = state.rules.burn_cards
    state.past_cut = False
    state.waived_of_shoe = frozenset()
    state.claims_cards = False
    state.dealt_since_load = False
    if state.phase == "suspended" and state.resume_to in BETWEEN_ROUNDS:
        state.resume_to = "burning" if state.burn_left else "betting"
    state.fire("load_shoe")
    state.shoe_notice()
    if not loaded.cut and state.rules.player_cut:
        state.alert("shoe.not_cut")
    if loaded.decks != state.rules.decks:
        alert = state.alert("rules.layout_mismatch", rule="R01", key="decks", printed=loaded.decks, ruled=state.rules.decks)
        if alert and state.phase != "closed" and state.house.alerts.get(alert.code) != "alert":
            state.suspend(alert)


def shoe_fault(state: State, fault: ShoeFault) -> None:
    """The shoe reports a fault: the game stands while it lasts. Its end, where the shoe tells it, lets the game go on."""
    if fault.code == EMPTY:
        _empty(state)
        return
    if fault.cleared:
        ended = tuple(alert for code, alert in state.faults if code == fault.code)
        state.faults = tuple(pair for pair in state.faults if pair[0] != fault.code)
        state.resume(*(alert for alert in ended if not _needs_ruling(state, alert)))
        return
    if any(code == fault.code for code, _ in state.faults):
        return  # it still lasts
    alert = state.alert(FAULT_ALERTS.get(fault.code, "shoe.fault"), fault=fault.code, text=fault.text or fault.code)
    if alert:
        state.faults = (*state.faults, (fault.code, alert.id))


def _empty(state: State) -> None:
    """The shoe has no more cards: what must be missing, or must have been on the cards that passed unread, is known now."""
    state.books = state.books.emptied()
    reckoning = state.books.reckoning()
    state.shoe_notice(reckoning.inferred if reckoning else ())
    judge_shuffle(state)
    if reckoning and reckoning.short:
        state.alert("shoe.missing_cards", cards=reckoning.cards, count=reckoning.short, unread=reckoning.unread)


def _needs_ruling(state: State, alert: int) -> bool:
    """An integrity alert does not end with the fault that raised it, nor one that a card waits for."""
    return any(held.alert == alert for held in state.held) or any(
        open_.id == alert and open_.ack_required for open_ in state.open_alerts
    )
