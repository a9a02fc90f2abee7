"""A witness beside a live table: it sees it grow, asks for what it missed, and refuses an older copy that goes on differently."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.samples import run
from tests.live.running import Stage, ledgers, staged, until

MORE = """
[[people]]
name = "service:witness"
may = ["proof"]

[ledger]
checkpoint_seconds = 0.5

[commands]
accept = ["open"]
"""


def witness(stage: Stage, seen: Path) -> tuple[int, str, str]:
    done = run("audit", "witness", seen, "--mqtt", stage.broker.url, "--trust-on-first-use", "--once")
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def announced(stage: Stage) -> int:
    """How many checkpoints were heard."""
    return sum(message.topic.endswith("/audit/checkpoint") for message in stage.subscriber.messages)


def grow(stage: Stage, checkpoints: int) -> None:
    """Deal on until so many more checkpoints were told."""
    wanted = announced(stage) + checkpoints
    while announced(stage) < wanted:
        stage.emulated.run(1)
        until(lambda: True, 1)


def test_it_sees_the_table_grow_and_asks_for_what_it_missed(tmp_path: Path) -> None:
    seen = tmp_path / "seen.jsonl"
    with staged(tmp_path, more=MORE, seed=3) as stage:
        grow(stage, 1)
        assert witness(stage, seen)[0] == 0
        grow(stage, 3)  # while it was away
        code, _, err = witness(stage, seen)
        assert (code, "gap" in err.lower()) == (0, False), err
        assert stage.program.stop() == 0
        code, _, err = witness(stage, seen)
        assert code in (0, 6), err  # what is retained is seen already, or there is nobody to ask
        done = run("audit", "verify", ledgers(stage.file)[0], "--witness", seen)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow  # tests/ledger/test_witness.py asks the same of the files
def test_an_older_copy_that_goes_on_differently_is_refused(tmp_path: Path) -> None:
    seen = tmp_path / "seen.jsonl"
    with staged(tmp_path, more=MORE, seed=4) as stage:
        grow(stage, 1)
        assert stage.program.stop() == 0
        store = stage.file.beside("store")
        shutil.copytree(store, tmp_path / "older")
        stage.begin()
        grow(stage, 2)
        assert witness(stage, seen)[0] == 0
        assert stage.program.stop() == 0
        shutil.rmtree(store)
        shutil.copytree(tmp_path / "older", store)
        stage.begin()
        grow(stage, 1)
        code, _, err = witness(stage, seen)
        assert code == 7, err
        assert stage.program.stop() == 0
        done = run("audit", "verify", ledgers(stage.file)[0], "--witness", seen)
        assert done.returncode == 7
