"""The answers of the page, and how a browser must treat them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from ...errors import TFMesosError
from ...http.byte_stream import ByteStream
from ...http.server import Answer, Request, text
from ...json_types import Json
from ...shared import json_reader
from ..control import ask
from ..run_directories import Store
from ..run_files import RunDirectory
from ..takeover.lost_runs import adoptable_until
from ..task_log import LogReader
from .browser_access import Access
from .command_answer import command_answer
from .event_streams import Stream, gone, kept_alive, list_events, run_events
from .run_list import RunList
from .views import has_log

MOST_STREAMS = 32  # pages that are live at once
LONGEST_ORDER = 4096  # bytes
LONGEST_SEARCH = 200  # characters
LINES_AT_ONCE = 5000

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # no text becomes a part of the page by mistake
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_STATIC = Path(__file__).parent / "static"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_ORDERS: dict[str, tuple[str, Json]] = {
    "stop": ("stop", {}),
    "restart": ("restart", {"elsewhere": False}),
    "replace": ("restart", {"elsewhere": True}),
    "adopt": ("adopt", {}),
    "stacks": ("stacks", {}),
}
# What a launcher is not asked for: a command does it, and of a lost run there is no launcher.
_BY_COMMAND: dict[str, tuple[str, ...]] = {
    "stop": ("stop", "--no-wait"),
    "adopt": ("adopt", "--detach"),
    "stacks": ("stacks",),
}


class NotFound(Exception):
    """There is no such run or task."""


class Site:
    """*admit* gets every connection whose browser has proved that it may see the page."""

    def __init__(
        self, path: str, access: Access, store: Store, admit: Callable[[ByteStream], object]
    ) -> None:
        self._path = path
        self._access = access
        self._store = store
        self._admit = admit
        self._files = {file.name: file.read_bytes() for file in _STATIC.iterdir()}
        self._runs = RunList(store)
        self._lock = asyncio.Lock()
        self._looking = asyncio.Lock()
        self._streams = 0
        self._routes: dict[tuple[str, str], Callable[[Request], Awaitable[Answer]]] = {
            ("GET", "events"): self._events,
            ("GET", "log"): self._log,
            ("POST", "order"): self._order,
        }

    async def answer(self, request: Request) -> Answer:
        answer = self._access.answer(request)
        if answer is None:
            self._admit(request.stream)
            answer = await self._own_answer(request)
        return answer.replace(headers={**HEADERS, **answer.headers})

    async def _own_answer(self, request: Request) -> Answer:
        name = request.path.removeprefix(self._path)
        route = self._routes.get((request.method, name))
        try:
            return await route(request) if route else self._file(request, name or "index.html")
        except NotFound as error:
            return text(404, f"{error}\n")
        except TFMesosError as error:
            return text(500, f"{error}\n")

    def _file(self, request: Request, name: str) -> Answer:
        if request.method not in ("GET", "HEAD"):
            return text(405, "This page is read-only.\n")
        if name not in self._files:
            return text(404, "There is no such page.\n")
        return Answer(200, self._files[name], {"Content-Type": _KINDS[Path(name).suffix]})

    async def _events(self, request: Request) -> Answer:
        """The events of one run, or of the list of all."""
        if self._streams >= MOST_STREAMS:
            return text(503, "Too many pages are open.\n")
        find = request.query.get("find", "")[:LONGEST_SEARCH]
        try:
            stream = await self._stream(request.query, find)
        except NotFound as error:  # a browser would ask again and again
            stream = gone(str(error))
        return Answer(200, self._counted(stream), {"Content-Type": "text/event-stream"})

    async def _stream(self, query: Json, find: str) -> Stream:
        if "run" not in query:
            return list_events(self._runs, self._lock)
        run, task = await asyncio.to_thread(self._named, query)
        return run_events(run, task, find)

    async def _counted(self, stream: Stream) -> Stream:
        self._streams += 1
        try:
            async for piece in (kept := kept_alive(stream)):
                yield piece
        finally:
            self._streams -= 1
            await kept.aclose()

    async def _log(self, request: Request) -> Answer:
        """The whole log of a task, as a file."""
        run, task = await asyncio.to_thread(self._named, request.query)
        if task is None:
            raise NotFound("Name the task whose log to show.")
        name = f"{run.id}-{run.log_file(task).name}"
        disposition = f'attachment; filename="{name}"'
        kind = "text/plain; charset=utf-8"
        headers = {"Content-Type": kind, "Content-Disposition": disposition}
        return Answer(200, _lines(LogReader(run.log_file(task))), headers)

    def _named(self, query: Json) -> tuple[RunDirectory, str | None]:
        """The run and the task of a request.

        Its words are only compared, and never become a path.
        """
        wanted, task = query.get("run"), query.get("task") or None
        run = next((run for run in self._store.all() if run.id == wanted), None)
        if run is None:
            raise NotFound("There is no such run (any more).")
        if task is not None and not has_log(run, str(task)):
            raise NotFound(f"Run {run.id} has no such task.")
        return run, task

    async def _order(self, request: Request) -> Answer:
        """Stop a run, or restart a task: asks the launcher, as the commands do.

        A lost run has none, so the command itself is run.
        """
        try:
            order = json_reader.read(await request.body(LONGEST_ORDER))
            do, more = _ORDERS[order["do"]]
        except (ValueError, KeyError, TypeError):
            return text(400, "This is not a command.\n")
        run, task = await asyncio.to_thread(self._named, order)
        if do == "stacks":
            async with self._looking:  # one at a time is enough for the launchers
                return await command_answer(_BY_COMMAND[do], run)
        until = await asyncio.to_thread(adoptable_until, run)
        if do == "adopt" or (do == "stop" and until is not None):
            return await command_answer(_BY_COMMAND[do], run)
        if do != "stop" and task is None:
            raise NotFound("Which task?")
        about: Json = {"task": task} if task else {}
        try:
            await asyncio.to_thread(partial(ask, run, do, **about, **more))
        except TFMesosError as error:
            return text(409, f"{error}\n")
        return text(200, "")


async def _lines(reader: LogReader) -> Stream:
    lines = reader.lines()
    while piece := await asyncio.to_thread(_next, lines):
        yield piece


def _next(lines: Iterator[bytes]) -> bytes:
    return b"".join(islice(lines, LINES_AT_ONCE))
