"""Runs on a genuine Kubernetes that are changed while they go on."""

from __future__ import annotations

import json
from contextlib import ExitStack

from tests.commands import finish, read_until, read_until_all_are_of, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .node import NodeSpec
from .pods import SMALL, has_ended, on_kubernetes

# Counts its steps; told to end it writes down how many there were, and the next one goes on there.
COUNTS = (
    "mark=/shared/worker-{task_index}; step=$(cat $mark 2>/dev/null || echo 0); "
    "trap 'echo $step > $mark; echo wrote $step; exit 0' TERM; "
    "echo $TFMESOS_GENERATION of $WORLD_SIZE from $step; "
    "while :; do step=$((step + 1)); sleep 0.05; done"
)
ONE_PER_NODE = ("-Cw", 1.2, "-Mw", 64)  # of two CPUs


def the_run():
    (found,) = json.loads(tfrun("list", "--json", "--running").stdout)
    return found["id"]


def shapes(run_id):
    status = json.loads(tfrun("status", run_id, "--json").stdout)
    return [one["shape"]["worker"] for one in status["generations"]]


def begun(lines, generation):
    """The step from which each task went on, by its name."""
    words = [line.split() for line in lines if "] " in line and " from " in line]
    return {name: step for name, number, *_, step in words if number == str(generation)}


def wrote(lines):
    words = [line.split() for line in lines if "] wrote " in line]
    return {name: step for name, _, step in words}


def test_a_run_grows_and_shrinks_and_each_task_goes_on_where_it_was(kube, tmp_path):
    command = on_kubernetes("-w", 2, *SMALL, "-V", f"{tmp_path}:/shared")
    with running_tfrun(*command, "--", "sh", "-c", COUNTS) as run:
        read_until(run.stdout, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
        run_id = the_run()
        refused = tfrun("update", run_id, "--rolling", "--env", "A=1")
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
        assert "a restarted pod has another address" in refused.stderr
        assert tfrun("update", run_id, "-w", 4).returncode == 0
        lines = read_until(run.stdout, *(f"[worker:{n}] 1 of 4" for n in range(4)))
        written = wrote(lines)
        assert sorted(written) == ["[worker:0]", "[worker:1]"]
        assert begun(lines, 1) == {"[worker:2]": "0", "[worker:3]": "0", **written}
        assert tfrun("update", run_id, "-w", 1, "-Mw", 96).returncode == 0
        lines = read_until(run.stdout, "[worker:0] 2 of 1")
        assert len(wrote(lines)) == 4
        assert begun(lines, 2) == {"[worker:0]": wrote(lines)["[worker:0]"]}
        assert shapes(run_id) == [2, 4, 1]
        wait_until(
            "the other pods have ended", lambda: sum(not has_ended(p) for p in kube.pods()) == 1
        )
        run.terminate()
        finish(run)


def test_an_update_that_there_is_no_room_for_is_undone_while_it_waits(kube):
    """Who may not list the nodes learns it from the scheduler only."""
    says = "echo $TFMESOS_GENERATION of $WORLD_SIZE; exec sleep 600"
    with running_tfrun(*on_kubernetes("-w", 2, *SMALL), "--", "sh", "-c", says) as run:
        read_until(run.stdout, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
        run_id = the_run()
        assert tfrun("update", run_id, "--no-wait", "-Cw", 64).returncode == 0
        read_until(run.stderr, "Insufficient cpu")
        assert tfrun("update", run_id, "--back").returncode == 0
        read_until(run.stdout, "[worker:0] 2 of 2", "[worker:1] 2 of 2")
        run.terminate()
        finish(run)


def test_a_range_goes_on_with_fewer_when_a_node_is_lost(kube, own_cluster):
    says = "echo $TFMESOS_GENERATION of $WORLD_SIZE; exec sleep 600"
    flags = ("-w", "2:4", *ONE_PER_NODE, "--gang-hold", 20, "--restart-policy", "all")
    with own_cluster.spare_node(NodeSpec("spare")) as node:
        with running_tfrun(*on_kubernetes(*flags), "--", "sh", "-c", says) as run:
            read_until(run.stdout, *(f"[worker:{n}] 0 of 4" for n in range(4)))
            node.kill()
            *_, line = read_until(run.stdout, "[worker:0] 1 of ")
            left = int(line.split()[-1])
            assert left in (2, 3)  # a busy scheduler does not place all within the hold
            assert shapes(the_run()) == [4, left]
            run.terminate()
            _, err = finish(run)
    assert f"{left} of up to 4 worker tasks" in err


def test_a_range_begins_with_five_loses_a_node_and_grows_to_eight_when_others_join(
    kube, own_cluster
):
    kube.allow_to_grow()
    says = "echo $TFMESOS_GENERATION of $WORLD_SIZE; exec sleep 600"
    flags = ("-w", "2:8", *ONE_PER_NODE, "--gang-hold", 20, "--grow-every", 5)
    with ExitStack() as nodes:

        def join(*names):
            return nodes.enter_context(own_cluster.spare_nodes(*map(NodeSpec, names)))

        lost, _ = join("spare-1", "spare-2")
        command = on_kubernetes(*flags, "--restart-policy", "all")
        with running_tfrun(*command, "--", "sh", "-c", says) as run:
            read_until_all_are_of(5, run)
            lost.kill()
            read_until_all_are_of(4, run)
            join("spare-3", "spare-4", "spare-5", "spare-6")
            read_until_all_are_of(8, run)
            run.terminate()
            finish(run)


def test_when_a_node_is_drained_all_tasks_write_their_step_and_go_on_from_it_elsewhere(
    kube, own_cluster, tmp_path
):
    where = ("--constraint", "hostname:UNIQUE", "-V", f"{tmp_path}:/shared")
    again = ("--restart-policy", "all", "--restarts", 0)  # a notice counts as none
    with running_tfrun(*on_kubernetes("-w", 2, *SMALL, *where, *again), "--", COUNTS) as run:
        read_until(run.stdout, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
        node = kube.pods()[0]["spec"]["nodeName"]
        try:
            drained = kube.kubectl("drain", node, "--force", "--ignore-daemonsets")
            assert drained.returncode == 0, drained.stderr
            lines = read_until(run.stdout, "[worker:0] 1 of 2", "[worker:1] 1 of 2")
            assert begun(lines, 1) == wrote(lines) and len(wrote(lines)) == 2
            assert node not in [pod["spec"]["nodeName"] for pod in kube.pods()]
        finally:
            kube.kubectl("uncordon", node)
        run.terminate()
        _, err = finish(run)
    assert f"on {node}; stopping all tasks" in err
