"""Fields: the parts of a frame's body that vary, each with a way from the wire to a value and back.

A field stands in a profile as `[[fields]]` with a `type`. A message's body names it as `{name}`; its observation as `{name}` for
the value itself or `{name.part}` for something looked up from it: the bits 6-4 of a byte, the word for a code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import msgspec

from tablectl.cards import PACK, Card, Rank, Suit
from tablectl.shoe.frames import Name

__all__ = ["FIELDS", "AnyField", "Field", "Value"]

Value = str | int | bool | None
"""What a field can say; None is nothing, and leaves its key out of an observation."""

Plain = str | int | bool
Bits = Annotated[str, msgspec.Meta(pattern=r"^[0-7](-[0-7])?$", examples=["0-3"])]
"""Bits of a byte, 7 the highest: `"6-4"`, or `"7"` for a single one."""

CodeAndCard = Annotated[str, msgspec.Meta(pattern=r"^[!-~]{1,32} [2-9TJQKA][CDHS]$", examples=["1a AS"])]
"""A deck maker's code, a blank, and the card it stands on."""

Wanted = Mapping[str, object]
"""What a written field must say, by part; `""` is the value itself."""


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """What all fields share."""

    name: Name

    def pattern(self) -> bytes:
        """A regular expression for the field on the wire. Raises `ValueError` when the settings make none."""
        raise NotImplementedError

    def parts(self) -> list[str]:
        """The names of what can be looked up from it."""
        return []

    def forms(self) -> dict[str, str]:
        """Regular expressions for how values look when they stand in a text, by part; any text where there is none."""
        return {}

    def read(self, wire: bytes) -> dict[str, Value]:
        """The value under `""`, and every part under its name. `wire` fits the pattern."""
        raise NotImplementedError

    def write(self, wanted: Wanted) -> bytes:
        """Bytes that read as what is wanted. Raises `ValueError` when there are none."""
        raise NotImplementedError

    def _first(self, tries: Iterable[bytes], wanted: Wanted) -> bytes:
        """The first of some bytes that reads as what is wanted."""
        for wire in tries:
            if _agrees(self.read(wire), wanted):
                return wire
        raise ValueError(f"{self.name}: nothing on the wire says {dict(wanted)}")


class Lookup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table from what a field holds to what that means. A value that is not in it is `other`, or nothing."""

    name: Name
    values: dict[str, Plain]
    other: Plain | None = None


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some bits of a byte as a number, or what that number means. Numbers in `values` may be written `"0x1F"`."""

    name: Name
    bits: Bits
    values: dict[str, Plain] | None = None
    other: Plain | None = None


class Text(Field, frozen=True, tag="text"):
    """Characters that fit a regular expression. `write` is what is sent when nothing else is asked for."""

    match: str
    write_: str | None = msgspec.field(default=None, name="write")
    lookups: tuple[Lookup, ...] = ()

    def pattern(self) -> bytes:
        """See `Field.pattern`."""
        pattern = self.match.encode("latin-1")
        re.compile(pattern)
        return b"(?:" + pattern + b")"

    def parts(self) -> list[str]:
        """See `Field.parts`."""
        return [lookup.name for lookup in self.lookups]

    def forms(self) -> dict[str, str]:
        """See `Field.forms`."""
        return {"": self.match} | {lookup.name: _one_of(lookup.values, lookup.other) for lookup in self.lookups}

    def read(self, wire: bytes) -> dict[str, Value]:
        """See `Field.read`."""
        text = wire.decode("latin-1")
        return {"": text} | {lookup.name: lookup.values.get(text, lookup.other) for lookup in self.lookups}

    def write(self, wanted: Wanted) -> bytes:
        """See `Field.write`."""
        tries = [str(wanted[""])] if "" in wanted else [] if self.write_ is None else [self.write_]
        if "" not in wanted:
            tries += [text for lookup in self.lookups for text in lookup.values]
        if not tries:
            raise ValueError(f"{self.name}: a value is needed")
        fits = re.compile(self.pattern(), re.DOTALL)
        return self._first((wire for text in tries if fits.fullmatch(wire := text.encode("latin-1", "replace"))), wanted)


class Number(Field, frozen=True, tag="number"):
    """A whole number in ASCII digits, decimal or hexadecimal; `digits` is the fewest and the most of them.

    `write` is what is sent when nothing else is asked for.
    """

    digits: tuple[Annotated[int, msgspec.Meta(ge=1, le=15)], Annotated[int, msgspec.Meta(ge=1, le=15)]]
    base: Literal[10, 16] = 10
    write_: int | None = msgspec.field(default=None, name="write")

    def pattern(self) -> bytes:
        """See `Field.pattern`."""
        if self.digits[0] > self.digits[1]:
            raise ValueError("digits: the fewest are more than the most")
        return (b"[0-9]" if self.base == 10 else b"[0-9A-Fa-f]") + b"{%d,%d}" % self.digits

    def read(self, wire: bytes) -> dict[str, Value]:
        """See `Field.read`."""
        return {"": int(wire, self.base)}

    def write(self, wanted: Wanted) -> bytes:
        """See `Field.write`."""
        given = wanted.get("", self.write_)
        if given is None:
            raise ValueError(f"{self.name}: a number is needed")
        number = int(str(given))
        wire = b"%0*d" % (self.digits[0], number) if self.base == 10 else b"%0*X" % (self.digits[0], number)
        if number < 0 or len(wire) > self.digits[1]:
            raise ValueError(f"{self.name}: {number} has more than {self.digits[1]} digits")
        return wire


class Choice(Field, frozen=True, tag="choice"):
    """One of some texts, each with its value. Where two have the same value, the first is written."""

    values: dict[str, Plain]

    def pattern(self) -> bytes:
        """See `Field.pattern`."""
        return _any_of(self.values)

    def read(self, wire: bytes) -> dict[str, Value]:
        """See `Field.read`."""
        return {"": self.values[wire.decode("latin-1")]}

    def write(self, wanted: Wanted) -> bytes:
        """See `Field.write`."""
        return self._first((text.encode("latin-1") for text in self.values), wanted)


class Byte(Field, frozen=True, kw_only=True, tag="byte"):
    """One byte, looked at by its bits. `bit7` says whether the highest must be set on the wire."""

    bit7: Literal["set", "clear", "any"]
    looks: tuple[Part, ...] = msgspec.field(default=(), name="parts")

    def pattern(self) -> bytes:
        """See `Field.pattern`."""
        return _byte_pattern(self.bit7)

    def parts(self) -> list[str]:
        """See `Field.parts`."""
        return [part.name for part in self.looks]

    def forms(self) -> dict[str, str]:
        """See `Field.forms`."""
        return {part.name: _one_of(part.values, part.other) for part in self.looks}

    def read(self, wire: bytes) -> dict[str, Value]:
        """See `Field.read`."""
        found: dict[str, Value] = {"": wire[0]}
        for part in self.looks:
            number = _bits(wire[0], part.bits)
            if part.values is None:
                found[part.name] = number
            else:
                found[part.name] = next((said for key, said in part.values.items() if int(key, 0) == number), part.other)
        return found

    def write(self, wanted: Wanted) -> bytes:
        """See `Field.write`: the lowest byte that says it."""
        return self._first(_bytes_with(self.bit7), wanted)


class CardByte(Field, frozen=True, kw_only=True, tag="card_byte"):
    """A card in one byte, suit and rank by number. A number without a meaning is a card that passed unread: `??`."""

    bit7: Literal["set", "clear", "any"]
    suit_bits: Bits
    rank_bits: Bits
    suits: dict[str, Suit]
    ranks: dict[str, Rank]

    def pattern(self) -> bytes:
        """See `Field.pattern`."""
        return _byte_pattern(self.bit7)

    def read(self, wire: bytes) -> dict[str, Value]:
        """See `Field.read`."""
        suit = self.suits.get(str(_bits(wire[0], self.suit_bits)))
        rank = self.ranks.get(str(_bits(wire[0], self.rank_bits)))
        return {"": f"{rank}{suit}" if rank and suit else Card.UNREAD.value}

    def write(self, wanted: Wanted) -> bytes:
        """See `Field.write`."""
        return self._first(_bytes_with(self.bit7), wanted)


class CardText(Field, frozen=True, kw_only=True, tag="card_text"):
    """A card in characters, rank then suit. Where a rank has two forms, the first is written."""

    suits: dict[str, Suit]
    ranks: dict[str, Rank]

    def pattern(self) -> bytes:
        """See `Field.pattern`."""
        return _any_of(self._cards())

    def _cards(self) -> dict[str, str]:
        return {rank + suit: self.ranks[rank] + self.suits[suit] for rank in self.ranks for suit in self.suits}

    def read(self, wire: bytes) -> dict[str, Value]:
        """See `Field.read`."""
        return {"": self._cards()[wire.decode("latin-1")]}

    def write(self, wanted: Wanted) -> bytes:
        """See `Field.write`."""
        return self._first((text.encode("latin-1") for text in self._cards()), wanted)


class CardCode(Field, frozen=True, kw_only=True, tag="card_code"):
    """A card in a code of the deck maker's, by a table of `"CODE CARD"` that names all 52."""

    cards: tuple[CodeAndCard, ...]

    def pattern(self) -> bytes:
        """See `Field.pattern`."""
        named = self._cards()
        unknown = [card for card in named.values() if card not in PACK]
        if unknown:
            raise ValueError(f"cards: {unknown[0]} is no card")
        if len(named) < len(self.cards):
            raise ValueError("cards: a code stands twice")
        missing = [card for card in PACK if card not in named.values()]
        if missing:
            raise ValueError(f"cards: no code for {' '.join(missing[:8])}{' ...' if missing[8:] else ''}")
        return _any_of(named)

    def _cards(self) -> dict[str, str]:
        return dict(entry.split(" ") for entry in self.cards)

    def read(self, wire: bytes) -> dict[str, Value]:
        """See `Field.read`."""
        return {"": self._cards()[wire.decode("latin-1")]}

    def write(self, wanted: Wanted) -> bytes:
        """See `Field.write`."""
        return self._first((text.encode("latin-1") for text in self._cards()), wanted)


FIELDS: dict[str, type[Field]] = {
    "text": Text,
    "number": Number,
    "choice": Choice,
    "byte": Byte,
    "card_byte": CardByte,
    "card_text": CardText,
    "card_code": CardCode,
}
"""Every type of field that a profile may name."""

AnyField = Text | Number | Choice | Byte | CardByte | CardText | CardCode


def _agrees(read: Mapping[str, Value], wanted: Wanted) -> bool:
    # By their text, since what is taken out of a formatted text ("E3 ...") has lost its type.
    return all(str(read.get(part)) == str(value) for part, value in wanted.items())


def _one_of(values: Mapping[str, Plain] | None, other: Plain | None) -> str:
    """A regular expression for what a table can give; a number where there is no table."""
    if values is None:
        return "[0-9]+"
    return "|".join(re.escape(str(said)) for said in {*values.values(), "" if other is None else other})


def _any_of(texts: Iterable[str]) -> bytes:
    longest_first = sorted((text.encode("latin-1") for text in texts), key=len, reverse=True)
    return b"(?:" + b"|".join(re.escape(text) for text in longest_first) + b")"


def _byte_pattern(bit7: str) -> bytes:
    return {"set": rb"[\x80-\xff]", "clear": rb"[\x00-\x7f]"}.get(bit7, rb"[\x00-\xff]")


def _bytes_with(bit7: str) -> Iterable[bytes]:
    low, high = {"set": (128, 256), "clear": (0, 128)}.get(bit7, (0, 256))
    return (bytes((byte,)) for byte in range(low, high))


def _bits(byte: int, bits: str) -> int:
    high, _, low = bits.partition("-")
    shift = int(low or high)
    return (byte >> shift) & ((1 << (int(high) - shift + 1)) - 1)
