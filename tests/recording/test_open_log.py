"""Opening a log, whoever wrote it: what it is taken for, what is refused, and that no content breaks anything."""

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.errors import InputError, TablectlError, UsageError
from tablectl.instants import to_micros
from tablectl.recording.importers import IMPORTERS, guess, open_log


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.log"


def test_an_empty_log(file: Path) -> None:
    file.write_bytes(b"")
    for attempt in (guess, open_log, lambda path: open_log(path, "socat")):
        with pytest.raises(InputError) as refused:
            attempt(file)
        assert str(refused.value) == f"{file}: is empty"


def test_a_log_that_is_not_there(file: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        open_log(file)
    with pytest.raises(InputError, match="no file that can be read twice"):
        open_log(file.parent)
    with pytest.raises(InputError, match="no file that can be read twice"):
        open_log("/dev/zero")


@pytest.mark.parametrize(
    "format", [name for name, importer in IMPORTERS.items() if "raw" not in importer.tool and not importer.lossy]
)
def test_a_file_of_another_kind_is_refused_with_its_line(format: str, file: Path) -> None:
    if format == "picocom":
        return
    file.write_text('<?xml version="1.0"?>\n<capture port="shoe"/>\n')
    with pytest.raises(InputError) as refused:
        list(open_log(file, format))
    assert str(refused.value).startswith(f"{file}:1: ")
    assert refused.value.exit_code == 1


@pytest.mark.parametrize("content", ['<?xml version="1.0"?>\n<a/>\n', "time;port;data\n1;shoe;02\n", "\x02C,AS\x03"])
def test_a_file_of_no_known_kind_is_announced_as_raw(content: str, file: Path) -> None:
    file.write_text(content)
    log = open_log(file)
    assert log.format == "raw"
    assert b"".join(chunk.data for chunk in log) == content.encode()
    assert "it was taken for raw bytes" in log.warnings[0]
    assert "minicom" in log.warnings[0]


def test_raw_bytes_get_the_start_that_was_given(file: Path) -> None:
    file.write_bytes(b"\x02\x03")
    log = open_log(file, "raw", start="2026-11-30T04:52:05Z")
    assert [chunk.at for chunk in log] == [to_micros("2026-11-30T04:52:05Z")]


def test_an_unknown_format(file: Path) -> None:
    file.write_bytes(b"x")
    with pytest.raises(UsageError, match="the format 'hyperterminal' is not known; there are native, putty, socat") as refused:
        open_log(file, "hyperterminal")
    assert refused.value.exit_code == 2


def test_a_log_can_be_read_twice(file: Path) -> None:
    file.write_text("term 02 43  |.C|\nterm what\n")
    log = open_log(file)
    first, warnings = list(log), log.warnings
    assert list(log) == first
    assert log.warnings == warnings
    assert log.damaged == 1


lines = st.sampled_from(
    [
        b"> 2026/11/30 04:43:06.000882629  length=12 from=0 to=11\n",
        b" 02 43 2c 41 53 2c 30 30 31 03 0d 0a              .C,AS,001...\n",
        b"--\n",
        b"2026-11-30 04:47:52.318752: SHOE\n",
        b"02 43 2C 41 53 2C 30 30 31 03 0D 0A            \t.C,AS,001...\n",
        b"2026/11/30 04:48:32 term 02 43 2c 41 53 2c 30 30  |.C,AS,00|\n",
        b"000001.606 RX   0000  02 43 2C 41 53 2C 30 30  31 03 0D 0A              .C,AS,001...    \n",
        b'11587 1796014107.421005 read(3, "\\x02\\x43", 64) = 2\n',
        b"11587 1796014107.421005 read(3,  <unfinished ...>\n",
        b"[2026-11-30T04:44:45.355] \x02C,AS,001\x03\r\n",
        b"[04:44:30.304] 02 43 \r\n",
        b"# tablectl recording 1\n",
        b"(1796014107.421005) shoe < 05 31\n",
        b"=~=~=~=~=~=~=~=~=~=~=~= PuTTY log 2026.11.30 04:49:04 =~=~=~=~=~=~=~=~=~=~=~=\r\n",
        b"2026-13-39T99:99:99.5 x\n",
        b"[9999-12-31T23:59:59.999] x\n",
    ]
)


@settings(max_examples=300)
@given(
    content=st.lists(lines | st.binary(max_size=60), min_size=1).map(b"".join),
    format=st.none() | st.sampled_from(list(IMPORTERS)),
    start=st.sampled_from([None, "2026-11-30", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00+14:00"]),
    zone=st.sampled_from([None, "Europe/Paris", "-14:00"]),
)
def test_no_content_raises_anything_but_our_errors(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, format: str | None, start: str | None, zone: str | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.log"
    path.write_bytes(content)
    with suppress(TablectlError):
        log = open_log(path, format, start=start, zone=zone, lossy_ok=True)
        for chunk in log:
            assert chunk.data
            assert chunk.at is None or 0 <= chunk.at < 253_402_300_800_000_000


TOOLS = Path(__file__).resolve().parents[1] / "recordings" / "tools"


@pytest.mark.parametrize(
    "log", sorted(path for path in TOOLS.iterdir() if path.suffix in (".log", ".txt", ".rec")), ids=lambda path: path.name
)
def test_any_log_may_be_packed(log: Path, file: Path) -> None:
    """It is guessed, read and warned of as it is without, and its position counts what is in it."""
    file.write_bytes(gzip.compress(log.read_bytes()))
    plain, packed = (open_log(path, start="2026-11-30", lossy_ok=True) for path in (log, file))
    assert list(packed) == list(plain)
    assert (packed.format, packed.damaged, packed.position) == (plain.format, plain.damaged, plain.position)
    assert [warning.removeprefix(str(file)) for warning in packed.warnings] == [
        warning.removeprefix(str(log)) for warning in plain.warnings
    ]
