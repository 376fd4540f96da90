"""Strangers at a listening socket: few at a time, not for long, and hardly a word about them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import time

import pytest

from tests.bounds import HANG
from tests.sentences import names
from tfmesos.acceptor import AT_ONCE, Acceptor

FOREVER = 3600.0  # seconds


class Echo(asyncio.Protocol):
    """Says back what it hears; with ``let me in`` it is no stranger any more."""

    def __init__(self, door):
        self.door = door
        self.lost = asyncio.Event()

    def connection_lost(self, _error):
        self.lost.set()

    def connection_made(self, transport):
        self.transport = transport
        self.door.made.append(self)

    def data_received(self, data):
        asyncio.get_running_loop().call_soon(self.answer, data)  # as whoever reads a request

    def answer(self, data):
        if data == b"let me in":
            self.door.acceptor.admit(self)
        self.transport.write(data)


class Door:
    def __init__(self, listener, **options):
        self.made = []
        self.acceptor = Acceptor(listener, lambda: Echo(self), **options)
        self.address = listener.getsockname()


@contextlib.asynccontextmanager
async def listening(listener=None, **options):
    listener = listener or socket.create_server(("127.0.0.1", 0), backlog=1024)
    door = Door(listener, **{"admit_within": FOREVER, **options})
    try:
        yield door
    finally:
        door.acceptor.close()
        await door.acceptor.wait_closed()
        for echo in door.made:
            echo.transport.close()


@contextlib.asynccontextmanager
async def guest(door, *words):
    reader, writer = await asyncio.open_connection(*door.address)
    try:
        for word in words:
            writer.write(word)
            assert await asyncio.wait_for(reader.read(100), HANG) == word
        yield reader, writer
    finally:
        writer.transport.abort()


async def is_cut_off(reader):
    try:
        return await asyncio.wait_for(reader.read(), HANG) == b""
    except ConnectionError:
        return True


def test_the_oldest_stranger_goes_when_there_are_too_many():
    async def main():
        async with listening(room=lambda: 2) as door, contextlib.AsyncExitStack() as stack:
            crowd = [await stack.enter_async_context(guest(door, b"hello")) for _ in range(5)]
            assert [await is_cut_off(reader) for reader, _ in crowd[:3]] == [True] * 3
            for reader, writer in crowd[3:]:
                writer.write(b"still here")
                assert await asyncio.wait_for(reader.read(100), HANG) == b"still here"

    asyncio.run(main())


def test_who_was_admitted_stays_whoever_comes_after():
    async def main():
        async with (
            listening(room=lambda: 1, admit_within=0.2) as door,
            guest(door, b"let me in") as own,
        ):
            async with guest(door, b"1"), guest(door, b"2") as late:
                assert await is_cut_off(late[0]), "its time is over"
            own[1].write(b"still here")
            assert await asyncio.wait_for(own[0].read(100), HANG) == b"still here"

    asyncio.run(main())


def test_who_spoke_while_we_were_held_up_is_heard():
    async def main():
        async with listening(admit_within=0.3) as door, guest(door, b"hello") as (reader, writer):
            writer.write(b"let me in")
            time.sleep(1.5)  # noqa: ASYNC251  this is the process that accepts, on a busy machine
            assert await asyncio.wait_for(reader.read(100), HANG) == b"let me in"

    asyncio.run(main())


def test_strangers_who_have_gone_leave_their_place_to_others():
    async def main():
        async with listening(room=lambda: 2) as door, guest(door, b"patient") as (reader, writer):
            for _ in range(20):
                async with guest(door, b"hello"):
                    pass
                await asyncio.wait_for(door.made[-1].lost.wait(), HANG)
            writer.write(b"still here")
            assert await asyncio.wait_for(reader.read(100), HANG) == b"still here"

    asyncio.run(main())


class ListenerWithoutDescriptors:
    """A listening socket in a process that may open no further file until something is closed."""

    def __init__(self, door_is_full):
        self._real = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._is_full = door_is_full
        self.attempts = 0

    def __getattr__(self, name):
        return getattr(self._real, name)

    def accept(self):
        self.attempts += 1
        if self._is_full():
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._real.accept()


def test_without_descriptors_strangers_give_theirs_and_others_come_in(caplog):
    made = []

    def is_full():
        return sum(not echo.transport.is_closing() for echo in made) >= 10

    async def main():
        listener = ListenerWithoutDescriptors(is_full)
        async with listening(listener, room=lambda: 64) as door:
            door.made = made
            async with contextlib.AsyncExitStack() as stack:
                for _ in range(100):
                    connection = stack.enter_context(socket.create_connection(door.address))
                    connection.setblocking(False)
                async with guest(door, b"let me in"):
                    pass
        return listener.attempts

    with caplog.at_level(logging.INFO):
        attempts = asyncio.run(main())
    assert attempts < 1000, "it must not spin"
    (said,) = caplog.messages
    assert names(said, "refused 1 connection", "somebody: Too many open files")


def test_a_full_process_without_strangers_waits_and_does_not_spin(caplog):
    async def main():
        listener = ListenerWithoutDescriptors(lambda: True)
        async with listening(listener) as door:
            with socket.create_connection(door.address):
                await asyncio.sleep(0.3)  # not to synchronise: the time in which it could spin
        return listener.attempts

    assert asyncio.run(main()) <= AT_ONCE
    assert len(caplog.records) == 1


def test_closing_cuts_off_every_stranger():
    async def main():
        async with contextlib.AsyncExitStack() as stack:
            async with listening() as door:
                reader, _ = await stack.enter_async_context(guest(door, b"hello"))
            assert await is_cut_off(reader)
            with pytest.raises(ConnectionError):
                socket.create_connection(door.address)

    asyncio.run(main())
