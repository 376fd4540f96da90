"""Tasks that are started again on a genuine Slurm: where, and in which job."""

from __future__ import annotations

import json
import re
import signal

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .test_faults import assert_success, read_up, run_of_two, the_job
from .test_faults import tasks as tasks
from .test_runs import ON_SLURM, SMALL

UP = r"up in (\d+) on (n\d)"
SCRIPT = "echo up in $SLURM_JOB_ID on $SLURMD_NODENAME; exec sleep 600"
ONE_PER_NODE = ("--constraint", "hostname:UNIQUE")


def the_run():
    (run,) = json.loads(tfrun("list", "--running", "--json").stdout)
    return run["id"]


def where(lines, name):
    """The job and the node of the task's last start among *lines*."""
    found = [re.search(UP, line) for line in lines if line.startswith(f"[{name}]")]
    return [(one[1], one[2]) for one in found if one][-1]


def test_restart_and_replace_start_a_step_in_the_same_job(slurm):
    words = (*ON_SLURM, "-w", 2, *SMALL, *ONE_PER_NODE)
    with running_tfrun(*words, "--", "sh", "-c", SCRIPT) as run:
        lines = read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        before, other = where(lines, "worker:0"), where(lines, "worker:1")
        assert tfrun("restart", the_run(), "worker:0").returncode == 0
        assert where(read_until(run.stdout, "[worker:0] up"), "worker:0") == before
        assert tfrun("replace", the_run(), "worker:0").returncode == 0
        job, node = where(read_until(run.stdout, "[worker:0] up"), "worker:0")
        assert job == before[0] == other[0] and node != before[1]
        run.send_signal(signal.SIGINT)
        _, err = finish(run)
    assert run.returncode == 130, err


def test_a_task_that_must_leave_the_only_node_of_its_job_gets_another_job(slurm):
    with running_tfrun(*ON_SLURM, "-w", 1, *SMALL, "--", "sh", "-c", SCRIPT) as run:
        job, node = where(read_until(run.stdout, "[worker:0] up"), "worker:0")
        assert tfrun("replace", the_run(), "worker:0").returncode == 0
        other, elsewhere = where(read_until(run.stdout, "[worker:0] up"), "worker:0")
        assert other != job and elsewhere != node
        wait_until("the first job is gone", lambda: slurm.jobs() == [f"{other} RUNNING"])
        run.send_signal(signal.SIGINT)
        finish(run)


def test_a_run_with_a_gpu_has_the_same_one_again(slurm):
    script = "echo gpu $CUDA_VISIBLE_DEVICES on $SLURMD_NODENAME.; exec sleep 600"
    with running_tfrun(*ON_SLURM, "-w", 2, "-Gw", 1, *SMALL, "--", script) as run:
        lines = read_until(run.stdout, "[worker:0] gpu", "[worker:1] gpu")
        (before,) = [line for line in lines if line.startswith("[worker:1] gpu")]
        assert tfrun("restart", the_run(), "worker:1").returncode == 0
        assert read_until(run.stdout, "[worker:1] gpu")[-1] == before
        run.send_signal(signal.SIGINT)
        finish(run)


def test_a_node_that_dies_is_followed_by_a_new_job_on_the_others(slurm, tasks):
    words = ("--restart-policy", "all", "--restarts", 2, *ONE_PER_NODE)
    try:
        with run_of_two(tasks, *words) as run:
            read_up(run)
            job = the_job(slurm)
            slurm.kill_node("n2")
            read_until(run.stderr, "restarting all tasks")
            read_up(run)
            assert the_job(slurm) != job
            tasks.release()
            assert_success(run)
    finally:
        slurm.revive_node("n2")


def test_a_killed_slurmd_does_not_disturb_a_run(slurm, tasks):
    with run_of_two(tasks) as run:
        read_up(run)
        slurm.kill("n1")
        slurm.start_slurmd("n1")
        tasks.release()
        assert_success(run)
    slurm.wait_for_nodes()


def test_a_drained_node_keeps_its_tasks_and_takes_no_new_ones(slurm, tasks):
    slurm.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")
    try:
        done = tfrun(*ON_SLURM, "-w", 2, *SMALL, *ONE_PER_NODE, "--", "echo on $SLURMD_NODENAME")
        assert sorted(re.findall(r"on (n\d)", done.stdout)) == ["n2", "n3"], done.stderr
    finally:
        slurm.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    slurm.wait_for_nodes()


def test_before_the_time_limit_the_next_generation_begins_in_a_new_job(slurm, tmp_path):
    """Slurm counts limits in minutes, so the notice comes long before."""
    count = tmp_path / "count"
    script = f'trap "exit 0" TERM; echo up in $SLURM_JOB_ID; echo >> {count}; '
    script += f"until [ $(wc -l < {count}) = 2 ]; do sleep 0.1; done; sleep 0.5"
    words = ["--slurm-option=--time=3", "--restart-policy", "all", "--restarts", 0]
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"checkpoint_before": 168, "jobs": {"worker": {"num": 1}}}))
    done = tfrun(job, *ON_SLURM, *words, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert len(set(re.findall(r"up in (\d+)", done.stdout))) == 2
    assert re.search(r"reaches its time limit in 0:02:[45]\d; stopping all tasks", done.stderr)


def test_a_range_of_workers_starts_with_as_many_as_slurm_gives(slurm):
    """Twelve processors are there: of twenty workers at most, eleven are asked for next."""
    done = tfrun(*ON_SLURM, "-w", "2:20", *SMALL, "--", "echo up")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("up") == 11
