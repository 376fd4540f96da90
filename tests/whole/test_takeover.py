"""A run whose launcher is gone, and another one that goes on with it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tests.bounds import HANG
from tests.commands import environment, finish, read_until, running_tfrun, standing_mesos, tfrun
from tests.ports import offered_ports
from tests.sentences import names

# Says that it is up, writes on after the word, and says how it ends.
SCRIPT = (
    "echo up; echo x >> {0}/starts-{{task_index}}; until [ -e {0}/go ]; do sleep 0.05; done; "
    "seq 100; echo done; exit {1}"
)


@pytest.fixture(scope="module")
def mesos():
    with standing_mesos(f"--resources=cpus:8;mem:8192;{offered_ports()}") as url:
        yield url.removeprefix("http://")


class Lost:
    """A run of two tasks whose launcher was killed."""

    def __init__(self, mesos, directory, recorded_runs, *flags, code=0):
        self._go = directory / "go"
        self.directory = directory
        command = SCRIPT.format(directory, code)
        arguments = ("-m", mesos, "-w", 2, "-Cw", 0.1, "--survive", "2m", *flags, "--", command)
        with running_tfrun(*arguments) as launcher:
            read_until(launcher.stdout, "[worker:0] up", "[worker:1] up")
            self.on_start(launcher)
            launcher.kill()
            launcher.wait()
        (self.path,) = (recorded_runs / "tfmesos" / "runs").iterdir()
        self.id = self.path.name

    def on_start(self, launcher):
        """For tests that have something to do before the launcher dies."""

    def release(self):
        self._go.touch()

    def log(self, number):
        text = (self.path / "output" / f"worker-{number}.log").read_text()
        return [line.split(" ", 2)[2] for line in text.splitlines()]

    def starts(self):
        return [len(path.read_text().split()) for path in self.directory.glob("starts-*")]

    def events(self):
        return (self.path / "events.jsonl").read_text()

    def finish(self):
        """Have it adopted, and end well."""
        self.release()
        done = tfrun("adopt", self.id)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def lost(mesos, tmp_path, recorded_runs):
    return lambda *flags, **options: Lost(mesos, tmp_path, recorded_runs, *flags, **options)


WHOLE = ["up", *map(str, range(1, 101)), "done"]


def test_a_run_goes_on_with_another_launcher_and_ends_as_if_nothing_had_happened(lost):
    run = lost(code=3)
    assert (run.path / "keys").stat().st_mode & 0o777 == 0o600
    assert re.search(rf"{run.id}  lost, can be adopted until \d\d:\d\d ", tfrun("list").stdout)
    status = tfrun("status", run.id).stdout
    assert f"tfrun adopt {run.id} continues it" in status, status
    # It may have died between the first line of a task and the record that the task runs.
    assert re.search(r"worker: .*(running|starting)", status), status
    run.release()
    done = tfrun("adopt")  # the only lost one
    assert done.returncode == 3, done.stderr
    assert "worker:" in done.stderr and "exited with 3" in done.stderr
    assert "[worker:0] 100" in done.stdout
    assert run.log(0) == run.log(1) == WHOLE
    assert run.starts() == [1, 1]
    left = {path.name for path in run.path.iterdir()}
    assert not left & {"keys", "lock", "taken.jsonl", "control"} and "outcome.json" in left
    assert json.loads((run.path / "run.json").read_text())["launchers"] == 2


def test_the_second_launcher_can_die_as_well(lost):
    run = lost()
    for _ in range(2):
        assert tfrun("adopt", run.id, "--detach").stdout == f"{run.id}\n"
        pid = json.loads((run.path / "run.json").read_text())["launcher"]["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until_gone(pid)
    run.finish()
    assert run.log(0) == run.log(1) == WHOLE
    assert run.starts() == [1, 1]


def wait_until_gone(pid):
    end = time.monotonic() + HANG
    while True:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(") ")[2][0] in "ZX":
                    return
        except OSError:
            return
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_lost_run_can_be_stopped_and_its_record_is_kept_until_then(lost):
    run = lost()
    refused = tfrun("rm", run.id)
    assert (refused.returncode, f"tfrun stop {run.id}" in refused.stderr) == (2, True)
    stopped = tfrun("stop", run.id)
    assert stopped.returncode == 0, stopped.stderr
    assert stopped.stderr.endswith(f"tfrun: {run.id} has stopped\n")
    outcome = json.loads((run.path / "outcome.json").read_text())
    assert (outcome["exit_code"], outcome["was_stopped"]) == (130, True)


def test_a_launcher_that_is_stopped_is_ended_so_that_it_cannot_wake_up(mesos, tmp_path):
    command = SCRIPT.format(tmp_path, 0)
    with running_tfrun("-m", mesos, "-w", 2, "-Cw", 0.1, "--", command) as launcher:
        read_until(launcher.stdout, "[worker:0] up", "[worker:1] up")
        launcher.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, launcher.pid, os.WSTOPPED)
        (tmp_path / "go").touch()
        done = tfrun("adopt", only_run())
        assert done.returncode == 0, done.stderr
        assert launcher.wait(HANG) == -signal.SIGKILL
    assert done.stdout.count(" done\n") == 2


def only_run():
    return tfrun("list").stdout.splitlines()[1].split()[0]


def test_what_cannot_be_adopted_is_told_in_one_line_and_nothing_is_disturbed(lost, mesos, tmp_path):
    assert names(refusal(), "no lost run", "ID", "tfrun list")
    run = lost()
    (run.path / "lock").write_text("")  # which knows how long the record was
    events, keys = run.events(), (run.path / "keys").read_bytes()

    damaged = events.replace('{"at"', "{nonsense", 2)
    (run.path / "events.jsonl").write_text(damaged)
    assert "is damaged: line 1 is malformed" in refusal(run.id)
    (run.path / "events.jsonl").write_text(without_a_step(events))
    assert "is inconsistent" in refusal(run.id)
    assert (run.path / "events.jsonl").read_text().startswith(without_a_step(events))
    (run.path / "events.jsonl").write_text(events + '{"event": null}\n')
    assert "is malformed: it does not say when" in refusal(run.id)
    (run.path / "events.jsonl").write_text(events)

    taken = run.path / "taken.jsonl"
    before = taken.read_bytes() if taken.exists() else b""  # it is written a moment after a line
    taken.write_bytes(b"null\n" + before)
    assert "taken.jsonl is damaged: line 1 is malformed" in refusal(run.id)
    taken.write_bytes(before)

    about = (run.path / "run.json").read_text()
    (run.path / "run.json").write_text(about.replace('"tfmesos": "', '"tfmesos": "9'))
    assert "it was started by tfmesos 9" in refusal(run.id)
    (run.path / "run.json").write_text(about)

    (run.path / "keys").write_text("{")
    assert "its keys cannot be read" in refusal(run.id)
    (run.path / "keys").unlink()
    assert "its keys are gone" in refusal(run.id)
    (run.path / "keys").write_bytes(keys)
    (run.path / "keys").chmod(0o600)

    (run.path / "events.jsonl").write_text(events + '{"at": 12, "event": {"is": "core.ev')
    assert tfrun("adopt", run.id, "--detach").returncode == 0  # a line that is cut is none
    assert f"tfrun attach {run.id}" in refusal(run.id)
    run.release()
    assert tfrun("wait", run.id).returncode == 0
    assert refusal(run.id) == f"run {run.id} is over"
    assert run.log(0) == run.log(1) == WHOLE


def without_a_step(events):
    """The record without one of its decisive events."""
    lines = events.splitlines(True)
    offers = next(n for n, line in enumerate(lines) if "OffersReceived" in line)
    return "".join(lines[:offers] + lines[offers + 1 :])


def refusal(*run_id):
    done = tfrun("adopt", *run_id)
    assert done.returncode in (2, 75) and done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line.removeprefix("tfrun: ")


def test_a_lost_run_that_cannot_be_replayed_can_be_stopped(lost):
    run = lost()
    about = (run.path / "run.json").read_text()
    (run.path / "run.json").write_text(about.replace('"tfmesos": "', '"tfmesos": "9'))
    stopped = tfrun("stop", run.id)
    assert stopped.returncode == 0, stopped.stderr
    assert "it was started by tfmesos 9" in stopped.stderr
    assert names(stopped.stderr.splitlines()[-1], "has stopped", "the engine")
    assert not (run.path / "keys").exists()
    assert json.loads((run.path / "outcome.json").read_text())["was_stopped"] is True


def test_of_two_who_adopt_at_once_one_has_the_run(lost):
    run = lost()
    with running_tfrun("adopt", run.id) as one, running_tfrun("adopt", run.id) as other:
        run.release()
        ends = [(finish(each)[1], each.returncode) for each in (one, other)]
    assert sorted(code for _, code in ends) in ([0, 75], [0, 0]), ends
    (told,) = [err for err, code in ends if code == 75] or ["is held by"]
    assert "is held by" in told or "is over" in told
    assert run.log(0) == run.log(1) == WHOLE


def test_a_run_that_is_to_end_with_its_launcher_cannot_be_adopted(recorded_runs):
    with running_tfrun("-w", 1, "--", "echo up; exec sleep 600") as launcher:
        read_until(launcher.stdout, "up")
        assert "is alive: see tfrun attach" in refusal(only_run())
        launcher.kill()
        launcher.wait()
    assert "ended with its launcher" in refusal(only_run())


@contextmanager
def resuming(mesos, directory):
    arguments = ("-m", mesos, "--name", "training", "-w", 2, "-Cw", 0.1)
    command = SCRIPT.format(directory, 0)
    with running_tfrun("--resume", *arguments, "--", command) as launcher:
        yield launcher


def test_resume_begins_a_run_and_goes_on_with_it_after_a_sigterm(mesos, tmp_path):
    with resuming(mesos, tmp_path) as first:
        read_until(first.stdout, "[worker:0] up", "[worker:1] up")
        first.send_signal(signal.SIGTERM)
        _, err = finish(first)
    assert first.returncode == 143, err
    with resuming(mesos, tmp_path) as second:
        (tmp_path / "go").touch()
        out, err = finish(second)
    assert second.returncode == 0, err
    assert out.count(" done\n") == 2
    assert [len(path.read_text().split()) for path in tmp_path.glob("starts-*")] == [1, 1]
    assert len(tfrun("list").stdout.splitlines()) == 2


def test_a_secret_that_is_gone_ends_the_run_when_a_task_has_to_start_again(
    mesos, tmp_path, recorded_runs
):
    secret = tmp_path / "token"
    secret.write_text("hush-hush")
    secret.chmod(0o600)
    flags = ("--secret", f"token={secret}", "--restart-policy", "task", "--retry-codes", "9")
    run = Lost(mesos, tmp_path, recorded_runs, *flags, code=9)
    assert "hush-hush" not in (run.path / "keys").read_text()
    secret.unlink()
    run.release()
    done = tfrun("adopt", run.id)
    assert done.returncode == 66, done.stderr
    assert "cannot be started again: --secret token" in done.stderr


def test_a_launcher_in_a_later_boot_goes_on(lost):
    """Its clock begins at zero; whose process it was cannot be known by its number."""
    run = lost()
    about = json.loads((run.path / "run.json").read_text())
    about["launcher"] |= {"boot_id": "another", "pid": os.getpid(), "started": 1}
    (run.path / "run.json").write_text(json.dumps(about))
    shift_clocks(run.path, 1e6)
    run.finish()
    assert run.log(0) == run.log(1) == WHOLE
    status = json.loads(tfrun("status", run.id, "--json").stdout)
    assert all(0 <= task["began"] < 1e5 for task in status["tasks"])


def shift_clocks(path, seconds):
    """As if the machine had been up for so long when the run began."""
    lines = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    for line in lines:
        line["at"] += seconds
        if "beginning" in line:
            line["beginning"]["at"] += seconds
    (path / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    if beat := (path / "lock").read_text().split():  # there may have been no time for one
        at, wall, _ = beat
        (path / "lock").write_text(f"{float(at) + seconds} {wall} 0")


def test_survive_is_refused_where_tasks_end_with_their_launcher():
    here = tfrun("--survive", "5m", "-w", 1, "--", "true")
    assert here.returncode == 2
    assert names(here.stderr, "tfrun: --survive needs a cluster", "this machine")
    blind = tfrun("-m", "mesos:1", "--no-record", "--survive", "5m", "-w", 1, "--", "true")
    assert blind.returncode == 2 and "--no-record" in blind.stderr


def test_a_program_that_starts_a_run_on_a_cluster_leaves_no_task_waiting(mesos, tmp_path):
    """Nobody could go on in its place."""
    program = (
        "from tfmesos import Job, cluster\n"
        f"with cluster([Job('worker', 1, cmd='true')], master={mesos!r}) as c: c.wait()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
