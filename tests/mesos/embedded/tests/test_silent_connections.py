"""Connections without a call cost little, and end in time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import resource
import socket

from tests.bounds import HANG
from tests.mesos.embedded import LocalMesos, cluster

from .asking import NODE, basic
from .command_line import running
from .wire import Connection, Scheduler, framework


def test_a_crowd_that_says_nothing_leaves_the_master_its_descriptors_and_its_silence():
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))}
    with running(**few) as (process, url), concurrent.futures.ThreadPoolExecutor(1) as pool:
        said = pool.submit(process.stderr.read)
        where = ("127.0.0.1", int(url.rpartition(":")[2]))
        crowd = [socket.create_connection(where) for _ in range(400)]
        assert asyncio.run(subscribe(url)) == 200
        for stranger in crowd:
            stranger.close()
        assert asyncio.run(subscribe(url)) == 200
        process.terminate()
        warning, *said = said.result().splitlines()
    assert "warning" in warning
    assert len(said) == 1 and said[0].startswith(
        "refused 1 connection(s); the last, from 127.0.0.1:"
    )


async def subscribe(url):
    scheduler = await Scheduler.subscribe(url, framework())
    await scheduler.offer()
    scheduler.close()
    return scheduler.answer.status


def test_a_connection_without_a_call_is_cut_off_in_time_and_one_with_a_call_is_not(monkeypatch):
    monkeypatch.setattr(cluster, "CALL_TIMEOUT", 0.2)

    async def main():
        async with LocalMesos([NODE], credential=("fw", "dummy")) as mesos:
            framework_info, auth = framework(), basic("fw:dummy")
            scheduler = await Scheduler.subscribe(mesos.url, framework_info, auth=auth)
            await scheduler.call("REVIVE")
            silent, wrong = [await Connection.open(mesos.url) for _ in range(2)]
            assert (await wrong.request(None, basic("fw:no"))).status == 401
            for stranger in (silent, wrong):
                assert await asyncio.wait_for(_end(stranger.reader), HANG)
                stranger.close()
            assert (await scheduler.call("REVIVE")).status == 202
            assert scheduler.ended is None
            scheduler.close()

    asyncio.run(main())


async def _end(reader):
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True
