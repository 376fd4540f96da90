"""Reads the last output of tasks from their sandboxes if their runners could not deliver it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any

from ..core.outcome import Outcome
from ..engines.api import Driver
from ..errors import FrameError, Interrupted
from ..shared import undelivered, wire
from .interrupt import StopRequests
from .links.exchange import Output
from .links.last_lines import joined
from .links.listener import Listener

FETCHES = 16  # sandboxes that are read at once, each up to 32 MiB


async def explained(
    outcome: Outcome, driver: Driver, last_lines: Callable[[str], list[str]]
) -> Outcome:
    """The outcome with the path of the failed task's sandbox, and its last lines if we had none."""
    if outcome.cause is None:
        return outcome
    cause = await driver.explain(outcome.cause)
    if not cause.is_reported:
        cause = cause.replace(tail=joined(last_lines(cause.task_id), cause.tail))
    return outcome.replace(cause=cause)


async def completed(
    outcome: Outcome, stops: StopRequests, fetching: Coroutine[Any, Any, None]
) -> Outcome:
    """The outcome once all output was fetched, unless the user does not want to wait."""
    try:
        await stops.unless_cut(fetching)
    except Interrupted as stop:
        return outcome if outcome.error else outcome.replace(error=stop)
    return outcome


class MissingOutput:
    """*names* are those of the tasks on the screen, by their ids."""

    def __init__(
        self,
        listener: Listener,
        driver: Driver,
        say: Callable[[str, str], object],
        names: Mapping[str, str],
    ) -> None:
        self._listener = listener
        self._driver = driver
        self._say = say
        self._names = names
        self._fetching = asyncio.Semaphore(FETCHES)

    async def fetch(self, wanted: Collection[str], output: Output) -> None:
        """Pass what the tasks in *wanted* have written to *output*, or say that it is missing."""
        await self._listener.drain()
        async with asyncio.TaskGroup() as group:
            for task_id, received in self._listener.unreported():
                if self._names[task_id] in wanted:
                    group.create_task(self._fetch_or_say(task_id, received, output))

    async def _fetch_or_say(self, task_id: str, received: int, output: Output) -> None:
        async with self._fetching:
            if not await self._fetch(task_id, received, output):
                what = f"the last output of {self._names[task_id]} may be missing"
                is_there = self._listener.is_connected(task_id)
                why = "has not ended in time" if is_there else "could not report"
                self._say(f"{what}: its runner {why}", "warning")

    async def _fetch(self, task_id: str, received: int, output: Output) -> bool:
        """Read what the runner left in its sandbox; returns whether that is everything."""
        text = await self._driver.read(task_id, undelivered.FILE)
        messages, is_all = unpack(text, received)
        for message in messages:
            if message["type"] == "output":
                await output(task_id, message["stream"], message["text"], message["dropped"], 0)
        return is_all


def unpack(text: str, received: int) -> tuple[list[wire.Message], bool]:
    """The messages after the first *received* ones, and whether they are complete."""
    first, *rest = text.split("\n")
    try:
        head = wire.decode(first.encode("utf-8"))
        missed = received - wire.count(head, "acked")
        if missed < 0:
            return [], False
        wanted = rest[missed : wire.count(head, "messages")]
        messages = [_checked(wire.decode(line.encode("utf-8"))) for line in wanted]
    except (FrameError, UnicodeError):  # an incomplete file, or somebody else's
        return [], False
    return messages, bool(messages) and messages[-1]["type"] == "exit"


def _checked(message: wire.Message) -> wire.Message:
    if message["type"] == "output":
        wire.field(message, "stream", str)
        wire.field(message, "text", str)
        wire.count(message, "dropped")
    return message
