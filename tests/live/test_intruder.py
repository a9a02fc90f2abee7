"""Whoever may not command acts on nothing, stops nothing and fills no disk, at a live table: the proof in short."""

from __future__ import annotations

from pathlib import Path

from tablectl.mqtt.pace import A_MINUTE, AT_ONCE
from tablectl.mqtt.records import Taken
from tests.live.attacks import Attacks
from tests.live.intruder import HELPERS, certificates, signatures

RULING_SECONDS = 10.0
"""Within how long a ruling must get through a flood here: a few seconds on a machine that has nothing else to do."""
RECORDS = 200_000
"""Bytes in the ledger that a flood may cost."""


def assert_floods_are_borne(attacks: Attacks) -> None:
    for name, made, found in attacks.floods:
        assert made.sent > 1000, name
        assert found["dealt"] > 0, name
        assert found["ruling_s"] < RULING_SECONDS, (name, found)
        assert found["records"] < RECORDS, (name, found)


def test_where_the_broker_vouches(tmp_path: Path) -> None:
    attacks = certificates(tmp_path, 1.0, pause=0.0, quiet=10, short=True)
    assert_floods_are_borne(attacks)
    taken = [record for record in attacks.felt.records() if isinstance(record, Taken)]
    assert 0 < sum(record.person in HELPERS for record in taken) <= AT_ONCE + A_MINUTE


def test_where_people_sign(tmp_path: Path) -> None:
    assert_floods_are_borne(signatures(tmp_path, 1.0, pause=0.0, quiet=10, short=True))
