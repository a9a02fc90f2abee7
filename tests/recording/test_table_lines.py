"""What a live table takes in beside its devices comes back from its recording, in its place among the bytes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.cards import Card
from tablectl.instants import from_micros, to_micros
from tablectl.observations import Bet, CardDrawn, Link, NoMoreBets, Observation, Tick
from tablectl.recording import native
from tablectl.recording.chunks import Chunk
from tablectl.recording.importers import open_log
from tablectl.recording.logs import LINE_LIMIT
from tablectl.recording.sources import Decoding, Seen
from tablectl.recording.table_lines import LIVE, TABLE, Remark, is_live, line_of, remark_line
from tablectl.shoe import profile as profiles
from tablectl.shoe.decoder import Decoder
from tests.strategies import any_observation

NOON = to_micros("2026-11-30T12:00:00Z")
SECOND = 1_000_000
SHOE, PAD = profiles.load("bee-tek").profile, profiles.load("dealer-pad").profile
KING = b" [Game]<Card:KH> "
UP = Link(device="shoe", state="up", why="opened")
DOWN = Link(device="shoe", state="down", why="unplugged")


def at(seconds: float) -> str:
    return from_micros(NOON + int(seconds * SECOND))


def chunk(data: bytes, seconds: float = 0, port: str = TABLE) -> Chunk:
    return Chunk(NOON + int(seconds * SECOND), port, "<", data)


def decoding() -> Decoding:
    return Decoding({"shoe": Decoder(SHOE, "shoe"), "pad": Decoder(PAD, "pad")}, live=True)


def found(chunks: Iterable[Chunk]) -> list[Observation | Remark]:
    return [each.observation if isinstance(each, Seen) else each for each in decoding().decoded(chunks)]


def test_what_was_said_of_the_table_stands_where_it_came() -> None:
    ruling = b'{"id": "7",  "do":"accept"}'
    assert found(
        [
            chunk(remark_line("start", b"{}"), 0),
            chunk(line_of(UP), 1),
            chunk(KING, 2, "shoe"),
            chunk(line_of(Tick(at=at(99))), 3),
            chunk(remark_line("command", ruling), 4),
            chunk(b"N\n", 5, "pad"),
        ]
    ) == [
        Remark(f"table {at(0)}", "start", b"{}", at(0)),
        Link(device="shoe", state="up", why="opened", at=at(1)),
        CardDrawn(card=Card("KH"), source="shoe", at=at(2)),
        Tick(at=at(3)),
        Remark(f"table {at(4)}", "command", ruling, at(4)),
        NoMoreBets(at=at(5)),
    ]


@given(observation=any_observation)
@settings(max_examples=200, derandomize=True)
def test_any_observation_comes_back_but_for_its_time(observation: Observation) -> None:
    line = line_of(observation)
    assert b'"at":' not in line.replace(b'\\"at', b"")
    (back,) = found([chunk(line, 3)])
    assert not isinstance(back, Remark)
    assert (line_of(back), back.at) == (line, at(3))


def cut(data: bytes, cuts: Iterable[int]) -> Iterator[Chunk]:
    places = sorted({place % (len(data) + 1) for place in cuts} | {0, len(data)})
    return (chunk(data[start:end]) for start, end in pairwise(places))


LINES = st.lists(
    st.sampled_from(
        [line_of(UP), line_of(DOWN), line_of(Bet(box=3, amount=500)), remark_line("command", b'{"a":[1,2]}'), b"\n", b"noise\n"]
    )
    | st.binary(max_size=30).map(lambda noise: noise + b"\n"),
    max_size=8,
)


@given(lines=LINES, cuts=st.lists(st.integers(0, 10_000), max_size=20))
@settings(max_examples=200, derandomize=True)
def test_how_the_lines_were_cut_changes_nothing(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(lines)
    whole, parts = decoding(), decoding()
    assert [*parts.decoded(cut(data, cuts))] == [*whole.decoded(cut(data, ()))]
    assert (parts.damaged, parts.warnings) == (whole.damaged, whole.warnings)


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b'{"a":}', b'{"a":\n1}', b" {}", b"{} ", b'{"a":1}{"b":2}', b"[" * 10_000])
def test_a_remark_is_one_object_on_one_line(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON object|one line"):
        remark_line("command", body)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"noise\n", "no JSON object"),
        (b'{"event":"teck"}\n', "teck"),
        (b'{"event":"bet","box":9,"amount":1}\n', "box"),
        (b'{"command":7}\n', "command"),
        (b'{"command":{},"start":{}}\n', "event"),
        (b'{"end":{}}\n', "event"),
        (b'{"command":' + b"[" * 10_000 + b"\n", "JSON"),
        (b"\xff\xfe\x00\n", "JSON"),
        (b'{"event":"' + b"x" * LINE_LIMIT + b'"}\n', "longer than"),
    ],
)
def test_a_line_that_is_none_is_told_and_passed_over(line: bytes, says: str) -> None:
    taken = decoding()
    chunks = [chunk(line_of(Tick())), *cut(line, range(0, len(line), 4096)), chunk(line_of(Tick()), 1)]
    assert [each.observation for each in taken.observed(chunks)] == [Tick(at=at(0)), Tick(at=at(1))]
    assert taken.damaged == 1
    (warning,) = taken.warnings
    assert says in warning
    assert "its line 2:" in warning
    assert len(warning) < 300


def test_a_torn_line_is_told_and_is_no_fault() -> None:
    taken = decoding()
    assert [*taken.decoded([chunk(line_of(DOWN)[:-1])])] == []
    assert (taken.damaged, len(taken.warnings)) == (0, 1)


def test_of_noise_only_the_first_is_told() -> None:
    taken = decoding()
    assert [*taken.decoded(chunk(b"noise\n") for _ in range(1000))] == []
    assert (taken.damaged, len(taken.warnings)) == (1000, 20)


# The lines of the devices


def test_links_are_told_once_and_not_inferred() -> None:
    assert found([chunk(line_of(UP)), chunk(KING, 1, "shoe")])[:1] == [Link(device="shoe", state="up", why="opened", at=at(0))]
    assert found([chunk(KING, 1, "shoe")]) == [CardDrawn(card=Card("KH"), source="shoe", at=at(1))]


def test_a_link_that_comes_up_cuts_what_was_begun() -> None:
    """Half a frame before the line was lost and half of another after it are no card."""
    taken = found(
        [chunk(KING[:12], 1, "shoe"), chunk(line_of(DOWN), 2), chunk(line_of(UP), 3), chunk(KING[12:] + KING, 4, "shoe")]
    )
    assert [each for each in taken if isinstance(each, CardDrawn)] == [CardDrawn(card=Card("KH"), source="shoe", at=at(4))]
    links = [(each.at, each.state, each.why.partition(":")[0]) for each in taken if isinstance(each, Link)]
    assert links == [
        (at(2), "down", "unplugged"),
        (at(3), "up", "opened"),
        (at(3), "up", "corrupt"),
        (at(4), "up", "sound again"),
    ]


def test_a_link_of_one_device_leaves_the_others_as_they_are() -> None:
    taken = found([chunk(KING[:12], 1, "shoe"), chunk(line_of(Link(device="pad", state="up")), 2), chunk(KING[12:], 3, "shoe")])
    assert taken[1:] == [CardDrawn(card=Card("KH"), source="shoe", at=at(3))]


def test_pending_says_when_the_lines_are_quiet() -> None:
    taken, counts = decoding(), []
    for each in (
        chunk(KING, 1, "shoe"),
        chunk(KING[:9], 1, "shoe"),
        chunk(KING[9:], 1, "shoe"),
        chunk(b'{"event"'),
        chunk(b"}\n"),
    ):
        taken.take(each)
        counts.append(taken.pending)
    assert counts[0] == counts[2] == counts[4] == 0
    assert counts[1] > 0
    assert counts[3] == 8


def test_taking_chunk_by_chunk_finds_what_a_replay_finds() -> None:
    chunks = [chunk(line_of(UP)), chunk(KING * 3 + b"\x81\x82", 1, "shoe"), chunk(line_of(UP), 2), chunk(b"B1 10", 3, "pad")]
    live = decoding()
    assert [item for each in chunks for item in live.take(each)] + live.finish() == [*decoding().decoded(chunks)]


# Files


def written(path: Path, chunks: Iterable[Chunk], header: dict[str, str]) -> None:
    out = io.BytesIO()
    writer = native.Writer(out, header)
    for each in chunks:
        writer.write(each)
    path.write_bytes(out.getvalue())


HEADER = {"house": "fr", "profile.shoe": "bee-tek", "profile.pad": "dealer-pad", **LIVE}


def replayed(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tablectl", "replay", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_recording_of_a_live_table_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "live.rec"
    session = [
        chunk(remark_line("start", b'{"software":"tablectl"}'), 0),
        chunk(line_of(Link(device="pad", state="up", why="opened")), 1),
        chunk(line_of(UP), 1),
        chunk(b"B1 1000\n", 2, "pad"),
        chunk(line_of(Bet(box=3, amount=2000)), 3),
        chunk(line_of(DOWN), 4),
        chunk(line_of(Tick()), 5),
    ]
    written(path, session, HEADER)
    log = open_log(path)
    assert is_live(log.header)
    assert native.profiles_of(log.header) == {"shoe": "bee-tek", "pad": "dealer-pad"}
    assert list(log) == session

    result = replayed(str(path), "--json")
    assert (result.returncode, [line for line in result.stderr.splitlines() if "link.lost" not in line]) == (0, [])
    notices = [json.loads(line) for line in result.stdout.splitlines()]
    statuses = [notice["devices"] for notice in notices if notice["notice"] == "status"]
    assert [(name, state["why"]) for name, state in sorted(statuses[-1].items())] == [("pad", "opened"), ("shoe", "unplugged")]
    assert len(statuses) == 3
    assert [notice["code"] for notice in notices if notice["notice"] == "alert"] == ["link.lost"]


def test_a_bad_line_makes_a_replay_exit_with_1(tmp_path: Path) -> None:
    path = tmp_path / "live.rec"
    written(path, [chunk(line_of(UP)), chunk(b'{"event":"teck"}\n', 1)], HEADER)
    result = replayed(str(path))
    assert result.returncode == 1
    assert f"{path}: port 'table', its line 2: " in result.stderr


def test_another_recordings_port_of_that_name_is_a_port_like_any(tmp_path: Path) -> None:
    path = tmp_path / "table.rec"
    written(path, [chunk(KING)], {"house": "fr", "profile.table": "bee-tek"})
    log = open_log(path)
    assert not is_live(log.header)
    assert native.profiles_of(log.header) == {"table": "bee-tek"}
