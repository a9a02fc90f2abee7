"""Cards that go wrong, to the boxes and to the dealer."""

from __future__ import annotations

import random

from tablectl.game.round import Hand, find
from tablectl.observations import Bet, CardDrawn, Decision, NoMoreBets, ShoeLoaded, TableState
from tablectl.places import BoxPlace, Place
from tests.mutations.kinds import Mutated, before, decides, instead, mutation, passed_over, pick, to
from tests.mutations.stories import IN_DEAL, Manner, Story

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
    seen, at = to(story, first, story.seen[second].place or "dealer")
    seen[second] = to(story, second, story.seen[first].place or "dealer")[0][second]
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
)
def a_card_is_missing(story: Story, rng: random.Random) -> Mutated | None:
    """A card that the rules ask for does not come, and the game goes on as if it had.

    Not counted: the card of a `hit`, which may be taken back, and the dealer's draw, which is `dealer_stops_short`.
    """
    sites = story.dealt("first_cards", "second_cards") + [
        i for i in story.dealt("players") if (hand := served(story, i)) and (hand.owed == "double" or len(hand.cards) == 1)
    ]
    index = pick(rng, sites)
    return None if index is None else instead(story, index)


def served(story: Story, index: int) -> Hand | None:
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
    index = pick(rng, [i for i in story.dealt("first_cards", "second_cards") if story.seen[i].place != "dealer"])
    return None if index is None else passed_over(story, index)


@mutation("deal.dealer_card_missing")
def the_dealer_forgets_his_first_card(story: Story, rng: random.Random) -> Mutated | None:
    """The boxes get their second cards, and the dealer has none."""
    return passed_over(story, next(i for i in story.dealt("first_cards") if story.seen[i].place == "dealer"))


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
    index = pick(rng, sites)
    return None if index is None else before(story, index + 1, story.observations[index])


@mutation("deal.box_without_stake")
def a_card_to_a_box_without_stake(story: Story, rng: random.Random) -> Mutated | None:
    """A card of the round goes to a box with nothing on it."""
    free = [box for box in range(1, 8) if box not in story.stakes]
    index = pick(rng, story.dealt(*IN_DEAL))
    return None if index is None or not free else to(story, index, BoxPlace(rng.choice(free), 0))


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
    return before(story, index, CardDrawn(card=rng.choice(story.rest), to=BoxPlace(hand.box, hand.number), source="shoe"))


@mutation("deal.extra_card", manner=Manner(choice=lambda due, rng: "stand"))
def a_card_to_a_hand_that_stood(story: Story, rng: random.Random) -> Mutated | None:
    """A hand that stood gets a card more."""
    return a_card_to_a_hand_that_has_ended(story, rng)


@mutation("deal.out_of_order")
def a_card_is_burned_in_a_round(story: Story, rng: random.Random) -> Mutated | None:
    """A card of the round goes to the burned cards."""
    index = pick(rng, story.dealt(*IN_DEAL))
    return None if index is None else to(story, index, "burn")


@mutation("deal.card_outside_round")
def a_card_before_any_stake(story: Story, rng: random.Random) -> Mutated | None:
    """The burn is done, nothing is staked, and a card is drawn."""
    index = next(i for i, seen in enumerate(story.seen) if isinstance(seen.observation, Bet))
    places: tuple[Place | None, ...] = (None, "dealer", "burn", BoxPlace(rng.randint(1, 7), 0))
    place = rng.choice(places)
    return before(story, index, CardDrawn(card=rng.choice(story.rest), to=place, source="shoe"))


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
    acts = decides(story, lambda seen, _: isinstance(seen.observation, Decision) and seen.observation.action != "stand")
    index = pick(rng, waits + acts)
    if index is None:
        return None
    if index in waits:
        return to(story, index, "dealer")
    return before(story, index, CardDrawn(card=rng.choice(story.rest), to="dealer", source="shoe"))


@mutation("dealer.drew_on_17", manner=Manner(choice=lambda due, rng: "stand"))
def the_dealer_draws_on_17(story: Story, rng: random.Random) -> Mutated | None:
    """The dealer has 17 or more, and takes a card."""
    if len(story.round.dealer) < 2 or (story.round.dealer_total or 0) < 17:
        return None
    return before(story, story.closed, CardDrawn(card=rng.choice(story.rest), to="dealer", source="shoe"))


@mutation("dealer.drew_idle", manner=Manner(boxes=(2, 3), choice=lambda due, rng: "hit"))
def the_dealer_draws_for_nothing(story: Story, rng: random.Random) -> Mutated | None:
    """No stake depends on the dealer, who has less than 17, and takes a card."""
    if (story.round.dealer_total or 17) >= 17:
        return None
    return before(story, story.closed, CardDrawn(card=rng.choice(story.rest), to="dealer", source="shoe"))


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
