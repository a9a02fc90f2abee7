"""`tablectl run`: the live table."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tablectl import config
from tablectl.cli.main import drop_stdout, say
from tablectl.cli.telling import told
from tablectl.daemon.run import Daemon
from tablectl.notices import Notice
from tablectl.observations import Observation

__all__ = ["run"]


@click.command(epilog="\b\nExample:\n  tablectl config init -o table.toml\n  tablectl run --config table.toml")
@click.option("--config", "path", required=True, metavar="FILE", help="The table's configuration.")
@click.option("--show/--quiet", default=None, help="Tell on stdout what happens.  [default: where stdout is a terminal]")
def run(path: str, show: bool | None) -> int:
    """Run one live table: its devices, its game, its record, and MQTT.

    It runs until SIGTERM or Ctrl-C, and takes in first what its devices have sent. A device or a broker that is away is waited
    for; the record comes first, and when its disk fails the table says so. SIGHUP has it read the configuration again: what may
    change is taken over between two rounds, anything else is refused and told.

    Exit code 0 when it was asked to stop and all is written, 4 for a bad configuration, 7 when the record is damaged, is held by
    another program, or could not be written to its end.
    """
    file = config.load(Path(path))
    shown = sys.stdout is not None and sys.stdout.isatty() if show is None else show
    return Daemon(file, tell=_Showing() if shown else _nobody, log=say).run()


class _Showing:
    """Tells on stdout what happens. Where nobody takes it any more (`| head`, a closed terminal) it ends; the table plays on."""

    def __init__(self) -> None:
        self._ended = False

    def __call__(self, _: Observation, notices: tuple[Notice, ...]) -> None:
        if self._ended:
            return
        try:
            for line in filter(None, map(told, notices)):
                click.echo(line)
        except OSError as error:
            self._ended = True
            drop_stdout()
            say(f"what happens is no longer shown: {error.strerror or error}")


def _nobody(_: Observation, __: tuple[Notice, ...]) -> None:
    """Under systemd nobody looks at stdout."""
