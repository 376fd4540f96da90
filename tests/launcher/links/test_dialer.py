"""Runners that are dialled: from the first connection to the end, with strangers and breaks."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import socket
import ssl

import pytest

from tests.bounds import HANG
from tests.runners import RUN, TASK, Proxy, another_python, gone, the_exit
from tests.sentences import names
from tests.tls import server_context
from tfmesos.core.events import RunnerBack, TaskExited, TaskReady, TaskRegistered
from tfmesos.errors import CANNOT_REACH_LAUNCHER, HANDSHAKE_FAILED, LAUNCHER_LOST, PORT_TAKEN
from tfmesos.launcher.links import dialer as dialers
from tfmesos.launcher.links.dialer import Dialer
from tfmesos.launcher.links.exchange import Sinks
from tfmesos.launcher.links.listener import Listener
from tfmesos.node.link.callers import MAX_CALLERS
from tfmesos.shared import wire

from .dialled import free_port, launcher, runner, settings


def test_a_runner_that_listens_runs_its_command_with_the_address_it_is_told(tmp_path):
    port = free_port()

    async def main():
        values = settings(port)
        async with launcher(port, values) as (ours, _):
            with runner(tmp_path, values) as theirs:
                ours.start("echo hello; echo ${TFMESOS_ADDRESS-none}; exit 7")
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, ours.lines(), the_exit(ours)[0]) == (7, ["hello", "none"], 7)
    (registered,) = [event for event in ours.events if isinstance(event, TaskRegistered)]
    assert registered.address.startswith("10.1.2.3:")


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_a_node_may_have_another_python(tmp_path, version):
    python = another_python(version)
    port = free_port()

    async def main():
        values = settings(port)
        async with Proxy(("127.0.0.1", port)).running() as proxy:
            async with launcher(proxy.address[1], values) as (ours, _):
                with runner(tmp_path, values, python) as theirs:
                    ours.start("echo one; until [ -e go ]; do sleep 0.05; done; echo two")
                    await ours.until(lambda: ours.lines())
                    proxy.cut()
                    await ours.saw(RunnerBack)
                    (tmp_path / "go").touch()
                    await ours.saw(TaskExited)
                    return ours.lines(), await theirs.exited()

    assert asyncio.run(main()) == (["one", "two"], 0)


def test_no_line_is_lost_when_the_connection_breaks(tmp_path):
    port = free_port()

    async def main():
        values = settings(port)
        async with Proxy(("127.0.0.1", port)).running() as proxy:
            async with launcher(proxy.address[1], values) as (ours, _):
                with runner(tmp_path, values) as theirs:
                    ours.start("for i in $(seq 30); do echo $i; sleep 0.05; done")
                    await ours.until(lambda: len(ours.lines()) >= 3)
                    proxy.cut()
                    await ours.saw(RunnerBack)
                    seen = len(ours.lines())
                    await ours.until(lambda: len(ours.lines()) > seen)
                    proxy.cut()
                    await ours.saw(TaskExited)
                    return ours.lines(), await theirs.exited()

    lines, code = asyncio.run(main())
    assert (lines, code) == ([str(number) for number in range(1, 31)], 0)


def test_a_launcher_that_does_not_dial_again_means_the_end_of_the_command(tmp_path):
    port = free_port()

    async def main():
        values = settings(port, grace=0.3, stop_grace=0.2)
        async with Proxy(("127.0.0.1", port)).running() as proxy:
            async with launcher(proxy.address[1], values) as (ours, _):
                with runner(tmp_path, values) as theirs:
                    ours.start("trap '' TERM; echo $$; sleep 60; sleep 60")
                    pid = int((await ours.until(lambda: ours.lines()))[0])
                    proxy.cut(for_good=True)
                    return pid, await theirs.exited(), theirs

    pid, code, theirs = asyncio.run(main())
    assert code == LAUNCHER_LOST and gone(pid)
    assert "the launcher is lost" in theirs.stderr


def test_a_launcher_that_notices_a_break_first_is_let_in_again(tmp_path):
    """The old connection is frozen: nothing tells the runner that it is dead."""
    port = free_port()

    async def main():
        values = settings(port, heartbeat=0.1)
        async with Proxy(("127.0.0.1", port)).running() as proxy:
            options = {"silence": 0.5, "heartbeat": 0.1, "grace": 60}
            async with launcher(proxy.address[1], values, **options) as (ours, _):
                with runner(tmp_path, values) as theirs:
                    ours.start("echo one; until [ -e go ]; do sleep 0.05; done; echo two")
                    await ours.until(lambda: ours.lines())
                    proxy.freeze()
                    await ours.saw(RunnerBack)
                    (tmp_path / "go").touch()
                    await ours.saw(TaskExited)
                    return ours.lines(), await theirs.exited()

    lines, code = asyncio.run(main())
    assert (lines, code) == (["one", "two"], 0)


MANY = MAX_CALLERS + 4  # more would wait seconds to connect: for the next attempt of their kernel


def strangers(port, count):
    """Processes of the pod that connect, and say nothing, nonsense or lies."""
    lie = wire.encode(
        {"type": "challenge", "nonce": "0" * 32, "proof": "0" * 64, "runner": "0" * 64}
    )
    said = [b"", b"GET / HTTP/1.1\r\n\r\n", lie]
    with contextlib.ExitStack() as stack:
        for number in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), HANG))
            if said[number % 3]:
                connection.sendall(said[number % 3])
        return stack.pop_all()


async def listening(port):
    async with asyncio.timeout(HANG):
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return
            await asyncio.sleep(0.01)


async def first_strangers(port, count):
    """They are there as soon as anybody can be."""
    async with asyncio.timeout(HANG):
        while True:
            with contextlib.suppress(OSError):
                return strangers(port, count)
            await asyncio.sleep(0.01)


def test_strangers_of_the_pod_do_not_keep_the_launcher_away(tmp_path):
    port = free_port()

    async def main():
        values = settings(port, connect_timeout=60)
        with runner(tmp_path, values) as theirs:
            await listening(port)
            with strangers(port, 3):  # before the runner has come
                async with Proxy(("127.0.0.1", port)).running() as proxy:
                    async with launcher(proxy.address[1], values, grace=60) as (ours, _):
                        ours.start("echo one; until [ -e go ]; do sleep 0.05; done; echo two")
                        await ours.until(lambda: ours.lines())
                        with strangers(port, MANY):
                            proxy.cut()
                            await ours.saw(RunnerBack)
                            with strangers(port, MANY):
                                (tmp_path / "go").touch()
                                await ours.saw(TaskExited)
                                return ours.lines(), await theirs.exited()

    assert asyncio.run(main()) == (["one", "two"], 0)


def test_a_launcher_with_a_certificate_is_dialled_to_inside_tls(tmp_path, certificate):
    port = free_port()
    der = ssl.PEM_cert_to_DER_cert(certificate.with_name("certificate.pem.crt").read_text())
    fingerprint = hashlib.sha256(der).hexdigest()

    async def main():
        values = settings(port, certificate=fingerprint)
        async with Proxy(("127.0.0.1", port)).running() as proxy:
            context = server_context(certificate)
            async with launcher(proxy.address[1], values, tls=context) as (ours, _):
                with runner(tmp_path, values) as theirs:
                    ours.start("echo hidden-words; until [ -e go ]; do sleep 0.05; done; echo more")
                    await ours.until(lambda: ours.lines())
                    proxy.cut()
                    await ours.saw(RunnerBack)
                    (tmp_path / "go").touch()
                    await ours.saw(TaskExited)
                    return ours.lines(), await theirs.exited(), proxy.recorded

    lines, code, recorded = asyncio.run(main())
    assert (lines, code) == (["hidden-words", "more"], 0)
    assert recorded and b"challenge" not in recorded


def test_a_task_that_nobody_dials_ends_by_itself(tmp_path):
    port = free_port()
    with runner(tmp_path, settings(port, connect_timeout=0.3)) as theirs:
        assert theirs.wait() == CANNOT_REACH_LAUNCHER
    assert names(theirs.stderr, "tfmesos runner: the launcher", f"port {port}", "nobody connected")


def test_a_task_that_only_strangers_dial_ends_by_itself(tmp_path):
    port = free_port()

    async def main():
        with runner(tmp_path, settings(port, connect_timeout=2)) as theirs:
            with await first_strangers(port, 3):
                return await theirs.exited()

    assert asyncio.run(main()) == HANDSHAKE_FAILED


def test_a_port_that_is_taken_is_told(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with runner(tmp_path, settings(port)) as theirs:
            assert theirs.wait() == PORT_TAKEN
    assert f"port {port} is taken" in theirs.stderr


# The dialer alone:


def dialling(dial, use, tasks=1):
    """Let *use* have a dialer and its listener, which expects so many tasks."""

    async def main():
        listener = Listener(RUN, Sinks(lambda event: None, None))
        async with asyncio.timeout(HANG), listener, Dialer(listener, dial) as dialer:
            for number in range(tasks):
                listener.expect(f"{TASK}-{number}")
                dialer.begin(f"{TASK}-{number}")
            return await use(listener, dialer)

    return asyncio.run(main())


def test_no_more_dials_than_allowed_are_under_way():
    most = now = 0
    enough = asyncio.Event()

    async def dial(task_id):
        nonlocal most, now
        now += 1
        most = max(most, now)
        if most >= dialers.AT_ONCE:
            enough.set()
        try:
            await asyncio.sleep(0.02)
        finally:
            now -= 1
        raise ConnectionRefusedError("nobody listens")

    async def use(listener, dialer):
        await enough.wait()
        await asyncio.sleep(0.1)

    dialling(dial, use, tasks=3 * dialers.AT_ONCE)
    assert most == dialers.AT_ONCE


def test_pauses_between_attempts_grow_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(dialers, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(dialers, "LONGEST_PAUSE", 0.08)
    times, done = [], asyncio.Event()

    async def dial(task_id):
        times.append(asyncio.get_running_loop().time())
        if len(times) == 7:
            done.set()
        raise ConnectionRefusedError("nobody listens")

    async def use(listener, dialer):
        await done.wait()

    dialling(dial, use)
    pauses = [later - before for before, later in itertools.pairwise(times)]
    for pause, least in zip(pauses, (0.01, 0.02, 0.04, 0.08, 0.08, 0.08), strict=True):
        assert pause >= least


def test_a_task_that_cannot_be_had_for_a_while_is_told_of_once_with_the_reason(monkeypatch):
    for name in ("FIRST_PAUSE", "LONGEST_PAUSE", "SAY_AFTER"):
        monkeypatch.setattr(dialers, name, 0.05)
    said, times, done = [], [], asyncio.Event()

    async def dial(task_id):
        if len(times) == 10:
            done.set()
        times.append(asyncio.get_running_loop().time())
        raise ConnectionRefusedError("nobody listens")

    async def main():
        listener = Listener(RUN, Sinks(lambda event: None, None))
        say = lambda *words: said.append((*words, asyncio.get_running_loop().time()))  # noqa: E731
        async with asyncio.timeout(HANG), listener, Dialer(listener, dial, say=say) as dialer:
            listener.expect(TASK)
            dialer.begin(TASK)
            await done.wait()

    asyncio.run(main())
    ((task_id, reason, at),) = said
    assert (task_id, reason) == (TASK, "nobody listens") and at - times[0] >= 0.05


@pytest.mark.parametrize("how", ["end", "forget"])
def test_a_task_that_has_ended_is_dialled_no_more(monkeypatch, how):
    monkeypatch.setattr(dialers, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(dialers, "FIRST_PAUSE", 0.01)
    attempts, begun = 0, asyncio.Event()

    async def dial(task_id):
        nonlocal attempts
        attempts += 1
        begun.set()
        raise ConnectionRefusedError("nobody listens")

    async def use(listener, dialer):
        await begun.wait()
        dialer.end(f"{TASK}-0") if how == "end" else listener.forget(f"{TASK}-0")
        await asyncio.sleep(0.05)
        before = attempts
        await asyncio.sleep(0.2)
        return attempts - before

    assert dialling(dial, use) == 0


def test_leaving_in_the_middle_of_a_dial_leaves_nothing():
    begun = asyncio.Event()

    async def dial(task_id):
        begun.set()
        await asyncio.Event().wait()

    async def use(listener, dialer):
        await begun.wait()

    dialling(dial, use, tasks=3)


def test_somebody_who_is_no_runner_is_dialled_again():
    attempts, twice = 0, asyncio.Event()
    others = []

    async def dial(task_id):
        nonlocal attempts
        attempts += 1
        if attempts == 2:
            twice.set()
        ours, other = socket.socketpair()
        other.sendall(b"GET / HTTP/1.1\r\n\r\n")
        others.append(other)
        return ours

    async def use(listener, dialer):
        await twice.wait()

    dialling(dial, use)
    for other in others:
        other.close()


def test_a_task_that_is_ready_keeps_its_connection_when_the_dialer_lets_it_go(tmp_path):
    port = free_port()

    async def main():
        values = settings(port)
        async with launcher(port, values) as (ours, dialer):
            with runner(tmp_path, values) as theirs:
                ours.start("until [ -e go ]; do sleep 0.05; done; echo done")
                await ours.saw(TaskReady)
                dialer.end(TASK)
                (tmp_path / "go").touch()
                await ours.saw(TaskExited)
                return ours.lines(), await theirs.exited()

    assert asyncio.run(main()) == (["done"], 0)
