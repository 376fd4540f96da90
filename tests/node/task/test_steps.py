"""Initializer, command and finalizer: which of them runs, and how the task ended."""

from __future__ import annotations

import json

import pytest

from tests.runners import CLUSTER
from tfmesos.node.task.steps import STOPPED, Steps

ALL = {"initializer": "first", "command": ["echo", "{task_index}"], "finalizer": "last"}


def steps_of(**start):
    return Steps({"cluster": CLUSTER, **start}, "worker", 1)


def run(steps, codes=None, stop_after=None, grace=5.0):
    """The names of the steps that ran; *codes* of those that fail, and a stop during one."""
    ran, stop_grace = [], None
    while name := steps.next(stop_grace):
        ran.append(name)
        stop_grace = grace if name == stop_after else stop_grace
        code = (codes or {}).get(name, 0)
        steps.ended(name, (code, f"exited with {code}"))
    return ran


def test_all_that_is_given_runs_in_order_and_the_command_is_the_task():
    steps = steps_of(**ALL)
    assert run(steps, {"command": 3, "finalizer": 4}) == ["initializer", "command", "finalizer"]
    assert steps.ending == (3, "exited with 3")


def test_what_is_not_given_is_left_out():
    steps = steps_of(command="true", initializer=None, finalizer="")
    assert run(steps) == ["command"]
    assert steps.ending == (0, "exited with 0")


def test_a_failed_initializer_is_the_end_of_the_task_but_for_its_finalizer():
    steps = steps_of(**ALL)
    assert run(steps, {"initializer": 5}) == ["initializer", "finalizer"]
    assert steps.ending == (5, "failed: its initializer exited with 5")


def test_a_task_that_is_stopped_in_its_initializer_never_runs_its_command():
    steps = steps_of(**ALL)
    assert run(steps, stop_after="initializer") == ["initializer", "finalizer"]
    assert steps.ending == (STOPPED, "was stopped before its command")


@pytest.mark.parametrize("grace, ran", [(0.1, ["command", "finalizer"]), (0, ["command"])])
def test_a_finalizer_runs_only_if_the_stop_leaves_it_time(grace, ran):
    steps = steps_of(command="true", finalizer="last")
    assert run(steps, {"command": 143}, stop_after="command", grace=grace) == ran
    assert steps.ending == (143, "exited with 143")


def test_placeholders_are_filled_in_every_step():
    steps = steps_of(command=["echo", "{task_index}"], finalizer="rm {job_name}")
    assert steps.argv("command") == ["echo", "1"]
    assert steps.argv("finalizer") == ["/bin/sh", "-c", "rm worker"]


def test_the_user_overrides_what_is_inherited_and_nobody_overrides_the_mark():
    steps = steps_of(
        command="true",
        env={"A": "inherited", "B": "inherited", "GONE": None},
        user_env={"B": "user", "TF_CONFIG": None, "MARK": "forged"},
    )
    env = steps.environment({"A": "node", "GONE": "node", "C": "node"}, {"MARK": "task"})
    assert {name: env.get(name) for name in ("A", "B", "C", "GONE", "MARK", "TF_CONFIG")} == {
        **{"A": "inherited", "B": "user", "C": "node", "MARK": "task"},
        **{"GONE": None, "TF_CONFIG": None},
    }


@pytest.mark.parametrize(
    "start, has_config", [({}, True), ({"starts": {"worker": 1}}, False)], ids=["whole", "part"]
)
def test_tf_config_is_given_for_a_whole_cluster(start, has_config):
    env = steps_of(command="true", **start).environment({}, {})
    assert ("TF_CONFIG" in env) == has_config
    if has_config:
        assert json.loads(env["TF_CONFIG"])["task"] == {"type": "worker", "index": 1}


def test_a_single_task_has_tf_config_only_if_that_is_always_wanted():
    for wanted, expected in (("auto", False), ("always", True)):
        start = {"cluster": {"worker": ["a:1"]}, "command": "true", "tf_config": wanted}
        assert ("TF_CONFIG" in Steps(start, "worker", 0).environment({}, {})) == expected
