"""What a hand is worth, held against counting every ace both ways."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.cards import PACK, Card, Rank
from tablectl.game.hand import are_aces, is_blackjack, is_pair, total
from tests.strategies import a_few

FACE = {"A": (1, 11), "T": (10,), "J": (10,), "Q": (10,), "K": (10,), **{str(number): (number,) for number in range(2, 10)}}
SPADES = tuple(Card(f"{rank}S") for rank in Rank)


def counted(cards: tuple[Card, ...]) -> tuple[int, bool]:
    """The best total not above 21, else the least; soft when an ace counts 11 in it."""
    totals = {sum(faces): 11 in faces for faces in sorted(product(*(FACE[card[0]] for card in cards)))}
    best = max((value for value in totals if value <= 21), default=min(totals))
    return best, totals[best]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_every_hand_of_up_to_four_cards(number: int) -> None:
    for cards in combinations_with_replacement(SPADES, number):
        assert total(cards) == counted(cards), cards


@a_few
@given(st.lists(st.sampled_from(PACK), min_size=1, max_size=12).map(tuple))
def test_any_hand(cards: tuple[Card, ...]) -> None:
    assert total(cards) == counted(cards)
    assert total(tuple(sorted(cards))) == total(cards), "the order of the cards does not matter"
    assert total((*cards, Card.UNREAD)) == (None, False), "nothing is guessed"


def test_what_other_programs_count_wrong() -> None:
    assert total(cards("5S AS AH 5D")) == (12, False)
    assert total(cards("AS AH")) == (12, True)
    assert total(cards("AS AH AD AC 7S")) == (21, True)
    assert total(cards("AS 6D KH")) == (17, False)
    assert total(()) == (0, False)


def test_a_blackjack_is_an_ace_and_a_ten_valued_card_and_nothing_else() -> None:
    for pair in product(SPADES, repeat=2):
        assert is_blackjack(pair) is ({FACE[card[0]] for card in pair} == {(1, 11), (10,)})
    for three in permutations(cards("7S 7H 7D")):
        assert not is_blackjack(three)
    assert not is_blackjack(cards("AS"))
    assert not is_blackjack(cards("AS ??"))


def test_a_pair_by_rank_and_by_value() -> None:
    for first, second in product(SPADES, repeat=2):
        assert is_pair((first, second), same="same_rank") is (first[0] == second[0])
        assert is_pair((first, second), same="same_value") is (FACE[first[0]] == FACE[second[0]])
    for same in ("same_rank", "same_value"):
        assert is_pair(cards("KS KH"), same=same)
        assert not is_pair(cards("8S"), same=same)
        assert not is_pair(cards("8S 8H 8D"), same=same)
        assert not is_pair(cards("?? ??"), same=same), "two unread cards are not known to be alike"


def test_aces() -> None:
    assert are_aces(cards("AS AD"))
    assert not are_aces(cards("AS TD"))
    assert not are_aces(())


def cards(text: str) -> tuple[Card, ...]:
    return tuple(map(Card, text.split()))
