"""What msgspec complains of, in plain words: which key it is about, what was expected there, and what may stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

__all__ = ["explain"]

_PATH = re.compile(r"^(?P<message>.*?)(?: - at (?:`key` in )?`\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_KEY = re.compile(r"^Object (?P<what>missing required|contains unknown) field `(?P<name>.+)`$", re.DOTALL)
_ENUM = re.compile(r"^Invalid (?:enum )?value (?P<value>.+)$", re.DOTALL)
_TYPE = re.compile(r"^Expected `(?P<wanted>[^`]+)`, got `(?P<got>[^`]+)`$")
_BOUND = re.compile(r"^Expected `(?:int|float|decimal)` (?P<sign>[<>]=?) (?P<bound>\S+)$")
_LENGTH = re.compile(r"^Expected `(?P<of>str|array|object)` of length (?:(?P<sign>[<>]=) )?(?P<bound>\d+)(?:, got \d+)?$")
_FORM = re.compile(r"^Expected `str` matching regex '(?P<regex>.*)'$", re.DOTALL)
_STEP = re.compile(r"\.?([^.\[\]]+)|(\[[^\]]*\])")

_TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "keys with values",
    "null": "nothing",
    "date": "a date",
    "time": "a time of day",
    "datetime": "a date and time",
}
_SIGNS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than", None: "just"}
_MANY = 12
"""Where there are more keys than so many, only those are named that are near to a wrong one."""
_PIECES = {"str": "characters", "array": "entries", "object": "keys"}


def explain(error: msgspec.ValidationError, kind: Any = None) -> tuple[str, str | None]:
    """What is wrong, and the dotted path of the field it is about (None: the whole).

    `kind` is the type that was asked for: with it, what may stand there is said as well.
    """
    match = _PATH.match(str(error))
    message, path = (match["message"], match["path"] or "") if match else (str(error), "")
    inside = path
    named = _KEY.match(message)
    if named:
        path = f"{path}.{named['name']}" if path else named["name"]
        inside = path if named["what"] == "missing required" else inside
    try:
        there = [] if kind is None else [*_at(_info(kind), [*_steps(inside)])]
    except TypeError:  # a type that msgspec cannot describe, or that cannot be kept by `cache`
        there = []
    return _plain(message, there), path or None


def _plain(message: str, there: list[inspect.Type]) -> str:
    if key := _KEY.match(message):
        if key["what"] == "missing required":
            choices = _choices(there)
            return f"is required, and not there{f'; it is one of {_list(choices)}' if choices else ''}"
        known = [field.encode_name for one in there if isinstance(one, inspect.StructType) for field in one.fields]
        near = get_close_matches(key["name"], known) if len(known) > _MANY else []
        return f"there is no such key; near to it is {_list(near)}" if near else _known("there is no such key", known)
    if enum := _ENUM.match(message):
        return _known(f"{enum['value']} is not known", [*_choices(there), *_others(there)])
    if kinds := _TYPE.match(message):
        wanted = " or ".join(_TYPES.get(one, one) for one in kinds["wanted"].split(" | "))
        got = "a number with a point" if kinds["got"] == "float" else _TYPES.get(kinds["got"], kinds["got"])
        choices = _choices(there)
        return f"expected {wanted}{f' ({_list(choices)})' if choices else ''}, got {got}"
    if bound := _BOUND.match(message):
        return f"must be {_SIGNS[bound['sign']]} {bound['bound'].removesuffix('.0')}"
    if length := _LENGTH.match(message):
        if length["bound"] == "1" and length["sign"] == ">=":
            return "must not be empty"
        return f"must have {_SIGNS[length['sign']]} {length['bound']} {_PIECES[length['of']]}"
    if form := _FORM.match(message):
        examples = [example for one in there for example in _examples(one)]
        return f"must be written like {_list(examples)}" if examples else f"must be of the form {form['regex']}"
    return message


def _known(said: str, known: list[str]) -> str:
    return f"{said}; known are {_list(known)}" if known else said


def _list(words: list[str]) -> str:
    return ", ".join(dict.fromkeys(words))


@cache
def _info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _steps(path: str) -> Iterator[str]:
    """`a.b[2]` -> `a`, `b`, `[2]`."""
    return (name or index for name, index in _STEP.findall(path))


def _at(kind: inspect.Type, steps: list[str]) -> Iterator[inspect.Type]:
    """The types that may stand at a path; several where there are several that have it."""
    bare = _bare(kind)
    if isinstance(bare, inspect.UnionType):
        for one in bare.types:
            yield from _at(one, steps)
    elif not steps:
        yield kind
    elif isinstance(bare, inspect.StructType):
        step, *rest = steps
        if step == bare.tag_field and not rest:
            yield inspect.LiteralType((bare.tag,))
        for field in bare.fields:
            if field.encode_name == step:
                yield from _at(field.type, rest)
    elif isinstance(bare, inspect.DictType):
        yield from _at(bare.value_type, steps[1:])
    elif isinstance(bare, inspect.VarTupleType | inspect.ListType):
        yield from _at(bare.item_type, steps[1:])


def _bare(kind: inspect.Type) -> inspect.Type:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    return kind


def _examples(kind: inspect.Type) -> list[str]:
    found: list[str] = []
    while isinstance(kind, inspect.Metadata):
        found += (kind.extra_json_schema or {}).get("examples", [])
        kind = kind.type
    return found


def _choices(there: list[inspect.Type]) -> list[str]:
    return [str(value) for one in there if isinstance(bare := _bare(one), inspect.LiteralType) for value in bare.values]


def _others(there: list[inspect.Type]) -> list[str]:
    """What may stand beside one of the choices."""
    names = {inspect.IntType: "int", inspect.FloatType: "float", inspect.BoolType: "bool", inspect.VarTupleType: "array"}
    return [_TYPES[names[type(bare)]] for one in there if type(bare := _bare(one)) in names]
