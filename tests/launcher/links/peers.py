"""Runners that talk to a listener as they please."""

from __future__ import annotations

import asyncio
import contextlib
import os

from tests.bounds import HANG
from tests.runners import RUN, SECRET, TASK
from tfmesos.shared import wire
from tfmesos.shared.handshake import RunnerHandshake


class Peer:
    """A runner's end of one connection, a message at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.decoder = wire.FrameDecoder(wire.MAX_FRAME)
        self.messages: list[dict] = []

    def say(self, **message) -> None:
        self.writer.write(wire.encode(message))

    async def hear(self) -> dict:
        while not self.messages:
            data = await asyncio.wait_for(self.reader.read(65536), HANG)
            if not data:
                raise EOFError
            self.messages += self.decoder.feed(data)
        return self.messages.pop(0)

    async def hear_of(self, kind: str) -> dict:
        """The next message of this kind; acks come whenever they like."""
        while (message := await self.hear())["type"] != kind:
            assert message["type"] == "ack"
        return message

    async def turned_away(self) -> bool:
        """Whether the launcher ends the connection, whatever it said before."""
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(self.reader.read(), HANG)
        return True

    async def join(self, *, task=TASK, secret=SECRET, received=0, again=False) -> int:
        handshake = RunnerHandshake(secret, RUN, task, os.urandom(16), again)
        self.say(**handshake.hello())
        self.say(**handshake.feed(await self.hear()), received=received)
        welcome = await self.hear_of("welcome")
        self.welcome = welcome
        self.secret = bytes.fromhex(welcome["secret"])  # for the next connection
        return welcome["received"]

    async def join_again(self, earlier: Peer, **more) -> int:
        return await self.join(secret=earlier.secret, again=True, **more)


@contextlib.asynccontextmanager
async def connected(ours):
    reader, writer = await asyncio.open_connection(*ours.address)
    try:
        yield Peer(reader, writer)
    finally:
        writer.transport.abort()


REGISTER = {"type": "register", "host": "10.0.0.1", "port": 5, "pid": 1, "python": "3.8.0"}


READY = {"type": "ready"}


def output(*lines, dropped=0):
    text = "".join(f"{line}\n" for line in lines)
    return {"type": "output", "stream": "stdout", "text": text, "dropped": dropped}


def exit_report(code=0):
    return {"type": "exit", "code": code, "reason": "exited", "tail": ["last"]}
