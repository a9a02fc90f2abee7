"""The whole table at one moment, for who joins late: what the pit's display and a new subscriber see first.

It holds what can be seen on the felt and what is open, and no count of the cards that remain by rank.
"""

from __future__ import annotations

import msgspec

from tablectl.cards import Card
from tablectl.game import prompting
from tablectl.game.hand import total
from tablectl.game.round import Hand
from tablectl.game.state import State
from tablectl.notices import Alert, DeviceState, Operand, PhaseName, ShoeState
from tablectl.places import Box, Place
from tablectl.texts import Texts

__all__ = ["TableView", "encode", "view"]


class HandView(msgspec.Struct, frozen=True):
    """A hand: `ended` says why it acts no more, `result` how it was settled; None while it is neither."""

    hand: int
    cards: tuple[Card, ...]
    total: int | None
    soft: bool
    stake: int
    insurance: int | None
    acting: bool
    ended: str | None
    result: str | None


class BoxView(msgspec.Struct, frozen=True):
    """A box: what was staked on it before the deal, what lies there from the last round, and its hands."""

    box: Box
    staked: int
    carried: int
    hands: tuple[HandView, ...]


class DealerView(msgspec.Struct, frozen=True):
    """The dealer's hand."""

    cards: tuple[Card, ...]
    total: int | None
    soft: bool


class ShoeView(msgspec.Struct, frozen=True):
    """The shoe's books, as in the `shoe` notice."""

    remaining: int | None
    drawn: int
    unread: int
    state: ShoeState


class HeldView(msgspec.Struct, frozen=True):
    """A card that waits for a ruling; `to` is where it was seen to lie, None when nothing saw it."""

    card: Card
    to: Place | None


class PromptView(msgspec.Struct, frozen=True):
    """What the dealer is to do now."""

    code: str
    box: int | None
    hand: int | None
    operands: dict[str, Operand]
    text: str


class TableView(msgspec.Struct, frozen=True):
    """The table. `round_open` tells whether a round is on; else the hands are those of the round that closed last."""

    at: str | None
    house: str
    phase: PhaseName
    round: int
    round_open: bool
    boxes: tuple[BoxView, ...]
    dealer: DealerView
    held: tuple[HeldView, ...]
    shoe: ShoeView
    prompt: PromptView | None
    alerts: tuple[Alert, ...]
    devices: dict[str, DeviceState]


_ENCODER = msgspec.json.Encoder()


def encode(state: State) -> bytes:
    """The view as JSON, always the same bytes for the same table."""
    return _ENCODER.encode(view(state))


def view(state: State) -> TableView:
    """Look at a table."""
    books, round_ = state.books, state.round
    acting = round_.acting if state.playing == "players" else None
    by_box: dict[int, list[HandView]] = {}
    for hand in round_.hands:
        by_box.setdefault(hand.box, []).append(_hand(hand, acting))
    boxes = sorted({*by_box, *state.stakes.boxes(state.rules)})
    return TableView(
        state.at,
        state.house.name,
        state.phase,
        round_.number,
        state.round_open,
        tuple(BoxView(box, state.stakes.on(box), state.stakes.carried_on(box), tuple(by_box.get(box, ()))) for box in boxes),
        DealerView(round_.dealer, *total(round_.dealer)),
        tuple(HeldView(held.card, held.place) for held in state.held),
        ShoeView(books.remaining, books.drawn, books.unread, books.state(past_cut=state.past_cut)),
        _prompt(state.prompted, state.texts),
        state.open_alerts,
        state.devices,
    )


def _hand(hand: Hand, acting: Hand | None) -> HandView:
    value, soft = total(hand.cards)
    return HandView(
        hand.number,
        hand.cards,
        value,
        soft,
        hand.stake,
        hand.insurance,
        hand is acting,
        hand.ended,
        hand.result,
    )


def _prompt(said: prompting.Said | None, texts: Texts) -> PromptView | None:
    if said is None:
        return None
    operands, text = prompting.words(said, texts)
    return PromptView(said.code, said.box, said.hand, operands, text)
