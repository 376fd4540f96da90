"""What the processes of a task use is measured: all of them, and no others."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

from tests.runners import TASK, launcher, runner, settings
from tfmesos.node.loop import Loop
from tfmesos.node.process import usage_meter as measuring
from tfmesos.node.process.guard import Guard
from tfmesos.node.process.usage_meter import TaskProcesses, Usage, stat_of
from tfmesos.shared.process import MARK

MIB = 1024 * 1024
HELD = "held = b'x' * (64 << 20)\nprint(flush=True)\nimport time\ntime.sleep(600)"
BUSY = "while True: pass"
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}


class Tree:
    """Processes that are killed at the end; each has written a line when it is there."""

    def __init__(self):
        self.processes = []

    def start(self, code, *, env=None):
        started = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.processes.append(started)
        return started

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()


def test_memory_of_the_session_and_of_what_left_it_with_the_mark_is_counted():
    with Tree() as tree, Loop() as loop:
        command = tree.start(HELD)
        daemon = tree.start(HELD, env={MARK: TASK})
        tree.start(HELD, env={MARK: "another"})
        for process in tree.processes:
            process.stdout.readline()
        usage, guard = Usage(loop, TASK), Guard(TASK)
        usage.began(command.pid, NO_GPU, guard)
        for _ in range(100):  # a few are looked at each time
            found = usage.measure()["memory"]
        guard.close()
        assert usage._processes.pids() == {command.pid, daemon.pid}
        assert 128 * MIB < found < 192 * MIB


def test_a_process_that_leaves_the_session_without_the_mark_stays_one_of_the_task():
    leave = "print(flush=True)\ninput()\nimport os\nos.setsid()\nprint(flush=True)\ninput()"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {leave!r}], env={{}})"
    with Tree() as tree:
        read, write = os.pipe()
        parent = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=read,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        tree.processes.append(parent)
        os.close(read)
        parent.stdout.readline()
        processes = TaskProcesses(parent.pid, TASK)
        before = set(processes.pids())
        os.write(write, b"\n")
        parent.stdout.readline()
        assert processes.pids() == before and len(before) == 2
        os.close(write)
        parent.wait()


def test_no_more_than_a_few_environments_are_read_at_a_time(monkeypatch):
    looked = []
    monkeypatch.setattr(measuring.process, "pids", lambda: list(range(10**8, 10**8 + 1000)))
    monkeypatch.setattr(measuring.process, "environment", lambda pid: looked.append(pid) or b"")
    processes = TaskProcesses(1, TASK)
    for _ in range(20):
        before = len(looked)
        assert not processes.pids()
        assert len(looked) <= before + 128
    assert len(looked) == 1000 and looked[0] == 10**8 + 999
    assert looked == sorted(looked, reverse=True)


def test_cpu_is_told_in_percent_of_a_core():
    with Tree() as tree, Loop() as loop:
        command = tree.start(BUSY)
        usage, guard = Usage(loop, TASK), Guard(TASK)
        usage.began(command.pid, NO_GPU, guard)
        while stat_of(command.pid)[0] < 20:
            time.sleep(0.01)
        first = usage.measure()["cpu"]
        command.kill()
        command.wait()
        assert usage.measure() == {}
        guard.close()
        assert 0 < first <= 100 * os.cpu_count()


def test_what_a_server_used_before_it_was_ready_is_not_counted():
    code = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ninput()"
    with Tree() as tree, Loop() as loop:
        server = tree.start(code)
        server.stdout.readline()
        usage, guard = Usage(loop, TASK), Guard(TASK)
        usage.began(server.pid, NO_GPU, guard)
        before, began = stat_of(server.pid)[0], time.monotonic()
        while time.monotonic() < began + 0.1:
            pass
        measured = usage.measure()["cpu"]
        guard.close()
        assert before >= 40, "it has used half a second"
        assert measured < 100


def test_ticks_of_children_that_ended_are_counted_with_their_parent():
    code = "import subprocess, sys\n"
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    code += f"subprocess.run([sys.executable, '-c', {spin!r}])\nprint(flush=True)\ninput()"
    with Tree() as tree:
        parent = tree.start(code)
        parent.stdout.readline()
        # The kernel cuts user and system time to whole ticks, each.
        assert stat_of(parent.pid)[0] >= 0.3 * os.sysconf("SC_CLK_TCK") - 2


def test_what_has_not_begun_or_has_ended_uses_nothing():
    with Loop() as loop:
        usage = Usage(loop, TASK)
        assert usage.measure() == {}
        usage.ended()
        assert usage.measure() == {}
    assert stat_of(2**22 + 1) == (0, 0)


def test_a_runner_tells_what_its_command_uses_while_it_runs(tmp_path):
    async def main():
        async with launcher() as ours:
            with runner(tmp_path, settings(ours.address, heartbeat=0.1)):
                ours.start([sys.executable, "-c", HELD], env=NO_GPU)
                await ours.until(lambda: ours.lines() or None)
                before = len(ours.usages)
                await ours.until(lambda: len(ours.usages) > before)
                ours.send(type="stop", grace=0, reason="", examine=False)
                return ours.usages[-1]

    usage = asyncio.run(main())
    assert usage.gpus == () and 64 * MIB < usage.memory < 128 * MIB
