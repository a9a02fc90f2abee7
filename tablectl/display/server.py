"""The display's web server: pages, their streams of events, signing in, and the one thing that a page may ask for.

Routes: `/` and `/pit/...` (tables at a glance), `/table/SITE/PIT/TABLE` and `.../dealer`, `/surveillance` and below it rounds
and their proofs, `/events/...` (what fills those pages), `POST /ack`. A table or a pit may be named by its last part alone
where only one is called so.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, quote, unquote

import msgspec
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tablectl.display import pages
from tablectl.display.access import ANYBODY, COOKIE, Access, Visitor, is_our_own, within
from tablectl.display.acknowledge import Answer, Speaker
from tablectl.display.guard import Guard
from tablectl.display.hub import Hub, Kind, Reader
from tablectl.display.ledgers import Found, Ledgers, on_record
from tablectl.display.records import Record, heard_record
from tablectl.display.subscription import Subscription
from tablectl.display.typed import time_of
from tablectl.display.view import path_of
from tablectl.display.words import Words, best
from tablectl.errors import ConfigError, LedgerError
from tablectl.ledger.pin import TableName
from tablectl.texts import languages

__all__ = ["Display", "application"]

STATIC: Final = Path(__file__).parent / "static"
LANGUAGE: Final = "tablectl_language"
MOST_STREAMS: Final = 300
"""Open pages at once: beyond it a page is told to come later."""
GATHER_SECONDS: Final = 0.1
"""For so long a page of many tables gathers what is new before it is sent."""
BEAT_SECONDS: Final = 1.0
TICK_SECONDS: Final = 15.0
LONGEST_BODY: Final = 4096
WRONG_TOKEN_SECONDS: Final = 0.5
_YEAR: Final = 365 * 24 * 3600


class _Ack(msgspec.Struct, forbid_unknown_fields=True):
    table: str
    alert: int


class Display:
    """What the routes have in common. `language` is that of readers who chose none; None: what their browser asks for."""

    def __init__(
        self,
        hub: Hub,
        access: Access,
        *,
        speaker: Speaker | None = None,
        ledgers: Ledgers | None = None,
        language: str | None = None,
    ) -> None:
        self.hub = hub
        self.access = access
        self._speaker = speaker
        self._ledgers = ledgers
        self._language = language
        self._streams = 0

    # Who and what is asked for.

    def words(self, request: Request) -> Words:
        """The words of the page's reader."""
        for chosen in (request.query_params.get("lang"), request.cookies.get(LANGUAGE), self._language):
            if chosen in languages():
                return Words.of(chosen)
        return Words.of(best(request.headers.get("accept-language", "")))

    def _visitor(self, request: Request) -> Visitor:
        found: Visitor | None = request.scope.get("tablectl.visitor")
        return found or ANYBODY

    def table(self, request: Request) -> TableName:
        """The table that the path names: by site, pit and table, or by its own name where no other has it. Raises 404."""
        names = request.path_params
        with contextlib.suppress(ConfigError, KeyError):
            return TableName(names["site"], names["pit"], names["table"])
        found = [name for name in self.hub.tables if "site" not in names and name.table == names["table"]]
        if len(found) != 1:
            raise HTTPException(404)
        return found[0]

    def _pit(self, request: Request) -> tuple[str, str]:
        names = request.path_params
        if "site" in names:
            return names["site"], names["pit"]
        found = {(name.site, name.pit) for name in self.hub.tables if name.pit == names["pit"]}
        if len(found) != 1:
            raise HTTPException(404)
        return found.pop()

    # Pages.

    def _frame(self, request: Request, kind: pages.Kind, title: str, stream: str, words: Words, **data: str) -> Response:
        text = pages.frame(
            kind,
            words,
            title=title,
            stream=f"/events/{stream}",
            visitor=self._visitor(request),
            can_sign_in=self.access.has_sign_in,
            data=data,
        )
        response = HTMLResponse(text)
        if (chosen := request.query_params.get("lang")) in languages():
            response.set_cookie(LANGUAGE, chosen or "", max_age=_YEAR, httponly=True, samesite="strict")
        return response

    async def all_tables(self, request: Request) -> Response:
        """Every table at a glance."""
        words = self.words(request)
        return self._frame(request, "pit", words("title.tables"), "all", words)

    async def pit_page(self, request: Request) -> Response:
        """A pit's tables at a glance."""
        words, (site, pit) = self.words(request), self._pit(request)
        return self._frame(
            request, "pit", words("title.pit", pit=pit), f"pit/{quote(site, safe='')}/{quote(pit, safe='')}", words
        )

    async def table_page(self, request: Request) -> Response:
        """A table in full."""
        words, name = self.words(request), self.table(request)
        return self._frame(request, "table", words("title.table", table=name.table), f"table/{path_of(name)}", words)

    async def dealer_page(self, request: Request) -> Response:
        """What the dealer is to do, in the table's language."""
        name = self.table(request)
        heard = self.hub.tables.get(name)
        words = self.words(request)
        if heard is not None and heard.pin is not None and heard.language in languages():
            words = Words.of(heard.language)
        return self._frame(request, "dealer", words("title.dealer", table=name.table), f"table/{path_of(name)}", words)

    async def surveillance_page(self, request: Request) -> Response:
        """Alerts and rulings; and the round that was asked for by its number or a time."""
        words = self.words(request)
        return self._frame(
            request, "surveillance", words("title.surveillance"), "alerts", words, ledgers="yes" if self._ledgers else ""
        )

    async def dictionary(self, request: Request) -> Response:
        """The words of a language, for the pages' scripts."""
        language = request.path_params["language"]
        if language not in languages():
            raise HTTPException(404)
        return Response(Words.of(language).json, media_type="application/json")

    # Rounds on record.

    async def round_page(self, request: Request) -> Response:
        """A round to read and print."""
        words, name = self.words(request), self.table(request)
        record = await self._record(name, request.path_params["number"], request.query_params.get("ledger"))
        if record is None:
            return HTMLResponse(pages.text_page(words, words("word.not_found")), 404)
        return HTMLResponse(pages.round_page(words, record, self._visitor(request), can_sign_in=self.access.has_sign_in))

    async def _record(self, name: TableName, number: int, ledger: str | None) -> Record | None:
        if self._ledgers is not None:
            with contextlib.suppress(LedgerError):
                found = await asyncio.to_thread(self._ledgers.round, name, number, ledger)
                if found is not None:
                    return found
        heard = self.hub.tables.get(name)
        return heard_record(heard, number) if heard is not None else None

    async def proof(self, request: Request) -> Response:
        """What proves a round, as `tablectl audit prove` writes it."""
        name, number = self.table(request), request.path_params["number"]
        body = None
        if self._ledgers is not None:
            with contextlib.suppress(LedgerError):
                body = await asyncio.to_thread(self._ledgers.proof, name, number, request.query_params.get("ledger"))
        if body is None:
            raise HTTPException(404)
        headers = {"content-disposition": f'attachment; filename="round-{number}.proof.json"'}
        return Response(body, media_type="application/json", headers=headers)

    async def find(self, request: Request) -> Response:
        """The round that a person typed: its number, or a time; leads to its page."""
        words, typed = self.words(request), request.query_params.get("q", "").strip()
        try:
            name = TableName(*(unquote(part) for part in request.query_params.get("table", "").split("/")))
        except (ConfigError, TypeError):
            raise HTTPException(404) from None
        if typed.isascii() and typed.isdigit() and len(typed) < 10:
            found: Found | None = Found(int(typed), "")
        else:
            found = await self._at(name, typed)
        if found is None:
            return HTMLResponse(pages.text_page(words, words("word.not_found"), typed), 404)
        ledger = f"?ledger={quote(found.ledger)}" if found.ledger else ""
        return RedirectResponse(f"/surveillance/round/{path_of(name)}/{found.number}{ledger}", 303)

    async def _at(self, name: TableName, typed: str) -> Found | None:
        """What was on at a time that a person typed."""
        at = time_of(typed, now=time.time_ns() // 1000)
        if at is None:
            return None
        if self._ledgers is not None:
            with contextlib.suppress(LedgerError):
                found = await asyncio.to_thread(self._ledgers.round_at, name, at)
                if found is not None:
                    return found
        heard = self.hub.tables.get(name)
        begun = [one.number for one in heard.rounds if one.began is not None and one.began <= at] if heard else []
        return Found(begun[-1], "") if begun else None

    async def on_record(self, request: Request) -> Response:
        """The alerts, rulings and acknowledgements of the tables' ledgers: of the last days, or from one time to another."""
        if self._ledgers is None:
            return JSONResponse([])
        since, until = (request.query_params.get(name, "") for name in ("from", "to"))
        return Response(await asyncio.to_thread(on_record, self._ledgers, since, until), media_type="application/json")

    # Events.

    async def events(self, request: Request, kind: Kind) -> Response:
        """The stream that fills a page of this kind."""
        table = self.table(request) if kind == "table" else None
        pit = self._pit(request) if kind == "pit" else None
        if self._streams >= MOST_STREAMS:
            return PlainTextResponse("too many pages are open\n", 503, {"retry-after": "10"})
        last = request.headers.get("last-event-id") or request.query_params.get("last")
        reader = Reader(self.hub, kind, table=table, pit=pit, last=last)
        return EventSourceResponse(self._stream(reader), ping=3600, send_timeout=10)

    async def _stream(self, reader: Reader) -> AsyncIterator[bytes]:
        self._streams += 1
        try:
            with reader:
                first = b"retry: 500\n\n"
                yield first + b"event: reset\ndata: {}\n\n" if reader.is_new else first
                beat = 0.0
                while True:
                    chunk = self.hub.news(reader)
                    if (now := time.monotonic()) >= beat:
                        chunk += self.hub.beat(self.hub.names(reader))
                        beat = now + BEAT_SECONDS
                    if chunk:
                        yield chunk
                    if reader.kind != "table":
                        await asyncio.sleep(GATHER_SECONDS)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(max(0.0, beat - time.monotonic())):
                            await reader.event.wait()
        finally:
            self._streams -= 1

    # What a person does.

    async def sign_in(self, request: Request) -> Response:
        """The page where a token is handed in, and the handing in."""
        words = self.words(request)
        if request.method == "GET":
            return HTMLResponse(pages.sign_in_page(words, to=within(request.query_params.get("to", "/")), wrong=False))
        if not is_our_own(request, tuple(self.access.hosts)):
            raise HTTPException(403)
        form = parse_qs((await _body(request)).decode("utf-8", "replace"))
        to = within(form.get("to", ["/"])[0])
        visitor = self.access.by_token(form.get("token", [""])[0].strip())
        if visitor is None:
            await asyncio.sleep(WRONG_TOKEN_SECONDS)
            return HTMLResponse(pages.sign_in_page(words, to=to, wrong=True), 403)
        response = RedirectResponse(to, 303)
        value, seconds = self.access.cookie(visitor, int(time.time()))
        secure = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
        response.set_cookie(COOKIE, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)
        return response

    async def sign_out(self, request: Request) -> Response:
        """Forget who it was."""
        if not is_our_own(request, tuple(self.access.hosts)):
            raise HTTPException(403)
        response = RedirectResponse("/", 303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    async def ack(self, request: Request) -> Response:
        """A supervisor has seen an alert: the table is asked, in their name, and its answer is the answer."""
        plain = request.headers.get("content-type", "").partition(";")[0].strip() != "application/json"
        if plain or "x-tablectl" not in request.headers or not is_our_own(request, tuple(self.access.hosts)):
            raise HTTPException(403)
        visitor = self._visitor(request)
        if visitor.member is None:
            reason = "not_a_member" if visitor.name else "sign_in"
            return _answer(Answer(False, reason), 403 if visitor.name else 401)
        try:
            wanted = msgspec.json.decode(await _body(request), type=_Ack)
            name = TableName(*(unquote(part) for part in wanted.table.split("/")))
        except (msgspec.DecodeError, UnicodeDecodeError, ConfigError, TypeError):
            raise HTTPException(400) from None
        if name not in self.hub.tables or wanted.alert < 1 or self._speaker is None:
            return _answer(Answer(False, "no_such_alert", by=visitor.member.name), 404)
        answer = await asyncio.to_thread(self._speaker.acknowledge, visitor.member, name, wanted.alert)
        return _answer(answer, 200 if answer.done else 504 if answer.reason == "no_answer" else 409)

    async def health(self, request: Request) -> Response:
        """For who watches the process: that it answers, and no more."""
        return PlainTextResponse("ok\n")

    async def not_found(self, request: Request, error: Exception) -> Response:
        """What is not there, or not to be done."""
        code = error.status_code if isinstance(error, HTTPException) else 500
        words = self.words(request)
        title = words("title.nothing" if code == 404 else "title.refused")
        return HTMLResponse(pages.text_page(words, title), code)

    async def tick(self) -> None:
        """Look again, now and then, at what changes by itself."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.hub.tick()


def application(display: Display, subscription: Subscription | None = None) -> ASGIApp:
    """The whole server, guarded. The subscription runs while it does."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(display.tick())]
        if subscription is not None:
            tasks.append(asyncio.create_task(subscription.run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    full, short = "/{site}/{pit}/{table}", "/{table}"
    routes = [
        Route("/", display.all_tables),
        Route("/pit/{site}/{pit}", display.pit_page),
        Route("/pit/{pit}", display.pit_page),
        *(Route(f"/table{path}/dealer", display.dealer_page) for path in (full, short)),
        *(Route(f"/table{path}", display.table_page) for path in (full, short)),
        Route("/surveillance", display.surveillance_page),
        Route("/surveillance/find", display.find),
        Route("/surveillance/record", display.on_record),
        Route(f"/surveillance/round{full}/{{number:int}}", display.round_page),
        Route(f"/surveillance/proof{full}/{{number:int}}", display.proof),
        Route(f"/events/table{full}", partial(display.events, kind="table")),
        Route("/events/pit/{site}/{pit}", partial(display.events, kind="pit")),
        Route("/events/all", partial(display.events, kind="all")),
        Route("/events/alerts", partial(display.events, kind="alerts")),
        Route("/words/{language}", display.dictionary),
        Route("/sign-in", display.sign_in, methods=["GET", "POST"]),
        Route("/sign-out", display.sign_out, methods=["POST"]),
        Route("/ack", display.ack, methods=["POST"]),
        Route("/healthz", display.health),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: Mapping[int, object] = dict.fromkeys((400, 403, 404, 405, 413), display.not_found)
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)  # type: ignore[arg-type]
    return Guard(app, display.access, now=lambda: int(time.time()))


def _answer(answer: Answer, code: int) -> Response:
    return Response(msgspec.json.encode(answer), code, media_type="application/json")


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_BODY:
            raise HTTPException(413)
    return body
