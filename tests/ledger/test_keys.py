"""Keys: their forms are those of others' programs, and the private one stays in its file."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path

import pytest

from tablectl.errors import ConfigError
from tablectl.ledger.keys import COSIGNS, SIGNS, Signer, Verifier
from tablectl.ledger.signed_note import Note

# The keys and the note with which Go's sumdb/note package shows its format.
NEUMANN = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
NEUMANN_PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNED = (
    TEXT + "\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
BY_BOTH = (
    SIGNED + "\u2014 EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)


def file_of(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "a.key"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_note_is_signed_as_others_sign_it(tmp_path: Path) -> None:
    signer = Signer.load(file_of(tmp_path, NEUMANN_PRIVATE + "\n"))
    assert signer.verifier.vkey == NEUMANN
    assert signer.sign(Note(TEXT)).encode().decode() == SIGNED


def test_a_note_that_others_signed_is_checked() -> None:
    note = Note.parse(BY_BOTH.encode())
    for vkey in (NEUMANN, ENOCH):
        assert Verifier.parse(vkey).vkey == vkey
        assert Verifier.parse(vkey).signed(note) is True
    assert Verifier.parse(ENOCH).signed(Note.parse(SIGNED.encode())) is None
    assert Verifier.parse(NEUMANN).signed(Note(note.text + "more\n", note.signatures)) is False


def test_a_signature_of_the_same_name_by_another_key_means_nothing() -> None:
    one, other = Signer.make("same"), Signer.make("same")
    note = other.sign(Note("x\n"))
    assert one.verifier.signed(note) is None
    assert one.verifier.signed(one.sign(note)) is True


def test_a_witness_signs_text_and_time(tmp_path: Path) -> None:
    witness = Signer.make("witness.example/w1", COSIGNS)
    note = witness.cosign(Signer.make("log").sign(Note("origin\n1\nroot\n")), 1_679_315_147)
    assert witness.verifier.signed(note) is True
    assert witness.verifier.seconds(note) == 1_679_315_147
    cosignature = note.signatures[1].signature
    assert cosignature[:8] == (1_679_315_147).to_bytes(8, "big")
    witness.verifier._key.verify(cosignature[8:], b"cosignature/v1\ntime 1679315147\norigin\n1\nroot\n")
    later = cosignature[:7] + bytes([cosignature[7] ^ 1]) + cosignature[8:]
    forged = Note(note.text, (type(note.signatures[1])("witness.example/w1", witness.verifier.id, later),))
    assert witness.verifier.signed(forged) is False
    assert witness.verifier.seconds(forged) is None
    witness.save(tmp_path / "w.key")
    assert Signer.load(tmp_path / "w.key").verifier == witness.verifier
    with pytest.raises(ConfigError, match="cosigns"):
        witness.sign(note)
    with pytest.raises(ConfigError, match="no witness's key"):
        Signer.make("log", SIGNS).cosign(note, 1)


# Files


def test_a_key_file_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        signer = Signer.make("table")
        signer.save(tmp_path / "a.key")
    finally:
        os.umask(before)
    assert (tmp_path / "a.key").stat().st_mode & 0o777 == 0o600
    assert Signer.load(tmp_path / "a.key").verifier == signer.verifier


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o777])
def test_a_key_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ConfigError, match=f"others may use \\(mode {mode:04o}\\)") as caught:
        Signer.load(file_of(tmp_path, NEUMANN_PRIVATE, mode))
    assert caught.value.exit_code == 4


def test_a_key_file_is_never_written_over(tmp_path: Path) -> None:
    path = file_of(tmp_path, NEUMANN_PRIVATE)
    with pytest.raises(ConfigError, match="never written over"):
        Signer.make("other").save(path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError):
        Signer.make("other").save(tmp_path / "link")
    assert path.read_text() == NEUMANN_PRIVATE
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a shopping list",
        NEUMANN,
        NEUMANN_PRIVATE[:-4],
        NEUMANN_PRIVATE.replace("c74f20a3", "c74f20a4"),
        NEUMANN_PRIVATE.replace("PeterNeumann", "PeterNeuman"),
        NEUMANN_PRIVATE.replace("+AYEK", "+CYEK"),
        NEUMANN_PRIVATE + "\nmore",
        "PRIVATE+KEY+",
        "PRIVATE+KEY+x+00000000+",
        "PRIVATE+KEY+x+00000000+\xe9",
    ],
)
def test_what_is_no_key_file_is_refused_without_being_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Signer.load(file_of(tmp_path, text))
    assert str(caught.value) == f"{tmp_path / 'a.key'}: is no key file; make one with: tablectl audit key"
    assert caught.value.__context__ is None or "AYEK" not in str(caught.value.__context__)


def test_a_key_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        Signer.load(tmp_path / "none")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        Signer.load(tmp_path)
    with pytest.raises(ConfigError, match="no ordinary file"):
        Signer.load(Path(os.devnull))


def test_the_private_key_is_in_no_text_and_no_pickle(tmp_path: Path) -> None:
    signer = Signer.load(file_of(tmp_path, NEUMANN_PRIVATE))
    secret = NEUMANN_PRIVATE.rsplit("+", 1)[1]
    for text in (repr(signer), str(signer), f"{signer!s}", repr([signer]), repr(signer.verifier)):
        assert secret[4:] not in text
        assert "PRIVATE" not in text
    for give_away in (lambda: pickle.dumps(signer), lambda: copy.deepcopy(signer)):
        with pytest.raises(TypeError):
            give_away()


# Public keys


@pytest.mark.parametrize(
    "vkey",
    [
        "",
        "name",
        "a+b+c",
        NEUMANN[:-1],
        NEUMANN[:-4] + "AAAA",
        NEUMANN.replace("c74f20a3", "C74F20A3"),
        NEUMANN.replace("PeterNeumann", "Peter Neumann"),
        NEUMANN.replace("+ARpc", "+BRpc"),
        "+" + NEUMANN,
        NEUMANN_PRIVATE,
    ],
)
def test_what_is_no_public_key_is_refused(vkey: str) -> None:
    with pytest.raises(ConfigError, match="public key"):
        Verifier.parse(vkey)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "a\u00a0b", "\u2003", "a\x00"])
def test_a_name_that_a_note_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be called"):
        Signer.make(name)
