"""Texts with places in braces, used both ways: filled in, and taken apart again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from string import Formatter

from tablectl.shoe.fields import Value

__all__ = ["fill", "pieces", "places", "take_apart"]


@lru_cache(maxsize=1024)
def pieces(template: str) -> tuple[tuple[str, str | None], ...]:
    """A template as literal text, each with the place that follows it (None after the last). `{{` is a brace.

    Raises `ValueError` for a brace that is not closed, or for anything but a name between braces.
    """
    found: list[tuple[str, str | None]] = []
    for literal, place, form, conversion in Formatter().parse(template):
        if place is not None and (form or conversion or not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?", place)):
            raise ValueError(f"{{{place}}} is no name of a field")
        found.append((literal, place))
    return tuple(found)


def places(template: str) -> list[str]:
    """The places of a template, in order. Raises as `pieces` does."""
    return [place for _, place in pieces(template) if place is not None]


def fill(template: str, values: Mapping[str, Value]) -> Value:
    """The template filled in. One that is nothing but a place gives the value itself, with its type."""
    parts = pieces(template)
    if len(parts) == 1 and parts[0][0] == "" and parts[0][1] is not None:
        return values[parts[0][1]]
    return "".join(literal + ("" if place is None else _said(values[place])) for literal, place in parts)


def take_apart(template: str, value: Value, patterns: Mapping[str, str]) -> dict[str, Value] | None:
    """What the places must have held for the template to give `value`; None when it cannot.

    `patterns` are regular expressions for what a place can hold; any text where there is none.
    """
    parts = pieces(template)
    if len(parts) == 1 and parts[0][0] == "" and parts[0][1] is not None:
        return {parts[0][1]: value}
    pattern = ""
    for index, (literal, place) in enumerate(parts):
        pattern += re.escape(literal) + ("" if place is None else f"(?P<p{index}>{patterns.get(place, '.*')})")
    match = re.fullmatch(pattern, str(value), re.DOTALL)
    return None if match is None else {place: match[f"p{index}"] for index, (_, place) in enumerate(parts) if place is not None}


def _said(value: Value) -> str:
    return "" if value is None else str(value)
