"""A framework that knows no more than what it is told: the client of tfmesos and its events."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.bounds import HANG
from tfmesos.engines.mesos.api.client import MesosClient, Timing
from tfmesos.engines.mesos.api.masters import parse

from .cluster import wait_until

Json = dict[str, Any]

CAPABILITIES = ("MULTI_ROLE", "PARTITION_AWARE", "TASK_KILLING_STATE")
ENDED = ("TASK_FINISHED", "TASK_FAILED", "TASK_KILLED", "TASK_ERROR", "TASK_DROPPED", "TASK_LOST")


def play(scenario) -> None:
    async def bounded():
        async with asyncio.timeout(HANG):
            await scenario()

    asyncio.run(bounded())


async def until(what: str, is_so: Callable[[], object]) -> None:
    await asyncio.to_thread(wait_until, what, is_so)


class Framework:
    def __init__(self, url: str, *, capabilities=CAPABILITIES, credential=None, **info) -> None:
        self._events: asyncio.Queue[Json] = asyncio.Queue()
        self.client = MesosClient(
            parse(url),
            {
                "user": getpass.getuser(),
                "name": "contract",
                "roles": ["*"],
                "checkpoint": True,
                "failover_timeout": 60.0,
                "capabilities": [{"type": name} for name in capabilities],
                **info,
            },
            self._events.put_nowait,
            credential=credential,
            timing=Timing(give_up_after=HANG, first_delay=0.05, longest_delay=0.2),
        )

    @asynccontextmanager
    async def subscribed(self):
        """Torn down in the end, with all its tasks."""
        async with self.connected():
            yield self
            await self.client.teardown()

    @asynccontextmanager
    async def connected(self):
        """In the end it just goes away, without a word to the master."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.client.run())
            self.subscription = await self.next("SUBSCRIBED")
            yield self
            task.cancel()

    async def next(self, kind: str) -> Json:
        """The next event of that kind; others are passed over."""
        while True:
            event = await self._events.get()
            if event["type"] == kind:
                return event

    async def offers(self, *hostnames: str) -> dict[str, Json]:
        """The next offers of these agents, by host name."""
        found: dict[str, Json] = {}
        while not set(hostnames) <= set(found):
            event = await self.next("OFFERS")
            found |= {offer["hostname"]: offer for offer in event["offers"]["offers"]}
        return found

    async def offer(self) -> Json:
        event = await self.next("OFFERS")
        offer, *others = event["offers"]["offers"]
        if others:
            await self.client.decline([it["id"]["value"] for it in others], 3600.0)
        return offer

    async def no_offer_for(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                event = await self.next("OFFERS")
        except TimeoutError:
            return
        raise AssertionError(f"unexpected: {event}")

    async def launch(self, offer: Json, *tasks: Json, refuse: float = 0.0) -> None:
        infos = [{"agent_id": offer["agent_id"], **task} for task in tasks]
        assert await self.client.accept([offer["id"]["value"]], infos, refuse)

    async def run(self, *tasks: Json) -> Json:
        """Launch on the next offer; return that offer."""
        offer = await self.offer()
        await self.launch(offer, *tasks)
        return offer

    async def status(self, *states: str, task_id: str = "t") -> Json:
        """The next status of the task in one of these states."""
        while True:
            status = (await self.next("UPDATE"))["update"]["status"]
            if status["task_id"]["value"] == task_id and status["state"] in states:
                return status

    async def statuses(self, task_id: str = "t") -> list[Json]:
        """All statuses of the task from now on to its end."""
        found: list[Json] = []
        while not found or found[-1]["state"] not in ENDED:
            status = (await self.next("UPDATE"))["update"]["status"]
            if status["task_id"]["value"] == task_id:
                found.append(status)
        return found


def a_task(command: str | Json, task_id="t", cpus=0.5, mem=32.0, **more) -> Json:
    return {
        "name": task_id,
        "task_id": {"value": task_id},
        "resources": [scalar("cpus", cpus), scalar("mem", mem)],
        "command": {"value": command} if isinstance(command, str) else command,
        **more,
    }


def scalar(name: str, value: float) -> Json:
    allocation = {"allocation_info": {"role": "*"}}
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}, **allocation}


def amounts(offer: Json) -> dict[str, float]:
    return {it["name"]: it["scalar"]["value"] for it in offer["resources"] if "scalar" in it}
