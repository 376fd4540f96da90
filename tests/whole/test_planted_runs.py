"""What another user has put among the runs is neither listed nor executed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import environment, tfrun, without_waits

STRANGER = 65534

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can act as another user in a test"
)


@pytest.fixture
def state(open_place):
    """The state directory of a user whose home others can reach."""
    open_place.mkdir(mode=0o755)
    return open_place


def run_with(umask, state):
    command = [sys.executable, "-m", "tfmesos", "-w", "1", "--", "echo", "hi"]
    env = environment(XDG_STATE_HOME=str(state / "state"))
    return subprocess.run(command, env=env, umask=umask, capture_output=True, text=True)


def plant(runs: Path, marker: Path):
    """As another user: a run whose command makes *marker*. The exit code tells whether it went."""
    words = ["-w", "1", "--", "touch", str(marker)]
    about = {"began": 9e9, "jobs": {"worker": 1}, "cwd": "/", "arguments": words}
    code = (
        "import os, sys; os.umask(0o022); os.makedirs(sys.argv[1]);"
        "open(sys.argv[1] + '/run.json', 'w').write(sys.argv[2])"
    )
    command = ["/usr/bin/python3", "-c", code, str(runs / "evil"), json.dumps(about)]
    return subprocess.run(command, user=STRANGER, capture_output=True, extra_groups=[]).returncode


@pytest.mark.parametrize("umask", [0o000, 0o002])
def test_nobody_else_can_put_a_run_there_whatever_the_umask(state, umask):
    assert run_with(umask, state).returncode == 0
    made = [path for path in (state / "state").rglob("*") if path.is_dir()]
    assert {oct(path.stat().st_mode & 0o777) for path in (state / "state", *made)} == {"0o700"}
    assert plant(state / "state" / "tfmesos" / "runs", state / "marker") != 0


@pytest.mark.parametrize("weak", ["state", "state/tfmesos", "state/tfmesos/runs"])
def test_runs_below_a_directory_that_others_write_into_are_neither_listed_nor_rerun(state, weak):
    run_with(0o022, state)
    runs, env = state / "state" / "tfmesos" / "runs", {"XDG_STATE_HOME": str(state / "state")}
    for path in (runs, *runs.parents[:2]):
        path.chmod(0o755)
    (state / weak).chmod(0o777)
    if weak.endswith("runs"):
        assert plant(runs, state / "marker") == 0
    for command in (["list"], ["rerun", "evil"], ["status"], ["ui", "--no-browser"]):
        done = tfrun(*command, env=env)
        assert (done.returncode, done.stdout) == (77, ""), command
        assert done.stderr.count("\n") == 1 and str(state / weak) in done.stderr
    assert not (state / "marker").exists()
    going_on = tfrun("-w", 1, "--", "echo", "hi", env=env)
    assert going_on.stdout == "[worker:0] hi\n"
    (said,) = without_waits(going_on.stderr).splitlines()
    assert "no command will find the record" in said and str(state / weak) in said
    assert "chmod +t" in said and "XDG_STATE_HOME" in said
    detached = tfrun("--detach", "-w", 1, "--", "sleep", 600, env=env)
    assert (detached.returncode, detached.stdout) == (74, "")
    assert "--detach" in detached.stderr and str(state / weak) in detached.stderr


@pytest.mark.parametrize("mode", [0o1777, 0o3775])
def test_on_a_volume_that_is_sticky_a_run_is_recorded_and_found(state, mode):
    """Others may write into that of a pod (emptyDir, fsGroup), and replace nothing of ours."""
    state.chmod(mode)
    env = {"XDG_STATE_HOME": str(state)}
    done = tfrun("-w", 1, "--", "echo", "hi", env=env)
    assert (done.returncode, without_waits(done.stderr)) == (0, "")
    assert "succeeded" in tfrun("status", env=env).stdout


def test_in_a_directory_that_users_share_a_planted_run_is_named_and_not_executed(state):
    run_with(0o022, state)
    runs, env = state / "state" / "tfmesos" / "runs", {"XDG_STATE_HOME": str(state / "state")}
    for path in runs.parents[:2]:
        path.chmod(0o755)
    runs.chmod(0o1777)
    assert plant(runs, state / "marker") == 0
    listed = tfrun("list", env=env)
    assert "evil" not in listed.stdout and len(listed.stdout.splitlines()) == 2
    assert listed.stderr.count("\n") == 1 and "evil" in listed.stderr and "nobody" in listed.stderr
    refused = tfrun("rerun", "evil", env=env)
    assert refused.returncode == 2 and "evil" in refused.stderr
    assert not (state / "marker").exists()
