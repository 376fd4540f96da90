"""Real runners and a launcher's end of the rendezvous, for the tests."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tfmesos.core import events
from tfmesos.launcher.links import payload
from tfmesos.launcher.links.exchange import Limits, Sinks, Supplies
from tfmesos.launcher.links.listener import Listener
from tfmesos.launcher.links.usage import Usage
from tfmesos.record import Record
from tfmesos.shared import process
from tfmesos.shared.address import join_address
from tfmesos.shared.handshake import NOBODY, STUB_SETTINGS

from .bounds import HANG

RUN = "run-1"
TASK = f"worker-0-of-{os.urandom(8).hex()}"  # its own, for a runner kills all that bears its mark
SECRET = bytes(range(32))
CLUSTER = {"worker": ["10.0.0.1:1", "10.0.0.2:2"], "ps": ["10.0.0.3:3"]}
T = TypeVar("T")
PYTHON = [sys.executable, "-u", "-c"]
TOLD: dict[str, Any] = {}  # what the task learns from its launcher


def another_python(version: str) -> str:
    """The interpreter of such a version; the test is skipped where there is none."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    if not found:
        pytest.skip(f"no Python {version} under ~/.pyenv/versions")
    return str(found[0])


def settings(address: tuple[str, int], **changes: Any) -> dict[str, Any]:
    """All that a runner is told. Only a part of it is in its task; the launcher has the rest."""
    values = {
        "launcher": join_address(*address[:2]),
        "run": RUN,
        "task": TASK,
        "job": "worker",
        "index": 0,
        "port": None,
        "grace": 5,
        "connect_timeout": 5,
        "owner": NOBODY,
    }
    TOLD.clear()
    TOLD.update(values | changes)
    return values | changes


def environment(values: dict[str, Any], secret: bytes = SECRET, **extra: str) -> dict[str, str]:
    """What a task finds on a Mesos agent: a PATH and our variables."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TFMESOS_RUNNER": " ".join(str(values[name]) for name in STUB_SETTINGS if name in values),
        "TFMESOS_SECRET": secret.hex(),
        **extra,
    }


def in_own_session(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    options = {"stdin": subprocess.DEVNULL, **options}
    return subprocess.Popen(command, start_new_session=True, **options)


class Runner:
    """A runner process, started as Mesos would start it."""

    def __init__(
        self,
        sandbox: Path,
        env: dict[str, str],
        python: str = sys.executable,
        before: str = "",
        command: Callable[[str], str] = payload.command,
    ) -> None:
        self.sandbox = sandbox
        with open(sandbox / "stdout", "wb") as out, open(sandbox / "stderr", "wb") as err:
            words = ["/bin/sh", "-c", before + command(python)]
            self.process = in_own_session(words, env=env, cwd=sandbox, stdout=out, stderr=err)

    def wait(self, timeout: float = HANG) -> int:
        return process.exit_code(self.process.wait(timeout))

    async def exited(self) -> int:
        return await asyncio.to_thread(self.wait)

    def close(self) -> None:
        process.kill_session(self.process.pid)
        self.process.wait()

    @property
    def stdout(self) -> bytes:
        return (self.sandbox / "stdout").read_bytes()

    @property
    def stderr(self) -> str:
        return (self.sandbox / "stderr").read_text()


@contextlib.contextmanager
def runner(
    sandbox: Path, values: dict[str, Any], secret: bytes = SECRET, **extra: str
) -> Iterator[Runner]:
    started = Runner(sandbox, environment(values, secret, **extra))
    try:
        yield started
    finally:
        started.close()


def _of(part: type[Record], options: dict[str, Any]) -> dict[str, Any]:
    """The fields of *part*, taken out of *options*."""
    return {name: options.pop(name) for name in part.__match_args__ if name in options}


class Launcher:
    """Everything a rendezvous reports, and a way to wait for it."""

    def __init__(self, **options: Any) -> None:
        sinks = {"measured": self._measured, "progressed": self._progressed}
        self.rendezvous = Listener(
            RUN,
            Sinks(self._emit, self._output, **{**sinks, **_of(Sinks, options)}),
            Supplies(**{"get_runners": payload.runners, **_of(Supplies, options)}),
            Limits(**_of(Limits, options)),
            **options,
        )
        self.address = ("", 0)
        self.events: list[events.Event] = []
        self.output: list[tuple[str, str]] = []
        self.dropped = 0
        self.usages: list[Usage] = []
        self.progress: list[str] = []
        self.open = asyncio.Event()  # clear it for a launcher that is too slow
        self.open.set()
        self._news = asyncio.Event()

    def _emit(self, event: events.Event) -> None:
        self.events.append(event)
        self._news.set()

    async def _output(
        self, task_id: str, stream: str, text: str, dropped: int, number: int
    ) -> None:
        await self.open.wait()
        self.output += [(stream, line) for line in text.split("\n")[:-1]]
        self.dropped += dropped
        self._news.set()

    def _measured(self, task_id: str, usage: Usage) -> None:
        self.usages.append(usage)
        self._news.set()

    def _progressed(self, task_id: str, text: str) -> None:
        self.progress.append(text)
        self._news.set()

    def lines(self, stream: str = "stdout") -> list[str]:
        return [line for name, line in self.output if name == stream]

    def send(self, **message: Any) -> None:
        self.rendezvous.send(TASK, message)

    def start(self, command: Any, **more: Any) -> None:
        self.send(type="start", **{"cluster": CLUSTER, "command": command} | more)

    async def saw(self, kind: type[T]) -> T:
        """The first event of this kind, now or when it comes."""
        return await self.until(
            lambda: next((event for event in self.events if isinstance(event, kind)), None)
        )

    async def until(self, condition: Callable[[], T | None]) -> T:
        """What *condition* gives once it is true; it is asked whenever there is news."""
        try:
            async with asyncio.timeout(HANG):
                while not (value := condition()):
                    self._news.clear()
                    await self._news.wait()
                return value
        except TimeoutError:
            raise AssertionError(f"waited in vain; so far: {self.events}") from None


@contextlib.asynccontextmanager
async def launcher(
    host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, **options: Any
) -> AsyncIterator[Launcher]:
    """A launcher that listens and expects our one task."""
    ours = Launcher(**options)
    async with ours.rendezvous as rendezvous:
        ours.address = await rendezvous.listen(host, 0, tls)
        rendezvous.expect(TASK, SECRET, TOLD)
        yield ours


async def end_at_a_late_launcher(theirs: Runner, address: tuple[str, int]) -> int:
    """The exit code of a runner whose launcher listens at *address* from now on."""
    async with launcher() as ours:
        await ours.rendezvous.listen(*address)
        ours.start(["true"])
        await ours.saw(events.TaskExited)
        return await theirs.exited()


def run(
    sandbox: Path, command: Any, *, values: dict[str, Any] | None = None, **start: Any
) -> tuple[Launcher, int, Runner]:
    """Run one command from start to end: the launcher, the runner's exit code and the runner."""

    async def main() -> tuple[Launcher, int, Runner]:
        async with launcher() as ours:
            with runner(sandbox, settings(ours.address, **values or {})) as theirs:
                ours.start(command, **start)
                await ours.saw(events.TaskExited)
                return ours, await theirs.exited(), theirs

    return asyncio.run(main())


def the_exit(ours: Launcher) -> tuple[int, str]:
    (event,) = [event for event in ours.events if isinstance(event, events.TaskExited)]
    return event.code, event.reason


def gone(pid: int, timeout: float = HANG) -> bool:
    """Whether the process, anybody's, ends within *timeout* seconds; a zombie has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], timeout)[0])
    finally:
        os.close(handle)


class Proxy:
    """A TCP proxy between runner and launcher that can be cut, and can turn callers away.

    With *tls* it is the TLS front of a server that has none.
    """

    def __init__(self, target: tuple[str, int], tls: ssl.SSLContext | None = None) -> None:
        self._target, self._tls = target, tls
        self._connections: set[asyncio.Task[None]] = set()
        self._open = True
        self._frozen: set[asyncio.StreamWriter] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.pause = 0.0  # seconds before every piece of 1000 bytes
        self.address = ("", 0)
        self.passed = 0  # bytes from the runner
        self.cut_after: int | None = None  # cut once so many bytes of the runner have passed
        self.recorded = b""  # what the runner said on all its connections

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._open:
            writer.transport.abort()
            return
        try:
            there, to_launcher = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, to_launcher, counted=True))
                group.create_task(self._pass_on(there, writer, counted=False))
        except* (ConnectionError, EOFError):
            pass
        finally:
            self._writers -= {writer, to_launcher}
            writer.transport.abort()
            to_launcher.transport.abort()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counted: bool
    ) -> None:
        self._writers.add(writer)
        while data := await reader.read(1000):
            if writer in self._frozen:
                continue
            await asyncio.sleep(self.pause)
            if counted:
                self.passed += len(data)
                self.recorded += data
            writer.write(data)
            await writer.drain()
            if counted and self.cut_after is not None and self.passed >= self.cut_after:
                self.cut_after = None
                break
        raise EOFError

    def cut(self, *, for_good: bool = False) -> None:
        self._open = not for_good
        for connection in self._connections:
            connection.cancel()

    def mend(self) -> None:
        self._open = True

    def freeze(self) -> None:
        """Let nothing through these connections any more, and tell nobody; new ones are well."""
        self._frozen |= self._writers

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)
        self.address = server.sockets[0].getsockname()
        try:
            yield self
        finally:
            server.close()
            self.cut(for_good=True)
            await asyncio.gather(*self._connections, return_exceptions=True)
            await server.wait_closed()
