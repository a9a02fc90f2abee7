"""What comes from the camera: where the drawn cards lie, and what lies there that should not.

A card counts as soon as the shoe reports it, where the dealing order says. The camera's word comes when the card has come to
rest. It confirms that place, or says another: then the round is folded again with the card where it lies, as for a correction,
and what follows from that (a hand that stood, a box that was passed over) is said. Two readings of one card that differ are never
resolved here: the game stops, and a supervisor says which it is.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game.cards_in import MOST_HELD, token
from tablectl.game.corrections import DRAW, fold_again
from tablectl.game.dealing import route
from tablectl.game.hand import total
from tablectl.game.phases import IN_ROUND
from tablectl.game.play_in import decision
from tablectl.game.round import Hand, find, hands_of
from tablectl.game.speech import Held
from tablectl.game.state import State
from tablectl.instants import to_micros
from tablectl.notices import Operand
from tablectl.observations import CardDrawn, Collected, Decision, Felt, FeltKind, NoMoreBets
from tablectl.places import BoxPlace, Place

__all__ = ["collected", "felt"]

WITHDRAWN = 1_000_000
"""Microseconds for which a hand may still hide chips that it laid in time: no player knows a card by then."""
IDLE = ("closed", "shuffling", "burning")
"""The phases in which cards may lie on the felt that were not drawn for a round: a new pack is spread and looked at."""


def felt(state: State, seen: Felt) -> None:
    """The camera saw something."""
    _KINDS[seen.kind](state, seen)


def collected(state: State, picked: Collected) -> None:
    """A hand's cards were picked up. A hand that still plays has lost them, if they are those that were seen to lie there."""
    hand = find(state.round, picked.box, picked.hand)
    if state.phase not in IN_ROUND or any(other.result is not None for other in hands_of(state.round, picked.box)):
        return  # of several hands of a box, what lies nearest does not tell which one is which number
    if hand is None:
        return
    history, place = state.history, BoxPlace(hand.box, hand.number)
    draws = [index for index in history.draws() if state.place_of(history.entries[index].cause) == place]
    if draws and all(history.draw(index).to is not None for index in draws):  # else: the last round's, and a new card falls
        state.alert("felt.card_missing", hand=hand, cards=hand.cards, due=token(place))


def _placed(state: State, seen: Felt) -> None:
    index = _draw(state, seen)
    if index is None:
        return
    drawn, lies = state.history.draw(index), state.place_of(state.history.entries[index].cause)
    if lies == "burn" and not isinstance(seen.to, BoxPlace):
        return  # shown before it goes to the burned cards
    if not state.folding:
        changed = _as_seen(state, drawn, lies, seen)
        if changed != drawn and state.history.base is not None:
            again = changed.card is not drawn.card or changed.crosswise or not _same(state, lies, changed.to)
            if again:
                fold_again(state, index, changed)
            else:
                state.history = state.history.with_draw(index, changed)
    if Card.UNREAD not in (seen.card or Card.UNREAD, drawn.card) and seen.card is not drawn.card:
        _mismatch(state, index, drawn.card, seen)


def _as_seen(state: State, drawn: CardDrawn, lies: Place | None, seen: Felt) -> CardDrawn:
    """A draw with what the camera adds to it: a face that the shoe could not read, its place, that it lies across."""
    if drawn.card is Card.UNREAD and seen.card not in (None, Card.UNREAD):
        drawn = replace(drawn, card=seen.card, source="camera")
    if seen.to is not None and drawn.to is None and lies != "burn":
        # Within a box that has split twice, the order of dealing knows the hand better than what lies nearest.
        drawn = replace(drawn, to=lies if lies is not None and _same(state, lies, seen.to) else seen.to)
    elif seen.to is not None and not _same(state, drawn.to, seen.to):
        drawn = replace(drawn, to=seen.to)
    if seen.crosswise and not drawn.crosswise and _may_double_by(state, lies):
        drawn = replace(drawn, crosswise=True)
    return drawn


def _may_double_by(state: State, lies: Place | None) -> bool:
    """Whether a card across a hand of two can be news: the hand has three cards by now and did not say that it doubles."""
    hand = _hand_at(state, lies)
    return hand is not None and len(hand.cards) == 3 and hand.stake == hand.first_stake


def _mismatch(state: State, index: int, shoe: Card, seen: Felt) -> None:
    draws = state.history.draws()
    number = draws.index(index) + 1
    same = (alert for alert in state.open_alerts if alert.code == "felt.identity_mismatch" and alert.round == state.round.number)
    if any(alert.operands.get(DRAW) == number and alert.operands.get("camera") == seen.card for alert in same):
        return
    lies = state.place_of(state.history.entries[index].cause)
    about: dict[str, Operand] = {DRAW: number, "place": token(lies or seen.to), "shoe": str(shoe), "camera": str(seen.card)}
    state.alert("felt.identity_mismatch", about, hand=_hand_at(state, lies), cards=(shoe, seen.card or Card.UNREAD))


def _appeared(state: State, seen: Felt) -> None:
    """A card that nobody drew waits for a ruling, like any that has no place in the game."""
    if state.playing in IDLE:
        return
    card = seen.card or Card.UNREAD
    box = seen.to.box if isinstance(seen.to, BoxPlace) else None
    alert = state.alert("felt.card_appeared", hand=_hand_at(state, seen.to), box=box, cards=(card,), place=token(seen.to))
    if alert is not None and alert in state.blockers and len(state.held) < MOST_HELD:
        state.held = (*state.held, Held(card, seen.to, "camera", alert.id, state.cause))


def _missing(state: State, seen: Felt) -> None:
    index = _draw(state, seen)
    lies = _alive(state, index) if seen.to is not None else _never_seen(state, index)
    if index is not None and lies is not None:
        cards = (state.history.draw(index).card,)
        state.alert("felt.card_missing", hand=_hand_at(state, lies), cards=cards, due=token(lies))


def _moved(state: State, seen: Felt) -> None:
    index = _draw(state, seen)
    lies = _alive(state, index)
    if index is not None and lies is not None and not _same(state, lies, seen.to):
        cards = (state.history.draw(index).card,)
        state.alert("felt.card_moved", hand=_hand_at(state, lies), cards=cards, due=token(lies), place=token(seen.to))


def _swapped(state: State, seen: Felt) -> None:
    lies = _alive(state, _draw(state, seen))
    if lies is not None:
        was, card = seen.was or Card.UNREAD, seen.card or Card.UNREAD
        state.alert("felt.card_swapped", hand=_hand_at(state, lies), cards=(was, card), due=token(lies), was=was, camera=card)


def _split(state: State, seen: Felt) -> None:
    """A box's two cards were parted: it splits, unless it has said so. The hands before it stand, if they may."""
    place = seen.to
    if not isinstance(place, BoxPlace) or state.phase != "players" or len(hands_of(state.round, place.box)) > (place.hand or 0):
        return
    way = route("players", state.round, BoxPlace(place.box), state.rules)
    if way.code:
        return
    for hand in way.stands:
        state.end_hand(hand, "stood")
    state.go_on()
    acting = state.round.acting if state.phase == "players" else None
    if acting is not None and acting.box == place.box and acting.owed is None:
        decision(state, Decision(box=place.box, action="split"))


def _not_collected(state: State, seen: Felt) -> None:
    index = _draw(state, seen)
    hand = _hand_at(state, state.place_of(state.history.entries[index].cause)) if index is not None else None
    if hand is not None and hand.insurance:
        return  # rightly it lies there until the round ends: that is with the very card that the felt has just seen
    # A round may have ended before the felt is sure: the dealer's last card takes less time than a hand that is not collected.
    if hand is not None and hand.result == "bust" and state.playing in (*IN_ROUND, "betting"):
        state.alert("felt.not_collected", hand=hand, cards=hand.cards)


def _staked(state: State, seen: Felt) -> None:
    """The chips of a box have changed: after the betting closed they may only do so by what its hands decide, or win and lose."""
    if not isinstance(seen.to, BoxPlace) or state.playing not in IN_ROUND or _was_in_time(state, seen):
        return
    box = seen.to.box
    hands, staked = hands_of(state.round, box), state.stakes.on(box) + state.stakes.carried_on(box)
    if seen.kind == "stake_laid":
        late = not staked  # else it was seen late: an arm lay over it, or following began anew
    elif any(hand.result is not None for hand in hands):
        return  # paid or taken
    elif seen.kind == "stake_taken":
        late = bool(hands) and all(total(hand.cards).value is not None for hand in hands)  # else one may be bust
    else:
        acting = state.round.acting if state.phase == "players" else None
        may_add = acting is not None and acting.box == box
        late = len(hands) == 1 and hands[0].stake == hands[0].first_stake and not may_add
    if late:
        state.alert("bet.late", box=box, amount=0 if seen.kind == "stake_taken" else Card.UNREAD.value, phase=state.playing)


def _was_in_time(state: State, seen: Felt) -> bool:
    """Whether a stake may have stood so when the dealer, or the first card, closed the betting.

    It was not seen otherwise after that, and the hand that laid it was away within `WITHDRAWN`.
    """
    observations = (entry.observation for entry in state.history.entries)
    closed = next((one.at for one in observations if isinstance(one, NoMoreBets | CardDrawn)), None)
    if closed is None or seen.last is None or seen.first is None:
        return False
    return seen.last <= closed and to_micros(seen.first) <= to_micros(closed) + WITHDRAWN


_KINDS: dict[FeltKind, Callable[[State, Felt], None]] = {
    "placed": _placed,
    "appeared": _appeared,
    "missing": _missing,
    "moved": _moved,
    "swapped": _swapped,
    "split": _split,
    "not_collected": _not_collected,
    "stake_laid": _staked,
    "stake_taken": _staked,
    "stake_changed": _staked,
}


def _draw(state: State, seen: Felt) -> int | None:
    """The index in the history of the card that it is about; None for one of an older round."""
    if seen.ago is None:
        return None
    draws = state.history.draws(before=state.cause)
    return draws[-1 - seen.ago] if seen.ago < len(draws) else None


def _alive(state: State, index: int | None) -> Place | None:
    """Where a draw lies whose place still matters: in a hand that is not settled, or with the dealer, and nothing is ruled on."""
    if index is None or state.phase not in IN_ROUND:
        return None
    lies = state.place_of(state.history.entries[index].cause)
    if isinstance(lies, BoxPlace):
        hands, card = hands_of(state.round, lies.box), state.history.draw(index).card
        if len(hands) > 1:  # it may have been parted from where it was dealt; and of two like it, one may be collected
            holders = [hand for hand in hands if card in hand.cards]
            alive = holders and all(hand.result is None for hand in holders)
            return BoxPlace(holders[0].box, holders[0].number) if alive else None
        hand = find(state.round, lies.box, lies.hand or 0)
        return lies if hand is not None and hand.result is None else None
    return lies if lies == "dealer" else None


def _never_seen(state: State, index: int | None) -> Place | None:
    """Where a draw should lie that was not seen at all; None where that is no wonder: burned, or bust and taken at once."""
    if index is None or state.phase not in IN_ROUND:
        return None
    lies = state.place_of(state.history.entries[index].cause)
    hand = _hand_at(state, lies)
    took_it_over = hand is not None and hand.result == "bust" and hand.cards[-1] is state.history.draw(index).card
    return None if lies == "burn" or took_it_over else lies


def _hand_at(state: State, place: Place | None) -> Hand | None:
    return find(state.round, place.box, place.hand or 0) if isinstance(place, BoxPlace) else None


def _same(state: State, one: Place | None, other: Place | None) -> bool:
    """Whether two places are one; where the hand is not told, or the box has split twice, whether they are of one box."""
    if isinstance(one, BoxPlace) and isinstance(other, BoxPlace):
        hands = (one.hand or 0) == (other.hand or 0) or other.hand is None or len(hands_of(state.round, one.box)) > 2
        return one.box == other.box and hands
    return one == other
