"""What an emulated device says is what a host hears, in every make and house, with the habits of each."""

from itertools import groupby, pairwise

import pytest
from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.emulator.dealer import LegalPlay
from tablectl.emulator.script import RESTARTED, Message, Script
from tablectl.houses.rules import load as load_house
from tablectl.houses.rules import names as houses
from tablectl.observations import Bet, CardDrawn, CutCard, Decision, Insurance, NoMoreBets, Observation, Ruling, ShoeLoaded, Tick
from tablectl.places import BoxPlace
from tablectl.shoe.decoder import Decoder
from tablectl.shoe.profile import load, names

SHOES = [name for name in names() if load(name).profile.kind == "shoe"]
ACE = CardDrawn(card=Card.SA, source="shoe")


def script(shoe: str = "angel-eye-ii") -> Script:
    return Script(load(shoe).profile, load("dealer-pad").profile)


def say(speaker: Script, observation: Observation) -> Message:
    message = speaker.message(observation)
    assert message is not None
    return message


@pytest.mark.parametrize("house", houses())
@pytest.mark.parametrize("shoe", SHOES)
def test_a_session_is_decoded_to_what_was_said(shoe: str, house: str) -> None:
    speaker = script(shoe)
    decoders = {port: Decoder(voice.profile, port) for port, voice in speaker.voices.items()}
    for observation in LegalPlay(load_house(house).house, seed=2, rounds=4, cut_card=speaker.can_say(CutCard())):
        message = say(speaker, observation)
        assert message.observation == observation
        pieces = [piece for copy in message.copies for piece in decoders[message.port].feed(copy)]
        assert [piece.observation for piece in pieces if piece.observation is not None] == [observation]
        assert all(piece.what != "rejected" for piece in pieces)


def test_the_angel_eye_says_all_three_times_under_a_number_that_comes_round_after_ten() -> None:
    speaker = script()
    messages = [say(speaker, ACE) for _ in range(21)]
    assert all(len(message.copies) == 3 and len(set(message.copies)) == 1 for message in messages)
    numbers = [message.copies[0][1:2] for message in messages]
    assert numbers[:10] == [b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9"]
    assert numbers[10:20] == numbers[:10]


def test_a_shoe_that_restarts_says_so_and_begins_to_count_again() -> None:
    speaker = script()
    for _ in range(3):
        say(speaker, ACE)
    assert say(speaker, RESTARTED).copies == (bytes.fromhex("05 30 53 03 36 30"),) * 3
    assert say(speaker, ACE).copies[0][1:2] == b"1"
    assert not script("bee-tek").can_say(RESTARTED)


def test_two_equal_cards_in_a_row_are_two_for_every_shoe() -> None:
    for shoe in SHOES:
        speaker = script(shoe)
        for card in (Card.SA, Card.UNREAD):
            first, second = (say(speaker, CardDrawn(card=card, source="shoe")) for _ in range(2))
            decoder = Decoder(load(shoe).profile)
            pieces = [piece for copy in (*first.copies, *second.copies) for piece in decoder.feed(copy)]
            assert sum(piece.observation is not None for piece in pieces) == 2, (shoe, card)


def test_a_card_is_held_before_the_scanner_for_one_to_three_readings() -> None:
    speaker = script("barcode-scanner")
    assert {len(say(speaker, ACE).copies) for _ in range(9)} == {1, 2, 3}


def test_records_are_written_in_parts_that_are_cut_anywhere() -> None:
    speaker = script("bee-tek")
    cuts = set()
    for _ in range(30):
        message = say(speaker, ACE)
        first, second = speaker.shoe.parts(message.copies[0])
        assert first + second == message.copies[0]
        cuts.add(len(first))
    assert len(cuts) > 10


@pytest.mark.parametrize(
    ("observation", "port"),
    [
        (ACE, "shoe"),
        (ShoeLoaded(decks=6, cut=True), "pad"),
        (Bet(box=1, amount=100), "pad"),
        (NoMoreBets(), "pad"),
        (Decision(box=1, hand=0, action="hit"), "pad"),
        (Ruling(do="accept", by="CHIEF7"), "pad"),
        (CutCard(), "shoe"),
    ],
)
def test_each_is_said_by_the_device_that_knows_it(observation: Observation, port: str) -> None:
    assert say(script(), observation).port == port


def test_what_a_device_cannot_know_is_left_out() -> None:
    assert say(script(), replace(ACE, to=BoxPlace(3, 0), at="2026-11-30T12:00:00.000000Z")).observation == ACE
    assert say(script(), replace(ACE, to="burn")).observation == replace(ACE, to="burn")
    assert say(script("barcode-scanner"), replace(ACE, to="burn")).observation == ACE
    assert say(script(), Insurance(box=1, amount=50, even_money=True)).observation == Insurance(box=1, amount=50)
    assert say(script(), Ruling(do="accept", by="A", reason="seen")).observation == Ruling(do="accept", by="A")


@pytest.mark.parametrize("observation", [Tick(), Bet(box=1, amount=100, by="A"), Bet(box=1, amount=100, kind="cash")])
def test_what_changes_its_meaning_without_the_rest_is_not_said(observation: Observation) -> None:
    assert script().message(observation) is None


def test_a_message_that_is_not_said_moves_no_number() -> None:
    speaker = script()
    numbers = [say(speaker, ACE).copies[0][1] for _ in range(3) if speaker.message(Tick()) is None]
    assert [after - before for before, after in pairwise(numbers)] == [1, 1]
    assert len(list(groupby(numbers))) == 3
