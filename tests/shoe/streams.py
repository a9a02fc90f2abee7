"""Streams of bytes as lines suffer them, and the ways to decode them, for the tests of the decoders."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st

from tablectl.observations import Observation
from tablectl.shoe.decoder import Decoder, Piece, coalesced
from tablectl.shoe.profile import Profile, load, names
from tablectl.shoe.vectors import read

HERE = Path(__file__).parent
PROFILES = [*names(), *(str(path) for path in sorted((HERE / "profiles").glob("*.toml")) if not path.stem.endswith(".vectors"))]
"""The profiles that ship, and those of the framings that no shipped one uses."""


def called(name: str) -> str:
    """A profile's name for a test's id."""
    return Path(name).stem


@cache
def profile_of(name: str) -> Profile:
    return load(name).profile


@cache
def sent(name: str) -> list[bytes]:
    """What the profile's vectors say that the device sends, one stream a vector."""
    vectors, _ = read(load(name).vectors)
    return [b"".join(data for _, data in vector.stream()) for vector in vectors.vector]


def decoded(profile: Profile, chunks: Iterable[bytes], at: str | None = None) -> list[Piece]:
    """All pieces of a stream that came in these chunks."""
    decoder = Decoder(profile)
    pieces = [piece for chunk in chunks for piece in decoder.feed(chunk, at)]
    return list(coalesced(pieces + decoder.finish()))


@cache
def sound(name: str) -> list[bytes]:
    """Those of them that are sound as a whole: messages, and no noise."""
    return [data for data in sent(name) if all(piece.what != "rejected" for piece in decoded(profile_of(name), [data]))]


def observations(pieces: Iterable[Piece]) -> list[Observation]:
    return [piece.observation for piece in pieces if piece.observation is not None]


def assert_accounted(pieces: Sequence[Piece], size: int) -> None:
    """Every byte of the stream is in one piece and in one only."""
    assert [piece.start for piece in pieces] == [0, *(piece.end for piece in pieces)][: len(pieces)]
    assert all(piece.start < piece.end for piece in pieces)
    assert (pieces[-1].end if pieces else 0) == size


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """The stream in chunks, cut at these places."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


@cache
def streams(name: str) -> st.SearchStrategy[bytes]:
    """True frames, the same cut short, with a byte lost, doubled or changed, and noise rich in the bytes of frames."""
    frames = [data for data in sent(name) if len(data) < 80]
    telling = st.sampled_from(sorted(set(b"".join(frames))))
    frame = st.sampled_from(frames)
    place = st.integers(0, 79)
    noise = st.lists(st.one_of(telling, st.integers(0, 255)), max_size=30).map(bytes)
    return st.lists(
        st.one_of(
            frame,
            noise,
            st.builds(lambda data, at: data[:at], frame, place),
            st.builds(lambda data, at: data[:at] + data[at + 1 :], frame, place),
            st.builds(lambda data, at: data[: at + 1] + data[at:], frame, place),
            st.builds(lambda data, at, byte: data[:at] + bytes([byte]) + data[at + 1 :], frame, place, telling),
        ),
        max_size=8,
    ).map(b"".join)
