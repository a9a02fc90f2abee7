"""Two whole table sessions, decoded from what their devices sent."""

import pytest

from tablectl.observations import Bet, CardDrawn, Decision, Insurance, Link, NoMoreBets, Observation, ShoeLoaded
from tests.shoe.streams import HERE, cut, decoded, observations, profile_of

FR_BURNED = "2C 9D KS 4H 7S"
FR_ROUND_1 = "AS 8H TD 6C KD 8D 6S 3C TH TC 9H 5D 7C"
FR_ROUND_2 = "9S 7D AH 9C QC JD"
ES_ROUND_1 = "TS 5H AC TC QD 6D AD AH 5S 4H 7S 9D KC 8C"
ES_ROUND_2 = "9S 7H 8D TD 4S"


def session(name: str, profile: str) -> list[Observation]:
    data = (HERE / "samples" / f"{name}.bin").read_bytes()
    pieces = decoded(profile_of(profile), cut(data, range(0, len(data), 7)))
    assert all(piece.what != "rejected" for piece in pieces)
    return observations(pieces)


def cards(seen: list[Observation]) -> list[tuple[str, str | None]]:
    return [(one.card.value, one.to if isinstance(one.to, str) else None) for one in seen if isinstance(one, CardDrawn)]


def test_french_shoe() -> None:
    seen = session("fr-shoe", "bee-tek")
    dealt = f"{FR_ROUND_1} {FR_ROUND_2}".split()
    assert cards(seen) == [*((card, "burn") for card in FR_BURNED.split()), *((card, None) for card in dealt)]
    assert len(seen) == 24
    assert all(isinstance(one, CardDrawn) and one.source == "shoe" for one in seen)


def test_spanish_shoe_sends_everything_thrice() -> None:
    seen = session("es-shoe", "angel-eye-ii")
    assert seen[0] == Link(device="shoe", state="up", why="restarted")
    assert cards(seen) == [("7H", "burn"), *((card, None) for card in f"{ES_ROUND_1} {ES_ROUND_2}".split())]
    assert len(seen) == 21
    data = (HERE / "samples" / "es-shoe.bin").read_bytes()
    pieces = decoded(profile_of("angel-eye-ii"), [data])
    assert sum(piece.what == "repeat" for piece in pieces) == 44
    assert [piece.message for piece in pieces if piece.what == "ignored"] == ["stand-by"]


@pytest.mark.parametrize("copies", [(0, 1), (1, 2), (0, 2)])
def test_two_damaged_copies_of_three_cost_nothing(copies: tuple[int, int]) -> None:
    data = bytearray((HERE / "samples" / "es-shoe.bin").read_bytes())
    whole = session("es-shoe", "angel-eye-ii")
    start = 0
    for number in range(22):
        size = 6 if number < 2 else 8
        for copy in copies:
            data[start + copy * size + 2] ^= 0x04  # the kind of message
        start += 3 * size
    assert start == len(data)
    assert observations(decoded(profile_of("angel-eye-ii"), [bytes(data)])) == whole


def test_french_pad() -> None:
    assert session("fr-pad", "dealer-pad") == [
        ShoeLoaded(decks=6, cut=True),
        Bet(box=1, amount=1000),
        Bet(box=3, amount=2000),
        Bet(box=5, amount=1000),
        NoMoreBets(),
        Decision(box=3, hand=0, action="split"),
        Decision(box=3, hand=0, action="double"),
        Decision(box=3, hand=1, action="stand"),
        Decision(box=5, hand=0, action="hit"),
        Bet(box=1, amount=1000),
        NoMoreBets(),
        Insurance(box=1, amount=500),
        Insurance(box=3, amount=0),
        Decision(box=1, hand=0, action="stand"),
        Decision(box=3, hand=0, action="stand"),
    ]


def test_spanish_pad() -> None:
    assert session("es-pad", "dealer-pad") == [
        ShoeLoaded(decks=6, cut=True),
        Bet(box=2, amount=1000),
        Bet(box=4, amount=1000),
        Bet(box=7, amount=500),
        NoMoreBets(),
        Decision(box=2, hand=0, action="split"),
        Decision(box=2, hand=0, action="stand"),
        Decision(box=2, hand=1, action="hit"),
        Decision(box=2, hand=1, action="stand"),
        Decision(box=4, hand=0, action="double"),
        Decision(box=7, hand=0, action="split"),
        Bet(box=2, amount=1000),
        NoMoreBets(),
        Decision(box=2, hand=0, action="stand"),
    ]
