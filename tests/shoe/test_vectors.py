"""Every profile holds its own vectors, and a vector that does not hold is told."""

from pathlib import Path

import pytest

from tablectl.errors import ProfileError
from tablectl.shoe.profile import load
from tablectl.shoe.vectors import check
from tests.shoe.streams import PROFILES, called


@pytest.mark.parametrize("name", PROFILES, ids=called)
def test_vectors(name: str) -> None:
    result = check(load(name))
    assert result.failures == ()
    assert result.untested == (), "each message and command has a vector"
    assert result.vectors > 5


def copied(name: str, to: Path, vectors: str) -> Path:
    """A profile's copy with other vectors."""
    profile = to / "copy.toml"
    profile.write_text(load(name).path.read_text())
    (to / "copy.vectors.toml").write_text(vectors)
    return profile


@pytest.mark.parametrize(
    ("vector", "how", "problem"),
    [
        ('text = "N\\n"\nexpect = [{ event = "cut_card" }]', "whole", 'observation 1 is {"event":"no_more_bets"}'),
        ('text = "N\\n"', "whole", 'one observation too many: {"event":"no_more_bets"}'),
        ('text = "?\\n"\nexpect = [{ event = "no_more_bets" }]', "whole", "no observation 1"),
        ('text = "?\\n"', "whole", "2 bytes rejected, expected 0"),
        ('text = "N\\n"\nexpect = [{ event = "no_more_bets" }]\nrepeats = 1', "whole", "0 repeats, expected 1"),
        ('text = "N\\n"\nexpect = [{ event = "no_more_bets" }]\nmessages = ["stake"]', "whole", "messages are ['no more bets']"),
    ],
)
def test_a_vector_that_fails_is_told_with_its_line(tmp_path: Path, vector: str, how: str, problem: str) -> None:
    path = copied("dealer-pad", tmp_path, f'# one\n\n[[vector]]\nname = "first"\n{vector}\n')
    (failure,) = check(load(str(path))).failures
    assert (failure.where, failure.line, failure.vector) == (str(tmp_path / "copy.vectors.toml"), 3, "first")
    assert failure.how == how
    assert failure.problem.startswith(problem)


def test_a_wrong_host_command_is_told(tmp_path: Path) -> None:
    path = copied("angel-eye-ii", tmp_path, 'vector = []\n[[command]]\nname = "lock on"\nhex = "02 4F 50 4C 4B 30 32 03 31 39"\n')
    (failure,) = check(load(str(path))).failures
    assert (failure.line, failure.vector, failure.problem) == (2, "lock on", "gives 02 4F 50 4C 4B 30 32 03 31 42")


def test_a_message_that_cannot_be_sent_is_told(tmp_path: Path) -> None:
    """What is read but cannot be written: a text that is thrown away, so that nothing says what it was."""
    path = copied("dealer-pad", tmp_path, '[[vector]]\nname = "v"\ntext = "Z7\\n"\nexpect = [{ event = "no_more_bets" }]\n')
    text = path.read_text() + '[[fields]]\nname = "lost"\ntype = "text"\nmatch = "[0-9]"\n'
    path.write_text(text.replace('body = "N"', 'body = "Z{lost}"'))
    failures = check(load(str(path))).failures
    assert [(failure.how, failure.problem.rpartition(": ")[2]) for failure in failures] == [
        ("through the encoder", "a value is needed")
    ]


@pytest.mark.parametrize(
    ("vectors", "line", "field"),
    [
        ('[[vector]]\nname = "a"\n', 1, "vector[0]"),
        ('[[vector]]\nname = "a"\nhex = "00"\ntext = "x"\n', 1, "vector[0]"),
        ('[[vector]]\nname = "a"\nhex = "00"\nchunks = []\n', 1, "vector[0]"),
        ('[[vector]]\nname = "a"\nhex = "0"\n', 3, "vector[0].hex"),
        ('[[vector]]\nname = "a"\nhex = "00"\nexpect = [{ event = "crad" }]\n', 4, "vector[0].expect"),
        ('[[vector]]\nname = "a"\nhex = "00"\nexpects = []\n', 4, "vector[0].expects"),
    ],
)
def test_bad_vectors_are_refused_with_line_and_key(tmp_path: Path, vectors: str, line: int, field: str) -> None:
    path = copied("bee-tek", tmp_path, vectors)
    with pytest.raises(ProfileError) as error:
        check(load(str(path)))
    assert (error.value.where, error.value.field) == (str(tmp_path / "copy.vectors.toml"), field)
    assert error.value.line == line


def test_a_profile_without_vectors_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "alone.toml"
    path.write_text(load("bee-tek").path.read_text())
    with pytest.raises(ProfileError, match=r"alone\.vectors\.toml: cannot be read"):
        check(load(str(path)))


def test_vectors_are_no_part_of_the_digest(tmp_path: Path) -> None:
    path = copied("bee-tek", tmp_path, "vector = []")
    assert load(str(path)).digest == load("bee-tek").digest
