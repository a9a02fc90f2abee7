"""A draw was another card than was read, or went elsewhere than the dealing order says: the round is folded again with it.

The one comes from a `correct` ruling, or from a camera that could read what the shoe could not; the other from the camera.

The table goes back to where it stood before the round opened and takes in everything once more. What comes out as it was said is
not said again; an outcome or a close that comes out differently is said with the number of the notice that it `corrects`; a
card that waited for the ruling, and what is settled only now, are said for the first time.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict, replace

from tablectl.cards import Card
from tablectl.game.history import History
from tablectl.game.speech import Drafted
from tablectl.game.state import State
from tablectl.notices import Alert, Dealt, Outcome, PhaseChanged, Prompt, RoundClosed
from tablectl.observations import CardDrawn, Ruling

__all__ = ["correct", "fold_again"]

DRAW = "draw"
"""The operand of an alert that names the draw it is about, counted from 1 in its round."""
SETTLING = frozenset({"pay", "take", "push", "carry"})
UNCOMPARED = frozenset({"seq", "at", "round", "cause", "corrects", "alerts", "duration_ms"})


def correct(state: State, ruled: Ruling) -> str | None:
    """Fold the round again with the card that the ruling names. Gives the reason where that makes no sense, and does nothing."""
    history = state.history
    if ruled.card is None or ruled.card is Card.UNREAD:
        return "unknown_card"
    index = _which(history, ruled)
    if index is None or history.base is None:
        return "no_such_draw"
    fold_again(state, index, replace(history.draw(index), card=ruled.card))
    return None


def fold_again(state: State, index: int, drawn: CardDrawn) -> None:
    """Fold the round again with another draw at this index of its history, which must have a base."""
    history = state.history
    corrected = history.with_draw(index, drawn)
    phase, seq, cause, at = state.phase, state.seq, state.cause, state.at
    alerts, in_round = state.alerts, state.round.alerts
    unsaid = state.drop_draft()  # what this very observation was alerted for
    drafts = _folded(state, corrected, alerts)
    new_alerts = state.alerts - alerts
    state.seq, state.cause, state.at, state.prompted = seq, cause, at, None
    state.round = replace(state.round, alerts=in_round + new_alerts)
    for _, kind, fields in unsaid:
        state.say_alert(fields) if kind is Alert else state.say(kind, *fields)
    placed = _say_changes(state, history, drafts, corrected.entries[index].cause, alerts)
    if state.phase != phase:
        state.say(PhaseChanged, phase, state.phase)
    state.shoe_notice()
    said = {alert.id: alert for alert in history.alerts()}
    state.open_alerts = tuple(said.get(alert.id, alert) for alert in state.open_alerts)
    state.blockers = tuple(said.get(alert.id, alert) for alert in state.blockers)
    state.history = corrected._replace(placed=corrected.placed | placed)


def _which(history: History, ruled: Ruling) -> int | None:
    """The entry that the ruling is about: by the number of the draw, by an alert, or the one card that is unread."""
    draws = history.draws()
    if ruled.draw is not None:
        return draws[ruled.draw - 1] if 0 < ruled.draw <= len(draws) else None
    if ruled.alert is not None:
        about = [alert for alert in history.alerts() if alert.id == ruled.alert]
        named = next((alert.operands[DRAW] for alert in about if DRAW in alert.operands), None)
        if isinstance(named, int):
            return draws[named - 1] if 0 < named <= len(draws) else None
        causes = {alert.cause for alert in about}
        return next((index for index in draws if history.entries[index].cause in causes), None)
    unread = [index for index in draws if history.draw(index).card is Card.UNREAD]
    return unread[0] if len(unread) == 1 else None


def _folded(state: State, history: History, alerts: int) -> list[tuple[int, int, Drafted]]:
    """Take the round in again, and give what would be said, with the numbers of the observation that caused it and its round."""
    assert history.base is not None
    state.history = history
    state.folding = True
    state.restore_standing(history.base)
    state.alerts = alerts
    state.known_alerts = {}
    for alert in history.alerts():
        state.known_alerts.setdefault((alert.cause, alert.code), []).append(alert.id)
    drafts: list[tuple[int, int, Drafted]] = []
    for entry in history.entries:
        if isinstance(entry.observation, Ruling) and entry.observation.do == "correct":
            continue  # what it did is in the entries already
        state.cause = entry.cause
        state.take_in(entry.observation)
        drafts += [(entry.cause, state.round.number, draft) for draft in state.drop_draft()]
    state.known_alerts = {}
    state.folding = False
    return drafts


def _say_changes(
    state: State, history: History, drafts: list[tuple[int, int, Drafted]], corrected: int, alerts: int
) -> frozenset[int]:
    """Say what comes out differently. Gives the draws whose place is said only now."""
    gone, closes, placed = history.outcomes(), history.closed(), history.placed_causes()
    said_now: set[int] = set()
    anew: set[tuple[int, int, int]] = set()
    for cause, number, (_, kind, fields) in drafts:
        if kind is Alert and fields[0] > alerts:
            state.say(Alert, *fields)
        elif kind is Dealt and (cause == corrected or cause not in placed):
            said_now.add(cause)
            state.say(Dealt, *fields)
        elif kind is Outcome:
            hand = (number, *fields[:2])
            old = gone.pop(hand, None)
            if old is None or _differs(old, Outcome, fields):
                anew.add(hand)
                state.say_of(number, Outcome, *fields[:-1], old.seq if old else None)
        elif kind is RoundClosed:
            close = closes.pop(number, None)
            if close is None or _differs(close, RoundClosed, fields):
                count = state.round.alerts if number == state.round.number else fields[-2]
                state.say_of(number, RoundClosed, *fields[:-2], count, close.seq if close else None)
    for _, number, (_, kind, fields) in drafts:
        if kind is Prompt and fields[0] in SETTLING and (number, *fields[1:3]) in anew:
            state.say(Prompt, *fields)
    newest = state.round.number
    state.superseded = {(box, hand): old.seq for (number, box, hand), old in gone.items() if number == newest}
    state.superseded_close = closes[newest].seq if newest in closes else None
    return frozenset(said_now)


def _differs(old: Any, kind: type[Any], fields: tuple[Any, ...]) -> bool:
    """Whether a notice says something else than the one that was said."""
    new = asdict(kind(0, None, 0, 0, *fields))
    return any(value != new[name] for name, value in asdict(old).items() if name not in UNCOMPARED)
