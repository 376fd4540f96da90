"""Requests to the API server: credentials, time limits, retries, and error messages."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import quote, urlencode

from ....awake_timeout import awake_timeout
from ....http.client import ConnectTimeout, Response, Session, Upgraded
from ....http.connection import Disconnected, HttpError
from ....json_types import Json
from ....record import NOTHING
from ....shared import json_reader
from ....text import shortened
from .access import Access
from .credentials import Credentials
from .error import ApiError, NotKubernetes, Question, Unreachable, Untrusted, refusal
from .warnings import Warnings

log = logging.getLogger(__name__)

REVIEWS = ("selfsubjectrulesreviews", "selfsubjectaccessreviews")  # what we may do
WORKLOADS = "workloads"  # of Kueue
_GROUPS = {
    **dict.fromkeys(REVIEWS, "apis/authorization.k8s.io/v1"),
    WORKLOADS: "apis/kueue.x-k8s.io/v1beta1",
}
CONNECT = 10.0  # seconds
ANSWER = 30.0  # seconds for any request; a server that is starting may take long
MAX_BODY = 64 * 1024 * 1024  # bytes; a page of pods has a tenth
MAX_REFUSAL = 64 * 1024
REFUSAL_TIMEOUT = 5.0  # seconds for the message of a refusal
TOTAL_WAIT = 30.0  # seconds that a busy server may make us wait in total
SHORTEST_WAIT, LONGEST_WAIT = 0.5, 10.0  # seconds, for each time


class ApiConnection:
    """Use it in an ``async with``, which closes all connections."""

    def __init__(self, access: Access, warnings: Warnings) -> None:
        self._access = access
        self.server = access.server
        self._warnings = warnings
        self.date = ""  # of the last answer
        self._route = access.route.words
        self._credentials = Credentials(access)
        self._session: Session | None = None
        self._retired: list[Session] = []  # those that may still answer
        self._tls: ssl.SSLContext | None = None

    async def __aenter__(self) -> ApiConnection:
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in (*self._retired, *([self._session] if self._session else [])):
            await session.__aexit__()

    @asynccontextmanager
    async def answer(
        self,
        method: str,
        question: Question,
        query: Mapping[str, str] = NOTHING,
        body: Json | None = None,
    ) -> AsyncIterator[Response]:
        """The answer if it is good; otherwise an error is raised."""
        url, data = self._url(question, query), b"" if body is None else json.dumps(body).encode()
        attempts = _Attempts(self._credentials)
        while True:
            async with await self._response(method, url, data) as response:
                self._warnings.take(response.headers.get("warning", ""))
                self.date = response.headers.get("date", "")
                if response.status < 300:
                    yield response
                    return
                error = await self._refusal(response, question)
            await attempts.pause_or_raise(error, response.headers.get("retry-after", ""))

    async def upgrade(
        self, question: Question, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> Upgraded:
        """A connection on which the server speaks the protocol that *headers* ask for."""
        url = self._url(question, query)
        attempts = _Attempts(self._credentials)
        while True:
            session = await self._current_session()
            all_headers = {**await self._credentials.headers(), **headers}
            with self.troubles():
                async with awake_timeout(ANSWER):
                    response = await session.upgrade(url, all_headers)
            if isinstance(response, Upgraded):
                return response
            async with response:
                error = await self._refusal(response, question)
            await attempts.pause_or_raise(error, response.headers.get("retry-after", ""))

    async def body(self, response: Response) -> Json:
        """The JSON object of an answer."""
        return self.json_object(await self.data(response))

    async def data(self, response: Response) -> bytes:
        """The bytes of a whole answer."""
        with self.troubles():
            async with awake_timeout(ANSWER):
                return await response.body(MAX_BODY)

    def json_object(self, data: bytes) -> Json:
        found = _json(data)
        if not isinstance(found, dict):
            raise NotKubernetes(
                f"{self.server} is not a Kubernetes API server: it sent no JSON object"
            )
        return found

    async def piece(self, response: Response, silence: float = ANSWER) -> bytes:
        """The next bytes of an answer; b"" at its end."""
        with self.troubles():
            async with awake_timeout(silence):
                return await response.read()

    @contextmanager
    def troubles(self) -> Iterator[None]:
        """What goes wrong on the way, in words."""
        try:
            yield
        except ssl.SSLCertVerificationError as error:
            reason = error.verify_message or error.reason
            way_out = "the certificate-authority of the kubeconfig cluster should have signed it"
            raise Untrusted(
                f"the certificate of {self.server} is not trusted: {reason}; {way_out}"
            ) from error
        except ssl.SSLError as error:
            raise Unreachable(
                f"the TLS handshake with {self.server} failed: {error.reason or error}"
            ) from error
        except HttpError as error:
            raise NotKubernetes(f"{self.server} is not a Kubernetes API server: {error}") from error
        except OSError as error:
            text = "; ".join(filter(None, (f"{self.server}: {_reason(error)}", self._route)))
            raise Unreachable(text, f"the Kubernetes API server {text}") from error

    async def _current_session(self) -> Session:
        """With the current client certificate: a plugin may provide another one."""
        tls = await self._credentials.tls()
        if self._session is None or tls is not self._tls:
            self._retire()
            proxy = self._access.route.proxy
            self._session = Session(NOTHING, tls, CONNECT, self._access.server_name, proxy)
            self._tls = tls
        return self._session

    def _retire(self) -> None:
        """Requests that are under way, above all a watch, keep using the previous certificate."""
        self._retired = [it for it in self._retired if not it.is_closed]
        if self._session is not None:
            self._session.retire()
            self._retired.append(self._session)  # somebody may be about to ask it

    async def _response(self, method: str, url: str, data: bytes) -> Response:
        try:
            return await self._one_response(method, url, data)
        except Unreachable as error:
            # The server may have closed a kept connection just now; a POST may have arrived.
            if method == "POST" or not isinstance(error.__cause__, Disconnected):
                raise
            return await self._one_response(method, url, data)

    async def _one_response(self, method: str, url: str, data: bytes) -> Response:
        session = await self._current_session()
        kind = "merge-patch+json" if method == "PATCH" else "json"
        types = {"Accept": "application/json", "Content-Type": f"application/{kind}"}
        headers = {**await self._credentials.headers(), **types}
        with self.troubles():
            async with awake_timeout(ANSWER):
                return await session.ask(method, url, data, headers)

    async def _refusal(self, response: Response, question: Question) -> ApiError:
        data = b""
        try:
            async with awake_timeout(REFUSAL_TIMEOUT):
                while len(data) < MAX_REFUSAL and (piece := await self.piece(response)):
                    data += piece
        except (ApiError, TimeoutError):
            pass  # a part is better than nothing
        said = _json(data)
        if isinstance(said, dict) and said.get("kind") == "Status":
            return refusal(response.status, said, question)
        if _is_elsewhere(response):
            said = f"it answered {response.status} {response.reason}".strip()
            return NotKubernetes(f"{self.server} is not a Kubernetes API server: {said}")
        text = shortened(data[:2000].decode(errors="replace"), 200)
        words = f"{response.reason}: {text}".strip(": ")
        return refusal(response.status, {"message": words}, question)

    def _url(self, question: Question, query: Mapping[str, str]) -> str:
        kind, _, subresource = question.resource.partition("/")
        parts = ["namespaces", question.namespace] if question.namespace else []
        parts += [part for part in (kind, question.name, subresource) if part]
        path = "/".join(quote(part, safe="") for part in parts)
        given = urlencode({name: value for name, value in query.items() if value})
        group = _GROUPS.get(kind, "api/v1")
        return f"{self.server}/{group}/{path}{given and '?'}{given}"


class _Attempts:
    """Whether to ask again: with new credentials, or because the server was too busy."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._was_renewed = False
        self._waited = 0.0

    async def pause_or_raise(self, error: ApiError, retry_after: str) -> None:
        if error.code == 401 and not self._was_renewed:
            self._was_renewed = True
            if await self._credentials.renew():
                return
        if error.code != 429:
            raise error
        wanted = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 1.0
        pause = min(max(wanted, SHORTEST_WAIT), LONGEST_WAIT)
        self._waited += pause
        if self._waited > TOTAL_WAIT:
            raise error
        log.info("the API server is too busy (%s); asking again in %g s", error.message, pause)
        await asyncio.sleep(pause)


def _is_elsewhere(response: Response) -> bool:
    """Is it a redirection, or a page that was not found? An API server sends neither."""
    is_page = "html" in response.headers.get("content-type", "").lower()
    return 300 <= response.status < 400 or (response.status == 404 and is_page)


def _json(data: bytes) -> Any:
    """None if it is not valid JSON, or too much of it."""
    try:
        return json_reader.read(data)
    except ValueError:
        return None


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectTimeout):
        return f"no connection within {CONNECT:g} s"
    if isinstance(error, TimeoutError):
        return "no answer within the time allowed"
    if isinstance(error, socket.gaierror):
        return f"its host name cannot be resolved: {error.strerror}"
    return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
