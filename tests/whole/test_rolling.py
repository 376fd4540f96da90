"""Runs whose tasks are changed one after the other."""

import json
import os
import signal
import sys

import pytest

from tests.commands import read_until, running_tfrun, standing_mesos, tfrun, wait_for_output
from tests.mesos.genuine.cluster import wait_until
from tests.ports import offered_ports
from tests.sentences import names
from tests.whole.test_records import detached as detached
from tests.whole.test_records import directory
from tests.whole.test_takeover import wait_until_gone
from tests.whole.test_updates import status
from tfmesos import Job, cluster
from tfmesos.errors import TFMesosError
from tfmesos.runs.replay import replay
from tfmesos.runs.run_files import RunDirectory

SAYS = "trap 'exit 0' TERM; echo $WORD at {worker_hosts}; sleep 600 & wait"
FAILS = "echo no; exit 3"


def told(run_id):
    """What each task has written, without the names of tasks."""
    return [line.partition("] ")[2] for line in tfrun("logs", run_id).stdout.splitlines()]


def times_begun(run_id):
    return tfrun("logs", run_id, "worker:0").stdout.count("begun\n")


def test_each_task_has_the_new_settings_and_its_old_address_in_the_same_generation(detached):
    assert tfrun("update", detached, "--", SAYS).returncode == 0
    wait_for_output(detached, "[worker:0] at", "[worker:1] at")
    shown = tfrun("update", detached, "--rolling", "--env", "WORD=hello", "--dry-run")
    assert shown.returncode == 0 and "worker.env: WORD" in shown.stderr
    done = tfrun("update", detached, "--rolling", "--env", "WORD=hello")
    assert done.returncode == 0 and "2 tasks: complete" in done.stderr, done.stderr
    wait_for_output(detached, "[worker:0] hello", "[worker:1] hello")
    addresses = {line.partition("at ")[2] for line in told(detached) if "at " in line}
    assert len(addresses) == 1
    found = status(detached)
    assert found["generation"] == 1 and found["generations"][1]["updates"][0]["problem"] == ""
    assert "complete" in tfrun("status", detached).stdout
    assert tfrun("stop", detached).returncode == 0
    assert len(list(replay(RunDirectory(directory(detached))))) > 0


def test_a_command_that_fails_is_given_up_and_what_has_been_updated_can_be_undone(detached):
    failed = tfrun("update", detached, "--rolling", "--", FAILS)
    assert failed.returncode == 1, failed.stderr
    assert "worker:0 failed twice (exited with 3)" in failed.stderr and "as before" in failed.stderr
    wait_until("it runs as before", lambda: times_begun(detached) == 2)
    begun = "[ {task_index} = 0 ] || exit 3; exec sleep 600"
    half = tfrun("update", detached, "--rolling", "--", begun)
    assert half.returncode == 1 and "worker:1 failed twice" in half.stderr, half.stderr
    assert "worker:0 has been updated" in half.stderr and "--back" in half.stderr
    assert status(detached)["phase"] == "running"
    back = tfrun("update", detached, "--back", "--rolling")
    assert back.returncode == 0 and "1 task: complete" in back.stderr, back.stderr
    wait_until("it runs as at first", lambda: times_begun(detached) == 3)
    assert tfrun("stop", detached).returncode == 0


def test_what_cannot_be_done_one_after_the_other_is_refused_in_one_line(detached):
    for words, said in (
        (("-w", 3), "worker: 2 -> 3 changes the cluster"),
        (("-s", 1), "ps: 0 -> 1 changes the cluster"),
        ((), "needs a change"),
        (("--back",), "no update to undo"),
    ):
        refused = tfrun("update", detached, "--rolling", *words)
        assert refused.returncode == 2 and said in refused.stderr, (words, refused.stderr)
        assert refused.stderr.count("\n") == 1
    assert status(detached)["generations"][0]["updates"] == []
    begun = tfrun("update", detached, "--rolling", "--no-wait", "-Mw", 2048)
    assert begun.returncode == 0, begun.stderr
    second = tfrun("update", detached, "-Mw", 4096)
    assert second.returncode == 2
    assert names(second.stderr, detached, "being updated", "task by task", "--back")
    assert tfrun("stop", detached).returncode == 0
    over = tfrun("update", detached, "--rolling", "-Mw", 3072)
    assert over.returncode == 69 and f"{detached} is over" in over.stderr


def test_a_program_has_the_tasks_of_its_cluster_updated_at_their_addresses():
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    with cluster([Job("worker", 1, cmd=command)], quiet=True) as c:
        old = dict(c.targets)
        assert c.update({"worker": {"mem": "2G"}}, rolling=True) == ("worker.mem: 1024 -> 2048",)
        assert c.targets == old
        with pytest.raises(TFMesosError, match="worker:0 failed twice"):
            c.update(cmd=[sys.executable, "-c", "raise SystemExit(3)"], rolling=True)
        with pytest.raises(TFMesosError, match="changes the cluster"):
            c.update({"worker": 2}, rolling=True)
        assert c.targets == old


@pytest.fixture(scope="module")
def mesos():
    with standing_mesos(f"--resources=cpus:8;mem:8192;{offered_ports()}") as url:
        yield url.removeprefix("http://")


def test_another_launcher_goes_on_with_it(mesos, recorded_runs):
    flags = ("-m", mesos, "-w", 3, "-Cw", 0.1, "-Mw", 64, "--survive", "2m")
    with running_tfrun(*flags, "--", "sh", "-c", SAYS) as launcher:
        read_until(launcher.stdout, *(f"[worker:{n}] at" for n in range(3)))
        (path,) = (recorded_runs / "tfmesos" / "runs").iterdir()
        asked = tfrun("update", path.name, "--rolling", "--no-wait", "--env", "WORD=new")
        assert asked.returncode == 0, asked.stderr
        read_until(launcher.stdout, "[worker:0] new at")
        launcher.kill()
        launcher.wait()
    assert tfrun("adopt", path.name, "--detach").returncode == 0
    wait_for_output(path.name, *(f"[worker:{n}] new at" for n in range(3)))
    pid = json.loads((path / "run.json").read_text())["launcher"]["pid"]
    assert len({line.partition("at ")[2] for line in told(path.name)}) == 1
    assert len(told(path.name)) == 6
    os.kill(pid, signal.SIGTERM)
    wait_until_gone(pid)
