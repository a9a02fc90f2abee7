"""A ledger's first entry: which names it takes, and what hangs on its bytes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.errors import ConfigError
from tablectl.ledger import pin as pins
from tablectl.ledger.pin import MAX_NAME, Pin, Pinned, TableName

PIN = Pin(
    software="tablectl 0.1.0",
    table=TableName("Vilnius", "pit 2", "BJ-7"),
    house=Pinned("lt", "ab" * 32),
    language="lt",
    profiles={"shoe": Pinned("bee-tek", "cd" * 32), "pad": Pinned("dealer-pad", "ef" * 32)},
    sources=(Pinned("shoe.log", None),),
)


@pytest.mark.parametrize(
    "name", ["a/b", "a+b", "#", "", " a", "a\t", "a\x00b", "a\nb", "\u202eb", "\ud800", "x" * (MAX_NAME + 1)]
)
@pytest.mark.parametrize("field", ["site", "pit", "table"])
def test_a_name_that_would_break_a_topic_is_refused_by_field(field: str, name: str) -> None:
    names = {"site": "s", "pit": "p", "table": "t", field: name}
    with pytest.raises(ConfigError) as caught:
        TableName(**names)
    assert caught.value.field == field


@pytest.mark.parametrize("name", ["BJ-7", "Salle des Jeux", "stalas Nr. 1", "ąčę", "$SYS", "x" * MAX_NAME])
def test_names_that_people_give_tables_are_taken(name: str) -> None:
    assert str(TableName(name, name, name)) == f"{name}/{name}/{name}"


def test_the_same_facts_are_the_same_bytes_whatever_the_order_they_were_given_in() -> None:
    turned = msgspec.structs.replace(PIN, profiles=dict(reversed(PIN.profiles.items())))
    assert pins.encode(turned) == pins.encode(PIN)
    assert pins.decode(pins.encode(PIN)) == PIN


def test_what_the_cameras_measured_by_is_pinned_and_a_table_without_has_the_bytes_it_always_had() -> None:
    assert b"calibration" not in pins.encode(PIN)
    assert b"deck" not in pins.encode(PIN)
    seeing = msgspec.structs.replace(PIN, calibration=Pinned("t07", "12" * 32), deck=Pinned("deck", "34" * 32))
    body = pins.encode(seeing)
    assert pins.decode(body) == seeing
    other = msgspec.structs.replace(seeing, calibration=Pinned("t07", "56" * 32))
    assert len({pins.session(pins.encode(pin)) for pin in (PIN, seeing, other)}) == 3


def test_a_pin_of_another_form_is_not_read() -> None:
    with pytest.raises(msgspec.DecodeError):
        pins.decode(pins.encode(PIN).replace(b'"pin":1', b'"pin":2'))


@given(st.sampled_from(["software", "language", "opened"]), st.text(max_size=20))
def test_any_other_fact_is_another_session(field: str, value: str) -> None:
    other = msgspec.structs.replace(PIN, **{field: value})
    assert other != PIN
    assert pins.session(pins.encode(other)) != pins.session(pins.encode(PIN))


def test_a_session_is_the_beginning_of_a_sha256() -> None:
    assert pins.session(b"abc") == "ba7816bf8f01cfea"
