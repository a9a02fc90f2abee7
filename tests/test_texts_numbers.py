"""Numbers in the texts of four languages: plural forms, money, and an outside witness for both."""

import re
from decimal import Decimal

import pytest
from babel import Locale
from babel.numbers import format_currency, format_decimal, get_minus_sign_symbol
from hypothesis import given
from hypothesis import strategies as st

from tablectl.notices import Operand
from tablectl.texts import Texts, languages
from tests.catalogues import COUNTS

every_language = pytest.mark.parametrize("language", languages())

NBSP, NARROW = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"


def alert(code: str, operands: dict[str, Operand]) -> str:
    return Texts.of("lt").alert(code, operands, box=3, hand=0, cards="KS", rule=None)


@pytest.mark.parametrize(
    ("code", "one", "few", "many", "number"),
    [
        ("burn", "kortą", "kortas", "kortų", "count"),
        ("shoe.burn_omitted", "kortą", "kortas", "kortų", "count"),
        ("shoe.impossible_card", "kartą", "kartus", "kartų", "count"),
        ("shoe.missing_cards", "kortos", "kortų", "kortų", "count"),
        ("deal.too_few_boxes", "laukeliui", "laukeliams", "laukelių", "count"),
        ("link.clock", "sekundę", "sekundes", "sekundžių", "seconds"),
    ],
)
def test_lithuanian_has_three_forms(code: str, one: str, few: str, many: str, number: str) -> None:
    expected = {0: many, 1: one, 2: few, 9: few, 10: many, 11: many, 12: many, 20: many, 21: one, 22: few, 101: one, 111: many}
    for count, word in expected.items():
        operands: dict[str, Operand] = {"decks": 6, "least": 3, number: count}
        text = Texts.of("lt").prompt("burn", operands) if code == "burn" else alert(code, operands)
        assert re.search(rf"\b{count} {word}\b", text), text


@pytest.mark.parametrize(
    ("language", "singular", "one", "more"),
    [
        ("en", {1}, "Burn {} card", "Burn {} cards"),
        ("es", {1}, "Queme {} carta", "Queme {} cartas"),
        ("fr", {0, 1}, "Brûlez {} carte", "Brûlez {} cartes"),
    ],
)
def test_the_others_have_two(language: str, singular: set[int], one: str, more: str) -> None:
    for count in (0, *COUNTS, 101):
        wanted = (one if count in singular else more).format(count)
        assert Texts.of(language).prompt("burn", {"count": count}) == wanted


def test_a_clock_that_jumped_back_has_the_forms_of_one_that_jumped_on() -> None:
    assert alert("link.clock", {"seconds": -21}) == "Laikrodis peršoko -21 sekundę"


@every_language
def test_the_plural_rules_are_those_of_the_language(language: str) -> None:
    """Held against CLDR by another way than gettext's: the same numbers share a form."""
    category = Locale.parse(language).plural_form
    burn = [Texts.of(language).prompt("burn", {"count": count}).replace(str(count), "#") for count in range(1200)]
    pairs = {(said, category(count)) for count, said in enumerate(burn)}
    assert len(pairs) == len(set(burn)) == len({name for _, name in pairs}) > 1


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", ["0.00", "0.05", "25.00", "1,234.50", "1,234,567.89", "-0.50", "-1,234.50"]),
        ("es", ["0,00", "0,05", "25,00", "1.234,50", "1.234.567,89", "-0,50", "-1.234,50"]),
        ("fr", ["0,00", "0,05", "25,00", f"1{NARROW}234,50", f"1{NARROW}234{NARROW}567,89", "-0,50", f"-1{NARROW}234,50"]),
        ("lt", ["0,00", "0,05", "25,00", f"1{NBSP}234,50", f"1{NBSP}234{NBSP}567,89", "−0,50", f"−1{NBSP}234,50"]),
    ],
)
def test_money_is_written_as_the_language_writes_it(language: str, said: list[str]) -> None:
    amounts = [0, 5, 2500, 123450, 123456789, -50, -123450]
    assert [Texts.of(language).money(amount) for amount in amounts] == said


@pytest.mark.parametrize(
    ("language", "euros", "francs"),
    [
        ("en", "€1,234.50", f"CHF{NBSP}1,234.50"),
        ("es", f"1.234,50{NBSP}€", f"1.234,50{NBSP}CHF"),
        ("fr", f"1{NARROW}234,50{NBSP}€", f"1{NARROW}234,50{NBSP}CHF"),
        ("lt", f"1{NBSP}234,50{NBSP}€", f"1{NBSP}234,50{NBSP}CHF"),
    ],
)
def test_money_with_its_currency(language: str, euros: str, francs: str) -> None:
    assert Texts.of(language).money(123450, "EUR") == euros
    assert Texts.of(language).money(123450, "CHF") == francs


@every_language
@given(amount=st.integers(min_value=-(10**15), max_value=10**15))
def test_money_agrees_with_the_locales(language: str, amount: int) -> None:
    """An outside witness. Where a new Babel disagrees our bytes have not changed: weigh whether the language has."""
    exact = Decimal(amount).scaleb(-2)
    minus = get_minus_sign_symbol(language)  # which Babel itself leaves as the pattern has it
    texts = Texts.of(language)
    assert texts.money(amount) == format_decimal(exact, "#,##0.00", locale=language).replace("-", minus)
    assert texts.money(amount, "EUR") == format_currency(exact, "EUR", locale=language).replace("-", minus)
