"""Times of all kinds, brought to microseconds since 1970 UTC."""

import pytest

from tablectl.errors import UsageError
from tablectl.instants import from_micros, to_micros
from tablectl.recording.stamps import Stamps, base_of


def stamps(start: str | None = None, zone: str | None = None) -> tuple[Stamps, list[str]]:
    told: list[str] = []
    return Stamps(base_of(start, zone), told.append), told


@pytest.mark.parametrize(
    ("start", "zone", "text", "at"),
    [
        (None, None, "2026-11-30T05:57:42.631583", "2026-11-30T05:57:42.631583Z"),
        (None, None, "2026/11/30 05:57:42", "2026-11-30T05:57:42Z"),
        (None, None, "2026-11-30 05:57:42,5", "2026-11-30T05:57:42.5Z"),
        (None, None, "2026.11.30 05:57:42.123456789", "2026-11-30T05:57:42.123456Z"),
        (None, "Europe/Paris", "2026-11-30 05:57:42", "2026-11-30T04:57:42Z"),
        (None, "Europe/Vilnius", "2026-07-30 05:57:42", "2026-07-30T02:57:42Z"),
        (None, "+01:00", "2026-11-30 05:57:42", "2026-11-30T04:57:42Z"),
        ("2026-11-30T00:00:00-02:30", None, "2026-11-30 05:57:42", "2026-11-30T08:27:42Z"),
        ("2026-11-30T00:00:00-02:30", "Europe/Paris", "2026-11-30 05:57:42", "2026-11-30T04:57:42Z"),
        (None, "Europe/Paris", "2026-11-30T05:57:42Z", "2026-11-30T05:57:42Z"),
        (None, "Europe/Paris", "2026-11-30T05:57:42+0200", "2026-11-30T03:57:42Z"),
        (None, "Europe/Paris", "1796014107.421005", "2026-11-30T04:48:27.421005Z"),
        ("2026-11-30", "Europe/Paris", "05:57:42.5", "2026-11-30T04:57:42.5Z"),
        ("2026-11-30T23:50:00", None, "00:10:00", "2026-12-01T00:10:00Z"),
        ("2026-11-30T00:10:00", None, "23:50:00", "2026-11-29T23:50:00Z"),
        ("2026-11-30T05:57:42Z", None, "90.25", "2026-11-30T05:59:12.25Z"),
        ("1796014107", None, "0.5", "2026-11-30T04:48:27.5Z"),
    ],
)
def test_a_time(start: str | None, zone: str | None, text: str, at: str) -> None:
    assert stamps(start, zone)[0].read(text) == to_micros(at)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-11-31 05:57:42", "2026-11-30 25:57:42", "1969-12-31 23:59:59", "25:00:00", "9" * 12]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        stamps("2026-11-30")[0].read(text)


@pytest.mark.parametrize(
    ("start", "zone", "field"),
    [
        ("yesterday", None, "--start"),
        ("05:57:42", None, "--start"),
        ("2026-11-31", None, "--start"),
        ("1969-12-31", None, "--start"),
        ("1970-01-01T00:00:00+14:00", None, "--start"),
        (None, "Paris", "--zone"),
        (None, "Europe", "--zone"),
        (None, "../../etc/passwd", "--zone"),
        (None, "", "--zone"),
        (None, "+25:00", "--zone"),
    ],
)
def test_an_option_that_is_none(start: str | None, zone: str | None, field: str) -> None:
    with pytest.raises(UsageError) as refused:
        base_of(start, zone)
    assert refused.value.field == field


def test_an_hour_that_the_clock_shows_twice_is_told_apart_by_the_order() -> None:
    """On 25 October 2026 Paris goes from 03:00 summer time back to 02:00."""
    read, _ = stamps(zone="Europe/Paris")
    clocks = ["01:59:00", "02:10:00", "02:59:00", "02:05:00", "02:59:30", "03:00:00"]
    found = [read.read(f"2026-10-25 {clock}") for clock in clocks]
    assert [from_micros(at or 0)[11:19] for at in found] == [
        "23:59:00",
        "00:10:00",
        "00:59:00",
        "01:05:00",
        "01:59:30",
        "02:00:00",
    ]


def test_a_step_back_of_a_moment_is_no_second_hour() -> None:
    read, _ = stamps(zone="Europe/Paris")
    first, second = read.read("2026-10-25 02:10:00.500"), read.read("2026-10-25 02:10:00.400")
    assert first is not None
    assert second == first - 100_000


def test_what_is_assumed_is_said() -> None:
    read, told = stamps()
    read.read("2026-11-30 05:57:42")
    assert "taken as UTC" in told[0]
    for start, zone in ((None, "UTC"), ("2026-11-30T00:00:00Z", None)):
        read, told = stamps(start, zone)
        read.read("2026-11-30 05:57:42")
        assert told == []


@pytest.mark.parametrize("text", ["05:57:42", "1.606"])
def test_without_a_base_there_is_no_time(text: str) -> None:
    read, told = stamps()
    assert read.read(text) is None
    assert "--start" in told[0]


def test_times_of_day_at_the_end_of_all_days() -> None:
    read, _ = stamps("9999-12-31T23:59:00Z")
    assert read.read("23:59:30") == to_micros("9999-12-31T23:59:30Z")
    with pytest.raises(ValueError, match="9999"):
        read.read("01:00:00")
