"""`tablectl house show` can put every rule that a house may have into words."""

from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from tablectl.houses.meanings import meaning, money, rows_of
from tablectl.houses.rules import Rules

HINTS: dict[str, Any] = get_type_hints(Rules)


def words(hint: Any) -> list[object]:
    """The closed vocabulary of a key: all that its type lists by name."""
    if hint is bool:
        return [True, False]
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [word for part in get_args(hint) for word in words(part)]


@pytest.mark.parametrize("key", list(HINTS))
def test_every_word_has_a_meaning_of_its_own(key: str) -> None:
    vocabulary = words(HINTS[key])
    meanings = [meaning(key, word, "EUR") for word in vocabulary]
    assert len(set(meanings)) == len(vocabulary)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("decks", 8, "packs of 52 cards in the shoe: 8"),
        ("table_min", 2550, "a box with less than 25.50 EUR gets no card"),
        ("table_max", 100000, "a box takes at most 1000.00 EUR"),
        ("max_hands", 1, "hands that a box may reach by splitting: 1"),
        ("max_hands", "unlimited", "a box may be split into any number of hands"),
        ("double_on", (10, 11), "the first two cards may be doubled at a total of 10, 11"),
        ("blackjack_pays", "6:5", "a blackjack wins 6:5, winnings to stake"),
        ("split_aces_cards", 1, "a split ace gets one card and is finished"),
        ("smallest_chip", 5, "the smallest chip is 0.05 EUR"),
    ],
)
def test_what_is_said(key: str, value: object, said: str) -> None:
    assert meaning(key, value, "EUR") == said


@pytest.mark.parametrize("key", ["decks", "boxes", "min_boxes", "burn_cards", "table_min", "table_max", "smallest_chip"])
def test_every_count_has_a_meaning(key: str) -> None:
    assert meaning(key, 3, "EUR") != meaning(key, 4, "EUR")


def test_a_word_that_no_house_has() -> None:
    with pytest.raises(KeyError):
        meaning("tie", "house", "EUR")
    with pytest.raises(KeyError):
        meaning("no_such_key", 1, "EUR")


def test_rows_and_money() -> None:
    assert rows_of("blackjack_pays") == ("R11", "R14")
    assert rows_of("blackjack_after_split") == ("R26", "R27")
    assert money(5, "EUR") == "0.05 EUR"
