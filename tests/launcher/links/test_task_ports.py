"""Ports of this machine that lead to tasks which only their nodes reach."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tfmesos.launcher.links import local_port
from tfmesos.launcher.links.runner_link import RunnerLink
from tfmesos.launcher.links.task_ports import TaskPorts


class Rig:
    """Notes who is entered, at which port, and what is said."""

    def __init__(self, group):
        self.entered, self.said, self.tasks = asyncio.Queue(), [], []
        self._group = group
        self.ports = TaskPorts(self._enter, self._spawn, lambda *line: self.said.append(line))

    def _spawn(self, work):
        self.tasks.append(self._group.create_task(work))
        return self.tasks[-1]

    async def _enter(self, task_id, request, reader, writer):
        self.entered.put_nowait((task_id, request))


def board(task_id="x-board-0-1"):
    return RunnerLink(task_id, b"", {"job": "board", "index": 0, "is_private": True})


def with_rig(work):
    async def main():
        async with asyncio.TaskGroup() as group:
            rig = Rig(group)
            await work(rig)
            for task in rig.tasks:
                task.cancel()

    asyncio.run(main())


def test_one_port_leads_to_each_attempt_of_a_task():
    async def work(rig):
        where = rig.ports.open(board(), 41)
        assert rig.ports.open(board("x-board-0-2"), 42) == where
        _, writer = await asyncio.open_connection(*where.split(":"))
        entered = await rig.entered.get()
        assert entered == ("x-board-0-2", {"do": "forward", "port": 42})
        writer.close()

    with_rig(work)


@pytest.mark.parametrize("is_taken", [False, True])
def test_after_a_take_over_it_is_where_it_was_or_its_new_address_is_said(is_taken):
    async def work(rig):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            if not is_taken:
                other.close()
            rig.ports.recall(board(), 41, f"127.0.0.1:{port}")
            rig.ports.resume()
            now = rig.ports.open(board(), 41)
        assert (now == f"127.0.0.1:{port}") is not is_taken
        assert [now in text for text, _ in rig.said] == [True] * is_taken

    with_rig(work)


def test_a_machine_without_a_port_for_it_is_no_reason_to_end_a_run(monkeypatch):
    def fail(address):
        raise OSError(24, "Too many open files")

    async def work(rig):
        monkeypatch.setattr(local_port.socket, "create_server", fail)
        assert rig.ports.open(board(), 41) == ""
        ((text, level),) = rig.said
        assert level == "warning" and "Too many open files" in text and "tfrun forward" in text

    with_rig(work)
