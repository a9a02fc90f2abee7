"""The encoder: whatever a device can say comes back as what was said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.cards import PACK, Card
from tablectl.observations import (
    Ack,
    Bet,
    CardDrawn,
    CutCard,
    Decision,
    Insurance,
    Observation,
    Paid,
    Ruling,
    ShoeFault,
    ShoeLoaded,
    TableState,
)
from tablectl.shoe.encoder import Encoder
from tests.shoe.streams import decoded, observations, profile_of

boxes, hands, amounts = st.integers(1, 7), st.integers(0, 99), st.integers(0, 999_999_999_999_999)
names = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="*"), min_size=1, max_size=80)
pad = st.one_of(
    st.builds(Bet, box=boxes, amount=amounts),
    st.builds(Decision, box=boxes, hand=hands, action=st.sampled_from(["hit", "stand", "double", "split", "surrender"])),
    st.builds(Insurance, box=boxes, amount=amounts),
    st.builds(ShoeLoaded, decks=st.integers(1, 12), cut=st.booleans()),
    st.builds(TableState, state=st.sampled_from(["open", "closed"])),
    st.builds(Paid, box=boxes, hand=hands),
    st.builds(Ack, alert=st.integers(0, 999_999_999), by=names),
    st.builds(Ruling, do=st.sampled_from(["accept", "burn", "void_round"]), by=names),
    st.builds(Ruling, do=st.just("void_hand"), box=boxes, hand=hands, by=names),
)


def there_and_back(profile: str, observation: Observation) -> list[Observation]:
    return observations(decoded(profile_of(profile), [Encoder(profile_of(profile)).observation(observation)]))


@given(pad)
def test_all_that_a_pad_can_say(observation: Observation) -> None:
    assert there_and_back("dealer-pad", observation) == [observation]


@pytest.mark.parametrize("card", [*PACK, Card.UNREAD])
@pytest.mark.parametrize("to", [None, "burn"])
@pytest.mark.parametrize("profile", ["angel-eye-ii", "bee-tek"])
def test_every_card_of_every_shoe(profile: str, to: str | None, card: Card) -> None:
    observation = CardDrawn(card=card, to=to, source="shoe")  # type: ignore[arg-type]
    assert there_and_back(profile, observation) == [observation]


@pytest.mark.parametrize("card", [*PACK, Card.UNREAD])
def test_every_card_under_the_scanner(card: Card) -> None:
    observation = CardDrawn(card=card, source="shoe")
    assert there_and_back("barcode-scanner", observation) == [observation]


def test_the_written_form_is_the_first_of_a_profile() -> None:
    encoder = Encoder(profile_of("bee-tek"))
    assert encoder.observation(CardDrawn(card=Card.HT, source="shoe")) == b" [Game]<Card:TH> "
    alarm = ShoeFault(code="card_not_read", text="E3 Card Not Read")
    assert encoder.observation(alarm) == b" [GameAlarm]<Alarm:E3 Card Not Read> "


def test_what_the_observation_leaves_open_can_be_given() -> None:
    encoder = Encoder(profile_of("angel-eye-ii"))
    ten = CardDrawn(card=Card.ST, source="shoe")
    assert encoder.observation(ten, {"seq": "3", "target.index": 1}) == bytes.fromhex("05 33 44 81 BA 03 34 46")
    assert encoder.message("card", {"seq": "3", "target": 0x81, "card": "TS"}) == bytes.fromhex("05 33 44 81 BA 03 34 46")


@pytest.mark.parametrize(
    ("profile", "observation"),
    [
        ("dealer-pad", CardDrawn(card=Card.SA)),
        ("dealer-pad", Bet(box=3, amount=1000, kind="cash")),
        ("dealer-pad", Bet(box=3, amount=1000, by="A")),
        ("dealer-pad", Bet(box=3, amount=10**15)),
        ("dealer-pad", Ruling(do="correct", by="A", card=Card.SA)),
        ("dealer-pad", Ack(alert=1, by="two words")),
        ("bee-tek", CutCard()),
        ("bee-tek", CardDrawn(card=Card.SA, to="dealer", source="shoe")),
        ("angel-eye-ii", ShoeFault(code="pulled_back", text="E1 cannot read")),
    ],
)
def test_what_a_device_cannot_say_is_refused(profile: str, observation: Observation) -> None:
    with pytest.raises(ValueError, match=f"{profile} cannot say"):
        Encoder(profile_of(profile)).observation(observation)


def test_unknown_names_and_values_are_refused() -> None:
    encoder = Encoder(profile_of("angel-eye-ii"))
    with pytest.raises(ValueError, match="no message 'crad'"):
        encoder.message("crad")
    with pytest.raises(ValueError, match="no command 'lock'"):
        encoder.command("lock")
    with pytest.raises(ValueError, match="no place for number"):
        encoder.command("clear error", {"number": 4})
    with pytest.raises(ValueError, match="has more than 2 digits"):
        encoder.command("clear error", {"error_number": 100})
    with pytest.raises(ValueError, match="a number is needed"):
        encoder.command("clear error")
