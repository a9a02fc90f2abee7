"""From recorded chunks to observations: what is decoded is never held back, and what a line suffered is told once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.cards import Card
from tablectl.instants import from_micros, to_micros
from tablectl.observations import Bet, CardDrawn, Decision, Link, NoMoreBets, Observation, ShoeLoaded, Tick
from tablectl.recording.chunks import Chunk, Direction
from tablectl.recording.importers import open_log
from tablectl.recording.player import merge
from tablectl.recording.sources import Seen, merged, observed
from tablectl.shoe import profile as profiles
from tablectl.shoe.decoder import Decoder

LOGS = Path(__file__).resolve().parents[1] / "recordings" / "table"
NOON = to_micros("2026-11-30T12:00:00Z")
SECOND = 1_000_000
TWO_OF_CLUBS = b" [Game]<Card:2C> "
KING = b" [Game]<Card:KH> "
PAD = profiles.load("dealer-pad").profile
SHOE = profiles.load("bee-tek").profile


def decoders() -> dict[str, Decoder]:
    return {"shoe": Decoder(SHOE, "shoe"), "pad": Decoder(PAD, "pad")}


def chunk(data: bytes, seconds: float | None = 0, port: str = "shoe", direction: Direction = "<") -> Chunk:
    return Chunk(None if seconds is None else NOON + int(seconds * SECOND), port, direction, data)


def seen(*chunks: Chunk) -> list[Observation]:
    return [each.observation for each in observed(chunks, decoders())]


def at(seconds: float) -> str:
    return from_micros(NOON + int(seconds * SECOND))


def without_links(observations: Iterable[Observation]) -> list[Observation]:
    return [each for each in observations if not isinstance(each, Link)]


def links(observations: Iterable[Observation]) -> list[tuple[str, str, str]]:
    """Each link's device, state, and the first word of why."""
    return [(each.device, each.state, each.why.partition(":")[0]) for each in observations if isinstance(each, Link)]


def test_a_port_is_up_with_its_first_chunk() -> None:
    observations = seen(chunk(b"B1 1000\n", 1, "pad"), chunk(TWO_OF_CLUBS, 2), chunk(b"N\n", 3, "pad"))
    assert observations == [
        Link(device="pad", state="up", why="opened", at=at(1)),
        Bet(box=1, amount=1000, at=at(1)),
        Link(device="shoe", state="up", why="opened", at=at(2)),
        CardDrawn(card=Card("2C"), source="shoe", at=at(2)),
        NoMoreBets(at=at(3)),
    ]


def test_a_frame_has_the_time_of_its_last_byte() -> None:
    (card,) = without_links(seen(chunk(TWO_OF_CLUBS[:9], 1), chunk(TWO_OF_CLUBS[9:], 2)))
    assert card.at == at(2)


def test_what_goes_to_a_device_and_ports_that_nobody_decodes_are_passed_over() -> None:
    assert seen(chunk(TWO_OF_CLUBS, direction=">"), chunk(TWO_OF_CLUBS, port="camera")) == []


def test_a_noise_is_told_once_until_a_sound_frame_ends_it() -> None:
    noise = [chunk(b"\x81\x82 noise \x83", second) for second in range(5)]
    told = seen(*noise, chunk(KING, 5), chunk(KING, 6), *noise)
    assert links(told) == [
        ("shoe", "up", "opened"),
        ("shoe", "up", "corrupt"),
        ("shoe", "up", "sound again"),
        ("shoe", "up", "corrupt"),
    ]
    assert len(without_links(told)) == 2


def test_a_corrupt_link_says_where_it_began() -> None:
    told = [each.why for each in seen(chunk(KING + b"\x81\x82\x83" * 100, 1)) if isinstance(each, Link)]
    assert [why for why in told if why.startswith("corrupt: ") and why.endswith(f", byte {len(KING)}")]


def test_a_frame_that_the_end_cuts_short_is_told() -> None:
    assert links(seen(chunk(b"B1 1000\nB3 10", port="pad")))[1:] == [("pad", "up", "corrupt")]


def test_each_port_is_judged_by_itself() -> None:
    told = seen(chunk(b"\x81" * 200, 1), chunk(b"N\n", 2, "pad"), chunk(KING, 3))
    assert [name for name, _, why in links(told) if why in ("corrupt", "sound again")] == ["shoe", "shoe"]


def test_every_observation_says_where_it_was_read() -> None:
    places = [each.where for each in observed([chunk(KING, 1), chunk(b"N\n", None, "pad")], decoders())]
    assert places == [f"shoe {at(1)}"] * 2 + ["pad"] * 2


def cut(data: bytes, cuts: Iterable[int]) -> Iterator[Chunk]:
    """The bytes in chunks of one time, cut there."""
    places = sorted({place % (len(data) + 1) for place in cuts} | {0, len(data)})
    for start, end in pairwise(places):
        yield chunk(data[start:end])


PARTS = st.lists(st.one_of(st.sampled_from([TWO_OF_CLUBS, KING, b" [Game]<Game> "]), st.binary(max_size=40)), max_size=8)


@given(parts=PARTS, cuts=st.lists(st.integers(0, 10_000), max_size=30))
@settings(max_examples=200, derandomize=True)
def test_how_the_bytes_were_read_changes_nothing(parts: list[bytes], cuts: list[int]) -> None:
    """Any bytes, cut anywhere, give the same observations, links and all; and none of the whole records is lost."""
    data = b"".join(parts)
    assert seen(*cut(data, cuts)) == seen(*cut(data, ()))


@given(noise=st.binary(max_size=60))
@settings(max_examples=200, derandomize=True)
def test_a_record_after_any_noise_is_found(noise: bytes) -> None:
    """An unfinished record before it may swallow none of it."""
    assert without_links(seen(chunk(noise, 0), chunk(KING, 1)))[-1] == CardDrawn(card=Card("KH"), source="shoe", at=at(1))


def test_a_whole_session_on_two_ports() -> None:
    """Fifteen lines of the pad and twenty-four cards of the shoe, in the order of their times."""
    logs = open_log(LOGS / "fr-shoe.socat-xv.log", port="shoe"), open_log(LOGS / "fr-pad.jpnevulator.log", port="pad")
    observations = [each.observation for each in observed(merge(*logs), decoders())]
    kinds = [type(each) for each in without_links(observations)]
    assert (kinds.count(CardDrawn), kinds.count(Bet), kinds.count(Decision), kinds.count(ShoeLoaded)) == (24, 4, 6, 1)
    assert links(observations) == [("pad", "up", "opened"), ("shoe", "up", "opened")]
    assert [each.at for each in observations] == sorted(each.at for each in observations if each.at)


# Streams as one


def stream(name: str, *times: float | None) -> list[Seen]:
    return [Seen(f"{name}{number}", Tick(at=None if time is None else at(time))) for number, time in enumerate(times)]


def places(*streams: Iterable[Seen]) -> list[str]:
    return [each.where for each in merged(*streams)]


def test_streams_are_merged_by_time() -> None:
    assert places(stream("a", 1, 3, 5), stream("b", 2, 4)) == ["a0", "b0", "a1", "b1", "a2"]


def test_at_equal_times_the_first_stream_is_first() -> None:
    assert places(stream("a", 1, 1), stream("b", 1, 1)) == ["a0", "a1", "b0", "b1"]


def test_what_has_no_time_stays_behind_the_one_before_it() -> None:
    assert places(stream("a", 1, 5), stream("b", None, 3, None, 6)) == ["b0", "a0", "b1", "b2", "a1", "b3"]


def test_a_clock_that_was_set_back_keeps_its_streams_own_order() -> None:
    assert places(stream("a", 4, 2, 6), stream("b", 3, 5)) == ["b0", "a0", "a1", "b1", "a2"]


def test_one_stream_is_handed_on_as_it_is() -> None:
    assert places(stream("a", 4, None, 2)) == ["a0", "a1", "a2"]


def test_streams_are_read_no_further_than_they_must_be() -> None:
    """A paced replay must not wait for an observation that is due later."""
    asked: list[float] = []

    def lazy() -> Iterator[Seen]:
        for second in (1.0, 3.0, 5.0):
            asked.append(second)
            yield Seen("lazy", Tick(at=at(second)))

    first = next(iter(merged(lazy(), stream("b", 2, 4))))
    assert (first.where, asked) == ("lazy", [1.0])
