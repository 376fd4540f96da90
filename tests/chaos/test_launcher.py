"""The launcher is killed, terminated or interrupted, in every phase of a run."""

from __future__ import annotations

import signal
from contextlib import contextmanager

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.conftest import living_children
from tests.fake_masters import MasterThatAnswersNothing

from .stage import Gate, Mesos, background, python_wrapper

STUBBORN = 'trap "echo I will not" TERM; echo up; while :; do sleep 0.05; done'


@contextmanager
def connecting(tmp_path):
    with background() as here:
        master = here.enter(MasterThatAnswersNothing())
        with running_tfrun("-m", master.url, "-w", 1, "--", "true") as run:
            here.wait(master.next("SUBSCRIBE"))
            yield run


@contextmanager
def waiting(tmp_path):
    with background() as here:
        mesos = Mesos(here, "node-1")
        mesos.occupy()
        with running_tfrun("-m", mesos.url, "-v", "-w", 1, "--", "true") as run:
            read_until(run.stderr, "subscribed to")
            yield run


@contextmanager
def starting(tmp_path):
    """The task is launched, and its runner has not reported yet."""
    gate = Gate(tmp_path)
    slow = python_wrapper(tmp_path, f"echo here > {gate.path}", "sleep 1")
    with running_tfrun("--python", slow, "-w", 1, "--", "true") as run:
        gate.wait()
        yield run


@contextmanager
def running(tmp_path):
    with running_tfrun("-w", 2, "--", "sh", "-c", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        yield run


@contextmanager
def stopping(tmp_path):
    """worker:1 has failed, and worker:0 does not end."""
    fail = tmp_path / "fail"
    script = f"[ {{task_index}} = 0 ] || {{ until [ -e {fail} ]; do sleep 0.05; done; exit 7; }}"
    with running_tfrun("-w", 2, "--", f"{script}; {STUBBORN}") as run:
        read_until(run.stdout, "[worker:0] up")
        fail.touch()
        read_until(run.stdout, "[worker:0] I will not")
        yield run


PHASES = [connecting, waiting, starting, running, stopping]


@pytest.mark.bound(20)
@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_launcher_that_is_told_to_end_does_so_in_good_order(phase, number, code, tmp_path, bound):
    with phase(tmp_path) as run:
        bound.struck()
        run.send_signal(number)
        _, err = finish(run, bound.left)
    assert run.returncode == (7 if phase is stopping else code), err
    assert err.splitlines()[-1].startswith(("tfrun: ", "  ")), err


@pytest.mark.bound(20)
@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
def test_a_killed_launcher_leaves_nothing_behind(phase, tmp_path, bound):
    """The fixtures see what is left: no process, and no sandbox either."""
    before = set(living_children())  # such as an engine that other tests share
    with phase(tmp_path) as run:
        bound.struck()
        run.kill()
        assert run.wait(bound.left) == -signal.SIGKILL
    if phase is starting:  # there was no runner yet to clear away the directory: the next run does
        for process in set(living_children()) - before:
            process.wait(bound.left)
        assert tfrun("-w", 1, "--", "true", timeout=bound.left).returncode == 0
