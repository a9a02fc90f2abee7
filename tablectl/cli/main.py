"""The command `tablectl`: its verbs, and what happens to an error on its way to the user.

A verb is a click command in a file of its own; it is imported when it is called, so that `--help` and completion stay quick.
It returns None (exit code 0) or its exit code, or raises a `tablectl.errors.TablectlError`. Whatever else it raises is our
fault and is told in one line; `TABLECTL_DEBUG=1` adds the traceback.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from tablectl import __version__
from tablectl.cli.visible import visible
from tablectl.errors import EXIT_INTERRUPTED, TablectlError

__all__ = ["VERBS", "Verb", "cli", "drop_stdout", "main", "run", "say"]

DEBUG = "TABLECTL_DEBUG"


class Verb(NamedTuple):
    """Where a command is (`module:attribute`), and what it does in half a line."""

    target: str
    summary: str


VERBS: dict[str, Verb] = {
    "run": Verb("tablectl.cli.run:run", "Run one live table: devices, game, record, MQTT."),
    "display": Verb("tablectl.cli.display:display", "Serve the dealers', pits' and surveillance's screens."),
    "demo": Verb("tablectl.cli.demo:demo", "Show a live table at work, with no hardware."),
    "play": Verb("tablectl.cli.play:play", "Play observations by a house's rules; notices as JSON lines."),
    "replay": Verb("tablectl.cli.replay:replay", "Run a serial log through decoders, game, ledger and MQTT."),
    "rule": Verb("tablectl.cli.rule:rule", "Rule on what a table waits for; acknowledge an alert."),
    "decode": Verb("tablectl.cli.decode:decode", "Bytes to observations, every byte accounted for."),
    "import": Verb("tablectl.cli.import_:import_", "Another tool's serial log to the native recording."),
    "record": Verb("tablectl.cli.record:record", "What serial devices send to a native recording."),
    "stats": Verb("tablectl.cli.stats:stats", "The figures of a ledger, by round, shoe, shift or day."),
    "audit": Verb("tablectl.cli.audit:audit", "Whether a ledger is what was written: verify, prove, export."),
    "felt": Verb("tablectl.cli.felt:felt", "The camera's side, tried on pictures: read the cards in them."),
    "house": Verb("tablectl.cli.house:house", "The rules of the houses: list, show, check."),
    "profile": Verb("tablectl.cli.profile:profile", "The profiles of shoes and pads: list, show, check."),
    "calibrate": Verb("tablectl.cli.calibrate:calibrate", "A camera's lens, felt and layout; a deck; sheets to print."),
    "broker": Verb("tablectl.cli.broker:broker", "The MQTT broker's files and certificates: config, certificate."),
    "config": Verb("tablectl.cli.config:config", "A live table's configuration: begin one, check one."),
    "doctor": Verb("tablectl.cli.doctor:doctor", "See whether a table is fit to run, and what mends it."),
    "completion": Verb("tablectl.cli.completion:completion", "Print the completion script of a shell."),
}


class Verbs(click.Group):
    """The group of all verbs. Knows them by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order of `VERBS`."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb; None for a word that is none."""
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        module, attribute = verb.target.split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command), verb.target
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Carry out the verb. Click itself would begin a new line when interrupted, which only a terminal's `^C` asks for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if sys.stderr is not None and sys.stderr.isatty():
                raise
            raise click.Abort from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs for `--help`, from `VERBS` alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs that begin with `incomplete`, from `VERBS` alone, and the options."""
        verbs = [CompletionItem(name, help=verb.summary) for name, verb in VERBS.items() if name.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


@click.command(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExample:\n  tablectl house show fr\n\nEvery command has an example of its own: tablectl COMMAND --help",
)
@click.version_option(__version__, prog_name="tablectl", message="%(prog)s %(version)s")
def cli() -> None:
    """Control one physical blackjack table.

    Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 done with critical alerts, 4 a bad
    house, profile or configuration file, 5 device, 6 broker, 7 ledger, 130 interrupted.
    """


def main() -> None:
    """The console script: run the command line of this process and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # a terminal without these letters, or a file name that is no text
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # asked to stop is asked to stop: children end, files close
    threading.excepthook = _thread_fault
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # a second one, while the first was being told
        code = EXIT_INTERRUPTED
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            _drop(descriptor)  # a terminal that was closed, a reader that has gone: the interpreter would make it exit code 120
    sys.exit(code)


def run(args: Sequence[str]) -> int:
    """Run one command line, tell whatever went wrong on stderr, and return the exit code."""
    try:
        code = _invoke(args)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a full disk can still be told
        return code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return EXIT_INTERRUPTED
    except TablectlError as error:
        say(str(error))
        return error.exit_code
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        drop_stdout()
        return 1
    except OSError as error:
        drop_stdout()
        what = ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
        say(f"the system refused: {what}; set {DEBUG}=1 for details")
        return 1
    except Exception as error:
        say(f"{_fault(error)}; set {DEBUG}=1 for details")
        return 1


def _invoke(args: Sequence[str]) -> int:
    color = False if os.environ.get("NO_COLOR") else None
    try:
        result = cli.main(args=list(args), prog_name="tablectl", standalone_mode=False, color=color)
    except SystemExit as request:
        result = request.code
        if isinstance(result, str):
            say(result)
            return 1
    return result if isinstance(result, int) else 0


def _fault(error: BaseException) -> str:
    first = (str(error).splitlines() or [""])[0]
    return f"internal fault: {type(error).__name__}{': ' if first else ''}{first}"


def say(message: str) -> None:
    """One line on stderr, with control characters (of a file's name, say) made visible; the traceback when debugging."""
    if os.environ.get(DEBUG, "0") not in ("", "0") and sys.exc_info()[0] is not None:
        click.echo(traceback.format_exc(), err=True, nl=False)
    with suppress(OSError):  # nobody may be listening; the exit code still tells
        click.echo(f"tablectl: {visible(message)}", err=True)


def drop_stdout() -> None:
    """Send what is still in stdout's buffer nowhere, so that the interpreter does not trip over it on its way out."""
    _drop(1)


def _drop(descriptor: int) -> None:
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _thread_fault(args: threading.ExceptHookArgs) -> None:
    """An exception that no thread of ours should let through: one line, as for the main thread."""
    name = args.thread.name if args.thread else "?"
    if args.exc_value is None:
        return
    try:
        raise args.exc_value
    except BaseException as error:
        say(f"{_fault(error)} (in thread {name}); set {DEBUG}=1 for details")
