"""What comes before the deal: the table opened and closed, seats, stakes, the close of the betting."""

from __future__ import annotations

from msgspec.structs import replace

from tablectl.game.betting import holder, seated
from tablectl.game.phases import BETWEEN_ROUNDS, IN_ROUND
from tablectl.game.round import hands_of
from tablectl.game.state import State
from tablectl.observations import Bet, NoMoreBets, Seat, TableState

__all__ = ["bet", "close_betting", "no_more_bets", "seat", "stopped_short", "table_state"]


LIMITS = "bet limits"
"""In `State.waived`: the stakes outside the posted limits were told when the betting closed first."""


def bet(state: State, placed: Bet) -> None:
    """A bettor says what is his on a box in all, or what lies there from the last round is seen."""
    if state.playing not in BETWEEN_ROUNDS:
        if not _lies_there(state, placed):
            state.alert("bet.late", box=placed.box, amount=placed.amount, phase=state.playing)
        return
    if placed.box > state.rules.boxes:
        state.alert("rules.layout_mismatch", box=placed.box, rule="R02", key="boxes", printed=placed.box, ruled=state.rules.boxes)
    elif placed.kind == "carried":
        _carried(state, placed)
    elif placed.kind == "word" or (placed.kind == "cash" and not state.rules.cash_plays):
        state.claims_cards = False
        state.alert("bet.not_chips", box=placed.box, kind=placed.kind, amount=placed.amount)
    elif state.rules.back_betting == "no" and _stands_behind(state, placed):
        state.alert("action.not_authorised", box=placed.box, rule="R07", by=placed.by)
    else:
        state.stakes = state.stakes.with_bet(placed)
        if placed.amount:
            state.open_round()


def _lies_there(state: State, placed: Bet) -> bool:
    """Whether a late report only repeats what the bettor, or the whole box, has there."""
    box = sum(hand.stake for hand in hands_of(state.round, placed.box))
    return placed.kind == "chips" and state.round_open and placed.amount in (state.stakes.of(placed.box, placed.by), box)


def _carried(state: State, placed: Bet) -> None:
    """R15: what had to stay in place lies there, or does not."""
    carried = state.stakes.carried_on(placed.box)
    if placed.amount != carried:
        state.alert("bet.carried_removed", box=placed.box, amount=placed.amount, carried=carried)
        state.stakes = state.stakes.with_carried(placed.box, placed.amount)
    if carried or placed.amount:
        state.open_round()


def _stands_behind(state: State, placed: Bet) -> bool:
    authority = holder(placed.box, state.stakes.laid, state.seats, state.rules)
    return authority is not None and placed.by != authority


def seat(state: State, seat_: Seat) -> None:
    """A player sat down or left."""
    state.seats = seated(state.seats, seat_)


def no_more_bets(state: State, _: NoMoreBets) -> None:
    """The dealer closed the betting. With nothing staked it opens no round; in a deal that has begun it changes nothing."""
    if state.phase in ("betting", "shuffling"):
        if state.stakes.boxes(state.rules):
            close_betting(state)
        state.claims_cards = False
    elif state.phase not in ("first_cards", "second_cards"):
        stopped_short(state)


def close_betting(state: State) -> bool:
    """Close the betting, by the dealer's word or by the first card. False when the deal may not start."""
    if not state.stakes.boxes(state.rules) and not state.dealt_since_load:
        return False
    state.open_round()
    if state.phase == "shuffling":
        if "shoe.past_cut_card" not in state.waived:
            alert = state.alert("shoe.past_cut_card")
            if alert is not None and alert in state.blockers:
                return False
            state.waived |= {"shoe.past_cut_card"}
        state.fire("shuffle_waived")
    if LIMITS not in state.waived:
        state.waived |= {LIMITS}
        for limit in state.stakes.outside_limits(state.rules):
            state.alert(limit.code, box=limit.box, amount=limit.amount, limit=limit.limit)
    hands = state.stakes.hands(state.rules)
    state.round = replace(state.round, hands=hands)
    if len(hands) < state.rules.min_boxes and "deal.too_few_boxes" not in state.waived:
        alert = state.alert("deal.too_few_boxes", count=len(hands), least=state.rules.min_boxes)
        if alert is not None and alert in state.blockers:
            return False
        state.waived |= {"deal.too_few_boxes"}
    return state.fire("close_bets")


def table_state(state: State, table: TableState) -> None:
    """The pit opens the table, if what is printed on it is what the house rules say, or closes it."""
    if table.state == "closed":
        if not stopped_short(state):
            state.fire("close")
        return
    if _layout_agrees(state, table.layout or {}):
        if state.fire("open"):
            state.repeat_integrity_alerts()
    else:
        state.fire("close")


def _layout_agrees(state: State, layout: dict[str, str | int | bool]) -> bool:
    agrees = True
    for key, printed in layout.items():
        ruled = getattr(state.rules, key, None)
        ruled = ",".join(map(str, ruled)) if isinstance(ruled, tuple) else ruled
        if str(printed) != str(ruled):
            agrees = False
            state.alert("rules.layout_mismatch", key=key, printed=str(printed), ruled=str(ruled))
    return agrees


def stopped_short(state: State) -> bool:
    """Whether the game goes on elsewhere while the dealer is under 17 and stakes are alive; said where it is so."""
    if state.phase not in IN_ROUND or all(hand.result is not None for hand in state.round.hands):
        return False
    alert = state.alert("dealer.stopped_short", cards=state.round.dealer, total=state.round.dealer_total)
    return alert is not None and alert in state.blockers
