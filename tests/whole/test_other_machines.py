"""A run directory that was copied to another machine, while its launcher lives and after that.

The machines are network namespaces with names of their own. The tasks find their launcher at an
address that moves from one to the other.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.bounds import HANG
from tests.commands import environment, finish, read_until
from tests.mesos.genuine.cluster import wait_until
from tests.namespaces import cable
from tests.whole.test_captured_traffic import mesos_at
from tests.whole.test_takeover import SCRIPT, WHOLE

ADDRESS = "10.203.0.9"  # at which the tasks look for their launcher
LINK = f"{ADDRESS}:4711"


class Machine:
    """One from which a user starts tfrun, with a state directory of its own."""

    def __init__(self, before, state):
        self._before = before
        self.runs = state / "tfmesos" / "runs"
        self._env = environment(XDG_STATE_HOME=str(state))
        state.mkdir(mode=0o700)

    def _options(self, args):
        command = [*self._before, sys.executable, "-m", "tfmesos", *map(str, args)]
        return {"args": command, "stdin": subprocess.DEVNULL, "text": True, "env": self._env}

    def tfrun(self, *args):
        return subprocess.run(**self._options(args), capture_output=True, timeout=HANG)

    @contextmanager
    def running(self, *args):
        pipe = subprocess.PIPE
        with subprocess.Popen(**self._options(args), stdout=pipe, stderr=pipe, bufsize=1) as one:
            try:
                yield one
            finally:
                one.kill()

    def run(self):
        (found,) = self.runs.iterdir()
        return found

    def log(self, number):
        text = (self.run() / "output" / f"worker-{number}.log").read_text()
        return [line.split(" ", 2)[2] for line in text.splitlines()]


class TwoMachines:
    def __init__(self, first, second, between, directory, master):
        self.first, self.second, self._between, self._directory = first, second, between, directory
        flags = ("-m", master, "-w", 2, "-Cw", 0.1, "--survive", "5m", "--advertise", LINK)
        self.command = (*flags, "--", SCRIPT.format(directory, 0))

    def await_up(self, launcher):
        """Until its launcher has given a sign of life, too."""
        read_until(launcher.stdout, "[worker:0] up", "[worker:1] up")
        wait_until("there is a beat", (self.first.run() / "lock").read_text)

    def copy(self):
        """A minute ago, as far as its files tell."""
        shutil.copytree(self.first.runs, self.second.runs, ignore=lambda *_: ["control"])
        self.second.runs.parent.chmod(0o700)
        copied = self.second.run()
        at, wall, size = (copied / "lock").read_text().split()
        (copied / "lock").write_text(f"{at} {float(wall) - 60} {size}")
        for file in copied.rglob("*"):
            os.utime(file, times=(float(wall) - 60,) * 2)
        return copied.name

    def move_address(self):
        self._between.move(ADDRESS)

    def release(self):
        (self._directory / "go").touch()

    def assert_whole(self, machine):
        assert machine.log(0) == machine.log(1) == WHOLE
        starts = [path.read_text() for path in self._directory.glob("starts-*")]
        assert starts == ["x\n", "x\n"]


@pytest.fixture
def two(tmp_path):
    with cable() as between, mesos_at(between.inside(between.there)) as master:
        between.move(ADDRESS, back=True)
        first = Machine(between.machine(between.here, "login-1"), tmp_path / "first")
        second = Machine(between.machine(between.there, "login-2"), tmp_path / "second")
        yield TwoMachines(first, second, between, tmp_path, master)


def test_a_copy_is_adopted_on_the_machine_to_which_the_address_has_moved(two):
    with two.first.running(*two.command) as launcher:
        two.await_up(launcher)
        launcher.kill()
        launcher.wait()
    run_id = two.copy()
    two.move_address()
    two.release()
    done = two.second.tfrun("adopt", run_id)
    assert done.returncode == 0, done.stderr
    two.assert_whole(two.second)


@pytest.mark.parametrize("command", ["adopt", "stop"])
def test_a_copy_of_a_run_whose_launcher_lives_is_left_alone(two, command):
    """Its address leads to the living one still; the files of the copy know nothing of it."""
    with two.first.running(*two.command) as launcher:
        two.await_up(launcher)
        run_id = two.copy()
        refused = two.second.tfrun(command, run_id)
        assert refused.returncode not in (0, 70), refused.stderr
        *_, said = refused.stderr.splitlines()
        assert f"login-1 (pid {launcher.pid})" in said and LINK in said
        assert (two.second.run() / "keys").exists()
        assert not (two.second.run() / "outcome.json").exists()
        two.release()
        _, err = finish(launcher)
    assert (launcher.returncode, "prove" in err) == (0, False), err
    two.assert_whole(two.first)


def test_a_launcher_that_wakes_up_elsewhere_leaves_the_run_to_the_one_that_holds_it(two):
    with two.first.running(*two.command) as launcher:
        two.await_up(launcher)
        launcher.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, launcher.pid, os.WSTOPPED)
        run_id = two.copy()
        two.move_address()
        with two.second.running("adopt", run_id) as second:
            read_until(second.stderr, "attached to")
            launcher.send_signal(signal.SIGCONT)
            _, err = finish(launcher)
            assert launcher.returncode == 75, err
            holder = json.loads((two.second.run() / "run.json").read_text())["launcher"]
            assert f"login-2 (pid {holder['pid']})" in err.splitlines()[-1], err
            two.release()
            _, err = finish(second)
    assert second.returncode == 0, err
    two.assert_whole(two.second)
