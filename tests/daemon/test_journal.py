"""What a running table tells its journal: a line for each trouble around it, and one for its end."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.live.running import Stage, folded, staged, until


def told(stage: Stage, *words: str) -> None:
    """Wait until there is a line with each of these words, and see that there is one of each."""
    until(lambda: all(each in stage.program.log() for each in words), 20, " and ".join(words))
    assert [stage.program.log().count(each) for each in words] == [1] * len(words), stage.program.log()


def deal(stage: Stage, *, until_open: bool) -> None:
    """Deal until a round is open, or closed, and the table has seen it."""
    while stage.emulated.table.round_open != until_open:
        stage.emulated.step()
    until(lambda: folded(stage.file).round_open == until_open, 20)


def test_each_trouble_is_told_and_so_is_its_end(tmp_path: Path) -> None:
    with staged(tmp_path, seed=3) as stage:
        told(stage, "shoe is there: opened ", "pad is there: opened ", "the broker is there, and is told")
        stage.emulated.shoe.unplug()
        told(stage, "shoe is away: ")
        stage.emulated.shoe.replug()
        until(lambda: stage.program.log().count("shoe is there: opened ") == 2)
        stage.broker.kill()
        told(stage, "the broker is away: ", "commands are not listened for at the moment: ")
        stage.broker.start()
        told(stage, "commands are listened for again")
        until(lambda: stage.program.log().count("the broker is there, and is told") == 2)
        deal(stage, until_open=True)
        stage.program.signal(signal.SIGHUP)
        told(stage, "the configuration was read; it is taken over when the round ends")
        assert "the configuration was read again" not in stage.program.log()
        deal(stage, until_open=False)
        told(stage, "the configuration was read again")
        assert stage.program.stop() == 0
        assert stage.program.log().endswith("tablectl: table site/pit/t07 has stopped, and all is written\n")
