"""`tablectl run` as a process: it ends when it is asked to, and for nobody who looks on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.running import until
from tests.table_toml import configured

RUN = [sys.executable, "-m", "tablectl", "run", "--show", "--config"]


def told(journal: Path, words: str) -> None:
    """Wait for words on stderr."""
    until(lambda: words in journal.read_text(), seconds=30.0, what=words)


@pytest.mark.parametrize("shown", ["a pipe", "a terminal"])
def test_a_table_plays_on_when_nobody_looks_on_any_more(shown: str, tmp_path: Path) -> None:
    file = configured(tmp_path, more='[broker]\nurl = "mqtt://127.0.0.1:1"\n').path
    ours, theirs = os.pipe() if shown == "a pipe" else os.openpty()
    os.close(ours)
    journal = tmp_path / "journal"
    with journal.open("wb") as errors, os.fdopen(theirs, "wb", buffering=0) as stdout:
        process = subprocess.Popen([*RUN, str(file)], stdout=stdout, stderr=errors)
    try:
        told(journal, "what happens is no longer shown: ")
        told(journal, "runs; its record is")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0, journal.read_text()


def test_a_terminal_that_is_closed_ends_no_table(tmp_path: Path) -> None:
    """Its stderr is gone with it; what the table had taken in is closed in order all the same."""
    file = configured(tmp_path).path
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "wb", buffering=0) as terminal:
        process = subprocess.Popen([*RUN, str(file)], stdout=terminal, stderr=terminal, start_new_session=True)
    try:
        seen = b""
        while b"runs; its record is" not in seen:
            seen += os.read(ours, 4096)
        os.close(ours)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
