"""Updates in the middle of which the launcher dies, and another one goes on with the run."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.commands import read_until, running_tfrun, standing_mesos, tfrun, wait_for_output
from tests.ports import offered_ports
from tests.sentences import names
from tests.whole.test_records import directory
from tests.whole.test_takeover import wait_until_gone
from tests.whole.test_updates import status

# Says when it is told to end, but does not end before the file is there.
ENDS_LATE = (
    "trap 'echo told; until [ -e {go} ]; do sleep 0.05; done; exit 0' TERM; "
    "echo $TFMESOS_GENERATION of $WORLD_SIZE $WORD; sleep 600 & wait"
)
SIZE = ("-Cw", 1, "-Mw", 64)


@pytest.fixture(scope="module")
def mesos():
    with standing_mesos(f"--resources=cpus:8;mem:8192;{offered_ports()}") as url:
        yield url.removeprefix("http://")


@pytest.fixture
def run_id(mesos, tmp_path):
    """A run of two tasks."""
    flags = ("--detach", "-m", mesos, "-w", 2, *SIZE, "--survive", "2m", "--stop-grace", "2m")
    begun = tfrun(*flags, "--", ENDS_LATE.format(go=tmp_path / "go"))
    assert begun.returncode == 0, begun.stderr
    found = begun.stdout.strip()
    wait_for_output(found, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
    yield found
    (tmp_path / "go").touch()
    tfrun("stop", found)


def kill_launcher(run_id):
    pid = json.loads((directory(run_id) / "run.json").read_text())["launcher"]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until_gone(pid)


def shapes(run_id):
    return [one["shape"]["worker"] for one in status(run_id)["generations"]]


def test_the_next_generation_begins_when_the_tasks_end_after_a_take_over(run_id, tmp_path):
    assert tfrun("update", run_id, "--no-wait", "-w", 3, "--env", "WORD=new").returncode == 0
    wait_for_output(run_id, "[worker:0] told", "[worker:1] told")
    kill_launcher(run_id)
    lost = tfrun("update", run_id, "-w", 4)
    assert lost.returncode == 69 and lost.stderr.count("\n") == 1
    assert names(lost.stderr, run_id, "lost", f"tfrun adopt {run_id}")
    assert tfrun("adopt", run_id, "--detach").returncode == 0
    again = tfrun("update", run_id, "-w", 4)
    assert again.returncode == 2 and "being updated" in again.stderr
    (tmp_path / "go").touch()
    wait_for_output(run_id, *(f"[worker:{n}] 1 of 3 new" for n in range(3)))
    assert shapes(run_id) == [2, 3]
    back = tfrun("update", run_id, "--back")
    assert back.returncode == 0 and "worker: 3 -> 2" in back.stderr, back.stderr


def test_the_next_generation_still_waits_for_its_places_after_a_take_over(mesos, run_id, tmp_path):
    (tmp_path / "go").touch()
    with running_tfrun("-m", mesos, "-w", 1, "-Cw", 5, "--", "echo up; sleep 600") as other:
        read_until(other.stdout, "[worker:0] up")
        assert tfrun("update", run_id, "--no-wait", "-w", 4).returncode == 0
        wait_for_output(run_id, "[worker:0] told", "[worker:1] told")
        kill_launcher(run_id)
        assert tfrun("adopt", run_id, "--detach").returncode == 0
        other.terminate()
        other.wait()
    wait_for_output(run_id, *(f"[worker:{n}] 1 of 4" for n in range(4)))
    assert shapes(run_id) == [2, 4]
