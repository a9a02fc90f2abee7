"""What holds for any bytes: any split gives the same, every byte is in one piece, memory is bounded, a true frame is found."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tablectl.shoe.decoder import Decoder
from tablectl.shoe.ended import Lines
from tests.shoe.streams import PROFILES, assert_accounted, called, cut, decoded, observations, profile_of, sound, streams

each_profile = pytest.mark.parametrize("name", PROFILES, ids=called)
AT = "2026-11-30T06:00:00.000000Z"


@each_profile
@settings(max_examples=40)
@given(data=st.data())
def test_any_split_gives_the_same_pieces(name: str, data: st.DataObject) -> None:
    profile = profile_of(name)
    stream = data.draw(streams(name))
    whole = decoded(profile, [stream], AT)
    assert_accounted(whole, len(stream))
    places = data.draw(st.lists(st.integers(0, 400), max_size=12))
    assert decoded(profile, cut(stream, places), AT) == whole
    assert decoded(profile, [stream[index : index + 1] for index in range(len(stream))], AT) == whole


@each_profile
@settings(max_examples=40)
@given(stream=st.binary(max_size=600), places=st.lists(st.integers(0, 600), max_size=6))
def test_random_bytes_never_raise_and_are_accounted_for(name: str, stream: bytes, places: list[int]) -> None:
    profile = profile_of(name)
    assert_accounted(decoded(profile, cut(stream, places)), len(stream))


@each_profile
@settings(max_examples=40)
@given(data=st.data())
def test_no_more_than_a_frame_is_kept(name: str, data: st.DataObject) -> None:
    decoder = Decoder(profile_of(name))
    longest = decoder._scanner.longest
    for chunk in data.draw(st.lists(streams(name), max_size=6)):
        decoder.feed(chunk)
        assert decoder.pending <= longest
        assert len(decoder._buffer) <= longest + 1
        assert len(decoder._times) <= longest + 1


@each_profile
@settings(max_examples=40)
@given(data=st.data())
def test_a_true_frame_is_found_after_any_noise(name: str, data: st.DataObject) -> None:
    """For lines, noise that a line could be made of must end first; anything else may stand just before the frame.

    Streams of the vectors that are sound as a whole are the frames; what comes of them alone must come of them after noise.
    """
    profile = profile_of(name)
    frame = data.draw(st.sampled_from(sound(name)))
    noise = data.draw(st.one_of(streams(name), st.binary(max_size=60)))
    if isinstance(profile.frames[0], Lines):
        noise += data.draw(
            st.sampled_from([b"\x00", b"\xff", profile.frames[0].end.encode() and bytes.fromhex(profile.frames[0].end)])
        )
    decoder = Decoder(profile)
    decoder.feed(noise)
    reset = data.draw(st.booleans())
    if reset:  # a reconnect forgets repeats; without one, the noise must not hold the very frame
        decoder.reset()
    else:
        assume(profile.repeats is None or not any(piece.what in ("frame", "repeat") for piece in decoded(profile, [noise])))
    found = decoder.feed(frame) + decoder.finish()
    alone = observations(decoded(profile, [frame]))
    got = observations(found)
    assert got[len(got) - len(alone) :] == alone


@each_profile
@settings(max_examples=40)
@given(data=st.data())
def test_a_true_frame_is_found_before_any_noise(name: str, data: st.DataObject) -> None:
    profile = profile_of(name)
    frame = data.draw(st.sampled_from(sound(name)))
    alone = observations(decoded(profile, [frame]))
    noise = data.draw(st.binary(max_size=60))
    assert observations(decoded(profile, [frame, noise]))[: len(alone)] == alone


@each_profile
def test_a_long_noise_is_few_pieces_and_little_memory(name: str) -> None:
    profile = profile_of(name)
    for byte in b"\x00\xff\x05A>\r\n":
        decoder = Decoder(profile)
        pieces = [piece for _ in range(16) for piece in decoder.feed(bytes([byte]) * (1 << 16))]
        assert len(pieces) <= 17
        assert decoder.pending <= decoder._scanner.longest
        assert_accounted(pieces, (16 << 16) - decoder.pending)
