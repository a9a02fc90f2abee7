"""What the tools write besides the samples: other versions and options, and damage."""

import random
from pathlib import Path

import pytest

from tablectl.errors import InputError, UsageError
from tablectl.instants import to_micros
from tablectl.recording.importers import guess, open_log
from tablectl.recording.logs import Log

DAY = "2026-11-30T"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.log"


def bursts(log: Log) -> list[tuple[str, str]]:
    """Direction and bytes in hexadecimal."""
    return [(chunk.direction, chunk.data.hex(" ")) for chunk in log]


def times(log: Log) -> list[int | None]:
    return [chunk.at for chunk in log]


def micros(*clocks: str) -> list[int]:
    return [to_micros(f"{DAY}{clock}Z") for clock in clocks]


def socat(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


class TestSocat:
    def test_true_nanoseconds(self, file: Path) -> None:
        """One fraction of a thousandth or more, and all of the log's are true."""
        file.write_text(
            socat(
                "> 2026/11/30 04:43:06.000882629  length=1 from=0 to=0",
                f" 02{'':45}  .",
                "--",
                "> 2026/11/30 04:43:06.001000000  length=1 from=1 to=1",
                f" 03{'':45}  .",
                "--",
            )
        )
        assert times(open_log(file)) == micros("04:43:06.000882", "04:43:06.001000")

    def test_nine_digits_below_a_thousandth_are_microseconds(self, file: Path) -> None:
        file.write_text(socat("> 2026/11/30 04:43:06.000999999  length=1 from=0 to=0", f" 02{'':45}  .", "--"))
        assert times(open_log(file)) == micros("04:43:06.999999")

    def test_six_digits_are_microseconds(self, file: Path) -> None:
        file.write_text(socat("> 2026/11/30 04:43:06.000882  length=1 from=0 to=0", f" 02{'':45}  .", "--"))
        assert times(open_log(file)) == micros("04:43:06.000882")

    def test_without_v_a_block_is_one_row_and_has_no_end_mark(self, file: Path) -> None:
        data = bytes(range(100))
        file.write_text(
            socat(
                "> 2026/11/30 07:45:59.000801067  length=100 from=0 to=99",
                "".join(f" {code:02x}" for code in data),
                "< 2026/11/30 07:46:00.000198330  length=3 from=0 to=2",
                " 00 ff 78",
            )
        )
        assert bursts(open_log(file)) == [("<", data.hex(" ")), (">", "00 ff 78")]

    def test_letters_that_look_like_bytes_are_not_read_as_bytes(self, file: Path) -> None:
        file.write_text(
            socat(
                "> 2026/11/30 07:45:59.000801067  length=18 from=0 to=17",
                " 61 62 20 63 64 20 65 66 20 61 62 20 63 64 20 65  ab cd ef ab cd e",
                f" 61 62{'':42}  ab",
                "--",
            )
        )
        assert bursts(open_log(file)) == [("<", b"ab cd ef ab cd eab".hex(" "))]

    def test_messages_of_socat_itself_are_passed_over(self, file: Path) -> None:
        file.write_text(
            socat(
                "2026/11/30 07:46:00 socat[9649] N starting data transfer loop with FDs [0,1] and [5,5]",
                "> 2026/11/30 07:46:00.000206403  length=1 from=0 to=0",
                f" 02{'':45}  .",
                "--",
                "2026/11/30 07:46:00 socat[9649] N exiting with status 0",
            )
        )
        log = open_log(file)
        assert (log.format, bursts(log), log.damaged) == ("socat", [("<", "02")], 0)

    def test_v_without_x_does_not_hold_the_bytes(self, file: Path) -> None:
        file.write_text(socat("> 2026/11/30 07:46:00.000206403  length=13 from=0 to=12", ".C,AS,001.\\r", "--"))
        log = open_log(file)
        assert bursts(log) == []
        assert log.damaged == 1
        assert f"{file}:2: bytes: these are no bytes in hexadecimal; was socat run with -v but without -x?" in log.warnings

    def test_a_block_that_is_shorter_or_longer_than_it_says_is_told(self, file: Path) -> None:
        file.write_text(
            socat(
                "> 2026/11/30 04:43:06.000000001  length=3 from=0 to=2",
                f" 02{'':45}  .",
                "--",
                "> 2026/11/30 04:43:06.000000002  length=1 from=3 to=3",
                f" 03 04{'':42}  ..",
                "--",
            )
        )
        log = open_log(file)
        assert bursts(log) == [("<", "02"), ("<", "03 04")]
        assert log.damaged == 2
        assert f"{file}:1: length: only 1 of the 3 bytes that the heading says" in log.warnings
        assert f"{file}:5: length: more than the 1 bytes that the heading says" in log.warnings

    def test_swap(self, file: Path) -> None:
        file.write_text(socat("< 2026/11/30 04:43:06.000000001  length=1 from=0 to=0", f" 02{'':45}  .", "--"))
        assert bursts(open_log(file)) == [(">", "02")]
        assert bursts(open_log(file, swap=True)) == [("<", "02")]

    def test_a_date_that_is_none(self, file: Path) -> None:
        heading = "> 2026/11/31 04:43:06.000000001  length=1 from=0 to=0"
        file.write_text(socat(heading, f" 02{'':45}  .", "--"))
        with pytest.raises(InputError, match=r":1: time: this is no log of socat"):
            list(open_log(file))


class TestJpnevulator:
    TWO = "2026-11-30 04:47:52.115943: {}\n02 06\n2026-11-30 04:47:52.318752: {}\n03\n"

    def test_neither_times_nor_letters(self, file: Path) -> None:
        file.write_text("02 43 2C 41\n0D 0A\n")
        log = open_log(file, "jpnevulator")
        assert bursts(log) == [("<", "02 43 2c 41 0d 0a")]
        assert times(log) == [None]

    def test_counter_and_letters(self, file: Path) -> None:
        file.write_text("2026-11-30 04:47:52.115943:\n00000000\t02 41   \t.A\n00000002\t09\t\t\n")
        assert bursts(open_log(file)) == [("<", "02 41 09")]

    def test_the_device_is_the_name_of_the_port(self, file: Path) -> None:
        file.write_text(self.TWO.format("HOST", "/dev/ttyUSB0"))
        log = open_log(file, port="ttyUSB0")
        assert bursts(log) == [(">", "02 06"), ("<", "03")]
        assert all("taken for the device" not in warning for warning in log.warnings)

    def test_else_the_first_is_taken_and_said(self, file: Path) -> None:
        file.write_text(self.TWO.format("/dev/ttyUSB0", "/dev/ttyUSB1"))
        log = open_log(file)
        assert bursts(log) == [("<", "02 06"), (">", "03")]
        assert any("/dev/ttyUSB0 was taken for the device" in warning for warning in log.warnings)
        assert bursts(open_log(file, swap=True)) == [(">", "02 06"), ("<", "03")]

    def test_a_name_that_comes_late_is_found(self, file: Path) -> None:
        host = "2026-11-30 04:47:52.115943: HOST\n02 06\n"
        file.write_text(host * 5000 + "2026-11-30 04:47:53.115943: SHOE\n03\n")
        found = bursts(open_log(file))
        assert found[0] == (">", "02 06")
        assert found[-1] == ("<", "03")

    def test_a_bad_row(self, file: Path) -> None:
        file.write_text("2026-11-30 04:47:52.115943:\n02 06\n02 0G\n07\n")
        log = open_log(file)
        assert bursts(log) == [("<", "02 06 07")]
        assert f"{file}:3: bytes: these are no bytes in hexadecimal" in log.warnings
        assert log.damaged == 1


class TestTio:
    def test_a_time_of_day_runs_over_midnight(self, file: Path) -> None:
        file.write_bytes(b"[23:59:59.900] a\n[00:00:00.100] b\n[00:00:00.050] c\n[17:00:00.000] d\n")
        found = times(open_log(file, start="2026-11-30"))
        assert found == [
            to_micros("2026-11-30T23:59:59.900Z"),
            to_micros("2026-12-01T00:00:00.100Z"),
            to_micros("2026-12-01T00:00:00.050Z"),
            to_micros("2026-12-01T17:00:00Z"),
        ]

    def test_the_start_in_full_may_be_a_little_late(self, file: Path) -> None:
        file.write_bytes(b"[04:44:30.304] a\n")
        assert times(open_log(file, start="2026-11-30T04:45:00")) == micros("04:44:30.304")

    def test_a_time_of_day_in_a_zone(self, file: Path) -> None:
        file.write_bytes(b"[00:30:00.000] a\n")
        assert times(open_log(file, start="2026-11-30", zone="Europe/Paris")) == [to_micros("2026-11-29T23:30:00Z")]

    def test_a_line_without_a_stamp_keeps_its_bytes(self, file: Path) -> None:
        file.write_bytes(b"[1796013998.868] a\nb\n[1796013999.868] c\n")
        log = open_log(file)
        assert [chunk.data for chunk in log] == [b"a\n", b"b\n", b"c\n"]
        assert times(log)[1] == 1_796_013_998_868_000
        assert log.warnings == [f"{file}: lines without a time of their own got that of the line before: 1, the first is line 2"]
        assert log.damaged == 0

    def test_a_very_long_line(self, file: Path) -> None:
        data = bytes(random.Random(1).choices([code for code in range(256) if code != 10], k=100_000)) + b"\n"
        file.write_bytes(b"[1796013998.868] " + data)
        chunks = list(open_log(file))
        assert b"".join(chunk.data for chunk in chunks) == data
        assert {chunk.at for chunk in chunks} == {1_796_013_998_868_000}

    def test_text_that_resembles_hexadecimal_is_still_text(self, file: Path) -> None:
        file.write_bytes(b"[1796013998.868] 4E\n[1796013999.868] B3 1000\n")
        assert guess(file) == "tio"
        assert [chunk.data for chunk in open_log(file)] == [b"4E\n", b"B3 1000\n"]


class TestSer2net:
    def test_without_times(self, file: Path) -> None:
        file.write_text("OPEN (ipv4,127.0.0.1,53218)\nterm 02 43  |.C|\ntcp  06     |.|\nCLOSE port (All users disconnected)\n")
        log = open_log(file)
        assert log.format == "ser2net"
        assert bursts(log) == [("<", "02 43"), (">", "06")]
        assert log.warnings == []

    def test_a_row_that_lost_a_byte_is_noticed(self, file: Path) -> None:
        file.write_text("term 02 43  |.C|\nterm 02   |.C|\nterm 7c 7c  ||||\n")
        log = open_log(file)
        assert bursts(log) == [("<", "02 43"), ("<", "7c 7c")]
        assert f"{file}:2: bytes: 1 bytes beside 2 letters" in log.warnings


class TestPyserialSpy:
    def test_control_lines_and_colours(self, file: Path) -> None:
        file.write_text(
            "\x1b[37m000000.000 Q-RX reset_input_buffer\n"
            "\x1b[37m000000.010 RTS  inactive\n"
            "\x1b[31m000000.020 TX   0000  02                                                .               \n"
            "\x1b[32m000000.030 RX   <empty>\n"
        )
        log = open_log(file, start="2026-11-30T04:48:00Z")
        assert (log.format, bursts(log), log.damaged) == ("pyserial-spy", [(">", "02")], 0)
        assert times(log) == micros("04:48:00.020")

    def test_rows_of_one_read_are_one_burst_with_its_first_time(self, file: Path) -> None:
        row = "41 41 41 41 41 41 41 41  41 41 41 41 41 41 41 41  AAAAAAAAAAAAAAAA"
        file.write_text(f"000000.020 RX   0000  {row}\n000000.021 RX   0010  {row}\n000000.022 RX   0000  {row}\n")
        log = open_log(file, start="2026-11-30T04:48:00Z")
        assert [(chunk.at, len(chunk.data)) for chunk in log] == [
            (to_micros("2026-11-30T04:48:00.020Z"), 32),
            (to_micros("2026-11-30T04:48:00.022Z"), 16),
        ]


class TestStrace:
    def test_a_call_in_two_parts_counts_when_it_ended(self, file: Path) -> None:
        file.write_text(
            "9794  1796024780.746389 read(4,  <unfinished ...>\n"
            '9793  1796024780.947355 write(3, "\\x02\\x43", 2) = 2\n'
            '9794  1796024780.950157 <... read resumed>"\\x02\\x43", 64) = 2\n'
            '9794  1796024780.950289 write(4, "\\x06", 1 <unfinished ...>\n'
            "9794  1796024780.950300 <... write resumed>) = 1\n"
            "9793  1796024781.458617 +++ exited with 0 +++\n"
        )
        log = open_log(file, fd=4)
        assert bursts(log) == [("<", "02 43"), (">", "06")]
        assert times(log) == [1_796_024_780_950_157, 1_796_024_780_950_300]

    @pytest.mark.parametrize("process", ["[pid  9807] ", "9807  ", ""])
    def test_the_process_is_written_in_three_ways(self, process: str, file: Path) -> None:
        file.write_text(f'{process}1796024782.722931 read(4, "\\x06", 1) = 1\n')
        assert (guess(file), bursts(open_log(file))) == ("strace", [("<", "06")])

    def test_escapes_without_x(self, file: Path) -> None:
        file.write_text(r'1796024782.722931 read(4, "\2C,AS\r\n\t\"\\\0001\303\251\33[m", 64) = 17' + "\n")
        assert bursts(open_log(file)) == [("<", b'\x02C,AS\r\n\t"\\\x001\xc3\xa9\x1b[m'.hex(" "))]

    def test_a_time_of_day_and_how_long_it_took(self, file: Path) -> None:
        file.write_text(
            '07:46:22.260852 read(4</dev/pts/0>, "\\6", 1) = 1 <0.500089>\n'
            '9800  07:46:23.000000 <... write resumed>"x", 1) = 1 <0.200172>\n'
        )
        log = open_log(file, start="2026-11-30")
        assert times(log) == micros("07:46:22.760941")
        assert log.damaged == 1  # its beginning is not in the log

    def test_what_moved_no_bytes(self, file: Path) -> None:
        file.write_text(
            '1796024782.1 read(4, "", 64) = 0\n'
            "1796024782.2 read(4, 0x7ffd, 64) = -1 EAGAIN (Resource temporarily unavailable)\n"
            "1796024782.3 read(4, 0x7ffd, 64) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n"
            "1796024782.4 --- SIGINT {si_signo=SIGINT, si_code=SI_KERNEL} ---\n"
            '1796024782.5 write(4, "\\x06\\x07", 2) = 1\n'
            "1796024782.6 ioctl(4, TIOCGWINSZ, {ws_row=24}) = 0\n"
        )
        log = open_log(file)
        assert bursts(log) == [(">", "06")]
        assert log.damaged == 0

    def test_a_string_that_was_cut_short_is_a_loss(self, file: Path) -> None:
        file.write_text('1796024782.1 read(4, "xxxx"..., 64) = 40\n1796024782.2 read(4, "y", 64) = 1\n')
        log = open_log(file)
        assert bursts(log) == [("<", "78 78 78 78"), ("<", "79")]
        assert log.damaged == 1
        assert f"{file}:1: bytes: strace shows 4 of 40 bytes; record with -s 65536" in log.warnings

    def test_several_descriptors_are_the_users_choice(self, file: Path) -> None:
        file.write_text(
            '1.1 openat(AT_FDCWD, "/dev/ttyUSB0", O_RDWR|O_NOCTTY) = 3\n'.replace("1.1", "1796024782.1")
            + '1796024782.2 read(3, "a", 64) = 1\n1796024782.3 read(0, "bc", 64) = 2\n1796024782.4 write(1, "c", 1) = 1\n'
        )
        with pytest.raises(InputError, match=r"0 \(2 bytes\), 3 \(/dev/ttyUSB0 1 bytes\); say which is the port with --fd"):
            list(open_log(file))
        assert bursts(open_log(file, fd=3)) == [("<", "61")]
        assert bursts(open_log(file, fd=0)) == [("<", "62 63")]
        with pytest.raises(InputError, match="--fd: nothing was read from or written to descriptor 7"):
            list(open_log(file, fd=7))

    def test_a_descriptor_that_was_a_file_before_it_was_the_port(self, file: Path) -> None:
        calls = [
            'openat(AT_FDCWD, "/usr/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = 3',
            'read(3, "\\x7fELF", 832) = 4',
            "close(3) = 0",
            'openat(AT_FDCWD, "/dev/ttyUSB0", O_RDWR|O_NOCTTY) = 3',
            'read(3, "a", 64) = 1',
        ]
        file.write_text("".join(f"1796024782.{number} {call}\n" for number, call in enumerate(calls)))
        assert bursts(open_log(file)) == [("<", "61")]
        assert bursts(open_log(file, fd=3)) == [("<", "61")]

    def test_the_files_names_in_each_call(self, file: Path) -> None:
        file.write_text(
            '1796024782.1 read(3</usr/lib/libc.so.6>, "\\x7fELF", 832) = 4\n'
            '1796024782.2 read(3<\\x2f\\x64\\x65\\x76\\x2f\\x70\\x74\\x73\\x2f\\x30>, "a", 64) = 1\n'
        )
        assert bursts(open_log(file)) == [("<", "61")]


class TestPutty:
    HEADING = b"=~=~=~=~=~=~=~=~=~=~=~= PuTTY log 2026.11.30 04:49:04 =~=~=~=~=~=~=~=~=~=~=~=\r\n"

    def test_a_log_that_was_appended_to(self, file: Path) -> None:
        file.write_bytes(self.HEADING + b"\x02one\x03" + self.HEADING + b"\x02two\x03")
        assert b"".join(chunk.data for chunk in open_log(file)) == b"\x02one\x03\x02two\x03"

    @pytest.mark.parametrize("before", range(65536 - 90, 65536 + 2, 7))
    def test_a_heading_across_two_reads(self, before: int, file: Path) -> None:
        first = b"\x02" * (before - len(self.HEADING))
        file.write_bytes(self.HEADING + first + self.HEADING + b"\x03")
        assert b"".join(chunk.data for chunk in open_log(file)) == first + b"\x03"

    def test_a_control_character_anywhere_is_enough(self, file: Path) -> None:
        file.write_bytes(self.HEADING + b"C,AS\r\n" * 50_000 + b"\x02")
        log = open_log(file)
        assert sum(len(chunk.data) for chunk in log) == 300_001
        assert log.warnings == []

    def test_another_file_is_none(self, file: Path) -> None:
        file.write_bytes(b"\x02C,AS\r\n")
        with pytest.raises(InputError, match=":1: this is no log of PuTTY"):
            list(open_log(file, "putty"))


class TestStamped:
    def test_hexadecimal_port_and_direction(self, file: Path) -> None:
        file.write_text("2026-11-30 04:52:05.5 SHOE rx 02 43\n2026-11-30 04:52:06 pad TX 06\n2026-11-30 04:52:07 pad = 06\n")
        log = open_log(file, pattern=r"(?P<at>\S+ \S+) (?P<port>\S+) (?P<direction>\S+) (?P<hex>.*)")
        assert [(chunk.at, chunk.port, chunk.direction, chunk.data) for chunk in log] == [
            (to_micros("2026-11-30T04:52:05.5Z"), "shoe", "<", b"\x02C"),
            (to_micros("2026-11-30T04:52:06Z"), "pad", ">", b"\x06"),
        ]
        assert log.damaged == 1
        assert any(f"{file}:3: direction: '=' is no direction" in warning for warning in log.warnings)

    def test_the_line_feed_belongs_to_bytes_that_run_to_the_end(self, file: Path) -> None:
        file.write_bytes(b"1796013998.868 C,AS\r\n1796013999.868 C,KH")
        assert [chunk.data for chunk in open_log(file, pattern=r"(?P<at>\S+) (?P<data>.*)")] == [b"C,AS\r\n", b"C,KH"]
        assert [chunk.data for chunk in open_log(file, pattern=r"(?P<at>\S+) (?P<data>[^\r]*)\r?")] == [b"C,AS", b"C,KH"]

    def test_each_kind_of_time(self, file: Path) -> None:
        stamps = ["2026-11-30T05:52:05.5+01:00", "2026/11/30 04:52:05,5", "1796014325.5", "04:52:05.500", "325.5"]
        file.write_text("".join(f"{stamp}|x\n" for stamp in stamps))
        log = open_log(file, pattern=r"(?P<at>[^|]+)\|(?P<data>.*)", start="2026-11-30T04:46:40Z")
        assert times(log) == micros("04:52:05.5") * 5

    @pytest.mark.parametrize(
        ("pattern", "message"),
        [
            (r"(?P<at>\S+", "no regular expression"),
            (r"(?P<at>\S+)", "neither a group"),
            (r"(?P<when>\S+) (?P<data>.*)", "unknown group 'when'"),
        ],
    )
    def test_a_pattern_that_makes_no_sense(self, pattern: str, message: str, file: Path) -> None:
        file.write_text("2026-11-30T04:52:05 x\n")
        with pytest.raises(UsageError, match=message) as refused:
            list(open_log(file, pattern=pattern))
        assert refused.value.field == "--pattern"

    def test_a_line_that_does_not_fit(self, file: Path) -> None:
        file.write_text("1796013998.868 a\nwhat?\n1796013999.868 b\n")
        log = open_log(file, pattern=r"(?P<at>[\d.]+) (?P<data>.*)")
        assert [chunk.data for chunk in log] == [b"a\n", b"b\n"]
        assert log.warnings == [f"{file}:2: the pattern does not fit the line"]
