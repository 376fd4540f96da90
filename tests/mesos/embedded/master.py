"""Joins the master state to the world: a clock, event streams, containers."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tfmesos.json_types import Json

from .agent import Containers
from .effects import Effect, End, Kill, Launch, Send
from .entities import Framework, Timing
from .state import MasterState
from .workdir import WorkDir

log = logging.getLogger(__name__)


class Stream:
    """The events for one subscriber, as encoded JSON, until the master ends it."""

    def __init__(self) -> None:
        self.id = str(uuid.uuid4())
        self.connection: asyncio.BaseTransport | None = None
        self._records: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(self, event: Json) -> None:
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        self._records.put_nowait(text.encode(errors="replace"))

    def end(self) -> None:
        self._records.put_nowait(None)

    def cut(self) -> None:
        """Drop the connection without a word, as a dying master does."""
        if self.connection:
            self.connection.close()

    async def records(self) -> AsyncIterator[bytes]:
        while (record := await self._records.get()) is not None:
            yield record


class Master:
    """Carries out what the state decides. Must be used within its event loop only."""

    def __init__(
        self,
        info: Json,
        timing: Timing,
        work_dir: WorkDir,
        *,
        switch_user: bool = False,
    ) -> None:
        self.state = MasterState(info, uuid.uuid4, timing)
        self.containers = Containers(work_dir, self, switch_user=switch_user)
        self._loop = asyncio.get_running_loop()
        self._epoch = time.time() - self._loop.time()
        self._streams: dict[str, Stream] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def now(self) -> float:
        """Seconds since 1970 by a clock that is never set back."""
        return self._epoch + self._loop.time()

    @contextmanager
    def streaming(self, stream: Stream) -> Iterator[None]:
        self._streams[stream.id] = stream
        try:
            yield
        finally:
            del self._streams[stream.id]
            self.run(self.state.disconnected(stream.id, self.now()))

    def restart(self) -> None:
        for stream in self._streams.values():
            stream.cut()
        self.run(self.state.restart(str(uuid.uuid4()), self.now()))

    def subscribe(self, call: Json, stream: Stream, principal: str | None) -> None:
        self.run(self.state.subscribe(call, stream.id, principal, self.now()))

    def handle(self, framework: Framework, call: Json) -> None:
        self.run(self.state.handle(framework, call, self.now()))

    def take_back(self, stream_id: str) -> None:
        self.run(self.state.take_back(stream_id, self.now()))

    def started(self, container_id: str, pid: int) -> None:
        self.run(self.state.task_started(container_id, pid, self.now()))

    def refused(self, container_id: str, state: str, reason: str, message: str) -> None:
        self.run(self.state.task_refused(container_id, state, reason, message, self.now()))

    def ended(
        self, container_id: str, succeeded: bool, message: str, reason: str | None = None
    ) -> None:
        self.run(self.state.task_ended(container_id, succeeded, message, self.now(), reason))

    def run(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            self._run(effect)
        self._arm()

    def _run(self, effect: Effect) -> None:
        match effect:
            case Send(stream, event):
                if stream in self._streams:
                    self._streams[stream].put(event)
            case End(stream):
                if stream in self._streams:
                    self._streams[stream].end()
            case Launch(task):
                log.debug("launching %s of %s on %s", task.id, task.framework.id, task.agent.id)
                self.containers.launch(task)
            case Kill(container_id, grace):
                log.debug("killing container %s within %g s", container_id, grace)
                self.containers.kill(container_id, grace)

    def _arm(self) -> None:
        if self._timer:
            self._timer.cancel()
        due = self.state.next_tick()
        if due is not None and not self._closed:
            self._timer = self._loop.call_at(due - self._epoch, self._tick)

    def _tick(self) -> None:
        self.run(self.state.tick(self.now()))

    def sandbox_of(self, task_id: str, framework_id: str | None = None) -> Path | None:
        """The directory of the newest task of that name, running or ended."""
        frameworks = [*self.state.completed.values(), *self.state.frameworks.values()]
        for framework in reversed(frameworks):
            if framework_id in (None, framework.id):
                for task in reversed(framework.all_tasks):
                    if task.id == task_id:
                        return self.containers.sandbox(task)
        return None

    def sandbox_at(self, path: str) -> Path | None:
        """The one that *path* is, or lies in."""
        frameworks = [*self.state.completed.values(), *self.state.frameworks.values()]
        every = (self.containers.sandbox(task) for one in frameworks for task in one.all_tasks)
        return next((one for one in every if f"{path}/".startswith(f"{one}/")), None)

    async def close(self, grace: float) -> None:
        self._closed = True
        self._arm()
        await self.containers.close(grace)
