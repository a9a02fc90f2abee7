"""A device's thread, on real pseudo-terminals and connections: what is read is delivered once, and nothing ends the thread."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from tablectl.errors import UsageError
from tablectl.shoe import line, line_errors
from tablectl.shoe import port as port_module
from tablectl.shoe.events import Bytes, Down, Event, Sent, Trouble, Up
from tablectl.shoe.line import checked_address
from tablectl.shoe.line_errors import LineErrors
from tablectl.shoe.port import Patience, Port
from tablectl.shoe.profile import LinkSettings
from tests.shoe.converters import RawConverter, TelnetConverter
from tests.shoe.plugs import LINK, QUICK, Plug, Told, joined


@pytest.fixture
def plug(tmp_path: Path) -> Iterator[Plug]:
    plug = Plug(tmp_path / "by-id-shoe")
    yield plug
    plug.pull()


def port(plug: Plug, told: Told, *, name: str = "shoe", link: LinkSettings = LINK, patience: Patience = QUICK) -> Port:
    return Port(name, str(plug.link), link, told, patience=patience)


def whys(events: list[Event], kind: type[Up] | type[Down] | type[Trouble]) -> list[str]:
    return [event.why for event in events if isinstance(event, kind)]


def alternate(events: list[Event]) -> bool:
    """Up and down by turns, and bytes only while it is up."""
    links = [event for event in events if isinstance(event, Up | Down)]
    if any(type(one) is type(other) for one, other in pairwise(links)):
        return False
    is_up = False
    for event in events:
        is_up = isinstance(event, Up) or (is_up and not isinstance(event, Down))
        if isinstance(event, Bytes | Sent) and not is_up:
            return False
    return True


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def settles_at(count: int) -> bool:
    """Whether so many files are open in the end: a look at who else has a device open opens some of its own."""
    deadline = time.monotonic() + 2
    while open_files() != count and time.monotonic() < deadline:
        time.sleep(0.01)
    return open_files() == count


def test_bytes_come_as_they_are_with_their_time(plug: Plug) -> None:
    name = plug.plug_in()
    told, everything = Told(), bytes(range(256))
    before = time.time_ns() // 1000
    with port(plug, told):
        assert whys([told.next(Up)], Up) == [f"opened {name} ({plug.link})"]
        plug.send(everything)
        assert told.bytes(256) == everything
    times = [event.at for event in told.events]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= time.time_ns() // 1000
    assert {event.port for event in told.events} == {"shoe"}


def test_a_byte_is_not_waited_on(plug: Plug) -> None:
    plug.plug_in()
    told, waits = Told(), []
    with port(plug, told):
        told.next(Up)
        for count in range(1, 51):
            began = time.perf_counter()
            plug.send(b"x")
            told.bytes(count)
            waits.append(time.perf_counter() - began)
    assert sorted(waits)[25] < 0.005


def test_what_came_before_the_opening_is_kept(plug: Plug) -> None:
    plug.plug_in()
    plug.send(b" [Game]<Card:4S> ")
    told = Told()
    with port(plug, told):
        assert told.bytes(17) == b" [Game]<Card:4S> "


def test_the_line_is_set_as_the_profile_says(plug: Plug) -> None:
    name = plug.plug_in()
    told = Told()
    with port(plug, told, link=LinkSettings(4800, 8, "none", 2)):
        told.next(Up)
        other = os.open(name, os.O_RDWR | os.O_NOCTTY)
        iflag, _, cflag, lflag, _, speed, _ = termios.tcgetattr(other)
        os.close(other)
    assert speed == termios.B4800
    assert cflag & termios.CSIZE == termios.CS8
    assert cflag & termios.CSTOPB
    assert not lflag & (termios.ICANON | termios.ECHO | termios.ISIG)
    assert not iflag & (termios.BRKINT | termios.IGNPAR | termios.ICRNL | termios.IXON)


def test_a_device_that_is_missing_is_told_once_and_taken_when_it_comes(plug: Plug) -> None:
    told = Told()
    with port(plug, told):
        assert whys([told.next(Down)], Down) == [f"{plug.link} is not there"]
        time.sleep(0.1)  # five tries
        plug.plug_in()
        told.next(Up)
    assert [type(event) for event in told.events] == [Down, Up]


def test_pulled_in_mid_frame_and_back_under_another_name(plug: Plug) -> None:
    first = plug.plug_in()
    told = Told()
    with port(plug, told):
        plug.send(b" [Game]<Card:4S>  [Game]<Ca")
        told.bytes(27)
        plug.pull()
        down = told.next(Down)
        held = os.openpty()  # takes the number that became free
        second = plug.plug_in()
        plug.send(b" [Game]<Card:KH> ")
        told.bytes(44)
        for fd in held:
            os.close(fd)
    assert first != second
    assert isinstance(down, Down)
    assert down.why == "the device is gone: it hung up"
    assert whys(told.events, Up) == [f"opened {name} ({plug.link})" for name in (first, second)]
    assert joined(told.events) == b" [Game]<Card:4S>  [Game]<Ca [Game]<Card:KH> "
    assert alternate(told.events)


def test_two_hundred_times_pulled_and_plugged_in(plug: Plug, capsys: pytest.CaptureFixture[str]) -> None:
    """Each time a whole frame is read, then the device vanishes within the next one: nothing is lost, doubled or leaked."""
    cycles = 200
    told = Told()
    pulled: list[float] = []
    plug.plug_in()
    with port(plug, told, patience=Patience(first_retry=0.002, last_retry=0.005)) as device:
        told.next(Up)
        time.sleep(0.1)
        before = open_files()
        whole: list[bytes] = []
        for number in range(cycles):
            frame = b"<%04d>" % number
            plug.send(frame)
            whole.append(frame)
            told.until(lambda events: frame in joined(events[-20:]))  # noqa: B023 (used at once)
            plug.send(b"<hal")
            pulled.append(time.perf_counter())
            plug.pull()
            told.next(Down)
            plug.plug_in()
            told.next(Up)
            pulled[-1] = time.perf_counter() - pulled[-1]
        assert settles_at(before)
        assert device.is_alive
    got = joined(told.events)
    assert [got.count(frame) for frame in whole] == [1] * cycles
    rest = got
    for frame in whole:  # in order, with nothing between them but what of the torn frame was read
        head, _, rest = rest.partition(frame)
        assert b"<hal".startswith(head)
    assert b"<hal".startswith(rest)
    assert (len(whys(told.events, Up)), len(whys(told.events, Down))) == (cycles + 1, cycles)
    assert alternate(told.events)
    with capsys.disabled():
        print(f" [{cycles} replugs, up again after {sorted(pulled)[cycles // 2] * 1000:.1f} ms (median)] ", end="")


def test_the_pauses_between_tries_grow(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[float] = []
    real = line._device_file

    def noted(address: str) -> str:
        tries.append(time.monotonic())
        return real(address)

    monkeypatch.setattr(line, "_device_file", noted)
    told = Told()
    with port(plug, told, patience=Patience(first_retry=0.02, last_retry=0.08)):
        time.sleep(0.4)
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    for pause, least in zip(pauses, [0.02, 0.04, 0.08, 0.08], strict=False):
        assert least <= pause
    assert 3 <= len(pauses) <= 6
    assert [type(event) for event in told.inbox.queue] == [Down]


def test_a_second_port_is_refused(plug: Plug) -> None:
    name = plug.plug_in()
    first, second = Told(), Told()
    with port(plug, first):
        first.next(Up)
        with port(plug, second, name="pad"):
            refused = second.next(Down)
            plug.send(b"all of it")
            assert first.bytes(9) == b"all of it"
    assert isinstance(refused, Down)
    assert refused.why.startswith(f"{name} is in use")
    assert joined(list(second.inbox.queue)) == b""


LOCKER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
fcntl.flock(fd, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


def test_a_program_that_has_locked_the_device_is_named_and_outlived(plug: Plug) -> None:
    name = plug.plug_in()
    told = Told()
    with subprocess.Popen([sys.executable, "-c", LOCKER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with port(plug, told):
            refused = told.next(Down)
            other.kill()
            told.next(Up)
    assert isinstance(refused, Down)
    assert refused.why.startswith(f"{name} is in use: it is open in python")
    assert f"(pid {other.pid})" in refused.why


READER = "import os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); print(flush=True); sys.stdin.read()"


def test_another_program_at_the_device_is_told_once(plug: Plug) -> None:
    name = plug.plug_in()
    told = Told()
    with port(plug, told, patience=QUICK._replace(holders=0.02)):
        told.next(Up)
        with subprocess.Popen([sys.executable, "-c", READER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            trouble = told.next(Trouble)
            time.sleep(0.2)  # ten looks
            other.send_signal(signal.SIGKILL)
    assert isinstance(trouble, Trouble)
    assert trouble.why.startswith("also open in python")
    assert trouble.why.endswith(f"(pid {other.pid})")
    assert told.inbox.empty()


def test_a_reader_who_was_quicker_is_no_unplugging(plug: Plug) -> None:
    """Two are woken by the same byte, and one finds nothing: that is not the end of the device."""
    name = plug.plug_in()
    told = Told()
    stolen = 0
    with port(plug, told):
        told.next(Up)
        thief = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        for _ in range(2000):
            plug.send(b"x")
            with suppress(BlockingIOError):
                stolen += len(os.read(thief, 10))
        os.close(thief)
        told.bytes(2000 - stolen)
    assert stolen
    assert [type(event) for event in told.events if not isinstance(event, Bytes)] == [Up]


def test_megabytes_of_noise_pass(plug: Plug) -> None:
    plug.plug_in()
    noise = random.Random(7).randbytes(4 << 20)
    told = Told()
    with port(plug, told):
        sender = threading.Thread(target=plug.send, args=(noise,))
        sender.start()
        chunks: list[Event] = []
        missing = len(noise)
        while missing:
            event = told.inbox.get(timeout=5)
            chunks.append(event)
            missing -= len(event.data) if isinstance(event, Bytes) else 0
        sender.join()
    assert joined(chunks) == noise
    assert max(len(event.data) for event in chunks if isinstance(event, Bytes)) <= 4096


def test_a_slow_table_loses_nothing(plug: Plug) -> None:
    plug.plug_in()
    noise = random.Random(8).randbytes(200_000)
    told = Told(room=1)

    with port(plug, told):
        sender = threading.Thread(target=plug.send, args=(noise,))
        sender.start()
        time.sleep(0.2)
        assert sender.is_alive()  # held back: nobody reads, and so nobody drops
        got = b""
        while len(got) < len(noise):
            event = told.inbox.get(timeout=5)
            got += event.data if isinstance(event, Bytes) else b""
            time.sleep(0.001)
        sender.join()
    assert got == noise


def test_what_was_read_comes_before_the_down_even_if_the_table_was_busy(plug: Plug) -> None:
    plug.plug_in()
    told = Told(room=1)
    with port(plug, told):
        told.until(lambda events: bool(events))
        plug.send(b"one")
        time.sleep(0.05)  # read, and the inbox is full
        plug.send(b"two")
        time.sleep(0.05)
        plug.pull()
        told.next(Down)
    assert joined(told.events).startswith(b"one")
    assert isinstance(told.events[-1], Down)
    assert alternate(told.events)


def test_a_table_that_fails_gets_the_same_event_again(plug: Plug) -> None:
    plug.plug_in()
    told = Told()
    failures = 3

    def deliver(event: Event) -> None:
        nonlocal failures
        if isinstance(event, Bytes) and failures:
            failures -= 1
            raise RuntimeError("no room")
        told(event)

    with Port("shoe", str(plug.link), LINK, deliver, patience=QUICK) as device:
        told.next(Up)
        plug.send(b"a card")
        assert told.bytes(6) == b"a card"
        told.next(Up)
        assert device.is_alive
    assert whys(told.events, Down) == ["internal fault: RuntimeError: no room"]
    assert joined(told.events) == b"a card"
    assert alternate(told.events)


def test_a_fault_of_ours_is_a_down_and_is_tried_again(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    plug.plug_in()
    told = Told()
    with port(plug, told):
        told.next(Up)
        with monkeypatch.context() as patch:
            patch.setattr(line._Direct, "take", lambda self, seconds: 1 / 0)
            plug.send(b"wake")
            down = told.next(Down)
        assert isinstance(down, Down)
        assert down.why == "internal fault: ZeroDivisionError: division by zero"
        told.next(Up)
        plug.send(b" and well again")
        told.until(lambda events: joined(events).endswith(b"well again"))


def test_what_is_written_reaches_the_device_and_is_told(plug: Plug) -> None:
    told = Told()
    with port(plug, told) as device:
        told.next(Down)
        assert not device.write(b"nobody there")
        plug.plug_in()
        told.next(Up)
        assert device.write(b"\x02OPLK02\x031B")
        assert plug.received() == b"\x02OPLK02\x031B"
        sent = told.next(Sent)
    assert isinstance(sent, Sent)
    assert sent.data == b"\x02OPLK02\x031B"
    assert not device.write(b"after the end")


def test_a_device_that_takes_nothing_is_told_of(plug: Plug) -> None:
    plug.plug_in()
    told = Told()
    with port(plug, told, patience=QUICK._replace(write=0.05)) as device:
        told.next(Up)
        assert device.write(b"x" * 65536)  # more than the other side's buffer holds
        trouble = told.next(Trouble)
        assert isinstance(trouble, Trouble)
        assert trouble.why == f"not sent: {'78 ' * 20}… (65536 bytes): the device took no more within 0.05 s"
        plug.send(b"still read")
        assert told.bytes(10) == b"still read"
    assert not device.write(b"x" * 65537)


@pytest.mark.parametrize("present", [True, False])
def test_it_ends_within_a_second(plug: Plug, present: bool) -> None:
    if present:
        plug.plug_in()
    told, before = Told(), open_files()
    device = port(plug, told, patience=Patience())
    device.start()
    told.next(Up if present else Down)
    assert "tablectl-shoe" in {thread.name for thread in threading.enumerate()}
    began = time.monotonic()
    device.close()
    assert time.monotonic() - began < 1.0
    assert not device.is_alive
    assert settles_at(before)
    device.close()


def test_what_came_before_the_stop_is_delivered(plug: Plug) -> None:
    plug.plug_in()
    told = Told()
    with port(plug, told) as device:
        told.next(Up)
        for _ in range(20):
            plug.send(b"frame ")
        device.stop()
    assert joined([*told.events, *told.inbox.queue]) == b"frame " * 20


def test_a_table_that_no_longer_takes_anything_does_not_hold_up_the_stop(plug: Plug) -> None:
    plug.plug_in()
    told = Told(room=1)
    device = port(plug, told)
    device.start()
    plug.send(b"one")
    time.sleep(0.1)
    began = time.monotonic()
    device.close()
    assert time.monotonic() - began < 1.5
    assert device.is_alive
    told.next(Up)
    told.bytes(3)
    device.close()
    assert not device.is_alive


@pytest.mark.parametrize("made", ["file", "folder"])
def test_what_is_no_device_is_said_to_be_none(tmp_path: Path, made: str) -> None:
    path = tmp_path / "thing"
    path.write_text("") if made == "file" else path.mkdir()
    told = Told()
    with Port("shoe", str(path), LINK, told, patience=QUICK):
        assert told.next(Down) == Down("shoe", told.events[-1].at, f"{path} is no serial device")


def test_a_usb_serial_number_finds_its_port(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of real adapters comes from /sys, which a test cannot write."""

    class Adapter:
        serial_number = "A10KZP45"

        def __init__(self, device: str):
            self.device = device

    plugged: list[Adapter] = []
    monkeypatch.setattr(line, "comports", lambda: plugged)
    told = Told()
    with Port("shoe", "usb:A10KZP45", LINK, told, patience=QUICK):
        assert told.next(Down) == Down("shoe", told.events[-1].at, "usb:A10KZP45 is not plugged in")
        plugged[:] = [Adapter("/dev/ttyUSB0"), Adapter("/dev/ttyUSB1")]
        assert "several ports" in whys(told.until(lambda events: len(events) > 1), Trouble)[0]
        name = plug.plug_in()
        plugged[:] = [Adapter(name)]
        told.next(Up)
        assert whys(told.events, Up) == [f"opened {name} (usb:A10KZP45)"]


def test_addresses() -> None:
    for good in ("/dev/ttyUSB0", "shoe", "usb:A1", "socket://10.0.0.7:4001", "rfc2217://[::1]:4001?timeout=1"):
        assert checked_address(good) == good
    for bad in (
        "",
        "usb:",
        "socket://",
        "socket://host",
        "socket://:4001",
        "socket://host:99999",
        "spy:///dev/x",
        "a\0b",
        "a\nb",
    ):
        with pytest.raises(UsageError):
            checked_address(bad)


def test_a_raw_converter_and_its_hanging_up() -> None:
    told, before = Told(), open_files()
    with RawConverter() as converter, Port("shoe", converter.url, LINK, told, patience=QUICK) as device:
        converter.accept(greeting=b"hello")
        assert told.bytes(5) == b"hello"
        assert device.write(b"lock")
        told.next(Sent)
        assert converter.connection is not None
        assert converter.connection.recv(100) == b"lock"
        converter.send(b" half")
        told.bytes(10)
        converter.hang_up()
        down = told.next(Down)
        converter.accept()
        told.next(Up)
        converter.send(b" whole")
        assert told.bytes(16) == b"hello half whole"
    assert isinstance(down, Down)
    assert down.why == "the converter closed the connection"
    assert alternate(told.events)
    assert settles_at(before)


def test_a_converter_that_is_not_there() -> None:
    with RawConverter() as converter:
        url = converter.url
    told = Told()
    with Port("shoe", url, LINK, told, patience=QUICK):
        assert told.next(Down) == Down("shoe", told.events[-1].at, "Connection refused")


RFC2217 = pytest.mark.filterwarnings("ignore:set(Daemon|Name).. is deprecated:DeprecationWarning")  # pyserial's own


@RFC2217
def test_a_converter_that_speaks_rfc_2217() -> None:
    told, before, everything = Told(), open_files(), bytes(range(256))
    with TelnetConverter() as converter:
        with Port("shoe", converter.url, LinkSettings(4800, 7, "even", 2), told, patience=QUICK) as device:
            converter.accept()
            told.next(Up)
            port = converter.serial
            assert (port.baudrate, port.bytesize, port.parity, port.stopbits) == (4800, 7, "E", 2)
            converter.send(everything)
            assert told.bytes(256) == everything
            assert device.write(b"\x02OP\xffLK")
            told.next(Sent)
            converter.hang_up()
            told.next(Down)
            assert converter.written == b"\x02OP\xffLK"
            converter.accept()
            told.next(Up)
            converter.send(b"again")
            assert told.bytes(261) == everything + b"again"
            began = time.monotonic()
        assert time.monotonic() - began < 1.0
        assert alternate(told.events)
    converter.serial.close()
    assert settles_at(before)


@RFC2217
def test_a_break_and_errors_on_the_line_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_module, "LOOK", 0.3)
    told = Told()
    with TelnetConverter() as converter, Port("shoe", converter.url, LINK, told, patience=QUICK):
        converter.accept()
        told.next(Up)
        time.sleep(0.1)  # the notices have been asked for
        converter.line_state(0x10)
        converter.line_state(0x08)
        converter.line_state(0x0C)
        converter.line_state(0x01)  # data ready: no error, and not asked for
        said = ["1 break, 2 framing errors, 1 parity error"]
        told.until(lambda events: whys(events, Trouble) == said)
    converter.serial.close()


def test_what_the_driver_counts_is_told_by_its_growth(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pseudo-terminal has no line; the counts are made up, the way they take is not."""
    monkeypatch.setattr(port_module, "LOOK", 0.05)
    counts = [LineErrors(3, 1, 0, 0)]
    monkeypatch.setattr(line, "counted", lambda fd: counts[-1])
    plug.plug_in()
    told = Told()
    with port(plug, told):
        told.next(Up)
        counts.append(LineErrors(4, 1, 0, 2))
        trouble = told.next(Trouble)
    assert isinstance(trouble, Trouble)
    assert trouble.why == "1 break, 2 overruns"


def test_counts() -> None:
    ours, theirs = os.openpty()
    assert line_errors.counted(theirs) is None
    os.close(ours)
    os.close(theirs)
    assert LineErrors(2, 0, 5, 0).since(LineErrors(1, 0, 5, 0)) == "1 break"
    assert LineErrors(1, 0, 0, 0).since(LineErrors(9, 0, 0, 0)) == "1 break"  # begun anew
    assert LineErrors().since(LineErrors()) == ""
