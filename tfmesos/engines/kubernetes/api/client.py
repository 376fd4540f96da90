"""The API of Kubernetes, as far as a run needs it: core v1, mostly in one namespace.

Nothing here decides about pods. The client owns its connections: when its block has ended, nothing
is open any more. Bodies are not logged: they hold the secrets of tasks.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Any, Self

from ....awake_timeout import awake_timeout
from ....json_types import Json
from .access import Access
from .connection import REVIEWS, ApiConnection
from .error import ApiError, Expired, NotKubernetes, Question, Unreachable
from .port_forward import Handshake, PortForwards
from .warnings import Warnings
from .watch_lines import Lines, event_of

__all__ = ["ApiError", "Client", "Expired"]

AT_ONCE = 16  # requests under way; watches and dialled connections are not counted
PAGE = 250  # objects of a list in one answer
WATCH = 60  # seconds of a watch, which the server then ends
SILENCE = 75.0  # seconds without any byte of a watch
LOG_LINES = 500
LOG_TIMEOUT = 30.0  # seconds
FULL_LISTS = 3  # attempts, if the pages of a list expire
LIST_TIMEOUT = 120.0  # seconds for all of them
MOST_PAGES = 1000  # of one list
MOST_BYTES = 512_000_000  # of all its pages

Objects = list[Json]
_OF_CLUSTER = {"nodes", "namespaces", *REVIEWS}


class Client:
    """Use it in an ``async with``. A *kind* is the plural, such as ``pods``.

    Everything raises ApiError. A request that was interrupted (``code`` 0) may have been carried
    out nevertheless: a second ``create`` may find what the first one made.
    """

    def __init__(self, access: Access, warned: Callable[[str], None] = lambda words: None) -> None:
        """*warned* gets each warning of the server once."""
        self.namespace = access.namespace
        self.server = access.server
        self._connection = ApiConnection(access, Warnings(warned))
        self._room = asyncio.Semaphore(AT_ONCE)
        self._forwards = PortForwards()

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._forwards.close()
        await self._connection.__aexit__()

    @property
    def server_time(self) -> datetime | None:
        """When it gave its last answer, by its clock."""
        from email.utils import parsedate_to_datetime  # is hardly ever needed

        try:
            return parsedate_to_datetime(self._connection.date).replace(tzinfo=None)
        except ValueError:
            return None

    async def create(self, kind: str, body: Json) -> Json:
        return await self._ask("POST", self._question("create", kind), body=body)

    async def get(self, kind: str, name: str) -> Json:
        return await self._ask("GET", self._question("get", kind, name))

    async def patch(self, kind: str, name: str, body: Json) -> Json:
        """Merge *body* into the object: null removes a field, a list replaces the whole list."""
        return await self._ask("PATCH", self._question("patch", kind, name), body=body)

    async def delete(self, kind: str, name: str, grace: int | None = None) -> bool:
        """Returns whether it existed; its processes get *grace* seconds."""
        options: Json = {"propagationPolicy": "Background"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            await self._ask("DELETE", self._question("delete", kind, name), body=options)
        except ApiError as error:
            if error.code != 404 or error.is_missing_namespace:
                raise
            return False
        return True

    async def list(
        self, kind: str, selector: str = "", fields: str = "", *, everywhere: bool = False
    ) -> tuple[Objects, str]:
        """All of them, and the version from which a watch tells what changes.

        *everywhere* is in all namespaces.
        """
        question = self._question("list", kind)
        question = question.replace(namespace="") if everywhere else question
        try:
            async with awake_timeout(LIST_TIMEOUT):
                for _ in range(FULL_LISTS - 1):
                    try:
                        return await self._list(question, selector, fields)
                    except Expired:
                        pass  # it took too long to fetch the next page: start over
                return await self._list(question, selector, fields)
        except TimeoutError:
            text = f"the list of {kind} did not end within {LIST_TIMEOUT:g} s"
            raise Unreachable(f"{self.server}: {text}") from None

    async def _list(self, question: Question, selector: str, fields: str) -> tuple[Objects, str]:
        """A server that never sends a last page must not use up all memory."""
        items: Objects = []
        query = {"labelSelector": selector, "fieldSelector": fields, "limit": str(PAGE)}
        room = MOST_BYTES
        for _ in range(MOST_PAGES):
            page, size = await self._page(question, query)
            room -= size
            if room < 0:
                raise self._endless(question.resource, f"{MOST_BYTES // 1_000_000} MB")
            items += self._items(page)
            query["continue"] = _metadata(page, "continue")
            if not query["continue"]:
                return items, _metadata(page, "resourceVersion")
        raise self._endless(question.resource, f"{MOST_PAGES} pages")

    def _endless(self, kind: str, amount: str) -> NotKubernetes:
        return NotKubernetes(f"{self.server} sent a list of {kind} of more than {amount}")

    async def _page(self, question: Question, query: Mapping[str, str]) -> tuple[Json, int]:
        """With its size in bytes."""
        async with self._room, self._connection.answer("GET", question, query) as response:
            data = await self._connection.data(response)
            return self._connection.json_object(data), len(data)

    def _items(self, page: Json) -> Objects:
        items = page.get("items") or []
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise NotKubernetes(f"{self.server} sent a list whose items are not objects")
        return items

    async def watch(
        self, kind: str, selector: str, version: str
    ) -> AsyncIterator[tuple[str, Json]]:
        """What happens after *version*: ADDED, MODIFIED, DELETED, and BOOKMARK for its version.

        The server ends it after a minute, in order. Raises Expired if *version* is too old.
        """
        question = self._question("watch", kind)
        query = {
            **{"watch": "1", "labelSelector": selector, "resourceVersion": version},
            **{"allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH)},
        }
        lines = Lines(self.server)
        async with self._connection.answer("GET", question, query) as response:
            while data := await self._connection.piece(response, SILENCE):
                for line in lines.feed(data):
                    yield event_of(line, question)

    async def log(self, pod: str, limit: int) -> str:
        """The end of what its container wrote: at most *limit* bytes."""
        question = self._question("get", "pods/log", pod)
        tail, room = b"", 16 * limit
        query = {"tailLines": str(LOG_LINES), "limitBytes": str(room)}
        async with self._room, self._connection.answer("GET", question, query) as response:
            try:
                async with awake_timeout(LOG_TIMEOUT):
                    while room > 0 and (data := await self._connection.piece(response)):
                        tail, room = (tail + data)[-limit:], room - len(data)
            except TimeoutError:
                pass  # a part is better than nothing
        return tail.decode(errors="replace")

    async def dial(self, pod: str, port: int, speaks_first: bool = True) -> socket.socket:
        """A connection to *port* at 127.0.0.1 inside the pod; its bytes go through the server.

        Raises ConnectionRefusedError if nobody listens there, where a server *speaks first*. The
        caller closes it.
        """
        question = self._question("get", "pods/portforward", pod)
        handshake = Handshake()
        query = {"ports": str(port)}
        upgraded = await self._connection.upgrade(question, query, handshake.headers)
        what = f"port {port} of pod {pod}"
        return await self._forwards.connect(handshake, upgraded, what, speaks_first)

    def _question(self, verb: str, resource: str, name: str = "") -> Question:
        namespace = "" if resource in _OF_CLUSTER else self.namespace
        return Question(verb, resource, namespace, name, self.server)

    async def _ask(
        self, method: str, question: Question, query: Any = None, body: Json | None = None
    ) -> Json:
        async with (
            self._room,
            self._connection.answer(method, question, query or {}, body) as response,
        ):
            return await self._connection.body(response)


def _metadata(found: Json, name: str) -> str:
    metadata = found.get("metadata")
    value = metadata.get(name) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""
