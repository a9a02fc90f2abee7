"""Every fault of a configuration, not only the first: its keys, what contradicts what, and what it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from tablectl import config
from tablectl.complaints import explain
from tablectl.config import ConfigFile, TableConfig
from tablectl.daemon.credentials import PREFIX, others_may, secret
from tablectl.daemon.opening import own_key
from tablectl.daemon.outlets import credentials_of
from tablectl.daemon.storage import zone_of
from tablectl.errors import ConfigError, TablectlError
from tablectl.game.irregularities import check_codes
from tablectl.houses import rules
from tablectl.houses.rules import HouseFile
from tablectl.mqtt.address import Address
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.identity import public_key
from tablectl.settings import digest, line_of, read_toml
from tablectl.shoe import profile
from tablectl.shoe.line import checked_address
from tablectl.shoe.profile import ProfileFile
from tablectl.texts import languages

__all__ = ["broker_credentials", "doubts", "faults", "house_of", "misprints", "profile_of", "secrets"]


def faults(path: Path) -> list[ConfigError]:
    """What is wrong with a configuration, each with file, line and field; nothing for a good one."""
    try:
        values, data = read_toml(path, dict[str, Any])
    except ConfigError as error:
        return [error]
    text = data.decode()
    wrong = [
        ConfigError(message, where=str(path), line=line_of(text, field), field=field or None)
        for field, message in _of_types(values, TableConfig, "")
    ]
    if wrong:
        return wrong
    found = ConfigFile(msgspec.convert(values, TableConfig), path.absolute(), digest(data), text, str(path))
    try:
        config.load(path)
    except ConfigError as error:
        wrong.append(error)
    said = {error.field for error in wrong}
    return [*wrong, *(error for error in _of_names(found) if error.field not in said)]


def doubts(found: ConfigFile) -> Iterator[ConfigError]:
    """What may be meant, and mostly is not: a table with a broker over which nobody can command it."""
    broker, accept = found.config.broker, found.config.commands.accept
    if broker is None or "open" in accept:
        return
    if not accept:
        yield found.fault("commands.accept", "nobody can command this table over MQTT: nothing is accepted")
    elif "certificate" not in accept and not any(person.key for person in found.config.people):
        yield found.fault("commands.accept", "nobody can command this table over MQTT: no [[people]] has a key to sign with")
    elif "certificate" in accept and broker.url.startswith("mqtt://"):
        text = "a broker knows a certificate over TLS only, and broker.url is mqtt://: whoever commands needs its mqtts:// port"
        yield found.fault("commands.accept", text)


# Keys and their values.


def _of_types(value: object, kind: Any, field: str) -> Iterator[tuple[str, str]]:
    """Field and message of everything in `value` that is not as its type asks for."""
    plain = _plain(kind)
    before = len(seen := list(_inside(value, plain, field)))
    yield from seen
    if before == 0:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            message, inner = explain(error, kind)
            yield _joined(field, inner or ""), message


def _inside(value: object, plain: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        known = {found.encode_name: found for found in msgspec.structs.fields(plain)}
        for name in value.keys() - known.keys():
            yield _joined(field, name), f"there is no such key; known are {', '.join(known)}"
        for name, found in known.items():
            if name in value:
                yield from _of_types(value[name], found.type, _joined(field, name))
            elif found.required:
                yield _joined(field, name), "is required, and not there"
    elif isinstance(value, list) and get_origin(plain) is tuple:
        for index, item in enumerate(value):
            yield from _of_types(item, get_args(plain)[0], f"{field}[{index}]")


def _plain(kind: Any) -> Any:
    """A type without what is annotated to it and without None."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        rest = [one for one in get_args(kind) if one is not NoneType]
        return _plain(rest[0]) if len(rest) == 1 else kind
    return kind


def _joined(field: str, name: str) -> str:
    return f"{field}{'' if not field or not name or name.startswith('[') else '.'}{name}"


# What is named.


def _of_names(found: ConfigFile) -> Iterator[ConfigError]:
    table = found.config.table
    yield from _of_house(found)
    folder = found.beside(found.config.storage.folder)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        yield found.fault("storage.folder", f"{there} is no folder")
    if table.language is not None and table.language not in languages():
        yield found.fault("table.language", f"there is no catalogue for it; known are {', '.join(languages())}")
    yield from _tried(found, "table.zone", lambda: zone_of(table.zone))
    for index, device in enumerate(found.config.devices):
        field = f"devices[{index}]"
        yield from _tried(found, f"{field}.port", lambda device=device: checked_address(found.address_of(device)))
        yield from _of_port(found, index)
        try:
            kind = profile_of(found, device.profile).profile.kind
        except ConfigError as error:
            yield _named(found, f"{field}.profile", error)
        else:
            if kind != device.name:
                yield found.fault(f"{field}.profile", f"{device.profile} is the profile of a {kind}, not of a {device.name}")
    yield from _of_cameras(found)
    for index, person in enumerate(found.config.people):
        if person.key is not None:
            yield from _tried(found, f"people[{index}].key", lambda key=person.key: public_key(key))
    yield from _of_secrets(found)
    yield from _of_broker(found)


def _of_port(found: ConfigFile, index: int) -> Iterator[ConfigError]:
    """What is at a device's path; nothing may be, yet."""
    devices = found.config.devices
    path = Path(found.address_of(devices[index]))
    if path.is_file() or path.is_dir():
        yield found.fault(f"devices[{index}].port", f"{path} is a {'folder' if path.is_dir() else 'file'}, and no serial port")
    for other in devices[:index] if path.exists() else ():
        if Path(found.address_of(other)).exists() and path.samefile(found.address_of(other)):
            yield found.fault(f"devices[{index}].port", f"leads to the port of {other.name}, too")


def _of_cameras(found: ConfigFile) -> Iterator[ConfigError]:
    if found.calibration is None:
        return
    from tablectl.felt.calibration import load as load_calibration  # only a table with a camera needs what sees
    from tablectl.felt.capture import checked_source

    try:
        known = load_calibration(found.calibration).views
    except ConfigError as error:
        yield _named(found, "felt.calibration", error)
        return
    for index, camera in enumerate(found.config.cameras):
        if camera.name not in known:
            yield found.fault(f"cameras[{index}].name", f"the calibration knows no such camera; known are {', '.join(known)}")
        yield from _tried(found, f"cameras[{index}].source", lambda camera=camera: checked_source(found.source_of(camera)))
    for name in known.keys() - {camera.name for camera in found.config.cameras}:
        yield found.fault("cameras", f"the calibration has a camera {name}, which is not among them")


def _of_house(found: ConfigFile) -> Iterator[ConfigError]:
    try:
        house = house_of(found)
        check_codes(house)
    except ConfigError as error:
        yield _named(found, "table.house", error)
        return
    for key, message in misprints(found, house):
        yield found.fault(f"table.layout.{key}", message)


def misprints(found: ConfigFile, house: HouseFile) -> Iterator[tuple[str, str]]:
    """Key and message of all that is printed on the felt and is not what the house says."""
    for key, printed in found.config.table.layout.items():
        ruled = getattr(house.house.rules, key, None)
        if ruled is None:
            yield key, f"there is no such rule; `tablectl house show {found.config.table.house}` lists them"
            continue
        said = ",".join(map(str, ruled)) if isinstance(ruled, tuple) else str(ruled)
        if str(printed) != said:
            yield key, f"printed is {printed}, the house says {said}"


def _of_secrets(found: ConfigFile) -> Iterator[ConfigError]:
    for field, value in secrets(found):
        path = secret(found, value)
        if path is None:
            continue  # it is handed over when the service starts
        try:
            mode = others_may(path)
        except OSError as error:
            yield found.fault(field, f"{path} cannot be read: {error.strerror}")
            continue
        if mode is not None:
            yield found.fault(field, f"{path} may be used by others (mode {mode}): chmod 600 {path}")
        elif field == "ledger.key" and not value.startswith(PREFIX):
            yield from _tried(found, field, lambda path=path: own_key(found, path))


def _of_broker(found: ConfigFile) -> Iterator[ConfigError]:
    broker = found.config.broker
    if broker is None:
        return
    wrong = list(_tried(found, "broker.url", lambda: Address.parse(broker.url)))
    yield from wrong
    credentials = broker_credentials(found)
    if not wrong and credentials is not None:
        yield from _tried(found, "broker", lambda: credentials.check(Address.parse(broker.url)))


def secrets(found: ConfigFile) -> Iterator[tuple[str, str]]:
    """Field and value of every secret that the configuration names."""
    broker = found.config.broker
    for field, value in (
        ("ledger.key", found.config.ledger.key),
        ("broker.key", broker.key if broker else None),
        ("broker.password", broker.password if broker else None),
    ):
        if value is not None:
            yield field, value


def broker_credentials(found: ConfigFile) -> Credentials | None:
    """Who the table is to its broker; None where one of the secrets is not in our hands (it is the service's)."""
    if found.config.broker is None:
        return None
    try:
        return credentials_of(found)
    except ConfigError:
        return None


def house_of(found: ConfigFile) -> HouseFile:
    """The house that the table plays by. Raises `HouseError`."""
    name = found.config.table.house
    return rules.load(name if name in rules.names() else str(found.beside(name)))


def profile_of(found: ConfigFile, name: str) -> ProfileFile:
    """A firmware profile that a device names. Raises `ProfileError`."""
    return profile.load(name if name in profile.names() else str(found.beside(name)))


def _named(found: ConfigFile, field: str, error: ConfigError) -> ConfigError:
    """A fault of a file that the configuration names: at the file's own line, or else at ours."""
    return error if error.line is not None else found.fault(field, str(error))


def _tried(found: ConfigFile, field: str, what: Any) -> Iterator[ConfigError]:
    try:
        what()
    except TablectlError as error:
        yield found.fault(field, str(error))
