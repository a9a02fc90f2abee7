"""Cues: that they lie where things happened, to the millisecond, and how they end."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tablectl.ledger.export import FORMATS
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import select
from tests.ledger.export.written import BEGAN, Written

ROOT = Path(__file__).resolve().parents[3]
RECORDING = ROOT / "tablectl/samples/fr.rec"
FRAME = 0.040
"""Seconds a picture lasts at 25 a second."""
_TIME = re.compile(r"(\d\d+):(\d\d):(\d\d)\.(\d{3})")
_CHUNK = re.compile(rb"^\((\d+\.\d{6})\) shoe < ([0-9A-F ]+)$", re.M)
_CARD = re.compile(rb"<Card:(\w+)>")

Shown = tuple[float, float, str, str]
"""Beginning and end in seconds, class, text."""


def parsed(vtt: str) -> list[Shown]:
    """A WebVTT file, read by its grammar: a signature, then blocks with a blank line between them."""
    head, *blocks = vtt.rstrip("\n").split("\n\n")
    assert head == "WEBVTT"
    cues = []
    for block in blocks:
        if block.startswith("NOTE"):
            continue
        _, times, text = block.split("\n")
        start, arrow, end, *_ = times.split(" ")
        assert arrow == "-->"
        kind, said = re.fullmatch(r"<c\.(\w+)>([^<>]*)</c>", text).groups()  # type: ignore[union-attr]
        cues.append((seconds(start), seconds(end), kind, said))
    return cues


def cards(recording: Path) -> list[tuple[float, str]]:
    """The cards that the shoe sent, each with the time of the chunk that ended its message."""
    found, rest = [], b""
    for at, raw in _CHUNK.findall(recording.read_bytes()):
        rest += bytes.fromhex(raw.decode())
        while card := _CARD.search(rest):
            found.append((float(at), card[1].decode().replace("10", "T")))
            rest = rest[card.end() :]
    return found


def seconds(text: str) -> float:
    found = _TIME.fullmatch(text)
    assert found, text
    hours, minutes, second, thousandths = map(int, found.groups())
    assert minutes < 60 > second
    return ((hours * 60 + minutes) * 60_000 + second * 1000 + thousandths) / 1000


def vtt(ledger: Path, **options: object) -> list[Shown]:
    file = io.BytesIO()
    count = FORMATS["webvtt"].write(select([ledger]), file, Options(**options))  # type: ignore[arg-type]
    cues = parsed(file.getvalue().decode())
    assert len(cues) == count
    return cues


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "day.db")


def test_a_session_s_cues_line_up_with_its_recording(tmp_path: Path) -> None:
    ledger = tmp_path / "fr.db"
    words = ["replay", str(RECORDING), "--ledger", str(ledger)]
    subprocess.run([sys.executable, "-m", "tablectl", *words], cwd=ROOT, check=True, capture_output=True)
    drawn = cards(RECORDING)
    assert len(drawn) == 24  # five burned, nineteen dealt
    began = drawn[0][0] - 3600.0  # the camera ran for an hour before
    cues = [cue for cue in vtt(ledger, video_start=round(began * 1_000_000)) if cue[2] == "dealt"]
    assert [text.partition(" ")[0] for *_, text in cues] == [card for _, card in drawn]
    assert all(abs(began + start - at) <= FRAME for (start, *_), (at, _) in zip(cues, drawn, strict=True))


def test_a_prompt_ends_where_the_next_begins_and_lasts_ten_seconds_at_most(written: Written) -> None:
    written.prompt(0, "one")
    written.prompt(1234.5678, "two")
    written.dealt(1500)
    written.prompt(60_000, "three")
    assert vtt(written.close()) == [
        (0.0, 1.235, "prompt", "one"),
        (1.235, 11.235, "prompt", "two"),
        (1.5, 3.5, "dealt", "2C to the dealer: 10"),
        (60.0, 70.0, "prompt", "three"),
    ]


def test_a_prompt_that_was_replaced_at_once_is_not_shown(written: Written) -> None:
    written.prompt(0, "never seen")
    written.prompt(0, "seen")
    assert vtt(written.close()) == [(0.0, 10.0, "prompt", "seen")]


def test_what_was_over_before_the_video_is_left_out_and_what_had_begun_begins_with_it(written: Written) -> None:
    written.alert(0, "long ago")
    written.alert(55_000, "still to be read")
    written.dealt(61_000)
    assert vtt(written.close(), video_start=BEGAN + 60_000_000) == [
        (0.0, 3.0, "alert", "still to be read"),
        (1.0, 3.0, "dealt", "2C to the dealer: 10"),
    ]


def test_words_are_escaped_and_stay_on_their_line(written: Written) -> None:
    written.alert(0, "a --> b & <c>\n\nWEBVTT")
    [cue] = vtt(written.close())
    assert cue[3] == "a --&gt; b &amp; &lt;c&gt; WEBVTT"


def test_cues_come_in_the_order_of_their_beginnings(written: Written) -> None:
    for number in range(200):
        written.prompt(number * 700, f"p{number}")
        written.dealt(number * 700 + 300, number)
        written.alert(number * 700 + 650, f"a{number}", number=number)
    starts = [start for start, *_ in vtt(written.close())]
    assert len(starts) == 600
    assert starts == sorted(starts)


def test_another_language_says_the_same_alert_anew(written: Written) -> None:
    written.alert(0, "E7")
    path = written.close()
    assert [text for *_, text in vtt(path)] == ["E7"]
    assert [text for *_, text in vtt(path, language="en")] == ["The shoe reports: E7"]
    [french] = [text for *_, text in vtt(path, language="fr")]
    assert french != "The shoe reports: E7"
    assert french.endswith("E7")


def test_srt_has_the_same_cues(written: Written) -> None:
    written.prompt(0, "one")
    written.alert(3_599_999.6, "two")
    file = io.BytesIO()
    assert FORMATS["srt"].write(select([written.close()]), file, Options()) == 2
    assert file.getvalue().decode() == (
        "1\r\n00:00:00,000 --> 00:00:10,000\r\none\r\n\r\n2\r\n01:00:00,000 --> 01:00:08,000\r\ntwo\r\n\r\n"
    )
