"""A real daemon with real pictures: the camera goes, and what it last saw is kept and stands in the ledger."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from tablectl.cli.demo_felt import DemoFelt
from tablectl.daemon.felt import EvidenceEntry
from tablectl.emulator.table import EmulatedTable
from tests.live.running import Program, assert_whole, configured, entries, ledgers, until


@pytest.mark.slow
def test_the_evidence_of_an_alert_is_in_its_folder_and_its_digest_in_the_ledger(tmp_path: Path) -> None:
    felt = DemoFelt(tmp_path, "es")
    file = configured(tmp_path, more=felt.configuration)
    with EmulatedTable(tmp_path / "devices", "es", "bee-tek") as emulated:
        program = Program(file)
        program.start()
        program.ready()
        assert emulated.opened(20)
        (ledger,) = ledgers(file)
        assert felt.is_seen(ledger) or felt.is_seen(ledger) or felt.is_seen(ledger), program.log()
        (tmp_path / "scene.json").unlink()  # both cameras are unplugged
        until(lambda: any(entry.kind == "evidence" for entry in entries(ledger)), 60, "the evidence")
        assert program.stop() == 0
        assert program.log().count("no deck is enrolled") == 1
    found = [msgspec.json.decode(entry.body, type=EvidenceEntry) for entry in entries(ledger) if entry.kind == "evidence"]
    (lost,) = [one for one in found if one.code == "felt.camera_lost"]
    assert {Path(kept.name).suffix for kept in lost.files} == {".jpg", ".mp4"}
    for kept in lost.files:
        data = (tmp_path / "store" / "evidence" / kept.name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (kept.bytes, kept.sha256)
    assert_whole(file)
