"""Server-sent events: what has changed since the last look, until nothing can change any more."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

from ...json_types import Json
from ..live_status import LiveStatus
from ..run_files import RunDirectory
from ..takeover.lost_runs import is_final
from .output_view import OutputView
from .run_list import RunList
from .usage_plot import Usage
from .views import whole

LOOK_EVERY = 0.4  # seconds, at a run
LIST_EVERY = 1.0  # seconds; 200 runs take 10 ms
SHARE = 5  # a look that takes long is followed by a pause of so many times that
ALIVE_EVERY = 15.0  # seconds; else a reader that is gone is not noticed

Stream = AsyncGenerator[bytes, None]
END = "end"  # nothing more comes: the reader need not ask again


def event(name: str, data: Any) -> bytes:
    """An event with JSON, which contains no newline."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


async def list_events(runs: RunList, lock: asyncio.Lock) -> Stream:
    """The list of all runs, whenever it has changed. It never ends."""
    last = None
    async for _ in _looks(LIST_EVERY):
        async with lock:
            rows = await asyncio.to_thread(runs.rows)
        if rows != last:
            last = rows
            yield event("runs", {"now": time.time(), "runs": rows})
        else:
            yield b""


async def gone(why: str) -> Stream:
    """There is no such run."""
    yield event("gone", why) + event(END, {})


async def run_events(run: RunDirectory, task: str | None, find: str) -> Stream:
    """A run, its measurements, and the output of *task* or of all, filtered by *find*."""
    look = _Look(run, OutputView(run, task, find))
    try:
        async for _ in _looks(LOOK_EVERY):
            is_over = await asyncio.to_thread(is_final, run)  # before the last look
            for news in (look.at_run, look.at_usage, look.at_output):
                yield await asyncio.to_thread(news)
            if is_over:
                yield event(END, {})
                return
    finally:
        look.tail.is_left = True


class _Look:
    """Looks for news, each time in a thread; what comes first is shown first."""

    def __init__(self, run: RunDirectory, tail: OutputView) -> None:
        self.tail = tail
        self._progress = LiveStatus(run)
        self._usage = Usage(run)
        self._last: Json = {}
        self._has_output = False

    def at_run(self) -> bytes:
        now = time.time()
        value = whole(self._progress, now)
        if value == self._last:
            return b""
        self._last = value
        return event("run", {**value, "now": now})

    def at_usage(self) -> bytes:
        points = self._usage.look()
        return event("usage", points) if points else b""

    def at_output(self) -> bytes:
        """Sent the first time even if there is none."""
        news = self.tail.look()
        if news is None and self._has_output:
            return b""
        self._has_output = True
        return event("output", news or {"lines": [], "left_out": 0})


async def _looks(
    every: float, clock: Callable[[], float] = time.monotonic
) -> AsyncGenerator[None, None]:
    while True:
        began = clock()
        yield
        await asyncio.sleep(max(every, SHARE * (clock() - began)))


async def kept_alive(stream: Stream, clock: Callable[[], float] = time.monotonic) -> Stream:
    """Sends a comment now and then; an empty piece would end the answer."""
    said = clock()
    try:
        async for piece in stream:
            if piece or clock() - said > ALIVE_EVERY:
                said = clock()
                yield piece or b":\n\n"
    finally:
        await stream.aclose()
