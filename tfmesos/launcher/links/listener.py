"""The listener to which the runners report.

One connection at a time speaks for its task, once ``admission`` has admitted it. Counted messages
survive the change from one connection to the next.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...core.events import (
    Event,
    RunnerBack,
    RunnerLost,
    RunnerOutOfTouch,
    TaskExited,
    TaskFellSilent,
    TaskHeld,
    TaskReady,
    TaskRegistered,
)
from ...errors import FrameError, HandshakeError
from ...shared import wire
from ...shared.channel import TASK_ENDED
from .admission import CHUNK, Admission
from .authentication import Authentication
from .channel_relay import LOST, Channels
from .draining import LOOK_EVERY, drain
from .exchange import Holder, Limits, Sinks, Supplies
from .pack_sender import PackSender
from .present_holder import ASKING
from .runner_link import SECRET_BYTES, RunnerLink
from .runner_reports import RunnerReports
from .streams import hang_up, hear, streams_of
from .task_ports import TaskPorts

if TYPE_CHECKING:
    from ssl import SSLContext

log = logging.getLogger(__name__)

HEAR_OUT_WITHIN = 15.0  # seconds for the last words of tasks that ended before a take-over
FLUSH = 1.0  # seconds for the last bytes to a runner, or from it
_REPORTS = {
    TaskRegistered: "register",
    TaskReady: "ready",
    TaskHeld: "held",
    TaskExited: "exit",
}


class Listener:
    """Use it in an ``async with``; leaving that closes the listener and every connection."""

    def __init__(
        self,
        run_id: str,
        sinks: Sinks,
        supplies: Supplies | None = None,
        limits: Limits | None = None,
        *,
        dismisses: bool = True,  # let a runner go once it has reported its end; or `dismiss` does
        holder: Holder | None = None,
    ) -> None:
        supplies, limits = supplies or Supplies(), limits or Limits()
        self._emit = sinks.emit
        self._lacks_past = sinks.lacks_past
        self._limits = limits
        self._holder = holder or Holder()
        authentication = Authentication(run_id, self._secret_of, supplies.get_runners)
        self._admission = Admission(
            authentication, limits, self._holder.name, lambda: len(self._awaited)
        )
        self.sender = PackSender(supplies.packs, limits.silence, self._spawn, supplies.on_sent)
        self._channels = Channels()
        self._ports = TaskPorts(self.serve_owner, self._spawn, sinks.say)
        self._reports = RunnerReports(sinks, limits.silent_after, dismisses, self._ports)
        self._links: dict[str, RunnerLink] = {}  # by task id
        self._awaited: set[str] = set()  # those of them without a connection
        self._group = asyncio.TaskGroup()
        self._handlers: set[asyncio.Task[None]] = set()
        self._closing = False
        self._loop: asyncio.AbstractEventLoop

    async def __aenter__(self) -> Listener:
        self._loop = asyncio.get_running_loop()
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
        self._admission.close()
        for task_id in list(self._links):
            self.forget(task_id)
        for handler in self._handlers:
            handler.cancel()
        # An error of the body is not for the group, which would wrap it; a cancellation may be
        # the group's own doing.
        own = (kind, error, trace) if kind is asyncio.CancelledError else (None, None, None)
        await self._group.__aexit__(*own)
        await self._admission.wait_closed()

    async def listen(self, host: str, port: int, tls: SSLContext | None = None) -> tuple[str, int]:
        """Listen at *host* and *port* (0: any free one), and say where that is."""
        return self._admission.listen(host, port, self._connected, tls)

    async def adopt(self, connection: socket.socket, tls: SSLContext | None = None) -> None:
        """Treat a connection that we opened as an incoming one; return when it has ended.

        It is ours from now on, even if the caller is cancelled. OSError if there is no TLS with it.
        """
        reader, writer = await streams_of(connection, CHUNK // 2, tls, self._limits.handshake)
        if self._closing:
            writer.transport.abort()
        else:
            await asyncio.wait([self._spawn(self._serve(reader, writer))])

    def needs_connection(self, task_id: str) -> bool:
        """Does this task lack a connection, while there is something left to say?"""
        link = self._links.get(task_id)
        if link is None or task_id not in self._awaited:
            return False
        return not (link.is_dismissed and link.exited)

    def expect(
        self,
        task_id: str,
        secret: bytes | None = None,
        settings: Mapping[str, Any] | None = None,
        later_secret: bytes | None = None,
    ) -> bytes:
        """Admit the runner of this task from now on, with the returned secret.

        *settings* is what it receives in its first welcome; *later_secret* is for all connections
        but its first.
        """
        secret = secret or os.urandom(SECRET_BYTES)
        told = {} if settings is None else settings
        link = RunnerLink(task_id, secret, told, later_secret, self._limits.awaits_record)
        self._links[task_id] = link
        self._awaited.add(task_id)
        return secret

    # A take-over:

    def recall(self, event: Event) -> None:
        """A runner reported this to an earlier launcher."""
        if (link := self._links.get(getattr(event, "task_id", ""))) is None:
            return
        if isinstance(event, TaskRegistered) and event.shown_at:
            self._ports.recall(link, event.port, event.shown_at)
        if kind := _REPORTS.get(type(event)):
            link.recall(kind)
            if self._reports.dismisses:
                link.dismiss()
        elif isinstance(event, TaskFellSilent):
            link.has_changed_silence(event.seconds > 0)

    def resume(self, received: Mapping[str, tuple[int, bool]]) -> None:
        """This many messages of each runner, or all of them, are recorded.

        Wait for the runners that may come back.
        """
        self._ports.resume()
        for task_id, link in self._links.items():
            link.resume(*received.get(task_id, (0, False)))
            if link.has_reported and not link.is_refused:
                self._connection_ended(link, "it did not connect to the new launcher")

    def lacking(self, received: Mapping[str, tuple[int, bool]]) -> list[str]:
        """The tasks with more recorded messages than were recalled."""
        links = [(task_id, self._links.get(task_id), told) for task_id, told in received.items()]
        return [task_id for task_id, link, told in links if link is None or link.lacks(*told)]

    async def hear_out(self, within: float = HEAR_OUT_WITHIN) -> None:
        """Receive the rest from runners whose end is known, and dismiss them once it is recorded.

        A runner that is not dismissed waits for another launcher.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + within
        while any(map(self._has_more_to_say, self._links.values())):
            if clock() >= end:
                return
            await asyncio.sleep(LOOK_EVERY)

    def _has_more_to_say(self, link: RunnerLink) -> bool:
        """After a take-over, runners may still have to come back."""
        is_here = link.writer is not None or self._holder.epoch > 1
        return is_here and link.has_told_end and not link.is_heard_out

    def recorded(self, numbers: Mapping[str, int]) -> None:
        """This many messages of these runners are recorded. May be called from any thread."""
        with suppress(RuntimeError):  # the run is over
            self._loop.call_soon_threadsafe(self._recorded, numbers)

    def _recorded(self, numbers: Mapping[str, int]) -> None:
        for task_id, number in numbers.items():
            if link := self._links.get(task_id):
                link.recorded(number)

    def _secret_of(self, task_id: str, again: bool) -> bytes | None:
        if task_id == ASKING:
            return self._holder.secret
        link = self._links.get(task_id)
        if link is None:
            return None
        return link.secret if again else link.first_secret

    def forget(self, task_id: str) -> None:
        """End the connection of this task, and admit and report nothing from it any more."""
        link = self._links.pop(task_id, None)
        if link is not None:
            self._awaited.discard(task_id)
            link.close()

    def refuse(self, task_id: str) -> None:
        """Admit no runner for this task any more, unless it has already reported its end."""
        link = self._links.get(task_id)
        if link is not None and not link.has_told_end:
            self._awaited.discard(task_id)
            link.refuse()

    def send(self, task_id: str, message: Mapping[str, Any] | bytes) -> None:
        """Deliver a ``start`` or ``stop`` to the runner exactly once, now or when it is back.

        *message* may be encoded already, when many runners get the same one.
        """
        link = self._links.get(task_id)
        if link is None:
            log.debug("nothing is sent to %s: it is not expected", task_id)
            return
        link.send(message if isinstance(message, bytes) else wire.encode(message))

    def start(self, task_id: str, message: bytes) -> None:
        """Let the command of a task begin: from now on it may have written something."""
        if link := self._links.get(task_id):
            link.begin()
        self.send(task_id, message)

    def dismiss(self, task_id: str) -> None:
        """Dismiss the runner if it has reported its end; repeated calls do nothing."""
        if link := self._links.get(task_id):
            link.dismiss()

    async def serve_owner(
        self,
        task_id: str,
        request: Mapping[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Let the owner of the run, who is at this stream, do something inside a task."""
        link = self._links.get(task_id)
        await self._channels.serve(link, request, reader, writer)

    @property
    def is_busy(self) -> bool:
        """Is output waiting to be shown, or has anything arrived since the last call?"""
        return self._reports.is_busy

    def unreported(self) -> list[tuple[str, int]]:
        """The tasks that have begun and reported no end, with the number of their messages."""
        return [(link.task_id, link.received) for link in self._unreported()]

    def _unreported(self) -> list[RunnerLink]:
        return [link for link in self._links.values() if link.has_begun and not link.exited]

    def is_connected(self, task_id: str) -> bool:
        return (link := self._links.get(task_id)) is not None and link.writer is not None

    def last_lines(self, task_id: str) -> list[str]:
        """The last lines that the link of this task has delivered."""
        return link.tail.lines() if (link := self._links.get(task_id)) else []

    async def drain(self) -> None:
        """Take in what tasks that reported no end have sent, as far as it is finite."""
        await drain(self._unreported, self._reports)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        handler = self._group.create_task(work)
        self._handlers.add(handler)
        handler.add_done_callback(self._handlers.discard)
        return handler

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing:
            writer.transport.abort()
        else:
            self._spawn(self._serve(reader, writer))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._limits.heartbeat)
            for link in self._links.values():
                link.acknowledge()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = wire.FrameDecoder()
        try:
            link = await self._admission.admit(reader, writer, decoder, self._welcome)
            if link is not None:
                await self._attend(link, reader, writer, decoder)
        finally:
            await hang_up(writer, FLUSH)

    # Runners:

    def _welcome(self, task_id: str, writer: asyncio.StreamWriter, arrived: int) -> RunnerLink:
        link = self._links.get(task_id)
        if link is None:
            raise HandshakeError(f"task {task_id} is not expected any more")
        if not link.was_sent(arrived):
            self._lacks_past(task_id)
            raise HandshakeError(f"task {task_id} has more messages than it was sent")
        if link.is_missed:
            self._emit(RunnerBack(task_id))
        self._awaited.discard(task_id)
        link.welcome(writer, arrived, self._holder)
        return link

    async def _attend(
        self,
        link: RunnerLink,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> None:
        reason = "its connection was closed"
        try:
            await self._listen_to(link, reader, writer, decoder)
        except TimeoutError:
            reason = f"no message came from it for {self._limits.silence:g} s"
        except (OSError, FrameError) as error:
            reason = str(error)
        finally:  # also if the run ends
            self._channels.lost(writer, TASK_ENDED if link.has_told_end else LOST)
        self.sender.stop(writer)
        if link.disconnect(writer):
            self._awaited.add(link.task_id)
            self._connection_ended(link, reason)

    async def _listen_to(
        self,
        link: RunnerLink,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> None:
        data = b""  # there may already be data after the handshake
        while True:
            for message in decoder.feed(data):
                if message["type"] in wire.OF_CHANNELS:
                    self._channels.take(writer, message)
                    continue
                async with link.order:
                    if link.writer is not writer:
                        return
                    await self._reports.take(link, message)
                if message["type"] == "fetch":
                    self.sender.answer(link.task_id, writer, message)
                elif link.exited:
                    self.sender.stop(writer)
            link.acknowledge_if_due(len(data))
            data = await hear(reader, CHUNK, self._limits.silence, FLUSH)
            if not data:
                return

    def _connection_ended(self, link: RunnerLink, reason: str) -> None:
        if link.has_told_end:
            return
        if self._limits.grace <= 0:
            self._emit(RunnerLost(link.task_id, reason))
            return
        self._emit(RunnerOutOfTouch(link.task_id))
        loop = asyncio.get_running_loop()
        lost = RunnerLost(link.task_id, reason)
        link.expect_loss(loop.call_later(self._limits.grace, self._emit, lost))
