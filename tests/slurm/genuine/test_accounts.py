"""Accounts and limits of a site, as its slurmdbd keeps them."""

from __future__ import annotations

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .test_runs import ON_SLURM, SMALL


def option(value):
    return f"--slurm-option={value}"


def test_a_run_is_accounted_to_its_account(accounts):
    words = ("-w", 2, *SMALL, option("--account=ml"), "--name", "accounted")
    done = tfrun(*ON_SLURM, *words, "--", "true")
    assert done.returncode == 0, done.stderr
    listing = ("sacct", "--noheader", "--parsable2", "--allocations", "--name=accounted")

    def is_accounted():
        return accounts.output(*listing, "--format=Account,State") == "ml|COMPLETED"

    wait_until("slurmdbd has heard of its end", is_accounted)


@pytest.mark.parametrize(
    "value, words",
    [("--account=none", "account"), ("--qos=none", "qos"), ("--reservation=none", "reservation")],
)
def test_what_the_site_does_not_know_is_refused_in_one_line_that_names_it(accounts, value, words):
    done = tfrun(*ON_SLURM, "-w", 1, *SMALL, option(value), "--", "true")
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("tfrun: Slurm refuses the job: ") and words in line and value in line


def test_a_limit_of_running_jobs_is_waited_for_in_words(accounts):
    limited = ("--qos=single", "--parsable", "--ntasks=1", "--output=/dev/null")
    first = accounts.run("sbatch", *limited, "--wrap", "exec sleep 600").stdout.strip()
    wait_until("it runs", lambda: f"{first} RUNNING" in accounts.jobs())
    with running_tfrun(*ON_SLURM, "-w", 1, *SMALL, option("--qos=single"), "--", "echo up") as run:
        read_until(run.stderr, "(QOSMaxJobsPerUserLimit)")
        accounts.run("scancel", first)
        out, err = finish(run)
    assert (run.returncode, out) == (0, "[worker:0] up\n"), err


def test_more_than_a_qos_gives_to_a_job_can_never_run(accounts):
    done = tfrun(*ON_SLURM, "-w", 2, *SMALL, option("--qos=tiny"), "--", "true")
    assert done.returncode == 75, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "QOS" in line]
    assert "violates" in line and "--qos=tiny" in line


def test_a_range_of_workers_shrinks_to_what_a_qos_gives_to_a_job(accounts):
    done = tfrun(*ON_SLURM, "-w", "1:2", *SMALL, option("--qos=tiny"), "--", "echo up")
    assert (done.returncode, done.stdout) == (0, "[worker:0] up\n"), done.stderr


def test_a_job_that_somebody_cancels_ends_the_run_with_the_name_of_the_user(accounts):
    script = "echo up; exec sleep 600"
    with running_tfrun(*ON_SLURM, "-w", 1, *SMALL, "--name", "unloved", "--", script) as run:
        read_until(run.stdout, "[worker:0] up")
        accounts.run("scancel", "--name=unloved")
        _, err = finish(run)
    assert run.returncode == 143, err
    assert "its Slurm job was cancelled by root" in err, err
