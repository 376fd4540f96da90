"""What the tasks leave in their directories comes home into the record of the run."""

import os
import signal

import pytest

from tests.bounds import HANG
from tests.commands import environment, read_until, running_tfrun, tfrun, without_waits
from tests.sentences import begins, names
from tfmesos import cluster
from tfmesos.runs.run_directories import Store, runs_root


def brought():
    """What the last run has brought, by its name."""
    home = Store(runs_root(os.environ)).find(None).brought
    return {p.relative_to(home).as_posix(): p.read_text() for p in home.rglob("*") if p.is_file()}


def test_results_come_home_from_every_task_also_from_one_that_failed(tmp_path):
    script = "echo {task_index} > out-{task_index}; exit {task_index}"
    done = tfrun("-w", 2, "--bring", "out-{task_index}", "--", script, cwd=tmp_path)
    assert done.returncode == 1
    assert brought()["worker-1/out-1"] == "1\n"
    assert f"collected: {Store(runs_root(os.environ)).find(None).brought}" in tfrun("status").stdout


def test_a_first_ctrl_c_does_not_cut_files_on_their_way(tmp_path):
    script = (
        "trap 'head -c 50000000 /dev/zero > checkpoint; exit 0' TERM; echo up; sleep 600 & wait"
    )
    with running_tfrun("-w", 1, "--bring", "check*", "--", script, cwd=tmp_path) as run:
        read_until(run.stdout, "up")
        run.send_signal(signal.SIGINT)
        assert run.wait(HANG) == 130
    assert len(brought()["worker-0/checkpoint"]) == 50_000_000


def test_a_success_whose_results_did_not_come_home_is_none(tmp_path):
    script = "head -c 3000000 /dev/zero > model"
    flags = ("--bring", "model", "--bring-limit", "2")
    done = tfrun("-w", 1, *flags, "--", script, cwd=tmp_path)
    assert done.returncode == 74
    assert names(without_waits(done.stderr), "tfrun: not collected", "worker:0: model:", "limit")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--bring", "../x"), "--bring ... a glob ... the task, ... *.h5, "),
        (("--bring", "/x"), "--bring ... a glob ... the task, ... *.h5, "),
        (("--bring", "x", "--no-record"), "--bring ... the record"),
        (("--bring", "x", "--bring-limit", "0"), "--bring-limit must be above 0, got 0"),
    ],
)
def test_what_cannot_be_brought_is_refused(flags, words):
    done = tfrun("-w", 1, *flags, "--", "true")
    assert done.returncode == 2 and begins(done.stderr, f"tfrun: {words}"), done.stderr


def test_what_cannot_be_recorded_cannot_be_brought():
    done = tfrun("-w", 1, "--bring", "x", "--", "true", env={"XDG_STATE_HOME": "/proc"})
    assert done.returncode == 74
    assert "--bring" in done.stderr and "/proc/tfmesos: No such file" in done.stderr


def test_job_files_and_python_bring_as_well(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(
        "bring: [result]\njobs:\n  worker: {num: 1, cmd: echo file > result}\n"
    )
    done = tfrun("job.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert brought() == {"worker-0/result": "file\n"}
    for name in environment().keys() ^ os.environ.keys():
        monkeypatch.delenv(name)
    with cluster({"name": "worker", "num": 1, "cmd": "echo py > result"}, bring=["res*"]) as c:
        c.wait()
    assert brought() == {"worker-0/result": "py\n"}
