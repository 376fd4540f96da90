"""The runner's connection, where a whole runner cannot show it."""

from __future__ import annotations

import socket

import pytest

from tests.runners import RUN, SECRET, TASK
from tests.sentences import names
from tfmesos.errors import CANNOT_REACH_LAUNCHER
from tfmesos.node.link.connection import Link
from tfmesos.node.link.outbox import Outbox
from tfmesos.node.loop import Loop
from tfmesos.node.runner_settings import Settings
from tfmesos.shared import wire
from tfmesos.shared.handshake import NOBODY


class LinkThatConnectsToItself(Link):
    """Its port is the launcher's: with nobody there, TCP connects the two ends of one socket."""

    def _connect(self) -> socket.socket:
        connection = socket.socket()
        connection.bind(("127.0.0.1", 0))
        connection.setblocking(False)
        connection.connect_ex(connection.getsockname())
        return connection


class LinkThatIsAnsweredOnce(Link):
    """Its first attempt fails with a reason; the others find somebody who says nothing."""

    silent: socket.socket

    def _connect(self) -> socket.socket:
        if not self._attempts:
            raise OSError(0, "a good reason")
        connection = socket.create_connection(self.silent.getsockname())
        connection.setblocking(False)
        return connection


def failure_of(kind, connect_timeout):
    values = {"launcher": "127.0.0.1:1", "run": RUN, "task": TASK}
    settings = Settings({**values, "owner": NOBODY, "connect_timeout": connect_timeout}, SECRET)
    with Loop() as loop:
        link = kind(loop, settings, Outbox(), lambda message: None, lambda: None, dict)
        link._dial()
        loop.run_until(lambda: link.failure)
    return link.failure


def test_a_runner_that_connects_to_itself_knows_that_nobody_listens():
    code, words = failure_of(LinkThatConnectsToItself, 0)
    assert code == CANNOT_REACH_LAUNCHER
    assert names(words, "launcher at 127.0.0.1:1", "nothing listens")


def test_an_attempt_that_has_no_time_left_does_not_hide_why_the_one_before_failed():
    with socket.create_server(("127.0.0.1", 0)) as LinkThatIsAnsweredOnce.silent:
        _, said = failure_of(LinkThatIsAnsweredOnce, 0.3)
    assert said.endswith(": a good reason")


@pytest.mark.parametrize("heartbeat, beats", [(0, 2), (60, 1)])
def test_whoever_is_long_away_from_the_loop_can_keep_the_link_alive(heartbeat, beats):
    values = {"launcher": "127.0.0.1:1", "run": RUN, "task": TASK, "owner": NOBODY}
    settings = Settings({**values, "connect_timeout": 1, "heartbeat": heartbeat}, SECRET)
    ours, theirs = socket.socketpair()
    with Loop() as loop, ours, theirs:
        link = Link(loop, settings, Outbox(), lambda message: None, lambda: None, dict)
        link.keep_alive()  # there is nobody yet
        link._socket, link.connected = ours, True
        link.keep_alive()
        link.keep_alive()
        found = list(wire.FrameDecoder(wire.MAX_FRAME).feed(theirs.recv(4096)))
        assert found == [{"type": "heartbeat"}] * beats
        theirs.close()
        link._kept_alive_at = 0.0
        link.keep_alive()  # the loop will notice that
