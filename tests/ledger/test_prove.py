"""A proof that is checked by who has nothing but the proof and a key, and by a program that is not ours."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pymerkle
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tablectl.errors import InputError, LedgerError
from tablectl.ledger.checkpoint import key_name
from tablectl.ledger.keys import Signer
from tablectl.ledger.prove import check_proof, entries_of_round, prove
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.store import Ledger
from tests.conftest import Command
from tests.ledger.days import Day
from tests.mqtt.tables import PIN, TABLE

SECOND_KEY = 1
"""Which of a day's keys signed its last checkpoints."""


@pytest.fixture(scope="session")
def entries(day: Day) -> list[Entry]:
    with Reader(day.path) as reader:
        return reader.entries(limit=1000)


@pytest.fixture(scope="session")
def proof(day: Day, entries: list[Entry]) -> bytes:
    return prove(day.path, entries_of_round(entries, 2))


def check_by_another_program(proof: bytes, vkey: str) -> list[bytes]:
    """What a stranger does: Python's own library, `cryptography` for the signature, `pymerkle` for RFC 6962."""
    document = json.loads(proof)
    text, _, signed = document["checkpoint"].rpartition("\n\n")
    text += "\n"
    name, _, key = vkey.split("+", 2)
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key)[1:])
    [line] = [line for line in signed.splitlines() if line.startswith(f"\u2014 {name} ")]
    public.verify(base64.b64decode(line.split(" ")[2])[4:], text.encode())
    _, size, root = text.split("\n")[:3]
    shapes = pymerkle.InmemoryTree(algorithm="sha256")  # of any content: it knows where each hash of a path belongs
    for _ in range(int(size)):
        shapes.append_entry(b"")
    bodies = []
    for entry in document["entries"]:
        body = entry["text"].encode() if "text" in entry else base64.b64decode(entry["base64"])
        leaf = hashlib.sha256(b"\x00" + f"{entry['seq']} {entry['kind']}\n".encode() + body).digest()
        shown = shapes.prove_inclusion(entry["index"] + 1, int(size))
        shown.path = [leaf, *(base64.b64decode(step) for step in entry["path"])]
        pymerkle.verify_inclusion(leaf, base64.b64decode(root), shown, index=entry["seq"], size=int(size))
        bodies.append(body)
    return bodies


def test_another_program_checks_the_proof_of_a_round(day: Day, entries: list[Entry], proof: bytes) -> None:
    bodies = check_by_another_program(proof, day.signers[SECOND_KEY].verifier.vkey)
    assert bodies == [entries[seq - 1].body for seq in [1, *entries_of_round(entries, 2)]]
    with pytest.raises(pymerkle.InvalidProof):
        check_by_another_program(
            proof.replace(b'\\"amount\\":1000', b'\\"amount\\":9000', 1), day.signers[SECOND_KEY].verifier.vkey
        )


def test_a_round_is_proved_from_its_first_stake_to_its_last_settlement(entries: list[Entry]) -> None:
    first, second = (entries_of_round(entries, number) for number in (1, 2))
    assert first[-1] + 1 >= second[0]
    assert not entries_of_round(entries, 3)
    said = [json.loads(entries[seq - 1].body) for seq in second if entries[seq - 1].kind in ("observation", "notice")]
    assert sum(one.get("amount", 0) for one in said if one.get("event") == "bet") > 0
    assert [one["number"] for one in said if one.get("notice") == "round_closed"] == [2]
    assert second == list(range(second[0], second[-1] + 1)), "no entry between them is left out"


def test_what_is_proved_is_read_back(day: Day, entries: list[Entry], proof: bytes) -> None:
    proved = check_proof(proof, [day.signers[SECOND_KEY].verifier], where="p")
    assert list(proved.entries) == [entries[seq - 1] for seq in [1, *entries_of_round(entries, 2)]]
    assert proved.whole
    assert str(proved.pin.table) == "site/pit/table"
    early = check_proof(prove(day.path, [9, 7]), day.keys, where="p")
    assert [entry.seq for entry in early.entries] == [1, 7, 9]
    assert not early.whole
    assert early.checkpoint.size < proved.checkpoint.size, "the first checkpoint that covers them"


def _paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here] * (not inner) + [path for key, one in inner for path in _paths(one, (*here, key))]


def test_no_part_of_a_proof_can_be_another(day: Day, entries: list[Entry]) -> None:
    whole = json.loads(prove(day.path, [20]))
    keys = [key.verifier for key in day.signers]
    check_proof(json.dumps(whole).encode(), keys, where="p")
    tried = 0
    for *path, last in _paths(whole):
        document = json.loads(json.dumps(whole))
        place = document
        for key in path:
            place = place[key]
        place[last] = place[last] + 1 if isinstance(place[last], int) else place[last][:-1]
        tried += 1
        with pytest.raises((LedgerError, InputError)):
            check_proof(json.dumps(document).encode(), keys, where="p")
        del place[last]
        with pytest.raises((LedgerError, InputError)):
            check_proof(json.dumps(document).encode(), keys, where="p")
    assert tried > 20
    others: list[list[object]] = [whole["entries"][::-1], whole["entries"][1:], whole["entries"] * 2, []]
    for reordered in others:
        with pytest.raises((LedgerError, InputError)):
            check_proof(json.dumps({**whole, "entries": reordered}).encode(), keys, where="p")


def test_a_proof_under_another_key_or_of_another_ledger_does_not_hold(day: Day, proof: bytes, tmp_path: Path) -> None:
    stranger = Signer.make(day.signers[1].verifier.name)
    with pytest.raises(LedgerError, match="not signed by the key"):
        check_proof(proof, [stranger.verifier], where="p")
    with pytest.raises(LedgerError, match="not signed by the key"):
        check_proof(proof, [], where="p")
    with Ledger.create(tmp_path / "x.db", PIN) as ledger:
        ledger.origin = json.loads(proof)["checkpoint"].split("\n")[0]  # as if it were the other table's
        ledger.checkpoint(stranger, "2026-11-30T05:57:42.000631Z")
    with pytest.raises(LedgerError, match="of another ledger than the first entry"):
        check_proof(prove(tmp_path / "x.db", [1]), [stranger.verifier], where="p")


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[" * 100_000, b'{"proof":2}', b"\xff", b'{"proof":1,"checkpoint":"","entries":[]}']
)
def test_what_is_no_proof_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(InputError, match="is no proof"):
        check_proof(body, [], where="p")


def test_what_cannot_be_proved_yet(tmp_path: Path) -> None:
    path = tmp_path / "day.db"
    with Ledger.create(path, PIN) as ledger:
        ledger.append(b"\xff\x00")
        ledger.commit()
        with pytest.raises(LedgerError, match="no checkpoint yet that covers entry 2"):
            prove(path, [2])
        with pytest.raises(LedgerError, match="has no entry 3: it has 2"):
            prove(path, [3])
        signer, other = Signer.make(key_name(TABLE)), Signer.make("tablectl/v1/Vilnius/pit%202/BJ-8")
        ledger.checkpoint(signer, "2026-11-30T05:57:42.000631Z")
    document = prove(path, [2])
    assert json.loads(document)["entries"][1]["base64"] == "/wA="
    assert check_by_another_program(document, signer.verifier.vkey)[1] == b"\xff\x00"
    assert check_proof(document, [other.verifier, signer.verifier], where="p").entries[1].body == b"\xff\x00"
    with Ledger.create(tmp_path / "other.db", PIN) as ledger:
        ledger.checkpoint(other, "2026-11-30T05:57:42.000631Z")
    with pytest.raises(LedgerError, match=f"is of table {TABLE}, and signed by {other.verifier.name}"):
        check_proof(prove(tmp_path / "other.db", [1]), [other.verifier], where="p")


# The commands


def test_a_round_is_proved_to_who_has_the_key_alone(day: Day, tablectl: Command, tmp_path: Path) -> None:
    assert tablectl("audit", "prove", day.path, "--round", "2", "-o", "two.json").returncode == 0
    again = tablectl("audit", "prove", day.path, "--round", "1", "-o", "two.json")
    assert (again.returncode, again.stderr) == (2, "tablectl: two.json: is there already; --force writes over it\n")
    assert tablectl("audit", "prove", day.path, "--round", "2", "-o", "two.json", "--force").returncode == 0
    done = tablectl("audit", "check-proof", "two.json", "--key", day.signers[1].verifier.vkey)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("holds: ")
    assert '"notice":"round_closed"' in done.stdout
    lines = tablectl(
        "audit", "check-proof", "-", "--key", day.signers[1].verifier.vkey, "--json", stdin=(tmp_path / "two.json").read_text()
    )
    assert json.loads(lines.stdout.splitlines()[0])["kind"] == "pin"
    wrong = tablectl("audit", "check-proof", "two.json", "--key", day.keys[0].vkey)
    assert (wrong.returncode, wrong.stdout) == (7, "")
    assert wrong.stderr == "tablectl: two.json: does not hold: its checkpoint is not signed by the key that was given\n"
    none = tablectl("audit", "prove", day.path, "--round", "99")
    assert (none.returncode, none.stderr) == (7, f"tablectl: {day.path}: has no round 99\n")
    assert tablectl("audit", "prove", day.path).returncode == 2


def test_the_export_gives_every_body_as_it_is(day: Day, entries: list[Entry], tablectl: Command) -> None:
    lines = tablectl("audit", "export", day.path).stdout.splitlines()
    assert lines == [f'{{"seq":{one.seq},"kind":"{one.kind}","body":{one.body.decode()}}}' for one in entries]
    rows = list(csv.DictReader(io.StringIO(tablectl("audit", "export", day.path, "--csv").stdout)))
    assert [(row["entry"], row["kind"], row["body"]) for row in rows] == [
        (str(one.seq), one.kind, one.body.decode()) for one in entries
    ]


def test_a_body_that_is_no_json_is_exported_as_base64(tablectl: Command, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.db", PIN) as ledger:
        for body in (b"\xff", b"{\n}", b"no json"):
            ledger.append(body)
    lines = [json.loads(line) for line in tablectl("audit", "export", "x.db").stdout.splitlines()]
    assert [base64.b64decode(line["base64"]) for line in lines[1:]] == [b"\xff", b"{\n}", b"no json"]
