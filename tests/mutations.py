"""Legal rounds with one error in them: whatever is done wrong at the table, the game must notice it, and name it.

Each class of errors is a function that takes a legal round (`tests/stories.py`) and gives what the devices report when that one
error is made, or None where this round has no place for it. With the class stands which alert may come first: its own name, or
one that cannot be told from it, with the reason. What comes after the first alert is not judged here: the game is suspended or
in a supervisor's hands.

`python -m tests.mutations --house fr --rounds 10000 --legal 100000` prints the table of classes, and looks for false alarms.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game.hand import is_pair, total
from tablectl.game.round import Hand, Round, find
from tablectl.game.table import Due, Table
from tablectl.houses import rules
from tablectl.instants import from_micros, to_micros
from tablectl.notices import Alert
from tablectl.observations import (
    Action,
    Bet,
    CardDrawn,
    CutCard,
    Decision,
    Insurance,
    NoMoreBets,
    Observation,
    Paid,
    ShoeFault,
    ShoeLoaded,
    TableState,
    encode,
)
from tablectl.places import BoxPlace, Place
from tests.legal_play import LegalPlay
from tests.stories import IN_DEAL, Manner, Seen, Story, Teller

__all__ = ["CLASSES", "HOUSES", "Mutation", "Tally", "false_alarms", "run"]

HOUSES = ("fr", "es", "lt")
TENS = "TJQK"

Mutated = tuple[list[Observation], int]
"""What the devices report, and the index from which it is no longer the legal round."""

Make = Callable[[Story, random.Random], Mutated | None]


@dataclass(frozen=True)
class Mutation:
    """A class of errors. `first` has the alerts that may come first, with the reason where it is not the class's own name."""

    name: str
    make: Make
    houses: tuple[str, ...]
    manner: Manner
    first: dict[str, str]


CLASSES: list[Mutation] = []


def mutation(own: str, /, *, houses: str = "fr es lt", manner: Manner | None = None, **others: str) -> Callable[[Make], Make]:
    """Enter a class: `own` are the codes that name it, `others` (with `__` for the dot) those that cannot be told from it."""

    def enter(make: Make) -> Make:
        first = dict.fromkeys(own.split(), "") | {code.replace("__", "."): why for code, why in others.items()}
        CLASSES.append(Mutation(make.__name__, make, tuple(houses.split()), manner or Manner(), first))
        return make

    return enter


# How a legal round is changed


def _pick(rng: random.Random, sites: Sequence[int]) -> int | None:
    return rng.choice(sites) if sites else None


def _instead(story: Story, index: int, *new: Observation) -> Mutated:
    """Something else, or nothing, in the place of one observation."""
    seen = story.observations
    at = seen[index].at
    return [*seen[:index], *(replace(one, at=one.at or at) for one in new), *seen[index + 1 :]], index


def _before(story: Story, index: int, new: Observation) -> Mutated:
    """One observation more, just before another; it comes a tenth of a second earlier."""
    seen = story.observations
    earlier = from_micros(to_micros(seen[index].at or "") - 125_000)
    return [*seen[:index], replace(new, at=earlier), *seen[index:]], index


def _to(story: Story, index: int, place: Place) -> Mutated:
    """A card that went elsewhere."""
    drawn = story.seen[index].observation
    assert isinstance(drawn, CardDrawn)
    return _instead(story, index, replace(drawn, to=place))


def _passed_over(story: Story, index: int) -> Mutated:
    """A place gets no card: each card from there on goes one place further, so that the last of the round stays in the shoe."""
    seen, cards = story.observations, [i for i in story.dealt(*IN_DEAL) if i >= index]
    for here, there in pairwise(cards):
        card, place = seen[here], story.seen[there].observation
        assert isinstance(card, CardDrawn)
        seen[there] = replace(place, card=card.card)
    return [*seen[:index], *seen[index + 1 :]], index


def _decides(story: Story, suits: Callable[[Seen, Hand], bool]) -> list[int]:
    """The indices of the decisions that suit."""
    return [i for i, seen in enumerate(story.seen) if seen.due.hand is not None and suits(seen, seen.due.hand)]


def _decided(story: Story, rng: random.Random, action: Action, suits: Callable[[Seen, Hand], bool]) -> Mutated | None:
    """Another decision at one of the places that suit."""
    index = _pick(rng, _decides(story, suits))
    if index is None:
        return None
    hand = story.seen[index].due.hand
    assert hand is not None
    return _instead(story, index, Decision(box=hand.box, hand=hand.number, action=action))


def _refused(seen: Seen, action: Action, rule: str) -> bool:
    no = seen.due.actions[action]
    return no is not None and no.rule == rule


def _in_play(story: Story) -> range:
    """The indices from the first card of the round to the last thing of it."""
    return range(min(story.dealt("first_cards")), story.closed)


# Cards in the wrong place


@mutation(
    "deal.box_skipped deal.out_of_order",
    deal__dealer_card_missing="the dealer's first card was one of the two: a box has it, and he lacks his",
    deal__dealer_second_card_early="a later card of the dealer's was one of the two: he has it early",
)
def two_cards_change_places(story: Story, rng: random.Random) -> Mutated | None:
    """Two cards of a round lie each in the other's place. Not counted: two cards of one hand, whose order nobody can see."""
    cards = story.dealt(*IN_DEAL)
    pairs = [(a, b) for a in cards for b in cards if a < b and story.seen[a].place != story.seen[b].place]
    if not pairs:
        return None
    first, second = rng.choice(pairs)
    seen, at = _to(story, first, story.seen[second].place or "dealer")
    seen[second] = _to(story, second, story.seen[first].place or "dealer")[0][second]
    return seen, at


@mutation(
    "deal.box_skipped deal.out_of_order deal.dealer_card_missing",
    deal__dealer_second_card_early="a box lacks a card, and the next one is the dealer's",
    action__out_of_turn="the last box lacks its second card, or a doubled hand its only one, when another decides",
    action__illegal_hit="a split hand decides before its second card came (R29)",
    action__illegal_stand="a split hand decides before its second card came (R29)",
    action__illegal_double="a split hand decides before its second card came (R29)",
    action__illegal_split="a split hand decides before its second card came (R29)",
    insurance__illegal="the last box lacks its second card, so the offer of insurance is not open yet",
    bet__late="nothing else came before the next stakes, and this round is not at its end",
    deal__extra_card="the next card is for a hand that has ended, since one before it had to stand",
)
def a_card_is_missing(story: Story, rng: random.Random) -> Mutated | None:
    """A card that the rules ask for does not come, and the game goes on as if it had.

    Not counted: the card of a `hit`, which may be taken back, and the dealer's draw, which is `dealer_stops_short`.
    """
    sites = story.dealt("first_cards", "second_cards") + [
        i for i in story.dealt("players") if (hand := _served(story, i)) and (hand.owed == "double" or len(hand.cards) == 1)
    ]
    index = _pick(rng, sites)
    return None if index is None else _instead(story, index)


def _served(story: Story, index: int) -> Hand | None:
    """The hand that a card goes to, as it was before."""
    place = story.seen[index].place
    return find(story.seen[index].round, place.box, place.hand or 0) if isinstance(place, BoxPlace) else None


@mutation(
    "deal.box_skipped",
    action__out_of_turn="the last box was passed over with its second card, and the next thing is a decision",
    insurance__illegal="the last box was passed over with its second card, and the next thing is an insurance bet",
    deal__dealer_second_card_early="the last box was passed over with its second card, and no box acts",
    bet__late="the last box was passed over with its second card, no box acts, no card of the dealer's is due",
)
def a_box_is_skipped(story: Story, rng: random.Random) -> Mutated | None:
    """A staked box gets no first, or no second card; the cards go on to the boxes after it."""
    index = _pick(rng, [i for i in story.dealt("first_cards", "second_cards") if story.seen[i].place != "dealer"])
    return None if index is None else _passed_over(story, index)


@mutation("deal.dealer_card_missing")
def the_dealer_forgets_his_first_card(story: Story, rng: random.Random) -> Mutated | None:
    """The boxes get their second cards, and the dealer has none."""
    return _passed_over(story, next(i for i in story.dealt("first_cards") if story.seen[i].place == "dealer"))


@mutation(
    "deal.out_of_order deal.extra_card dealer.drew_on_17 dealer.drew_idle",
    deal__dealer_card_missing="the last box gets its first card twice, and the next one is due to the dealer",
    deal__dealer_second_card_early="the dealer's first card came twice",
    deal__card_outside_round="one card more is burned than the house burns",
)
def a_card_is_dealt_twice(story: Story, rng: random.Random) -> Mutated | None:
    """The card is followed by another of the same face to the same place.

    Not counted: where the place may take one more, as a hand that acts or a dealer who must draw; that is a hit, and a draw.
    Nor the last second card, after which a box may act.
    """
    sites = []
    for i, seen in enumerate(story.seen[: story.closed]):
        place = seen.place
        if place is None:
            continue
        hand = find(story.after(i), place.box, place.hand or 0) if isinstance(place, BoxPlace) else None
        if (
            seen.phase in ("burning", "first_cards")
            or (seen.phase == "second_cards" and story.seen[i + 1].phase == "second_cards")
            or (seen.phase == "players" and hand is not None and hand.ended is not None)
            or (seen.phase == "dealer" and i + 1 == story.closed)
        ):
            sites.append(i)
    index = _pick(rng, sites)
    return None if index is None else _before(story, index + 1, story.observations[index])


@mutation("deal.box_without_stake")
def a_card_to_a_box_without_stake(story: Story, rng: random.Random) -> Mutated | None:
    """A card of the round goes to a box with nothing on it."""
    free = [box for box in range(1, 8) if box not in story.stakes]
    index = _pick(rng, story.dealt(*IN_DEAL))
    return None if index is None or not free else _to(story, index, BoxPlace(rng.choice(free), 0))


@mutation("deal.extra_card")
def a_card_to_a_hand_that_has_ended(story: Story, rng: random.Random) -> Mutated | None:
    """A hand that stood, doubled, is bust, has 21 or a blackjack, surrendered, or is a split ace, gets a card more."""
    sites = [
        (i, hand)
        for i in range(min(story.dealt("first_cards")), story.closed + 1)
        for hand in (story.seen[i].round if i < story.closed else story.round).hands
        if hand.ended is not None and (i == story.closed or story.seen[i].phase in ("players", "dealer"))
    ]
    if not sites:
        return None
    index, hand = rng.choice(sites)
    return _before(story, index, CardDrawn(card=rng.choice(story.rest), to=BoxPlace(hand.box, hand.number), source="shoe"))


@mutation("deal.extra_card", manner=Manner(choice=lambda due, rng: "stand"))
def a_card_to_a_hand_that_stood(story: Story, rng: random.Random) -> Mutated | None:
    """A hand that stood gets a card more."""
    return a_card_to_a_hand_that_has_ended(story, rng)


@mutation("deal.out_of_order")
def a_card_is_burned_in_a_round(story: Story, rng: random.Random) -> Mutated | None:
    """A card of the round goes to the burned cards."""
    index = _pick(rng, story.dealt(*IN_DEAL))
    return None if index is None else _to(story, index, "burn")


@mutation("deal.card_outside_round")
def a_card_before_any_stake(story: Story, rng: random.Random) -> Mutated | None:
    """The burn is done, nothing is staked, and a card is drawn."""
    index = next(i for i, seen in enumerate(story.seen) if isinstance(seen.observation, Bet))
    place = rng.choice((None, "dealer", "burn", BoxPlace(rng.randint(1, 7), 0)))
    return _before(story, index, CardDrawn(card=rng.choice(story.rest), to=place, source="shoe"))


# The dealer's hand


@mutation(
    "deal.dealer_second_card_early",
    action__out_of_turn="a card for the dealer says that the boxes stand which may; the error shows when one decides on",
)
def the_dealer_draws_early(story: Story, rng: random.Random) -> Mutated | None:
    """The dealer gets his second card while a box waits for a card, or before a box decides that goes on to hit.

    Not counted: before boxes that all stand, which is what his card says of them.
    """
    waits = story.dealt("second_cards", "players")
    acts = _decides(story, lambda seen, _: isinstance(seen.observation, Decision) and seen.observation.action != "stand")
    index = _pick(rng, waits + acts)
    if index is None:
        return None
    if index in waits:
        return _to(story, index, "dealer")
    return _before(story, index, CardDrawn(card=rng.choice(story.rest), to="dealer", source="shoe"))


@mutation("dealer.drew_on_17", manner=Manner(choice=lambda due, rng: "stand"))
def the_dealer_draws_on_17(story: Story, rng: random.Random) -> Mutated | None:
    """The dealer has 17 or more, and takes a card."""
    if len(story.round.dealer) < 2 or (story.round.dealer_total or 0) < 17:
        return None
    return _before(story, story.closed, CardDrawn(card=rng.choice(story.rest), to="dealer", source="shoe"))


@mutation("dealer.drew_idle", manner=Manner(boxes=(2, 3), choice=lambda due, rng: "hit"))
def the_dealer_draws_for_nothing(story: Story, rng: random.Random) -> Mutated | None:
    """No stake depends on the dealer, who has less than 17, and takes a card."""
    if (story.round.dealer_total or 17) >= 17:
        return None
    return _before(story, story.closed, CardDrawn(card=rng.choice(story.rest), to="dealer", source="shoe"))


@mutation(
    "dealer.stopped_short",
    manner=Manner(choice=lambda due, rng: "stand"),
    bet__late="a stake while the dealer still must draw: that the next round has begun shows only when its betting closes",
)
def the_dealer_stops_short(story: Story, rng: random.Random) -> Mutated | None:
    """The dealer must take a card and does not; the next round is staked or closed for bets, a shoe loaded, the table closed."""
    if story.seen[story.closed - 1].phase != "dealer":
        return None
    seen = story.observations[: story.closed - 1]
    goes_on = rng.choice((NoMoreBets(), ShoeLoaded(decks=6, cut=True), TableState(state="closed"), None))
    return [*seen, *([goes_on] if goes_on else story.observations[story.closed :])], len(seen)


# Decisions


def _eight(place: Place, round_: Round) -> str | None:
    return None if place == "dealer" else "356"


@mutation("action.illegal_double", houses="fr es", manner=Manner(wish=_eight))
def doubled_on_8(story: Story, rng: random.Random) -> Mutated | None:
    """A hand of 8 doubles (R19: 9, 10 and 11 only)."""
    return _decided(story, rng, "double", lambda _, hand: len(hand.cards) == 2 and total(hand.cards).value == 8)


@mutation("action.illegal_double")
def doubled_where_no_rule_allows(story: Story, rng: random.Random) -> Mutated | None:
    """A hand doubles that may not: by its total, on a soft hand, or on three cards."""
    return _decided(story, rng, "double", lambda seen, _: seen.due.actions["double"] is not None)


def _king_and_queen(place: Place, round_: Round) -> str | None:
    hand = find(round_, place.box, 0) if isinstance(place, BoxPlace) else None
    return "KQ" if hand and len(hand.cards) < 2 else None


@mutation("action.illegal_split", houses="fr", manner=Manner(boxes=(2, 3), wish=_king_and_queen))
def king_and_queen_split(story: Story, rng: random.Random) -> Mutated | None:
    """A king and a queen are split where a pair is two cards of one rank (R22)."""
    return _decided(story, rng, "split", lambda _, hand: sorted(str(card)[0] for card in hand.cards) == ["K", "Q"])


@mutation("action.illegal_split")
def no_pair_split(story: Story, rng: random.Random) -> Mutated | None:
    """Two cards of different values, or three cards, are split."""
    return _decided(story, rng, "split", lambda seen, hand: not is_pair(hand.cards[:2], same="same_value") or len(hand.cards) > 2)


def _split_on(due: Due, rng: random.Random) -> Action:
    return "split" if "split" in due.allowed else "stand"


@mutation("action.illegal_split", houses="fr lt", manner=Manner(boxes=(2, 2), wish=lambda *_: "8", choice=_split_on))
def split_once_too_often(story: Story, rng: random.Random) -> Mutated | None:
    """A box that has all the hands it may have (R23: three in FR, five in LT) splits again."""
    return _decided(story, rng, "split", lambda seen, _: _refused(seen, "split", "R23"))


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
    return _before(story, index, Decision(box=hand.box, hand=hand.number, action="split"))


@mutation("action.illegal_surrender")
def surrendered_where_no_rule_allows(story: Story, rng: random.Random) -> Mutated | None:
    """A hand surrenders in a house without surrender, or on more than two cards, or when it was split (R30)."""
    return _decided(story, rng, "surrender", lambda seen, _: seen.due.actions["surrender"] is not None)


@mutation("action.out_of_turn")
def a_decision_out_of_turn(story: Story, rng: random.Random) -> Mutated | None:
    """A box that does not act, staked or not, wants a card.

    Not in the time of insurance, when a decision means that the offer was cut short.
    """
    sites = [i for i in _in_play(story) if story.seen[i].phase in IN_DEAL]
    index = rng.choice(sites)
    acting = story.seen[index].round.acting if story.seen[index].phase == "players" else None
    boxes = [box for box in range(1, 8) if acting is None or box != acting.box]
    return _before(story, index, Decision(box=rng.choice(boxes), action=rng.choice(("hit", "double", "split"))))


# Insurance

OFFERED = Manner(stake=1000, wish=lambda place, round_: "A" if place == "dealer" and not round_.dealer else None)


def _offers(story: Story) -> list[int]:
    return [i for i, seen in enumerate(story.seen) if isinstance(seen.observation, Insurance)]


def _insured(story: Story, rng: random.Random, amount: int) -> Mutated:
    index = rng.choice(_offers(story))
    answer = story.seen[index].observation
    assert isinstance(answer, Insurance)
    return _instead(story, index, replace(answer, amount=amount))


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
    index = rng.choice([i for i in _in_play(story) if story.seen[i].phase in IN_DEAL])
    box = rng.choice(list(story.stakes))
    return _before(story, index, Insurance(box=box, amount=story.stakes[box] // 2))


@mutation("insurance.not_offered", manner=OFFERED)
def insurance_is_not_offered(story: Story, rng: random.Random) -> Mutated | None:
    """One box, or none, is asked, and the game goes on."""
    offers = _offers(story)
    index = rng.choice(offers)
    gone = offers if rng.random() < 0.5 else [index]
    return [one for i, one in enumerate(story.observations) if i not in gone], min(gone)


# Stakes


@mutation("bet.late")
def a_stake_touched_after_the_close(story: Story, rng: random.Random) -> Mutated | None:
    """A stake is raised, lowered, taken away or laid while the round is dealt."""
    box = rng.randint(1, 7)
    there = story.stakes.get(box)
    amount = rng.choice((0, there + 50, there - 50)) if there else 500
    return _before(story, rng.choice(_in_play(story)), Bet(box=box, amount=amount))


def _stakings(story: Story) -> list[int]:
    return [i for i, seen in enumerate(story.seen[: story.closed]) if isinstance(seen.observation, Bet)]


@mutation("bet.not_chips")
def cash_or_word(story: Story, rng: random.Random) -> Mutated | None:
    """A stake is cash, or only said (R09)."""
    kind = "cash" if rng.random() < 0.5 else "word"
    return _before(story, rng.choice(_stakings(story)), Bet(box=rng.randint(1, 7), amount=500, kind=kind))


@mutation("bet.below_min")
def a_stake_below_the_minimum(story: Story, rng: random.Random) -> Mutated | None:
    """A box has 0.50 on it, where 1.00 is the least (R06)."""
    index = rng.choice(_stakings(story))
    bet = story.seen[index].observation
    assert isinstance(bet, Bet)
    return _instead(story, index, replace(bet, amount=50))


@mutation("deal.too_few_boxes", houses="fr")
def one_box_alone(story: Story, rng: random.Random) -> Mutated | None:
    """The deal starts with one box staked, where two are the least (R03)."""
    stakings = _stakings(story)
    kept = rng.choice(stakings)
    return [one for i, one in enumerate(story.observations) if i == kept or i not in stakings], min(stakings)


def _ties(place: Place, round_: Round) -> str | None:
    return "9"


@mutation("bet.carried_removed", houses="fr", manner=Manner(wish=_ties, choice=lambda due, rng: "stand"))
def a_carried_stake_is_gone(story: Story, rng: random.Random) -> Mutated | None:
    """A stake that had to stay in place for the next round is gone, or smaller (R15)."""
    if not story.carried:
        return None
    box = rng.choice(list(story.carried))
    return _before(story, story.closed, Bet(box=box, amount=rng.choice((0, story.carried[box] - 50)), kind="carried"))


def _blackjack(place: Place, round_: Round) -> str | None:
    return "7" if place == "dealer" else "AK"


@mutation("pay.blackjack_late", houses="fr", manner=Manner(wish=_blackjack))
def a_blackjack_paid_late(story: Story, rng: random.Random) -> Mutated | None:
    """A blackjack that is paid at once (R12) is paid only when another box has decided."""
    sites = [
        (i + 1, hand.box)
        for i, seen in enumerate(story.seen[: story.closed])
        if isinstance(seen.observation, Decision)
        for hand in seen.round.hands
        if hand.result == "blackjack" and hand.box != seen.observation.box
    ]
    if not sites:
        return None
    index, box = rng.choice(sites)
    return _before(story, index, Paid(box=box))


# The shoe


@mutation("shoe.burn_omitted")
def a_burn_card_is_skipped(story: Story, rng: random.Random) -> Mutated | None:
    """One card less is burned than the house burns (R04)."""
    return _instead(story, rng.choice(story.dealt("burning")))


@mutation("shoe.card_unread")
def a_card_passes_unread(story: Story, rng: random.Random) -> Mutated | None:
    """The shoe could not read a card."""
    index = rng.choice(story.dealt("burning", *IN_DEAL))
    return _instead(story, index, CardDrawn(card=Card.UNREAD, to=story.seen[index].place, source="shoe"))


@mutation("shoe.impossible_card", manner=Manner(boxes=(4, 5)))
def a_seventh_copy(story: Story, rng: random.Random) -> Mutated | None:
    """One copy of a face more than six packs hold: the first cards of the round are all of it.

    It is the same with the 25th ace: it is the seventh of its suit, or another one was.
    """
    face = rng.choice([card for card in Card if card is not Card.UNREAD])
    cards, seen = story.dealt("burning", "first_cards", "second_cards")[:7], story.observations
    for i in cards:
        one = seen[i]
        assert isinstance(one, CardDrawn)
        seen[i] = replace(one, card=face)
    return seen, cards[-1]


@mutation("shoe.double_draw")
def two_cards_at_once(story: Story, rng: random.Random) -> Mutated | None:
    """Two cards come faster than a hand can deal them."""
    cards = story.dealt("burning", *IN_DEAL)
    index = rng.choice([i for i in cards if i + 1 in cards])
    at = from_micros(to_micros(story.observations[index].at or "") + rng.randint(1, 99) * 1000)
    return _instead(story, index + 1, replace(story.observations[index + 1], at=at))


@mutation("shoe.past_cut_card")
def a_round_after_the_cut_card(story: Story, rng: random.Random) -> Mutated | None:
    """The cut card came in this round, or after it, and the next one starts."""
    return _before(story, rng.randint(min(story.dealt("first_cards")), story.closed), CutCard())


@mutation("shoe.not_cut")
def a_shoe_that_nobody_cut(story: Story, rng: random.Random) -> Mutated | None:
    """No player cut the shoe (R05)."""
    return _instead(story, 0, ShoeLoaded(decks=6, cut=False))


@mutation("rules.layout_mismatch")
def a_shoe_of_eight_packs(story: Story, rng: random.Random) -> Mutated | None:
    """The shoe holds other packs than the house plays (R01)."""
    return _instead(story, 0, ShoeLoaded(decks=8, cut=True))


@mutation("shoe.pulled_back shoe.foreign_card")
def a_card_pushed_back_or_foreign(story: Story, rng: random.Random) -> Mutated | None:
    """The shoe reports a card drawn backwards, or one that is not of its packs."""
    return _before(story, rng.choice(_in_play(story)), ShoeFault(code=rng.choice(("pulled_back", "foreign_card"))))


# The judgement


@dataclass
class Tally:
    """What became of a class: rounds mutated, errors noticed, the first alerts; and the first few rounds that went wrong."""

    made: int = 0
    detected: int = 0
    first: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def first_alert(table: Table, observations: Sequence[Observation]) -> tuple[str, int] | None:
    """The first alert of severity warning or critical, and the index of what raised it."""
    for index, observation in enumerate(observations):
        for notice in table.feed(observation):
            if isinstance(notice, Alert) and notice.severity != "info":
                return notice.code, index
    return None


def run(house: str, rounds: int, *, seed: int = 1, only: Sequence[str] = ()) -> dict[str, Tally]:
    """Mutate so many rounds of a house, the same number for each class, and judge what is said of them."""
    classes = [one for one in CLASSES if house in one.houses and (not only or one.name in only)]
    teller = Teller(house)
    tallies = {one.name: Tally() for one in classes}
    for one in classes:
        tally, rng = tallies[one.name], random.Random(f"{house} {one.name} {seed}")
        tries = 0
        while tally.made < -(-rounds // len(classes)):
            tries += 1
            if tries > 200 * (tally.made + 1):
                raise AssertionError(f"{house}: no round has a place for {one.name}")
            story = teller.tell(rng, one.manner)
            mutated = one.make(story, rng)
            if mutated is not None:
                _judge(one, teller.fresh(), mutated, tally)
    return tallies


def _judge(one: Mutation, table: Table, mutated: Mutated, tally: Tally) -> None:
    observations, begins = mutated
    tally.made += 1
    found = first_alert(table, observations)
    tally.first[found[0] if found else "none"] += 1
    if found and found[1] >= begins:
        tally.detected += 1
    if not found or found[0] not in one.first or found[1] < begins:
        tally.wrong.append(f"{one.name}: {found}, error at {begins}\n{_lines(observations)}")
        tally.wrong = sorted(tally.wrong, key=len)[:3]


def _lines(observations: Sequence[Observation]) -> str:
    return "\n".join(encode(replace(one, at=None)).decode() for one in observations)


class _Placed(LegalPlay):
    """Legal play whose cards say where they go, and what the table said."""

    def alarms(self, *, places: bool) -> Iterator[str]:
        """What was raised, though nobody did anything wrong."""
        for observation in self._session():
            timed = self._stamped(observation)
            if places and isinstance(timed, CardDrawn):
                timed = replace(timed, to=self.table.due().card)
            for notice in self.table.feed(timed):
                if isinstance(notice, Alert) and notice.severity != "info":
                    yield f"round {notice.round}: {notice.code} {encode(timed).decode()}"


def false_alarms(house: str, rounds: int, *, places: bool, seed: int = 1) -> list[str]:
    """The alerts of severity warning or critical in so many rounds that nobody mutated; `places`: the cards say where they go."""
    begins = "2027-03-01T20:00:00.000000Z"
    play = _Placed(rules.load(house).house, seed=seed, rounds=rounds, boxes=(2, 7), begins=begins)
    return list(play.alarms(places=places))


def main(args: Sequence[str]) -> int:
    """Print the table of classes; 1 when an error was missed, misnamed, or seen where there was none."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description="Errors put into legal rounds, and found.")
    parser.add_argument("--house", action="append", choices=HOUSES, help="else all")
    parser.add_argument("--rounds", type=int, default=10_000, metavar="N", help="mutated rounds a house, over all classes")
    parser.add_argument("--legal", type=int, default=0, metavar="N", help="unmutated rounds a house, with places and without")
    parser.add_argument("--only", nargs="+", default=(), metavar="CLASS", help="these classes alone")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(args)
    failed = False
    for house in given.house or HOUSES:
        tallies = run(house, given.rounds, seed=given.seed, only=given.only) if given.rounds else {}
        out = [f"{house:36} {'made':>7} {'detected':>9}  first alert"]
        for name, tally in tallies.items():
            first = ", ".join(f"{code} {count}" for code, count in tally.first.most_common())
            out.append(f"{name:36} {tally.made:7} {tally.detected:9}  {first}")
            out += tally.wrong
            failed |= bool(tally.wrong)
        made, seen = sum(one.made for one in tallies.values()), sum(one.detected for one in tallies.values())
        out.append(f"{'all':36} {made:7} {seen:9}")
        for places in (True, False) if given.legal else ():
            alarms = false_alarms(house, given.legal, places=places, seed=given.seed)
            out.append(f"{given.legal} unmutated rounds, cards {'with' if places else 'without'} places: {len(alarms)} alerts")
            out += alarms[:5]
            failed |= bool(alarms)
        sys.stdout.write("\n".join(out) + "\n\n")
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
