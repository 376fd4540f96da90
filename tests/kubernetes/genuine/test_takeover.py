"""A run on Kubernetes whose launcher is gone, and another one that goes on with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from contextlib import contextmanager

import pytest

from tests.commands import environment, finish, read_until, running_tfrun, tfrun
from tfmesos.engines.kubernetes import objects

from .pods import SMALL, on_kubernetes

# Leaves word of its start, and writes line after line until the file go is there.
COUNT = (
    "echo x >> {0}/starts-{{task_index}}; i=0; until [ -e {0}/go ]; do i=$((i + 1)); echo line $i;"
    " sleep 0.01; done; echo done $i"
)


class Counting:
    """Two tasks that write, and where they are recorded."""

    def __init__(self, launcher, shared, recorded_runs):
        self.launcher = launcher
        self._shared = shared
        (self.path,) = (recorded_runs / "tfmesos" / "runs").iterdir()
        self.id = self.path.name

    def release(self):
        (self._shared / "go").touch()

    def starts(self):
        return [self._shared.joinpath(f"starts-{number}").read_text() for number in range(2)]

    def assert_no_line_is_lost(self, path=None):
        for number in range(2):
            text = ((path or self.path) / "output" / f"worker-{number}.log").read_text()
            *lines, last = [line.split(" ", 2)[2] for line in text.splitlines()]
            count = int(last.removeprefix("done "))
            assert lines == [f"line {number}" for number in range(1, count + 1)]


@pytest.fixture
def counting(kube, tmp_path, recorded_runs):
    shared = tmp_path / "shared"
    shared.mkdir()

    @contextmanager
    def start():
        command = on_kubernetes("-w", 2, *SMALL, "-V", f"{shared}:{shared}", "--survive", "5m")
        with running_tfrun(*command, "--", COUNT.format(shared)) as launcher:
            read_until(launcher.stdout, "[worker:0] line", "[worker:1] line")
            yield Counting(launcher, shared, recorded_runs)

    return start


def test_a_run_whose_launcher_was_killed_goes_on_and_no_task_is_started_again(counting):
    with counting() as run:
        run.launcher.kill()
        run.launcher.wait()
        with running_tfrun("adopt", run.id) as second:
            read_until(second.stdout, "[worker:0] line", "[worker:1] line")
            run.release()
            _, err = finish(second)
    assert second.returncode == 0, err
    assert run.starts() == ["x\n", "x\n"]
    run.assert_no_line_is_lost()
    assert not (run.path / "keys").exists()


def test_a_copy_of_a_run_directory_is_refused_while_its_launcher_lives_elsewhere(
    counting, tmp_path
):
    with counting() as run:
        copied = copied_to(tmp_path / "there", run)
        refused = tfrun("adopt", run.id, env={"XDG_STATE_HOME": str(tmp_path / "there")})
        holder = f"{socket.gethostname()} (pid {run.launcher.pid})"
        assert refused.returncode != 0
        assert f"{holder} holds it" in refused.stderr
        assert (copied / "keys").exists() and not (copied / "outcome.json").exists()
        run.release()
        _, err = finish(run.launcher)
    assert run.launcher.returncode == 0, err
    assert run.starts() == ["x\n", "x\n"]
    run.assert_no_line_is_lost()


def test_a_launcher_that_wakes_up_leaves_the_run_to_the_one_that_holds_it(kube, counting, tmp_path):
    """It was stopped for minutes, and the run was adopted on another machine."""
    with counting() as run:
        run.launcher.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, run.launcher.pid, os.WSTOPPED)
        copied = copied_to(tmp_path / "there", run)
        let_minutes_pass(kube)
        env = environment(XDG_STATE_HOME=str(tmp_path / "there"))
        with running_tfrun("adopt", run.id, env=env) as second:
            read_until(second.stdout, "[worker:0] line", "[worker:1] line")
            run.launcher.send_signal(signal.SIGCONT)
            _, err = finish(run.launcher)
            assert run.launcher.returncode == 75, err
            holder = json.loads((copied / "run.json").read_text())["launcher"]
            assert f"(pid {holder['pid']})" in err.splitlines()[-1], err
            run.release()
            _, err = finish(second)
    assert second.returncode == 0, err
    assert run.starts() == ["x\n", "x\n"]
    run.assert_no_line_is_lost(copied)


def let_minutes_pass(kube):
    """For the lease of the launcher, which does not renew it."""
    found = kube.admin.items(f"{kube.path}/configmaps?labelSelector=tfmesos/run")
    (name,) = [one["metadata"]["name"] for one in found]
    change = {"metadata": {"annotations": {objects.RENEWED: "2026-01-01T00:00:00Z"}}}
    kube.admin.patch(f"{kube.path}/configmaps/{name}", change)


def copied_to(state, run):
    """The record of a copied directory."""
    there = state / "tfmesos" / "runs"
    there.parent.mkdir(mode=0o700, parents=True)
    shutil.copytree(run.path.parent, there, ignore=lambda *_: ["control"])
    be_of_another_machine(there / run.id)
    return there / run.id


def be_of_another_machine(path):
    """No file tells any more whether its launcher lives: all are a minute old."""
    about = json.loads((path / "run.json").read_text())
    about["launcher"]["host"] = "elsewhere"
    (path / "run.json").write_text(json.dumps(about))
    at, wall, size = (path / "lock").read_text().split()
    (path / "lock").write_text(f"{at} {float(wall) - 60} {size}")
    for file in path.rglob("*"):
        os.utime(file, times=(float(wall) - 60,) * 2)
