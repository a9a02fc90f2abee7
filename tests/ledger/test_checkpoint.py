"""Checkpoints and notes: read strictly, written in one form; and how one key follows another."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.errors import LedgerError
from tablectl.ledger.checkpoint import Checkpoint, key_name, origin, signers, succeeds, succession
from tablectl.ledger.keys import Signer
from tablectl.ledger.pin import TableName
from tablectl.ledger.signed_note import MAX_NOTE, MAX_SIGNATURES, Note, Signature, of_base64

# The example of C2SP's tlog-checkpoint and tlog-cosignature, with a witness's cosignature.
EXAMPLE = """\
example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
\u2014 witness.example.com/w1 \
jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
"""
ROOT = bytes(range(32))
ROOT64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
AT = "2026-11-30T05:57:42.000631Z"


def test_the_example_of_the_specification() -> None:
    note = Note.parse(EXAMPLE.encode())
    assert note.encode().decode() == EXAMPLE
    assert [(one.name, one.id.hex(), len(one.signature)) for one in note.signatures] == [
        ("example.com/behind-the-sofa", "033de0ae", 64),
        ("witness.example.com/w1", "8d66cf3f", 72),
    ]
    assert int.from_bytes(note.signatures[1].signature[:8], "big") == 1_679_315_147
    root = of_base64("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=")
    assert Checkpoint.parse(note.text) == Checkpoint("example.com/behind-the-sofa", 20852163, root)
    assert Checkpoint.parse(note.text).text == note.text


def test_a_checkpoint_says_which_ledger_how_far_and_when() -> None:
    where = origin(TableName("Vilnius", "pit 2", "ąčę"), "02717660627df5a6")
    assert where == "tablectl/v1/Vilnius/pit%202/%C4%85%C4%8D%C4%99/02717660627df5a6"
    assert key_name(TableName("Vilnius", "pit 2", "ąčę")) == where.rsplit("/", 1)[0]
    head = Checkpoint(where, 4213, ROOT, AT, ("follows x 7 y",))
    assert head.text == f"{where}\n4213\n{ROOT64}\nat {AT}\nfollows x 7 y\n"
    assert Checkpoint.parse(head.text) == head


lines = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=20)


@given(lines, st.integers(0, 10**18), st.binary(min_size=32, max_size=32), lines, st.lists(lines, max_size=3))
def test_what_is_written_is_read_back(where: str, size: int, root: bytes, at: str, more: list[str]) -> None:
    head = Checkpoint(where, size, root, at, tuple(more))
    assert Checkpoint.parse(Note.parse(head.signed(SIGNER)).text) == head


SIGNER = Signer.make("tablectl/v1/s/p/t")


@pytest.mark.parametrize("line", ["", "a\nb", "a\tb", "a\x00"])
def test_a_line_that_would_be_two_is_never_signed(line: str) -> None:
    for head in (Checkpoint(line, 1, ROOT), Checkpoint("o", 1, ROOT, AT, (line,)), Checkpoint("o", 1, ROOT, line or "\n")):
        with pytest.raises(ValueError, match="a line of a checkpoint"):
            head.signed(SIGNER)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "o\n1\n",
        f"o\n1\n{ROOT64}",
        f"\n1\n{ROOT64}\n",
        f"o\n01\n{ROOT64}\n",
        f"o\n+1\n{ROOT64}\n",
        f"o\n-1\n{ROOT64}\n",
        f"o\n 1\n{ROOT64}\n",
        f"o\n\u0661\n{ROOT64}\n",
        f"o\n1e3\n{ROOT64}\n",
        f"o\n{'9' * 5000}\n{ROOT64}\n",
        f"o\n1\n{ROOT64[:-1]}\n",
        f"o\n1\n{ROOT64[:-2]}9=\n",
        f"o\n1\n{ROOT64} \n",
        "o\n1\nAAAA\n",
        f"o\n1\n{ROOT64}\n\n",
        f"o\n1\n{ROOT64}\n\nx\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(LedgerError, match="is no checkpoint"):
        Checkpoint.parse(text)


SIGNATURE = "\u2014 n AAAAAAAA\n"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "text\n",
        "text\n\n",
        "text\n\n\n",
        "text\n" + SIGNATURE,
        "text\n\n" + SIGNATURE[:-1],
        "text\n\n" + SIGNATURE + "more\n",
        "text\n\n- n AAAAAAAA\n",
        "text\n\n\u2014 AAAAAAAA\n",
        "text\n\n\u2014  AAAAAAAA\n",
        "text\n\n\u2014 n AAAA\n",
        "text\n\n\u2014 n AAAAAAA\n",
        "text\n\n\u2014 n AAAAAB==\n",
        "text\n\n\u2014 n AAAA AAAA\n",
        "text\n\n\u2014 a+b AAAAAAAA\n",
        "text\n\n\u2014 a\u00a0b AAAAAAAA\n",
        "te\txt\n\n" + SIGNATURE,
        "text\r\n\n" + SIGNATURE,
        "text\n\n" + SIGNATURE * (MAX_SIGNATURES + 1),
        "x" * MAX_NOTE + "\n\n" + SIGNATURE,
    ],
)
def test_what_is_no_note_is_refused(body: str) -> None:
    with pytest.raises(LedgerError, match="is no signed note"):
        Note.parse(body.encode())


def test_bytes_that_are_no_text_are_no_note() -> None:
    with pytest.raises(LedgerError, match="no UTF-8"):
        Note.parse(b"\xff\n\n" + SIGNATURE.encode())


@given(st.binary(max_size=200))
def test_reading_anything_gives_a_note_or_says_why_not(body: bytes) -> None:
    try:
        note = Note.parse(body)
    except LedgerError:
        return
    assert note.encode() == body


def test_a_text_may_have_empty_lines_and_as_many_signatures_as_there_are_signers() -> None:
    note = Note("a\n\nb\n")
    keys = [Signer.make(f"key{number}") for number in range(16)]
    for key in keys:
        note = key.sign(note)
    read = Note.parse(note.encode())
    assert signers(read, [key.verifier for key in keys]) == [key.verifier for key in keys]
    assert keys[0].sign(read) == read, "the same signature is not there twice"


def test_a_false_signature_by_a_known_key_is_said_whoever_else_signed() -> None:
    one, other = Signer.make("one"), Signer.make("other")
    note = other.sign(Note("x\n")).with_signature(Signature("one", one.verifier.id, bytes(64)))
    with pytest.raises(LedgerError, match="false signature of one"):
        signers(note, [other.verifier, one.verifier])
    assert signers(note, [other.verifier]) == [other.verifier]


# One key after another


def test_a_key_follows_another_when_both_have_signed() -> None:
    old, new = Signer.make("t"), Signer.make("t")
    body = succession("t/day", new, old)
    assert succeeds(body, "t/day", old.verifier) == new.verifier
    assert succeeds(succession("t/day", new), "t/day", None) == new.verifier


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda old, new, thief: succession("t/day", new, thief), "not signed by the key before it"),
        (lambda old, new, thief: succession("t/day", new), "not signed by the key before it"),
        (lambda old, new, thief: succession("another", new, old), "names another ledger"),
        (
            lambda old, new, thief: succession("t/day", new, old).replace(
                new.verifier.vkey.encode(), thief.verifier.vkey.encode(), 1
            ),
            "names another ledger or another key",
        ),
        (lambda old, new, thief: succession("t/day", Signer.make("u"), old), "is not this table's, but called u"),
        (lambda old, new, thief: b"{}", "is no key entry"),
        (lambda old, new, thief: b'{"key":"x","note":"y"}', "is no key entry: is no public key"),
        (
            lambda old, new, thief: msgspec.json.encode(
                {"key": new.verifier.vkey, "note": old.sign(Note(f"t/day\nkey {new.verifier.vkey}\n")).encode().decode()}
            ),
            "not signed by the new key",
        ),
    ],
)
def test_no_other_key_comes_into_force(spoil: object, words: str) -> None:
    assert callable(spoil)
    old, new, thief = (Signer.make("t") for _ in range(3))
    with pytest.raises(LedgerError, match=words):
        succeeds(spoil(old, new, thief), "t/day", old.verifier)
