"""What a link tells its runner, when, and over which connection."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from tests.bounds import HANG
from tests.clock import put_forward
from tfmesos.launcher.links.runner_link import ACK_EVERY, ACK_WITHIN, FULL, MUCH, RunnerLink
from tfmesos.shared import wire

BEGIN = wire.encode({"type": "start", "number": 1})


class Connection:
    """The launcher's end of one, and what has come out at the runner's."""

    def __init__(self, ours, theirs):
        _, self.writer = ours
        self.reader, self._theirs = theirs
        self._decoder = wire.FrameDecoder(wire.MAX_FRAME)

    async def marked(self):
        """All that was sent by now."""
        self.writer.write(wire.encode({"type": "mark"}))
        found = []
        while not found or found[-1] != {"type": "mark"}:
            data = await asyncio.wait_for(self.reader.read(65536), HANG)
            assert data, f"it is closed after {found}"
            found += self._decoder.feed(data)
        return found[:-1]

    def close(self):
        for writer in (self.writer, self._theirs):
            writer.transport.abort()


@asynccontextmanager
async def connection():
    ours, theirs = socket.socketpair()
    pairs = [await asyncio.open_connection(sock=one) for one in (ours, theirs)]
    made = Connection(*pairs)
    try:
        yield made
    finally:
        made.close()


def play(scenario):
    """*scenario* has a link, and the connection that speaks for it."""

    async def main():
        link = RunnerLink("task", b"s" * 32, {"job": "worker"})
        async with asyncio.timeout(HANG), connection() as first:
            link.welcome(first.writer, 0)
            assert [it["type"] for it in await first.marked()] == ["welcome"]
            await scenario(link, first)

    asyncio.run(main())


def take(link, messages, size=10):
    for _ in range(messages):
        link.take_in("register", numbered=True)
        link.acknowledge_if_due(size)


def test_every_eighth_message_is_acknowledged_and_none_before():
    async def scenario(link, first):
        take(link, ACK_EVERY - 1)
        assert await first.marked() == []
        take(link, 1)
        assert await first.marked() == [{"type": "ack", "received": ACK_EVERY}]
        take(link, 2 * ACK_EVERY)
        assert [message["received"] for message in await first.marked()] == [16, 24]

    play(scenario)


def test_what_has_no_number_is_not_counted():
    async def scenario(link, first):
        for _ in range(2 * ACK_EVERY):
            link.take_in("heartbeat", numbered=False)
            link.acknowledge_if_due(1)
        assert await first.marked() == [] and link.received == 0

    play(scenario)


def test_much_output_is_acknowledged_after_a_while_however_few_messages_it_came_in():
    async def scenario(link, first):
        link.acknowledge()
        assert await first.marked() == [{"type": "ack", "received": 0}]
        take(link, 1, MUCH - 1)
        put_forward(2 * ACK_WITHIN)
        link.acknowledge_if_due(0)
        assert await first.marked() == [], "it is not much"
        link.acknowledge_if_due(1)
        assert await first.marked() == [{"type": "ack", "received": 1}]
        link.acknowledge_if_due(MUCH)
        assert await first.marked() == [], "it was told a moment ago"
        put_forward(2 * ACK_WITHIN)
        link.acknowledge_if_due(0)
        assert await first.marked() == [{"type": "ack", "received": 1}]
        put_forward(2 * ACK_WITHIN)
        link.acknowledge_if_due(1)
        assert await first.marked() == [], "what was told of is not counted again"

    play(scenario)


def test_a_runner_that_does_not_read_is_told_later_and_then_all():
    async def scenario(link, first):
        first.reader._transport.pause_reading()
        while first.writer.transport.get_write_buffer_size() <= FULL:
            link.send(wire.encode({"type": "start", "x": "x" * FULL}))
            await asyncio.sleep(0)
        before = first.writer.transport.get_write_buffer_size()
        take(link, ACK_EVERY)
        assert first.writer.transport.get_write_buffer_size() == before
        first.reader._transport.resume_reading()
        await first.marked()
        link.acknowledge()
        assert await first.marked() == [{"type": "ack", "received": ACK_EVERY}]

    play(scenario)


def test_a_link_that_is_closing_acknowledges_nothing():
    async def scenario(link, first):
        link.stop_acknowledging()
        take(link, ACK_EVERY)
        link.acknowledge()
        assert await first.marked() == []

    play(scenario)


def test_what_was_sent_without_a_connection_comes_over_the_next_one():
    async def scenario(link, first):
        assert link.disconnect(first.writer)
        link.send(BEGIN)
        take(link, ACK_EVERY)  # there is nobody to tell
        async with connection() as second:
            link.welcome(second.writer, 0)
            welcome, start = await second.marked()
            assert welcome["received"] == ACK_EVERY and start["type"] == "start"
        async with connection() as third:
            link.welcome(third.writer, 1)
            assert [message["type"] for message in await third.marked()] == ["welcome"]

    play(scenario)


def test_an_older_connection_that_ends_does_not_take_the_newer_one_along():
    async def scenario(link, first):
        async with connection() as second:
            link.welcome(second.writer, 0)
            assert first.writer.transport.is_closing()
            assert not link.disconnect(first.writer)
            link.acknowledge()
            assert (await second.marked())[-1]["type"] == "ack"
            assert link.disconnect(second.writer) and link.writer is None

    play(scenario)


def test_a_runner_that_has_reported_its_end_is_let_go_once_and_again_if_it_comes_back():
    async def scenario(link, first):
        link.dismiss()
        assert await first.marked() == [], "it has not ended"
        link.told("exit")
        link.dismiss()
        link.dismiss()
        assert await first.marked() == [{"type": "bye"}]
        async with connection() as second:
            link.welcome(second.writer, 0)
            assert [message["type"] for message in await second.marked()] == ["welcome", "bye"]

    play(scenario)


def test_only_a_change_of_silence_is_news():
    link = RunnerLink("task", b"s" * 32, {})
    said = [link.has_changed_silence(is_silent) for is_silent in (False, True, True, False)]
    assert said == [False, True, False, True]


def test_who_comes_back_is_not_missed_any_more():
    async def scenario(link, first):
        lost = []
        loop = asyncio.get_running_loop()
        assert not link.is_missed
        for name in ("first", "second"):
            link.expect_loss(loop.call_later(10, lost.append, name))
        assert link.is_missed
        async with connection() as second:
            link.welcome(second.writer, 0)
        assert not link.is_missed
        put_forward(20)
        await asyncio.sleep(0.01)
        assert lost == []

    play(scenario)


def test_whom_nobody_lets_in_has_no_secret_and_no_connection():
    async def scenario(link, first):
        link.expect_loss(asyncio.get_running_loop().call_later(3600, pytest.fail))
        link.refuse()
        assert (link.first_secret, link.secret, link.is_missed) == (None, None, False)
        assert first.writer.is_closing() and link.writer is None
        link.send(BEGIN)  # nobody hears it

    play(scenario)


def test_a_command_has_begun_when_it_was_started_or_has_said_so():
    link = RunnerLink("task", b"s" * 32, {})
    link.take_in("register", numbered=True)
    assert not link.has_begun and link.first_secret is None
    link.take_in("output", numbered=True)
    link.take_in("register", numbered=True)
    assert link.has_begun and link.received == 3
    other = RunnerLink("task", b"s" * 32, {})
    other.begin()
    assert other.has_begun and other.first_secret == b"s" * 32


def test_a_command_has_begun_if_an_earlier_launcher_heard_more_than_its_first_report():
    link = RunnerLink("task", b"s" * 32, {}, awaits_record=True)
    link.recall("register")
    assert link.has_reported and not link.has_begun
    link.recall("ready")
    link.recall("register")
    assert link.has_begun and not link.has_told_end


def test_who_reported_to_an_earlier_launcher_gets_no_settings_again():
    link = RunnerLink("task", b"s" * 32, {}, awaits_record=True)
    link.resume(0, is_all=False)
    assert link.first_secret == b"s" * 32, "it has reported nothing yet"
    link.recall("register")
    link.resume(1, is_all=False)
    assert link.first_secret is None and link.safe == 1


def test_nobody_is_heard_out_before_the_end():
    link = RunnerLink("task", b"s" * 32, {})
    assert not link.is_heard_out
    link.told("exit")
    assert link.is_heard_out
