"""`tablectl house`: the rules of a house, listed, explained and checked."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from tablectl.cli.main import say
from tablectl.errors import HouseError
from tablectl.game.irregularities import check_codes
from tablectl.houses import rules
from tablectl.houses.meanings import meaning, rows_of
from tablectl.settings import as_dict

__all__ = ["house"]


@click.group(epilog="\b\nExample:\n  tablectl house show fr")
def house() -> None:
    """The rules of the houses.

    A house is a name from `tablectl house list`, or the path of a TOML file.
    """


@house.command("list", epilog="\b\nExample:\n  tablectl house list --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_houses(as_json: bool) -> None:
    """List the houses that ship."""
    files = [rules.load(name) for name in rules.names()]
    if as_json:
        _print_json([_identity(file) for file in files])
        return
    for file in files:
        house = file.house
        click.echo(f"{house.name:<12} {house.title:<36} {house.language} {house.currency} {len(file.assumed):>3} values assumed")


@house.command(epilog="\b\nExample:\n  tablectl house show fr\n  tablectl house show ./our-house.toml --json")
@click.argument("name", metavar="NAME|FILE")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(name: str, as_json: bool) -> None:
    """Explain the rules of a house, one line each.

    A value that the house's own page does not state is marked as assumed: to be confirmed by the house.
    """
    file = rules.load(name)
    if as_json:
        _print_json(_explained(file))
    elif sys.stdout.isatty():
        _show_table(file)
    else:
        _show_text(file)


@house.command(epilog="\b\nExample:\n  tablectl house check ./our-house.toml")
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...")
@click.pass_context
def check(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Check house files; without one, all that ship.

    Says ok for each good file, and file, line and key for each bad one. Exit code 4 if any is bad.
    """
    bad = False
    for name in names or rules.names():
        try:
            file = rules.load(name)
            check_codes(file)
        except HouseError as error:
            say(str(error))
            bad = True
        else:
            click.echo(f"ok {name}: {len(_rules(file))} rules, {len(file.assumed)} assumed, sha256 {file.digest}")
    ctx.exit(HouseError.exit_code if bad else 0)


def _rules(file: rules.HouseFile) -> dict[str, Any]:
    """The rules by key, in the order of the model."""
    return {key: getattr(file.house.rules, key) for key in file.house.rules.__struct_fields__}


def _identity(file: rules.HouseFile) -> dict[str, Any]:
    house = file.house
    return {
        "name": house.name,
        "title": house.title,
        "language": house.language,
        "currency": house.currency,
        "file": str(file.path),
        "sha256": file.digest,
        "assumed": [key for key in _rules(file) if key in file.assumed],
    }


def _explained(file: rules.HouseFile) -> dict[str, Any]:
    explained = {
        key: {
            "value": value,
            "rows": rows_of(key),
            "meaning": meaning(key, value, file.house.currency),
            "assumed": key in file.assumed,
        }
        for key, value in _rules(file).items()
    }
    remedies = {code: as_dict(remedy) for code, remedy in file.house.remedies.items()}
    return {**_identity(file), "rules": explained, "alerts": file.house.alerts, "remedies": remedies}


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _lines(file: rules.HouseFile) -> list[tuple[str, str, str, str, str]]:
    """For each rule: its rows, key, value as in the file, meaning, and the mark of an assumed one."""
    return [
        (
            " ".join(rows_of(key)),
            key,
            json.dumps(value),
            meaning(key, value, file.house.currency),
            "assumed" if key in file.assumed else "",
        )
        for key, value in _rules(file).items()
    ]


def _title(file: rules.HouseFile) -> str:
    house = file.house
    return f"{house.name}: {house.title} (language {house.language}, currency {house.currency})"


def _rest(file: rules.HouseFile) -> list[str]:
    """What a house says besides its rules, a line each."""
    lines = []
    if file.assumed:
        lines.append(
            f"{len(file.assumed)} values are assumed: the house's own page does not state them; confirm them with the house."
        )
    lines += [f"alert {code}: {policy}" for code, policy in file.house.alerts.items()] or [
        "No alert has a policy of this house's own."
    ]
    lines += [
        f"remedy for {code}: {remedy.do}: {remedy.text} ({remedy.cite})" for code, remedy in file.house.remedies.items()
    ] or ["No alert has a remedy of this house's own."]
    return [*lines, f"{file.path} sha256 {file.digest}"]


def _show_text(file: rules.HouseFile) -> None:
    lines = _lines(file)
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    click.echo(_title(file))
    for line in lines:
        left = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False))
        click.echo(f"{left}  {line[3]}{f'  [{line[4]}]' if line[4] else ''}")
    for text in _rest(file):
        click.echo(text)


def _show_table(file: rules.HouseFile) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=Text(_title(file)), title_justify="left")
    for name in ("row", "rule", "value", "meaning", ""):
        table.add_column(name, overflow="fold")
    for line in _lines(file):
        table.add_row(*(Text(cell) for cell in line), style="yellow" if line[4] else None)
    console = Console()
    console.print(table)
    for text in _rest(file):
        console.print(Text(text))
