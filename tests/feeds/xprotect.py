"""A stub of Milestone XProtect's API Gateway, written from its public description: tokens, and bookmarks that are added.

It is strict: what the description does not have is refused with 400, and each refusal names the property as Milestone does.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs
from uuid import UUID

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_TEXTS = ("header", "description", "reference")
_TIMES = ("timeBegin", "timeTriggered", "timeEnd")


class XProtect:
    """The gateway, on a loopback port. `bookmarks` are those that it has; `answers` are given instead, one after the other."""

    def __init__(self, *, lifetime: int = 3600) -> None:
        self.bookmarks: list[dict[str, Any]] = []
        self.tokens: list[str] = []
        self.answers: list[int] = []
        self.cameras: set[str] = set()
        self.revoked: set[str] = set()
        self.lifetime = lifetime
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path.lower() == "/api/idp/connect/token":
                    self._answer(*gateway.token(body.decode()))
                elif self.path.lower() == "/api/rest/v1/bookmarks":
                    kind, _, token = self.headers.get("Authorization", "").partition(" ")
                    if kind != "Bearer" or token not in gateway.tokens or token in gateway.revoked:
                        self._answer(401, {})
                    elif gateway.answers:
                        self._answer(
                            gateway.answers.pop(0), {"httpCode": "503", "details": [{"errorText": "Recording server is down"}]}
                        )
                    else:
                        self._answer(*gateway.bookmark(body))
                else:
                    self._answer(404, {})

            def _answer(self, status: int, body: object) -> None:
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None: ...

        return Handler

    def token(self, form: str) -> tuple[int, object]:
        words = {name: values[0] for name, values in parse_qs(form, keep_blank_values=True).items()}
        if words.get("grant_type") != "password" or words.get("client_id") != "GrantValidatorClient":
            return 400, {"error": "unsupported_grant_type"}
        if (words.get("username"), words.get("password")) != ("tablectl", "s3cret &=+é"):
            return 400, {"error": "invalid_grant"}
        self.tokens.append(f"token-{len(self.tokens)}")
        return 200, {"access_token": self.tokens[-1], "expires_in": self.lifetime, "token_type": "Bearer"}

    def bookmark(self, body: bytes) -> tuple[int, object]:
        given: dict[str, Any] = json.loads(body)
        wrong = _wrong(given)
        if wrong is None and given["devicePath"]["id"] not in self.cameras:
            wrong = "devicePath.id"
        if wrong is not None:
            return 400, {"httpCode": "400", "details": [{"errorText": f"Wrong property {wrong}", "property": wrong}]}
        self.bookmarks.append(given)
        return 201, {"result": {**given, "relations": {"self": {"type": "bookmarks", "id": str(UUID(int=len(self.bookmarks)))}}}}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


def _wrong(given: dict[str, Any]) -> str | None:
    """The first property that is not as described."""
    for name in given:
        if name not in (*_TEXTS, *_TIMES, "devicePath"):
            return name
    for name in _TEXTS:
        if not isinstance(given.get(name, ""), str):
            return name
    for name in _TIMES:
        if not _TIME.fullmatch(str(given.get(name))):
            return name
    if not given["timeBegin"] <= given["timeTriggered"] <= given["timeEnd"]:
        return "timeTriggered"
    device = given.get("devicePath", {})
    if set(device) != {"type", "id"} or device["type"] != "cameras":
        return "devicePath"
    return None
