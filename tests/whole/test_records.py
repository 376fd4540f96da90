"""Runs that are left, found again and looked up afterwards."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.bounds import HANG
from tests.commands import lines, running_tfrun, tfrun, wait_for_output, without_waits
from tests.mesos.genuine.cluster import wait_until
from tests.sentences import names

UNTIL_STOPPED = ("sh", "-c", "trap 'echo stopped; exit 0' TERM; echo begun; sleep 600 & wait")


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
    wait_for_output(run_id, "[worker:0] begun", "[worker:1] begun")
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

    def restarts():
        tasks = json.loads(tfrun("status", detached, "--json").stdout)["tasks"]
        return {task["name"]: task["restarts"] for task in tasks}

    wait_until("it is written down", lambda: restarts() == {"worker:0": 0, "worker:1": 1})
    wrong = tfrun("restart", detached, "worker:2")
    assert wrong.returncode == 2
    assert names(wrong.stderr, f"tfrun: run {detached}", "'worker:2'", "worker:0, worker:1")


def test_ctrl_c_leaves_an_attached_run_alone(detached):
    with running_tfrun("attach", detached) as attached:
        assert "Ctrl-C leaves it running" in attached.stderr.readline()
        attached.send_signal(signal.SIGINT)
        _, said = attached.communicate(timeout=HANG)
    assert (attached.returncode, said) == (0, f"tfrun: detached: {detached} keeps running\n")
    assert f"{detached}  running" in tfrun("list").stdout


def test_the_record_of_a_launcher_that_was_killed_can_be_read_and_says_lost(detached):
    with running_tfrun("logs", detached, "worker:0", "-f") as following:
        assert following.stdout.readline() == "begun\n"
    about = json.loads((directory(detached) / "run.json").read_text())
    launcher = psutil.Process(about["launcher"]["pid"])
    launcher.kill()
    launcher.wait(HANG)
    assert f"{detached}  lost" in tfrun("list").stdout
    waited = tfrun("wait", detached)
    assert waited.returncode == 69
    said = f"its launcher (pid {launcher.pid}) died"
    assert said in waited.stderr and said in tfrun("status", detached).stdout
    assert re.search(r"died; .* at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", waited.stderr)
    assert "begun" in tfrun("logs", detached, "worker:0").stdout
    assert f"run {detached} is lost: {said}" in tfrun("stop", detached).stderr


def test_a_detached_run_that_cannot_start_tells_why_and_fails():
    done = tfrun("--detach", "-w", 1, "-m", "127.0.0.1:1", "--start-timeout", 1, "--", "true")
    assert done.returncode == 69
    assert "127.0.0.1:1" in done.stderr
    assert f"{done.stdout.strip()}  failed (69)" in tfrun("list").stdout


def test_a_detached_run_that_is_over_at_once_has_an_id_all_the_same():
    done = tfrun("--detach", "-w", 1, "-s", 1, "--serve", "ps", "--", "true")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    assert tfrun("wait", done.stdout.strip()).returncode == 0
    assert done.stdout.strip() in tfrun("list").stdout


def test_the_list_shows_what_runs_without_the_flags_before_it(tmp_path):
    (tmp_path / "a3.py").write_text(
        "from tfmesos import cluster\nwith cluster([dict(name='worker', num=1)]): pass\n"
    )
    tfrun("-w", 1, "echo", "of tfrun", cwd=tmp_path)
    program = [sys.executable, "a3.py", "x"]
    subprocess.run(program, cwd=tmp_path, check=True, capture_output=True)
    shown = [line.rstrip().rsplit("  ", 1)[1] for line in tfrun("list").stdout.splitlines()]
    assert shown == ["COMMAND", "python a3.py x", "echo 'of tfrun'"]


def test_what_is_refused_after_the_record_has_begun_has_no_id(tmp_path):
    (tmp_path / "large").write_bytes(os.urandom(4096))
    flags = ("--detach", "-w", 1, "--ship", "--ship-limit", "1K")
    done = tfrun(*flags, "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert tfrun("list").stdout == ""


@pytest.mark.parametrize(
    ("variable", "place", "why"),
    [
        ("XDG_STATE_HOME", "/proc", "/proc"),
        ("HOME", "nonexistent", "nonexistent: No such file or directory"),
    ],
)
def test_what_cannot_be_recorded_is_not_detached_and_it_is_said_why(tmp_path, variable, place, why):
    env = {"XDG_STATE_HOME": "", variable: str(tmp_path / place)}
    done = tfrun("--detach", "-w", 1, "--", "sleep", "600", env=env)
    assert (done.returncode, done.stdout) == (74, "")
    assert "--detach" in done.stderr and why in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "nonexistent").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a read-only disk")
def test_a_read_only_home_is_named_as_the_reason_why_nothing_is_detached(tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", tmp_path]
    subprocess.run(mount, check=True)
    try:
        env = {"XDG_STATE_HOME": "", "HOME": str(tmp_path)}
        done = tfrun("--detach", "-w", 1, "--", "sleep", "600", env=env)
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert (done.returncode, done.stdout) == (74, "")
    assert "Read-only file system" in done.stderr and str(tmp_path) in done.stderr


def test_a_home_that_is_not_there_is_not_made_and_the_run_goes_on(tmp_path):
    home = tmp_path / "nonexistent"
    env = {"XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "HOME": str(home)}
    done = tfrun("-w", 1, "--", "echo", "hi", env=env)
    assert (done.returncode, done.stdout) == (0, "[worker:0] hi\n")
    assert not home.exists()


def test_a_second_stop_does_not_cut_the_first(tmp_path):
    saved = tmp_path / "checkpoint"
    script = (
        f"trap 'sleep 3; echo saved > {saved}; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    )
    run_id = tfrun("--detach", "-w", 1, "--stop-grace", "2m", "--", script).stdout.strip()
    wait_for_output(run_id, "up")
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
    assert len(os.listdir(os.environ["TMPDIR"])) == 1, "more than that of the run, which is held"
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
    assert done.returncode == 66
    assert names(done.stderr, "tfrun: ", f"run {run.name} is gone", str(place))


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
    script = (
        f"trap 'sleep 7; echo saved > {saved}; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    )
    run_id = tfrun("--detach", "-w", 1, "--", script).stdout.strip()
    wait_for_output(run_id, "up")
    assert tfrun("stop", run_id, "--stop-grace", "2m").returncode == 0
    assert saved.read_text() == "saved\n"
    wrong = tfrun("stop", run_id, "--stop-grace", 0)
    assert wrong.returncode == 2 and "must be above 0, got '0'" in wrong.stderr


@pytest.fixture
def small_disk(tmp_path):
    """An environment whose records go to a file system of 500 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=500k,mode=700", "tmpfs", disk]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"only who may mount a tmpfs can fill a disk: {done.stderr.strip()}")
    yield {"XDG_STATE_HOME": str(disk)}
    subprocess.run(["umount", "--lazy", disk], check=True)  # its launcher may still leave


def test_on_a_full_disk_the_run_goes_on_says_so_once_and_its_end_is_known(small_disk):
    done = tfrun("-w", 2, "--", "seq 100000", env=small_disk)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 200_000)
    assert done.stderr.count("No space left on device") == 1
    assert " succeeded " in tfrun("list", env=small_disk).stdout
    assert "] 1\n" in tfrun("logs", env=small_disk).stdout


def test_the_record_of_a_detached_run_says_what_a_full_disk_has_cost_it(small_disk):
    done = tfrun("--detach", "-w", 1, "--", "seq 100000; echo end >&2", env=small_disk)
    run_id = done.stdout.strip()
    waited = tfrun("wait", run_id, env=small_disk)
    missing = json.loads(tfrun("status", "--json", run_id, env=small_disk).stdout)["missing"]
    number, why = missing["lines"]["worker:0"], "No space left on device"
    logs = tfrun("logs", run_id, "worker:0", env=small_disk)
    shown = [*logs.stdout.splitlines(), *logs.stderr.splitlines()]
    own = [line for line in shown if line.isdecimal() or line == "end"]
    assert (waited.returncode, missing["why"]) == (0, why)
    assert 0 < number < 100_001 and len(own) + number == 100_001
    for text in (logs.stderr, waited.stderr, tfrun("status", run_id, env=small_disk).stdout):
        assert f"{number} lines of worker:0" in text and why in text
