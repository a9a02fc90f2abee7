"""The native recording: it is what the contract says, it comes back as it went in, and damage is told and costs one line."""

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.errors import InputError, UsageError
from tablectl.recording.chunks import CHUNK_LIMIT, Chunk
from tablectl.recording.importers import guess, open_log
from tablectl.recording.native import Writer, profiles_of

LINE = "(1796014107.421005) shoe < 05 31 44 90 AE 03 42 38\n"
CHUNK = Chunk(1_796_014_107_421_005, "shoe", "<", bytes.fromhex("05 31 44 90 AE 03 42 38"))

chunk_lists = st.lists(
    st.builds(
        Chunk,
        at=st.integers(0, 253_402_300_799_999_999),
        port=st.from_regex(r"[a-z][a-z0-9_.-]{0,10}", fullmatch=True),
        direction=st.sampled_from("<>"),
        data=st.binary(min_size=1, max_size=40),
    ),
    max_size=12,
)


def written(chunks: list[Chunk], header: dict[str, str] | None = None) -> bytes:
    out = io.BytesIO()
    writer = Writer(out, header)
    for chunk in chunks:
        writer.write(chunk)
    return out.getvalue()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return tmp_path / "day.rec"


def test_a_chunk_is_a_line() -> None:
    assert written([CHUNK]) == b"# tablectl recording 1\n" + LINE.encode()


def test_the_header() -> None:
    header = {"table": "BJ 4", "house": "fr", "profile.shoe": "bee-tek", "profile.pad": "dealer-pad", "zone": "Europe/Paris"}
    assert written([], header).decode().splitlines() == [
        "# tablectl recording 1",
        "# table: BJ 4",
        "# house: fr",
        "# profile.shoe: bee-tek",
        "# profile.pad: dealer-pad",
        "# zone: Europe/Paris",
    ]


def test_the_header_is_known_before_the_first_chunk(recording: Path) -> None:
    header = {"house": "fr", "profile.shoe": "bee-tek", "profile.pad": "dealer-pad", "table": "Ménilmontant 3"}
    recording.write_bytes(written([CHUNK], header))
    log = open_log(recording)
    assert log.header == header
    assert profiles_of(log.header) == {"shoe": "bee-tek", "pad": "dealer-pad"}
    assert list(log) == [CHUNK]


@given(chunk_lists)
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, chunks: list[Chunk]) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.rec"
    content = written(chunks)
    path.write_bytes(content)
    log = open_log(path)
    assert list(log) == chunks
    assert log.damaged == 0
    assert written(list(open_log(path))) == content


@given(chunk_lists)
def test_text_order_is_time_order(chunks: list[Chunk]) -> None:
    later = [
        chunk for chunk in chunks if chunk.at is not None and chunk.at < 10**16
    ]  # until 2286, when seconds get an eleventh digit
    lines = written(later).splitlines()[1:]
    times = [line.split(b" ")[0] for line in lines]
    assert sorted(times) == [time for _, time in sorted(zip([chunk.at or 0 for chunk in later], times, strict=True))]


def test_a_long_burst_becomes_several_lines_of_one_time(recording: Path) -> None:
    data = bytes(range(256)) * 40
    recording.write_bytes(written([Chunk(5, "shoe", ">", data)]))
    chunks = list(open_log(recording))
    assert b"".join(chunk.data for chunk in chunks) == data
    assert {(chunk.at, chunk.port, chunk.direction) for chunk in chunks} == {(5, "shoe", ">")}
    assert max(len(chunk.data) for chunk in chunks) == CHUNK_LIMIT


def test_a_recording_without_times_keeps_its_order_and_invents_none(recording: Path) -> None:
    chunks = [Chunk(None, "shoe", "<", b"one"), Chunk(None, "shoe", ">", b"two"), Chunk(None, "shoe", "<", b"one")]
    content = written(chunks, {"time": "none"})
    recording.write_bytes(content)
    assert list(open_log(recording)) == chunks
    lines = content.splitlines()
    assert sorted(lines[2:]) == lines[2:]


def test_a_chunk_without_a_time_among_others_takes_the_last_one() -> None:
    lines = written([CHUNK, Chunk(None, "shoe", "<", b"\x06")]).decode().splitlines()
    assert lines[2] == "(1796014107.421005) shoe < 06"


@pytest.mark.parametrize("header", [{"house": "fr\nes"}, {"Ho use": "fr"}, {"house": "\x1b[31m"}])
def test_a_header_that_would_break_the_file_is_refused(header: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        written([], header)


@pytest.mark.parametrize("port", ["", "a b", "shoe<", "é", "x" * 41])
def test_a_port_that_would_break_the_file_is_refused(port: str) -> None:
    with pytest.raises(UsageError):
        written([Chunk(0, port, "<", b"x")])


@pytest.mark.parametrize(
    ("bad", "field", "message"),
    [
        ("(1796014107.42100) shoe < 05", "time", "no time"),
        ("(1796014107) shoe < 05", "time", "no time"),
        ("1796014107.421005 shoe < 05", "time", "no time"),
        ("(253402300800.000000) shoe < 05", "time", "no time"),
        ("(-000000001.000000) shoe < 05", "time", "no time"),
        ("(1796014107.421005) sh*e < 05", "port", "port"),
        ("(1796014107.421005) shoe = 05", "direction", "neither < nor >"),
        ("(1796014107.421005) shoe < 05 3", "bytes", "hexadecimal"),
        ("(1796014107.421005) shoe < 05 XY", "bytes", "hexadecimal"),
        ("(1796014107.421005) shoe < ", "bytes", "no bytes"),
        ("(1796014107.421005) shoe", None, "expected"),
        ("(1796014107.421005) vcan0 044#2A366C2BBA", None, "expected"),
        ("\x00\x00\x00\x00", None, "expected"),
    ],
)
def test_a_bad_line_is_named_and_what_stands_around_it_is_kept(
    bad: str, field: str | None, message: str, recording: Path
) -> None:
    recording.write_text(f"# tablectl recording 1\n{LINE}{bad}\n\n# a note\n{LINE}", newline="\n")
    log = open_log(recording)
    assert list(log) == [CHUNK, CHUNK]
    assert log.damaged == 1
    (warning,) = log.warnings
    assert warning.startswith(f"{recording}:3: {field}: " if field else f"{recording}:3: expected")
    assert message in warning


def test_bad_lines_do_not_fill_the_memory(recording: Path) -> None:
    recording.write_text("# tablectl recording 1\n" + "nonsense\n" * 5000 + LINE)
    log = open_log(recording)
    assert list(log) == [CHUNK]
    assert log.damaged == 5000
    assert len(log.warnings) == 21
    assert log.warnings[-1].endswith("and 4980 more lines like these")


@pytest.mark.parametrize(
    ("torn", "data"),
    [
        ("(1796014107.421005) shoe < 05 31 44", "05 31 44"),
        ("(1796014107.421005) shoe < 05 31 4", "05 31"),
        ("(1796014107.421005) shoe < 05 31 ", "05 31"),
        ("(1796014107.421005) shoe < 0", ""),
        ("(1796014107.421005) shoe < ", ""),
        ("(1796014107.421005) sho", ""),
        ("(17960", ""),
        ("\x00" * 300, ""),
    ],
)
def test_a_torn_last_line_is_told_and_no_fault(torn: str, data: str, recording: Path) -> None:
    recording.write_text(f"# tablectl recording 1\n{LINE}{torn}", newline="\n")
    log = open_log(recording)
    chunks = list(log)
    assert chunks[0] == CHUNK
    assert b"".join(chunk.data for chunk in chunks[1:]) == bytes.fromhex(data)
    assert log.damaged == 0
    (warning,) = log.warnings
    assert warning.startswith(f"{recording}:3: the log was cut off here")


def test_what_grep_leaves_of_a_recording_is_still_one(recording: Path) -> None:
    recording.write_text(LINE * 2)
    assert guess(recording) == "native"
    log = open_log(recording)
    assert list(log) == [CHUNK, CHUNK]
    assert "does not begin with" in log.warnings[0]


def test_carriage_returns_and_small_letters_are_read(recording: Path) -> None:
    recording.write_bytes(b"# tablectl recording 1\r\n" + LINE.lower().encode().replace(b"\n", b"\r\n"))
    assert list(open_log(recording)) == [CHUNK]


def test_another_version_is_refused(recording: Path) -> None:
    recording.write_text(f"# tablectl recording 2\n{LINE}")
    with pytest.raises(InputError, match=re.escape(f"{recording}:1: recording version 2 is not known")):
        list(open_log(recording))


def test_a_recording_of_nothing_is_one(recording: Path) -> None:
    recording.write_bytes(written([], {"house": "fr"}))
    log = open_log(recording)
    assert list(log) == []
    assert log.damaged == 0
    assert "no traffic" in log.warnings[0]


def test_a_line_without_end_is_one_fault(recording: Path) -> None:
    recording.write_bytes(b"# tablectl recording 1\n" + b"05 " * 1_000_000 + b"\n" + LINE.encode())
    log = open_log(recording)
    assert list(log) == [CHUNK]
    assert log.damaged == 1
    assert ":2: the line is longer than" in log.warnings[0]


def test_several_ports_and_directions(recording: Path) -> None:
    recording.write_text(f"# tablectl recording 1\n{LINE}(1796014107.421006) pad > 06\n(1796014107.421006) pad < 4E 0A\n")
    assert list(open_log(recording, port="ignored")) == [
        CHUNK,
        Chunk(1_796_014_107_421_006, "pad", ">", b"\x06"),
        Chunk(1_796_014_107_421_006, "pad", "<", b"N\n"),
    ]
