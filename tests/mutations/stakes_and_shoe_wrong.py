"""Stakes that are touched, void, gone or paid late; and what is wrong with the shoe."""

from __future__ import annotations

import random

from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game.round import Round
from tablectl.instants import from_micros, to_micros
from tablectl.observations import Bet, CardDrawn, CutCard, Decision, Paid, ShoeFault, ShoeLoaded
from tablectl.places import Place
from tests.mutations.kinds import Mutated, before, in_play, instead, mutation
from tests.mutations.stories import IN_DEAL, Manner, Story

# Stakes


@mutation("bet.late")
def a_stake_touched_after_the_close(story: Story, rng: random.Random) -> Mutated | None:
    """A stake is raised, lowered, taken away or laid while the round is dealt."""
    box = rng.randint(1, 7)
    there = story.stakes.get(box)
    amount = rng.choice((0, there + 50, there - 50)) if there else 500
    return before(story, rng.choice(in_play(story)), Bet(box=box, amount=amount))


def _stakings(story: Story) -> list[int]:
    return [i for i, seen in enumerate(story.seen[: story.closed]) if isinstance(seen.observation, Bet)]


@mutation("bet.not_chips")
def cash_or_word(story: Story, rng: random.Random) -> Mutated | None:
    """A stake is cash, or only said (R09)."""
    box = rng.randint(1, 7)
    cash, word = Bet(box=box, amount=500, kind="cash"), Bet(box=box, amount=500, kind="word")
    return before(story, rng.choice(_stakings(story)), rng.choice((cash, word)))


@mutation("bet.below_min")
def a_stake_below_the_minimum(story: Story, rng: random.Random) -> Mutated | None:
    """A box has 0.50 on it, where 1.00 is the least (R06)."""
    index = rng.choice(_stakings(story))
    bet = story.seen[index].observation
    assert isinstance(bet, Bet)
    return instead(story, index, replace(bet, amount=50))


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
    return before(story, story.closed, Bet(box=box, amount=rng.choice((0, story.carried[box] - 50)), kind="carried"))


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
    return before(story, index, Paid(box=box))


# The shoe


@mutation("shoe.burn_omitted")
def a_burn_card_is_skipped(story: Story, rng: random.Random) -> Mutated | None:
    """One card less is burned than the house burns (R04)."""
    return instead(story, rng.choice(story.dealt("burning")))


@mutation("shoe.card_unread")
def a_card_passes_unread(story: Story, rng: random.Random) -> Mutated | None:
    """The shoe could not read a card."""
    index = rng.choice(story.dealt("burning", *IN_DEAL))
    return instead(story, index, CardDrawn(card=Card.UNREAD, to=story.seen[index].place, source="shoe"))


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
    return instead(story, index + 1, replace(story.observations[index + 1], at=at))


@mutation("shoe.past_cut_card")
def a_round_after_the_cut_card(story: Story, rng: random.Random) -> Mutated | None:
    """The cut card came in this round, or after it, and the next one starts."""
    return before(story, rng.randint(min(story.dealt("first_cards")), story.closed), CutCard())


@mutation("shoe.not_cut")
def a_shoe_that_nobody_cut(story: Story, rng: random.Random) -> Mutated | None:
    """No player cut the shoe (R05)."""
    return instead(story, 0, ShoeLoaded(decks=6, cut=False))


@mutation("rules.layout_mismatch")
def a_shoe_of_eight_packs(story: Story, rng: random.Random) -> Mutated | None:
    """The shoe holds other packs than the house plays (R01)."""
    return instead(story, 0, ShoeLoaded(decks=8, cut=True))


@mutation("shoe.pulled_back shoe.foreign_card")
def a_card_pushed_back_or_foreign(story: Story, rng: random.Random) -> Mutated | None:
    """The shoe reports a card drawn backwards, or one that is not of its packs."""
    return before(story, rng.choice(in_play(story)), ShoeFault(code=rng.choice(("pulled_back", "foreign_card"))))


@mutation("shoe.missing_cards")
def a_shoe_counted_out_short(story: Story, rng: random.Random) -> Mutated | None:
    """After the round the shoe is counted out, and has not the cards that were loaded."""
    return before(story, story.closed, ShoeFault(code="empty"))
