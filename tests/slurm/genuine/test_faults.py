"""What befalls a genuine Slurm, and how a run comes through it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import pytest

from tests.bounds import HANG
from tests.commands import environment, finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .test_runs import ON_SLURM, SMALL, blocked


class Tasks:
    """The tasks of a run: each says that it is up, waits for the word, and says that it is done."""

    def __init__(self, directory):
        self._go = directory / "go"
        self.script = f"echo up; until [ -e {self._go} ]; do sleep 0.05; done; echo done"

    def release(self):
        self._go.touch()


@pytest.fixture
def tasks(tmp_path):
    return Tasks(tmp_path)


def run_of_two(tasks, *more):
    return running_tfrun(*ON_SLURM, "-w", 2, *SMALL, *more, "--", "sh", "-c", tasks.script)


def read_up(run):
    read_until(run.stdout, "[worker:0] up", "[worker:1] up")


def assert_success(run):
    out, err = finish(run)
    assert run.returncode == 0, err
    assert out.count("done") == 2


def the_job(slurm):
    """That which runs; one before it may still be completing."""
    (job,) = [job for job, state in map(str.split, slurm.jobs()) if state == "RUNNING"]
    return job


# The daemons


def test_a_run_goes_on_while_the_controller_is_killed_and_started_again(slurm, tasks):
    with run_of_two(tasks) as run:
        read_up(run)
        wait_until("Slurm has saved it", lambda: slurm.run("scontrol", "ping").returncode == 0)
        slurm.kill("slurmctld", signal.SIGTERM)
        slurm.start_slurmctld()
        tasks.release()
        assert_success(run)


def test_a_run_ends_well_although_the_controller_is_gone_and_names_the_job(slurm, tasks):
    with run_of_two(tasks) as run:
        read_up(run)
        job = the_job(slurm)
        slurm.kill("slurmctld", signal.SIGTERM)
        tasks.release()
        out, err = finish(run)
    slurm.start_slurmctld()
    assert run.returncode == 0 and out.count("done") == 2, err
    assert f"job {job} may still be there (scancel {job})" in err
    slurm.run("scancel", job)


def test_a_controller_that_comes_late_is_waited_for(slurm):
    slurm.kill("slurmctld", signal.SIGTERM)
    patient = (*ON_SLURM, "-w", 1, *SMALL, "--start-timeout", HANG)
    with running_tfrun(*patient, "--", "echo done") as run:
        read_until(run.stderr, "no answer from Slurm yet")
        slurm.start_slurmctld()
        out, err = finish(run)
    assert (run.returncode, out) == (0, "[worker:0] done\n"), err


def test_without_a_controller_a_run_ends_in_one_line(slurm):
    slurm.kill("slurmctld", signal.SIGTERM)
    try:
        done = tfrun(*ON_SLURM, "--start-timeout", 1, "-w", 1, "--", "true")
    finally:
        slurm.start_slurmctld()
    assert done.returncode == 69, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tfrun: Slurm does not answer: ") and "Traceback" not in done.stderr


def test_without_munge_a_run_ends_in_one_line_that_names_it(slurm):
    slurm.kill("munged", signal.SIGTERM)
    try:
        done = tfrun(*ON_SLURM, "--start-timeout", 1, "-w", 1, "--", "true")
    finally:
        slurm.start_munged()
    assert done.returncode == 69, done.stderr
    assert "munge" in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_a_job_that_waits_is_not_given_up_while_munge_is_away(slurm):
    with blocked(slurm), running_tfrun(*ON_SLURM, "-w", 1, *SMALL, "--", "echo done") as run:
        read_until(run.stderr, "is number 1 in its partition")
        waiting = slurm.jobs()
        slurm.kill("munged", signal.SIGTERM)
        read_until(run.stderr, "munge refuses")
        slurm.start_munged()
        assert slurm.jobs() == waiting
        slurm.run("scancel", "--user=nobody")
        out, err = finish(run)
    assert (run.returncode, out) == (0, "[worker:0] done\n"), err


def test_a_run_ends_well_although_munge_is_gone_and_names_the_job(slurm, tasks):
    with run_of_two(tasks) as run:
        read_up(run)
        job = the_job(slurm)
        slurm.kill("munged", signal.SIGTERM)
        tasks.release()
        out, err = finish(run)
    slurm.start_munged()
    assert run.returncode == 0 and out.count("done") == 2, err
    assert f"job {job} may still be there (scancel {job})" in err
    slurm.run("scancel", job)


# The job


def test_a_job_that_somebody_cancels_ends_the_run_with_these_words(slurm, tasks):
    with run_of_two(tasks, "--restarts", 2) as run:
        read_up(run)
        slurm.run("scancel", the_job(slurm))
        _, err = finish(run)
    assert run.returncode == 143, err
    assert re.search(r"worker:\d was ended by its node: its Slurm job was cancelled", err), err


def test_a_waiting_job_that_somebody_cancels_is_not_submitted_again(slurm):
    with blocked(slurm), running_tfrun(*ON_SLURM, "-w", 2, *SMALL, "--", "true") as run:
        read_until(run.stderr, "is number 1 in its partition")
        (job,) = [line.split()[0] for line in slurm.jobs() if line.endswith("PENDING")]
        slurm.run("scancel", job)
        _, err = finish(run)
        assert len(slurm.jobs()) == 1, err
    assert run.returncode == 143, err
    assert "was not started: its Slurm job was cancelled" in err.splitlines()[-1], err


def test_a_preempted_job_is_followed_by_another(slurm, tasks, tmp_path):
    """The one that preempts it has all nodes for a moment."""
    with run_of_two(tasks, "--restart-policy", "all", "--restarts", 2) as run:
        read_up(run)
        urgent = ("sbatch", "--parsable", "--partition=urgent", "--exclusive", "--nodes=3")
        job = slurm.run(*urgent, "--output=/dev/null", "--wrap", "exec sleep 600").stdout.strip()
        read_until(run.stderr, "its Slurm job was preempted")
        wait_until("it has the nodes", lambda: f"{job} RUNNING" in slurm.jobs())
        slurm.run("scancel", job)
        read_up(run)
        tasks.release()
        assert_success(run)


IMPATIENT = (
    "import sys, tfmesos.shared.link_timeouts\n"
    "tfmesos.shared.link_timeouts.RECONNECT_TIMEOUT = 1.0\n"
    "from tfmesos.tfrun import main\n"
    "sys.exit(main())"
)


@pytest.mark.parametrize("survive", [0, 2])
def test_a_launcher_that_is_killed_leaves_no_task_and_no_job(slurm, tasks, survive):
    """That nothing is left is what the fixture sees to; the runners end when nobody answers."""
    words = [*ON_SLURM, "-w", "2", *map(str, SMALL), "--survive", str(survive)]
    command = [sys.executable, "-c", IMPATIENT, *words, "--", "sh", "-c", tasks.script]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment(), **pipes) as run:
        read_up(run)
        run.kill()
    slurm.wait_until_idle()


def test_a_task_that_fails_is_started_again_in_the_same_job(slurm, tmp_path):
    first = tmp_path / "first"
    script = f"[ {{task_index}} = 0 ] || [ -e {first} ] || {{ touch {first}; exit 3; }}; echo done"
    words = ("-w", 2, *SMALL, "--restart-policy", "task", "--restarts", 1)
    words = (*words, "--retry-codes", 3)
    done = tfrun(*ON_SLURM, *words, "--", "sh", "-c", f"echo job $SLURM_JOB_ID; {script}")
    assert done.returncode == 0, done.stderr
    assert len(set(re.findall(r"job (\d+)", done.stdout))) == 1
    assert done.stdout.count("job ") == 3 and "worker:1 is back on n" in done.stderr


# Who sees the secrets


def test_another_user_sees_no_secret_of_a_run(slurm, tasks):
    other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with run_of_two(tasks) as run:
        read_up(run)
        job = the_job(slurm)
        script = slurm.output("scontrol", "write", "batch_script", job, "-")
        secrets = set(re.findall(r"(?m)^\d+ ([0-9a-f]{64}) ", script))
        assert len(secrets) == 2
        looks = [
            ("scontrol", "show", "job", "-dd", job),
            ("scontrol", "write", "batch_script", job, "-"),
            ("squeue", "--all", "--Format=All"),
            ("ps", "axeww"),
            ("grep", "-rs", "TFMESOS_TABLE", str(slurm.home)),
        ]
        for look in looks:
            seen = slurm.run(*other, *look, cwd="/")
            text = seen.stdout + seen.stderr
            assert not [secret for secret in secrets if secret in text], look
        tasks.release()
        assert_success(run)
