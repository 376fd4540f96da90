"""Runs that are left, found again and looked up afterwards."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.bounds import HANG
from tests.commands import lines, running_tfrun, tfrun, without_waits

UNTIL_STOPPED = ("sh", "-c", "echo begun; trap 'echo stopped; exit 0' TERM; sleep 600 & wait")


def directory(run_id):
    return Path(os.environ["XDG_STATE_HOME"], "tfmesos", "runs", run_id)


@pytest.fixture
def detached():
    """The id of a run in the background, which is ended with the test."""
    done = tfrun("--detach", "-w", 2, "--", *UNTIL_STOPPED)
    assert (done.returncode, without_waits(done.stderr)) == (0, "")
    run_id = done.stdout.strip()
    launcher = psutil.Process(
        json.loads((directory(run_id) / "run.json").read_text())["launcher"]["pid"]
    )
    yield run_id
    if launcher.is_running():
        launcher.terminate()
        launcher.wait(HANG)


def test_a_detached_run_goes_on_and_is_found_and_stopped_by_its_id(detached):
    assert detached.isalnum() and len(detached) == 4
    assert f"{detached}  running" in tfrun("list").stdout
    status = json.loads(tfrun("status", detached[:3], "--json").stdout)
    assert status["phase"] == "running"
    assert [task["state"] for task in status["tasks"]] == ["running"] * 2
    assert tfrun("stop", detached).returncode == 0
    waited = tfrun("wait", detached)
    assert (waited.returncode, waited.stderr) == (130, "stopped by its owner\n")
    output = tfrun("logs", detached, "worker:1")
    assert output.stdout == "begun\nstopped\n"


def test_logs_are_followed_until_the_run_ends(detached):
    with running_tfrun("logs", detached, "-f") as following:
        assert sorted(following.stdout.readline() for _ in range(2)) == [
            "[worker:0] begun\n",
            "[worker:1] begun\n",
        ]
        tfrun("stop", detached)
        rest, _ = following.communicate(timeout=HANG)
        assert sorted(rest.splitlines()) == ["[worker:0] stopped", "[worker:1] stopped"]


def test_a_task_of_a_run_is_started_again_when_its_owner_wants_it(detached):
    assert tfrun("restart", detached, "worker:1").returncode == 0
    with running_tfrun("logs", detached, "worker:1", "-f") as following:
        lines = [following.stdout.readline() for _ in range(3)]
    assert lines == ["begun\n", "stopped\n", "begun\n"]
    tasks = json.loads(tfrun("status", detached, "--json").stdout)["tasks"]
    assert [(task["name"], task["restarts"]) for task in tasks] == [
        ("worker:0", 0),
        ("worker:1", 1),
    ]
    wrong = tfrun("restart", detached, "worker:2")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        f"tfrun: run {detached} has no task 'worker:2': it has worker:0, worker:1\n",
    )


def test_ctrl_c_leaves_an_attached_run_alone(detached):
    with running_tfrun("attach", detached) as attached:
        assert "Ctrl-C leaves it running" in attached.stderr.readline()
        attached.send_signal(signal.SIGINT)
        _, said = attached.communicate(timeout=HANG)
    assert (attached.returncode, said) == (0, f"tfrun: detached: {detached} goes on\n")
    assert f"{detached}  running" in tfrun("list").stdout


def test_the_record_of_a_launcher_that_was_killed_can_be_read_and_says_lost(detached):
    with running_tfrun("logs", detached, "worker:0", "-f") as following:
        assert following.stdout.readline() == "begun\n"
    about = json.loads((directory(detached) / "run.json").read_text())
    launcher = psutil.Process(about["launcher"]["pid"])
    launcher.kill()
    launcher.wait(HANG)
    assert f"{detached}  lost" in tfrun("list").stdout
    assert tfrun("wait", detached).returncode == 69
    assert "begun" in tfrun("logs", detached, "worker:0").stdout
    assert tfrun("stop", detached).stderr == f"tfrun: run {detached} is over\n"


def test_a_detached_run_that_cannot_start_tells_why_and_fails():
    done = tfrun("--detach", "-w", 1, "-m", "127.0.0.1:1", "--start-timeout", 1, "--", "true")
    assert (done.returncode, done.stdout) == (69, "")
    assert "127.0.0.1:1" in done.stderr


def test_what_cannot_be_recorded_is_not_detached():
    done = tfrun("--detach", "-w", 1, "--", "sleep", "600", env={"XDG_STATE_HOME": "/proc"})
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr.endswith(
        "tfrun: a run in the background is found by its record, and has none\n"
    )


def test_a_second_stop_does_not_cut_the_first(tmp_path):
    saved = tmp_path / "checkpoint"
    script = f"trap 'sleep 3; echo saved > {saved}; exit 0' TERM; while :; do sleep 0.1; done"
    run_id = tfrun("--detach", "-w", 1, "--stop-grace", "2m", "--", script).stdout.strip()
    with running_tfrun("stop", run_id) as first:
        assert tfrun("stop", run_id).returncode == 0
        assert first.wait(HANG) == 0
    assert saved.read_text() == "saved\n"


@pytest.mark.parametrize("command", ["list", "status", "logs"])
def test_an_answer_that_cannot_be_written_is_no_success(command):
    tfrun("-w", 1, "--", "echo", "hi")
    with open("/dev/full", "w") as full, running_tfrun(command, stdout=full) as asked:
        assert asked.wait(HANG) == 74
        assert "No space left on device" in asked.stderr.read()


def test_a_slow_git_delays_nothing(tmp_path):
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "git").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = tfrun("-w", 1, "--", "echo", "hi", env=env)
    assert (done.returncode, without_waits(done.stderr)) == (0, "")
    assert tfrun("logs").stdout == "[worker:0] hi\n"


@pytest.mark.parametrize("flag", ["--local-chief", "--no-record"])
def test_what_cannot_be_detached_is_refused(flag):
    done = tfrun("--detach", flag, "-w", 1, "--", "true")
    assert (done.returncode, done.stderr) == (
        2,
        f"tfrun: {flag} cannot be combined with --detach\n",
    )


def test_a_run_in_the_foreground_is_recorded_with_its_output_and_its_end():
    assert tfrun("-w", 1, "--logs", "none", "--", "sh", "-c", "echo hi; exit 3").returncode == 3
    status = tfrun("status").stdout
    assert "failed (3)" in status and "worker:0 exited with 3" in status
    assert tfrun("logs").stdout == "[worker:0] hi\n"
    (run,) = directory(".").iterdir()
    replayed = subprocess.run(
        [sys.executable, "-m", "tfmesos.runs.replay", run], capture_output=True, text=True
    )
    assert "Finish(outcome=<Outcome: failed: worker:0 exited with 3" in replayed.stdout


def test_a_run_that_shall_leave_no_record_leaves_none():
    assert tfrun("-w", 1, "--no-record", "--", "true").returncode == 0
    assert not directory(".").exists()


def test_where_no_record_can_be_written_it_is_said_and_the_run_goes_on(tmp_path):
    (tmp_path / "tfmesos").write_text("in the way")
    done = tfrun("-w", 1, "--", "echo", "hi", env={"XDG_STATE_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "[worker:0] hi\n")
    assert done.stderr.startswith("tfrun: the run is not recorded: ")


def test_a_mistake_leaves_no_record():
    assert tfrun("-w", 1, "--constraint", "x", "--", "true").returncode == 2
    assert not directory(".").exists()


def test_a_control_socket_with_a_long_path_works_without_a_directory_elsewhere(tmp_path):
    state = tmp_path / ("long" * 40)
    env = {"XDG_STATE_HOME": str(state)}
    run_id = tfrun("--detach", "-w", 1, "--", *UNTIL_STOPPED, env=env).stdout.strip()
    assert len(os.listdir(os.environ["TMPDIR"])) == 1, "more than the embedded Mesos, which is held"
    assert tfrun("stop", run_id, env=env).returncode == 0
    assert tfrun("wait", run_id, env=env).returncode == 130


def test_a_run_is_started_again_in_its_directory_with_other_flags(tmp_path):
    line = (
        "-w",
        1,
        "--logs",
        "all",
        "--",
        "sh",
        "-c",
        "echo in $PWD as {task_index} of {n_workers}",
    )
    tfrun(*line, cwd=tmp_path)
    (first,) = directory(".").iterdir()
    done = tfrun("rerun", first.name[:3], "-w", 2)
    assert (done.returncode, without_waits(done.stderr)) == (0, "")
    assert lines(done.stdout) == [
        f"[worker:{n}] in {tmp_path} as {n} of {{n_workers}}" for n in (0, 1)
    ]
    (second,) = set(directory(".").iterdir()) - {first}
    third = tfrun("rerun", second.name, "--", "echo", "hi")
    assert lines(third.stdout) == ["[worker:0] hi", "[worker:1] hi"]


def test_a_run_whose_directory_is_gone_is_not_started_again(tmp_path):
    place = tmp_path / "gone"
    place.mkdir()
    tfrun("-w", 1, "--", "true", cwd=place)
    place.rmdir()
    (run,) = directory(".").iterdir()
    done = tfrun("rerun", run.name)
    assert (done.returncode, done.stderr) == (
        66,
        f"tfrun: the directory of run {run.name} is gone: {place}\n",
    )


@pytest.mark.parametrize("more", [(), ("--no-record", "--logs", "none")])
def test_the_output_of_each_task_is_also_written_where_its_owner_wants_it(tmp_path, more):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "worker-0.log").write_text("of yesterday\n")
    show = "printf '10%%\\r100%%\\n'; echo {task_index} >&2"
    done = tfrun("-w", 2, "--output-dir", "logs", *more, "--", "sh", "-c", show, cwd=tmp_path)
    assert done.returncode == 0
    found = {file.name: lines(file.read_text()) for file in (tmp_path / "logs").iterdir()}
    assert found == {f"worker-{n}.log": [f"{n}", "100%"] for n in (0, 1)}


def test_an_output_directory_that_cannot_be_is_refused_before_anything_starts():
    done = tfrun("-w", 1, "--output-dir", "/proc/no", "--", "echo", "hi")
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr == "tfrun: --output-dir /proc/no: No such file or directory\n"


def test_a_stop_can_be_told_how_long_the_tasks_may_take(tmp_path):
    saved = tmp_path / "checkpoint"
    script = f"trap 'sleep 7; echo saved > {saved}; exit 0' TERM; while :; do sleep 0.1; done"
    run_id = tfrun("--detach", "-w", 1, "--", script).stdout.strip()
    assert tfrun("stop", run_id, "--stop-grace", "2m").returncode == 0
    assert saved.read_text() == "saved\n"
    wrong = tfrun("stop", run_id, "--stop-grace", 0)
    assert wrong.returncode == 2 and "must be above 0, got '0'" in wrong.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_on_a_full_disk_the_run_goes_on_says_so_once_and_its_end_is_known(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", disk], check=True)
    env = {"XDG_STATE_HOME": str(disk)}
    try:
        done = tfrun("-w", 2, "--", "seq 100000", env=env)
        assert (done.returncode, len(done.stdout.splitlines())) == (0, 200_000)
        assert done.stderr.count("No space left on device") == 1
        assert " succeeded " in tfrun("list", env=env).stdout
        assert "] 1\n" in tfrun("logs", env=env).stdout
    finally:
        subprocess.run(["umount", disk], check=True)
