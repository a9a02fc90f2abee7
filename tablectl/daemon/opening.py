"""How a table begins: its rules and profiles, its key, and the ledger with which it goes on or that it begins.

A ledger is of one gaming day and one house. The first quiet moment of a new day, between two rounds, begins the next ledger: it
names the one before it (session, size and root), and takes the table's standing over. A table that starts folds the day's ledger
again, and then takes in what the recordings hold beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Literal, NamedTuple

import msgspec

from tablectl import __version__
from tablectl.config import ConfigFile, TableSection
from tablectl.daemon.credentials import secret
from tablectl.daemon.storage import RECORD, WRITTEN, Day, Storage, day_of, zone_of
from tablectl.errors import ConfigError, InputError, LedgerError, TablectlError
from tablectl.fusion import State
from tablectl.game.table import Table
from tablectl.game.view import TableView
from tablectl.houses import rules
from tablectl.houses.rules import HouseFile
from tablectl.instants import from_micros, to_micros
from tablectl.ledger.checkpoint import key_name, vouches_for
from tablectl.ledger.keys import Signer
from tablectl.ledger.pin import Follows, Pin, Pinned
from tablectl.ledger.reader import Reader
from tablectl.ledger.refold import table_of
from tablectl.ledger.store import Ledger
from tablectl.observations import Link, Observation, TableState
from tablectl.recording.folder import ledger_if_any, recordings
from tablectl.recording.fusing import FUSED, decode_state
from tablectl.recording.importers import open_log
from tablectl.recording.upkeep import sync_folder
from tablectl.shoe import profile as profiles
from tablectl.shoe.profile import ProfileFile

__all__ = [
    "Opened",
    "Ruled",
    "calibrated",
    "doubt_of",
    "first_seen",
    "followed",
    "fused_of",
    "gaming_day",
    "is_new_day",
    "look_up",
    "open_ledger",
    "own_key",
    "pin_of",
    "secret_of",
    "see_ledgers",
    "signer_of",
]

UNCHECKED = "no deck is enrolled: whether its cameras can read this table's cards was not checked (tablectl calibrate deck)"
"""What is said of a table with cameras whose calibration has no deck."""
KEY = "signing-key"
"""The signing key in the storage folder, where the configuration names none."""
DECK = "deck"
"""What an enrolled deck is called in the pin: it has no name of its own."""
MAKING = ".making"
"""What a ledger's name ends in until it has its first entry."""


class Ruled(NamedTuple):
    """What a configuration names, looked up: the house, the profiles by port, what the cameras measure by and the deck in it."""

    house: HouseFile
    profiles: Mapping[str, ProfileFile]
    calibration: Pinned | None = None
    deck: Pinned | None = None


class Opened(NamedTuple):
    """A ledger that is open for writing, and the table as it stands where the ledger ends; `fresh` where the ledger was begun."""

    ledger: Ledger
    table: Table
    fresh: bool


def look_up(file: ConfigFile) -> Ruled:
    """Find house, profiles, zone and calibration.

    Raises `ConfigError` (`HouseError`, `ProfileError`) naming the file that is wrong.
    """
    table = file.config.table
    try:
        zone_of(table.zone)
    except ConfigError as error:
        raise file.fault("table.zone", error.message) from None
    house = rules.load(_named(file, table.house, rules.names()))
    found: dict[str, ProfileFile] = {}
    for index, device in enumerate(file.config.devices):
        profile = profiles.load(_named(file, device.profile, profiles.names()))
        if profile.profile.kind != device.name:
            raise file.fault(f"devices[{index}].profile", f"{profile.profile.name} is the profile of a {profile.profile.kind}")
        found[device.name] = profile
    return Ruled(house, found, *calibrated(file))


def calibrated(file: ConfigFile) -> tuple[Pinned | None, Pinned | None]:
    """The calibration as it lies there now, and the deck that is enrolled in it. Raises `ConfigError`."""
    if file.calibration is None:
        return None, None
    from tablectl.felt.calibration import digests  # OpenCV, which a table without cameras can do without

    try:
        found = digests(file.calibration)
    except ConfigError as error:
        raise file.fault("felt.calibration", str(error)) from None
    return Pinned(found.name, found.all), Pinned(DECK, found.deck) if found.deck is not None else None


def _named(file: ConfigFile, name: str, known: list[str]) -> str:
    """A name that ships, or a file beside the configuration."""
    return name if name in known or not Path(name).suffix else str(file.beside(name))


def secret_of(file: ConfigFile, field: str, value: str) -> Path:
    """The file of a secret that the key `field` names. Raises `ConfigError` where systemd did not hand it over."""
    found = secret(file, value)
    if found is None:
        raise file.fault(field, f"{value} was not handed over; it comes from LoadCredential= in the service")
    return found


def see_ledgers(storage: Storage) -> None:
    """See that no ledger is gone of which recordings are there: the next one would be begun as if that day had not been.

    Ledgers older than the newest may have been moved to an archive. Raises `LedgerError`, which names recordings and ways on, and
    `InputError` for a folder that cannot be read.
    """
    newest = max(storage.days(), default=Day("", 0))
    gone: dict[str, list[Path]] = {}
    try:
        for path in recordings(storage.recordings):
            day = Day.parse(ledger_if_any(path) or "")
            if day is not None and day > newest and _has_chunks(path):
                gone.setdefault(day.name, []).append(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(storage.recordings)) from None
    for name, paths in sorted(gone.items()):
        last = f" to {paths[-1].name}" if len(paths) > 1 else ""
        raise LedgerError(
            f"is gone, and of it {len(paths)} recordings are there ({paths[0].name}{last} in {storage.recordings}): put the "
            "ledger, or an older copy of it, back; or move these recordings to another folder, and a new ledger is begun",
            where=str(storage.ledgers / name),
        )


def _has_chunks(path: Path) -> bool:
    """Whether anything was recorded; a day that could not begin leaves a header alone."""
    return next(iter(open_log(path, "native")), None) is not None


def signer_of(file: ConfigFile, storage: Storage, *, missing: Literal["make", "refuse"]) -> Signer:
    """The key that signs the ledger's heads; where none is named, one in the storage folder.

    One that is `missing` there is made, or refused where another has signed the ledgers and is not at hand to hand over. Raises
    `ConfigError` also when the key cannot be read, or is not called after this table.
    """
    if file.config.ledger.key is not None:
        return own_key(file, secret_of(file, "ledger.key", file.config.ledger.key))
    path = storage.folder / KEY
    if not path.exists():
        if missing == "refuse":
            raise ConfigError(
                "the signing key is missing, and ledgers are there that it signed: put it back from its copy, or name in "
                "ledger.key where it is now; where it is lost, move ledger and recordings to another folder and begin anew",
                where=str(path),
            )
        Signer.make(key_name(file.name)).save(path)
    return own_key(file, path)


def own_key(file: ConfigFile, path: Path) -> Signer:
    """The key in a file, which is to be this table's. Raises `ConfigError`."""
    signer = Signer.load(path)
    if not vouches_for(signer.verifier, file.name):
        raise ConfigError(
            f"is the key {signer.verifier.name}, not that of table {file.name}; "
            f"make one: tablectl audit key FILE --table {quote(str(file.name))}",
            where=str(path),
        )
    return signer


def doubt_of(ruled: Ruled) -> str | None:
    """What whoever starts a table is to know of its felt, in words; None: nothing."""
    return UNCHECKED if ruled.calibration is not None and ruled.deck is None else None


def first_seen(table: Table, blank: TableSection | None) -> Iterator[Observation]:
    """What is to be seen first of a table that was folded again; `blank` is what is configured of one that saw nothing yet."""
    for name, device in sorted(table.devices.items()):
        if device.state == "up" and name != RECORD:
            yield Link(device=name, state="down", why="the table was not running")
        elif device.state == "down" and name == RECORD:  # it is written now, or the table does not begin
            yield Link(device=RECORD, state="up", why=WRITTEN)
    if blank is not None:
        opening = blank.opens == "at_start"
        yield TableState(state="open", layout=blank.layout or None) if opening else TableState(state="closed")


def pin_of(file: ConfigFile, ruled: Ruled) -> Pin:
    """What the ledger pins of this configuration, without what is said of its beginning."""
    return Pin(
        software=f"tablectl {__version__}",
        table=file.name,
        house=Pinned(ruled.house.house.name, ruled.house.digest),
        language=file.config.table.language or ruled.house.house.language,
        supervisors=tuple(sorted(file.supervisors)),
        profiles={port: Pinned(found.profile.name, found.digest) for port, found in ruled.profiles.items()},
        calibration=ruled.calibration,
        deck=ruled.deck,
    )


def open_ledger(
    file: ConfigFile,
    ruled: Ruled,
    storage: Storage,
    signer: Signer,
    *,
    now: int,
    tried: Callable[[str], object],
) -> Opened:
    """Go on with the newest ledger, which is still to be folded again, or begin one. `now` is in microseconds since 1970.

    `tried` is called with a line before what may take long. Raises `LedgerError` when the ledger is damaged, or was left in the
    middle of a round under other rules.
    """
    pin = pin_of(file, ruled)
    days = storage.days()
    if not days:
        return _begun(file, storage, msgspec.structs.replace(pin, opened=from_micros(now), signer=signer.verifier.vkey), ruled)
    path = storage.path(days[-1])
    tried(f"reading {path.name} again")
    with Reader(path) as reader:
        before = reader.latest("pin")
        state = reader.latest("state")
    if before is None:
        raise LedgerError("is damaged: it has no pin", where=str(path))
    if msgspec.json.decode(before.body, type=Pin).house != pin.house:
        if state is not None and msgspec.json.decode(state.body, type=TableView).round_open:
            raise LedgerError(
                "was left in the middle of a round under other rules; finish it with the house's file as it was", where=str(path)
            )
        with Ledger.resume(path) as old:
            last = Follows(old.session, old.head().size, old.head().root.hex())
        begun = msgspec.structs.replace(pin, opened=from_micros(now), signer=signer.verifier.vkey, follows=last)
        return _begun(file, storage, begun, ruled)
    ledger = Ledger.resume(path, pin)
    try:
        table = table_of(ledger.begun, ruled.house.house)
    except ValueError as error:
        ledger.close()
        raise LedgerError(f"is damaged: what it takes over cannot be read: {error}", where=str(path)) from None
    return Opened(ledger, table, fresh=False)


def fused_of(opened: Opened) -> State | None:
    """What fusion knew where the ledger ends; None where that is not kept, since no camera was there."""
    if opened.fresh:
        return None
    with Reader(opened.ledger.path) as reader:
        kept = reader.latest(FUSED)
    return None if kept is None else decode_state(kept.body)


def _begun(file: ConfigFile, storage: Storage, pin: Pin, ruled: Ruled) -> Opened:
    ledger = _made(storage.path(storage.next_day(gaming_day(file, to_micros(pin.opened or "")))), pin)
    return Opened(ledger, table_of(ledger.begun, ruled.house.house), fresh=True)


def _made(path: Path, pin: Pin) -> Ledger:
    """Begin a ledger that is there whole or not at all: one that a kill left half made would be taken for a damaged one."""
    making = path.with_name(path.name + MAKING)
    try:
        making.unlink(missing_ok=True)
        Ledger.create(making, pin).close()
        making.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise LedgerError(f"cannot be begun: {error.strerror}", where=str(path)) from None
    try:
        return Ledger.resume(path)
    except LedgerError:
        path.unlink()  # the one before it goes on; where even this is refused we end, and the next start goes on with this one
        raise


def gaming_day(file: ConfigFile, at: int) -> str:
    """The gaming day (ISO date) of a moment at this table, in microseconds since 1970."""
    section = file.config.table
    return day_of(at, zone_of(section.zone), section.day_begins)


def is_new_day(file: ConfigFile, ledger: Ledger, now: int) -> bool:
    """Whether the gaming day of a ledger is over."""
    return gaming_day(file, now) > ledger.path.name[: len("2026-11-30")]


def followed(
    file: ConfigFile, ruled: Ruled, storage: Storage, signer: Signer, ledger: Ledger, standing: bytes, *, now: int
) -> Opened:
    """Begin the ledger that follows this one, all of which is committed; the table's `standing` is taken over.

    Raises `LedgerError` when the new ledger cannot be made; the old one is then as it was.
    """
    head = ledger.head()
    pin = msgspec.structs.replace(
        pin_of(file, ruled),
        opened=from_micros(now),
        signer=signer.verifier.vkey,
        follows=Follows(ledger.session, head.size, head.root.hex()),
        carried=standing.decode(),
    )
    try:
        return _begun(file, storage, pin, ruled)
    except TablectlError as error:
        raise LedgerError(f"the new day's ledger cannot be begun: {error}", where=str(storage.ledgers)) from None
