"""What arrived whole is heard once, whatever the line suffers, and nothing else is: the account says the same as the decoder."""

import pytest

from tablectl.emulator.dealer import LegalPlay
from tablectl.emulator.script import RESTARTED, Script
from tablectl.emulator.wrong import Account, Line, Weather
from tablectl.houses.rules import load as load_house
from tablectl.observations import Bet, CardDrawn, CutCard, Observation
from tablectl.shoe.decoder import Decoder
from tablectl.shoe.profile import load, names

SHOES = [name for name in names() if load(name).profile.kind == "shoe"]
STORM = Weather(noise=0.4, harm=0.5, splits=0.4, dropouts=0.1, restarts=0.1)
RUIN = Weather(noise=0.4, harm=0.7, splits=0.4, dropouts=0.2, restarts=0.1, spare=False)


def session(shoe: str, weather: Weather, seed: int) -> tuple[Account, dict[str, list[Observation]], list[Observation]]:
    """Some rounds over two lines: the account, what was heard, and what was said."""
    script = Script(load(shoe).profile, load("dealer-pad").profile)
    lines = {port: Line(voice, weather, seed) for port, voice in script.voices.items()}
    decoders = {port: Decoder(voice.profile, port) for port, voice in script.voices.items()}
    account, heard, said = Account(), {port: list[Observation]() for port in lines}, list[Observation]()
    play = LegalPlay(load_house("fr").house, seed=seed, rounds=4, boxes=(2, 3), cut_card=script.can_say(CutCard()))
    for observation in play:
        restarted = isinstance(observation, CardDrawn) and script.can_say(RESTARTED) and lines["shoe"].restarts()
        for each in ([RESTARTED] if restarted else []) + [observation]:
            message = script.message(each)
            assert message is not None
            said.append(message.observation)
            sent = lines[message.port].send(message)
            for happening in sent.happenings:
                decoder = decoders[message.port]
                pieces = decoder.feed(happening) if isinstance(happening, bytes) else decoder.reset()
                heard[message.port] += [piece.observation for piece in pieces if piece.observation is not None]
            account.sent(message.port, message.observation, whole=sent.whole)
            account.read(message.port)
    return account, heard, said


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shoe", SHOES)
def test_where_a_copy_is_spared_everything_is_heard_once(shoe: str, seed: int) -> None:
    account, heard, said = session(shoe, STORM, seed)
    assert [entry.observation for entry in account.entries] == said
    assert {entry.arrived for entry in account.entries} == {"whole"}
    for port in heard:
        assert heard[port] == [entry.observation for entry in account.entries if entry.port == port]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shoe", SHOES)
def test_where_nothing_is_spared_the_account_knows_what_is_heard(shoe: str, seed: int) -> None:
    account, heard, _ = session(shoe, RUIN, seed)
    assert {entry.arrived for entry in account.entries} == {"whole", "harmed"}
    for port in heard:
        assert heard[port] == [entry.observation for entry in account.entries if (entry.port, entry.arrived) == (port, "whole")]
    assert account.owed() == [one for one in heard["shoe"] if isinstance(one, CardDrawn)]
    assert account.owed(Bet) == [one for one in heard["pad"] if isinstance(one, Bet)]


def test_a_line_in_calm_weather_carries_the_copies_and_no_more() -> None:
    script = Script(load("angel-eye-ii").profile, load("dealer-pad").profile)
    line = Line(script.shoe, Weather(), 1)
    message = script.message(CutCard())
    assert message is not None
    assert line.send(message) == (message.copies, True)


@pytest.mark.parametrize("profile", names())
def test_noise_between_frames_is_no_message(profile: str) -> None:
    loaded = load(profile).profile
    script = Script(loaded, load("dealer-pad").profile)
    decoder = Decoder(loaded)
    pieces = decoder.feed(Line(script.shoe, Weather(), 3).noise(50_000)) + decoder.finish()
    assert [piece.observation for piece in pieces if piece.observation is not None] == []


def test_what_was_not_read_is_in_doubt_and_owed_to_nobody() -> None:
    account = Account()
    first, second, third = (Bet(box=box, amount=100) for box in (1, 2, 3))
    account.sent("pad", first, whole=True)
    account.read("pad")
    account.sent("pad", second, whole=True)
    account.lost("pad")
    account.sent("pad", third, whole=False)
    account.read("pad")
    assert [entry.arrived for entry in account.entries] == ["whole", "doubtful", "harmed"]
    assert account.owed(Bet) == [first]
