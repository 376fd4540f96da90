"""A client of a master that is a fake, and what it was told."""

from __future__ import annotations

import asyncio
import gc
import os
from contextlib import asynccontextmanager

import pytest

from tests.bounds import HANG
from tfmesos.engines.mesos.api.client import MesosClient, Timing
from tfmesos.engines.mesos.api.masters import MasterList
from tfmesos.errors import MasterError

INFO = {"user": "nobody", "name": "test", "roles": ["*"]}


QUICK = Timing(
    give_up_after=0.3,
    reconnect_for=0.3,
    connect=1.0,
    answer=0.2,
    first_delay=0.01,
    longest_delay=0.02,
)


CALM = Timing(give_up_after=5.0, reconnect_for=5.0, first_delay=0.01, longest_delay=0.02)


def play(scenario):
    """Run a scenario, and see that it leaves no task and no socket behind."""

    async def watched():
        async with asyncio.timeout(HANG):
            await scenario()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    gc.collect()
    before = os.listdir("/proc/self/fd")
    asyncio.run(watched())
    assert os.listdir("/proc/self/fd") == before


class Launcher:
    """Stands where the scheduler will: a client and the events it emits."""

    def __init__(self, *urls: str, timing: Timing = CALM, **options):
        self.events: asyncio.Queue = asyncio.Queue()
        self.lines: list[str] = []
        self.client = MesosClient(
            MasterList(urls),
            INFO,
            self.events.put_nowait,
            timing=timing,
            on_state=self.lines.append,
            **options,
        )

    @asynccontextmanager
    async def running(self):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.client.run())
            yield self
            task.cancel()

    @asynccontextmanager
    async def subscribed(self):
        """A client that runs to its own end, from its subscription on."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.client.run())
            await self.next("SUBSCRIBED")
            yield group

    async def next(self, type: str):
        event = await self.events.get()
        assert event["type"] == type
        return event

    async def failure(self) -> str:
        """Run until the client gives up, and tell with which words."""
        with pytest.raises(MasterError) as caught:
            await self.client.run()
        return str(caught.value)
