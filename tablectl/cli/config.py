"""`tablectl config`: a table's configuration, begun and checked."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tablectl.cli.main import say
from tablectl.errors import ConfigError, UsageError

__all__ = ["config"]


@click.group(epilog="\b\nExample:\n  tablectl config init -o table.toml")
def config() -> None:
    """A live table's configuration: begin one, check one."""


@config.command(epilog="\b\nExample:\n  tablectl config init --name bj07 -o /etc/tablectl/bj07.toml")
@click.option(
    "-o", "output", type=click.Path(path_type=Path), default=Path("-"), help="The file to write; - is stdout (default)."
)
@click.option("--name", help="The table's name. Default: that of the file, or bj01.")
def init(output: Path, name: str | None) -> None:
    """Write a commented configuration to fill in.

    Every key that there is stands in it, with its meaning and its default. A file that exists is not written over.
    """
    from tablectl.doctor.commented import commented
    from tablectl.ledger.pin import TableName

    to_stdout = output == Path("-")
    name = name or ("bj01" if to_stdout else output.stem)
    try:
        TableName("site", "pit", name)
    except ConfigError as error:
        raise UsageError(f"the table's name {error.message}") from None
    text = commented(name)
    if to_stdout:
        click.echo(text, nl=False)
        return
    try:
        with open(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError("exists already, and is not written over", where=str(output)) from None
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(output)) from None
    say(f"wrote {output}; fill it in, then: tablectl config check {output}")


@config.command(epilog="\b\nExample:\n  tablectl config check /etc/tablectl/bj07.toml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.pass_context
def check(ctx: click.Context, files: tuple[Path, ...]) -> None:
    """Check configurations, and all that they name: house, profiles, keys, certificates, secrets.

    Says ok for each good file, and line and field of every fault of a bad one, or of what is doubtful. Exit code 4 if any is bad.
    """
    from tablectl.config import load
    from tablectl.doctor.configuration import doubts, faults

    bad = False
    for path in files:
        wrong = faults(path)
        for error in wrong:
            say(str(error))
        if wrong:
            bad = True
        else:
            for doubt in doubts(load(path)):
                say(f"warning: {doubt}")
            click.echo(f"ok {path}")
    ctx.exit(ConfigError.exit_code if bad else 0)
