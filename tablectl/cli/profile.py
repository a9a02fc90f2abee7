"""`tablectl profile`: the profiles of shoes and pads, listed, explained and checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from tablectl.cli.main import say
from tablectl.errors import ProfileError
from tablectl.settings import as_dict
from tablectl.shoe.profile import LinkSettings, ProfileFile, load, names
from tablectl.shoe.vectors import Checked, check

__all__ = ["profile"]


@click.group(epilog="\b\nExample:\n  tablectl profile show bee-tek")
def profile() -> None:
    """The profiles of shoes and pads.

    A profile is a name from `tablectl profile list`, or the path of a TOML file.
    """


@profile.command("list", epilog="\b\nExample:\n  tablectl profile list --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_profiles(as_json: bool) -> None:
    """List the profiles that ship."""
    files = [load(name) for name in names()]
    if as_json:
        _print_json([_identity(file) for file in files])
        return
    for file in files:
        link = _link(file.profile.link)
        click.echo(
            f"{file.profile.name:<18} {file.profile.kind:<5} {link:<10} {file.profile.title:<38} {len(file.assumed):>2} assumed"
        )


@profile.command(epilog="\b\nExample:\n  tablectl profile show bee-tek\n  tablectl profile show ./our-shoe.toml --json")
@click.argument("name", metavar="NAME|FILE")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(name: str, as_json: bool) -> None:
    """Explain a profile: link, framing, checksums, repeats, messages, commands.

    Makers publish no specifications: a value that is a guess is marked as assumed, to be confirmed with the device at hand.
    """
    file = load(name)
    if as_json:
        _print_json({**_identity(file), "profile": as_dict(file.profile)})
        return
    for line in _lines(file):
        click.echo(line)


@profile.command("check", epilog="\b\nExample:\n  tablectl profile check bee-tek ./our-shoe.toml")
@click.argument("profiles", nargs=-1, metavar="[NAME|FILE]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def check_profiles(profiles: tuple[str, ...], as_json: bool) -> int:
    """Check profiles with their own test vectors; without a name, all that ship.

    The vectors of our-shoe.toml stand in our-shoe.vectors.toml. Each is decoded whole, byte by byte, after noise and before
    noise, and goes back through the encoder. Says which vector failed, with file and line. Exit code 4 if any did.
    """
    bad = False
    results: list[dict[str, Any]] = []
    for name in profiles or names():
        try:
            file = load(name)
            result = check(file)
        except ProfileError as error:
            say(str(error))
            results.append({"name": name, "ok": False, "error": str(error)})
            bad = True
            continue
        bad = bad or bool(result.failures)
        results.append({"name": name, "ok": not result.failures, "sha256": file.digest, **as_dict(result)})
        _tell(name, file, result, as_json)
    if as_json:
        _print_json(results)
    return ProfileError.exit_code if bad else 0


def _tell(name: str, file: ProfileFile, result: Checked, as_json: bool) -> None:
    for failure in result.failures:
        say(f"{failure.where}:{failure.line}: {failure.vector}: {failure.how}: {failure.problem}")
    if as_json or result.failures:
        return
    untested = f", none for {', '.join(result.untested)}" if result.untested else ""
    click.echo(f"ok {name}: {result.vectors} vectors{untested}, {len(file.assumed)} assumed, sha256 {file.digest}")


def _identity(file: ProfileFile) -> dict[str, Any]:
    return {
        "name": file.profile.name,
        "kind": file.profile.kind,
        "title": file.profile.title,
        "link": _link(file.profile.link),
        "file": str(file.path),
        "sha256": file.digest,
        "assumed": sorted(file.assumed),
    }


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _link(link: LinkSettings) -> str:
    """`9600 8N1`."""
    return f"{link.baud} {link.bits}{link.parity[0].upper()}{link.stop}"


def _lines(file: ProfileFile) -> Iterator[str]:
    """A profile for people, a line each."""
    profile = as_dict(file.profile)
    yield f"{profile['name']}: {profile['title']} ({profile['kind']})"
    yield f"link      {_link(file.profile.link)}{_mark(file, 'link')}"
    for index, frame in enumerate(profile["frames"]):
        sender = "" if frame["sent_by"] == "device" else f", sent by the {frame['sent_by']}"
        yield f"frame     {frame['name']}: {frame['kind']}{sender}, {_settings(frame, 'name', 'kind', 'sent_by', 'checksum')}"
        if frame.get("checksum"):
            yield f"  checksum  {_settings(frame['checksum'])}{_mark(file, f'frames[{index}].checksum')}"
        yield from _others(file, f"frames[{index}]", "checksum")
    if profile["repeats"]:
        rule = profile["repeats"]
        yield f"repeats   {rule['rule']}: {_settings(rule, 'rule')}{_mark(file, 'repeats')}"
    for index, field in enumerate(profile["fields"]):
        yield f"field     {field['name']}: {field['type']}, {_settings(field, 'name', 'type')}{_mark(file, f'fields[{index}]')}"
    for index, message in enumerate(profile["messages"]):
        yield f"message   {message['name']}: {message['frame']} {json.dumps(message['body'])}{_mark(file, f'messages[{index}]')}"
        if message["observation"]:
            said = _settings(message["observation"], "event")
            counts = "" if message["reading"] == "counts" else f" ({message['reading']})"
            yield f"  gives     {message['observation']['event']}{counts}{': ' if said else ''}{said}"
    for index, command in enumerate(profile["commands"]):
        yield f"command   {command['name']}: {command['frame']} {json.dumps(command['body'])}{_mark(file, f'commands[{index}]')}"
    if file.assumed:
        yield f"{len(file.assumed)} values are assumed: confirm them with the device at hand."
    yield f"{file.path} sha256 {file.digest}"


def _settings(values: dict[str, Any], *without: str) -> str:
    """Settings as `key value, key value`; what is not set is left out."""
    shown = []
    for key, value in _set(values).items():
        if key not in without:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            shown.append(f"{key} {text if text.isprintable() else json.dumps(text)}")
    return ", ".join(shown)


def _set(value: Any) -> Any:
    """A value without whatever in it is not set."""
    if isinstance(value, list | tuple):
        return [_set(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _set(inner) for key, inner in value.items() if inner is not None and inner not in ([], (), {}, "")}
    return value


def _mark(file: ProfileFile, key: str) -> str:
    return "  [assumed]" if any(assumed == key or assumed.startswith(f"{key}.") for assumed in file.assumed) else ""


def _others(file: ProfileFile, key: str, without: str) -> Iterator[str]:
    for assumed in sorted(file.assumed):
        if assumed.startswith(f"{key}.") and not assumed.startswith(f"{key}.{without}"):
            yield f"  {assumed.removeprefix(f'{key}.')}  [assumed]"
