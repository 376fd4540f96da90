"""A check says whether a node is fit: its task starts, or is refused with the last line."""

from __future__ import annotations

import asyncio

from tests.runners import launcher, runner, settings, the_exit
from tfmesos.core import events
from tfmesos.errors import NODE_UNFIT
from tfmesos.node.task import node_check as module


def checked(sandbox, command):
    """How a task ended whose node was checked so."""

    async def main():
        async with launcher() as ours:
            with runner(sandbox, settings(ours.address, check=command)) as theirs:
                ours.start(["echo", "ran"])
                await ours.saw(events.TaskExited)
                await theirs.exited()
                return ours

    return asyncio.run(main())


def test_a_command_runs_after_a_good_check_whose_output_nobody_sees(tmp_path):
    ours = checked(tmp_path, "echo looking; pwd > place")
    assert (the_exit(ours)[0], ours.lines()) == (0, ["ran"])
    assert (tmp_path / "place").read_text().strip() == str(tmp_path)


def test_a_bad_check_refuses_the_node_with_its_last_line_before_anybody_registers(tmp_path):
    ours = checked(tmp_path, "echo first; echo GPU 3 is lost >&2; exit 4")
    code, reason = the_exit(ours)
    assert code == NODE_UNFIT and "exited with 4: 'GPU 3 is lost'" in reason
    assert ours.lines() == [] and not any(
        isinstance(event, events.TaskRegistered) for event in ours.events
    )


def test_a_check_has_a_bound():
    assert 0 < module.CHECK_TIME <= 600
