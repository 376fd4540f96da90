"""Runs on a genuine Mesos that are changed while they go on."""

from __future__ import annotations

import json

from tests.commands import read_until, read_until_all_are_of, running_tfrun, tfrun

SAYS = "trap 'exit 0' TERM; echo $TFMESOS_GENERATION of $WORLD_SIZE; sleep 600 & wait"
SMALL = ("-Cw", 0.1, "-Mw", 64)


ONE_CPU = "cpus:1;mem:1024;disk:512"


def the_run():
    (found,) = json.loads(tfrun("list", "--json", "--running").stdout)
    return found["id"]


def test_a_run_grows_and_shrinks_and_what_never_fits_is_refused(three_nodes):
    command = ("-m", three_nodes, "-w", 2, *SMALL, "--", "sh", "-c", SAYS)
    with running_tfrun(*command) as run:
        read_until(run.stdout, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
        run_id = the_run()
        never = tfrun("update", run_id, "-Cw", 64)
        assert never.returncode == 75 and "the run cannot be placed" in never.stderr, never.stderr
        assert tfrun("update", run_id, "-w", 4).returncode == 0
        read_until(run.stdout, *(f"[worker:{n}] 1 of 4" for n in range(4)))
        assert tfrun("update", run_id, "-w", 1, "-Mw", 96).returncode == 0
        read_until(run.stdout, "[worker:0] 2 of 1")
        status = json.loads(tfrun("status", run_id, "--json").stdout)
        assert [one["shape"] for one in status["generations"]] == [
            {"worker": 2},
            {"worker": 4},
            {"worker": 1},
        ]
        assert tfrun("stop", run_id).returncode == 0
        assert run.wait() == 130


def test_a_range_begins_with_what_there_is_loses_a_node_and_grows_when_others_join(mesos):
    master = mesos.start_master()
    agents = [mesos.start_agent(f"node-{n}", ONE_CPU) for n in range(5)]
    master.wait_for(*(f"node-{n}" for n in range(5)))
    size = ("-m", master.address, "-w", "2:8", "-Cw", 1, "-Mw", 64)
    policy = ("--restart-policy", "all", "--grow-every", 1)
    with running_tfrun(*size, *policy, "--", "sh", "-c", SAYS) as run:
        read_until_all_are_of(5, run)
        agents[0].unregister()
        read_until_all_are_of(4, run)
        for n in range(5, 9):
            mesos.start_agent(f"node-{n}", ONE_CPU)
        read_until_all_are_of(8, run)
        run.terminate()
        assert run.wait() == 143


def test_a_rolling_update_gives_each_task_more_memory_at_its_address(three_nodes):
    says = "trap 'exit 0' TERM; echo $WORD at {worker_hosts} on $MESOS_SLAVE_ID; sleep 600 & wait"
    command = ("-m", three_nodes, "-w", 2, *SMALL, "--", "sh", "-c", says)
    with running_tfrun(*command) as run:
        before = read_until(run.stdout, "[worker:0] at", "[worker:1] at")
        run_id = the_run()
        never = tfrun("update", run_id, "--rolling", "-Mw", 10**5)
        assert never.returncode == 75 and "the run cannot be placed" in never.stderr, never.stderr
        done = tfrun("update", run_id, "--rolling", "-Mw", 96, "--env", "WORD=new")
        assert done.returncode == 0 and "2 tasks: complete" in done.stderr, done.stderr
        after = read_until(run.stdout, "[worker:0] new at", "[worker:1] new at")
        assert sorted(line.replace(" new ", " ") for line in after) == sorted(before)
        back = tfrun("update", run_id, "--back", "--rolling")
        assert back.returncode == 0 and "worker.mem: 96 -> 64" in back.stderr, back.stderr
        assert tfrun("stop", run_id).returncode == 0
        assert run.wait() == 130
