"""A witness and real ledgers: honest growth is taken, what contradicts what was seen is refused, and what was seen is kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.errors import InputError, LedgerError
from tablectl.ledger.checkpoint import Checkpoint, key_name
from tablectl.ledger.keys import COSIGNS, Signer, Verifier
from tablectl.ledger.merkle import Tree, consistent
from tablectl.ledger.pin import Follows
from tablectl.ledger.published import Growth, follows, follows_line, parse, published
from tablectl.ledger.signed_note import Note
from tablectl.ledger.witness import Gap, Judged, Line, Witness
from tablectl.ledger.witness_file import WitnessFile, lines
from tests.ledger.tables import NAME, TOPIC, Day

SEEN = "2026-11-30T10:00:00.000000Z"


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    with Day(tmp_path / "day.db") as made:
        yield made


def witness_of(*days: Day) -> Witness:
    return Witness([day.signer.verifier for day in days])


def show(witness: Witness, payload: bytes, *days: Day, false: list[bytes] | None = None) -> Judged:
    """Judge, and remember as the program does. `days` are asked for missing proofs; they give `false` ones where there are."""
    judged = witness.judge(TOPIC, payload, seen=SEEN)
    proofs: dict[Gap, list[bytes]] = {}
    while (gap := judged.gap) is not None and (asked := [day for day in days if day.ledger.session == gap.session]):
        assert gap not in proofs
        proofs[gap] = false or asked[0].proof(gap.old, gap.new)
        judged = witness.judge(TOPIC, payload, seen=SEEN, proofs=proofs)
    for line in judged.lines:
        witness.remember(line)
    return judged


def size(witness: Witness) -> int:
    last = witness.last(TOPIC)
    return 0 if last is None else last.size


def test_honest_growth_over_thousands_of_entries_is_taken(day: Day) -> None:
    witness = witness_of(day)
    steps = [1, 1, 2, 3, 5, 8, 300, 1, 64, 1024, 7, 2500]
    for step in steps:
        assert show(witness, day.grown(step)).verdict == "new"
        assert size(witness) == day.ledger.last
    assert day.ledger.last == 1 + sum(steps)


def test_what_is_told_again_is_known(day: Day) -> None:
    witness = witness_of(day)
    payload = day.grown(10)
    assert show(witness, payload).verdict == "new"
    again = show(witness, payload)
    assert (again.verdict, again.lines) == ("again", ())
    assert day.tell() == payload


def test_a_witness_that_comes_late_begins_with_what_it_sees(day: Day) -> None:
    day.grown(10)
    day.grown(20)
    assert show(witness_of(day), day.grown(30)).verdict == "new"


def test_a_table_that_was_restarted_proves_growth_from_what_it_told_last(tmp_path: Path) -> None:
    with Day(tmp_path / "day.db") as first:
        witness = witness_of(first)
        show(witness, first.grown(100))
    with Day(tmp_path / "day.db", first.signer, resume=True) as second:
        assert show(witness, second.grown(50)).verdict == "new"


@pytest.mark.parametrize("changed", [[50], [50, 50], [60], [60, 7, 500]], ids=["level", "beyond", "past", "far past"])
def test_a_ledger_set_back_to_an_older_copy_is_refused_whatever_it_then_becomes(tmp_path: Path, changed: list[int]) -> None:
    path, copy = tmp_path / "day.db", tmp_path / "copy.db"
    with Day(path) as day:
        witness = witness_of(day)
        show(witness, day.grown(100))
    shutil.copy(path, copy)
    with Day(path, day.signer, resume=True) as day:
        assert show(witness, day.grown(100)).verdict == "new"
    seen = size(witness)
    shutil.copy(copy, path)
    with Day(path, day.signer, resume=True) as day:
        back = show(witness, day.tell())
        assert (back.verdict, back.why) == (
            "refused",
            "has 101 entries of " + day.ledger.session + ", where 201 were seen already: it goes back",
        )
        assert show(witness, day.grown(50, "changed")).verdict == "refused"
        for sizes in changed:
            judged = show(witness, day.grown(sizes, "changed"))
        if judged.gap is not None:
            assert judged.gap == Gap(day.ledger.session, 201, day.ledger.last)
            judged = show(witness, day.tell(), day)
        assert (judged.verdict, "forked" in judged.why) == ("refused", True)
    assert size(witness) == seen


def test_the_same_size_with_another_root_is_refused_and_both_notes_are_kept(day: Day) -> None:
    witness = witness_of(day)
    true = show(witness, day.grown(10))
    judged = show(witness, published(day.lie(11, bytes(32)), 0, []))
    assert judged.verdict == "refused"
    kept = [Note.parse((line.note or "").encode()) for line in (*true.lines, *judged.lines)]
    assert [Checkpoint.parse(note.text).size for note in kept] == [11, 11]
    assert all(day.signer.verifier.signed(note) for note in kept)
    assert judged.lines[0].refused == judged.why
    assert show(witness, published(day.lie(11, bytes(32)), 0, [])).lines == ()  # once is enough


def test_a_larger_head_that_does_not_grow_out_of_the_one_seen_is_refused(day: Day, tmp_path: Path) -> None:
    witness = witness_of(day)
    show(witness, day.grown(10))
    with Day(tmp_path / "other.db", day.signer) as other:
        other.grown(10, "changed")
        _, after = other.grown(10, "changed"), other.ledger.head()
        proof = other.proof(11, 21)
    judged = show(witness, published(day.lie(21, after.root), 11, proof))
    assert judged.verdict == "refused"
    assert size(witness) == 11


@pytest.mark.parametrize("change", ["drop", "flip", "add"])
def test_a_proof_that_is_not_whole_proves_nothing(day: Day, change: str) -> None:
    witness = witness_of(day)
    show(witness, day.grown(10))
    told = parse(day.grown(10))
    proof = list(told.consistency)
    if change == "drop":
        proof.pop()
    elif change == "flip":
        proof[0] = bytes([proof[0][0] ^ 1]) + proof[0][1:]
    else:
        proof.append(bytes(32))
    assert show(witness, published(told.note.encode(), 11, proof)).verdict == "refused"
    assert show(witness, day.tell()).verdict == "new"


def test_a_proof_that_was_missed_leaves_a_gap_until_the_table_gives_it(day: Day) -> None:
    witness = witness_of(day)
    show(witness, day.grown(10))
    day.grown(10)  # the witness is away
    judged = show(witness, day.grown(10))
    assert (judged.verdict, judged.gap) == ("gap", Gap(day.ledger.session, 11, 31))
    assert [(line.gap, line.note) for line in judged.lines] == [(judged.gap, parse(day.tell()).note.encode().decode())]
    assert size(witness) == 11
    assert show(witness, day.tell()).lines == ()
    assert show(witness, day.grown(5), day).verdict == "new"
    assert show(witness, day.grown(5)).verdict == "new"


def test_another_key_a_false_signature_and_another_tables_key_are_refused_and_not_kept(day: Day, tmp_path: Path) -> None:
    stranger = Signer.make(key_name(NAME))
    other = Signer.make("tablectl/v1/hall/main/t08")
    payload = day.grown(5)
    forged = payload.replace(b"\\n6\\n", b"\\n7\\n")
    assert forged != payload
    for witness, sent in (
        (Witness([stranger.verifier]), payload),
        (Witness([]), payload),
        (Witness([day.signer.verifier, other.verifier]), published(Checkpoint.signed(parse(payload).checkpoint, other), 0, [])),
        (witness_of(day), forged),
    ):
        judged = show(witness, sent)
        assert (judged.verdict, judged.lines) == ("refused", ())
        assert witness.tables == []


@pytest.mark.parametrize("name", ["hall.example/audit", "tablectl/v1/hall/main/t08", "tablectl/v1/hall/main/t07/2027"])
def test_a_key_of_any_other_name_vouches_for_no_table(tmp_path: Path, name: str) -> None:
    with Day(tmp_path / "day.db", Signer.make(name)) as day:
        payload = day.grown(5)
        assert show(witness_of(day), payload).why == "is of a table of which no key is known: give it with --key"
        assert show(Witness(first_use=True), payload).why == f"comes with a key that is not this table's, but called {name}"
    with Day(tmp_path / "next.db") as day:
        witness = witness_of(day)
        day.rotate(Signer.make(name))
        assert show(witness, day.grown(5)).verdict == "refused"


@pytest.mark.parametrize(
    "topic",
    ["tablectl/v1/hall/main/t08/audit/checkpoint", "tablectl/v1/hall/main/t07/audit", "x", "tablectl/v1/a/ b/t/audit/checkpoint"],
)
def test_a_checkpoint_on_another_topic_than_its_tables_is_refused(tmp_path: Path, topic: str) -> None:
    with Day(tmp_path / "day.db", Signer.make(key_name(NAME))) as day:
        assert witness_of(day).judge(topic, day.grown(5), seen=SEEN).verdict == "refused"


@settings(max_examples=200)
@given(
    st.binary(max_size=60) | st.sampled_from([b"", b"[" * 5000, b'{"note":"","previous":0,"consistency":[]}', b"x" * (1 << 21)])
)
def test_what_is_no_checkpoint_is_refused(payload: bytes) -> None:
    witness = Witness(first_use=True)
    assert witness.judge(TOPIC, payload, seen=SEEN)[::2] == ("refused", ())


def test_the_first_key_is_believed_where_that_is_asked_for_and_no_other_after_it(day: Day, tmp_path: Path) -> None:
    witness = Witness(first_use=True)
    first = show(witness, day.grown(5))
    assert [line.key for line in first.lines] == [day.signer.verifier.vkey, None]
    with Day(tmp_path / "other.db") as other:
        assert show(witness, other.grown(50)).verdict == "refused"
    again = Witness(first_use=True)
    careful = Witness()
    for line in first.lines:
        again.remember(line)
        careful.remember(line)
    payload = day.grown(5)
    assert show(again, payload).verdict == "new"
    assert show(careful, payload).why == "is of a table of which no key is known: give it with --key"


def test_a_key_that_the_old_key_signed_is_trusted_from_then_on(day: Day) -> None:
    old = day.signer
    witness = witness_of(day)
    told = list(show(witness, day.grown(5)).lines)
    day.rotate(Signer.make(key_name(NAME)))
    told += show(witness, day.grown(5)).lines
    assert [line.key for line in told] == [None, day.signer.verifier.vkey, None]
    day.rotate(Signer.make(key_name(NAME)))
    judged = show(witness, day.grown(5))
    assert judged.verdict == "new"
    told += judged.lines

    restarted = Witness([old.verifier])
    for line in told:
        restarted.remember(line)
    assert show(restarted, day.grown(5)).verdict == "new"
    # Without the key from which the others come, none of them counts.
    stranger = Witness([Signer.make(key_name(NAME)).verifier])
    for line in told:
        stranger.remember(line)
    assert show(stranger, day.grown(5)).verdict == "refused"


def test_a_key_that_only_says_it_follows_is_not_trusted(day: Day, tmp_path: Path) -> None:
    witness = witness_of(day)
    show(witness, day.grown(5))
    new = Signer.make(key_name(NAME))
    day.ledger.note("key", _claimed(day, new))
    day.ledger.commit()
    day.signer = new
    assert show(witness, day.grown(5)).verdict == "refused"


def _claimed(day: Day, new: Signer) -> bytes:
    from tablectl.ledger.checkpoint import succession

    return succession(day.ledger.origin, new, Signer.make(day.signer.verifier.name))


class Days:
    """Two days of a table, the second beginning from what is said of the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first = Day(folder / "first.db")
        self.witness = witness_of(self.first)

    def next(self, follows: Follows | None, name: str = "second.db") -> Day:
        return Day(self.folder / name, self.first.signer, follows=follows)


@pytest.fixture
def days(tmp_path: Path) -> Iterator[Days]:
    made = Days(tmp_path)
    yield made
    made.first.close()


def test_a_new_day_goes_on_from_the_end_of_the_last(days: Days) -> None:
    show(days.witness, days.first.grown(10))
    show(days.witness, days.first.grown(5))
    with days.next(days.first.head) as second:
        assert show(days.witness, second.tell()).verdict == "new"
        assert show(days.witness, second.grown(10)).verdict == "new"
        back = show(days.witness, days.first.grown(5))
        assert (back.verdict, "left behind" in back.why) == ("refused", True)


def test_a_new_day_that_follows_more_than_was_seen_has_to_prove_it(days: Days) -> None:
    show(days.witness, days.first.grown(10))
    days.first.grown(7)
    with days.next(days.first.head) as second:
        judged = show(days.witness, second.grown(3))
        assert judged.gap == Gap(days.first.ledger.session, 11, 18)
        assert show(days.witness, second.grown(1), days.first, false=[bytes(32)]).verdict == "refused"
        assert show(days.witness, second.grown(1), days.first, second).verdict == "new"
        assert show(days.witness, second.grown(3)).verdict == "new"


def test_a_gap_over_days_is_filled_proof_by_proof(days: Days) -> None:
    show(days.witness, days.first.grown(10))
    days.first.grown(7)
    with days.next(days.first.head) as second:
        assert show(days.witness, second.grown(3)).verdict == "gap"
        second.grown(5)
        with days.next(second.head, "third.db") as third:
            judged = show(days.witness, third.grown(3))
            assert judged.gap == Gap(second.ledger.session, 4, 9)  # nothing that was seen may stay unproved
            assert show(days.witness, third.grown(3), second).gap == Gap(days.first.ledger.session, 11, 18)
            assert show(days.witness, third.grown(3), days.first).verdict == "new"
            assert show(days.witness, third.grown(3)).verdict == "new"
            assert show(days.witness, second.grown(3)).verdict == "refused"


def test_what_is_told_within_a_gap_may_not_contradict_itself(day: Day) -> None:
    witness = witness_of(day)
    show(witness, day.grown(10))
    day.grown(10)
    assert show(witness, day.grown(10)).verdict == "gap"
    assert show(witness, published(day.lie(25, bytes(32)), 0, [])).verdict == "refused"
    assert show(witness, published(day.lie(31, bytes(32)), 0, [])).verdict == "refused"
    assert show(witness, published(day.lie(40, bytes(32)), 31, [bytes(32)])).verdict == "refused"
    false = show(witness, published(day.lie(41, bytes(32)), 0, []))
    assert false.gap == Gap(day.ledger.session, 31, 41)
    assert show(witness, day.grown(10)).gap == Gap(day.ledger.session, 11, 41)
    assert show(witness, day.grown(10), day).verdict == "new"


def test_a_gap_is_known_again_after_a_restart(day: Day, tmp_path: Path) -> None:
    kept = tmp_path / "witness.jsonl"
    taken(kept, witness_of(day), day.grown(10))
    day.grown(10)
    assert taken(kept, witness_of(day), day.grown(10)).verdict == "gap"
    assert taken(kept, witness_of(day), published(day.lie(31, bytes(32)), 0, [])).verdict == "refused"
    assert taken(kept, witness_of(day), day.grown(10)).gap == Gap(day.ledger.session, 11, 41)


@pytest.mark.parametrize("how", ["nothing", "less", "other root", "other ledger"])
def test_a_new_day_that_does_not_follow_what_was_seen_is_refused(days: Days, how: str) -> None:
    days.first.grow(10)
    before = days.first.head
    show(days.witness, days.first.grown(5))
    head = days.first.head
    claimed = {
        "nothing": None,
        "less": before,
        "other root": msgspec.structs.replace(head, root="00" * 32),
        "other ledger": msgspec.structs.replace(head, session="0123456789abcdef"),
    }[how]
    with days.next(claimed) as second:
        judged = show(days.witness, second.grown(3))
        assert judged.verdict == "refused"
        assert ("that follows none" in judged.why) == (how == "nothing")
        assert judged.lines[0].note
        show(days.witness, days.first.grown(1))
        assert size(days.witness) == 17  # the table's true ledger is witnessed on


def test_a_day_that_changes_what_it_follows_is_refused(days: Days) -> None:
    show(days.witness, days.first.grown(10))
    with days.next(days.first.head) as second:
        show(days.witness, second.grown(3))
        second._extensions = (follows_line(msgspec.structs.replace(days.first.head, size=5)),)
        assert show(days.witness, second.grown(3)).verdict == "refused"


def test_after_a_person_has_settled_it_the_witness_begins_anew(days: Days) -> None:
    show(days.witness, days.first.grown(10))
    with days.next(Follows("0123456789abcdef", 3, "00" * 32)) as second:
        assert show(days.witness, second.grown(3)).verdict == "refused"
        days.witness.remember(Line(seen=SEEN, topic=TOPIC, settled=True))
        assert show(days.witness, second.grown(3)).verdict == "new"


@pytest.mark.parametrize(
    "line", ["follows a", "follows a 1 AAAA", "follows 0123456789abcdef 01 " + "A" * 43 + "=", "follows  0 "]
)
def test_a_line_that_does_not_say_rightly_what_it_follows_is_refused(line: str) -> None:
    with pytest.raises(LedgerError, match="follows"):
        follows(Checkpoint("o", 1, bytes(32), "", (line,)))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_the_proof_of_growth_is_that_of_the_whole_tree(steps: list[int]) -> None:
    growth, tree = Growth(), Tree()
    for step in steps:
        old = tree.size
        for _ in range(step):
            leaf = tree.size.to_bytes(32, "big")
            tree.add(leaf)
            growth.add(leaf)
        assert growth.size == tree.size
        assert growth.proof() == tree.consistency(old)
        assert consistent(old, tree.size, tree.root(old), tree.root(), growth.proof())
        growth.mark()


def taken(path: Path, witness: Witness, payload: bytes) -> Judged:
    with WitnessFile(path, now=SEEN) as file:
        for line in file.before:
            witness.remember(line)
        judged = witness.judge(TOPIC, payload, seen=SEEN)
        for line in judged.lines:
            file.append(line)
    return judged


def test_a_witness_that_was_restarted_refuses_an_old_checkpoint_that_a_broker_still_retains(day: Day, tmp_path: Path) -> None:
    kept = tmp_path / "witness.jsonl"
    old = day.grown(10)
    assert taken(kept, witness_of(day), old).verdict == "new"
    assert taken(kept, witness_of(day), day.grown(10)).verdict == "new"
    assert taken(kept, witness_of(day), old).verdict == "refused"
    assert [line.refused for _, line in lines(kept)] == [None, None]  # the note was kept before


def test_a_line_that_was_cut_off_is_told_and_costs_nothing_else(day: Day, tmp_path: Path) -> None:
    kept = tmp_path / "witness.jsonl"
    taken(kept, witness_of(day), day.grown(10))
    taken(kept, witness_of(day), day.grown(10))
    whole = kept.read_bytes()
    for cut in (2, 20, len(whole.splitlines()[1]) - 3):
        kept.write_bytes(whole[:-cut])
        assert len(list(lines(kept))) == 1  # whoever only reads passes over it
        with WitnessFile(kept, now=SEEN) as file:
            assert file.torn
            assert len(file.before) == 2
        assert kept.read_bytes().startswith(whole[:-cut])
        assert taken(kept, witness_of(day), day.tell()).verdict == "new"
        assert [(line.note is not None, line.torn) for _, line in lines(kept)] == [(True, False), (False, True), (True, False)]


def test_a_line_that_lacks_only_its_end_is_whole(day: Day, tmp_path: Path) -> None:
    kept = tmp_path / "witness.jsonl"
    taken(kept, witness_of(day), day.grown(10))
    kept.write_bytes(kept.read_bytes()[:-1])
    assert taken(kept, witness_of(day), day.tell()).verdict == "again"
    assert [(line.note is not None, line.torn) for _, line in lines(kept)] == [(True, False), (False, True)]


@pytest.mark.parametrize("lines_damaged", [1, 2])
def test_a_line_that_was_damaged_is_named(day: Day, tmp_path: Path, lines_damaged: int) -> None:
    kept = tmp_path / "witness.jsonl"
    for _ in range(3):
        taken(kept, witness_of(day), day.grown(10))
    kept.write_bytes(kept.read_bytes().replace(b'"seen"', b'"seem"', lines_damaged))
    with pytest.raises(InputError, match=r"witness\.jsonl:1: is no line of a witness"):
        WitnessFile(kept, now=SEEN)


def test_one_program_writes_the_file_and_only_at_its_end(day: Day, tmp_path: Path) -> None:
    kept = tmp_path / "witness.jsonl"
    with WitnessFile(kept, now=SEEN) as file:
        with pytest.raises(LedgerError, match="being written"):
            WitnessFile(kept, now=SEEN)
        file.append(Line(seen=SEEN, topic=TOPIC, settled=True))
    with WitnessFile(kept, now=SEEN) as file:
        file.append(Line(seen=SEEN, topic=TOPIC))
    assert kept.read_text() == f'{{"seen":"{SEEN}","topic":"{TOPIC}","settled":true}}\n{{"seen":"{SEEN}","topic":"{TOPIC}"}}\n'


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        WitnessFile(tmp_path / "no" / "witness.jsonl", now=SEEN)


def test_a_cosigned_note_is_remembered_like_any_other(day: Day) -> None:
    witness, cosigner = witness_of(day), Signer.make("inspector", COSIGNS)
    judged = witness.judge(TOPIC, day.grown(10), seen=SEEN)
    note = cosigner.cosign(Note.parse((judged.lines[0].note or "").encode()), 1_796_000_000)
    witness.remember(msgspec.structs.replace(judged.lines[0], note=note.encode().decode()))
    assert Verifier.parse(cosigner.verifier.vkey).seconds(note) == 1_796_000_000
    assert show(witness, day.tell()).verdict == "again"
    assert show(witness, day.grown(10)).verdict == "new"
