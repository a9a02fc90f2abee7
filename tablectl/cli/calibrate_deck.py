"""`tablectl calibrate deck`: each card shown once, and its corners kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from tablectl.cards import PACK, Card
from tablectl.cli.main import say
from tablectl.errors import InputError, TablectlError, UsageError
from tablectl.felt import calibration as calibrations
from tablectl.felt import deck as decks
from tablectl.felt.drift import require_size
from tablectl.felt.sharpening import eyes_for, report
from tablectl.felt.showing import pictures
from tablectl.felt.sources import SUFFIXES, folder_pictures, is_camera
from tablectl.felt.view import Picture

__all__ = ["deck"]


@click.command(
    epilog="\b\nExample:\n  tablectl calibrate deck my-table  cards/*.jpg\n  tablectl calibrate deck my-table deck.mp4"
)
@click.argument("calibration", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--camera", default="main", show_default=True, help="Which of the table's cameras.")
@click.option(
    "--order",
    help="The cards as they are shown: 'AS 2S ...'; left out: the files' names, or clubs, diamonds, hearts, spades, ace to king.",
)
@click.option("--on", "place", default="4", show_default=True, help="Where the cards are shown: a box, or dealer.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def deck(calibration: Path, sources: tuple[str, ...], camera: str, order: str | None, place: str, as_json: bool) -> None:
    """Enrol a deck: each card is shown once, alone on an empty box; its corners are kept in the folder.

    Of pictures, each shows one card. In a video or before a camera a card counts once it lies still; take it away before the
    next. Cards that were enrolled before something went wrong are kept: show the others with --order.

    Then it is tried whether the deck sharpens the reader for this table, which takes some seconds.
    """
    table = calibrations.load(calibration, fine=False)
    view = table.views.get(camera)
    area = table.layout.areas.get("dealer" if place == "dealer" else int(place) if place.isdigit() else 0)
    if view is None or area is None:
        raise UsageError(f"no such camera or place: {camera if view is None else place}", where=str(calibration))
    still, names = _stills(sources)
    cards = _cards(order.split()) if order else _cards(names) if still else list(PACK)
    shown = pictures(sources, most=100_000, gap_s=0.2)
    found: list[decks.Enrolled] = []
    try:
        for one in decks.enrol(_checked(shown, table, camera), view, area, table.layout.card, cards, moving=not still):
            found.append(one)
            say(f"{one.card}: {one.source}")
            if len(found) == len(cards):
                break
    except (TablectlError, KeyboardInterrupt):
        if found:  # they need not be shown again
            decks.write_deck(calibration, found, table.layout.card)
            say(f"{len(found)} of {len(cards)} cards are enrolled; show the others with --order")
        raise
    if not found:
        raise InputError("no card was seen to lie still, alone", where=sources[0])
    decks.write_deck(calibration, found, table.layout.card)
    enrolled = decks.load_deck(calibration)
    assert enrolled is not None
    _, outcome = eyes_for(calibration, keep=True)
    assert outcome is not None
    missing = [str(card) for card in PACK if card not in enrolled.patches]
    if as_json:
        click.echo(
            json.dumps(
                {
                    "file": str(calibration / "deck.toml"),
                    "enrolled": [str(one.card) for one in found],
                    "missing": missing,
                    "reader": report(outcome),
                },
                indent=2,
            )
        )
        return
    click.echo(f"{calibration / 'deck.toml'}: {len(found)} cards enrolled; missing: {' '.join(missing) or 'none'}")
    click.echo(f"the deck {outcome}")


def _stills(sources: tuple[str, ...]) -> tuple[bool, list[str]]:
    """Whether all sources are pictures, and their names without suffix, in the order they are read."""
    names: list[str] = []
    for source in sources:
        path = Path(source)
        if is_camera(source) or (path.is_file() and path.suffix.lower() not in SUFFIXES):
            return False, []
        names += [file.stem for file in (folder_pictures(path) if path.is_dir() else [path])]
    return True, names


def _cards(names: list[str]) -> list[Card]:
    cards: list[Card] = []
    for name in names:
        try:
            card = Card(name)
        except ValueError:
            card = Card.UNREAD
        if card is Card.UNREAD:
            raise UsageError(f"{name!r} is no card; name the pictures by their cards (AS.jpg), or give --order")
        if card in cards:
            raise UsageError(f"{card} is named twice; each card is shown once")
        cards.append(card)
    return cards


def _checked(shown: Iterator[tuple[str, Picture]], table: calibrations.Calibration, camera: str) -> Iterator[tuple[str, Picture]]:
    for name, frame in shown:
        require_size(frame, table.views[camera], name)
        yield name, frame
