"""The loop of the documentation goes on with a lost run, and ends when its owner stops the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager

import pytest

from tests.bounds import HANG
from tests.commands import environment, standing_mesos, tfrun
from tests.documents import ROOT
from tests.mesos.genuine.cluster import wait_until
from tests.ports import offered_ports


@pytest.fixture
def mesos():
    with standing_mesos(f"--resources=cpus:8;mem:8192;{offered_ports()}") as url:
        yield url.removeprefix("http://")


def documented_loop(mesos):
    page = (ROOT / "docs" / "runs.rst").read_text()
    loop = page.partition(".. loop begins")[2].partition(".. loop ends")[0].partition("::")[2]
    words = {
        "tfrun ": f"{sys.executable} -m tfmesos ",
        "mesos-master:5050": f"{mesos} -Cw 0.1",
        "python train.py": "sh train.sh",
        "sleep 5": "sleep 0.1",
    }
    for word, ours in words.items():
        assert word in loop
        loop = loop.replace(word, ours)
    return textwrap.dedent(loop)


@contextmanager
def looping(mesos, directory):
    (directory / "train.sh").write_text("echo up; exec sleep 600\n")
    command = ["sh", "-c", documented_loop(mesos)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=directory, env=environment(), **pipes) as shell:
        try:
            yield shell
        finally:
            shell.kill()


def test_the_loop_goes_on_after_a_kill_and_ends_when_the_run_is_stopped(
    mesos, tmp_path, recorded_runs
):
    root = recorded_runs / "tfmesos" / "runs"

    def about():
        return [json.loads(path.read_text()) for path in root.glob("*/run.json")]

    def are_up():
        logs = list(root.glob("*/output/worker-*.log"))
        return len(logs) == 4 and all("up" in log.read_text() for log in logs)

    with looping(mesos, tmp_path) as shell:
        wait_until("all tasks are up", are_up)
        os.kill(about()[0]["launcher"]["pid"], signal.SIGKILL)
        wait_until("another launcher has the run", lambda: about()[0].get("launchers") == 2)
        (run,) = root.iterdir()
        wait_until("it can be stopped", lambda: tfrun("stop", run.name).returncode == 0)
        shell.wait(HANG)
    assert [path.name for path in root.iterdir()] == [run.name]
