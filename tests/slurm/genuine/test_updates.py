"""Runs on a genuine Slurm that are changed while they go on."""

from __future__ import annotations

import json

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .test_restarts import the_run
from .test_runs import ON_SLURM, SMALL

# Counts its steps; told to end it writes down how many there were, and the next one goes on there.
COUNTS = (
    "mark={}/worker-{{task_index}}; step=$(cat $mark 2>/dev/null || echo 0); "
    "trap 'echo $step > $mark; echo wrote $step; exit 0' TERM; "
    "echo $TFMESOS_GENERATION of $WORLD_SIZE from $step; "
    "while :; do step=$((step + 1)); sleep 0.05; done"
)


def numbers(word, lines):
    """What each task said after *word*, by its name."""
    found = [line for line in lines if f" {word} " in line]
    return {line.split()[0]: line.partition(f" {word} ")[2] for line in found}


def test_a_run_grows_and_shrinks_and_each_task_goes_on_where_it_was(slurm, tmp_path):
    command = (*ON_SLURM, "-w", 2, *SMALL, "--", "sh", "-c", COUNTS.format(tmp_path))
    with running_tfrun(*command) as run:
        read_until(run.stdout, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
        run_id = the_run()
        never = tfrun("update", run_id, "-w", 500)
        assert never.returncode == 75 and never.stderr.count("\n") == 1, never.stderr
        assert tfrun("update", run_id, "-w", 4).returncode == 0
        lines = read_until(run.stdout, *(f"[worker:{n}] 1 of 4" for n in range(4)))
        wrote = numbers("wrote", lines)
        assert sorted(wrote) == ["[worker:0]", "[worker:1]"]
        assert numbers("from", lines) == {"[worker:2]": "0", "[worker:3]": "0", **wrote}
        assert tfrun("update", run_id, "-w", 1, "-Mw", 96).returncode == 0
        lines = read_until(run.stdout, "[worker:0] 2 of 1")
        wrote = numbers("wrote", lines)
        assert len(wrote) == 4
        assert numbers("from", lines) == {"[worker:0]": wrote["[worker:0]"]}
        status = json.loads(tfrun("status", run_id, "--json").stdout)
        assert [one["shape"]["worker"] for one in status["generations"]] == [2, 4, 1]
        run.terminate()
        finish(run)


def test_with_a_checkpoint_all_tasks_write_their_step_and_leave_a_drained_node(slurm, tmp_path):
    """Slurm lets the tasks of a drained node finish, so its operator asks for the checkpoint."""
    where = ("--constraint", "hostname:UNIQUE", "--restart-policy", "all", "--restarts", 0)
    says = COUNTS.format(tmp_path).replace("echo wrote", "sleep 0.3; echo wrote")
    with running_tfrun(*ON_SLURM, "-w", 2, *SMALL, *where, "--", "sh", "-c", says) as run:
        read_until(run.stdout, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
        left = json.loads(tfrun("status", the_run(), "--json").stdout)["tasks"][0]["node"]
        slurm.run("scontrol", "update", f"NodeName={left}", "State=DRAIN", "Reason=test")
        try:
            assert tfrun("checkpoint", the_run()).returncode == 0
            lines = read_until(run.stdout, "[worker:0] 1 of 2", "[worker:1] 1 of 2")
            assert numbers("from", lines) == numbers("wrote", lines)
            tasks = json.loads(tfrun("status", the_run(), "--json").stdout)["tasks"]
            assert left not in [task["node"] for task in tasks] and len(tasks) == 2
        finally:
            slurm.run("scontrol", "update", f"NodeName={left}", "State=RESUME")
        run.terminate()
        finish(run)
    slurm.wait_for_nodes()


def test_before_a_preemption_all_tasks_write_their_step_and_go_on_from_it(slurm, tmp_path):
    words = (*ON_SLURM, "-w", 2, *SMALL, "--restart-policy", "all", "--restarts", 0)
    with running_tfrun(*words, "--", "sh", "-c", COUNTS.format(tmp_path)) as run:
        read_until(run.stdout, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
        urgent = ("sbatch", "--parsable", "--partition=urgent", "--exclusive", "--nodes=3")
        job = slurm.run(*urgent, "--output=/dev/null", "--wrap", "exec sleep 600").stdout.strip()
        lines = read_until(run.stdout, "[worker:0] wrote", "[worker:1] wrote")
        wait_until("it has the nodes", lambda: f"{job} RUNNING" in slurm.jobs())
        slurm.run("scancel", job)
        wrote = numbers("wrote", lines)
        lines = read_until(run.stdout, "[worker:0] 1 of 2", "[worker:1] 1 of 2")
        assert numbers("from", lines) == wrote
        run.terminate()
        _, err = finish(run)
    assert "its Slurm job was preempted" in err


def test_a_rolling_update_keeps_each_task_on_its_node_in_the_same_job(slurm):
    says = "echo $WORD at {worker_hosts} in $SLURM_JOB_ID on $SLURMD_NODENAME; exec sleep 600"
    where = ("--constraint", "hostname:UNIQUE")
    with running_tfrun(*ON_SLURM, "-w", 2, *SMALL, *where, "--", "sh", "-c", says) as run:
        before = read_until(run.stdout, "[worker:0] at", "[worker:1] at")
        refused = tfrun("update", the_run(), "--rolling", "-Mw", 96)
        assert refused.returncode == 2 and "another Slurm job" in refused.stderr, refused.stderr
        done = tfrun("update", the_run(), "--rolling", "--env", "WORD=new")
        assert done.returncode == 0 and "2 tasks: complete" in done.stderr, done.stderr
        after = read_until(run.stdout, "[worker:0] new at", "[worker:1] new at")
        assert sorted(line.replace(" new ", " ") for line in after) == sorted(before)
        run.terminate()
        finish(run)
