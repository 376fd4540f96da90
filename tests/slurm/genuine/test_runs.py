"""tfrun on a genuine Slurm, from the outside: the same promises as on each other engine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter

import pytest

from tests.commands import environment, finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

ON_SLURM = ("-m", "slurm://")
SMALL = ("-Mw", 256, "-Ms", 256)


def tagged(text, tag):
    """What was printed after *tag*, per task."""
    return dict(re.findall(rf"(?m)^\[(\S+)\] {tag} ?(.*)$", text))


def test_the_tasks_know_each_other_and_share_the_nodes(slurm):
    script = "echo at $SLURMD_NODENAME; echo hosts {ps_hosts} {worker_hosts}"
    done = tfrun(*ON_SLURM, "-w", 6, "-s", 2, *SMALL, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    where = tagged(done.stdout, "at")
    assert sorted(where) == ["ps:0", "ps:1", *(f"worker:{i}" for i in range(6))]
    assert set(Counter(where.values()).values()) <= {1, 2, 3, 4}
    (hosts,) = set(tagged(done.stdout, "hosts").values())
    assert len(set(re.findall(r"127\.0\.0\.1:\d+", hosts))) == 8


def test_a_worker_with_a_gpu_of_its_own_trains_beside_a_ps_without(slurm):
    words = ("-w", 2, "-Gw", 1, "--gpu-resource", "gpu:a100", "-s", 1, *SMALL)
    done = tfrun(*ON_SLURM, *words, "--", "echo gpu $CUDA_VISIBLE_DEVICES on $SLURMD_NODENAME")
    assert done.returncode == 0, done.stderr
    seen = tagged(done.stdout, "gpu")
    assert seen["ps:0"].startswith("on n")
    assert len({seen["worker:0"], seen["worker:1"]}) == 2
    assert all(re.fullmatch("[01] on n[123]", seen[f"worker:{i}"]) for i in (0, 1))


def test_a_task_runs_where_tfrun_was_started_with_its_environment_and_python(slurm, tmp_path):
    code = "import os, sys; print('found', os.getcwd(), sys.prefix, os.environ['MINE'])"
    words = (*ON_SLURM, "-w", 1, *SMALL, "--", sys.executable, "-c", code)
    done = tfrun(*words, cwd=tmp_path, env={"MINE": "1"})
    assert tagged(done.stdout, "found") == {"worker:0": f"{tmp_path} {sys.prefix} 1"}, done.stderr


@pytest.mark.parametrize(
    "script, code, reason",
    [
        ("exit $((3 * {task_index}))", 3, "worker:1 exited with 3 on n"),
        ("[ {task_index} = 0 ] || kill -9 $$", 137, "worker:1 was killed by SIGKILL"),
    ],
)
def test_the_exit_code_is_that_of_the_task_that_failed(slurm, script, code, reason):
    done = tfrun(*ON_SLURM, "-w", 2, *SMALL, "--", "sh", "-c", f"echo so long; {script}")
    assert done.returncode == code, done.stderr
    assert f"tfrun: {reason}" in done.stderr and "    so long\n" in done.stderr


def test_a_node_without_the_interpreter_is_reported_with_the_words_of_its_shell(slurm):
    done = tfrun(*ON_SLURM, "-w", 1, *SMALL, "--python", "/no/such/python", "--", "true")
    assert done.returncode == 127, done.stderr
    assert "restart 3 of 3" in done.stderr
    assert re.search(r"(?m)^    .*/no/such/python: not found$", done.stderr)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_no_task_and_no_job(slurm, number, code):
    """That nothing is left is what the fixture sees to."""
    script = 'trap "echo cleaning; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    with running_tfrun(*ON_SLURM, "-w", 2, "-s", 1, *SMALL, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up", "[ps:0] up")
        run.send_signal(number)
        out, err = finish(run)
    assert run.returncode == code, err
    assert sorted(tagged(out, "cleaning")) == ["ps:0", "worker:0", "worker:1"]


def test_a_run_that_is_interrupted_while_its_job_waits_leaves_no_job(slurm):
    with blocked(slurm):
        with running_tfrun(*ON_SLURM, "-w", 1, *SMALL, "--", "true") as run:
            read_until(run.stderr, "Slurm job")
            run.send_signal(signal.SIGINT)
            _, err = finish(run)
        assert run.returncode == 130, err
        assert len(slurm.jobs()) == 1


@pytest.mark.parametrize("sbatch_answers", [True, False])
def test_a_run_that_is_interrupted_while_its_job_is_submitted_cancels_it(
    slurm, tmp_path, monkeypatch, sbatch_answers
):
    """It does not end by itself only because its tasks find no launcher."""
    taken, go = tmp_path / "taken", tmp_path / "go"
    slow = tmp_path / "sbatch"
    slow.write_text(
        f'#!/bin/sh\n{shutil.which("sbatch")} "$@" | tee {taken}\n'
        f"until [ -e {go} ]; do sleep 0.05; done\n"
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with running_tfrun(*ON_SLURM, "-w", 2, *SMALL, "--", "exec sleep 600") as run:
        wait_until("Slurm has the job", lambda: taken.exists() and taken.read_text())
        run.send_signal(signal.SIGINT)
        if sbatch_answers:
            go.touch()
        _, err = finish(run)
    assert run.returncode == 130, err
    look = ("squeue", "--noheader", "--states=all", f"--jobs={taken.read_text()}", "--format=%T")
    wait_until("the job is cancelled", lambda: slurm.output(*look) == "CANCELLED")


class blocked:
    """A job of another user has all nodes."""

    def __init__(self, slurm):
        self._slurm = slurm

    def __enter__(self):
        words = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        job = ("sbatch", "--parsable", "--exclusive", "--nodes=3", "--output=/dev/null")
        done = self._slurm.run(*words, *job, "--chdir=/", "--wrap", "exec sleep 600")
        self._job = done.stdout.strip()
        wait_until("it runs", lambda: f"{self._job} RUNNING" in self._slurm.jobs())

    def __exit__(self, *_):
        self._slurm.run("scancel", self._job)


def test_while_others_have_the_nodes_the_reason_and_the_place_are_on_the_screen(slurm):
    with blocked(slurm), running_tfrun(*ON_SLURM, "-w", 1, *SMALL, "--", "echo done") as run:
        read_until(run.stderr, "is number 1 in its partition")
        slurm.run("scancel", "--user=nobody")
        out, err = finish(run)
    assert run.returncode == 0 and out == "[worker:0] done\n", err


def test_runs_that_do_not_fit_together_come_one_after_the_other(slurm):
    command = (*ON_SLURM, "-w", 8, *SMALL, "--", "true")
    with running_tfrun(*command) as first, running_tfrun(*command) as second:
        ends = [finish(run) for run in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], ends


def test_a_cluster_from_python_runs_on_slurm(slurm):
    program = (
        "from tfmesos import Job, cluster\n"
        "jobs = [Job('worker', 2, mem=256, cmd='echo $SLURMD_NODENAME')]\n"
        "with cluster(jobs, master='slurm://') as c: c.wait()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2, done.stderr
