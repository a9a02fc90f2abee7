"""`tablectl doctor`: is everything there that a table needs, and what mends what is not."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tablectl.cli.visible import visible

__all__ = ["doctor"]

_COLOURS = {"pass": "green", "warn": "yellow", "fail": "red"}


@click.command(epilog="\b\nExample:\n  tablectl doctor --config /etc/tablectl/bj07.toml --listen 30")
@click.option("--config", "path", type=click.Path(path_type=Path), required=True, help="The table's configuration.")
@click.option(
    "--listen",
    "seconds",
    type=click.FloatRange(0, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to listen on each port for something that its profile knows, and to look at a camera; 0: not at all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def doctor(ctx: click.Context, path: Path, seconds: float, as_json: bool) -> None:
    """See whether a table is fit to run, and what mends it.

    Looks at the configuration, ports and what the devices send, cameras and their deck, clock, disk, recordings, ledger, keys and
    broker: a line each, with pass, warn or fail, and what mends it. A running table is not disturbed. Exit code 0: all is well;
    3: warnings; else that of what failed (4 configuration, 5 device, 6 broker, 7 ledger or disk), 1 where several kinds did.
    """
    from tablectl.doctor.checkup import checkup
    from tablectl.doctor.finding import exit_code

    findings = []
    for finding in checkup(path, seconds):
        findings.append(finding)
        if not as_json:
            word = click.style(finding.verdict, fg=_COLOURS[finding.verdict])
            click.echo(f"{word}  {finding.check}: {visible(finding.text)}")
            if finding.mend:
                click.echo(f"      mend: {visible(finding.mend)}")
    if as_json:
        keys = ("check", "verdict", "text", "mend")
        found = [{key: getattr(finding, key) for key in keys} for finding in findings]
        click.echo(json.dumps({"configuration": str(path), "findings": found}, indent=2, ensure_ascii=False))
    ctx.exit(exit_code(findings))
