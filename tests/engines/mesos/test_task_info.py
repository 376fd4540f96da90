import pytest

from tests.builders import workers
from tests.engines.mesos.offers import an_offer
from tests.sentences import names
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.engines.mesos.placement import place
from tfmesos.engines.mesos.task_info import command_info, framework_info, task_info
from tfmesos.engines.mesos.task_states import (
    DRAINING,
    OUT_OF_MEMORY,
    STATES,
    describe,
    is_terminal,
    status_in,
)
from tfmesos.errors import DRAINED

JOBS = (workers(1),)


def a_seat():
    (found,) = place(workers(1).tasks, [an_offer()]).loads
    return found.seats[0]


def test_a_plain_task_says_who_it_is_and_takes_exactly_its_resources():
    command = command_info("exec python3 -c x", {"A": "1"})
    info = task_info(LaunchConfig(jobs=JOBS), "run", "run-worker-0-1", "agent-1", a_seat(), command)
    assert info == {
        "name": "run/job:worker/task:0",
        "task_id": {"value": "run-worker-0-1"},
        "agent_id": {"value": "agent-1"},
        "resources": [
            {"name": "cpus", "type": "SCALAR", "scalar": {"value": 1.0}, "role": "*"},
            {"name": "mem", "type": "SCALAR", "scalar": {"value": 1024.0}, "role": "*"},
        ],
        "command": {
            "shell": True,
            "value": "exec python3 -c x",
            "environment": {"variables": [{"name": "A", "value": "1"}]},
        },
        "kill_policy": {"grace_period": {"nanoseconds": 5_000_000_000}},
        "labels": {"labels": [{"key": "tfmesos_run", "value": "run"}]},
    }


def test_the_framework_can_see_gpus_and_partitions_and_carries_the_run_id():
    info = framework_info(LaunchConfig(jobs=JOBS, name="n", role="ml", user="me"), "run-1", "host")
    assert (info["name"], info["user"], info["roles"]) == ("n", "me", ["ml"])
    assert {c["type"] for c in info["capabilities"]} == {
        *("GPU_RESOURCES", "PARTITION_AWARE", "TASK_KILLING_STATE", "MULTI_ROLE"),
        "RESERVATION_REFINEMENT",
    }
    assert info["offer_filters"]["ml"] == {
        "min_allocatable_resources": {
            "quantities": [{"quantities": {"cpus": {"value": 1.0}, "mem": {"value": 1024.0}}}]
        }
    }
    assert info["labels"] == {"labels": [{"key": "tfmesos_run", "value": "run-1"}]}


@pytest.mark.parametrize("state", ["TASK_LOST", "TASK_GONE", "TASK_DROPPED", "TASK_ERROR"])
def test_a_task_that_is_gone_is_gone(state):
    assert is_terminal(state)


@pytest.mark.parametrize("state", ["TASK_RUNNING", "TASK_UNREACHABLE", "TASK_KILLING", "TASK_X"])
def test_a_task_that_may_come_back_is_not_given_up(state):
    assert not is_terminal(state)


def test_every_state_has_words():
    assert all(describe(state) == meaning.sentence for state, meaning in STATES.items())
    assert describe("TASK_X") == "is in state TASK_X"


def test_the_words_of_mesos_are_passed_on():
    assert describe("TASK_FAILED", "Command exited with status 3") == "exited with 3"
    assert describe("TASK_FAILED", "no image", "REASON_X") == "failed (no image; REASON_X)"


@pytest.mark.parametrize(
    "message, code",
    [
        ("Command exited with status 3", 3),
        ("Container exited with status 125", 125),
        ("Command terminated with signal Killed", 137),
        ("Command exited with status 0", 0),
        ("Command exited with status 255", 255),
        ("", None),
    ],
)
def test_the_exit_code_is_read_out_of_the_message(message, code):
    assert status_in(message) == code


@pytest.mark.parametrize("digits", ["256", "512", str(10**30), "9" * 5000])
def test_a_status_that_no_process_can_have_is_a_failure_told_in_its_own_words(digits):
    message = f"Command exited with status {digits}"
    assert status_in(message) == 1
    told = describe("TASK_FAILED", message)
    assert told.startswith(f"failed (Command exited with status {digits[:40]}")
    assert len(told) < 400


def test_an_end_for_want_of_memory_is_one_line():
    first = "Memory limit exceeded: Requested: 96MB Maximum Used: 96MB"
    words = describe("TASK_FAILED", f"{first}\n\nMEMORY STATISTICS: \na 1", OUT_OF_MEMORY)
    assert names(words, "out of memory", f"({first})")


def test_a_drained_agent_is_named_as_the_reason():
    for state in ("TASK_KILLED", "TASK_GONE_BY_OPERATOR"):
        words = describe(state, "Command terminated with signal Terminated", DRAINING)
        assert words == DRAINED
