"""Logs played as one: merged by time, paced as they were recorded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.errors import UsageError
from tablectl.recording.chunks import Chunk
from tablectl.recording.importers import open_log
from tablectl.recording.player import merge, paced


def chunks_of(port: str, *times: int | None) -> list[Chunk]:
    return [Chunk(at, port, "<", b"%d" % number) for number, at in enumerate(times)]


class Clock:
    """A clock that only moves when somebody sleeps, or when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds

    def read(self) -> float:
        return self.now


def test_merged_by_time_and_equal_times_in_the_order_of_the_arguments() -> None:
    shoe, pad = chunks_of("shoe", 1, 5, 5, 9), chunks_of("pad", 0, 5, 7)
    assert [(chunk.port, chunk.at) for chunk in merge(shoe, pad)] == [
        ("pad", 0),
        ("shoe", 1),
        ("shoe", 5),
        ("shoe", 5),
        ("pad", 5),
        ("pad", 7),
        ("shoe", 9),
    ]
    assert [chunk.port for chunk in merge(pad, shoe)][2:5] == ["pad", "shoe", "shoe"]


@given(st.lists(st.lists(st.integers(0, 50)), min_size=1, max_size=4))
def test_nothing_is_lost_and_each_log_keeps_its_order(logs: list[list[int]]) -> None:
    made = [chunks_of(f"port{number}", *times) for number, times in enumerate(logs)]
    played = list(merge(*made))
    for number, log in enumerate(made):
        assert [chunk for chunk in played if chunk.port == f"port{number}"] == log
    assert len(played) == sum(map(len, made))
    if all(times == sorted(times) for times in logs):
        assert [chunk.at for chunk in played] == sorted(at for times in logs for at in times)


def test_a_clock_that_was_set_back_does_not_hold_up_the_others() -> None:
    shoe, pad = chunks_of("shoe", 10, 20, 2, 21), chunks_of("pad", 19, 30)
    assert [(chunk.port, chunk.at) for chunk in merge(shoe, pad)] == [
        ("shoe", 10),
        ("pad", 19),
        ("shoe", 20),
        ("shoe", 2),
        ("shoe", 21),
        ("pad", 30),
    ]


def test_merging_is_lazy() -> None:
    def endless(port: str) -> Iterator[Chunk]:
        at = 0
        while True:
            at += 1
            yield Chunk(at, port, "<", b"x")

    played = merge(endless("shoe"), endless("pad"))
    assert [next(played).port for _ in range(4)] == ["shoe", "pad", "shoe", "pad"]


def test_a_log_without_times_cannot_be_merged(tmp_path: Path) -> None:
    raw = tmp_path / "raw.bin"
    raw.write_bytes(b"\x02")
    with pytest.raises(UsageError) as refused:
        list(merge(chunks_of("pad", 1), open_log(raw, "raw")))
    assert str(refused.value).startswith(f"{raw}: the bytes of 'shoe' have no times")
    assert "--start" in str(refused.value)
    assert [chunk.at for chunk in merge(open_log(raw, "raw"))] == [None]


@pytest.mark.parametrize(("speed", "waits"), [(1.0, [1.5, 0.5]), (2.0, [0.75, 0.25]), (0.5, [3.0, 1.0])])
def test_each_chunk_comes_when_it_is_due(speed: float, waits: list[float]) -> None:
    clock = Clock()
    recorded = chunks_of("shoe", 7_000_000, 8_500_000, None, 8_500_000, 9_000_000)
    assert list(paced(recorded, speed, clock.sleep, clock.read)) == recorded
    assert clock.slept == waits


def test_lost_time_is_made_up_for() -> None:
    clock = Clock()
    for chunk in paced(chunks_of("shoe", 0, 1_000_000, 2_000_000), 1.0, clock.sleep, clock.read):
        if chunk.at == 0:
            clock.now += 1.25  # the one who plays took its time
    assert clock.slept == [0.75]


def test_a_clock_that_was_set_back_is_not_waited_for_twice() -> None:
    clock = Clock()
    list(paced(chunks_of("shoe", 0, 3_000_000, 1_000_000, 3_500_000), 1.0, clock.sleep, clock.read))
    assert clock.slept == [3.0, 0.5]


def test_without_a_speed_nobody_waits() -> None:
    clock = Clock()
    recorded = chunks_of("shoe", 0, 3_000_000)
    assert list(paced(recorded, None, clock.sleep, clock.read)) == recorded
    assert clock.slept == []


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_a_speed_that_never_arrives(speed: float) -> None:
    clock = Clock()
    with pytest.raises(UsageError, match="speed"):
        list(paced([], speed, clock.sleep, clock.read))
