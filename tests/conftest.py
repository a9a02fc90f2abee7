"""What every test may use: the command as a real process, and hypothesis without its stop-watch."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each core runs a file of tests: more threads would wait for each other

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("tablectl", deadline=None, print_blob=True)  # shared machines are slow at times, and that is no failure
settings.load_profile("tablectl")

signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores Ctrl-C, and so would all it starts

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def tablectl(tmp_path: Path) -> Command:
    """Run `tablectl ARGS...` as a process of its own in an empty folder; `env` adds variables, `stdin` is its input."""

    def call(
        *args: str | Path, env: dict[str, str] | None = None, stdin: str = "", timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tablectl", *map(str, args)],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return call
