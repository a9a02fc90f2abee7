"""The French session dealt live before a real browser: prompts, split, carried stake, insurance, an error and its ruling."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.display.browser.stage import CHIEF, DREW_AGAIN, PIT, TABLE, Live, Seen

BETS = "Faites vos jeux"
STANDS_AT_18 = ["La banque a 18 : elle reste", "Payez la case 3 : 40,00", "Case 3 (main 1) : la mise de 20,00 reste en place"]
SESSION: list[tuple[str, list[str]]] = [
    ("Brûlez 5 cartes", []),  # a new shoe
    ("Brûlez 4 cartes", []),
    ("Brûlez 3 cartes", []),
    ("Brûlez 2 cartes", []),
    ("Brûlez 1 carte", []),
    (BETS, []),
    (BETS, []),  # stakes on 1, 3 and 5
    (BETS, []),
    (BETS, []),
    ("Carte à la case 1", []),
    ("Carte à la case 3", []),
    ("Carte à la case 5", []),
    ("Carte à la banque", []),
    ("Carte à la case 1", []),
    ("Carte à la case 3", []),
    ("Carte à la case 5", []),
    ("Case 3, 16 : tirer, rester, séparer", ["Payez la case 1 : 15,00"]),
    ("Carte à la case 3", []),  # eights are split
    ("Case 3, 11 : tirer, rester, doubler", []),
    ("Carte à la case 3", []),  # and the first of them doubled
    ("Carte à la case 3 (main 1)", []),
    ("Case 3 (main 1), 18 : tirer, rester", []),
    ("Case 5, 16 : tirer, rester", []),
    ("Carte à la case 5", []),
    ("La banque a 6 : tirage", ["La case 5 saute avec 25 : ramassez"]),
    ("La banque a 11 : tirage", []),
    (BETS, STANDS_AT_18),
    (BETS, STANDS_AT_18),  # a stake on 1; on 3 lies what was carried
    ("Carte à la case 1", []),
    ("Carte à la case 3", []),
    ("Carte à la banque", []),
    ("Carte à la case 1", []),
    ("Carte à la case 3", []),
    ("Assurance, case 1 : exactement 5,00 ?", []),
    ("Assurance, case 3 : exactement 10,00 ?", []),
    ("Case 1, 18 : tirer, rester, séparer", []),
    ("Case 3, 17 : tirer, rester", []),
    ("La banque a 11 : tirage", []),
    (
        BETS,
        ["La banque a 21 : elle reste", "Payez la case 1 : 10,00", "Encaissez la case 1 : 10,00", "Encaissez la case 3 : 20,00"],
    ),
]
"""After each thing that shoe or pad says: what the dealer's page says to do now, and what besides."""
FELT = {
    8: {1: "Mise 10,00", 3: "Mise 20,00", 5: "Mise 10,00"},
    21: {3: "8H 3C TH, Total 21, Mise 40,00. Case 3, main 1, 8D TC, Total 18, Mise 20,00, à elle de jouer", 1: "blackjack"},
    26: {3: "égalité, la mise reste. 20,00 reste du coup précédent", 5: "TD 6S 9H, Total 25, Mise 10,00, saute"},
    33: {1: "9S 9C, Total 18", 3: "7D QC, Total 17, Mise 20,00"},
    34: {1: "Assurance 5,00"},
}
"""By what was dealt: what the felt of the table's page says of a box, to who cannot see it."""
OUTSIDE = """() => [document.scrollingElement, ...document.querySelectorAll("main, main *:not(.unseen)")].filter(node => {
    const box = node.getBoundingClientRect();
    const cuts = getComputedStyle(node).overflowY !== "visible";
    const scrolls = cuts && (node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1);
    return scrolls || box.left < -1 || box.top < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1;
}).map(node => `${node.className || node.tagName}: ${node.textContent}`)"""
"""What does not stand whole on the screen."""
SCREENS = ((1920, 1080), (1280, 800), (390, 844))


def says(page: Page, now: str, also: list[str]) -> None:
    """The dealer's page says this to do, and this besides, and no more."""
    expect(page.locator("#now")).to_have_text(now)
    expect(page.locator(".also li")).to_have_text(also)


def fits(page: Page) -> None:
    """Nothing scrolls, and what is to be read is on the screen, whole."""
    assert page.evaluate(OUTSIDE) == []


def test_every_prompt_of_the_session_is_on_the_dealers_page(at_table: Live, browser: Browser) -> None:
    at_table.anew()
    dealer, felt = Seen(browser, at_table.url(f"{TABLE}/dealer")), Seen(browser, at_table.url(TABLE))
    expect(dealer.page.locator("#now")).to_have_text(BETS)
    expect(felt.page.locator("#now")).to_have_text(BETS)
    before = felt.page.locator(".rounds li").count()
    assert dealer.page.locator("html").get_attribute("lang") == "fr"
    for number, (now, also) in enumerate(SESSION):
        at_table.next()
        says(dealer.page, now, also)
        for box, said in FELT.get(number, {}).items():
            expect(felt.page.locator(f"[data-box='{box}']")).to_have_attribute("aria-label", re.compile(re.escape(said)))
        expect(felt.page.locator("#now")).to_have_text(now)
        expect(dealer.page.locator("#said")).to_have_text(". ".join([*also, now]))
    assert at_table.dealt == len(at_table.chunks)
    expect(felt.page.locator(".rounds li")).to_have_count(min(8, before + 2))
    assert (dealer.console, felt.console) == ([], [])
    assert (dealer.loads, felt.loads) == (1, 1)
    dealer.close()
    felt.close()


@pytest.mark.parametrize("size", SCREENS)
def test_the_dealers_page_is_read_without_scrolling(at_table: Live, browser: Browser, size: tuple[int, int]) -> None:
    at_table.whole()
    dealer = Seen(browser, at_table.url(f"{TABLE}/dealer"), size=size)
    says(dealer.page, *SESSION[-1])
    fits(dealer.page)
    letters = dealer.page.locator("#now").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
    assert letters > min(size) / 12  # from two metres
    dealer.close()


def test_an_error_fills_the_dealers_page_until_it_is_ruled_on(at_table: Live, browser: Browser) -> None:
    at_table.whole()
    dealer = Seen(browser, at_table.url(f"{TABLE}/dealer"))
    small = Seen(browser, at_table.url(f"{TABLE}/dealer"), size=SCREENS[2])
    pit, surveillance = Seen(browser, at_table.url(PIT)), Seen(browser, at_table.url("/surveillance"))
    says(dealer.page, *SESSION[-1])
    at_table.card(DREW_AGAIN)
    for seen in (dealer, small):
        error = seen.page.locator("section.error")
        expect(error).to_be_visible()
        expect(error.locator(".what")).to_have_text("La banque a tiré 2H à 21")
        expect(error.locator(".remedy")).to_have_text("Appelez le chef de table")
        expect(seen.page.locator("#now")).to_be_hidden()
        fits(seen.page)
        box, size = error.bounding_box(), seen.page.viewport_size
        assert box is not None
        assert size is not None
        assert box["width"] * box["height"] > 0.95 * size["width"] * size["height"]
    open_ = pit.page.locator("aside .alert", has_text="La banque a tiré 2H à 21")
    expect(open_).to_have_count(1)
    expect(pit.page.locator(".tile.stopped")).to_have_count(1)
    expect(surveillance.page.locator("tbody tr.open")).to_contain_text("La banque a tiré 2H à 21")
    pit.page.set_viewport_size({"width": 390, "height": 844})
    aside, grid = (pit.page.locator(f"main > {name}").bounding_box() for name in ("aside", "section.grid"))
    assert aside is not None
    assert grid is not None
    assert aside["y"] + aside["height"] <= grid["y"]  # what is wrong stands above the tables, and not upon them

    at_table.rule("burn", "brûlée, la banque a 21")
    for seen in (dealer, small):
        expect(seen.page.locator("section.error")).to_be_hidden()
        expect(seen.page.locator("#now")).to_have_text(BETS)
    expect(pit.page.locator(".tile.stopped")).to_have_count(0)
    expect(open_).to_have_count(0)
    expect(surveillance.page.locator("tbody tr.open")).to_have_count(0)
    expect(surveillance.page.locator("tbody tr", has_text="brûlée, la banque a 21")).to_have_count(1)
    for seen in (dealer, small, pit, surveillance):
        assert (seen.console, seen.loads) == ([], 1)
        seen.close()


def test_a_supervisor_signs_in_and_acknowledges_with_the_keyboard_alone(at_table: Live, browser: Browser) -> None:
    at_table.whole()
    at_table.card(DREW_AGAIN)
    pit = Seen(browser, at_table.url(f"/sign-in?to={PIT}"))
    page = pit.page
    expect(page.get_by_role("textbox")).to_be_focused()
    page.keyboard.type(CHIEF)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url == at_table.url(PIT))
    _press_on(page, "button.ack")
    expect(page.locator("#said")).to_have_text("Refusé : le jeu attend une décision")  # and no less will do
    at_table.rule("burn", "tirée après 21")
    expect(page.locator(".alert")).to_have_count(0)

    at_table.load_a_shoe_in_haste()
    expect(page.locator(".alert .text")).to_have_text(re.compile("^Deux cartes en [0-9]+ ms"))
    _press_on(page, "button.ack")
    expect(page.locator("#said")).to_have_text("Pris en compte par CHIEF7")
    expect(page.locator(".alert")).to_have_count(0)
    assert pit.console == ["error: Failed to load resource: the server responded with a status of 409 (Conflict)"]
    pit.close()


def _press_on(page: Page, selector: str) -> None:
    """Go there by the keyboard, and press it."""
    button = page.locator(selector)
    expect(button).to_be_enabled()
    for _ in range(30):
        page.keyboard.press("Tab")
        if button.evaluate("node => node === document.activeElement"):
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"the keyboard does not reach {selector}")
