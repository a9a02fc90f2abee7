"""`tablectl audit rotate-key`: the ledger says who signs from here on, and all who verify follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablectl.cli import main
from tablectl.ledger.checkpoint import key_name
from tablectl.ledger.keys import COSIGNS, Signer
from tablectl.ledger.published import Announcer
from tablectl.ledger.reader import Reader
from tablectl.ledger.verify import verify
from tablectl.ledger.witness import Witness
from tests.ledger.tables import NAME, TOPIC, Day

SEEN = "2026-11-30T10:00:00.000000Z"


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Signer]:
    made = {name: Signer.make(key_name(NAME)) for name in ("old", "new", "other")}
    made["witness"] = Signer.make("inspector", COSIGNS)
    for name, signer in made.items():
        signer.save(tmp_path / f"{name}.key")
    return made


def test_the_old_key_vouches_for_the_new_one(keys: dict[str, Signer], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "day.db"
    witness = Witness([keys["old"].verifier])
    with Day(path, keys["old"]) as day:
        for line in witness.judge(TOPIC, day.grown(10), seen=SEEN).lines:
            witness.remember(line)

    def rotate(old: str, new: str) -> tuple[int, str, str]:
        words = ["--old", f"{tmp_path}/{old}.key", "--new", f"{tmp_path}/{new}.key"]
        code = main.run(["audit", "rotate-key", str(path), *words])
        return code, *capsys.readouterr()

    vkey = keys["new"].verifier.vkey
    assert rotate("old", "new") == (0, f"{vkey}\n", "")
    report = verify(path, [keys["old"].verifier])
    assert (report.whole, report.size, report.signed, report.trusted) == (True, 12, 12, True)
    with Reader(path) as reader:
        latest = reader.latest("checkpoint")
        assert latest is not None
        assert witness.judge(TOPIC, Announcer(reader).announce(latest.body), seen=SEEN).verdict == "new"

    before = keys["old"].verifier.vkey
    where = f"tablectl: {tmp_path}/"
    assert rotate("old", "other") == (2, "", f"{where}old.key: is not the key that signs this ledger, which is {vkey}\n")
    assert rotate("new", "new") == (2, "", f"{where}new.key: is the key that has signed up to now\n")
    assert rotate("new", "witness") == (2, "", f"{where}witness.key: is a witness's key, which signs no ledger\n")
    Signer.make("tablectl/v1/hall/main/t08").save(tmp_path / "t08.key")
    told = f"{where}t08.key: is the key tablectl/v1/hall/main/t08, not that of table hall/main/t07\n"
    assert rotate("new", "t08") == (2, "", told)
    assert rotate("new", "none") == (2, "", f"{where}none.key: the key cannot be read: No such file or directory\n")
    assert verify(path).size == 12
    assert before not in vkey
    with Day(path, keys["new"], resume=True):
        assert rotate("new", "other") == (7, "", f"{where}day.db: is being written by another program\n")
