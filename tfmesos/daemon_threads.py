"""Threads that never keep the process from ending.

At the end of its loop asyncio waits for the threads of ``asyncio.to_thread`` and of name lookups. A
thread that reads a dead network file system or asks a dead name server would keep ``tfrun`` alive
for as long as that takes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST = 32  # threads


class DaemonThreads(ThreadPoolExecutor):
    """The executor of an event loop; ``shutdown`` waits for nothing."""

    def __init__(self) -> None:
        super().__init__(MOST)
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._waiting = threading.Semaphore(0)  # threads that wait for something to do
        self._started = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        self._tasks.put((future, partial(fn, *args, **kwargs)))
        if not self._waiting.acquire(blocking=False) and self._started < MOST:
            self._started += 1
            threading.Thread(target=self._work_on, daemon=True, name="daemon").start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for _ in range(self._started):
            self._tasks.put(None)

    def _work_on(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, work = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:
                    future.set_exception(error)
            del task, future, work
            self._waiting.release()


def use() -> None:
    """Let the running loop use such threads."""
    asyncio.get_running_loop().set_default_executor(DaemonThreads())
