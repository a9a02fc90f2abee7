"""Checksums give what their catalogues say, and profiles can carry them in every form."""

import binascii

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.shoe.checksums import CHECKSUMS, Checksum, Form, MarkedChecksum, calculate, width


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("ChecksumXor8", 0x31),  # XOR of the digits 1 to 9
        ("Checksum8", 0xDD),  # their sum, 477, in one byte
        ("Crc8Smbus", 0xF4),
        ("Crc16Modbus", 0x4B37),
        ("Crc16Xmodem", 0x31C3),
        ("Crc32IsoHdlc", 0xCBF43926),
    ],
)
def test_check_values_of_the_catalogues(name: str, check: int) -> None:
    assert calculate(name, b"123456789") == check


@given(st.binary(max_size=40))
def test_crc_by_another_implementation(data: bytes) -> None:
    assert calculate("Crc16Xmodem", data) == binascii.crc_hqx(data, 0)
    assert calculate("Crc32IsoHdlc", data) == binascii.crc32(data)


def test_only_sums_of_whole_bytes_can_be_named() -> None:
    assert "Crc3Gsm" not in CHECKSUMS
    assert {width(name) for name in CHECKSUMS} <= {1, 2, 3, 4, 5, 8}


@pytest.mark.parametrize(
    ("form", "sent"),
    [("binary_big", b"\x4b\x37"), ("binary_little", b"\x37\x4b"), ("hex_upper", b"4B37"), ("hex", b"4B37")],
)
def test_forms(form: Form, sent: bytes) -> None:
    checksum = Checksum(name="Crc16Modbus", begins="after_start", through="body", form=form)
    assert checksum.over(b"\x02", b"123456789", b"\x03") == sent
    assert checksum.size == len(sent)
    assert checksum.wrong(b"\x02", b"123456789", b"\x03", sent) == ""
    assert checksum.wrong(b"\x02", b"123456780", b"\x03", sent).startswith(
        f"checksum {'374B' if 'little' in form else '4B37'}, but"
    )


@pytest.mark.parametrize(
    ("begins", "through", "sent"), [("start", "end", "1B"), ("after_start", "end", "19"), ("start", "body", "18")]
)
def test_where_the_sum_runs(begins: str, through: str, sent: str) -> None:
    """The one public host command of the Angel Eye: 1B with the start byte, 19 without; 1B less the end byte 03 is 18."""
    checksum = Checksum(name="ChecksumXor8", begins=begins, through=through, form="hex_upper")  # type: ignore[arg-type]
    assert checksum.over(b"\x02", b"OPLK02", b"\x03").decode() == sent


def test_digits_of_either_case_where_the_profile_says_so() -> None:
    upper = MarkedChecksum(name="ChecksumXor8", mark="*", form="hex_upper", required=False)
    either = MarkedChecksum(name="ChecksumXor8", mark="*", form="hex", required=False)
    assert either.strip(b"S3.0*7e") == (b"S3.0", "")  # 53 ^ 33 ^ 2E ^ 30 = 7E
    assert upper.strip(b"S3.0*7E") == (b"S3.0", "")
    assert upper.strip(b"S3.0*7e")[1] == "checksum 7e, but the bytes give 7E"
    assert upper.over(b"S3.0") == b"*7E"


def test_a_required_checksum_is_missed() -> None:
    required = MarkedChecksum(name="ChecksumXor8", mark="*", form="hex", required=True)
    assert required.strip(b"S3.0") == (b"S3.0", "no checksum after '*'")
    assert MarkedChecksum(name="ChecksumXor8", mark="*", form="hex", required=False).strip(b"S3.0") == (b"S3.0", "")
