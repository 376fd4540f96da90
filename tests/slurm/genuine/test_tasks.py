"""What tasks on Slurm find and leave, as on each other engine."""

from __future__ import annotations

import json
import os
import re
import sys

from tests.bounds import HANG
from tests.commands import read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until
from tfmesos.runs.run_directories import Store, runs_root

from .test_restarts import the_run
from .test_runs import ON_SLURM, SMALL, tagged

HUSH = "hush-41d5c0ffee"


def test_a_task_finds_its_tf_config(slurm):
    done = tfrun(*ON_SLURM, "-w", 2, "-s", 1, *SMALL, "--", "echo config $TF_CONFIG")
    configs = {name: json.loads(it) for name, it in tagged(done.stdout, "config").items()}
    assert sorted(configs) == ["ps:0", "worker:0", "worker:1"], done.stderr
    assert configs["worker:1"]["task"] == {"type": "worker", "index": 1}
    (cluster,) = [it["cluster"] for it in configs.values() if it["task"]["type"] == "ps"]
    assert all(it["cluster"] == cluster for it in configs.values())


def test_every_line_comes_in_its_order(slurm):
    code = "import sys\nfor i in range(20000): print('line', i)\nprint('last', file=sys.stderr)"
    done = tfrun(*ON_SLURM, "-w", 1, *SMALL, "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"(?m)^\[worker:0\] line (\d+)$", done.stdout)
    assert lines == [str(number) for number in range(20000)]
    assert "[worker:0] last\n" in done.stderr


def test_a_program_is_shipped_and_its_results_are_collected(slurm, recorded_runs, tmp_path):
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "train.sh").write_text("echo $1 > model-$1; exit $1")
    words = ("-w", 2, *SMALL, f"--ship={tmp_path}/program", "--bring", "model-*")
    done = tfrun(*ON_SLURM, *words, "--", "sh", "train.sh", "{task_index}")
    assert done.returncode == 1, done.stderr
    home = Store(runs_root(os.environ)).find(None).brought
    found = {one.relative_to(home).as_posix(): one.read_text() for one in home.rglob("model-*")}
    assert found["worker-1/model-1"] == "1\n"


def test_a_secret_reaches_its_task_and_nothing_that_slurm_keeps(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("HUSH", HUSH)
    words = ("-w", 1, *SMALL, "--secret-env", "KEY=env:HUSH")
    script = f"echo ${{#KEY}} letters; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    with running_tfrun(*ON_SLURM, *words, "--", "sh", "-c", script) as run:
        read_until(run.stdout, f"{len(HUSH)} letters")
        job = the_job_of(slurm)
        for look in (
            ("scontrol", "write", "batch_script", job, "-"),
            ("scontrol", "show", "job", "-dd", job),
            ("grep", "-rsa", HUSH, str(slurm.home)),
        ):
            assert HUSH not in slurm.output(*look), look
        (tmp_path / "go").touch()
        assert run.wait(HANG) == 0, run.stderr.read()


def the_job_of(slurm):
    (job,) = [line.split()[0] for line in slurm.jobs() if line.endswith("RUNNING")]
    return job


def test_a_run_is_left_and_found_again(slurm, recorded_runs, tmp_path):
    script = f"echo up; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo end"
    left = tfrun(*ON_SLURM, "-w", 1, *SMALL, "--detach", "--", script)
    assert left.returncode == 0, left.stderr
    (id_,) = re.findall(r"(?m)^(\S+)$", left.stdout)
    assert the_job_of(slurm)
    (tmp_path / "go").touch()
    attached = tfrun("logs", "--follow", id_)
    assert "[worker:0] up\n[worker:0] end\n" in attached.stdout, attached.stderr


def test_a_run_that_was_left_can_be_stopped(slurm, recorded_runs):
    left = tfrun(*ON_SLURM, "-w", 1, *SMALL, "--detach", "--", "exec sleep 600")
    assert left.returncode == 0, left.stderr
    stopped = tfrun("stop", left.stdout.split()[-1])
    assert stopped.returncode == 0, stopped.stderr
    slurm.wait_until_idle()


def test_a_chief_runs_right_here_and_the_other_worker_on_slurm(slurm):
    words = ("--local-chief", "-w", 2, *SMALL)
    done = tfrun(*ON_SLURM, *words, "--", "echo on ${SLURMD_NODENAME:-this host}.")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("on this host.") == 1
    assert len(re.findall(r"on n\d\.", done.stdout)) == 1


def test_a_hung_run_shows_where_its_code_stands(slurm, tmp_path):
    code = "import time\ndef wait_for_godot(): time.sleep(1000)\nwait_for_godot()\n"
    (tmp_path / "hangs.py").write_text(code)
    words = ("-w", 1, *SMALL, "--hang-timeout", 5)
    done = tfrun(*ON_SLURM, *words, "--", sys.executable, tmp_path / "hangs.py")
    assert done.returncode == 124, done.stderr
    assert re.search(r"hangs.py\", line 2 in wait_for_godot", done.stderr), done.stderr


def test_a_held_job_says_how_to_let_it_go(slurm):
    """Its partition is down at first, so that it is held before it starts."""
    slurm.run("scontrol", "update", "PartitionName=small", "State=DOWN")
    try:
        command = ("-m", "slurm://small", "-w", 1, *SMALL, "--", "echo up")
        with running_tfrun(*command) as run:
            read_until(run.stderr, "the partition is down (PartitionDown)")
            (job,) = [line.split()[0] for line in slurm.jobs()]
            slurm.run("scontrol", "uhold", job)
            slurm.run("scontrol", "update", "PartitionName=small", "State=UP")
            read_until(run.stderr, f"scontrol release {job} releases it (JobHeldUser)")
            slurm.run("scontrol", "release", job)
            assert run.wait(HANG) == 0
            assert run.stdout.read() == "[worker:0] up\n"
    finally:
        slurm.run("scontrol", "update", "PartitionName=small", "State=UP")


def test_the_status_names_the_node_of_each_task(slurm):
    with running_tfrun(*ON_SLURM, "-w", 2, *SMALL, "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        status = tfrun("status", the_run()).stdout
        assert len(re.findall(r"(?m)worker:\d .*\bn[123]\b", status)) == 2, status
        run.terminate()
        assert run.wait(HANG) == 143


def test_the_limit_of_a_run_ends_it_before_slurm_does(slurm):
    words = ("-w", 1, *SMALL, "--run-timeout", 3)
    done = tfrun(*ON_SLURM, *words, "--", "exec sleep 600")
    assert done.returncode == 124, done.stderr
    wait_until("its job has ended", slurm.is_idle)
