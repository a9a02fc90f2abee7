"""House files: the three that ship, and every way in which one can be wrong."""

import re
import resource
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.errors import HouseError
from tablectl.houses import rules
from tablectl.resources import named_files

FR = named_files("houses")["fr"].read_text("utf-8")


def line_with(text: str, start: str) -> int:
    """The number of the only line that begins with `start`."""
    (number,) = [number for number, line in enumerate(text.splitlines(), start=1) if line.startswith(start)]
    return number


@pytest.mark.parametrize("name", sorted(named_files("houses")))
def test_what_ships_loads_and_is_called_as_its_file(name: str) -> None:
    file = rules.load(name)
    assert file.house.name == name
    assert rules.load(str(file.path)) == file


@pytest.mark.parametrize("name", sorted(named_files("houses")))
def test_the_row_beside_each_key_is_its_row(name: str) -> None:
    beside = re.findall(r"^([a-z0-9_]+) = .*?# (R\d\d)", named_files("houses")[name].read_text("utf-8"), re.MULTILINE)
    assert {key for key, _ in beside} == set(rules.Rules.__struct_fields__)
    for key, row in beside:
        assert key in rules.ROWS[row], f"{key} says {row}"


def test_every_row_is_carried_by_some_key_and_every_key_carries_one() -> None:
    assert list(rules.ROWS) == [f"R{number:02d}" for number in range(1, 36)]
    assert {key for keys in rules.ROWS.values() for key in keys} == set(rules.Rules.__struct_fields__)


BAD = [
    # what stands in the file, what is put there, the line that is named, the field, and what is said of it
    ("max_hands = 3 ", "max_hands = 0 ", "max_hands =", "rules.max_hands", "must be at least 1"),
    ("max_hands_aces = 2 ", "max_hands_aces = 4 ", "max_hands_aces =", "rules.max_hands_aces", "is 4, above max_hands 3"),
    ("decks = 6 ", "deck = 6 ", "deck =", "rules.deck", "no such key; near to it is decks"),
    ("tie = ", "# tie = ", "[rules]", "rules.tie", "not there; it is one of carry, lose, push"),
    ('blackjack_pays = "3:2"', 'blackjack_pays = "1.5"', "blackjack_pays =", "rules.blackjack_pays", "must be written like 3:2"),
    ('blackjack_pays = "3:2"', 'blackjack_pays = "3:0"', "blackjack_pays =", "rules.blackjack_pays", "must be written like 3:2"),
    (
        "table_min = 100 ",
        "table_min = 1.50 ",
        "table_min =",
        "rules.table_min",
        "a whole number, got a number with a point",
    ),
    ("table_min = 100 ", "table_min = -100 ", "table_min =", "rules.table_min", "must be at least 1"),
    ('table_max = "none"', "table_max = 99", "table_max =", "rules.table_max", "is 99, below table_min 100"),
    ("min_boxes = 2 ", "min_boxes = 8 ", "min_boxes =", "rules.min_boxes", "at most 7"),
    ("boxes = 7 ", "boxes = 1 ", "min_boxes =", "rules.min_boxes", "is 2, but the table has 1 boxes"),
    ('tie = "carry"', 'tie = "house"', "tie =", "rules.tie", "'house' is not known; known are carry, lose, push"),
    ("player_cut = true", 'player_cut = "yes"', "player_cut =", "rules.player_cut", "expected true or false, got text"),
    ("double_on = [9, 10, 11]", "double_on = [9, 31]", "double_on =", "rules.double_on[1]", "at most 20"),
    ('currency = "EUR"', 'currency = "euro"', "currency =", "currency", "must be written like EUR"),
    ('language = "fr"', 'language = "de"', "language =", "language", "'de' is not known; known are en, es, fr, lt"),
    ("[alerts]", '[alerts]\n"bet.late" = "shout"', "[alerts]", "alerts", "'shout'"),
]


@pytest.mark.parametrize(("stands", "put", "line", "field", "said"), BAD, ids=[put.strip() for _, put, *_ in BAD])
def test_a_wrong_value_names_file_line_and_key(stands: str, put: str, line: str, field: str, said: str, tmp_path: Path) -> None:
    text = re.sub(rf"^{re.escape(stands)}", put, FR, count=1, flags=re.MULTILINE)
    assert text != FR
    path = tmp_path / "house.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(HouseError) as caught:
        rules.load(str(path))
    assert caught.value.exit_code == 4
    assert said in caught.value.message
    assert str(caught.value).startswith(f"{path}:{line_with(text, line)}: {field}")


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        (b"", None, "is empty"),
        (b"[storage]", None, "is no house: it has none of the keys name, "),
        (FR.replace("decks = 6 ", "decks = = 6 ").encode(), line_with(FR, "decks"), "no TOML"),
        (FR.encode() + b"\n[rules]\n", FR.count("\n") + 2, "no TOML"),
        (FR.encode() + b'text = """never ends', FR.count("\n") + 1, "no TOML"),
        (FR.encode("latin-1"), line_with(FR, "title"), "not UTF-8"),
        (FR.encode("utf-16"), 1, "not UTF-8"),
        (FR.encode() + b"# padding\n" * 200_000, None, "larger than"),
        (b"x = " + b"[" * 100_000, None, "no TOML"),
    ],
    ids=["empty", "another kind", "syntax", "table twice", "open string", "latin-1", "utf-16", "2 MB", "nested"],
)
def test_what_is_no_house_file_at_all(data: bytes, line: int | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    path.write_bytes(data)
    with pytest.raises(HouseError) as caught:
        rules.load(str(path))
    assert (caught.value.where, caught.value.line) == (str(path), line)
    assert said in caught.value.message


def test_what_is_no_file(tmp_path: Path) -> None:
    for path, said in [
        (tmp_path, "cannot be read: Is a directory"),
        (tmp_path / "none.toml", "cannot be read: No such file or directory"),
        (Path("nowhere"), "no such house"),
    ]:
        with pytest.raises(HouseError, match=said) as caught:
            rules.load(str(path))
        assert caught.value.where == str(path)


def test_a_file_far_too_large_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(HouseError, match="larger than 1048576 bytes"):
        rules.load(str(path))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # KiB


LINES = FR.splitlines(keepends=True)


@given(
    at=st.integers(0, len(LINES) - 1),
    put=st.one_of(st.just(""), st.text(max_size=30), st.sampled_from(LINES)),
    tail=st.sampled_from(["", "\n"]),
)
def test_one_wrong_line_is_a_house_or_a_house_error(at: int, put: str, tail: str) -> None:
    text = "".join([*LINES[:at], put + tail, *LINES[at + 1 :]])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "house.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        told = f"{path}: "
        try:
            rules.load(str(path))
        except HouseError as error:
            told = str(error)
    assert told.startswith(str(path))
    assert "\n" not in told
