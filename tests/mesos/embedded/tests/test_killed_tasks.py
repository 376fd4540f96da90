"""However a task ends, no process of it is left."""

from __future__ import annotations

import asyncio
import time

import psutil
import pytest

from tests.mesos.embedded import LocalMesos

from .one_node import NODE, alive, pids, run
from .wire import Scheduler, framework, grace, task


def test_a_task_that_ignores_sigterm_is_killed_after_its_grace():
    async def story(mesos, scheduler):
        ignores = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
        await scheduler.launch(await scheduler.offer(), task("t", ignores, **grace(0.3)))
        (pid,) = await pids(mesos, "pid")
        begin = time.monotonic()
        await scheduler.kill("t")
        status = await scheduler.state("t", "TASK_KILLED")
        return status["message"], time.monotonic() - begin, pid

    message, took, pid = run(story)
    assert message == "Command terminated with signal Killed"
    assert took >= 0.3 and not alive(pid)


def test_what_a_task_leaves_behind_dies_with_it():
    leaves = (
        "(trap '' TERM HUP; echo $BASHPID > child; exec sleep 1000) & "
        "set -m; (trap '' TERM HUP; echo $BASHPID > apart; exec sleep 1000) & "
        "while [ ! -s child ] || [ ! -s apart ]; do sleep 0.01; done; exit 0"
    )

    async def story(mesos, scheduler):
        command = {"shell": False, "value": "bash", "arguments": ["bash", "-c", leaves]}
        await scheduler.launch(await scheduler.offer(), task("t", command))
        await scheduler.state("t", "TASK_FINISHED")
        found = await pids(mesos, "child", "apart")
        return [alive(pid) for pid in found]

    assert run(story) == [False, False]


def test_teardown_ends_every_process_of_the_framework_and_no_other():
    async def story(mesos, scheduler):
        other = await Scheduler.subscribe(mesos.url, framework(name="other"))
        first = await scheduler.offer()
        await scheduler.launch(first, task("t", "echo $$ > pid; exec sleep 1000"), refuse=3600)
        await other.launch(await other.offer(), task("o", "exec sleep 1000"), refuse=3600)
        (mine,) = await pids(mesos, "pid")
        theirs = (await other.state("o", "TASK_RUNNING"))["container_status"]["executor_pid"]
        before = len(other.offers())
        await scheduler.call("TEARDOWN")
        assert await scheduler.over() == "clean"
        await other.offer(before)  # what the process held is offered when it is gone
        result = alive(mine), alive(theirs)
        other.close()
        return result

    assert run(story) == (False, True)


def test_however_the_block_is_left_no_process_is():
    found = []

    async def story(mesos, scheduler):
        stubborn = "trap '' TERM; echo $$ > pid; sleep 1000 & while :; do sleep 1; done"
        await scheduler.launch(await scheduler.offer(), task("t", stubborn))
        found.extend(await pids(mesos, "pid"))
        found.extend(child.pid for child in psutil.Process(found[0]).children(recursive=True))
        raise RuntimeError("the test fails here")

    with pytest.raises(RuntimeError):
        run(story, exit_grace=0.1)
    assert found and not any(map(alive, found))


@pytest.mark.parametrize("turns", [1, 2, 3, 10, 100])
def test_cancelling_the_way_out_leaves_no_process_either(turns):
    async def main():
        mesos = LocalMesos([NODE], exit_grace=0.3)
        await mesos.__aenter__()
        scheduler = await Scheduler.subscribe(mesos.url, framework())
        stubborn = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
        await scheduler.launch(await scheduler.offer(), task("t", stubborn))
        found = await pids(mesos, "pid")
        sandbox = mesos.sandbox_of("t")
        scheduler.close()
        leaving = asyncio.create_task(mesos.__aexit__(None, None, None))
        for _ in range(turns):
            await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        return alive(found[0]), sandbox.exists()

    assert asyncio.run(main()) == (False, False)
