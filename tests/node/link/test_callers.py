"""Those who connect to a runner that its launcher dials."""

from __future__ import annotations

import contextlib
import os
import socket
import time

from tests.bounds import HANG
from tests.ports import free_port
from tests.runners import RUN, SECRET, TASK
from tfmesos.launcher.links.authentication import LauncherHandshake
from tfmesos.node.link import callers
from tfmesos.node.link.callers import MAX_CALLERS, Callers
from tfmesos.node.loop import Loop
from tfmesos.node.runner_settings import Settings
from tfmesos.shared import link_timeouts, wire
from tfmesos.shared.handshake import NOBODY, RunnerHandshake


@contextlib.contextmanager
def waiting():
    """The loop and the port of a runner that is dialled, and those it took for its launcher."""
    port, taken = free_port(), []
    values = {"launcher": f":{port}", "run": RUN, "task": TASK, "owner": NOBODY}
    settings = Settings({**values, "connect_timeout": 0}, SECRET)

    def handshake():
        return RunnerHandshake(SECRET, RUN, TASK, os.urandom(16))

    with Loop() as loop:
        ours = Callers(loop, settings, handshake, lambda *found: taken.append(found))
        try:
            yield loop, port, taken
        finally:
            ours.close()
            for link, _ in taken:
                link.close()


def run(loop, condition):
    end, found = time.monotonic() + HANG, []
    loop.after(HANG, lambda: None)
    loop.run_until(lambda: found.append(condition()) or found[-1] or time.monotonic() > end)
    assert found[-1]


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setblocking(False)
    return connection


def heard(connection):
    """What has come of it so far; None if it is closed."""
    try:
        return connection.recv(4096) or None
    except BlockingIOError:
        return b""
    except ConnectionResetError:
        return None


def test_of_too_many_strangers_the_oldest_leaves():
    with waiting() as (loop, port, taken), contextlib.ExitStack() as stack:
        strangers = [stack.enter_context(connect(port)) for _ in range(MAX_CALLERS)]
        for stranger in strangers:
            run(loop, lambda stranger=stranger: heard(stranger))  # its hello
        last = stack.enter_context(connect(port))
        run(loop, lambda: heard(last))
        assert [heard(stranger) for stranger in strangers] == [None, *[b""] * (MAX_CALLERS - 1)]
        assert taken == []


def test_a_stranger_who_says_nothing_is_cut_off_in_time(monkeypatch):
    monkeypatch.setattr(callers.link_timeouts, "HANDSHAKE_TIMEOUT", 0.1)
    assert link_timeouts.HANDSHAKE_TIMEOUT == 0.1
    with waiting() as (loop, port, taken), connect(port) as stranger:
        run(loop, lambda: heard(stranger))
        run(loop, lambda: heard(stranger) is None)
        assert taken == []


def test_who_proves_the_secret_is_taken_for_the_launcher():
    launcher = LauncherHandshake(RUN, os.urandom(16), lambda task, again: SECRET)
    decoder = wire.FrameDecoder()
    with waiting() as (loop, port, taken), connect(port) as stranger, connect(port) as caller:
        arrived = bytearray()
        run(loop, lambda: arrived.extend(heard(caller) or b"") or arrived)
        (hello,) = decoder.feed(bytes(arrived))
        caller.sendall(wire.encode(launcher.feed(hello)))
        run(loop, lambda: taken)
        ((link, proof),) = taken
        assert launcher.feed(proof) is None and launcher.done
        assert link.getpeername() == caller.getsockname()
        assert heard(stranger) is not None


def test_who_lies_is_cut_off():
    challenge = {"type": "challenge", "nonce": "0" * 32, "proof": "0" * 64}
    lies = [wire.encode(challenge), wire.encode({"type": "welcome"}), b"\xff" * 100, b"\0\0\0\2[]"]
    with waiting() as (loop, port, taken), contextlib.ExitStack() as stack:
        for lie in lies:
            liar = stack.enter_context(connect(port))
            run(loop, lambda liar=liar: heard(liar))
            liar.sendall(lie)
            run(loop, lambda liar=liar: heard(liar) is None)
        assert taken == []
