"""One live table's configuration: `table.toml`, read strictly.

Every key is written down here with what it means; `tablectl config init` makes its commented file from these types. What a key
names (a house, a profile, a file) is looked up by who uses it. Paths are read relative to the file's own folder.
"""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tablectl.errors import ConfigError
from tablectl.ledger.pin import TableName
from tablectl.settings import digest, line_of, read_toml

__all__ = [
    "BrokerConfig",
    "CameraConfig",
    "CommandName",
    "CommandsConfig",
    "ConfigFile",
    "DeviceConfig",
    "FeltConfig",
    "LedgerConfig",
    "MetricsConfig",
    "PersonConfig",
    "RecordingConfig",
    "StorageConfig",
    "TableConfig",
    "TableSection",
    "load",
]

VIRTUAL = "virtual:"
"""What the source of a camera begins with that sees a rendered felt."""

CommandName = Literal["ruling", "ack", "table", "seat", "bet", "shoe", "proof"]

Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


def _says(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all sections share: a key that is not known is an error."""


class TableSection(_Section, frozen=True):
    """Which table this is, and by which rules it plays."""

    site: Annotated[Name, _says("The site in the topics and in the record.")]
    pit: Annotated[Name, _says("The pit in the topics and in the record.")]
    name: Annotated[Name, _says("The table in the topics and in the record.")]
    house: Annotated[str, _says("The house: fr, es, lt, or the path of a TOML file of yours.")]
    language: Annotated[str | None, _says("The language of prompts and alerts; left out: the house's.")] = None
    layout: Annotated[
        dict[str, str | int | bool],
        _says("What is printed on the felt; held against the house when the table opens by itself."),
    ] = {}
    opens: Annotated[
        Literal["at_start", "by_command"],
        _says("Whether a table that begins a day is open, or is opened by the pit (pad or cmd/table)."),
    ] = "at_start"
    zone: Annotated[str, _says("The time zone of the clock on the wall.")] = "UTC"
    day_begins: Annotated[
        str,
        _says("When a gaming day begins, on the wall's clock; the first quiet moment after it begins a new ledger."),
        msgspec.Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["06:00"]),
    ] = "06:00"


class StorageConfig(_Section, frozen=True):
    """Where the record is kept."""

    folder: Annotated[str, _says("Holds ledger/ and recordings/. It must be of this table alone."), msgspec.Meta(min_length=1)]
    min_free_mb: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=10**9)],
        _says("Less free space than this, in megabytes, is told in the status before the disk is full."),
    ] = 500


class RecordingConfig(_Section, frozen=True):
    """The raw bytes of the devices, kept before they are decoded."""

    rotate_mb: Annotated[Count, _says("A new file is begun after so many megabytes.")] = 64
    rotate_hours: Annotated[Seconds, _says("A new file is begun after so many hours.")] = 24.0
    keep_days: Annotated[Seconds | None, _says("Older files are removed; left out: none is for its age.")] = None
    keep_mb: Annotated[Count | None, _says("The oldest files are removed beyond so many megabytes; left out: none is.")] = None


class DeviceConfig(_Section, frozen=True):
    """One serial device."""

    name: Annotated[
        Literal["shoe", "pad"],
        _says("What the record calls it."),
    ]
    port: Annotated[
        str,
        _says(
            "A stable path such as /dev/tablectl/shoe or /dev/serial/by-id/...; usb:SERIAL; socket://host:port; rfc2217://host:port."
        ),
        msgspec.Meta(min_length=1, max_length=1024),
    ]
    profile: Annotated[str, _says("Its firmware profile: a name that `tablectl profile list` knows, or a TOML file's path.")]
    write: Annotated[
        bool,
        _says("Whether the host commands that the profile declares (lock, unlock, clear an error) may be sent to it."),
    ] = False


class FeltConfig(_Section, frozen=True):
    """What the cameras look at, and what is kept of their pictures."""

    calibration: Annotated[str, _says("A calibration that ships, or the path of a folder that `tablectl calibrate` made.")]
    evidence_keep_days: Annotated[
        Seconds | None, _says("Stills and clips of alerts (STORAGE/evidence) that are older are removed; left out: none is.")
    ] = None
    evidence_keep_mb: Annotated[
        Count | None, _says("The oldest stills and clips are removed beyond so many megabytes; left out: none is.")
    ] = None
    raw_video: Annotated[
        bool,
        _says("Whether all that the cameras see is kept as video too (STORAGE/video), alert or not: mind who may be filmed."),
    ] = False
    raw_video_keep_mb: Annotated[Count, _says("The oldest of that video is removed beyond so many megabytes.")] = 50_000


class CameraConfig(_Section, frozen=True):
    """One camera over the felt."""

    name: Annotated[
        str,
        _says("Which of the calibration's cameras it is."),
        msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}$", examples=["main"]),
    ]
    source: Annotated[
        str,
        _says("A stable path such as /dev/v4l/by-id/...; rtsp://host/...; a video; a folder of pictures; virtual:FILE."),
        msgspec.Meta(min_length=1, max_length=1024),
    ]
    fps: Annotated[
        Annotated[float, msgspec.Meta(ge=1, le=60)], _says("How many pictures a second are looked at, at the most.")
    ] = 15.0


class LedgerConfig(_Section, frozen=True):
    """The signatures under the record."""

    key: Annotated[
        str | None,
        _says(
            "The signing key's file (`tablectl audit key FILE --table SITE/PIT/TABLE` makes one), or the name of a systemd "
            "credential as credential:NAME; left out: one is made in the storage folder."
        ),
    ] = None
    checkpoint_seconds: Annotated[Seconds, _says("How often the record's head is signed and told.")] = 60.0


class BrokerConfig(_Section, frozen=True):
    """The MQTT broker."""

    url: Annotated[str, _says("mqtt://host:port or mqtts://host:port.")]
    ca: Annotated[str | None, _says("The certificates that the broker's is held against; left out: the system's.")] = None
    certificate: Annotated[str | None, _says("Our client certificate.")] = None
    key: Annotated[str | None, _says("Its private key's file, or credential:NAME.")] = None
    user: Annotated[str | None, _says("A user name, where the broker asks for one.")] = None
    password: Annotated[str | None, _says("The file that holds the password, or credential:NAME.")] = None


class CommandsConfig(_Section, frozen=True):
    """Commands over MQTT."""

    accept: Annotated[
        tuple[Literal["certificate", "signature", "open"], ...],
        _says(
            "How who commands is known: by the broker's access list (certificate: cmd/NAME/PERSON), by a signature in the "
            "command, or not at all (open: only for a broker on this machine's loopback)."
        ),
    ] = ("signature",)


class PersonConfig(_Section, frozen=True):
    """Somebody who may command this table. Who may rule is a supervisor to the game too."""

    name: Annotated[
        str,
        _says("As in the record and in the certificate's common name."),
        msgspec.Meta(pattern=r"^(service:)?[A-Za-z0-9._-]{1,56}$", examples=["CHIEF7", "service:witness"]),
    ]
    may: Annotated[tuple[CommandName, ...], _says("The commands this person may give.")]
    key: Annotated[
        str | None, _says("The Ed25519 public key that this person's commands are signed with: base64 of its 32 bytes, or PEM.")
    ] = None


class MetricsConfig(_Section, frozen=True):
    """Figures for Prometheus."""

    listen: Annotated[
        str,
        _says("Address and port on which /metrics is served; keep it on loopback or in the pit's own network."),
        msgspec.Meta(pattern=r"^(\[[0-9a-fA-F:]+\]|[0-9.]+|localhost):[0-9]{1,5}$", examples=["127.0.0.1:9723"]),
    ]


class TableConfig(_Section, frozen=True):
    """A live table."""

    table: TableSection
    storage: StorageConfig
    devices: Annotated[tuple[DeviceConfig, ...], _says("The serial devices, one [[devices]] each."), msgspec.Meta(min_length=1)]
    people: Annotated[tuple[PersonConfig, ...], _says("Who may command this table, one [[people]] each; one at least may rule.")]
    recording: RecordingConfig = RecordingConfig()
    felt: FeltConfig | None = None
    cameras: Annotated[
        tuple[CameraConfig, ...], _says("The cameras, one [[cameras]] each; they need [felt]."), msgspec.Meta(max_length=8)
    ] = ()
    ledger: LedgerConfig = LedgerConfig()
    broker: BrokerConfig | None = None
    commands: CommandsConfig = CommandsConfig()
    metrics: MetricsConfig | None = None


class ConfigFile(msgspec.Struct, frozen=True):
    """A configuration as it was read, with its digest. `path` is absolute; what it names is relative to its folder."""

    config: TableConfig
    path: Path
    digest: str
    text: str
    given: str = ""
    """The path as it was given, which errors name; empty: `path`."""

    @property
    def name(self) -> TableName:
        """The table's name in three parts."""
        section = self.config.table
        return TableName(section.site, section.pit, section.name)

    @property
    def supervisors(self) -> frozenset[str]:
        """Who may rule and acknowledge, to the game."""
        return frozenset(person.name for person in self.config.people if {"ruling", "ack"} & {*person.may})

    def beside(self, name: str) -> Path:
        """A path that the file names: as it is when absolute, else beside the file."""
        return self.path.parent / Path(name).expanduser()

    def address_of(self, device: DeviceConfig) -> str:
        """A device's port as it is opened: a path is beside the file, anything else as it stands."""
        elsewhere = "://" in device.port or device.port.startswith("usb:")
        return device.port if elsewhere else str(self.beside(device.port))

    def source_of(self, camera: CameraConfig) -> str:
        """A camera's source as it is opened: a path is beside the file, anything else as it stands."""
        if camera.source.startswith(VIRTUAL):
            return f"{VIRTUAL}{self.beside(camera.source.removeprefix(VIRTUAL))}"
        elsewhere = "://" in camera.source or camera.source.isdigit()
        return camera.source if elsewhere else str(self.beside(camera.source))

    @property
    def calibration(self) -> str | None:
        """The calibration's name or path, for `tablectl.felt.calibration.load`; None without cameras."""
        felt = self.config.felt
        if felt is None:
            return None
        return felt.calibration if re.fullmatch(r"[a-z0-9-]+", felt.calibration) else str(self.beside(felt.calibration))

    def fault(self, field: str, message: str) -> ConfigError:
        """An error at a key of this file, such as `devices[1].port`."""
        return ConfigError(message, where=self.given or str(self.path), line=line_of(self.text, field), field=field)


def load(path: Path) -> ConfigFile:
    """Read a configuration. Raises `ConfigError` with file, line and key for what cannot be."""
    config, data = read_toml(path, TableConfig)
    found = ConfigFile(config, path.absolute(), digest(data), data.decode(), str(path))
    _check(found)
    return found


def _check(found: ConfigFile) -> None:
    """What the types cannot say."""
    config = found.config
    try:
        _ = found.name
    except ConfigError as error:
        field = {"table": "name"}.get(error.field or "", error.field)
        raise found.fault(f"table.{field}", error.message) from None
    for section, names in (
        ("devices", [device.name for device in config.devices]),
        ("people", [person.name for person in config.people]),
        ("cameras", [camera.name for camera in config.cameras]),
    ):
        for index, name in enumerate(names):
            if name in names[:index]:
                raise found.fault(f"{section}[{index}].name", f"{name!r} is there twice")
    if not any("ruling" in person.may for person in config.people):
        raise found.fault("people", 'nobody may rule: give at least one [[people]] with may = ["ruling"]')
    if not any(device.name == "shoe" for device in config.devices):
        raise found.fault("devices", "there is no shoe among them")
    ports = [found.address_of(device) for device in config.devices]
    for index, port in enumerate(ports):
        if port in ports[:index]:
            raise found.fault(f"devices[{index}].port", f"is the port of {config.devices[ports.index(port)].name}, too")
    if config.cameras and config.felt is None:
        raise found.fault("cameras", "cameras need a calibration: give one in [felt]")
    if config.felt is not None and not config.cameras:
        raise found.fault("felt", "no camera looks at it: give at least one [[cameras]]")
    broker = config.broker
    if broker is not None:
        if not re.match(r"mqtts?://", broker.url):
            raise found.fault("broker.url", "no broker address: it begins with mqtt:// or mqtts://")
        if "@" in broker.url:
            raise found.fault("broker.url", "user and password stand in broker.user and in the file broker.password")
        if (broker.certificate is None) != (broker.key is None):
            raise found.fault("broker.certificate", "certificate and key go together")
        if "open" in config.commands.accept and not _is_loopback(broker.url):
            raise found.fault("commands.accept", "open is only for a broker on this machine's loopback")
    if config.metrics is not None:
        host, _, port = config.metrics.listen.rpartition(":")
        try:
            _ = host == "localhost" or ipaddress.ip_address(host.strip("[]"))
        except ValueError:
            raise found.fault("metrics.listen", f"{host} is no address") from None
        if not 1 <= int(port) <= 65535:
            raise found.fault("metrics.listen", f"there is no port {port}: a port is 1 to 65535")


def _is_loopback(url: str) -> bool:
    return re.match(r"mqtts?://(?:[^@/]*@)?(?:127(?:\.[0-9]+){3}|localhost|\[::1\])(?::[0-9]+)?/?$", url) is not None
