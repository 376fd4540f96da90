"""The runner's connection, where a whole runner cannot show it."""

from __future__ import annotations

import socket

from tests.runners import RUN, SECRET, TASK
from tfmesos.errors import CANNOT_REACH_LAUNCHER
from tfmesos.node.handshake import NOBODY
from tfmesos.node.link import Link
from tfmesos.node.loop import Loop
from tfmesos.node.outbox import Outbox
from tfmesos.node.settings import Settings


class LinkThatConnectsToItself(Link):
    """Its port is the launcher's: with nobody there, TCP connects the two ends of one socket."""

    def _connect(self) -> socket.socket:
        connection = socket.socket()
        connection.bind(("127.0.0.1", 0))
        connection.setblocking(False)
        connection.connect_ex(connection.getsockname())
        return connection


def test_a_runner_that_connects_to_itself_knows_that_nobody_listens():
    values = {"launcher": "127.0.0.1:1", "run": RUN, "task": TASK}
    settings = Settings({**values, "owner": NOBODY, "connect_timeout": 0}, SECRET)
    with Loop() as loop:
        link = LinkThatConnectsToItself(
            loop, settings, Outbox(), lambda message: None, lambda: None, dict
        )
        link._dial()
        loop.run_until(lambda: link.failure)
    assert link.failure == (
        CANNOT_REACH_LAUNCHER,
        "the launcher at 127.0.0.1:1 cannot be reached from this node: nobody listens there",
    )
