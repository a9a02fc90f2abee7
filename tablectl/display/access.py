"""Who is let in, and who it is: by a token, by a reverse proxy's word, or (on loopback) whoever sits at the machine.

A token is handed in once, on the page `/sign-in`, and then stands for a cookie that this server signed: no script can read it,
no other site can have it sent. A program hands it in as `Authorization: Bearer`. A reverse proxy's header is believed of the
proxy alone. Nothing is kept here: a server that was started again knows its cookies, and one whose tokens were changed knows
none of the old.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, cookie_parser

from tablectl.display.people import Member, digest_of

__all__ = ["ANYBODY", "COOKIE", "Access", "Visitor", "is_our_own", "within"]

COOKIE: Final = "tablectl_display"
READER_SECONDS: Final = 30 * 24 * 3600
"""A screen on a wall is signed in once."""
MEMBER_SECONDS: Final = 12 * 3600
"""A person signs in for a shift."""
_CONTEXT: Final = b"tablectl display cookie v1\n"


class Visitor(NamedTuple):
    """Who looks: `member` is None for one who may look and do nothing; `name` is what the page says of them."""

    name: str
    member: Member | None


ANYBODY: Final = Visitor("", None)


@dataclass(frozen=True)
class Access:
    """How people are let in. Where neither `token` nor `header` is set, everybody is let in, and only members sign in.

    `header` is the name of the reverse proxy's header, believed of the addresses `proxies`. `hosts` are the names by which this
    server may be called; empty: any. That keeps out pages of other sites whose name was made to point here.
    """

    token: str | None = None
    header: str | None = None
    proxies: frozenset[str] = frozenset({"127.0.0.1", "::1"})
    people: tuple[Member, ...] = ()
    hosts: frozenset[str] = frozenset()
    _secret: bytes = field(init=False, repr=False, default=b"")

    def __post_init__(self) -> None:
        digests = [digest_of(self.token or ""), *sorted(member.digest or "" for member in self.people)]
        object.__setattr__(self, "_secret", hashlib.sha256(_CONTEXT + "\n".join(digests).encode()).digest())

    @property
    def has_sign_in(self) -> bool:
        """Whether there is a token that somebody could sign in with."""
        return self.header is None and (self.token is not None or any(member.digest for member in self.people))

    def is_host(self, host: str) -> bool:
        """Whether a request's `Host` is one of ours."""
        name = urlsplit(f"//{host}").hostname if host else None
        return not self.hosts or (name or "").lower() in self.hosts

    def visitor(self, request: HTTPConnection, now: int) -> Visitor | None:
        """Who asks, at `now` (seconds since 1970); None: not to be let in."""
        if self.header is not None:
            peer = request.client.host if request.client else ""
            said = request.headers.getlist(self.header) if peer in self.proxies else []
            if len(said) != 1 or not said[0].strip():
                return None
            user = said[0].strip()
            return Visitor(user, next((member for member in self.people if member.user == user), None))
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and (found := self.by_token(bearer.strip())) is not None:
            return found
        cookies = cookie_parser(request.headers.get("cookie", ""))
        found = self._of_cookie(cookies.get(COOKIE, ""), now)
        return found or (ANYBODY if self.token is None else None)

    def by_token(self, token: str) -> Visitor | None:
        """Whose token this is; None: nobody's."""
        digest = digest_of(token)
        found = None
        for member in self.people:
            if member.digest is not None and hmac.compare_digest(digest, member.digest):
                found = Visitor(member.name, member)
        if found is None and self.token is not None and hmac.compare_digest(digest, digest_of(self.token)):
            found = ANYBODY
        return found

    def cookie(self, visitor: Visitor, now: int) -> tuple[str, int]:
        """The cookie that stands for a visitor, and for how many seconds."""
        seconds = READER_SECONDS if visitor.member is None else MEMBER_SECONDS
        said = f"{now + seconds} {visitor.name}".encode()
        return f"{_base64url(said)}.{self._signed(said)}", seconds

    def _of_cookie(self, cookie: str, now: int) -> Visitor | None:
        body, _, signature = cookie.partition(".")
        try:
            said = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
            if not hmac.compare_digest(signature.encode(), self._signed(said).encode()):
                return None
            until, _, name = said.decode().partition(" ")
            if int(until) < now:
                return None
        except (ValueError, binascii.Error):
            return None
        if not name:
            return ANYBODY
        member = next((one for one in self.people if one.name == name and one.digest), None)
        return None if member is None else Visitor(name, member)

    def _signed(self, said: bytes) -> str:
        return _base64url(hmac.digest(self._secret, said, "sha256"))


def is_our_own(request: HTTPConnection, hosts: Sequence[str] = ()) -> bool:
    """Whether a request that changes something comes from one of our own pages, by what a browser says of where it comes from.

    A program that says nothing is no browser that somebody else's page could have led here.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    if origin is None:
        return True
    netloc = urlsplit(origin).netloc.lower()
    return netloc != "" and netloc in {request.headers.get("host", "").lower(), *hosts}


def within(to: str) -> str:
    """A path of this server, and of no other: what is none becomes its first page."""
    return to if to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable() else "/"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
