"""The listener the runners report to.

Whoever connects is a stranger until it has proved the secret of its task: short of time, of
bytes and of company. After that one connection at a time speaks for its task, and the
messages both sides count survive the change from one connection to the next.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any

from ..acceptor import BACKLOG, MAX_STRANGERS, Acceptor, Complaints
from ..core.events import (
    Event,
    RunnerBack,
    RunnerLost,
    RunnerOutOfTouch,
    TaskExited,
    TaskFellSilent,
    TaskReady,
    TaskRegistered,
)
from ..errors import FrameError, HandshakeError
from ..node import wire
from ..node.address import join_address
from ..node.handshake import NONCE_BYTES, LauncherHandshake

log = logging.getLogger(__name__)

CHUNK = 64 * 1024  # bytes
FLUSH = 1.0  # seconds for the last bytes to a runner, or from it
SECRET_BYTES = 32
PIECE = 16 * 1024  # bytes of the runner that wait for one task at a time
BYE = wire.encode({"type": "bye"})

# Gets (task id, stream, whole lines, number of lines dropped before them); the runner is read
# no further until it returns.
Output = Callable[[str, str, str, int], Awaitable[None]]


class _Task:
    """One expected task, over all its connections."""

    def __init__(self, task_id: str, secret: bytes, settings: Mapping[str, Any]) -> None:
        self.id, self.settings = task_id, settings
        self.first_secret: bytes | None = secret  # until the runner has reported
        self.secret = secrets.token_bytes(SECRET_BYTES)  # for its further connections
        self.writer: asyncio.StreamWriter | None = None  # the connection that speaks for it
        self.received = 0  # numbered messages of the runner
        self.sent: list[bytes] = []  # numbered messages to the runner, arrived or not
        self.turn = asyncio.Lock()  # keeps the order over a change of connection
        self.has_begun = False
        self.exited = False
        self.is_dismissed = False
        self.is_silent = False
        self.loss: asyncio.TimerHandle | None = None

    def write(self, frame: bytes) -> None:
        if self.writer is not None and not self.writer.is_closing():
            self.writer.write(frame)

    def acknowledge(self) -> None:
        """Say what arrived, which is our heartbeat too; the next one makes up for one left out."""
        if self.writer is None or self.writer.transport.get_write_buffer_size() > CHUNK:
            return
        self.write(wire.encode({"type": "ack", "received": self.received}))

    def expect_loss(self, handle: asyncio.TimerHandle | None) -> None:
        if self.loss is not None:
            self.loss.cancel()
        self.loss = handle


class Listener:
    """Use it in an ``async with``; leaving that closes the listener and every connection."""

    def __init__(
        self,
        run_id: str,
        emit: Callable[[Event], None],
        output: Output,
        *,
        grace: float = 10.0,
        heartbeat: float = 5.0,
        silence: float = 20.0,
        silent_after: float = 60.0,
        handshake_timeout: float = 5.0,
        max_strangers: int = MAX_STRANGERS,
        dismisses: bool = True,  # let a runner go once it has reported its end; or `dismiss` does
        runner: bytes = b"",  # what a stub is sent
    ) -> None:
        self._run_id, self._emit, self._output = run_id, emit, output
        self._grace, self._heartbeat, self._silence = grace, heartbeat, silence
        self._silent_after = silent_after
        self._handshake_timeout, self._max_strangers = handshake_timeout, max_strangers
        self._dismisses = dismisses
        self._runner = len(runner).to_bytes(4, "big") + runner  # one for all
        self._runner_hash = hashlib.sha256(runner).hexdigest()
        self._tasks: dict[str, _Task] = {}
        self._awaited: set[str] = set()  # those of them without a connection
        self._complaints = Complaints()
        self._taking = 0  # tasks whose output waits to be shown
        self._taken = self._seen = 0  # messages of all tasks; those when somebody looked last
        self._group = asyncio.TaskGroup()
        self._handlers: set[asyncio.Task[None]] = set()
        self._acceptors: list[Acceptor] = []
        self._closing = False

    async def __aenter__(self) -> Listener:
        await self._group.__aenter__()
        self._spawn(self._beat())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing = True
        for acceptor in self._acceptors:
            acceptor.close()
        for task_id in list(self._tasks):
            self.forget(task_id)
        for handler in self._handlers:
            handler.cancel()
        # An error of the body is not for the group, which would wrap it; a cancellation may be
        # the group's own doing.
        own = (kind, error, trace) if kind is asyncio.CancelledError else (None, None, None)
        await self._group.__aexit__(*own)
        for acceptor in self._acceptors:
            await acceptor.wait_closed()

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Listen at *host* and *port* (0: any free one), and say where that is."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        where: tuple[str, int] = listener.getsockname()[:2]
        acceptor = Acceptor(
            listener,
            self._protocol,
            patience=2 * self._handshake_timeout,
            room=lambda: self._max_strangers + len(self._awaited),
            complaints=self._complaints,
        )
        self._acceptors.append(acceptor)
        return where

    def _protocol(self) -> asyncio.BaseProtocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(), self._connected)

    def expect(
        self, task_id: str, secret: bytes | None = None, settings: Mapping[str, Any] | None = None
    ) -> bytes:
        """Let the runner of this task in from now on, with the secret that is returned.

        *settings* is what it is told in its first welcome.
        """
        secret = secret or secrets.token_bytes(SECRET_BYTES)
        self._tasks[task_id] = _Task(task_id, secret, {} if settings is None else settings)
        self._awaited.add(task_id)
        return secret

    def _secret_of(self, task_id: str, again: bool) -> bytes | None:
        task = self._tasks.get(task_id)
        if task is None:
            return None
        return task.secret if again else task.first_secret

    def forget(self, task_id: str) -> None:
        """End the connection of this task, let it in no more and report nothing about it."""
        task = self._tasks.pop(task_id, None)
        if task is None:
            return
        task.expect_loss(None)
        self._awaited.discard(task_id)
        writer, task.writer = task.writer, None
        if writer is not None:
            writer.close()

    def send(self, task_id: str, message: Mapping[str, Any] | bytes) -> None:
        """Bring a ``start`` or ``stop`` to the runner exactly once, at once or when it is back.

        *message* may be encoded already, when many runners get the same one.
        """
        task = self._tasks.get(task_id)
        if task is None:
            log.debug("nothing is sent to %s: it is not expected", task_id)
            return
        frame = message if isinstance(message, bytes) else wire.encode(message)
        task.sent.append(frame)
        task.write(frame)

    def dismiss(self, task_id: str) -> None:
        """Let the runner go, if it has reported its end; once is enough."""
        task = self._tasks.get(task_id)
        if task is not None and task.exited and not task.is_dismissed:
            task.is_dismissed = True
            task.write(BYE)

    @property
    def is_busy(self) -> bool:
        """Does output wait to be shown, or has anything been taken since this was asked last?"""
        seen, self._seen = self._seen, self._taken
        return self._taking > 0 or seen != self._seen

    def unreported(self) -> list[tuple[str, int]]:
        """The tasks that have begun and told of no end, with the number of messages they sent."""
        return [(t.id, t.received) for t in self._tasks.values() if t.has_begun and not t.exited]

    async def drain(self) -> None:
        """Take all that tasks have sent whose runner is gone, however long it takes to show it."""
        clock = asyncio.get_running_loop().time
        end = clock() + FLUSH
        while clock() < end and any(self._tasks[id].writer for id, _ in self.unreported()):
            await asyncio.sleep(FLUSH / 20)
            if self.is_busy:
                end = clock() + FLUSH

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        handler = self._group.create_task(work)
        self._handlers.add(handler)
        handler.add_done_callback(self._handlers.discard)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing:
            writer.transport.abort()
        else:
            self._spawn(self._serve(reader, writer))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat)
            for task in self._tasks.values():
                task.acknowledge()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = wire.FrameDecoder()
        try:
            task = await self._admit(reader, writer, decoder)
            if task is not None:
                await self._attend(task, reader, writer, decoder)
        finally:
            await _hang_up(writer)

    # Strangers:

    async def _admit(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> _Task | None:
        try:
            handshake, arrived = await self._prove(reader, writer, decoder)
            if handshake.is_stub:
                await self._send_runner(writer)
            return self._welcome(handshake.task, writer, arrived)
        except TimeoutError:
            self._refuse(writer, "it did not prove the secret in time")
        except (OSError, FrameError, HandshakeError) as error:
            self._refuse(writer, str(error))
        return None

    async def _prove(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> tuple[LauncherHandshake, int]:
        try:
            async with asyncio.timeout(self._handshake_timeout):
                return await self._shake_hands(reader, writer, decoder)
        finally:
            for acceptor in self._acceptors:
                acceptor.admit(writer.transport.get_protocol())

    async def _shake_hands(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> tuple[LauncherHandshake, int]:
        """The handshake, done, and how many of our messages the runner has."""
        nonce = os.urandom(NONCE_BYTES)
        handshake = LauncherHandshake(self._run_id, nonce, self._secret_of, self._runner_hash)
        while data := await reader.read(wire.MAX_GREETING):
            for message in decoder.feed(data):
                answer = handshake.feed(message)
                if answer is None:
                    decoder.limit = wire.MAX_FRAME
                    return handshake, wire.count(message, "received")
                writer.write(wire.encode(answer))
        raise HandshakeError("it left before it had proved the secret")

    def _refuse(self, writer: asyncio.StreamWriter, reason: str) -> None:
        peer = writer.get_extra_info("peername")
        who = join_address(*peer[:2]) if peer else "somebody who has gone"
        self._complaints.add(who, reason)

    # Runners:

    async def _send_runner(self, writer: asyncio.StreamWriter) -> None:
        """Before the task has this connection, so that nothing gets between the pieces."""
        writer.transport.set_write_buffer_limits(0)  # a thousand wait at once: keep no copies
        frame = memoryview(self._runner)
        try:
            for at in range(0, len(frame), PIECE):
                writer.write(frame[at : at + PIECE])
                async with asyncio.timeout(self._silence):
                    await writer.drain()
        except TimeoutError:
            raise HandshakeError("it did not take its runner in time") from None

    def _welcome(self, task_id: str, writer: asyncio.StreamWriter, arrived: int) -> _Task:
        """From now on this connection speaks for the task. *arrived* of our messages did."""
        task = self._tasks.get(task_id)
        if task is None:
            raise HandshakeError(f"task {task_id} is not expected any more")
        if task.writer is not None:
            task.writer.transport.abort()
        if task.loss is not None:
            self._emit(RunnerBack(task_id))
        task.writer = writer
        self._awaited.discard(task_id)
        task.expect_loss(None)
        welcome = {"type": "welcome", "received": task.received, "secret": task.secret.hex()}
        if task.first_secret is not None:
            welcome["settings"] = task.settings
        task.write(wire.encode(welcome))
        for frame in task.sent[arrived:]:
            task.write(frame)
        if task.is_dismissed:
            task.write(BYE)
        return task

    async def _attend(
        self,
        task: _Task,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> None:
        reason = "its connection was closed"
        try:
            await self._listen_to(task, reader, writer, decoder)
        except TimeoutError:
            reason = f"nothing was heard of it for {self._silence:g} s"
        except (OSError, FrameError) as error:
            reason = str(error)
        if task.writer is writer:
            task.writer = None
            self._awaited.add(task.id)
            self._connection_ended(task, reason)

    async def _listen_to(
        self,
        task: _Task,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> None:
        data = b""  # there may be something behind the handshake already
        while True:
            for message in decoder.feed(data):
                async with task.turn:
                    if task.writer is not writer:
                        return
                    await self._take(task, message)
            task.acknowledge()
            data = await self._hear(reader)
            if not data:
                return

    async def _hear(self, reader: asyncio.StreamReader) -> bytes:
        # The time limit covers the read only: a slow screen is no silent runner.
        try:
            async with asyncio.timeout(self._silence):
                return await reader.read(CHUNK)
        except TimeoutError:  # of our own, if we were stopped: what came meanwhile is there then
            async with asyncio.timeout(min(self._silence, FLUSH)):
                return await reader.read(CHUNK)

    async def _take(self, task: _Task, message: wire.Message) -> None:
        kind = message.get("type")
        if kind in wire.NUMBERED:
            task.received += 1
            self._taken += 1
            task.has_begun = task.has_begun or kind != "register"
            task.first_secret = None  # it has the other one, or it could not have reported
        if kind == "register":
            host, port = wire.address(message)
            self._emit(TaskRegistered(task.id, join_address(host, port), port))
        elif kind == "ready":
            self._emit(TaskReady(task.id))
        elif kind == "heartbeat":
            self._note_silence(task, wire.count(message, "silent"))
        elif kind == "output":
            await self._show(task.id, message)
        elif kind == "exit":
            self._exited(task, message)

    async def _show(self, task_id: str, message: wire.Message) -> None:
        stream, text = wire.field(message, "stream", str), wire.field(message, "text", str)
        dropped = wire.count(message, "dropped")
        self._taking += 1
        try:
            await self._output(task_id, stream, text, dropped)
        finally:
            self._taking -= 1

    def _note_silence(self, task: _Task, seconds: int) -> None:
        """Tell of a task that falls silent, and of one that speaks again; each once."""
        is_silent = seconds >= self._silent_after
        if is_silent != task.is_silent:
            task.is_silent = is_silent
            self._emit(TaskFellSilent(task.id, seconds if is_silent else 0.0))

    def _exited(self, task: _Task, message: wire.Message) -> None:
        code, reason = wire.ending(message)
        task.exited = True
        if self._dismisses:
            self.dismiss(task.id)
        tail, was_stopped = tuple(wire.lines(message, "tail")), message.get("stopped") is True
        self._emit(TaskExited(task.id, code, reason, tail, was_stopped))

    def _connection_ended(self, task: _Task, reason: str) -> None:
        if task.exited:
            return
        if self._grace <= 0:
            self._emit(RunnerLost(task.id, reason))
            return
        self._emit(RunnerOutOfTouch(task.id))
        loop = asyncio.get_running_loop()
        lost = RunnerLost(task.id, reason)
        task.expect_loss(loop.call_later(self._grace, self._emit, lost))


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    """Close the connection; what was written last gets a moment to leave."""
    writer.close()
    try:
        async with asyncio.timeout(FLUSH):
            await writer.wait_closed()
    except OSError:
        writer.transport.abort()
