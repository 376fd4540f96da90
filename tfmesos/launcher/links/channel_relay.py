"""Relays channels between the owner of a run and its tasks.

The owner uses one stream for each channel; a runner has one connection for all of them. Both count
what they may send (``shared.channel``). It is checked here, so a runner that sends without credit
loses its connection, and a stopped reader delays nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Any

from ...errors import MAX_CODE, FrameError
from ...shared import wire
from ...shared.channel import LARGEST, WINDOW
from .runner_link import RunnerLink

MOST = 64  # of a task, at a time; its runner has the same limit
READ_SIZE = 256 * 1024  # bytes
LONGEST_PROBLEM = 500  # characters
LOST = "the connection to its runner broke"
MOST_CREDIT = 2 * WINDOW  # bytes
# What an owner may say beside data, and the numbers in it:
_OF_OWNER = {"eof": (), "credit": ("bytes",), "resize": ("rows", "columns"), "close": ()}


class _Channel:
    """*owner* is the stream to whoever asked."""

    def __init__(
        self, number: int, runner: asyncio.StreamWriter, owner: asyncio.StreamWriter
    ) -> None:
        self.number = number
        self.runner = runner
        self.owner = owner
        self.allowed = 0  # bytes that the runner may still send
        self.is_over = False  # does the owner know of the end?
        self.runner_knows = False  # does the runner know of it?

    def tell_owner(self, frame: bytes) -> None:
        if not self.owner.is_closing():
            self.owner.write(frame)

    def finish(self, code: int, problem: str) -> None:
        self.is_over = True
        message = {"type": "done", "channel": 0, "code": code, "problem": problem}
        self.tell_owner(wire.encode(message))


class Channels:
    """All channels of a run."""

    def __init__(self) -> None:
        self._channels: dict[int, _Channel] = {}
        self._numbers = count(1)

    async def serve(
        self,
        link: RunnerLink | None,
        request: Mapping[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Pass frames between the owner at this stream and the runner of *link*."""
        runner = None if link is None else link.writer
        if runner is None:
            return _refuse(writer, "its runner is not connected")
        if sum(one.runner is runner for one in self._channels.values()) >= MOST:
            return _refuse(writer, f"it already has {MOST} connections inside it, the maximum")
        number = next(self._numbers) % LARGEST
        channel = self._channels[number] = _Channel(number, runner, writer)
        runner.write(wire.encode({"type": "open", "channel": number, "request": dict(request)}))
        try:
            await self._listen(channel, reader)
        except (OSError, FrameError) as error:
            channel.finish(1, str(error))
        finally:
            self._forget(channel)

    async def _listen(self, channel: _Channel, reader: asyncio.StreamReader) -> None:
        """Listens until the owner leaves.

        Leaving first could cost it data that it has not read yet.
        """
        decoder = wire.FrameDecoder(WINDOW)
        while data := await reader.read(READ_SIZE):
            for message in decoder.feed(data):
                if channel.is_over:
                    continue
                frame = _to_runner(channel, message)
                with suppress(OSError):  # whoever listens to the runner knows why it is gone
                    channel.runner.write(frame)
                    await channel.runner.drain()  # so that acknowledgements are not held up

    def _forget(self, channel: _Channel) -> None:
        self._channels.pop(channel.number, None)
        if not channel.runner_knows and not channel.runner.is_closing():
            channel.runner.write(wire.encode({"type": "close", "channel": channel.number}))

    def take(self, runner: asyncio.StreamWriter, message: wire.Message) -> None:
        """Take in what a runner sends about a channel; FrameError if it is not allowed."""
        channel = self._channels.get(wire.count(message, "channel"))
        if channel is None or channel.runner is not runner or channel.is_over:
            return  # whoever asked has left
        kind = message["type"]
        if kind == "data":
            data = wire.field(message, "data", bytes)
            channel.allowed -= len(data)
            if channel.allowed < 0:
                raise FrameError("more data than there was credit for")
            channel.tell_owner(wire.encode_data(0, message["stream"], data))
        elif kind == "credit":
            size = _number(message, "bytes")
            channel.tell_owner(wire.encode({"type": "credit", "channel": 0, "bytes": size}))
        elif kind == "eof":
            channel.tell_owner(wire.encode({"type": "eof", "channel": 0}))
        elif kind == "done":
            code, problem = wire.count(message, "code"), wire.field(message, "problem", str)
            channel.runner_knows = True
            channel.finish(min(code, MAX_CODE), problem[:LONGEST_PROBLEM])

    def lost(self, runner: asyncio.StreamWriter, why: str = LOST) -> None:
        """This connection is over, and so are its channels."""
        for channel in self._channels.values():
            if channel.runner is runner and not channel.is_over:
                channel.finish(1, why)


def _to_runner(channel: _Channel, message: wire.Message) -> bytes:
    """Forwards a frame of the owner, rebuilt from its permitted fields."""
    kind = message["type"]
    if kind == "data":
        data = wire.field(message, "data", bytes)
        return wire.encode_data(channel.number, message["stream"], data)
    if kind not in _OF_OWNER:
        raise FrameError(f"{kind!r} is not something an owner may send")
    numbers = {name: _number(message, name) for name in _OF_OWNER[kind]}
    channel.allowed += numbers.get("bytes", 0)
    if channel.allowed > MOST_CREDIT:
        raise FrameError("more credit than a channel allows")
    return wire.encode({"type": kind, "channel": channel.number, **numbers})


def _number(message: wire.Message, name: str) -> int:
    found = wire.count(message, name)
    if found > MOST_CREDIT:
        raise FrameError(f"{message['type']!r} with too large a {name!r}")
    return found


def _refuse(writer: asyncio.StreamWriter, problem: str) -> None:
    message = {"type": "done", "channel": 0, "code": 1, "problem": problem}
    writer.write(wire.encode(message))
