"""Milestone XProtect, by the REST API of its API Gateway (bookmarks: 2024 R2 or newer).

A basic user's name and password are exchanged for a token, which is asked for anew before it ends, or when it is refused:

    POST URL/API/IDP/connect/token          grant_type=password, client_id=GrantValidatorClient, username, password
    POST URL/api/rest/v1/bookmarks          header, description, timeBegin, timeTriggered, timeEnd, reference, devicePath

Written from Milestone's public description of the two; never tried on a real XProtect.
"""

from __future__ import annotations

import time
from http.client import HTTPException
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import msgspec

from tablectl.feeds.feeding import Declined, Unreachable
from tablectl.feeds.marking import Access, Bookmark
from tablectl.instants import from_micros

__all__ = ["Milestone"]

_CLIENT: Final = "GrantValidatorClient"
_EARLY: Final = 60.0
"""Seconds before its end at which a token is no longer used."""
_LONGEST: Final = 1 << 20
_NEVER: Final = frozenset({400, 409, 413, 422})
"""Answers to a bookmark that trying again does not mend; any other is the system's trouble, or its configuration's."""


class _Token(msgspec.Struct):
    access_token: str
    expires_in: float = 3600.0


class _Detail(msgspec.Struct):
    errorText: str = ""  # noqa: N815 - Milestone's word


class _Fault(msgspec.Struct):
    details: list[_Detail] = []


class _Straight(HTTPRedirectHandler):
    """Follows nobody elsewhere: a bookmark would be lost on the way, and a password told to strangers."""

    def redirect_request(self, *_: object) -> None:
        """None: the redirection is the answer."""


class Milestone:
    """An XProtect's API Gateway."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._url = access.url.rstrip("/")
        self._opener = build_opener(HTTPSHandler(context=access.context), _Straight)
        self._token = ""
        self._good_until = 0.0

    def add(self, bookmark: Bookmark, camera: str) -> None:
        """Add a bookmark to a camera, which is named by its id (a UUID). Raises `Unreachable`, `Declined`."""
        body = msgspec.json.encode(
            {
                "header": bookmark.header,
                "description": bookmark.description,
                "timeBegin": from_micros(bookmark.begin),
                "timeTriggered": from_micros(bookmark.at),
                "timeEnd": from_micros(bookmark.end),
                "reference": bookmark.reference,
                "devicePath": {"type": "cameras", "id": camera},
            }
        )
        for fresh in (False, True):
            if fresh or time.monotonic() >= self._good_until:
                self._sign_in()
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
            status, answer = self._post("/api/rest/v1/bookmarks", body, headers)
            if status != 401:
                break
        if status in _NEVER:
            raise Declined(f"{status} {_said(answer)}".strip())
        if not 200 <= status < 300:
            raise Unreachable(f"it answers a bookmark with {status} {_said(answer)}".strip())

    def _sign_in(self) -> None:
        words = {"grant_type": "password", "client_id": _CLIENT, "username": self._access.user, "password": self._access.password}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        status, answer = self._post("/API/IDP/connect/token", urlencode(words).encode(), headers)
        if not 200 <= status < 300:
            raise Unreachable(f"it does not let {self._access.user} in: {status}")
        try:
            token = msgspec.json.decode(answer, type=_Token)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unreachable("it gives no token: its answer cannot be read") from None
        self._token = token.access_token
        self._good_until = time.monotonic() + max(0.0, token.expires_in - _EARLY)

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        request = Request(self._url + path, body, {**headers, "Accept": "application/json"})  # noqa: S310 - http(s) by `Access`
        try:
            with self._opener.open(request, timeout=self._access.seconds) as answer:
                return answer.status, answer.read(_LONGEST)
        except HTTPError as error:
            with error:
                return error.code, error.read(_LONGEST)
        except (URLError, HTTPException, OSError, ValueError) as error:
            why = error.reason if isinstance(error, URLError) else error
            raise Unreachable(str(getattr(why, "strerror", None) or why) or "it does not answer") from None


def _said(answer: bytes) -> str:
    """What Milestone says is wrong; nothing where it cannot be read."""
    try:
        return "; ".join(detail.errorText for detail in msgspec.json.decode(answer, type=_Fault).details)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
