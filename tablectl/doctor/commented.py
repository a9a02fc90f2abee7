"""A commented configuration, made from the types: every key with what it means, what it may be, and its default.

What must be given is filled in with an example; all else stands as a comment, with its default or an example.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import inspect

from tablectl.config import TableConfig

__all__ = ["EXAMPLES", "commented"]

WIDTH = 110

EXAMPLES: dict[str, Any] = {
    "table.site": "my-casino",
    "table.pit": "pit-1",
    "table.name": "{name}",
    "table.house": "fr",
    "table.language": "fr",
    "table.layout": {"dealer_stands": "all_17", "blackjack_pays": "3:2"},
    "table.zone": "Europe/Paris",
    "storage.folder": "/var/lib/tablectl/{name}",
    "recording.keep_days": 400,
    "recording.keep_mb": 100_000,
    "devices": [
        {"name": "shoe", "port": "/dev/tablectl/{name}-shoe", "profile": "angel-eye-ii", "write": False},
        {"name": "pad", "port": "/dev/tablectl/{name}-pad", "profile": "dealer-pad", "write": False},
    ],
    "people": [
        {
            "name": "CHIEF7",
            "may": ["ruling", "ack", "table", "seat", "bet", "shoe", "proof"],
            "key": "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
        },
        {"name": "INSPECTOR2", "may": ["ack", "proof"], "key": "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="},
    ],
    "felt.calibration": "fr",
    "felt.evidence_keep_days": 400,
    "felt.evidence_keep_mb": 100_000,
    "cameras": [{"name": "main", "source": "/dev/v4l/by-id/usb-camera-of-{name}-video-index0"}],
    "ledger.key": "credential:signing.key",
    "broker.url": "mqtts://broker.pit:8883",
    "broker.ca": "/etc/tablectl/ca.pem",
    "broker.certificate": "/etc/tablectl/{name}.pem",
    "broker.key": "credential:tls.key",
    "broker.user": "{name}",
    "broker.password": "credential:mqtt.password",
    "metrics.listen": "127.0.0.1:9723",
}
"""What stands in the file where a key has no default, or none that shows how it is written. `{name}` is the table's name."""

HEAD = """\
# One live table: tablectl run --config {name}.toml
#
# A line that begins with "# " explains; one that begins with "#" alone is a key that may be left out, with its default or an
# example. Relative paths begin at this file's folder. Then: tablectl config check {name}.toml
"""


def commented(name: str) -> str:
    """A configuration for a table of this name, as TOML. It is valid as it stands."""
    lines = [HEAD.format(name=name)]
    struct = cast(inspect.StructType, inspect.type_info(TableConfig))
    for field in struct.fields:
        kind = _without_none(_bare(field.type))
        if isinstance(kind, inspect.VarTupleType):
            item = cast(inspect.StructType, _bare(kind.item_type))
            lines += _array(field, item, EXAMPLES[field.name], name, off=not field.required)
        else:
            section = cast(inspect.StructType, kind)
            off = field.default is None
            lines += _wrapped(_first(section.cls))
            if off:
                lines += ["# Left out, there is none."]
            lines += [f"{'#' if off else ''}[{field.name}]"]
            lines += _keys(section, field.name, {}, name, off=off)
    return "\n".join(lines).rstrip() + "\n"


def _array(
    field: inspect.Field, item: inspect.StructType, examples: list[dict[str, Any]], name: str, *, off: bool
) -> Iterator[str]:
    """The first example with every key explained, the others as comments; `off`: it as well."""
    yield from _wrapped(f"{_first(item.cls)} {_description(field.type)}")
    first, *others = examples
    yield f"{'#' if off else ''}[[{field.name}]]"
    yield from _keys(item, field.name, first, name, off=off)
    for other in others:
        yield f"#[[{field.name}]]"
        yield from (f"#{key} = {_toml(value, name)}" for key, value in other.items())
        yield ""


def _keys(section: inspect.StructType, path: str, example: dict[str, Any], name: str, *, off: bool) -> Iterator[str]:
    for field in section.fields:
        yield from _wrapped(_description(field.type))
        bounds = _bounds(field.type)
        has_default = field.default is not msgspec.NODEFAULT and field.default is not None
        default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        shown = example.get(field.name, EXAMPLES.get(f"{path}.{field.name}", default))
        needs = "Required." if field.required else f"Default: {_toml(default, name)}." if has_default else ""
        yield from _wrapped(" ".join(part for part in (bounds, needs) if part))
        yield f"{'' if field.required and not off else '#'}{field.name} = {_toml(shown, name)}"
        yield ""


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _first(cls: type) -> str:
    return (cls.__doc__ or "").partition("\n")[0]


def _toml(value: Any, name: str) -> str:
    """A value as TOML; strings, numbers and lists are written as in JSON."""
    if isinstance(value, str):
        return json.dumps(value.replace("{name}", name), ensure_ascii=False)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner, name)}" for key, inner in value.items()) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(inner, name) for inner in value) + "]"
    return json.dumps(value)


def _bare(kind: inspect.Type) -> inspect.Type:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    return kind


def _without_none(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.UnionType):
        (kind,) = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    return _bare(kind)


def _description(kind: inspect.Type) -> str:
    text = ""
    while isinstance(kind, inspect.Metadata):
        text = (kind.extra_json_schema or {}).get("description", text)
        kind = kind.type
    return str(text)


def _bounds(kind: inspect.Type) -> str:
    """What a value may be, in words: its least and its greatest, or the words that there are."""
    plain = _without_none(_bare(kind))
    if isinstance(plain, inspect.BoolType):
        return "true or false."
    if isinstance(plain, inspect.LiteralType):
        return f"One of: {', '.join(map(str, plain.values))}."
    if isinstance(plain, inspect.VarTupleType):
        return f"A list of: {_bounds(plain.item_type).removeprefix('One of: ')}"
    if isinstance(plain, inspect.IntType | inspect.FloatType):
        word = "A whole number" if isinstance(plain, inspect.IntType) else "A number"
        return f"{word}, {plain.ge:,} to {plain.le:,.0f}." if plain.ge is not None and plain.le is not None else f"{word}."
    return ""
