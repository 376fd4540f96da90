"""Who may see the page: the browser that came with a fresh link, and nobody else.

A link is good for one exchange, for a cookie that no script can read. Browsers send cookies to
every port of a host, so the cookie is bound to a path that only this page and its browser know.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import secrets
from urllib.parse import urlencode

from ...http.server import Answer, Request, text
from ...record import Record

HOSTS = ("127.0.0.1", "localhost")
NEEDS_LINK = "Open this page with a fresh link. To get one: tfrun ui\n"

_FOREIGN = ("cross-site", "same-site")  # what a browser calls the pages of others


class Served(Record):
    """A running page: enough to make a link to it."""

    port: int
    path: str  # begins and ends with a slash
    key: str  # with which links are made
    pid: int

    @classmethod
    def new(cls, port: int, pid: int) -> Served:
        return cls(port, f"/{secrets.token_urlsafe(12)}/", secrets.token_hex(32), pid)

    def link(self, run_id: str | None = None) -> str:
        """A new link, to the list of runs or to one of them."""
        number = secrets.token_urlsafe(16)
        query = {"token": f"{number}.{self.proof(number)}", **({"run": run_id} if run_id else {})}
        return f"http://{HOSTS[0]}:{self.port}{self.path}enter?{urlencode(query)}"

    def proof(self, number: str) -> str:
        return hmac.new(self.key.encode(), number.encode(), hashlib.sha256).hexdigest()


class Access:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._cookie_name = f"tfmesos-{served.port}"
        self._cookie = secrets.token_urlsafe(32)
        self._used: set[str] = set()  # tokens that were exchanged

    def answer(self, request: Request) -> Answer | None:
        """The answer to a request without the cookie, or with a link; None if the cookie is there.

        It does not reveal what exists.
        """
        if not self._is_called_by_name(request):
            return text(403, "This page is not served under that name.\n")
        if request.path == f"{self._served.path}enter":
            return self._enter(request)
        if not self._has_cookie(request):
            return text(403, NEEDS_LINK)
        if not _is_of_this_page(request):
            return text(403, "Only the page itself may send this request.\n")
        return None

    def _is_called_by_name(self, request: Request) -> bool:
        """Otherwise somebody else's page has made its own name point to this machine."""
        ours = {f"{name}:{self._served.port}" for name in HOSTS}
        return request.headers.get("host") in ours

    def _enter(self, request: Request) -> Answer:
        """Exchange the token of a link for the cookie. HEAD only asks whether the link is good."""
        token = request.query.get("token", "")
        is_good = self._is_good(token)
        if request.method == "HEAD":
            return text(200 if is_good else 403, "")
        if request.method != "GET" or not (is_good or self._has_cookie(request)):
            return text(403, NEEDS_LINK)
        cookie = {}
        if is_good:
            self._used.add(token)
            cookie = {"Set-Cookie": self._set_cookie()}
        return Answer(
            200,
            _passing_on(request.query.get("run")).encode(),
            {"Content-Type": "text/html; charset=utf-8", **cookie},
        )

    def _is_good(self, token: str) -> bool:
        number, _, proof = token.partition(".")
        wanted = self._served.proof(number)
        return hmac.compare_digest(proof.encode(), wanted.encode()) and token not in self._used

    def _set_cookie(self) -> str:
        path = self._served.path
        return f"{self._cookie_name}={self._cookie}; Path={path}; HttpOnly; SameSite=Strict"

    def _has_cookie(self, request: Request) -> bool:
        """Another page of this host may have set a cookie of this name; only values count."""
        given = request.headers.get("cookie", "").split(";")
        values = [one.strip().removeprefix(f"{self._cookie_name}=") for one in given]
        return any(hmac.compare_digest(v.encode(), self._cookie.encode()) for v in values)


def _is_of_this_page(request: Request) -> bool:
    """Browsers say which page sends a request: always for a POST, mostly otherwise."""
    if request.headers.get("sec-fetch-site") in _FOREIGN:
        return False
    is_read = request.method in ("GET", "HEAD")
    return is_read or request.headers.get("origin") == f"http://{request.headers['host']}"


def _passing_on(run_id: str | None) -> str:
    """A redirect would not work: the browser has come from elsewhere, and would send no cookie."""
    target = "./" + (f"?{urlencode({'run': run_id})}" if run_id else "")
    return (
        '<!doctype html><html lang=en><title>tfrun</title><link rel="icon" href="icon.svg">'
        f'<meta http-equiv="refresh" content="0;url={html.escape(target)}">'
        f'<p><a href="{html.escape(target)}">Your runs</a></p></html>\n'
    )
