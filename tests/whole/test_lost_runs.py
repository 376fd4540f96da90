"""Runs that lose their launcher in the middle of something, and what is refused of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.bounds import HANG
from tests.commands import (
    ROOT,
    environment,
    finish,
    read_until,
    running_tfrun,
    tfrun,
    wait_for_output,
)
from tests.mesos.genuine.cluster import wait_until
from tfmesos.runs.run_files import RunDirectory
from tfmesos.runs.takeover.hold import last_beat

from .test_takeover import WHOLE, Lost, only_run, refusal, without_a_step
from .test_takeover import mesos as mesos

STRANGER = 65534
PACKAGES = Path(find_spec("h11").origin).parents[1]
# Stops when it may, and goes on to its end when it may.
CHANGED = (
    "trap 'until [ -e {0}/stop ]; do sleep 0.05; done; exit 0' TERM; "
    "echo $TFMESOS_GENERATION of $WORLD_SIZE; until [ -e {0}/go ]; do sleep 0.05; done"
)


def the_record(recorded_runs):
    (path,) = (recorded_runs / "tfmesos" / "runs").iterdir()
    return path


@pytest.mark.parametrize("moment", ["UpdateRequested", "BeginGeneration"])
def test_an_update_that_was_under_way_goes_on(mesos, tmp_path, recorded_runs, moment):
    flags = ("-m", mesos, "-w", 2, "-Cw", 0.1, "--survive", "2m", "--stop-grace", "2m")
    with running_tfrun(*flags, "--", CHANGED.format(tmp_path)) as first:
        read_until(first.stdout, "[worker:0] 0 of 2", "[worker:1] 0 of 2")
        record = the_record(recorded_runs)
        if moment == "BeginGeneration":
            (tmp_path / "stop").touch()
        assert tfrun("update", record.name, "-w", 3, "--no-wait").returncode == 0
        wait_until(moment, lambda: moment in (record / "events.jsonl").read_text())
        first.kill()
        first.wait()
    (tmp_path / "stop").touch()
    with running_tfrun("adopt", record.name) as second:
        read_until(second.stderr, "attached to")
        wait_for_output(record.name, *(f"[worker:{number}] 1 of 3" for number in range(3)))
        (tmp_path / "go").touch()
        _, err = finish(second)
    assert second.returncode == 0, err
    found = json.loads(tfrun("status", record.name, "--json").stdout)
    assert (found["generation"], found["phase"]) == (1, "succeeded")
    for number, task in enumerate(found["tasks"]):
        assert task["restarts"] <= 1  # a launch that the first one had decided may not have left it
        log = (record / "output" / f"worker-{number}.log").read_text()
        assert log.count("1 of 3") == 1


class LostAfterASign(Lost):
    """Its launcher said how long the record is, and what its runners had said, after the start."""

    def on_start(self, launcher):
        (record,) = Path(environment()["XDG_STATE_HOME"]).glob("tfmesos/runs/*")
        first = (record / "events.jsonl").read_text().partition("\n")[0]
        run, taken = RunDirectory(record), record / "taken.jsonl"
        wait_until("the length is known", lambda: last_beat(run).recorded > len(first) + 1)
        wait_until("it is written down", lambda: taken.exists() and taken.read_text())


@pytest.mark.parametrize("known_from", ["lock", "taken.jsonl"])
def test_a_record_without_its_end_is_refused_and_the_tasks_go_on(
    mesos, tmp_path, recorded_runs, known_from
):
    run = LostAfterASign(mesos, tmp_path, recorded_runs)
    events = run.events()
    other = run.path / ({"lock", "taken.jsonl"} - {known_from}).pop()
    kept = other.read_text()
    other.write_text("")
    (run.path / "events.jsonl").write_text(events.partition("\n")[0] + "\n")
    assert "missing" in refusal(run.id)
    (run.path / "events.jsonl").write_text(events)
    other.write_text(kept)
    run.finish()
    assert run.log(0) == run.log(1) == WHOLE and run.starts() == [1, 1]


def test_a_take_over_that_fails_does_not_prolong_the_time_in_which_others_may(
    mesos, tmp_path, recorded_runs
):
    """Otherwise a loop around --resume would never begin the run anew."""

    def until():
        (found,) = json.loads(tfrun("list", "--json").stdout)
        return found["adoptable_until"]

    run = Lost(mesos, tmp_path, recorded_runs)
    events, (record, lock) = run.events(), (run.path / "events.jsonl", run.path / "lock")
    last, kept = record.stat(), lock.read_text()
    lock.write_text("")
    record.write_text(without_a_step(events))
    os.utime(record, ns=(last.st_atime_ns, last.st_mtime_ns))
    before = until()
    assert "is inconsistent" in refusal(run.id)
    assert until() == before
    record.write_text(events)
    lock.write_text(kept)
    run.finish()
    assert run.log(0) == run.log(1) == WHOLE


def test_a_run_that_is_not_recorded_cannot_be_adopted(recorded_runs):
    with running_tfrun("--no-record", "-w", 1, "--", "echo up; exec sleep 600") as launcher:
        read_until(launcher.stdout, "[worker:0] up")
        launcher.kill()
        launcher.wait()
    assert "no lost run" in refusal()
    assert "k7xq" in refusal("k7xq")


def test_another_user_cannot_adopt_a_run(mesos, tmp_path, recorded_runs):
    run = Lost(mesos, tmp_path, recorded_runs)
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    env = environment(PYTHONPATH=f"{ROOT}:{PACKAGES}", PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "tfmesos", "adopt", run.id],
        **{"user": STRANGER, "extra_groups": [], "env": env, "cwd": "/"},
        **{"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, "timeout": HANG},
    )
    assert done.returncode in (2, 77) and done.stdout == "", done
    assert done.stderr.count("\n") == 1 and "Permission denied" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before
    run.finish()


def test_a_secret_is_read_again_for_a_task_that_starts_again(mesos, tmp_path, recorded_runs):
    """Its value is kept nowhere, so a new one counts."""
    secret = tmp_path / "token"
    secret.write_text("first-hush")
    secret.chmod(0o600)
    script = (
        f"cat $TFMESOS_SECRETS_DIR/token; echo; if [ -e {tmp_path}/again ]; then exit 0; fi; "
        f"touch {tmp_path}/again; until [ -e {tmp_path}/go ]; do sleep 0.05; done; exit 9"
    )
    flags = ("--restart-policy", "task", "--retry-codes", "9", "--secret", f"token={secret}")
    sizes = ("-m", mesos, "-w", 1, "-Cw", 0.1, "--survive", "2m")
    with running_tfrun(*sizes, *flags, "--", script) as first:
        read_until(first.stdout, "[worker:0] first-hush")
        first.kill()
        first.wait()
    kept = [p.read_bytes() for p in the_record(recorded_runs).iterdir() if p.is_file()]
    assert not any(b"first-hush" in text for text in kept)
    secret.write_text("second-hush")
    (tmp_path / "go").touch()
    done = tfrun("adopt", only_run())
    assert done.returncode == 0, done.stderr
    assert "[worker:0] second-hush" in done.stdout
    assert not (the_record(recorded_runs) / "keys").exists()


def test_nothing_of_the_keys_is_elsewhere_in_the_record(mesos, tmp_path, recorded_runs):
    run = Lost(mesos, tmp_path, recorded_runs)
    values = json.loads((run.path / "keys").read_text())["values"]
    others = [p for p in run.path.rglob("*") if p.is_file() and p.name != "keys"]
    assert (run.path / "keys").stat().st_mode & 0o777 == 0o600
    assert not [p for p in others if values["secret"].encode() in p.read_bytes()]
    run.finish()
    assert not (run.path / "keys").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_whoever_adopts_a_run_and_goes_away_leaves_it_running(
    mesos, tmp_path, recorded_runs, number
):
    """A terminal that is closed, too."""
    run = Lost(mesos, tmp_path, recorded_runs)
    with running_tfrun("adopt", run.id) as adopter:
        read_until(adopter.stderr, "attached to")
        adopter.send_signal(number)
        adopter.wait(HANG)
    run.release()
    assert tfrun("wait", run.id).returncode == 0
    assert run.log(0) == run.log(1) == WHOLE
