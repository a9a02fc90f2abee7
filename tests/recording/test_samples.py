"""Every log in tests/recordings, read as it must be. The expectations were written by hand, from what the device sent."""

from contextlib import suppress
from functools import reduce
from itertools import groupby
from operator import xor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tablectl.errors import InputError, LossyLog
from tablectl.instants import to_micros
from tablectl.recording.chunks import Chunk
from tablectl.recording.importers import guess, open_log
from tablectl.recording.player import merge

RECORDINGS = Path(__file__).parent.parent / "recordings"
TOOLS = RECORDINGS / "tools"
TABLE = RECORDINGS / "table"

ACE = b"\x02C,AS,001\x03\r\n"
KING = b"\x02C,KH,002\x03\r\n"
TEN = b"\x02C,10D,003\x03\r\n"
BINARY = bytes.fromhex("02 A5 00 41 10 FF 03")
ERROR = 'ERR <jam> "q" \\ é\n'.encode()
SENT = ACE + KING + TEN + BINARY + ERROR
ACKNOWLEDGED = b"\x02ACK,001\x03\r\n"

ZONELESS = "its times carry no zone"
TAKEN_FOR_RAW = "it was taken for raw bytes"


class Sample(NamedTuple):
    """What a log must be read as: bursts of (time of day or None, direction, bytes), all on 30 November 2026."""

    format: str
    bursts: list[tuple[str | None, str, bytes]]
    warnings: tuple[str, ...] = ()
    options: dict[str, Any] = {}  # noqa: RUF012


SAMPLES = {
    "socat_x_v.log": Sample(
        "socat",
        [
            ("04:43:06.882629", "<", ACE),
            ("04:43:07.132729", "<", KING),
            ("04:43:07.238587", ">", ACKNOWLEDGED),
            ("04:43:07.732947", "<", TEN),
            ("04:43:08.033102", "<", BINARY),
            ("04:43:08.238642", ">", b"?\n"),
            ("04:43:08.533287", "<", ERROR),
        ],
        (ZONELESS,),
    ),
    "socat_r.bin": Sample("raw", [(None, "<", SENT)], (TAKEN_FOR_RAW,)),
    "socat_R.bin": Sample("raw", [(None, ">", ACKNOWLEDGED + b"?\n")], (TAKEN_FOR_RAW,), {"swap": True}),
    "jpnevulator_timing.log": Sample(
        "jpnevulator",
        [
            ("04:46:49.383842", "<", ACE),
            ("04:46:49.631568", "<", KING),
            ("04:46:50.231859", "<", TEN),
            ("04:46:50.532140", "<", BINARY),
            ("04:46:51.032426", "<", ERROR),
        ],
        (ZONELESS,),
    ),
    "jpnevulator_pass_two_way.log": Sample(
        "jpnevulator",
        [
            ("04:47:52.115943", ">", ACKNOWLEDGED),
            ("04:47:52.318752", "<", ACE),
            ("04:47:52.568919", "<", KING),
            ("04:47:53.169650", "<", TEN),
            ("04:47:53.469839", "<", BINARY),
            ("04:47:53.970458", "<", ERROR),
        ],
        (ZONELESS,),
    ),
    "tio3.9_hex_iso8601.log": Sample(
        "tio-hex",
        [
            ("04:46:33.870000", "<", ACE),
            ("04:46:34.120000", "<", KING),
            ("04:46:34.720000", "<", TEN),
            ("04:46:35.021000", "<", BINARY),
            ("04:46:35.521000", "<", ERROR),
        ],
        (ZONELESS,),
    ),
    "tio2.5_ts_iso8601.log": Sample(
        "tio",
        [
            ("04:44:45.355000", "<", ACE),
            ("04:44:45.608000", "<", KING),
            ("04:44:46.205000", "<", TEN),
            ("04:44:46.506000", "<", BINARY + ERROR),
        ],
        (ZONELESS,),
    ),
    "tio2.5_ts_24hour.log": Sample(
        "tio",
        [
            ("04:44:30.304000", "<", ACE),
            ("04:44:30.555000", "<", KING),
            ("04:44:31.155000", "<", TEN),
            ("04:44:31.455000", "<", BINARY + ERROR),
        ],
        (),
        {"start": "2026-11-30"},
    ),
    "tio3.9_ts_epoch.log": Sample(  # 1796013998 is 04:46:38 UTC on that day
        "tio",
        [
            ("04:46:38.868000", "<", ACE),
            ("04:46:39.118000", "<", KING),
            ("04:46:39.719000", "<", TEN),
            ("04:46:40.019000", "<", BINARY + ERROR),
        ],
    ),
    "ser2net_trace-both_hexdump_ts.log": Sample(
        "ser2net",
        [
            ("04:48:32.000000", "<", ACE + KING),
            ("04:48:32.000000", ">", ACKNOWLEDGED),
            ("04:48:33.000000", "<", TEN + BINARY + ERROR),
        ],
        (ZONELESS, "whole seconds"),
    ),
    "pyserial_spy_hex.log": Sample(
        "pyserial-spy",
        [
            ("04:48:01.606000", "<", ACE),
            ("04:48:01.607000", ">", b"\x06"),
            ("04:48:01.807000", "<", KING),
            ("04:48:01.807000", ">", b"\x06"),
            ("04:48:02.408000", "<", TEN),
            ("04:48:02.408000", ">", b"\x06"),
            ("04:48:02.608000", "<", BINARY),
            ("04:48:03.210000", "<", ERROR),
        ],
        (),
        {"start": "2026-11-30T04:48:00Z"},
    ),
    "strace_ttt_xx.log": Sample(  # 1796014107 is 04:48:27 UTC
        "strace",
        [
            ("04:48:27.421005", "<", ACE),
            ("04:48:27.430922", ">", b"\x06"),
            ("04:48:27.671284", "<", KING),
            ("04:48:27.832368", ">", b"\x06"),
            ("04:48:28.271713", "<", TEN),
            ("04:48:28.434651", ">", b"\x06"),
            ("04:48:28.571937", "<", BINARY),
            ("04:48:29.072294", "<", ERROR),
        ],
    ),
    "putty_logtype2.log": Sample("putty", [(None, "<", SENT)]),
    "putty_logtype1.log": Sample(
        "putty", [(None, "<", b'C,AS,001\r\nC,KH,002\r\nC,10D,003\r\nAERR <jam> "q" \\ \xe9\n')], ("no control character in it",)
    ),
    "picocom_g.log": Sample("raw", [(None, "<", SENT)], (TAKEN_FOR_RAW,)),
    "minicom_C.cap": Sample(
        "raw",
        [(None, "<", b'\x02C,AS,001\x03\n\x02C,KH,002\x03\n\x02C,10D,003\x03\n\x02\xa5A\x10\xff\x03ERR <jam> "q" \\ \xc3\n')],
        (TAKEN_FOR_RAW,),
    ),
    "tio2.5_strip.log": Sample(
        "raw",
        [(None, "<", b'C,AS,001\nC,KH,002\nC,10D,003\n\xa5A\xffERR <jam> "q" \\ \xc3\xa9\n')],
        (TAKEN_FOR_RAW,),
    ),
    "moreutils_ts.log": Sample(
        "stamped",
        [("04:52:05.539478", "<", ACE), ("04:52:05.942202", "<", b"x\n")],
        (ZONELESS,),
        {"pattern": r"(?P<at>\S+) (?P<data>.*)"},
    ),
}

LOSSY = {"minicom_C.cap": "minicom", "tio2.5_strip.log": "tio-strip"}


def expected(bursts: list[tuple[str | None, str, bytes]]) -> list[tuple[int | None, str, bytes]]:
    return [(None if at is None else to_micros(f"2026-11-30T{at}Z"), direction, data) for at, direction, data in bursts]


def bursts_of(chunks: list[Chunk]) -> list[tuple[int | None, str, bytes]]:
    """Chunks of one time and direction as one: where a tool cuts them means nothing."""
    groups = groupby(chunks, key=lambda chunk: (chunk.at, chunk.direction))
    return [(at, direction, b"".join(chunk.data for chunk in group)) for (at, direction), group in groups]


def test_every_log_has_its_expectation() -> None:
    assert {path.name for path in TOOLS.iterdir()} == set(SAMPLES)


def test_the_device_sent_63_bytes() -> None:
    assert len(SENT) == 63
    whole = [name for name, sample in SAMPLES.items() if b"".join(data for _, way, data in sample.bursts if way == "<") == SENT]
    assert len(whole) == len(SAMPLES) - 5  # three that lost bytes, one of other bytes, one of the other direction


@pytest.mark.parametrize("name", SAMPLES)
def test_bytes_and_times(name: str) -> None:
    sample = SAMPLES[name]
    log = open_log(TOOLS / name, **sample.options)
    chunks = list(log)
    assert log.format == sample.format
    assert bursts_of(chunks) == expected(sample.bursts)
    assert {chunk.port for chunk in chunks} == {"shoe"}
    assert log.damaged == 0
    assert len(log.warnings) == len(sample.warnings)
    for text, warning in zip(sample.warnings, log.warnings, strict=True):
        assert text in warning
        assert name in warning
    assert log.position == log.size == (TOOLS / name).stat().st_size


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "moreutils_ts.log"])
def test_the_format_is_guessed_from_the_content(name: str, tmp_path: Path) -> None:
    other = tmp_path / "socat-minicom.csv"
    other.write_bytes((TOOLS / name).read_bytes())
    assert guess(other) == SAMPLES[name].format


def test_stamped_text_is_read_without_a_pattern_and_announced() -> None:
    log = open_log(TOOLS / "moreutils_ts.log")
    assert log.format == guess(TOOLS / "moreutils_ts.log") == "stamped"
    assert bursts_of(list(log)) == expected(SAMPLES["moreutils_ts.log"].bursts)
    assert "each line was taken for a time, a blank and the bytes" in log.warnings[0]


@pytest.mark.parametrize(("name", "format"), LOSSY.items())
def test_a_lossy_tool_is_refused(name: str, format: str) -> None:
    with pytest.raises(LossyLog) as refused:
        open_log(TOOLS / name, format)
    assert refused.value.exit_code == 1
    assert "--lossy-ok" in str(refused.value)
    assert name in str(refused.value)


@pytest.mark.parametrize(("name", "format"), LOSSY.items())
def test_a_lossy_tool_is_accepted_on_demand_and_said(name: str, format: str) -> None:
    log = open_log(TOOLS / name, format, lossy_ok=True)
    assert bursts_of(list(log)) == expected(SAMPLES[name].bursts)
    assert len(log.warnings) == 1
    assert "drops" in log.warnings[0]


@pytest.mark.parametrize("name", ["tio2.5_ts_24hour.log", "pyserial_spy_hex.log"])
def test_times_without_a_base_are_not_invented(name: str) -> None:
    log = open_log(TOOLS / name)
    assert {chunk.at for chunk in log} == {None}
    assert len(log.warnings) == 1
    assert "--start" in log.warnings[0]


def test_a_named_raw_log_is_not_announced() -> None:
    for format in ("raw", "picocom"):
        log = open_log(TOOLS / "picocom_g.log", format)
        assert bursts_of(list(log)) == [(None, "<", SENT)]
        assert log.warnings == []


@pytest.mark.parametrize("name", SAMPLES)
def test_a_log_that_was_cut_off_anywhere_gives_what_came_before(name: str, tmp_path: Path) -> None:
    """Cut after every byte: no other fault than 'no such log' near its beginning, and never a byte that was not there."""
    sample = SAMPLES[name]
    content = (TOOLS / name).read_bytes()
    whole = {way: b"".join(data for _, direction, data in sample.bursts if direction == way) for way in "<>"}
    cut = tmp_path / name
    longest = {"<": 0, ">": 0}
    first = content.index(b"SHOE\n") + 5 if name == "jpnevulator_pass_two_way.log" else 0  # until then HOST could be the device
    for length in range(first, len(content)):
        cut.write_bytes(content[:length])
        chunks: list[Chunk] | None = None
        with suppress(InputError):
            log = open_log(cut, sample.format, **sample.options)
            chunks = list(log)
        if chunks is None:
            assert longest == {"<": 0, ">": 0}
            continue
        assert log.damaged == 0, log.warnings
        for way in "<>":
            came = b"".join(chunk.data for chunk in chunks if chunk.direction == way)
            assert whole[way].startswith(came)
            assert len(came) >= longest[way]
            longest[way] = len(came)
    assert longest["<"] >= len(whole["<"]) - 2


# The two table sessions.

BURNED = "2C 9D KS 4H 7S"
DEALT = "AS 8H TD 6C KD 8D 6S 3C 10H TC 9H 5D 7C 9S 7D AH 9C QC JD"
FR_SHOE = "".join(f" [Manual Burn Cards]<Card:{card}> " for card in BURNED.split()) + "".join(
    f" [Game]<Card:{card}> " for card in DEALT.split()
)
FR_PAD = "L6C|B1 1000|B3 2000|B5 1000|N|P3.0|D3.0|S3.1|H5.0|B1 1000|N|I1 500|I3 0|S1.0|S3.0|"
ES_PAD = "L6C*39|B2 1000|B4 1000|B7 500|N|P2.0|S2.0|H2.1|S2.1|D4.0|P7.0|B2 1000|N|S2.0|"
ES_DRAWN = "A1C7 81BA 81C5 81A1 81AA 819C 8196 8191 81C1 81B5 81C4 81B7 8199 81AD 81A8 81B9 81C7 8198 819A 81B4"


def angel_eye(number: int, kind: bytes) -> bytes:
    """A frame as that shoe sends it: three times, with its sequence digit and the XOR over it, the data and ETX."""
    body = b"%d" % (number % 10) + kind + b"\x03"
    return (b"\x05" + body + b"%02X" % reduce(xor, body)) * 3


ES_SHOE = angel_eye(0, b"S") + angel_eye(1, b"P")
ES_SHOE += b"".join(angel_eye(number, b"D" + bytes.fromhex(card)) for number, card in enumerate(ES_DRAWN.split(), start=2))

SESSIONS = {
    "fr-shoe.socat-xv.log": ("socat", FR_SHOE.encode(), "05:57:42.631583", "05:57:51.895494"),
    "fr-pad.jpnevulator.log": ("jpnevulator", FR_PAD.replace("|", "\n").encode(), "05:57:42.381451", "05:57:51.645360"),
    "es-shoe.jpnevulator.log": ("jpnevulator", ES_SHOE, "06:00:54.809787", "06:01:04.214401"),
    "es-pad.tio.log": ("tio", ES_PAD.replace("|", "\n").encode(), "06:00:55.370000", "06:01:03.683000"),
}


def test_every_session_has_its_expectation() -> None:
    assert {path.name for path in TABLE.iterdir()} == set(SESSIONS)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_table_session(name: str) -> None:
    format, data, first, last = SESSIONS[name]
    port = name[3:].partition(".")[0].partition("-")[0]
    log = open_log(TABLE / name, port=port)
    chunks = list(log)
    assert log.format == format
    assert b"".join(chunk.data for chunk in chunks) == data
    assert {(chunk.port, chunk.direction) for chunk in chunks} == {(port, "<")}
    assert (chunks[0].at, chunks[-1].at) == (to_micros(f"2026-11-30T{first}Z"), to_micros(f"2026-11-30T{last}Z"))


def test_two_ports_of_a_session_are_merged_by_time() -> None:
    shoe = open_log(TABLE / "fr-shoe.socat-xv.log", port="shoe")
    pad = open_log(TABLE / "fr-pad.jpnevulator.log", port="pad")
    chunks = list(merge(shoe, pad))
    times = [chunk.at for chunk in chunks if chunk.at is not None]
    assert len(times) == len(chunks) == 24 + 15
    assert times == sorted(times)
    assert [(chunk.port, chunk.data) for chunk in chunks[:2]] == [
        ("pad", b"L6C\n"),
        ("shoe", b" [Manual Burn Cards]<Card:2C> "),
    ]
    split = next(number for number, chunk in enumerate(chunks) if chunk.data == b"P3.0\n")
    assert chunks[split - 1].data == b" [Game]<Card:6S> "  # the last of the second cards, before box 3 splits
