"""What the cases share: servers beside the test, and runs to break."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Any, TypeVar

from tests.bounds import HANG
from tests.mesos.embedded import AgentConfig, LocalMesos
from tests.mesos.embedded.tests.wire import Scheduler, framework
from tfmesos.shared.handshake import STUB_SETTINGS

T = TypeVar("T")
SMALL = "cpus:2;mem:2048"


class Background:
    """An event loop on a thread, and the servers on it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()

    def run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def close(self) -> None:
        try:
            self.wait(self._stack.aclose())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def enter(self, server: AbstractAsyncContextManager[T]) -> T:
        """Start a server that lives as long as the background does."""
        return self.wait(self._stack.enter_async_context(server))

    def wait(self, work: Any, within: float = HANG) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(within)

    def do(self, function: Callable[..., T], *args: Any) -> T:
        """Call *function* where the servers live."""

        async def call() -> T:
            return function(*args)

        return self.wait(call())


@contextmanager
def background() -> Iterator[Background]:
    here = Background()
    thread = threading.Thread(target=here.run)
    thread.start()
    try:
        yield here
    finally:
        here.close()
        thread.join()


class Mesos:
    """An embedded Mesos in the background, whose parts can be lost."""

    def __init__(self, here: Background, *names: str, **options: Any) -> None:
        agents = [AgentConfig(name, options.pop("resources", SMALL)) for name in names]
        self._here = here
        self._mesos = here.enter(LocalMesos(agents, **options))
        self.url = self._mesos.url

    def lose(self, hostname: str) -> None:
        self._here.do(self._mesos.lose, hostname)

    def bring_back(self, hostname: str) -> None:
        self._here.do(self._mesos.bring_back, hostname)

    def kill_agent(self, hostname: str) -> None:
        self._here.do(self._mesos.kill_agent, hostname)

    def restart_master(self) -> None:
        self._here.do(self._mesos.restart_master)

    def occupy(self) -> None:
        """Let another framework hold all that is free, and never answer."""
        self._here.enter(_holding_offers(self.url))


@asynccontextmanager
async def _holding_offers(url: str) -> AsyncIterator[None]:
    other = await Scheduler.subscribe(url, framework())
    await other.offer()
    yield
    other.close()


class Gate:
    """Tasks that write to it say where they are; the reader waits for them."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "gate"
        os.mkfifo(self.path)

    def wait(self) -> str:
        return self.path.read_text()


def python_wrapper(directory: Path, *lines: str) -> Path:
    """For ``--python``: a script that does *lines* before it becomes the runner's Python."""
    script = directory / "python"
    script.write_text("\n".join(["#!/bin/sh", *lines, f'exec {sys.executable} "$@"', ""]))
    script.chmod(0o755)
    return script


def runners_through(directory: Path, address: tuple[str, int], **changes: Any) -> Path:
    """For ``--python``: runners that find their launcher at *address*, with these settings."""
    changed = {"launcher": "{}:{}".format(*address), **changes}
    edit = "; ".join(
        f'${STUB_SETTINGS.index(name) + 1} = "{value}"' for name, value in changed.items()
    )
    return python_wrapper(
        directory, f"export TFMESOS_RUNNER=\"$(echo $TFMESOS_RUNNER | awk '{{{edit}; print}}')\""
    )
