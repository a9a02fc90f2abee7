"""`tablectl replay`: a recorded serial log through the real decoder, the same game, ledger and publisher as live."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from tablectl import __version__
from tablectl.cli.lines import Lines
from tablectl.cli.listening import Listening
from tablectl.cli.main import say
from tablectl.cli.play import to_stdout
from tablectl.cli.session import BATCH, Session, with_bar
from tablectl.cli.telling import told
from tablectl.errors import UsageError
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import Commands
from tablectl.mqtt.identity import Trust
from tablectl.notices import Notice
from tablectl.recording.fusing import fused
from tablectl.recording.importers import IMPORTERS, open_log
from tablectl.recording.logs import Log
from tablectl.recording.native import pinned_of, profiles_of
from tablectl.recording.player import merge, paced
from tablectl.recording.sources import Decoding, Remark, Seen, merged
from tablectl.recording.table_lines import is_live
from tablectl.settings import digest_of
from tablectl.shoe import profile as profiles
from tablectl.shoe.decoder import Decoder
from tablectl.texts import languages

__all__ = ["replay"]

MAX = "max"
PAD = "dealer-pad"
"""The pad's profile where none is named."""
LONG = 1 << 20
"""Logs of fewer bytes are replayed before a bar could be read."""


class Speed(click.ParamType[float | None]):
    """`max` (None: as fast as it goes), or how many times faster than recorded."""

    name = "speed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        """Read it; a usage error for what is no number above 0."""
        if value is None or value == MAX:
            return None
        try:
            speed = float(str(value))
        except ValueError:
            speed = 0.0
        if not 0 < speed < float("inf"):
            self.fail(f"{value!r} is neither a number above 0 nor {MAX}", param, ctx)
        return speed


class Recorded(NamedTuple):
    """What is replayed: the logs, the profile of each port, and the house that they name (empty: none)."""

    logs: list[Log]
    profiles: dict[str, profiles.ProfileFile]
    house: str


@click.command(
    epilog="\b\nExample:\n"
    "  tablectl replay --house fr --shoe shoe.log --shoe-profile bee-tek \\\n"
    "                  --pad pad.log --pad-profile dealer-pad --json\n"
    "  tablectl replay day.rec --mqtt mqtt://127.0.0.1:1883 --speed 10"
)
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--house", metavar="HOUSE", help="The house: fr, es, lt, or a TOML file. Else the recording names it.")
@click.option("--shoe", metavar="FILE", help="The shoe's log, of any known tool.")
@click.option("--shoe-profile", metavar="PROFILE", help="The shoe's firmware profile.")
@click.option("--pad", metavar="FILE", help="The dealer pad's log, of any known tool.")
@click.option("--pad-profile", metavar="PROFILE", help="The pad's profile.  [default: dealer-pad]")
@click.option("--with", "extra", metavar="FILE", help="Observations as JSON lines, merged in by their times.")
@click.option("--format", "format_", type=click.Choice([*IMPORTERS]), metavar="FORMAT", help="The logs' format, else guessed.")
@click.option("--start", metavar="TIME", help="The base of a log without date or zone: 2026-11-30T05:57:42Z.")
@click.option("--zone", metavar="ZONE", help="The zone of local times in a log: Europe/Paris, +02:00.")
@click.option("--pattern", metavar="REGEX", help="How a line of any other stamped text is read: groups at, data.")
@click.option("--fd", type=int, metavar="N", help="The file descriptor to follow in an strace log.")
@click.option("--lossy-ok", is_flag=True, help="Take logs whose tool throws bytes away.")
@click.option("--speed", type=Speed(), default=MAX, metavar="N|max", help="Times faster than recorded.  [default: max]")
@click.option("--mqtt", metavar="URL", help="Publish to this broker: mqtt://host:port.")
@click.option(
    "--mqtt-wait", type=click.FloatRange(min=0.1), default=60.0, metavar="SECONDS", help="Patience with a broker that is away."
)
@click.option("--listen", is_flag=True, help="Take rulings over MQTT, and stay for them when the recording is over.")
@click.option("--lang", type=click.Choice(languages()), help="The language of prompts and alerts.  [default: the house's]")
@click.option(
    "--supervisor", "supervisors", multiple=True, metavar="NAME", help="Who may rule; again for each.  [default: anybody]"
)
@click.option("--ledger", metavar="FILE", help="Keep the ledger in this file (a new one, but with --resume).")
@click.option("--resume", is_flag=True, help="Go on with the --ledger of a replay that was cut.")
@click.option("--site", default="site", show_default=True, help="The site in the topics.")
@click.option("--pit", default="pit", show_default=True, help="The pit in the topics.")
@click.option("--table", "name", default="table", show_default=True, help="The table in the topics.")
@click.option("--json", "as_json", is_flag=True, help="Notices as JSON lines.")
@click.option("--check", is_flag=True, help="Exit with 3 when there was an alert of severity critical.")
def replay(
    file: str | None,
    house: str | None,
    shoe: str | None,
    shoe_profile: str | None,
    pad: str | None,
    pad_profile: str | None,
    extra: str | None,
    format_: str | None,
    start: str | None,
    zone: str | None,
    pattern: str | None,
    fd: int | None,
    lossy_ok: bool,
    speed: float | None,
    mqtt: str | None,
    mqtt_wait: float,
    listen: bool,
    lang: str | None,
    supervisors: tuple[str, ...],
    ledger: str | None,
    resume: bool,
    site: str,
    pit: str,
    name: str,
    as_json: bool,
    check: bool,
) -> int:
    """Run a recorded session through decoders, game, ledger and MQTT.

    FILE is a native recording, which names its profiles and its house; or --shoe and --pad take any tool's log, one port each,
    merged by time. Prints what happens in words, or with --json every notice as a line of JSON.

    With --ledger FILE --resume a replay that was cut goes on where its ledger ends; the ledger is the same in the end, to the
    byte.

    With --listen the table takes rulings and acknowledgements (see `tablectl rule`) while the recording plays, and stays when it
    is over until Ctrl-C or SIGTERM ends it; that is then its ordinary end. Their times are in the recording's time.

    Exit code 1 when a line of a log was bad, else with --check 3 when there was a critical alert.
    """
    opened = partial(open_log, format=format_, start=start, zone=zone, fd=fd, pattern=pattern, lossy_ok=lossy_ok)
    ports = {"shoe": (shoe, shoe_profile), "pad": (pad, pad_profile)}
    recorded = _one_recording(file, opened, ports) if file else _two_logs(ports, opened)
    if house is None and not recorded.house:
        raise UsageError("which house? give --house, or a recording that names it", field="--house")
    house_file = rules.load(house or recorded.house)
    broker = Address.parse(mqtt) if mqtt else None
    if listen and broker is None:
        raise UsageError("where to? rulings come over --mqtt", field="--listen")
    if resume and ledger is None:
        raise UsageError("which one? give the --ledger to go on with", field="--resume")
    lines = Lines(extra) if extra else None
    if lines:
        lines.check()
    pin = _pin(recorded, house_file, TableName(site, pit, name), extra, lang, supervisors)
    waiting = _Waiting()
    chunks = paced(merge(*recorded.logs), speed, waiting, time.monotonic)
    decoders = {port: Decoder(found.profile, port) for port, found in recorded.profiles.items()}
    decoding = Decoding(decoders, live=any(is_live(log.header) for log in recorded.logs))
    stream: Iterator[Seen | Remark] = decoding.decoded(chunks)
    if lines:
        stream = merged(stream, (Seen(where, observation) for where, observation in lines))
    table = Table(house_file.house, language=lang, supervisors=frozenset(supervisors) or None)
    session = Session(
        table,
        pin,
        ledger=Path(ledger) if ledger else None,
        resume=resume,
        broker=broker,
        batch=BATCH if speed is None else 1,
        patience=mqtt_wait,
        write=to_stdout(at_once=speed is not None) if as_json else None,
        tell=None if as_json else _tell,
    )
    seen_here = (seen for seen in fused(session.fusion, stream) if isinstance(seen, Seen))
    with session, ExitStack() as stack:
        listening = None
        if listen and broker is not None:
            commands = stack.enter_context(Commands(broker, pin.table, trust=Trust(open=True), log=say))
            commands.wait_online(min(mqtt_wait, 10.0))
            listening = waiting.listening = Listening(session, table, commands, speed or 1.0)
        take = listening.take if listening else session.take
        for seen in _with_bar(seen_here, recorded.logs, speed):
            take(seen)
        session.finish()
        if listening is not None:
            say("the recording is over; the table stays for rulings until Ctrl-C")
            listening.stay()
            session.finish()
    for warning in (warning for log in recorded.logs for warning in log.warnings):
        say(warning)
    bad = any(log.damaged for log in recorded.logs) or (lines is not None and lines.exit_code)
    for warning in decoding.warnings:
        say(f"{recorded.logs[0].path}: {warning}")
    bad |= bool(decoding.damaged) | _told_senseless(recorded, decoding)
    return 1 if bad else session.exit_code if check else 0


def _told_senseless(recorded: Recorded, decoding: Decoding) -> bool:
    """Tell which ports made no sense, or had no profile. True when one made none: the log or the profile is the wrong one."""
    paths = {port: log.path for log in recorded.logs for port in ({log.port} if len(recorded.logs) > 1 else recorded.profiles)}
    for port in sorted(decoding.undecoded):
        say(f"{recorded.logs[0].path}: the port {port!r} has no profile and was passed over; give --{port}-profile")
    for port in decoding.senseless:
        profile = recorded.profiles[port].profile.name
        say(f"{paths[port]}: there is not one message of {profile} in it: is it the log of this device, and this its profile?")
    return bool(decoding.senseless)


class _Waiting:
    """How the player waits for the next chunk: asleep, or with an ear for commands."""

    def __init__(self) -> None:
        self.listening: Listening | None = None

    def __call__(self, seconds: float) -> None:
        """Wait for `seconds`."""
        (self.listening.wait if self.listening else time.sleep)(seconds)


def _one_recording(file: str, opened: Callable[..., Log], ports: Mapping[str, tuple[str | None, str | None]]) -> Recorded:
    """A native recording of all ports; its header names their profiles and the house."""
    if any(log for log, _ in ports.values()):
        raise UsageError("give FILE, or --shoe and --pad, not both")
    log = opened(file)
    named = profiles_of(log.header)
    named |= {port: profile for port, (_, profile) in ports.items() if profile}
    if not named and not is_live(log.header):
        raise UsageError("names no profile; give --shoe-profile, or import the log with --profile", where=file)
    return Recorded([log], {port: profiles.load(name) for port, name in named.items()}, log.header.get("house", ""))


def _two_logs(ports: Mapping[str, tuple[str | None, str | None]], opened: Callable[..., Log]) -> Recorded:
    """Other tools' logs, one port each."""
    logs: list[Log] = []
    found: dict[str, profiles.ProfileFile] = {}
    for port, (path, profile) in ports.items():
        if path is None:
            continue
        profile = profile or (PAD if port == "pad" else None)
        if profile is None:
            raise UsageError("which profile? give the name of the device's firmware profile", field=f"--{port}-profile")
        found[port] = profiles.load(profile)
        logs.append(opened(path, port=port))
    if not logs:
        raise UsageError("nothing to replay: give FILE, or --shoe and --pad")
    return Recorded(logs, found, next((log.header["house"] for log in logs if "house" in log.header), ""))


def _pin(
    recorded: Recorded,
    house: rules.HouseFile,
    table: TableName,
    extra: str | None,
    lang: str | None,
    supervisors: Sequence[str],
) -> Pin:
    """What the ledger's first entry says: which bytes were replayed, by which rules, with which software."""
    calibration, deck = next((found for log in recorded.logs if any(found := pinned_of(log.header))), (None, None))
    sources = [log.path for log in recorded.logs] + ([Path(extra)] if extra and extra != "-" else [])
    return Pin(
        software=f"tablectl {__version__}",
        table=table,
        house=Pinned(house.house.name, house.digest),
        language=lang or house.house.language,
        supervisors=tuple(sorted(set(supervisors))),
        profiles={port: Pinned(found.profile.name, found.digest) for port, found in recorded.profiles.items()},
        calibration=calibration,
        deck=deck,
        sources=tuple(Pinned(path.name, digest_of(path)) for path in sources),
    )


def _with_bar(stream: Iterator[Seen], logs: Sequence[Log], speed: float | None) -> Iterator[Seen]:
    """Show a bar on stderr where a person waits for a long replay."""
    size = sum(log.size for log in logs)
    shown = sys.stderr.isatty() and size > LONG and speed is None
    return with_bar(stream, size=size, position=lambda: sum(log.position for log in logs)) if shown else stream


def _tell(notice: Notice) -> None:
    line = told(notice)
    if line is not None:
        click.echo(line)
