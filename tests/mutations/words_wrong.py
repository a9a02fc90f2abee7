"""Decisions and answers that the rules forbid, or that come at the wrong time."""

from __future__ import annotations

import random

from msgspec.structs import replace

from tablectl.game.hand import is_pair, total
from tablectl.game.legality import ACTIONS, awaits_card
from tablectl.game.round import Round, find
from tablectl.game.table import Due
from tablectl.observations import Action, Decision, Insurance
from tablectl.places import BoxPlace, Place
from tests.mutations.kinds import Mutated, before, decided, in_play, instead, mutation, refused
from tests.mutations.stories import IN_DEAL, Manner, Story

# Decisions


def _eight(place: Place, round_: Round) -> str | None:
    return None if place == "dealer" else "356"


@mutation("action.illegal_double", houses="fr es", manner=Manner(wish=_eight))
def doubled_on_8(story: Story, rng: random.Random) -> Mutated | None:
    """A hand of 8 doubles (R19: 9, 10 and 11 only)."""
    return decided(story, rng, "double", lambda _, hand: len(hand.cards) == 2 and total(hand.cards).value == 8)


@mutation("action.illegal_double")
def doubled_where_no_rule_allows(story: Story, rng: random.Random) -> Mutated | None:
    """A hand doubles that may not: by its total, on a soft hand, or on three cards."""
    return decided(story, rng, "double", lambda seen, _: seen.due.actions["double"] is not None)


def _king_and_queen(place: Place, round_: Round) -> str | None:
    hand = find(round_, place.box, 0) if isinstance(place, BoxPlace) else None
    return "KQ" if hand and len(hand.cards) < 2 else None


@mutation("action.illegal_split", houses="fr", manner=Manner(boxes=(2, 3), wish=_king_and_queen))
def king_and_queen_split(story: Story, rng: random.Random) -> Mutated | None:
    """A king and a queen are split where a pair is two cards of one rank (R22)."""
    return decided(story, rng, "split", lambda _, hand: sorted(str(card)[0] for card in hand.cards) == ["K", "Q"])


@mutation("action.illegal_split")
def no_pair_split(story: Story, rng: random.Random) -> Mutated | None:
    """Two cards of different values, or three cards, are split."""
    return decided(story, rng, "split", lambda seen, hand: not is_pair(hand.cards[:2], same="same_value") or len(hand.cards) > 2)


def _split_on(due: Due, rng: random.Random) -> Action:
    return "split" if "split" in due.allowed else "stand"


@mutation("action.illegal_split", houses="fr lt", manner=Manner(boxes=(2, 2), wish=lambda *_: "8", choice=_split_on))
def split_once_too_often(story: Story, rng: random.Random) -> Mutated | None:
    """A box that has all the hands it may have (R23: three in FR, five in LT) splits again."""
    return decided(story, rng, "split", lambda seen, _: refused(seen, "split", "R23"))


def _aces(place: Place, round_: Round) -> str | None:
    return "9" if place == "dealer" else "A"


@mutation(
    "action.illegal_split",
    manner=Manner(boxes=(2, 2), wish=_aces, choice=_split_on),
    action__out_of_turn="where a split ace gets one card, its hand has ended by it and decides nothing",
)
def aces_split_again(story: Story, rng: random.Random) -> Mutated | None:
    """Two split aces, one of which got another ace, are split once more (R24)."""
    sites = [
        (i, hand)
        for i, seen in enumerate(story.seen[: story.closed])
        if seen.phase in ("players", "dealer")
        for hand in seen.round.hands
        if hand.split and is_pair(hand.cards, same="same_rank") and (hand is seen.due.hand or hand.ended == "split_ace")
    ]
    if not sites:
        return None
    index, hand = rng.choice(sites)
    return before(story, index, Decision(box=hand.box, hand=hand.number, action="split"))


@mutation("action.illegal_surrender")
def surrendered_where_no_rule_allows(story: Story, rng: random.Random) -> Mutated | None:
    """A hand surrenders in a house without surrender, or on more than two cards, or when it was split (R30)."""
    return decided(story, rng, "surrender", lambda seen, _: seen.due.actions["surrender"] is not None)


@mutation("action.illegal_hit action.illegal_stand action.illegal_double action.illegal_split action.illegal_surrender")
def a_split_hand_decides_too_soon(story: Story, rng: random.Random) -> Mutated | None:
    """A split hand decides before its second card came, or where each gets one at once, before both have theirs (R29)."""
    sites = []
    for i in story.dealt("players"):
        acting = story.seen[i].round.acting
        if acting and awaits_card(acting, story.seen[i].round):
            sites.append((i, acting))
    if not sites:
        return None
    index, hand = rng.choice(sites)
    action = rng.choice(ACTIONS if hand.owed != "split" else [one for one in ACTIONS if one != "split"])
    return before(story, index, Decision(box=hand.box, hand=hand.number, action=action))


@mutation("action.out_of_turn")
def a_decision_out_of_turn(story: Story, rng: random.Random) -> Mutated | None:
    """A box that does not act, staked or not, wants a card.

    Not in the time of insurance, when a decision means that the offer was cut short.
    """
    sites = [i for i in in_play(story) if story.seen[i].phase in IN_DEAL]
    index = rng.choice(sites)
    acting = story.seen[index].round.acting if story.seen[index].phase == "players" else None
    boxes = [box for box in range(1, 8) if acting is None or box != acting.box]
    return before(story, index, Decision(box=rng.choice(boxes), action=rng.choice(("hit", "double", "split"))))


# Insurance

OFFERED = Manner(stake=1000, wish=lambda place, round_: "A" if place == "dealer" and not round_.dealer else None)


def _offers(story: Story) -> list[int]:
    return [i for i, seen in enumerate(story.seen) if isinstance(seen.observation, Insurance)]


def _insured(story: Story, rng: random.Random, amount: int) -> Mutated:
    index = rng.choice(_offers(story))
    answer = story.seen[index].observation
    assert isinstance(answer, Insurance)
    return instead(story, index, replace(answer, amount=amount))


@mutation("insurance.illegal", manner=OFFERED)
def insured_for_more_than_half(story: Story, rng: random.Random) -> Mutated | None:
    """6.00 on a stake of 10.00 (R17)."""
    return _insured(story, rng, 600)


@mutation("insurance.illegal", houses="fr", manner=OFFERED)
def insured_for_less_than_half(story: Story, rng: random.Random) -> Mutated | None:
    """4.00 on a stake of 10.00, where it must be exactly half (R17)."""
    return _insured(story, rng, 400)


@mutation("insurance.illegal")
def insured_when_none_is_offered(story: Story, rng: random.Random) -> Mutated | None:
    """The dealer shows no ace, or the offer is over, or not open yet."""
    index = rng.choice([i for i in in_play(story) if story.seen[i].phase in IN_DEAL])
    box = rng.choice(list(story.stakes))
    return before(story, index, Insurance(box=box, amount=story.stakes[box] // 2))


@mutation("insurance.not_offered", manner=OFFERED)
def insurance_is_not_offered(story: Story, rng: random.Random) -> Mutated | None:
    """One box, or none, is asked, and the game goes on."""
    offers = _offers(story)
    index = rng.choice(offers)
    gone = offers if rng.random() < 0.5 else [index]
    return [one for i, one in enumerate(story.observations) if i not in gone], min(gone)
