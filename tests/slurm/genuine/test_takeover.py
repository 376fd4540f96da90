"""A run on Slurm whose launcher is gone, and another one that goes on with it."""

from __future__ import annotations

import json

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .test_faults import assert_success, read_up, run_of_two, the_job
from .test_faults import tasks as tasks
from .test_restarts import SCRIPT, the_run, where
from .test_runs import ON_SLURM, SMALL, blocked


def kill(launcher):
    launcher.kill()
    launcher.wait()


def the_lost_run():
    (run,) = json.loads(tfrun("list", "--json").stdout)
    return run["id"]


def test_a_job_that_waits_is_found_again_and_its_tasks_start(slurm, recorded_runs):
    with blocked(slurm):
        with running_tfrun(*ON_SLURM, "-w", 2, *SMALL, "--", "echo done") as first:
            read_until(first.stderr, "is number 1 in its partition")
            kill(first)
        waiting = slurm.jobs()
        with running_tfrun("adopt", the_lost_run()) as second:
            read_until(second.stderr, "attached to")
            assert slurm.jobs() == waiting
            slurm.run("scancel", "--user=nobody")
            assert_success(second)


def test_a_task_that_was_restarted_in_its_job_is_not_started_again(slurm, recorded_runs):
    with running_tfrun(*ON_SLURM, "-w", 1, *SMALL, "--", "sh", "-c", SCRIPT) as first:
        before = where(read_until(first.stdout, "[worker:0] up"), "worker:0")
        assert tfrun("restart", the_run(), "worker:0").returncode == 0
        assert where(read_until(first.stdout, "[worker:0] up"), "worker:0") == before
        kill(first)
    with running_tfrun("adopt", the_lost_run()) as second:
        read_until(second.stderr, "attached to")
        assert tfrun("stop", the_run()).returncode == 0
        out, err = finish(second)
    log = tfrun("logs", the_lost_run()).stdout
    assert log.count("up in") == 2, (log, out, err)


def comment_of(slurm, job):
    return slurm.output("squeue", "--noheader", f"--jobs={job}", "--format=%k").strip()


def test_the_comment_of_the_job_names_the_launcher_that_took_the_run_over(
    slurm, tasks, recorded_runs
):
    with run_of_two(tasks) as first:
        read_up(first)
        job = the_job(slurm)
        before = comment_of(slurm, job)
        kill(first)
    with running_tfrun("adopt", the_lost_run()) as second:
        (about,) = (recorded_runs / "tfmesos" / "runs").glob("*/run.json")
        wait_until("it is named", lambda: comment_of(slurm, job) != before)
        holder = json.loads(about.read_text())["launcher"]
        assert comment_of(slurm, job) == f"{before} 2 {holder['host']} (pid {holder['pid']})"
        tasks.release()
        assert_success(second)


def test_a_launcher_leaves_a_job_alone_that_names_a_later_one(slurm, tasks, recorded_runs):
    """It was stopped for a while, and cannot reach the one that has the run now."""
    with run_of_two(tasks) as first:
        read_up(first)
        job = the_job(slurm)
        comment = f"{comment_of(slurm, job)} 2 login-2 (pid 8)"
        try:
            slurm.run("scontrol", "update", f"JobId={job}", f"Comment={comment}")
            assert tfrun("stop", the_lost_run(), "--no-wait").returncode == 0
            _, err = finish(first)
            assert "another launcher" in err and "login-2 (pid 8)" in err.splitlines()[-1], err
            assert first.returncode == 75
            assert (the_job(slurm), comment_of(slurm, job)) == (job, comment)
            assert list(recorded_runs.glob("tfmesos/runs/*/keys"))  # may be those of the other one
        finally:
            slurm.run("scancel", job)


def test_a_run_of_which_only_the_keys_are_left_can_be_stopped(slurm, tasks, recorded_runs):
    with run_of_two(tasks) as first:
        read_up(first)
        job = the_job(slurm)
        kill(first)
    (events,) = (recorded_runs / "tfmesos" / "runs").glob("*/events.jsonl")
    events.write_text("nonsense\n")
    done = tfrun("stop", the_lost_run())
    assert done.returncode == 0, done.stderr
    wait_until("the job is gone", lambda: not any(job in line for line in slurm.jobs()))
