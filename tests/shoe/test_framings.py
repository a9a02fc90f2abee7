"""What the scanners find where frames overlap, are cut, or run into each other: the same in one read and in many."""

from collections.abc import Sequence

import pytest

from tablectl.shoe.checksums import Checksum
from tablectl.shoe.ended import Ended, Lines, Records
from tablectl.shoe.frames import Candidate
from tablectl.shoe.framings import EndedScanner, MarkedScanner, Scanner
from tablectl.shoe.marked import Delimited, Fixed, LengthPrefixed, Marked

XOR = Checksum(name="ChecksumXor8", begins="after_start", through="end", form="hex_upper")
TEXT = Delimited(name="text", start="02", end="03", longest=12)
ACK = Fixed(name="ack", start="06", length=0)


def scanner(frames: Sequence[Marked | Ended]) -> Scanner:
    marked = [frame for frame in frames if isinstance(frame, Marked)]
    ended = [frame for frame in frames if isinstance(frame, Ended)]
    return EndedScanner(ended[0]) if ended else MarkedScanner(marked)


def found(frames: Sequence[Marked | Ended], data: bytes) -> list[tuple[str, bytes, str]]:
    """Name, body and fault of every candidate, however the bytes are split: all sound ones are taken for frames."""
    results = []
    for size in (1, 2, 3, 5, len(data) or 1):
        seen: list[tuple[str, bytes, str]] = []

        def judge(candidate: Candidate, seen: list[tuple[str, bytes, str]] = seen) -> int:
            seen.append((candidate.frame, candidate.body, candidate.why))
            return candidate.retry if candidate.why else candidate.end

        scan = scanner(frames)
        buffer = b""
        for start in range(0, len(data), size):
            buffer += data[start : start + size]
            buffer = buffer[scan.scan(buffer, 0, False, judge) :]
            assert len(buffer) <= scan.longest
        scan.scan(buffer, 0, True, judge)
        results.append(seen)
    assert all(seen == results[0] for seen in results), results
    return results[0]


def test_a_frame_inside_another_is_none() -> None:
    """The ACK in the text waits for the text's end."""
    assert found([TEXT, ACK], b"\x06\x02a\x06b\x03\x06") == [("ack", b"", ""), ("text", b"a\x06b", ""), ("ack", b"", "")]


def test_a_frame_inside_one_that_never_ends_is_one() -> None:
    assert found([TEXT, ACK], b"\x02a\x06b") == [("ack", b"", "")]
    assert found([TEXT, ACK], b"\x02a\x06bcdefghijklmnop\x03") == [("ack", b"", "")]


def test_a_frame_of_the_greatest_length_and_one_longer() -> None:
    assert found([TEXT], b"\x020123456789\x03") == [("text", b"0123456789", "")]
    assert found([TEXT], b"\x0201234567890\x03") == []


def test_start_and_end_of_several_bytes() -> None:
    frame = Delimited(name="f", start="AA 55", end="0D 0A", longest=20, checksum=XOR)
    # 61 ^ 62 ^ 0D ^ 0A = 04
    assert found([frame], b"\xaa\xaa\x55ab\r\n04\xaa\x55ab\r\n05") == [
        ("f", b"ab", ""),
        ("f", b"ab", "checksum 05, but the bytes give 04"),
    ]


def test_a_bad_frame_does_not_hide_the_one_that_begins_in_it() -> None:
    frame = Fixed(
        name="f",
        start="FA",
        length=3,
        checksum=Checksum(name="Checksum8", begins="after_start", through="body", form="binary_big"),
    )
    # FA | FA 01 02 | 03 is wrong (FA + 1 + 2 = FD); FA | 01 02 03 | 06 is right.
    assert found([frame], b"\xfa\xfa\x01\x02\x03\x06") == [
        ("f", b"\xfa\x01\x02", "checksum 03, but the bytes give FD"),
        ("f", b"\x01\x02\x03", ""),
    ]


@pytest.mark.parametrize(("counts", "stated"), [("body", 3), ("body_and_checksum", 4), ("whole", 7)])
@pytest.mark.parametrize("order", ["big", "little"])
def test_what_a_length_counts(counts: str, stated: int, order: str) -> None:
    checksum = Checksum(name="ChecksumXor8", begins="start", through="body", form="binary_big")
    frame = LengthPrefixed(name="f", start="7E", length_bytes=2, order=order, counts=counts, longest=40, checksum=checksum)  # type: ignore[arg-type]
    length = bytes([0, stated]) if order == "big" else bytes([stated, 0])
    # 7E ^ 0 ^ stated ^ 'a' ^ 'b' ^ 'c', and 'a' ^ 'b' ^ 'c' is 60
    data = b"\x7e" + length + b"abc" + bytes([0x7E ^ stated ^ 0x60])
    assert found([frame], data + data) == [("f", b"abc", ""), ("f", b"abc", "")]
    assert frame.build(b"abc") == data


def test_a_length_that_the_frame_itself_does_not_reach() -> None:
    frame = LengthPrefixed(name="f", start="7E", length_bytes=1, order="big", counts="whole", longest=40)
    assert found([frame], b"\x7e\x01\x7e\x03a") == [("f", b"", "length cannot be"), ("f", b"a", "")]


def test_what_is_too_long_is_not_built() -> None:
    with pytest.raises(ValueError, match="more than a frame 'text' can have"):
        TEXT.build(b"01234567890")
    with pytest.raises(ValueError, match="cannot say the length 300"):
        LengthPrefixed(name="f", start="7E", length_bytes=1, order="big", counts="body", longest=256).build(b"x" * 300)


LINE = Lines(name="line", end="0A", filler="0D", body="20-7E", longest=8)


def test_lines() -> None:
    assert found([LINE], b"N\n\n\r\n\r\nH3.0\r\nS") == [("line", b"N", ""), ("line", b"H3.0", "")]


def test_the_tail_of_a_line_too_long_is_no_line() -> None:
    assert found([LINE], b"B3 1000\n") == [("line", b"B3 1000", "")]
    assert found([LINE], b"xB3 1000\n") == []
    assert found([LINE], b"x" * 50 + b"B3 1000\nN\n") == [("line", b"N", "")]


def test_a_line_begins_behind_what_no_line_holds() -> None:
    assert found([LINE], b"abc\x00N\nde\xffH\r\n") == [("line", b"N", ""), ("line", b"H", "")]


def test_a_line_is_the_whole_of_what_could_be_one() -> None:
    assert found([LINE], b"S3.0N\n") == [("line", b"S3.0N", "")]


RECORD = Records(name="record", pattern=r"(?:\[[a-z]{1,9}\])?<[a-z]{1,9}>", end="3E", filler="20", shortest=3, longest=22)


def test_records() -> None:
    assert found([RECORD], b" [game]<card> <x>>> <>[game]<card>") == [
        ("record", b"[game]<card>", ""),
        ("record", b"<x>", ""),
        ("record", b"[game]<card>", ""),
    ]


def test_a_record_without_its_end_leaves_the_next_alone() -> None:
    assert found([RECORD], b"[game]<card [game]<card>") == [("record", b"[game]<card>", "")]
