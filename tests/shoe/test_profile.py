"""Profiles: what ships, and how a bad one is refused: file, line, key, and what would have been right."""

from pathlib import Path

import pytest

from tablectl.errors import ProfileError
from tablectl.shoe.fields import FIELDS
from tablectl.shoe.framings import FRAMINGS
from tablectl.shoe.profile import load, names
from tests.shoe.streams import PROFILES, profile_of

GOOD = """\
name = "test"
kind = "shoe"
title = "Test"

[link]
baud = 9600
bits = 8
parity = "none"
stop = 1

[[frames]]
name = "line"
kind = "lines"
end = "0A"
body = "20-7E"
longest = 40

[[fields]]
name = "box"
type = "number"
digits = [1, 1]

[[messages]]
name = "paid"
frame = "line"
body = "Y{box}"
observation = { event = "paid", box = "{box}" }
"""


def test_what_ships() -> None:
    assert names() == ["angel-eye-ii", "barcode-scanner", "bee-tek", "dealer-pad"]
    assert [load(name).profile.kind for name in names()] == ["shoe", "shoe", "shoe", "pad"]
    assert [load(name).profile.name for name in names()] == names()
    link = load("angel-eye-ii").profile.link
    assert (link.baud, link.bits, link.parity, link.stop) == (4800, 8, "none", 1)


def test_every_framing_and_field_is_used_by_a_profile_under_test() -> None:
    profiles = [profile_of(name) for name in PROFILES]
    assert {frame.__struct_config__.tag for profile in profiles for frame in profile.frames} == set(FRAMINGS)
    assert {field.__struct_config__.tag for profile in profiles for field in profile.fields} == set(FIELDS)


def test_assumed_values_are_known() -> None:
    """The points on which the public implementations are silent or disagree."""
    assert load("angel-eye-ii").assumed == {
        "frames[0].checksum",
        "frames[1].checksum",
        "frames[3].body",
        "frames[4].checksum",
        "messages[3].reading",
        "messages[5].reading",
    }
    assert load("dealer-pad").assumed == frozenset()


def written(to: Path, text: str) -> Path:
    path = to / "test.toml"
    path.write_text(text)
    return path


def test_a_profile_by_its_path(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    file = load(str(path))
    assert (file.profile.name, file.path, file.vectors) == ("test", path, tmp_path / "test.vectors.toml")
    assert len(file.digest) == 64


@pytest.mark.parametrize(
    ("before", "after", "line", "field", "message"),
    [
        ("baud = 9600", "baud = 9600.5", 6, "link.baud", "expected a whole number, got a number with a point"),
        ("stop = 1", "stop = 3", 9, "link.stop", "3 is not known; known are 1, 2"),
        ("title", "titel", 3, "titel", "there is no such key"),
        ('kind = "lines"', 'kind = "liens"', 13, "frames[0].kind", "delimited, fixed, length_prefixed, lines, records"),
        ('name = "line"\n', 'name = "line"\n# a line more\nlongst = 3\n', 14, "frames[0].longst", "near to it is longest"),
        ('name = "line"', "name = 7", 12, "frames[0].name", "expected text, got a whole number"),
        ('end = "0A"', 'end = "0a"', 14, "frames[0].end", "must be written like 0D 0A, 0A"),
        ('body = "20-7E"', 'body = "00-7E"', 15, "frames[0].body", "end a line"),
        ("longest = 40", "longest = 0", 16, "frames[0].longest", "at least 1"),
        (
            "longest = 40",
            'longest = 40\nchecksum = { name = "Xor8", mark = "*", form = "hex", required = true }',
            17,
            "frames[0].checksum",
            "ChecksumXor8",
        ),
        (
            "longest = 40",
            'longest = 40\nchecksum = { name = "ChecksumXor8", mark = "**", form = "hex", required = true }',
            17,
            "frames[0].checksum",
            "not one ASCII character",
        ),
        ('type = "number"', 'type = "numeral"', 20, "fields[0].type", "number"),
        ("digits = [1, 1]", "digits = [2, 1]", 18, "fields[0]", "fewest"),
        ('frame = "line"', 'frame = "lien"', 25, "messages[0].frame", "there are line"),
        ('body = "Y{box}"', 'body = "Y{bxo}"', 26, "messages[0].body", "no field has this name"),
        ('body = "Y{box}"', 'body = "Y{box"', 26, "messages[0].body", "expected '}'"),
        ('body = "Y{box}"', 'body = "Y{box}{box}"', 26, "messages[0].body", "stands twice"),
        ('body = "Y{box}"', 'body = "Y{box:03}"', 26, "messages[0].body", "no name of a field"),
        ('body = "Y{box}"', 'body = "Y{box}\\u2660"', 26, "messages[0].body", "latin-1"),
        ('event = "paid"', 'event = "piad"', 27, "messages[0].observation", "is none of ack, bet, card"),
        ('box = "{box}"', 'bxo = "{box}"', 27, "messages[0].observation", "paid has no field 'bxo'"),
        (', box = "{box}"', "", 27, "messages[0].observation", "paid needs 'box'"),
        ('box = "{box}"', "box = 9", 27, "messages[0].observation", "at most 7"),
        ('box = "{box}"', 'box = "{bxo}"', 27, "messages[0].observation", "the body has no such field"),
        ('box = "{box}"', 'box = "{box.part}"', 27, "messages[0].observation", "the body has no such field"),
    ],
)
def test_an_error_names_file_line_and_key(tmp_path: Path, before: str, after: str, line: int, field: str, message: str) -> None:
    assert GOOD.count(before) >= 1
    path = written(tmp_path, GOOD.replace(before, after, 1))
    with pytest.raises(ProfileError) as error:
        load(str(path))
    assert (error.value.where, error.value.line, error.value.field) == (str(path), line, field)
    assert message in error.value.message
    assert error.value.exit_code == 4


@pytest.mark.parametrize(
    ("more", "field", "message"),
    [
        ('[[frames]]\nname = "line"\nkind = "fixed"\nstart = "06"\nlength = 0\n', "frames[1].name", "stands twice"),
        (
            '[[frames]]\nname = "ack"\nkind = "fixed"\nstart = "06"\nlength = 0\n',
            "frames[0].kind",
            "must be the device's only one",
        ),
        ('[[messages]]\nname = "paid"\nframe = "line"\nbody = "X"\n', "messages[1].name", "stands twice"),
        ('[[messages]]\nname = "x"\nframe = "line"\nbody = "X"\nnote = "{box}"\n', "messages[1].note", "no such field"),
        ('[[commands]]\nname = "x"\nframe = "line"\nbody = "X"\n', "commands[0].frame", "sent by the device"),
        ('[repeats]\nrule = "same_frame"\nframes = ["lien"]\n', "repeats.frames", "none of line"),
        (
            '[repeats]\nrule = "held"\nmessages = ["payed"]\nwindow_ms = 5\nuntimed = "event"\n',
            "repeats.messages",
            "none of paid",
        ),
        ('[[fields]]\nname = "x"\ntype = "text"\nmatch = "("\n', "fields[1]", "missing )"),
        ('[[fields]]\nname = "x"\ntype = "card_code"\ncards = ["01 AS"]\n', "fields[1]", "no code for AC 2C"),
        (
            '[[frames]]\nname = "x"\nsent_by = "host"\nkind = "delimited"\nstart = "02"\nend = "03"\nlongest = 2\n',
            "frames[1].longest",
            "no room",
        ),
    ],
)
def test_parts_that_contradict_each_other(tmp_path: Path, more: str, field: str, message: str) -> None:
    with pytest.raises(ProfileError) as error:
        load(str(written(tmp_path, GOOD + more)))
    assert error.value.field == field
    assert message in error.value.message
    assert error.value.line is not None


def test_an_unknown_name_says_which_are_known() -> None:
    with pytest.raises(ProfileError, match="angel-eye-ii, barcode-scanner, bee-tek, dealer-pad"):
        load("angle-eye")


def test_what_is_no_profile_at_all(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"none\.toml: cannot be read"):
        load(str(tmp_path / "none.toml"))
    with pytest.raises(ProfileError, match="cannot be read"):
        load(str(tmp_path))
    with pytest.raises(ProfileError) as error:
        load(str(written(tmp_path, GOOD.replace("baud = 9600", "baud = "))))
    assert error.value.line == 6
