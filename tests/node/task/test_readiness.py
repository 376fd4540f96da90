"""A TensorBoard is ready when it listens at its port, not when it has been started."""

from __future__ import annotations

import socket

from tests.ports import free_port
from tfmesos.node.loop import Loop
from tfmesos.node.task.readiness import when_listening


def test_it_is_told_when_somebody_listens_and_not_before():
    port, told = free_port(), []
    with Loop() as loop, socket.socket() as server:
        server.bind(("127.0.0.1", port))
        when_listening(loop, port, lambda: False, lambda: told.append(port))
        assert told == []  # it is bound only
        server.listen()
        loop.run_until(lambda: told)
    assert told == [port]


def test_one_that_ended_before_is_never_ready():
    told, is_over = [], []
    with Loop() as loop:
        when_listening(loop, free_port(), lambda: bool(is_over), lambda: told.append(1))
        is_over.append(True)
        assert len(loop._timers) == 1
        loop.run_until(lambda: not loop._timers)
    assert told == []
