"""An embedded Mesos with one node, and its processes."""

from __future__ import annotations

import asyncio

import psutil

from tests.mesos.embedded import AgentConfig, LocalMesos, Timing

from .wire import Scheduler, appearance, framework

NODE = AgentConfig("node-a", "cpus:8;mem:4096;ports:[31000-31009]")


FAST = Timing(kill_grace=0.2, allocation_interval=0.01)


def run(story, *agents, **options):
    async def main():
        async with LocalMesos(agents or [NODE], timing=FAST, **options) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            try:
                return await story(mesos, scheduler)
            finally:
                scheduler.close()

    return asyncio.run(main())


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def pids(mesos, *names: str) -> list[int]:
    """The process ids that task "t" wrote into these files."""
    sandbox = mesos.sandbox_of("t")
    return [int(await appearance(sandbox / name)) for name in names]
