"""What a table answers to who asks for a proof: hashes that hold, or a word why there are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tablectl.ledger.merkle import consistent
from tablectl.ledger.published import hashes
from tablectl.mqtt.proofs import ProofCommand, ProofResponse, Prover
from tests.ledger.tables import Day

GOOD = {"id": "1", "expires": "2026-11-30T10:00:00Z", "by": "service:witness"}


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    with Day(tmp_path / "day.db") as made:
        yield made


def ask(prover: Prover, session: str, old: int, new: int) -> ProofResponse:
    command = msgspec.convert({**GOOD, "session": session, "from": old, "to": new}, ProofCommand)
    return msgspec.json.decode(prover.answer(command), type=ProofResponse)


def test_the_proof_holds_and_is_given_again_at_once(day: Day) -> None:
    day.grow(36)
    before = day.head
    day.grow(4000)
    after, session = day.head, day.ledger.session
    prover = Prover({session: day.path}.get)
    for _ in range(2):
        answer = ask(prover, session, before.size, after.size)
        assert (answer.id, answer.done) == ("1", True)
        roots = bytes.fromhex(before.root), bytes.fromhex(after.root)
        assert consistent(before.size, after.size, *roots, hashes(answer.consistency))
    assert ask(prover, session, 2, 3).reason == "busy"


@pytest.mark.parametrize(("old", "new"), [(5, 4), (1, 12), (2**53, 2**53)])
def test_sizes_that_are_not_there_have_no_proof(day: Day, old: int, new: int) -> None:
    day.grow(10)
    answer = ask(Prover({day.ledger.session: day.path}.get), day.ledger.session, old, new)
    assert (answer.done, answer.reason, answer.detail) == (False, "no_such_proof", f"there is no proof from {old} to {new}")


def test_a_ledger_that_is_not_there_has_none(day: Day, tmp_path: Path) -> None:
    assert ask(Prover(lambda _: None), "0123456789abcdef", 1, 2).detail == "there is no ledger 0123456789abcdef here"
    gone = ask(Prover(lambda _: tmp_path / "gone.db"), "0123456789abcdef", 1, 2)
    assert (gone.reason, "there is no such ledger" in gone.detail) == ("no_such_proof", True)


@pytest.mark.parametrize("wrong", [{"session": "x"}, {"from": 0}, {"to": "3"}, {"more": 1}])
def test_what_is_no_question_is_not_read(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**GOOD, "session": "0123456789abcdef", "from": 1, "to": 2, **wrong}, ProofCommand)
