"""Operators who take nodes down: by a schedule, and by draining them."""

from __future__ import annotations

import re
import time

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun

from .cluster import wait_until


@pytest.fixture
def two_nodes(mesos):
    mesos.start("node-1", "node-2")
    return mesos.master


def plan_maintenance(master, hostname, seconds_from_now):
    start = {"nanoseconds": int((time.time() + seconds_from_now) * 1e9)}
    window = {
        "machine_ids": [{"hostname": hostname, "ip": "127.0.0.1"}],
        "unavailability": {"start": start, "duration": {"nanoseconds": 1800 * 10**9}},
    }
    assert master.post("/maintenance/schedule", {"windows": [window]}) == 200


def agent_named(master, hostname):
    known = master.get("/master/slaves")["slaves"]
    return next(agent for agent in known if agent["hostname"] == hostname)


@pytest.mark.parametrize("planned, free", [("node-1", "node-2"), ("node-2", "node-1")])
def test_a_node_that_is_soon_taken_down_is_used_only_if_there_is_nothing_else(
    two_nodes, planned, free
):
    plan_maintenance(two_nodes, planned, 600)
    command = ("-m", two_nodes.address, "-Cw", 4, "--", "echo at $MESOS_SLAVE_ID")
    done = tfrun("-w", 1, *command)
    assert done.returncode == 0, done.stderr
    assert agent_named(two_nodes, free)["id"] in done.stdout and "maintenance" not in done.stderr
    done = tfrun("-w", 2, *command)
    assert done.returncode == 0, done.stderr
    warning = rf"(?m)^tfrun: {planned} is scheduled for maintenance in \d+ min; worker:\d goes"
    assert re.search(warning, done.stderr)  # less than the 10 min once a busy machine took its time
    assert agent_named(two_nodes, planned)["id"] in done.stdout


def test_a_drained_node_is_named_as_the_reason_and_is_empty_afterwards(two_nodes):
    command = ("-m", two_nodes.address, "-w", 1, "--constraint", "hostname:IS:node-1")
    with running_tfrun(*command, "--", "sh", "-c", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up")
        agent_id = {"value": agent_named(two_nodes, "node-1")["id"]}
        drain = {"type": "DRAIN_AGENT", "drain_agent": {"agent_id": agent_id}}
        assert two_nodes.post("/api/v1", drain) == 200
        _, err = finish(run)
    assert run.returncode == 75
    assert "worker:0 was ended by its node, which the operator is draining on node-1" in err

    def state():
        return agent_named(two_nodes, "node-1").get("drain_info", {}).get("state")

    wait_until("the agent is drained", lambda: state() == "DRAINED")


# Counts its steps; told to end it writes down how many there were, and the next one goes on there.
COUNTS = (
    "mark={}/worker-{{task_index}}; step=$(cat $mark 2>/dev/null || echo 0); "
    "trap 'sleep 0.3; echo $step > $mark; echo wrote $step; exit 0' TERM; "
    "echo up $TFMESOS_GENERATION from $step on $MESOS_SLAVE_ID; "
    "while :; do step=$((step + 1)); sleep 0.05; done"
)


def number_after(word, name, lines):
    (found,) = [line for line in lines if line.startswith(f"[{name}]") and f" {word} " in line]
    return int(found.partition(f" {word} ")[2].split()[0])


@pytest.fixture
def three_nodes(mesos):
    return mesos.start("node-1", "node-2", "node-3")


def counting(master, directory):
    """A run of two tasks on two nodes."""
    where = ("-m", master.address, "-w", 2, "-Cw", 0.5, "-Mw", 64)
    again = ("--constraint", "hostname:UNIQUE", "--restart-policy", "all", "--restarts", 0)
    command = ("--stop-grace", 5, "--", "sh", "-c", COUNTS.format(directory))
    return running_tfrun(*where, *again, *command)


def assert_all_go_on_elsewhere(run, left):
    """Each task from the step that it wrote, and none on the agent that was to be *left*."""
    wrote = ("[worker:0] wrote", "[worker:1] wrote")
    lines = read_until(run.stdout, *wrote, "[worker:0] up 1", "[worker:1] up 1")
    assert left not in "".join(lines)
    for name in ("worker:0", "worker:1"):
        step, resumed = (number_after(word, name, lines) for word in ("wrote", "from"))
        assert resumed == step > 0


def test_when_one_node_is_drained_all_tasks_write_their_step_and_go_on_from_it_elsewhere(
    three_nodes, tmp_path
):
    with counting(three_nodes, tmp_path) as run:
        left = read_until(run.stdout, "[worker:0] up 0", "[worker:1] up 0")[0].split()[-1]
        drain = {"type": "DRAIN_AGENT", "drain_agent": {"agent_id": {"value": left}}}
        assert three_nodes.post("/api/v1", drain) == 200
        assert_all_go_on_elsewhere(run, left)
        run.terminate()
        finish(run)


def test_before_the_maintenance_of_one_node_all_tasks_write_their_step_and_leave_it(
    three_nodes, tmp_path
):
    with counting(three_nodes, tmp_path) as run:
        left = read_until(run.stdout, "[worker:0] up 0", "[worker:1] up 0")[0].split()[-1]
        known = three_nodes.get("/master/slaves")["slaves"]
        (hostname,) = [agent["hostname"] for agent in known if agent["id"] == left]
        plan_maintenance(three_nodes, hostname, 75)  # they leave 65 s before it
        assert_all_go_on_elsewhere(run, left)
        run.terminate()
        _, err = finish(run)
    assert re.search(r"the node of worker:\d is scheduled for maintenance in \d+ s", err)
    assert f"scheduled maintenance on {hostname}; stopping all" in err
