"""The pages' colours: every pair AA or better in both forms, and what is grave told apart by who sees fewer colours."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from tablectl.display.server import STATIC

Colour = tuple[float, float, float]
GROUNDS = ("ground", "raised")
WRITTEN = ("text", "quiet", "link", "critical", "warning", "info")
"""What letters have, on either ground."""
ON = [("on-critical", "critical"), ("ink", "face"), ("red", "face"), ("blue", "face"), ("green", "face")]
FELT = ["#ffffff", "#ffe9a8", "#d8e4dc", "#ffd28a", "#ffe45c"]
"""What is written on the felt; `test_these_are_the_felts` holds them against the style."""
TEXT, SHAPE = 4.5, 3.0
BLIND = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Machado, Oliveira and Fernandes 2009, severity 1, in linear light."""


def variables(sheet: str, *, light: bool) -> dict[str, str]:
    """The colours that hold on a page with this style sheet besides the base."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(("base", sheet)):
        text = (STATIC / f"{name}.css").read_text("utf-8").split("@media print")[0]
        for selector, body in re.findall(r"(:root(?:\[data-light\])?) \{([^}]*)\}", text):
            if light or "data-light" not in selector:
                found |= dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", body))
    return found


def linear(colour: str) -> Colour:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG's ratio."""
    high, low = sorted((_luminance(linear(one)), _luminance(linear(other))), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Colour) -> float:
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


@pytest.mark.parametrize("light", [False, True], ids=["dark", "light"])
@pytest.mark.parametrize("sheet", ["base", "dealer"])
def test_every_pair_is_aa(sheet: str, light: bool) -> None:
    colours = variables(sheet, light=light)
    pairs = [(name, ground) for name in WRITTEN for ground in GROUNDS] + ON
    if sheet == "dealer":
        pairs += [(name, "alarm") for name in ("text", "quiet", "critical")]
    assert {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs if _too_little(colours, pair, TEXT)} == {}
    shapes = [("focus", ground) for ground in GROUNDS]
    assert [pair for pair in shapes if _too_little(colours, pair, SHAPE)] == []


def _too_little(colours: dict[str, str], pair: tuple[str, str], least: float) -> bool:
    return contrast(colours[pair[0]], colours[pair[1]]) < least


@pytest.mark.parametrize("written", FELT)
def test_what_is_written_on_the_felt_is_aa(written: str) -> None:
    assert contrast(written, variables("base", light=False)["felt"]) >= TEXT


def test_these_are_the_felts() -> None:
    text = (STATIC / "table.css").read_text("utf-8")
    fills = re.findall(r"^\.felt \.(?:total|stake|number|held|text)[^{]*\{[^}]*fill: (#[0-9a-f]{6})", text, re.MULTILINE)
    assert {*fills, *re.findall(r"^\.felt text \{[^}]*fill: (#[0-9a-f]{6})", text, re.MULTILINE)} <= set(FELT)
    assert len(fills) >= 3


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("light", [False, True], ids=["dark", "light"])
def test_what_is_grave_is_told_apart_without_all_colours(kind: str, light: bool) -> None:
    colours = variables("base", light=light)
    seen = [_seen(linear(colours[name]), kind) for name in ("critical", "warning")]
    apart = sum((one - other) ** 2 for one, other in zip(*seen, strict=True)) ** 0.5
    assert apart > 0.08, (kind, apart)


def test_what_is_grave_has_its_own_shape_besides() -> None:
    text = "".join(path.read_text("utf-8") for path in STATIC.glob("*.css"))
    shapes = dict(re.findall(r"\.(?:severity\.)?(critical|warning|stop)::before \{ content: \"(\\[0-9A-F]{4})", text))
    assert len(shapes) == 3
    assert all(one != other for one, other in pairwise(sorted(shapes.values())))


def _seen(colour: Colour, kind: str) -> Colour:
    red, green, blue = (sum(weight * part for weight, part in zip(row, colour, strict=True)) for row in BLIND[kind])
    return red, green, blue
