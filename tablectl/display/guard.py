"""What stands before every route: the name by which we are called, who asks, and the headers of every answer.

It wraps the whole application, so that no answer leaves without them, an error of our own included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablectl.display.access import ANYBODY, Access
from tablectl.display.pages import text_page
from tablectl.display.words import Words, best

__all__ = ["HEADERS", "Guard"]

_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}
HEADERS: Final = {
    "content-security-policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=()",
}
"""Of every answer: nothing from elsewhere, nothing inline, in nobody's frame."""
_OPEN: Final = ("/sign-in", "/healthz")
"""What is answered to whoever asks; and `/static/`, which says nothing of any table."""


class Guard:
    """The application behind it sees only requests that may be answered, with their visitor in the scope."""

    def __init__(self, app: Starlette, access: Access, *, now: Callable[[], int]) -> None:
        self.behind = app
        self._access = access
        self._now = now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.behind(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no WebSocket is served
        path = scope["path"]

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers["cache-control"] = "no-cache" if path.startswith("/static/") else "no-store"
            await send(message)

        request = HTTPConnection(scope)
        if not self._access.is_host(request.headers.get("host", "")):
            await PlainTextResponse("this server is not called so\n", 421)(scope, receive, with_headers)
            return
        visitor = self._access.visitor(request, self._now())
        if visitor is None and not (path in _OPEN or path.startswith("/static/")):
            await self._turned_away(request, path)(scope, receive, with_headers)
            return
        scope["tablectl.visitor"] = visitor or ANYBODY
        await self.behind(scope, receive, with_headers)

    def _turned_away(self, request: HTTPConnection, path: str) -> ASGIApp:
        """To the page where one signs in, where there is one and it is a page that was asked for."""
        if request.scope["method"] != "GET" or path.startswith(("/events/", "/words/")):
            return PlainTextResponse("sign in first\n", 403 if self._access.header else 401)
        if self._access.has_sign_in:
            return RedirectResponse(f"/sign-in?to={quote(path)}", 303)
        words = Words.of(best(request.headers.get("accept-language", "")))
        return HTMLResponse(text_page(words, words("title.refused")), 403)
