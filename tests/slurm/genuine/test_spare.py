"""The job of the next generation is in the queue before that of the last one has ended."""

from __future__ import annotations

import json
import re
import signal

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .test_restarts import the_run
from .test_runs import ON_SLURM
from .test_takeover import kill, the_lost_run

# A task takes no notice before it may leave, and ends well in the second generation.
SCRIPT = """
echo up in $SLURM_JOB_ID
trap "echo told; until [ -e {go} ]; do sleep 0.05; done; echo leaving; exit 0" TERM
[ $TFMESOS_GENERATION = 0 ] || exit 0
while :; do sleep 0.05; done
"""


NOTICE_AT = 8  # seconds after a job has begun


class Run:
    """Two tasks in a job whose time limit nears some seconds after it has begun.

    By then they run, also on a busy machine. Slurm counts limits in minutes.
    """

    def __init__(self, directory):
        self._directory = directory
        self._go = directory / "go"

    def start(self, *more, minutes=3):
        job = self._directory / "job.json"
        jobs = {"worker": {"num": 2, "cpus": 2, "mem": 256}}
        job.write_text(json.dumps({"checkpoint_before": 60 * minutes - NOTICE_AT, "jobs": jobs}))
        limit = f"--slurm-option=--time={minutes}"
        words = (limit, "--restart-policy", "all", "--restarts", 0, *more)
        script = SCRIPT.replace("{go}", str(self._go))
        return running_tfrun(job, *ON_SLURM, *words, "--", "sh", "-c", script)

    def let_leave(self):
        self._go.touch()


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def jobs(slurm):
    """The numbers of all jobs that wait or run, in their order."""
    return sorted({int(line.split("+")[0].split()[0]) for line in slurm.jobs()})


def two_jobs(slurm):
    """The spare job has run for so long that its own time limit is too near for a notice."""
    wait_until("a spare job is there", lambda: len(jobs(slurm)) == 2)
    first, second = jobs(slurm)
    wait_until("it has run for some time", lambda: seconds_of(slurm, second) > NOTICE_AT)
    return first, second


def seconds_of(slurm, job):
    minutes, seconds = slurm.output("squeue", "-h", f"--jobs={job}", "-o", "%M").split(":")
    return 60 * int(minutes) + int(seconds)


def times(slurm, job):
    """What Slurm itself says of a job, in seconds."""
    shown = slurm.run("scontrol", "--oneliner", "show", "job", str(job)).stdout
    fields = dict(word.split("=", 1) for word in shown.split() if "=" in word)
    return fields["SubmitTime"], fields["StartTime"], fields["EndTime"]


def has_steps(slurm, job):
    steps = slurm.output("squeue", "-h", "-s", "-j", str(job), "-o", "%i")
    return bool(re.search(rf"{job}\.\d", steps))


def is_waiting(slurm):
    """Does the script of a job wait for word?"""
    return "sleep 2" in slurm.processes()


def read_told(launched):
    return read_until(launched.stdout, "[worker:0] told", "[worker:1] told")


def test_the_next_job_is_submitted_before_the_last_one_has_ended(slurm, run):
    with run.start() as launched:
        read_told(launched)
        first, second = two_jobs(slurm)
        assert f"{first} RUNNING" in slurm.jobs()
        run.let_leave()
        out, err = finish(launched)
    assert launched.returncode == 0, err
    assert re.findall(r"up in (\d+)", out) == [str(second)] * 2
    assert times(slurm, second)[0] <= times(slurm, first)[2]
    assert f"Slurm job {second} is queued for the next generation" in err


def test_nothing_starts_in_the_next_job_while_a_task_of_the_last_one_runs(slurm, run):
    with run.start() as launched:
        read_told(launched)
        _, second = two_jobs(slurm)
        wait_until("it runs", lambda: has_steps(slurm, second) or is_waiting(slurm))
        assert not has_steps(slurm, second)
        run.let_leave()
        out, err = finish(launched)
    assert launched.returncode == 0, err
    order = re.findall(rf"leaving|up in {second}", out)
    assert order == ["leaving"] * 2 + [f"up in {second}"] * 2


def test_a_job_that_others_submit_meanwhile_does_not_come_before_the_next_one(slurm, run):
    """They want all nodes, and would have had them if the next job had come after theirs."""
    with run.start("--constraint", "hostname:LIKE:n1|n2") as launched:
        read_told(launched)
        _, second = two_jobs(slurm)
        words = ("sbatch", "--parsable", "--exclusive", "--nodes=3", "--output=/dev/null")
        other = slurm.run(*words, "--wrap", "true").stdout.strip()
        run.let_leave()
        _, err = finish(launched)
    assert launched.returncode == 0, err
    wait_until("the other one has ended", lambda: not slurm.jobs())
    assert times(slurm, second)[0] <= times(slurm, other)[0]
    assert times(slurm, second)[1] <= times(slurm, other)[1]
    assert times(slurm, second)[2] <= times(slurm, other)[1]


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_no_spare_job(slurm, run, number, code):
    """That nothing is left is what the fixture sees to."""
    with run.start() as launched:
        read_told(launched)
        two_jobs(slurm)
        launched.send_signal(number)
        run.let_leave()
        _, err = finish(launched)
    assert launched.returncode == code, err
    slurm.wait_until_idle()


def test_an_update_cancels_the_spare_job_if_it_wants_other_tasks(slurm, run):
    with run.start() as launched:
        read_told(launched)
        first, second = two_jobs(slurm)
        with running_tfrun("update", the_run(), "-w", 1) as update:
            read_until(launched.stderr, "worker: 2 -> 1")
            run.let_leave()
            finish(update)
        out, err = finish(launched)
    assert launched.returncode == 0, err
    (third,) = re.findall(r"up in (\d+)", out)
    assert int(third) not in (first, second)
    assert "CANCELLED" in slurm.output("squeue", "-h", "-t", "all", "-j", str(second), "-o", "%T")


def test_another_launcher_goes_on_in_the_spare_job(slurm, run, recorded_runs):
    with run.start() as launched:
        read_told(launched)
        _, second = two_jobs(slurm)
        kill(launched)
    run.let_leave()
    with running_tfrun("adopt", the_lost_run()) as adopter:
        _, err = finish(adopter)
    assert adopter.returncode == 0, err
    log = tfrun("logs", the_lost_run()).stdout
    assert len(re.findall(rf"up in {second}", log)) == 2, log
    assert len(set(re.findall(r"up in (\d+)", log))) == 2, log


def test_a_spare_job_whose_launcher_is_killed_ends_by_itself(slurm, run):
    """It would wait for the notice and a minute, but the limit of its job ends it sooner."""
    with run.start("--survive", 0, "--no-record", minutes=1) as launched:
        read_told(launched)
        two_jobs(slurm)
        kill(launched)
    run.let_leave()
    slurm.wait_until_idle()
