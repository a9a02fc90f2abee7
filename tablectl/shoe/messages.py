"""Messages: what a frame's body means, as data that reads and writes.

A message has a `body` with fields in it and, where it tells the table something, an `observation` whose values are literal or
taken from those fields. One without an observation is known and accounted for, and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec

from tablectl.complaints import explain
from tablectl.observations import Observation
from tablectl.shoe.fields import AnyField, Value
from tablectl.shoe.frames import Name
from tablectl.shoe.templates import fill, pieces, places, take_apart

__all__ = ["BodyForm", "Command", "Flaw", "Message", "MessageForm", "Reading"]

Title = Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
Path = tuple[str, ...]

DEVICE = "device"
"""The place in an observation that is filled with the device's name."""

_KINDS: dict[str, type[Any]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Observation)}


class Flaw(ValueError):
    """Something in a profile that cannot be; `field` is the key below the message, field or frame it is found in."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A message that the device sends, in frames called `frame`.

    `reading` decides what one with an observation does: it `counts`, it is only `accounted` for, or it is a `resent` one
    that counts only when the last card that counted was another (the first sending was lost).
    """

    name: Title
    frame: Name
    body: str
    reading: Literal["counts", "accounted", "resent"] = "counts"
    observation: dict[str, Any] | None = None
    note: str = ""


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that the host can send."""

    name: Title
    frame: Name
    body: str


class Reading(NamedTuple):
    """What a body was read as. `why` explains a message without an observation; `fault` one that cannot be true."""

    message: Message
    values: Mapping[str, Value]
    observation: Observation | None
    why: str
    fault: str


class BodyForm:
    """A body's template, ready to read and write. Raises `Flaw` when it cannot be used."""

    def __init__(self, template: str, fields: Mapping[str, AnyField]):
        try:
            self._pieces = pieces(template)
            names = places(template)
            self._literals = [literal.encode("latin-1") for literal, _ in self._pieces]
        except ValueError as error:
            raise Flaw("body", f"{error}") from None
        for name in names:
            if name not in fields:
                raise Flaw("body", f"{{{name}}}: no field has this name")
            if names.count(name) > 1:
                raise Flaw("body", f"{{{name}}} stands twice")
        self.fields = {name: fields[name] for name in names}
        self._pattern = re.compile(
            b"".join(
                re.escape(literal) + (b"" if place is None else b"(?P<%s>%s)" % (place.encode(), fields[place].pattern()))
                for literal, (_, place) in zip(self._literals, self._pieces, strict=True)
            ),
            re.DOTALL,
        )

    def places(self) -> set[str]:
        """All that an observation or a note may name."""
        return {*self.fields, *(f"{name}.{part}" for name, field in self.fields.items() for part in field.parts())}

    def read(self, body: bytes) -> dict[str, Value] | None:
        """The values in a body; None when it is another message's."""
        match = self._pattern.fullmatch(body)
        if match is None:
            return None
        values: dict[str, Value] = {}
        for name, field in self.fields.items():
            for part, value in field.read(match[name]).items():
                values[f"{name}.{part}" if part else name] = value
        return values

    def write(self, values: Mapping[str, object]) -> bytes:
        """A body that reads as these values. Raises `ValueError` when there is none, or a value is missing."""
        unknown = set(values) - self.places()
        if unknown:
            raise ValueError(f"no place for {', '.join(sorted(unknown))}")
        body = b""
        for literal, (_, place) in zip(self._literals, self._pieces, strict=True):
            body += literal
            if place is not None:
                wanted = {key.partition(".")[2]: value for key, value in values.items() if key.partition(".")[0] == place}
                body += self.fields[place].write(wanted)
        return body


class MessageForm:
    """A message, ready to read and write. Raises `Flaw` when it cannot be used."""

    def __init__(self, message: Message, fields: Mapping[str, AnyField]):
        self.message = message
        self.body = BodyForm(message.body, fields)
        self._template = _flat(message.observation) if message.observation is not None else None
        known = self.body.places()
        try:
            missing = [place for place in places(message.note) if place not in known]
        except ValueError as error:
            raise Flaw("note", str(error)) from None
        if missing:
            raise Flaw("note", f"{{{missing[0]}}}: the body has no such field")
        if self._template is not None:
            self._kind = _check(self._template, known | {DEVICE})
        self._patterns = {
            f"{name}.{part}" if part else name: pattern
            for name, field in self.body.fields.items()
            for part, pattern in field.forms().items()
        }

    def read(self, body: bytes, device: str) -> Reading | None:
        """What a body says; None when it is another message's."""
        values = self.body.read(body)
        if values is None:
            return None
        why = str(fill(self.message.note, values)) if self.message.note else ""
        if self._template is None:
            return Reading(self.message, values, None, why, "")
        known = {**values, DEVICE: device}
        said = {path: fill(said, known) if isinstance(said, str) else said for path, said in self._template.items()}
        try:
            observation = msgspec.convert(_nested(said), Observation)
        except msgspec.ValidationError as error:
            message, field = explain(error, Observation)
            return Reading(self.message, values, None, why, f"{self.message.name}: {field}: {message}")
        return Reading(self.message, values, observation, why, "")

    def values_for(self, observation: Observation) -> dict[str, Value] | None:
        """What the body must hold to say this observation; None when this message cannot say it."""
        if self._template is None or not isinstance(observation, self._kind) or self.message.reading == "accounted":
            return None
        said = _flat(msgspec.to_builtins(msgspec.structs.replace(observation, at=None)))
        values: dict[str, Value] = {}
        for path, text in self._template.items():
            told = said.pop(path, _default(self._kind, path))
            found = take_apart(text, told, self._patterns) if isinstance(text, str) else {} if text == told else None
            if found is None:
                return None
            for place, value in found.items():
                if values.setdefault(place, value) != value:
                    return None
        values.pop(DEVICE, None)
        return None if said else values


def _check(template: Mapping[Path, Any], known: set[str]) -> type[Any]:
    """Hold an observation's template against the types of `tablectl.observations`; return its type."""
    event = template.get(("event",))
    kind = _KINDS.get(str(event))
    if kind is None:
        raise Flaw("observation", f"event {event!r} is none of {', '.join(sorted(_KINDS))}")
    given = {path[0] for path in template} - {"event"}
    fields = {field.name: field for field in msgspec.structs.fields(kind) if field.name != "at"}
    for key in sorted(given - set(fields)):
        raise Flaw("observation", f"{event} has no field {key!r}; it has {', '.join(fields)}")
    for key, field in fields.items():
        if field.required and key not in given:
            raise Flaw("observation", f"{event} needs {key!r}")
    for path, text in template.items():
        if isinstance(text, str):
            try:
                named = places(text)
            except ValueError as error:
                raise Flaw("observation", f"{path[-1]}: {error}") from None
            for place in named:
                if place not in known:
                    raise Flaw("observation", f"{path[-1]}: {{{place}}}: the body has no such field")
        if len(path) == 1 and path != ("event",) and not (isinstance(text, str) and places(text)):
            try:
                msgspec.convert(text, fields[path[0]].type)
            except msgspec.ValidationError as error:
                raise Flaw("observation", f"{path[0]}: {explain(error, fields[path[0]].type)[0]}") from None
    return kind


def _flat(values: Mapping[str, Any], above: Path = ()) -> dict[Path, Any]:
    """`{"to": {"box": 3}}` as `{("to", "box"): 3}`."""
    flat: dict[Path, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, (*above, key))
        else:
            flat[(*above, key)] = value
    return flat


def _nested(flat: Mapping[Path, Value]) -> dict[str, Any]:
    """The way back, without what is None."""
    nested: dict[str, Any] = {}
    for path, value in flat.items():
        if value is None:
            continue
        place = nested
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = value
    return nested


def _default(kind: type[Any], path: Path) -> Value:
    """What an observation that leaves this key out says there."""
    for field in msgspec.structs.fields(kind):
        if path == (field.name,) and not field.required:
            value: Value = field.default
            return value
    return None
