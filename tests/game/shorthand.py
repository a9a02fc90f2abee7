"""A table's observations in short, so that a whole round fits in a line.

`bet1` `bet1=50` `bet1@Ana` stakes, `TS` is a card where the order says, `TS>1` `TS>1.2` `TS>dealer` `TS>burn` a card that was
seen to go there, `stand1` `stand1@Ben` a decision, `insure1=500` an answer to the offer of insurance, `void1` a hand ruled void,
`at=50` a tick so many milliseconds after the hour; the rest is in `WORDS`.
"""

from __future__ import annotations

import re
from typing import Any, get_args

from tablectl.cards import Card
from tablectl.instants import from_micros, to_micros
from tablectl.observations import (
    Action,
    Bet,
    CardDrawn,
    CutCard,
    Decision,
    Felt,
    Insurance,
    Link,
    NoMoreBets,
    Observation,
    Paid,
    Ruling,
    ShoeFault,
    ShoeLoaded,
    TableState,
    Tick,
)
from tablectl.places import BoxPlace, Place

__all__ = ["read"]

WORDS: dict[str, tuple[Observation, ...]] = {
    "open": (TableState(state="open"),),
    "close": (TableState(state="closed"),),
    "load": (ShoeLoaded(decks=6, cut=True),),
    "load-1": (ShoeLoaded(decks=1, cut=True),),
    "load-8": (ShoeLoaded(decks=8, cut=True),),
    "load-uncut": (ShoeLoaded(decks=6),),
    "cut": (CutCard(),),
    "no-more-bets": (NoMoreBets(),),
    "jam": (ShoeFault(code="jam"),),
    "empty": (ShoeFault(code="empty"),),
    "unjam": (ShoeFault(code="jam", cleared=True),),
    "pulled-back": (ShoeFault(code="pulled_back"),),
    "foreign": (ShoeFault(code="foreign_card"),),
    "felt-reads-7D": (Felt(kind="placed", card=Card("7D"), ago=0),),
    "felt-missing": (Felt(kind="missing", ago=0),),
    "felt-appeared": (Felt(kind="appeared", to=BoxPlace(1, 0), card=Card("7D")),),
    "felt-moved": (Felt(kind="moved", to=BoxPlace(5, 0), ago=0),),
    "felt-swapped": (Felt(kind="swapped", to=BoxPlace(1, 0), was=Card("TS"), card=Card("AS"), ago=0),),
    "felt-lies": (Felt(kind="not_collected", to=BoxPlace(1, 0), ago=0),),
    "camera-moved": (Link(device="camera", state="down", why="moved: 9 mm"),),
    "camera-gone": (Link(device="camera", state="down", why="black picture"),),
    "shoe-gone": (Link(device="shoe", state="down", why="unplugged"),),
    "corrupt": (Link(device="pad", state="up", why="corrupt: 3 frames"),),
    "accept": (Ruling(do="accept", by="Eve"),),
    "void": (ShoeFault(code="jam"), Ruling(do="void_round", by="Eve"), ShoeFault(code="jam", cleared=True)),
}
CARD = re.compile(r"(?P<card>[2-9TJQKA][CDHS]|\?\?)(>(?P<to>dealer|burn|(?P<box>\d)(\.(?P<hand>\d))?))?")
MOMENT = re.compile(r"at=(?P<ms>\d+)")
HOUR = to_micros("2026-11-30T05:00:00Z")
DEED = re.compile(r"(?P<word>[a-z]+)(?P<box>\d)(=(?P<amount>\d+))?(@(?P<by>\w+))?")


def read(text: str) -> list[Observation]:
    """The observations that a line stands for. Raises `ValueError` for a word that stands for none."""
    return [seen for word in text.split() for seen in (WORDS.get(word) or (_one(word),))]


def _one(word: str) -> Observation:
    if card := CARD.fullmatch(word):
        return CardDrawn(card=Card(card["card"]), to=_place(card))
    if moment := MOMENT.fullmatch(word):
        return Tick(at=from_micros(HOUR + 1000 * int(moment["ms"])))
    deed = DEED.fullmatch(word)
    if deed is None:
        raise ValueError(f"{word!r} stands for nothing")
    name, box, by = deed["word"], int(deed["box"]), deed["by"]
    amount = int(deed["amount"] or 1000)
    if name == "bet":
        return Bet(box=box, amount=amount, by=by)
    if name == "word":
        return Bet(box=box, amount=amount, by=by, kind="word")
    if name == "carried":
        return Bet(box=box, amount=amount, by=by, kind="carried")
    if name == "insure":
        return Insurance(box=box, amount=int(deed["amount"] or 0))
    if name == "paid":
        return Paid(box=box)
    if name == "void":
        return Ruling(do="void_hand", by="Eve", box=box, hand=0)
    action: Any = name
    if action not in get_args(Action):
        raise ValueError(f"{word!r} stands for nothing")
    return Decision(box=box, action=action, by=by)


def _place(card: re.Match[str]) -> Place | None:
    if card["box"]:
        return BoxPlace(int(card["box"]), int(card["hand"]) if card["hand"] else None)
    to: Any = card["to"]
    return to  # type: ignore[no-any-return]
