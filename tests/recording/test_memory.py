"""Whatever a file holds, reading it takes no more memory when it is longer."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

MEASURE = """
import resource, sys
from tablectl.errors import InputError
from tablectl.recording.importers import open_log
log = open_log(sys.argv[1])
count = sum(len(chunk.data) for chunk in log)
print(log.format, count, log.damaged, len(log.warnings), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

MEGABYTE = 1 << 20
NOISE = random.Random(2).randbytes(MEGABYTE)
HEX = b"[2026-11-30T04:46:33.870] "
SOCAT = b"> 2026/11/30 04:43:06.000882629  length=999999999 from=0 to=11\n"
ROW = b" 02 43 2c 41 53 2c 30 30 31 03 0d 0a              .C,AS,001...\n"

FILES = {
    "noise": ("raw", b"", NOISE),
    "a native recording of noise": ("native", b"# tablectl recording 1\n", NOISE),
    "a native recording of one endless line": ("native", b"# tablectl recording 1\n", b"05 " * (MEGABYTE // 3)),
    "one endless line of tio": ("tio", HEX, NOISE.replace(b"\n", b"")),
    "lines of tio without times": ("tio", HEX, NOISE),
    "one endless block of socat": ("socat", SOCAT, ROW * (MEGABYTE // len(ROW))),
    "one endless burst of jpnevulator": (
        "jpnevulator",
        b"2026-11-30 04:46:49.383842:\n",
        b"02 43 2C 41 53 02 43 2C 41 53 02 43 2C 41 53 41\n" * (MEGABYTE // 48),
    ),
    "strace of calls that never end": (
        "strace",
        b'1796014107.421005 read(3, "\\x02", 64) = 1\n',
        b"".join(
            b"%d 1796014107.421005 read(3,  <unfinished ...>%s\n" % (number, b" " * 200) for number in range(10**6, 10**6 + 4400)
        ),
    ),
}


def measured(path: Path) -> list[str]:
    result = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    return result.stdout.split()


@pytest.mark.parametrize("name", FILES)
def test_memory_does_not_grow_with_the_file(name: str, tmp_path: Path) -> None:
    kind, begin, block = FILES[name]
    path = tmp_path / "noise.log"
    peaks = []
    for blocks in (1, 6):
        with path.open("wb") as file:
            file.write(begin)
            for _ in range(blocks):
                file.write(block)
        format, count, _, warnings, peak = measured(path)
        assert format == kind
        assert int(warnings) < 30
        if kind in ("raw", "tio"):
            assert int(count) == len(block) * blocks
        peaks.append(int(peak))
    assert peaks[1] - peaks[0] < 2 * 1024, "kilobytes"


HOSTILE = [b" ", b") ", b'>, "', b"\\", b'"', b"02 ", b" = -1 ", b"|", b"\t", b"=~", b"0", b"[", b"term ", b"RX  ", b": "]
BEGINNINGS = {
    "native": b"(1796014107.421005) shoe < 02",
    "socat": b"> 2026/11/30 04:43:06.000882629  length=12 from=0 to=11",
    "jpnevulator": b"2026-11-30 04:47:52.318752: SHOE",
    "ser2net": b"2026/11/30 04:48:32 term 02  |.|",
    "pyserial-spy": b"000001.606 RX   0000  02",
    "strace": b'1796014107.421005 read(3, "',
    "tio-hex": b"[2026-11-30T04:46:33.870] 02 ",
    "tio": b"[2026-11-30T04:46:33.870] 02 ",
    "stamped": b"2026-11-30T04:46:33.870 02 ",
    "putty": b"=~=~=~=~=~=~=~=~=~=~=~= PuTTY log 2026.11.30 04:49:04 =~=~=~=~=~=~=~=~=~=~=~=\r\n",
}
WHOLE = {"pyserial-spy": b"000001.606 RX   <empty>", "strace": b'1796014107.421005 read(3, "\\x02", 64) = 1'}

READ = """
import sys
from tablectl.errors import InputError
from tablectl.recording.importers import open_log
for path in sys.argv[2:]:
    log = open_log(path, sys.argv[1])
    assert sum(len(chunk.data) for chunk in log) >= 0
print("read")
"""


@pytest.mark.parametrize("format", BEGINNINGS)
def test_no_line_takes_for_ever(format: str, tmp_path: Path) -> None:
    """Lines of a million of the same few letters, where a careless expression would try every way to read them."""
    paths = []
    for number, letters in enumerate(HOSTILE):
        path = tmp_path / f"{number}.log"
        begin = BEGINNINGS[format]
        line = begin + letters * ((MEGABYTE - 1000) // len(letters))
        path.write_bytes(WHOLE.get(format, begin) + b"\n" + line + b"\n" + line)
        paths.append(str(path))
    result = subprocess.run(
        [sys.executable, "-c", READ, format, *paths], capture_output=True, text=True, timeout=120, check=False
    )
    assert (result.stdout, result.stderr) == ("read\n", "")
