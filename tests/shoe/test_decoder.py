"""What the decoder says of each byte, when it says it, and what it takes for a repeat."""

from pathlib import Path

import msgspec
import pytest

from tablectl.cards import Card
from tablectl.observations import CardDrawn, Observation, ShoeFault
from tablectl.shoe.decoder import Decoder, Piece
from tablectl.shoe.profile import Held, Profile, load
from tests.shoe.streams import decoded, observations, profile_of

TEN = bytes.fromhex("05 33 44 81 BA 03 34 46")  # the ten of spades, number 3
ACE = bytes.fromhex("05 30 44 81 C1 03 33 37")  # the ace of hearts, number 0
RESENT_TEN = bytes.fromhex("05 34 52 81 BA 03 35 45")  # R: 34 ^ 52 ^ 81 ^ BA ^ 03 = 5E
LOCKED_TEN = bytes.fromhex("05 34 64 80 BA 03 36 39")  # d, mode 0: 34 ^ 64 ^ 80 ^ BA ^ 03 = 69


def at(second: int, micro: int = 0) -> str:
    return f"2026-11-30T06:00:{second:02}.{micro:06}Z"


def drawn(seen: list[Observation]) -> list[str]:
    return [one.card.value for one in seen if isinstance(one, CardDrawn)]


def changed(profile: str, to: Path, *changes: tuple[str, str]) -> Profile:
    """A shipped profile with some of its lines written otherwise, as a site would."""
    text = load(profile).path.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = to / "site.toml"
    path.write_text(text)
    return load(str(path)).profile


def what(pieces: list[Piece]) -> list[tuple[int, int, str, str]]:
    return [(piece.start, piece.end, piece.what, piece.message or piece.why) for piece in pieces]


def test_each_run_of_bytes_says_what_it_is() -> None:
    damaged = TEN[:-1] + b"5"
    stream = b"\x00\x7f" + TEN + TEN + b"\x06" + damaged + b"\x15\x21" + TEN[:5]
    assert what(decoded(profile_of("angel-eye-ii"), [stream])) == [
        (0, 2, "rejected", "no frame"),
        (2, 10, "frame", "card"),
        (10, 18, "repeat", "card"),
        (18, 19, "ignored", "acknowledged"),
        (19, 27, "rejected", "checksum 45, but the bytes give 4F"),
        (27, 29, "rejected", "no frame"),  # a NAK behind noise is noise
        (29, 34, "rejected", "cut short"),
    ]


def test_text_says_what_stands_between() -> None:
    assert what(decoded(profile_of("bee-tek"), [b"  [Game]<Card:4S> \r\n [Game]<Card:1S>  x [Game]<Car"])) == [
        (0, 17, "frame", "card"),  # with the two blanks before it
        (17, 19, "ignored", "between frames"),
        (19, 36, "rejected", "fits no message of the profile"),
        (36, 38, "ignored", "between frames"),
        (38, 50, "rejected", "cut short"),
    ]


def test_a_message_that_cannot_be_true_says_why() -> None:
    (piece,) = decoded(profile_of("dealer-pad"), [b"B9 100\n"])
    assert (piece.what, piece.why) == ("rejected", "stake: box: must be at most 7")


def test_a_card_is_known_when_its_last_byte_came() -> None:
    decoder = Decoder(profile_of("angel-eye-ii"))
    assert decoder.feed(TEN[:3], at(1)) == []
    assert decoder.feed(TEN[3:7], at(2)) == []
    assert decoder.pending == 7
    (piece,) = decoder.feed(TEN[7:] + ACE[:4], at(3))
    assert piece.observation == CardDrawn(card=Card.ST, source="shoe", at=at(3))
    (piece,) = decoder.feed(ACE[4:], at(4))
    assert piece.observation == CardDrawn(card=Card.HA, source="shoe", at=at(4))
    assert decoder.pending == 0


def test_a_frame_held_back_by_a_false_start_keeps_its_own_time() -> None:
    decoder = Decoder(profile_of(str(Path(__file__).parent / "profiles" / "length-prefixed.toml")))
    assert decoder.feed(bytes.fromhex("AA 55 12"), at(1)) == []
    assert decoder.feed(bytes.fromhex("AA 55 02 4E 21 74 E0"), at(2)) == []  # the false start wants 20 bytes
    pieces = decoder.feed(bytes(20), at(9))
    assert [piece.observation.at for piece in pieces if piece.observation] == [at(2)]


def test_observations_name_the_device() -> None:
    start = bytes.fromhex("05 30 53 03 36 30")
    for device, name in (("left", "left"), (None, "shoe")):
        (piece,) = Decoder(profile_of("angel-eye-ii"), device).feed(start)
        assert getattr(piece.observation, "device", None) == name


def test_a_reconnect_forgets_and_rejects_what_was_cut() -> None:
    decoder = Decoder(profile_of("angel-eye-ii"))
    assert drawn(observations(decoder.feed(TEN + TEN[:4]))) == ["TS"]
    assert what(decoder.reset()) == [(8, 12, "rejected", "cut by a reconnect")]
    assert decoder.pending == 0
    (again,) = decoder.feed(TEN)
    assert (again.what, again.start, again.end) == ("frame", 12, 20)
    assert what(decoder.feed(TEN)) == [(20, 28, "repeat", "card")]


def test_a_line_cut_by_a_reconnect_is_not_the_beginning_of_the_next() -> None:
    decoder = Decoder(profile_of("dealer-pad"))
    assert decoder.feed(b"B3 1") == []
    assert what(decoder.reset()) == [(0, 4, "rejected", "cut by a reconnect")]
    assert [piece.observation for piece in decoder.feed(b"B3 100\n")] == observations(
        decoded(profile_of("dealer-pad"), [b"B3 100\n"])
    )


def test_only_the_frame_just_before_is_remembered() -> None:
    profile = profile_of("angel-eye-ii")
    assert drawn(observations(decoded(profile, [TEN + ACE + TEN]))) == ["TS", "AH", "TS"]
    stand_by = bytes.fromhex("05 31 50 03 36 32")
    assert drawn(observations(decoded(profile, [TEN + stand_by + TEN]))) == ["TS", "TS"], "any event in between is one"
    assert drawn(observations(decoded(profile, [TEN * 5]))) == ["TS"]


def test_a_site_may_count_cards_from_the_locked_shoe(tmp_path: Path) -> None:
    assert drawn(observations(decoded(profile_of("angel-eye-ii"), [LOCKED_TEN]))) == []
    site = changed(
        "angel-eye-ii", tmp_path, ('reading = "accounted" # a table deals with', 'reading = "counts" # a table deals with')
    )
    assert drawn(observations(decoded(site, [LOCKED_TEN * 3]))) == ["TS"]


def test_a_site_may_take_r_for_a_draw_sent_again(tmp_path: Path) -> None:
    """Then it counts only where the first sending was lost."""
    assert drawn(observations(decoded(profile_of("angel-eye-ii"), [RESENT_TEN]))) == []
    site = changed("angel-eye-ii", tmp_path, ('reading = "accounted" # never', 'reading = "resent" # never'))
    assert drawn(observations(decoded(site, [TEN + RESENT_TEN]))) == ["TS"]
    assert drawn(observations(decoded(site, [TEN[:6] + RESENT_TEN]))) == ["TS"]
    assert drawn(observations(decoded(site, [ACE + RESENT_TEN + RESENT_TEN]))) == ["AH", "TS"]
    start = bytes.fromhex("05 30 53 03 36 30")
    assert drawn(observations(decoded(site, [TEN + start + RESENT_TEN]))) == ["TS", "TS"], "the shoe knows nothing of before"


def test_a_site_names_its_packs(tmp_path: Path) -> None:
    site = changed(
        "barcode-scanner", tmp_path, ('match = "[0-9]{2}" # any', 'match = "1[1-6]" # any'), ('write = "12"', 'write = "11"')
    )
    seen = observations(decoded(site, [b"0112\r0121\r"]))
    assert seen == [CardDrawn(card=Card.SA, source="shoe"), ShoeFault(code="foreign_card", text="0121")]


def scans(profile: Profile, *times: str | None) -> list[str]:
    decoder = Decoder(profile)
    return [piece.what for time in times for piece in decoder.feed(b"0112\r", time)]


def test_a_card_held_in_the_beam_is_one_however_long() -> None:
    profile = profile_of("barcode-scanner")
    assert scans(profile, *(at(second) for second in range(10))) == ["frame"] + ["repeat"] * 9
    assert scans(profile, at(0), at(1, 500_000), at(3)) == ["frame", "repeat", "repeat"]
    assert scans(profile, at(0), at(1, 500_001), at(3, 2)) == ["frame", "frame", "frame"]


@pytest.mark.parametrize(("untimed", "second"), [("repeat", "repeat"), ("event", "frame")])
def test_a_clock_that_went_back_and_a_log_without_times(tmp_path: Path, untimed: str, second: str) -> None:
    site = changed("barcode-scanner", tmp_path, ('untimed = "repeat"', f'untimed = "{untimed}"'))
    assert isinstance(site.repeats, Held)
    assert scans(site, at(30), at(1)) == ["frame", second]
    assert scans(site, None, None) == ["frame", second]
    assert scans(site, at(1), None) == ["frame", second]


def test_pieces_are_json_with_their_observation() -> None:
    (piece,) = decoded(profile_of("bee-tek"), [b"[Game]<Card:4S>"])
    assert msgspec.json.decode(msgspec.json.encode(piece)) == {
        "start": 0,
        "end": 15,
        "what": "frame",
        "message": "card",
        "why": "",
        "observation": {"event": "card", "card": "4S", "source": "shoe"},
    }
