"""What works in a thread keeps no loop from ending."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tfmesos import daemon_threads
from tfmesos.daemon_threads import DaemonThreads


def run(main):
    async def with_threads():
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        return await main()

    return asyncio.run(with_threads())


def test_results_and_errors_come_back():
    async def main():
        assert await asyncio.to_thread(lambda: 42) == 42
        with pytest.raises(KeyError):
            await asyncio.to_thread({}.__getitem__, "x")

    run(main)


def test_a_thread_that_never_ends_is_not_waited_for():
    is_there, is_over = threading.Event(), threading.Event()

    def hang():
        is_there.set()
        is_over.wait()

    async def main():
        work = asyncio.ensure_future(asyncio.to_thread(hang))
        await asyncio.to_thread(is_there.wait)
        work.cancel()

    run(main)  # comes back
    is_over.set()


def test_threads_are_used_again_and_there_is_a_limit(monkeypatch):
    monkeypatch.setattr(daemon_threads, "MOST", 3)
    names = set()

    async def main():
        for _ in range(5):
            names.add(await asyncio.to_thread(threading.get_ident))
        await asyncio.gather(*(asyncio.to_thread(work) for _ in range(20)))

    def work():
        names.add(threading.get_ident())

    run(main)
    assert 1 <= len(names) <= 3


def test_work_that_was_cancelled_before_it_began_is_not_done(monkeypatch):
    monkeypatch.setattr(daemon_threads, "MOST", 1)
    go, done = threading.Event(), []

    async def main():
        first = asyncio.ensure_future(asyncio.to_thread(go.wait))
        second = asyncio.ensure_future(asyncio.to_thread(done.append, 2))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait({second})
        go.set()
        await first
        await asyncio.to_thread(done.append, 3)

    run(main)
    assert done == [3]
