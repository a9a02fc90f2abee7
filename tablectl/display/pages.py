"""The pages' HTML: a frame that a script fills from its stream, and what needs no script: signing in, and a round to print.

No script and no style stands in a page, and nothing comes from elsewhere, so that the strictest policy holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Literal
from urllib.parse import quote

from tablectl.display.access import Visitor
from tablectl.display.records import Line, Record
from tablectl.display.view import path_of
from tablectl.display.words import Words

__all__ = ["frame", "round_page", "sign_in_page", "text_page"]

Kind = Literal["dealer", "table", "pit", "surveillance"]


def _document(words: Words, title: str, styles: Iterable[str], body: str, *, data: Mapping[str, str], script: str | None) -> str:
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    links = "".join(f'<link rel="stylesheet" href="/static/{style}.css">' for style in styles)
    loaded = f'<script type="module" src="/static/{script}.js"></script>' if script else ""
    return (
        f'<!doctype html>\n<html lang="{words.language}"{attributes}>\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="dark light">'
        f'<title>{escape(title)}</title><link rel="icon" href="/static/icon.svg" type="image/svg+xml">{links}{loaded}</head>\n'
        f"<body>{body}</body>\n</html>\n"
    )


def _head(words: Words, title: str, visitor: Visitor, *, can_sign_in: bool) -> str:
    """What stands above every page but the dealer's."""
    if visitor.name and can_sign_in:
        who = (
            f"<span>{escape(words('word.signed_in', name=visitor.name))}</span>"
            f'<form method="post" action="/sign-out"><button>{escape(words("word.sign_out"))}</button></form>'
        )
    elif visitor.name:
        who = f"<span>{escape(words('word.signed_in', name=visitor.name))}</span>"
    elif can_sign_in:
        who = f'<a href="/sign-in">{escape(words("word.sign_in"))}</a>'
    else:
        who = ""
    return (
        f'<header class="bar"><h1>{escape(title)}</h1><nav><a href="/">{escape(words("word.all_tables"))}</a>'
        f'<a href="/surveillance">{escape(words("title.surveillance"))}</a></nav>'
        f'<div id="tools" class="tools"></div><div class="who">{who}</div></header>'
    )


def frame(
    kind: Kind,
    words: Words,
    *,
    title: str,
    stream: str,
    visitor: Visitor,
    can_sign_in: bool,
    data: Mapping[str, str] | None = None,
) -> str:
    """A page that is filled from the events at `stream`."""
    known = {"kind": kind, "stream": stream, "member": visitor.member.name if visitor.member else ""}
    known |= {"signin": "yes" if can_sign_in else "", **(data or {})}
    plain = f'<h1 class="unseen">{escape(title)}</h1>' if kind == "dealer" else ""
    head = "" if plain else _head(words, title, visitor, can_sign_in=can_sign_in)
    live = '<div id="grey" class="grey" role="status" hidden></div>'
    said = '<div id="said" class="unseen" role="status" aria-live="polite"></div>'
    body = f'{head}{live}<main id="page" tabindex="-1">{plain}</main>{said}'
    return _document(words, title, ("base", kind), body, data=known, script=kind)


def sign_in_page(words: Words, *, to: str, wrong: bool) -> str:
    """Where a token is handed in."""
    trouble = f'<p class="wrong" role="alert">{escape(words("word.wrong_token"))}</p>' if wrong else ""
    body = (
        f'<main class="sign-in"><h1>{escape(words("title.sign_in"))}</h1>{trouble}<form method="post" action="/sign-in">'
        f'<input type="hidden" name="to" value="{escape(to)}"><label>{escape(words("word.token"))} '
        '<input type="password" name="token" autocomplete="current-password" required autofocus></label>'
        f"<button>{escape(words('word.sign_in'))}</button></form></main>"
    )
    return _document(words, words("title.sign_in"), ("base",), body, data={"kind": "sign-in"}, script=None)


def text_page(words: Words, title: str, text: str = "") -> str:
    """A page with a line of text."""
    back = f'<p><a href="/">{escape(words("word.all_tables"))}</a></p>'
    body = f'<main class="sign-in"><h1>{escape(title)}</h1><p>{escape(text)}</p>{back}</main>'
    return _document(words, title, ("base",), body, data={"kind": "text"}, script=None)


def round_page(words: Words, record: Record, visitor: Visitor, *, can_sign_in: bool) -> str:
    """A round, to be read and printed: its outcomes, all that happened in order, and what proves it."""
    title = words("title.round", round=record.round, table=record.table.table)
    name = f"{record.table.site} / {record.table.pit} / {record.table.table}"
    days = sorted({line.at[:10] for line in record.lines if line.at})
    outcomes = [line for line in record.lines if line.event == "outcome"]
    where = " · ".join([name, record.house, ", ".join(days)])
    listed = ("word.time", "word.event", "word.place", "word.cards", "word.total", "word.amount", "word.what", "word.entry")
    parts = [
        _head(words, title, visitor, can_sign_in=can_sign_in),
        f'<main class="round"><p class="where">{escape(where)}</p>',
        f"<section><h2>{escape(words('word.outcomes'))}</h2><table><thead><tr>",
        _cells(words, "th", ("word.place", "word.cards", "word.total", "word.outcomes", "word.staked", "word.returned")),
        "</tr></thead><tbody>",
        *(_outcome(words, line) for line in outcomes),
        f"</tbody></table></section><section><h2>{escape(title)}</h2><table><thead><tr>",
        _cells(words, "th", listed),
        "</tr></thead><tbody>",
        *(_line(words, line, record.language) for line in record.lines),
        f"</tbody></table></section>{_proof(words, record)}</main>",
    ]
    return _document(words, title, ("base", "round"), "".join(parts), data={"kind": "round"}, script="round")


def _cells(words: Words, tag: str, keys: Iterable[str]) -> str:
    return "".join(f'<{tag} scope="col">{escape(words(key))}</{tag}>' for key in keys)


def _place(words: Words, place: str) -> str:
    if place == "dealer":
        return words("word.dealer")
    if place == "burn":
        return words("word.burn")
    box, _, hand = place.removeprefix("box ").partition(".")
    return "" if not place else words("word.hand", box=box, hand=hand) if hand else words("word.box", box=box)


def _card_list(cards: Sequence[str]) -> str:
    suits = {card: "none" if card == "??" else escape(card[1].lower()) for card in cards}
    return " ".join(f'<span class="card suit-{suits[card]}">{_face(card)}</span>' for card in cards)


def _face(card: str) -> str:
    if card == "??":
        return "?"
    return ("10" if card[0] == "T" else escape(card[0])) + {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}.get(card[1], "?")


def _money(words: Words, amount: int | None) -> str:
    return "" if amount is None else escape(words.texts.money(amount))


def _outcome(words: Words, line: Line) -> str:
    cells = [
        escape(_place(words, line.place)),
        _card_list(line.cards),
        "" if line.total is None else str(line.total),
        escape(words(f"result.{line.result}")),
        _money(words, line.amount),
        _money(words, line.returned),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _line(words: Words, line: Line, language: str) -> str:
    at = f'<time datetime="{escape(line.at)}">{escape(line.at[11:])}</time>' if line.at else ""
    what = _alert(words, line, language) if line.event == "alert" else escape(" · ".join(filter(None, _said(words, line))))
    amount = line.returned if line.event == "round_closed" else line.amount
    cells = [
        at,
        escape(words(f"event.{line.event}")),
        escape(_place(words, line.place)),
        _card_list(line.cards),
        "" if line.total is None else str(line.total),
        _money(words, amount),
        what,
        str(line.entry) if line.entry else "",
    ]
    return f'<tr class="event-{escape(line.event)}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _said(words: Words, line: Line) -> tuple[str, ...]:
    """What happened, in the reader's words; a reason and a name as they were given."""
    if line.event == "phase":
        return (words.texts.word("phase", line.text),)
    if line.event == "decision":
        return words.texts.word("action", line.text), line.by or ""
    if line.event == "bet":
        return words.texts.word("kind", line.text), line.by or ""
    if line.event == "outcome":
        return (words(f"result.{line.result}"),)
    if line.event == "ruling":
        return words(f"ruling.{line.do}") if line.do else words("word.ruled_as_heard"), line.text, line.by or ""
    if line.event == "ack":
        return words("word.alert", number=line.text), line.by or ""
    return line.text, line.by or ""


def _alert(words: Words, line: Line, language: str) -> str:
    """An alert in the reader's language; then, where that is another one, as the table said it."""
    own = f'<span lang="{escape(language)}">{escape(f"{line.text} {line.remedy}".strip())}</span>'
    retold = line.words.get(words.language)
    if retold is None:
        return own
    return f'{escape(f"{retold.text} {retold.remedy}".strip())} <span class="original">({own})</span>'


def _proof(words: Words, record: Record) -> str:
    proof = record.proof
    print_ = f'<p class="tools"><button id="print" type="button">{escape(words("word.print"))}</button></p>'
    if proof is None:
        return f"<section><p>{escape(words('word.heard_only'))}</p>{print_}</section>"
    heading = f"<section><h2>{escape(words('word.proof'))}</h2>"
    if proof.trouble:
        trouble = f'<span lang="en">{escape(proof.trouble)}</span>'
        return f"{heading}<p>{escape(words('word.damaged', ledger=proof.ledger))} ({trouble})</p>{print_}</section>"
    if not proof.size:
        said = words("word.no_proof", first=proof.first, last=proof.last, ledger=proof.ledger)
        return f"{heading}<p>{escape(said)}</p>{print_}</section>"
    said = words("word.proof_of", first=proof.first, last=proof.last, ledger=proof.ledger, size=proof.size)
    link = f"/surveillance/proof/{path_of(record.table)}/{record.round}?ledger={quote(proof.ledger)}"
    return (
        f'{heading}<p>{escape(said)}</p><pre>{escape(proof.note)}</pre><p class="screen"><a href="{escape(link)}" download>'
        f"{escape(words('word.download_proof'))}</a></p>{print_}</section>"
    )
