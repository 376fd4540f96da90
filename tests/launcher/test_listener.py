"""The launcher's end, against runners made of bare messages and against strangers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import socket
import time
import tracemalloc

import pytest

from tests.runners import RUN, SECRET, TASK, Proxy, launcher, runner, settings
from tfmesos.core.events import (
    RunnerBack,
    RunnerLost,
    RunnerOutOfTouch,
    TaskExited,
    TaskReady,
    TaskRegistered,
)
from tfmesos.errors import HandshakeError
from tfmesos.launcher import listener as module
from tfmesos.node import stub, wire
from tfmesos.node.handshake import RunnerHandshake


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
            data = await asyncio.wait_for(self.reader.read(65536), 10)
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
            await asyncio.wait_for(self.reader.read(), 10)
        return True

    async def join(self, *, task=TASK, secret=SECRET, received=0, again=False) -> int:
        handshake = RunnerHandshake(secret, RUN, task, os.urandom(16), again)
        self.say(**handshake.hello())
        self.say(**handshake.feed(await self.hear()), received=received)
        welcome = await self.hear_of("welcome")
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


def test_what_a_runner_reports_becomes_events():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            assert await peer.join() == 0
            for message in (REGISTER, READY, output("a", "b", dropped=3), exit_report(4)):
                peer.say(**message)
            await peer.hear_of("bye")
            return ours

    ours = asyncio.run(main())
    assert ours.events == [
        TaskRegistered(TASK, "10.0.0.1:5", 5),
        TaskReady(TASK),
        TaskExited(TASK, 4, "exited", ("last",)),
    ]
    assert (ours.lines(), ours.dropped) == (["a", "b"], 3)


def test_reports_may_come_in_one_piece_with_the_proof():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            handshake = RunnerHandshake(SECRET, RUN, TASK, os.urandom(16))
            peer.say(**handshake.hello())
            proof = handshake.feed(await peer.hear())
            long = output("x" * 50_000)
            frames = [{**proof, "received": 0}, REGISTER, long, exit_report()]
            peer.writer.write(b"".join(map(wire.encode, frames)))
            await peer.hear_of("welcome")
            await peer.hear_of("bye")
            return ours

    ours = asyncio.run(main())
    assert [type(event) for event in ours.events] == [TaskRegistered, TaskExited]
    assert ours.lines() == ["x" * 50_000]


def test_after_a_break_only_what_is_missing_is_sent_again():
    async def main():
        async with launcher() as ours:
            ours.send(type="start", number=1)
            async with connected(ours) as first:
                await first.join()
                assert (await first.hear_of("start"))["number"] == 1
                first.say(**REGISTER)
                first.say(**READY)
                await ours.saw(TaskReady)
            ours.send(type="stop", grace=1)
            async with connected(ours) as peer:
                assert await peer.join_again(first, received=1) == 2
                assert await peer.hear_of("stop") == {"type": "stop", "grace": 1}
                peer.say(**exit_report())
                await peer.hear_of("bye")
            async with connected(ours) as peer:  # the goodbye did not arrive
                assert await peer.join_again(first, received=2) == 3
                await peer.hear_of("bye")
            return ours

    kinds = [type(event) for event in asyncio.run(main()).events]
    assert kinds == [TaskRegistered, TaskReady, RunnerOutOfTouch, RunnerBack, TaskExited]


def test_an_encoded_message_is_sent_as_it_is():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            ours.rendezvous.send(TASK, wire.encode({"type": "start", "x": "y"}))
            ours.rendezvous.send("nobody", {"type": "stop"})
            return await peer.hear_of("start")

    assert asyncio.run(main()) == {"type": "start", "x": "y"}


def test_the_newest_connection_speaks_for_its_task():
    async def main():
        async with launcher() as ours, connected(ours) as old, connected(ours) as new:
            await old.join()
            old.say(**REGISTER)
            await ours.saw(TaskRegistered)
            assert await new.join_again(old) == 1
            assert await old.turned_away()
            new.say(**READY)
            await ours.saw(TaskReady)
            return ours.events

    assert len(asyncio.run(main())) == 2


def test_lines_keep_their_order_over_a_change_of_connection():
    async def main():
        async with launcher() as ours, connected(ours) as old, connected(ours) as new:
            ours.open.clear()
            await old.join()
            old.say(**REGISTER)
            old.say(**output("1"))
            await ours.saw(TaskRegistered)
            received = await new.join_again(old)
            assert received in (1, 2)
            for message in [output("1"), output("2"), exit_report()][received - 1 :]:
                new.say(**message)
            ours.open.set()
            await ours.saw(TaskExited)
            return ours.lines()

    assert asyncio.run(main()) == ["1", "2"]


def test_what_an_old_connection_had_yet_to_say_is_left_to_the_new_one():
    """Its last words were read together with the line that the screen is busy with."""

    async def main():
        async with launcher() as ours, connected(ours) as old, connected(ours) as new:
            ours.open.clear()
            await old.join()
            old.say(**REGISTER)
            stale = [READY, output("1"), exit_report(9)]
            old.writer.write(b"".join(map(wire.encode, stale)))
            await ours.saw(TaskReady)
            assert await new.join_again(old) == 3
            for message in (READY, READY, exit_report(0)):
                new.say(**message)
            ours.open.set()
            await ours.saw(TaskExited)
            return ours

    ours = asyncio.run(main())
    assert [event.code for event in ours.events if isinstance(event, TaskExited)] == [0]
    assert ours.lines() == ["1"]


def test_a_runner_that_does_not_come_back_is_lost():
    async def main():
        async with launcher(grace=0.1) as ours:
            async with connected(ours) as peer:
                await peer.join()
            return await ours.saw(RunnerLost)

    assert asyncio.run(main()) == RunnerLost(TASK, "its connection was closed")


def test_without_a_grace_time_it_is_lost_at_once():
    async def main():
        async with launcher(grace=0) as ours:
            async with connected(ours) as peer:
                await peer.join()
            return await ours.saw(RunnerLost)

    assert asyncio.run(main()).task_id == TASK


def test_a_runner_that_comes_back_in_time_is_not_lost():
    async def main():
        async with launcher(grace=0.3) as ours:
            async with connected(ours) as peer:
                await peer.join()
            async with connected(ours) as peer:
                await peer.join()
                # One that does get lost, to know that the time is over.
                ours.rendezvous.expect("other", SECRET)
                async with connected(ours) as other:
                    await other.join(task="other")
                await ours.saw(RunnerLost)
                return [(type(event), event.task_id) for event in ours.events]

    assert asyncio.run(main()) == [
        (RunnerOutOfTouch, TASK),
        (RunnerBack, TASK),
        (RunnerOutOfTouch, "other"),
        (RunnerLost, "other"),
    ]


def test_a_silent_runner_is_lost():
    async def main():
        async with launcher(grace=0, silence=0.1) as ours, connected(ours) as peer:
            await peer.join()
            return await ours.saw(RunnerLost)

    assert asyncio.run(main()).reason == "nothing was heard of it for 0.1 s"


def test_a_runner_is_not_silent_because_we_were_stopped_ourselves():
    async def main():
        async with launcher(grace=0, silence=0.2) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(**output("1"))
            await peer.writer.drain()
            # Nothing of ours moves, as after a Ctrl-Z:
            asyncio.get_running_loop().call_soon(time.sleep, 0.5)
            await ours.until(lambda: ours.lines())
            assert ours.events == []

    asyncio.run(main())


def test_tasks_that_told_of_no_end_are_known_and_their_last_lines_are_taken_in():
    async def main():
        async with launcher() as ours:
            async with connected(ours) as peer:
                await peer.join()
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
                assert ours.rendezvous.unreported() == []  # it had nothing to write yet
                ours.open.clear()
                peer.say(**READY)
                await ours.saw(TaskReady)
                assert ours.rendezvous.unreported() == [(TASK, 2)]
                for line in "abc":
                    peer.say(**output(line))
                peer.writer.write_eof()
                drain = asyncio.create_task(ours.rendezvous.drain())
                done, _ = await asyncio.wait({drain}, timeout=1.5)  # longer than without a reader
                assert not done and ours.rendezvous.is_busy
                ours.open.set()
                await asyncio.wait_for(drain, 10)
                assert ours.lines() == ["a", "b", "c"]
                assert ours.rendezvous.unreported() == [(TASK, 5)]

    asyncio.run(main())


def test_a_task_that_reported_its_end_misses_nothing():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            for message in (REGISTER, READY, exit_report()):
                peer.say(**message)
            await ours.saw(TaskExited)
            assert ours.rendezvous.unreported() == []
            assert (ours.rendezvous.is_busy, ours.rendezvous.is_busy) == (True, False)

    asyncio.run(main())


def test_a_runner_that_only_waits_for_us_is_not_silent():
    async def main():
        async with launcher(grace=0, silence=0.1, heartbeat=0.05) as ours:
            async with connected(ours) as peer:
                ours.open.clear()
                await peer.join()
                peer.say(**output("1"))
                for _ in range(6):  # three times the silence, by our own heartbeats
                    await peer.hear_of("ack")
                assert ours.events == []
                ours.open.set()
                await ours.until(lambda: ours.lines())

    asyncio.run(main())


@pytest.mark.parametrize(
    "message",
    [
        {"type": ["register"]},
        {"type": {}},
        {"type": None},
        {"type": "register", "host": 5, "port": 5},
        {"type": "register", "host": "h", "port": "5"},
        {"type": "register", "host": "h; reboot #", "port": 5},
        {"type": "register", "host": "", "port": 5},
        {"type": "register", "host": "h", "port": 65536},
        {"type": "output", "stream": "stdout", "text": [1], "dropped": 0},
        {"type": "exit", "code": None, "reason": "", "tail": []},
        {"type": "exit", "code": 10**30, "reason": "", "tail": []},
        {"type": "exit", "code": 10**4000, "reason": "", "tail": []},
        {"type": "heartbeat", "silent": 10**400},
        {"type": "heartbeat", "silent": 1e300},
    ],
)
def test_a_runner_that_talks_nonsense_loses_its_connection(message):
    async def main():
        async with launcher(grace=0) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(**message)
            return await ours.saw(RunnerLost), len(ours.events)

    assert asyncio.run(main())[1] == 1


@pytest.mark.parametrize("code", [256, 512, -1, 2**31])
def test_an_exit_code_that_no_process_can_have_is_a_failure_with_its_words(code):
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            peer.say(**exit_report(code))
            await peer.hear_of("bye")
            return await ours.saw(TaskExited)

    ended = asyncio.run(main())
    assert ended.code == 1
    assert ended.reason == f"exited (its exit code is none: {str(code)[:20]})"


@pytest.mark.parametrize("code", [0, 255])
def test_an_exit_code_that_a_process_can_have_is_taken_as_it_is(code):
    message = {"type": "exit", "code": code, "reason": "exited"}
    assert wire.ending(message) == (code, "exited")


def test_a_forgotten_task_is_cut_off_and_reported_no_more():
    async def main():
        async with launcher(grace=0) as ours:
            async with connected(ours) as peer:
                await peer.join()
                ours.rendezvous.forget(TASK)
                ours.rendezvous.forget("nobody")
                with pytest.raises(EOFError):
                    await peer.hear_of("bye")
            async with connected(ours) as peer:
                with pytest.raises(EOFError):
                    await peer.join()
            return ours.events

    assert asyncio.run(main()) == []


# Strangers


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"\0\0\0\2[]",
        b"\0\0\0\2{}",
        b"\xff\xff\xff\xff",
        wire.encode({"type": "proof", "proof": "0" * 64, "received": 0}),
        wire.encode(REGISTER),
        os.urandom(5000),
    ],
    ids=["http", "tls", "list", "empty", "huge", "proof", "register", "random"],
)
def test_strangers_are_turned_away_and_change_nothing(data):
    async def main():
        async with launcher() as ours:
            async with connected(ours) as peer:
                await peer.join()
                async with connected(ours) as stranger:
                    stranger.writer.write(data)
                    stranger.writer.write_eof()
                    assert await stranger.turned_away()
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
                return ours.events

    assert len(asyncio.run(main())) == 1


# Stubs:


async def ask_for_the_runner(ours, number=None) -> Peer:
    """A stub that has proved its secret and reads no further."""
    task = TASK if number is None else f"{TASK}-{number}"
    peer = Peer(*await asyncio.open_connection(*ours.address, limit=1))
    nonce = os.urandom(16).hex()
    peer.say(type="hello", run=RUN, task=task, nonce=nonce, runner=True)
    (challenge,) = peer.decoder.feed(await peer.reader.readexactly(stub.CHALLENGE))
    said = (RUN, task, nonce, challenge["nonce"], challenge["runner"])
    assert challenge["proof"] == stub.prove(SECRET, "launcher", *said)
    peer.say(type="proof", proof=stub.prove(SECRET, "runner", *said), received=0)
    return peer


def test_what_is_sent_during_the_transfer_of_the_runner_comes_behind_it():
    code = os.urandom(20_000_000)  # more than sockets hold

    async def main():
        async with launcher(runner=code) as ours:
            peer = await ask_for_the_runner(ours)
            ours.send(type="start", number=1)
            size = int.from_bytes(await peer.reader.readexactly(4), "big")
            ours.send(type="stop", grace=1)
            arrived = await peer.reader.readexactly(size)
            welcome = await peer.hear()
            following = [await peer.hear() for _ in range(2)]
            peer.writer.transport.abort()
            return arrived, welcome, following

    arrived, welcome, following = asyncio.run(main())
    assert arrived == code
    assert (welcome["type"], welcome["received"]) == ("welcome", 0)
    assert [message["type"] for message in following if message["type"] != "ack"] == [
        "start",
        "stop",
    ]


def test_runners_under_way_take_no_memory_each():
    """They wait in pieces of 16 KiB; a copy of each would be 160 MB here."""
    code = bytes(20_000_000)

    async def main():
        async with launcher(runner=code) as ours:
            for number in range(8):
                ours.rendezvous.expect(f"{TASK}-{number}", SECRET)
            tracemalloc.start()
            peers = [await ask_for_the_runner(ours, number) for number in range(8)]
            for peer in peers:  # the first bytes of the runner: the transfer has begun
                await peer.reader.readexactly(4)
            taken = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            for peer in peers:
                peer.writer.transport.abort()
            return taken

    assert asyncio.run(main()) < 10_000_000


def test_a_stub_that_does_not_take_its_runner_is_given_up(caplog, monkeypatch):
    async def main():
        complained = asyncio.Event()
        monkeypatch.setattr(caplog.handler, "flush", complained.set)
        async with launcher(runner=bytes(20_000_000), silence=0.2) as ours:
            peer = await ask_for_the_runner(ours)
            await asyncio.wait_for(complained.wait(), 15)
            peer.writer.transport.abort()
            return ours.events

    assert asyncio.run(main()) == []
    assert "it did not take its runner in time" in caplog.text


def test_a_port_scanner_is_harmless():
    async def main():
        async with launcher() as ours:
            for _ in range(50):
                with socket.create_connection(ours.address):
                    pass
            async with connected(ours) as peer:
                await peer.join()
            return ours.events

    assert asyncio.run(main()) == []


def test_a_stranger_who_says_nothing_is_turned_away_in_time():
    async def main():
        async with launcher(handshake_timeout=0.1) as ours, connected(ours) as stranger:
            return await stranger.turned_away()

    assert asyncio.run(main())


def test_the_secret_of_the_environment_opens_the_door_until_the_runner_has_reported():
    """Operators of Mesos can see it there. A welcome that got lost must not lock the runner out."""

    async def main():
        async with launcher() as ours:
            for _ in range(2):
                async with connected(ours) as peer:
                    await peer.join()
            async with connected(ours) as peer, connected(ours) as thief:
                await peer.join()
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
                with pytest.raises(EOFError):
                    await thief.join()
                with pytest.raises(EOFError):
                    await thief.join(again=True)
            async with connected(ours) as back:
                return await back.join_again(peer)

    assert asyncio.run(main()) == 1


def test_a_task_cannot_speak_for_another_one():
    async def main():
        async with launcher() as ours, connected(ours) as peer, connected(ours) as liar:
            assert ours.rendezvous.expect("other") != ours.rendezvous.expect("third")
            await peer.join()
            with pytest.raises(HandshakeError):
                await liar.join(task="other")

    asyncio.run(main())


def test_somebody_with_another_secret_is_turned_away():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            peer.say(**RunnerHandshake(b"x", RUN, TASK, os.urandom(16)).hello())
            challenge = await peer.hear()
            peer.say(type="proof", proof=challenge["proof"], received=0)
            return await peer.turned_away(), ours.events

    assert asyncio.run(main()) == (True, [])


def test_a_recording_of_a_runner_does_not_open_the_door(tmp_path):
    async def main():
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address)) as theirs:
                ours.start(["true"])
                await ours.saw(TaskExited)
                await theirs.exited()
            before = list(ours.events)
            async with connected(ours) as thief:
                thief.writer.write(proxy.recorded)
                thief.writer.write_eof()
                with contextlib.suppress(ConnectionError, EOFError):
                    while (await thief.hear())["type"] == "challenge":
                        pass
                    pytest.fail("the thief was welcome")
            assert ours.events == before
            return proxy.recorded

    assert b'"proof"' in asyncio.run(main())


def test_many_strangers_do_not_keep_a_runner_out():
    async def main():
        endless = {"handshake_timeout": 3600}  # else all would be turned away in a while
        async with (
            launcher(max_strangers=5, **endless) as ours,
            contextlib.AsyncExitStack() as stack,
        ):
            crowd = [await stack.enter_async_context(connected(ours)) for _ in range(50)]
            async with connected(ours) as peer:
                await peer.join()
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
            return [await crowd[at].turned_away() for at in range(40)]

    assert all(asyncio.run(main()))


def test_a_runner_that_is_in_stays_whoever_comes_after_it():
    async def main():
        async with launcher(max_strangers=1) as ours, contextlib.AsyncExitStack() as stack:
            runner = await stack.enter_async_context(connected(ours))
            await runner.join()
            crowd = [await stack.enter_async_context(connected(ours)) for _ in range(5)]
            await crowd[0].turned_away()
            runner.say(**REGISTER)
            await ours.saw(TaskRegistered)
            return ours.events

    assert [type(event) for event in asyncio.run(main())] == [TaskRegistered]


def test_the_log_speaks_of_strangers_now_and_then_only(caplog):
    async def main():
        async with launcher() as ours:
            for _ in range(20):
                async with connected(ours) as stranger:
                    stranger.writer.write(b"\xff" * 10)
                    await stranger.turned_away()

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    assert len(caplog.records) == 1


# Leaving


def leftovers() -> set[str]:
    return {
        os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_socket(fd)
    }


def _is_socket(fd: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
    except OSError:
        return False


def test_leaving_closes_every_connection_and_leaves_no_task():
    async def main():
        before = leftovers()
        async with contextlib.AsyncExitStack() as stack:
            async with launcher() as ours:
                peer, stranger = [await stack.enter_async_context(connected(ours)) for _ in "12"]
                await peer.join()
            assert await peer.turned_away() and await stranger.turned_away()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await asyncio.sleep(0)  # lets the transports close
        gc.collect()
        assert leftovers() == before

    asyncio.run(main())


def test_leaving_does_not_wait_for_a_screen_that_hangs():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            ours.open.clear()
            await peer.join()
            peer.say(**REGISTER)
            peer.say(**output("1"))
            await ours.saw(TaskRegistered)
        return ours.events

    assert len(asyncio.run(main())) == 1


def test_leaving_does_not_wait_for_a_runner_that_does_not_read(monkeypatch):
    monkeypatch.setattr(module, "FLUSH", 0.1)

    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            peer.writer.transport.pause_reading()
            ours.send(type="start", text="x" * 15_000_000)

    asyncio.run(main())


def test_a_cancelled_run_closes_everything():
    async def main():
        async def life():
            async with launcher() as ours:
                addresses.append(ours.address)
                async with connected(ours) as peer:
                    await peer.join()
                    joined.set()
                    await asyncio.Event().wait()

        addresses: list[tuple[str, int]] = []
        joined = asyncio.Event()
        task = asyncio.create_task(life())
        await joined.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*addresses[0])

    asyncio.run(main())


def test_an_error_of_the_run_comes_out_as_it_is():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(main())


def test_a_fault_in_what_listens_to_events_is_not_hidden():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            ours.rendezvous._emit = lambda event: 1 / 0
            await peer.join()
            peer.say(**REGISTER)
            await asyncio.Event().wait()

    with pytest.raises(BaseExceptionGroup) as caught:
        asyncio.run(main())
    assert caught.group_contains(ZeroDivisionError)
