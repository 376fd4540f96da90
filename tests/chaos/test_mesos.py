"""The master and the agents go away, come back, hang, or answer nonsense."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.commands import environment, finish, read_until, running_tfrun
from tests.fake_masters import (
    MasterThatAnswersNothing,
    MasterThatEndsInTheMiddleOfARecord,
    MasterThatRedirectsInACircle,
    MasterThatRefusesLaunches,
    MasterThatSpeaksGarbageAfterASubscription,
    ServerThatIsNotMesos,
)
from tests.runners import Proxy
from tfmesos.shared.address import split_address

from .stage import Mesos, background

# A launcher is looked for for a second, not for half a minute, and a master for two, not for eight.
IMPATIENT = (
    "import sys, tfmesos.shared.link_timeouts\n"
    "tfmesos.shared.link_timeouts.RECONNECT_TIMEOUT = 1.0\n"  # before anybody reads it
    "import tfmesos.engines.mesos.setup\n"
    "tfmesos.engines.mesos.setup.FIND_MASTER_WITHIN = 2.0\n"
    "from tfmesos.tfrun import main\n"
    "sys.exit(main())"
)


@pytest.fixture
def here():
    with background() as here:
        yield here


@pytest.fixture
def mesos(here):
    return Mesos(here, "node-1", "node-2")


class Tasks:
    """Each says that it is up, waits for the word, and says that it is done."""

    def __init__(self, directory):
        self._go = directory / "go"
        self.script = f"echo up; until [ -e {self._go} ]; do sleep 0.05; done; echo done"

    def release(self):
        self._go.touch()


@pytest.fixture
def tasks(tmp_path):
    return Tasks(tmp_path)


@contextmanager
def run_of_two(url, tasks):
    """A run with a task on each of the two agents, both up."""
    with running_tfrun("-m", url, "-w", 2, "-Cw", 2, "--", tasks.script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        yield run


def assert_success(run, within):
    out, err = finish(run, within)
    assert run.returncode == 0, err
    assert sorted(out.splitlines()) == ["[worker:0] done", "[worker:1] done"]


# Agents


@pytest.mark.bound(20)
def test_an_agent_that_is_lost_and_back_costs_the_run_nothing(mesos, tasks, bound):
    with run_of_two(mesos.url, tasks) as run:
        bound.struck()
        mesos.lose("node-1")
        read_until(run.stderr, "on node-1 is unreachable from the cluster")
        mesos.bring_back("node-1")
        tasks.release()
        assert_success(run, bound.left)


@pytest.mark.bound(20)
def test_tasks_of_an_agent_that_stays_lost_go_on_while_their_runners_answer(mesos, tasks, bound):
    with run_of_two(mesos.url, tasks) as run:
        bound.struck()
        mesos.lose("node-1")
        read_until(run.stderr, "on node-1 is unreachable from the cluster")
        tasks.release()
        assert_success(run, bound.left)


@pytest.mark.bound(30)
def test_a_machine_that_is_lost_for_good_fails_the_run_and_is_named(mesos, tasks, bound):
    command = [sys.executable, "-c", IMPATIENT, "-m", mesos.url, "-w", "2", "-Cw", "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [*command, "--", tasks.script], **pipes, text=True, env=environment()
    ) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        bound.struck()
        mesos.kill_agent("node-1")
        _, err = finish(run, bound.left)
    assert run.returncode == 1
    assert re.search(r"^tfrun: worker:\d .* on node-1", err, re.MULTILINE), err


# The master


@pytest.mark.bound(20)
def test_tasks_go_on_while_the_master_restarts(mesos, tasks, bound):
    with run_of_two(mesos.url, tasks) as run:
        bound.struck()
        mesos.restart_master()
        read_until(run.stderr, "lost the master")
        tasks.release()
        assert_success(run, bound.left)


@pytest.mark.bound(20)
def test_a_run_that_waits_outlives_a_restart_of_the_master(here, mesos, bound):
    mesos.occupy()
    with running_tfrun("-m", mesos.url, "-v", "-w", 2, "-Cw", 2, "--", "echo", "done") as run:
        read_until(run.stderr, "subscribed to")
        bound.struck()
        mesos.restart_master()  # which forgets what the other had been offered
        assert_success(run, bound.left)


@pytest.mark.bound(20)
def test_a_run_ends_well_although_its_master_hangs(here, mesos, tasks, bound):
    address = split_address(mesos.url.removeprefix("http://"))
    proxy = here.enter(Proxy(address).running())
    url = "http://{}:{}".format(*proxy.address)
    with run_of_two(url, tasks) as run:
        bound.struck()
        here.do(proxy.freeze)
        tasks.release()
        assert_success(run, bound.left)


@pytest.mark.bound(20)
def test_a_run_whose_master_is_gone_can_be_interrupted(here, mesos, tasks, bound):
    address = split_address(mesos.url.removeprefix("http://"))
    proxy = here.enter(Proxy(address).running())
    url = "http://{}:{}".format(*proxy.address)
    with run_of_two(url, tasks) as run:
        bound.struck()
        here.do(lambda: proxy.cut(for_good=True))
        read_until(run.stderr, "tfrun: lost the master")
        run.send_signal(signal.SIGINT)
        _, err = finish(run, bound.left)
    assert run.returncode == 130
    assert all(line.startswith(("tfrun: ", "  ")) for line in err.splitlines()), err


def server_that_says(answer):
    return lambda: ServerThatIsNotMesos(answer)


UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
UNAUTHORIZED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
STRANGE_MASTERS = {
    "hangs": (MasterThatAnswersNothing, "no answer"),
    "circle": (MasterThatRedirectsInACircle, "redirect in a circle"),
    "503": (server_that_says(UNAVAILABLE), "503"),
    "401": (server_that_says(UNAUTHORIZED), "401"),
    "garbage": (server_that_says(bytes(range(256)) * 16), "not HTTP"),
    "half": (MasterThatEndsInTheMiddleOfARecord, "the connection broke"),
    "full": (MasterThatRefusesLaunches, "the master refused ACCEPT ("),
    "later": (MasterThatSpeaksGarbageAfterASubscription, "garbage"),
}


@pytest.mark.bound(20)
@pytest.mark.parametrize("kind", STRANGE_MASTERS)
def test_a_strange_master_is_named_and_given_up(here, kind, bound):
    make, words = STRANGE_MASTERS[kind]
    master = here.enter(make())
    bound.struck()
    command = [sys.executable, "-c", IMPATIENT, "-m", master.url, "-w", "1", "--", "true"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=bound.left
    )
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, done.stdout) == (69, "")
    assert last.startswith("tfrun: ") and master.address in last and words in last
