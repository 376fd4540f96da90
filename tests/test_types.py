"""What a type checker says of programs that use tfmesos, and what Python shows of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tfmesos
from tests.builders import servers, workers
from tfmesos import Job, Outcome, TaskFailed, TFMesosScheduler
from tfmesos.errors import SpecError

ROOT = Path(__file__).parent.parent
PROGRAM = """
from tfmesos import Job, Outcome, Settings, TFMesosScheduler, cluster

jobs = [{"name": "ps", "num": 1}, {"name": "worker", "num": 2}]
shared: Settings = {"master": "mesos:5050", "start_timeout": 60, "image": None}
with cluster(jobs, hang_timeout=3, volumes={"/a": "/b"}) as c:
    outcome: Outcome = c.wait()
    targets: dict[str, str] = c.targets
cluster(Job("worker", 1), wait=False, **shared)
TFMesosScheduler(jobs, "ml", "mesos:5050", quiet=True, extra_config={"initializer": "true"})

cluster(5)  # wrong
cluster("worker")  # wrong
cluster(jobs, hang_timeot=3)  # wrong
cluster(jobs, hang_timeout="3")  # wrong
cluster(jobs, False)  # wrong
TFMesosScheduler(5)  # wrong
TFMesosScheduler(jobs, quite=True)  # wrong
TFMesosScheduler(jobs, master=5)  # wrong
Job("worker", nun=1)  # wrong
"""


def test_a_type_checker_finds_wrong_jobs_and_settings(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    errors = (line for line in done.stdout.splitlines() if ": error: " in line)
    found = {int(line.removeprefix(f"{program}:").partition(":")[0]) for line in errors}
    lines = PROGRAM.splitlines()
    assert found == {number for number, line in enumerate(lines, 1) if "# wrong" in line}


def test_the_package_shows_its_interface_and_nothing_else():
    assert dir(tfmesos) == sorted(tfmesos.__all__)
    assert {"Job", "Outcome", "Settings", "TFMesosScheduler", "cluster"} <= set(dir(tfmesos))
    assert all(getattr(tfmesos, name) for name in dir(tfmesos))


def test_a_job_is_shown_as_one_would_write_it():
    job = Job("worker", 2, gpus=1, cmd="python train.py", constraints=["hostname:UNIQUE"])
    assert repr(job) == (
        "Job('worker', 2, gpus=1, cmd='python train.py', constraints=('hostname:UNIQUE',))"
    )
    assert eval(repr(job)) == job
    assert repr(Job("ps", 1)) == "Job('ps', 1)"


def test_an_outcome_says_how_it_ended():
    assert repr(Outcome()) == "<Outcome: succeeded (exit code 0)>"
    failed = Outcome(error=TaskFailed("worker:1", "exited with 3", 3))
    assert repr(failed) == "<Outcome: failed: worker:1 exited with 3 (exit code 3)>"


def test_a_cluster_shows_its_jobs_where_it_runs_and_how_far_it_is():
    jobs = [servers(1), workers(2, cmd="sleep 60")]
    scheduler = TFMesosScheduler(jobs, quiet=True, master="local")
    assert repr(scheduler) == "<TFMesosScheduler: 1 ps, 2 worker on local, not started>"
    scheduler.start()
    assert repr(scheduler) == "<TFMesosScheduler: 1 ps, 2 worker on local, running>"
    scheduler.stop()
    assert repr(scheduler).endswith(" on local, ended with exit code 0>")


def test_a_cluster_does_not_show_the_password_of_its_zookeeper():
    scheduler = TFMesosScheduler(workers(1), master="zk://me:hush@zoo:2181/mesos")
    assert "zk://" in repr(scheduler) and "hush" not in repr(scheduler)


def test_settings_may_be_given_by_position_as_tfmesos_took_them():
    given = ("ml", "mesos:5050", "a name", True, {"/a": "/b"}, "docker", True)
    more = ({"/job:worker/task:0": ("h", 1)}, "grpc", {"X": "1"}, {"initializer": "true"})
    config = TFMesosScheduler(workers(1), *given, *more, image="me/train").config
    assert (config.role, config.master, config.name) == ("ml", "mesos:5050", "a name")
    assert (config.containerizer, config.force_pull_image) == ("DOCKER", True)
    assert (config.env, config.initializer) == ({"X": "1"}, "true")
    assert workers(1).tasks[0] not in config.logs  # it is quiet


@pytest.mark.parametrize("positional, named", [(("ml",), {"role": "x"}), (range(12), {})])
def test_settings_by_position_are_not_given_twice_nor_one_too_many(positional, named):
    with pytest.raises(TypeError, match=r"^TFMesosScheduler (got role|takes at most 11)"):
        TFMesosScheduler(workers(1), *positional, **named)


def test_a_misspelt_setting_is_named_with_the_nearest_right_one():
    with pytest.raises(SpecError, match=r"^hang_timeot is no setting .* mean hang_timeout\?$"):
        TFMesosScheduler(workers(1), hang_timeot=3)
