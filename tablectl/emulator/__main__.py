"""`python -m tablectl.emulator`: an emulated table as a process of its own, for whoever works on the live table."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import click
import msgspec

from tablectl.emulator.mistakes import MISTAKES
from tablectl.emulator.table import EmulatedTable
from tablectl.emulator.wrong import CALM, ROUGH, Account
from tablectl.errors import EXIT_INTERRUPTED, TablectlError
from tablectl.recording.importers import open_log

AGAIN = 0.2
"""Seconds after which one looks again whether somebody has opened the devices: it is looked up among all processes."""


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  python -m tablectl.emulator --folder /tmp/table --house es --forever",
)
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), required=True, help="Where the two devices appear.")
@click.option("--house", default="fr", show_default=True, help="A house, or the path of its file.")
@click.option("--shoe-profile", default="angel-eye-ii", show_default=True, help="The shoe's make, or the path of its profile.")
@click.option("--pad-profile", default="dealer-pad", show_default=True, help="The pad's make, or the path of its profile.")
@click.option("--rounds", type=click.IntRange(min=1), default=10, show_default=True, help="How many rounds to deal.")
@click.option("--forever", is_flag=True, help="Deal until SIGTERM or Ctrl-C.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same rounds.")
@click.option("--pause", type=click.FloatRange(min=0), default=0.0, show_default=True, help="Seconds between two observations.")
@click.option("--gap", type=click.FloatRange(min=0), default=0.03, show_default=True, help="Seconds between the two ports.")
@click.option(
    "--patience", type=click.FloatRange(min=0), default=5.0, show_default=True, help="Seconds to wait for a reader that stops."
)
@click.option("--mistake", "mistakes", type=click.Choice([*MISTAKES, "any"]), multiple=True, help="What the dealer does wrong.")
@click.option("--every", type=click.IntRange(min=1), default=5, show_default=True, help="In how many rounds one mistake is made.")
@click.option("--supervisor", default="CHIEF7", show_default=True, help="Who rules on mistakes; an empty name leaves them open.")
@click.option("--rough", is_flag=True, help="Lines with noise, harm, drop-outs and restarts, none of which loses a message.")
@click.option("--account", type=click.Path(dir_okay=False, path_type=Path), help="Write what was sent, and what arrived whole.")
@click.option("--recording", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Play this log; deal nothing.")
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), help="Play it so many times as fast as it was recorded.")
def emulate(
    folder: Path,
    house: str,
    shoe_profile: str,
    pad_profile: str,
    rounds: int,
    forever: bool,
    seed: int,
    pause: float,
    gap: float,
    patience: float,
    mistakes: tuple[str, ...],
    every: int,
    supervisor: str,
    rough: bool,
    account: Path | None,
    recording: Path | None,
    speed: float | None,
) -> None:
    """Deal at an emulated table. The first two lines of output are the devices of the shoe and of the pad.

    It begins when somebody has opened both, however long that takes. The last line, as JSON, has
    how many rounds were closed and which mistakes were made.
    """
    with ExitStack() as stack:
        file = stack.enter_context(account.open("ab")) if account else None
        table = stack.enter_context(
            EmulatedTable(
                folder,
                house,
                shoe_profile,
                pad_profile,
                seed=seed,
                rounds=None if forever else rounds,
                mistakes=tuple(MISTAKES) if "any" in mistakes else mistakes,
                every=every,
                supervisor=supervisor or None,
                pause=pause,
                gap=gap,
                patience=patience,
                weather=ROUGH if rough else CALM,
                account=Account(file) if file else None,
            )
        )

        def end(number: int, frame: FrameType | None) -> None:
            table.end()

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        click.echo(table.shoe.path)
        click.echo(table.pad.path)
        sys.stdout.flush()
        while not table.ended and not table.opened(0.0):
            time.sleep(AGAIN)
        if recording:
            table.play(open_log(recording), speed)
        else:
            table.run()
        made = [{"round": one.round, "name": one.name} for one in table.dealer.made]
        click.echo(msgspec.json.encode({"rounds": table.dealer.closed, "mistakes": made}))


def main() -> int:
    """Run the command; the exit code is that of the error, where there is one."""
    try:
        emulate.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return EXIT_INTERRUPTED
    except TablectlError as error:
        click.echo(f"emulator: {error}", err=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
