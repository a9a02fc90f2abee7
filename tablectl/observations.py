"""All that can come in: one small frozen type for each observation, stamped `at` by its source.

They are JSON objects, one a line, named by `event`. `decode` reads such a line and says which field is wrong; the types are the
only place where the words are written down, and the JSON Schemas are made from them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from tablectl.cards import Card
from tablectl.complaints import explain
from tablectl.errors import InputError
from tablectl.instants import canonical
from tablectl.places import Box, HandNumber, Place

__all__ = [
    "Ack",
    "Action",
    "Bet",
    "CardDrawn",
    "Collected",
    "CutCard",
    "Decision",
    "Felt",
    "FeltKind",
    "Insurance",
    "Link",
    "NoMoreBets",
    "Observation",
    "Paid",
    "Ruling",
    "Seat",
    "ShoeFault",
    "ShoeLoaded",
    "TableState",
    "Tick",
    "decode",
    "encode",
]

Amount = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
"""Money in the smallest unit of the currency; 1000 is 10.00."""

Action = Literal["hit", "stand", "double", "split", "surrender"]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]


class Observed(
    msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="event"
):
    """What all observations share: `at`, a canonical time (`tablectl.instants`), or None where a hand-written file has none."""

    at: str | None = None


class ShoeLoaded(Observed, frozen=True, tag="shoe_loaded"):
    """A shuffled shoe of `decks` packs was put in place; `cut` when a player cut it."""

    decks: Annotated[int, msgspec.Meta(ge=1, le=12)]
    cut: bool = False


class CardDrawn(Observed, frozen=True, tag="card"):
    """A card left the shoe (or was seen to lie somewhere). Without `to` it goes where the dealing order says.

    `source` is `shoe`, `camera` (its face was read on the felt alone) or `both`. `crosswise`: it lies across its hand, which has
    doubled.
    """

    card: Card
    to: Place | None = None
    source: str | None = None
    crosswise: bool = False


class CutCard(Observed, frozen=True, tag="cut_card"):
    """The cut card came out."""


class Bet(Observed, frozen=True, tag="bet"):
    """What the bettor `by` has on a box in all, from now on; 0 takes it off."""

    box: Box
    amount: Amount
    by: Name | None = None
    kind: Literal["chips", "cash", "word", "carried"] = "chips"


class Seat(Observed, frozen=True, tag="seat"):
    """A player sat down at a box, or left it."""

    box: Box
    player: Name
    state: Literal["taken", "left"]


class NoMoreBets(Observed, frozen=True, tag="no_more_bets"):
    """The dealer closed the betting."""


class Decision(Observed, frozen=True, tag="decision"):
    """What a hand wants. Without `hand`, the hand of that box that acts."""

    box: Box
    action: Action
    hand: HandNumber | None = None
    by: Name | None = None


class Insurance(Observed, frozen=True, tag="insurance"):
    """A box's answer to the offer of insurance; 0 declines. `even_money` is a blackjack's insurance of exactly half."""

    box: Box
    amount: Amount
    even_money: bool = False


class Collected(Observed, frozen=True, tag="collected"):
    """A hand's cards were picked up."""

    box: Box
    hand: HandNumber = 0


class Paid(Observed, frozen=True, tag="paid"):
    """A hand's winnings were laid out."""

    box: Box
    hand: HandNumber = 0


FeltKind = Literal[
    "placed", "appeared", "missing", "moved", "swapped", "split", "not_collected", "stake_laid", "stake_taken", "stake_changed"
]


class Felt(Observed, frozen=True, tag="felt"):
    """What the camera sees of the cards that lie on the felt, paired with those that were drawn (`tablectl.fusion`).

    | kind | is |
    |---|---|
    | `placed` | a drawn card came to rest at `to`, and reads `card` (`??`: unread) |
    | `appeared` | `card` came to rest at `to`, and was never drawn |
    | `missing` | a drawn card does not come to lie on the felt, or lies there no more while its hand does |
    | `moved` | a card went from one place to another, `to` |
    | `swapped` | where the card `was` lay, `card` lies |
    | `split` | the cards of a box were parted; `to` is the new hand |
    | `not_collected` | the hand of this card, at `to`, still lies there though it is bust and another place got a card |
    | `stake_laid` | chips stand in the circle of the box `to`, where none stood: how much, no camera knows |
    | `stake_taken` `stake_changed` | none stand there any more, or others |

    `ago` tells which drawn card it is about: 0 the last `card` before this observation, 1 the one before that; None: none.
    A stake was seen as it was until `last`, and as it is now from `first` on; what is told is what stood still for a while.
    """

    kind: FeltKind
    to: Place | None = None
    card: Card | None = None
    was: Card | None = None
    ago: Annotated[int, msgspec.Meta(ge=0, le=10**6)] | None = None
    crosswise: bool = False
    last: str | None = None
    first: str | None = None


class ShoeFault(Observed, frozen=True, tag="shoe_fault"):
    """The shoe reports a fault, or (`cleared`) its end. `code` is the profile's word for it."""

    code: Name
    text: str = ""
    cleared: bool = False


class Link(Observed, frozen=True, tag="link"):
    """A device came up or went down. `why` begins with a word the game knows: `corrupt` when frames were rejected."""

    device: Name
    state: Literal["up", "down"]
    why: str = ""


class Ruling(Observed, frozen=True, tag="ruling"):
    """A supervisor decides what a suspended game does next."""

    do: Literal["accept", "burn", "move", "void_hand", "void_round", "correct"]
    by: Name
    reason: str = ""
    alert: int | None = None
    box: Box | None = None
    hand: HandNumber | None = None
    to: Place | None = None
    card: Card | None = None
    draw: int | None = None


class Ack(Observed, frozen=True, tag="ack"):
    """A supervisor has seen an alert; it is no longer open."""

    alert: int
    by: Name


class TableState(Observed, frozen=True, tag="table"):
    """The pit opens or closes the table; `layout` is what is printed on the felt, to be held against the house."""

    state: Literal["open", "closed"]
    layout: dict[str, str | int | bool] | None = None


class Tick(Observed, frozen=True, tag="tick"):
    """Time passed: the only clock the game has."""


Observation = (
    ShoeLoaded
    | CardDrawn
    | CutCard
    | Bet
    | Seat
    | NoMoreBets
    | Decision
    | Felt
    | Insurance
    | Collected
    | Paid
    | ShoeFault
    | Link
    | Ruling
    | Ack
    | TableState
    | Tick
)

_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Observation)
_ENCODER = msgspec.json.Encoder()


def decode(line: bytes | str, *, where: str | None = None, number: int | None = None) -> Observation:
    """Read one observation.

    `where` and `number` are the file and the line (from 1) that an error should name. Raises `InputError`, with the field
    where there is one, for what is no JSON, no object, no known event, or has a missing, unknown or impossible field.
    """
    try:
        observation: Observation = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        message, field = explain(error, Observation)
        raise InputError(message, where=where, line=number, field=field) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"no JSON object: {error}", where=where, line=number) from None
    for field in ("at", "last", "first") if isinstance(observation, Felt) else ("at",):
        given: str | None = getattr(observation, field)
        if given is None:
            continue
        try:
            time = canonical(given)
        except ValueError as error:
            raise InputError(str(error), where=where, line=number, field=field) from None
        if time != given:
            observation = msgspec.structs.replace(observation, **{field: time})
    return observation


def encode(observation: Observation) -> bytes:
    """The observation as one line of JSON without its line end; what has its default is left out."""
    return _ENCODER.encode(observation)
