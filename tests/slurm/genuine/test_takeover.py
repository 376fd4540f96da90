"""A run on Slurm whose launcher is gone, and another one that goes on with it."""

from __future__ import annotations

import json

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until
from tests.sentences import names

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


def comments(slurm):
    return slurm.output("squeue", "--noheader", "--format=%k")


def test_the_comment_of_the_job_names_the_launcher_that_took_the_run_over(
    slurm, tasks, recorded_runs
):
    with run_of_two(tasks) as first:
        read_up(first)
        before = comments(slurm).strip()
        kill(first)
    with running_tfrun("adopt", the_lost_run()) as second:
        (about,) = (recorded_runs / "tfmesos" / "runs").glob("*/run.json")
        wait_until("it is named", lambda: comments(slurm).strip() != before)
        holder = json.loads(about.read_text())["launcher"]
        assert comments(slurm).startswith(f"{before} 2 {holder['host']} (pid {holder['pid']})")
        tasks.release()
        assert_success(second)


def test_a_launcher_leaves_a_job_alone_that_names_a_later_one(slurm, tasks, recorded_runs):
    """It was stopped for a while, and cannot reach the one that has the run now."""
    with run_of_two(tasks) as first:
        read_up(first)
        job, before = the_job(slurm), comments(slurm).strip()
        comment = f"{before} 2 login-2 (pid 8)"
        assert slurm.run("scontrol", "update", f"JobId={job}", f"Comment={comment}").returncode == 0
        assert tfrun("stop", the_run(), "--no-wait").returncode == 0
        _, err = finish(first)
        assert names(err, "another launcher holds the run now", "login-2 (pid 8)"), err
        assert the_job(slurm) == job
    slurm.run("scancel", job)
    slurm.wait_until_idle()


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
