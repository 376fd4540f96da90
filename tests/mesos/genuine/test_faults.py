"""What befalls a genuine Mesos, and how a run comes through it."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import contextmanager, suppress

import psutil
import pytest

from tests.commands import environment, finish, read_until, running_tfrun

from .cluster import QUICK_LOSS, wait_until


class Tasks:
    """The tasks of a run: each says that it is up, waits for the word, and says that it is done."""

    def __init__(self, directory):
        self._directory = directory
        wait = f"until [ -e {directory}/go ]; do sleep 0.05; done"
        self.script = f"echo up; {wait}; echo done; touch {directory}/done-{{task_index}}"

    def release(self):
        (self._directory / "go").touch()

    def wait_until_done(self):
        wait_until("both have done", lambda: len(list(self._directory.glob("done-*"))) == 2)


@pytest.fixture
def tasks(tmp_path):
    return Tasks(tmp_path)


@contextmanager
def run_of_two(mesos, tasks):
    """A run with a task on each of two agents, both up."""
    size = ("-m", mesos.master.address, "-w", 2, "-Cw", 4)
    with running_tfrun(*size, "--", "sh", "-c", tasks.script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        yield run


IMPATIENT = (
    "import sys, tfmesos.shared.link_timeouts\n"
    "tfmesos.shared.link_timeouts.RECONNECT_TIMEOUT = 1.0\n"
    "from tfmesos.tfrun import main\n"
    "sys.exit(main())"
)


@contextmanager
def impatient_run_of_two(mesos, tasks):
    """The same, but runners and launcher look for each other for a second only."""
    size = ["-m", mesos.master.address, "-w", "2", "-Cw", "4", "--survive", "0"]
    command = [sys.executable, "-c", IMPATIENT, *size, "--", "sh", "-c", tasks.script]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=environment()) as run:
        try:
            read_until(run.stdout, "[worker:0] up", "[worker:1] up")
            yield run
        finally:
            run.kill()


@pytest.fixture
def two_nodes(mesos):
    mesos.start("node-1", "node-2", **QUICK_LOSS)
    return mesos


def assert_success(run):
    out, err = finish(run)
    assert run.returncode == 0, err
    assert out.count("done") == 2


def agent_of(mesos, hostname):
    return next(host for host in mesos.hosts if host.directory.name == hostname)


# The master


def test_tasks_go_on_while_the_master_restarts(two_nodes, tasks):
    with run_of_two(two_nodes, tasks) as run:
        two_nodes.master.restart()
        two_nodes.master.wait_for("node-1", "node-2")
        tasks.release()
        assert_success(run)


def test_a_run_ends_well_although_the_master_is_gone(two_nodes, tasks):
    with run_of_two(two_nodes, tasks) as run:
        two_nodes.master.kill()
        tasks.release()
        assert_success(run)
    two_nodes.master.start()


def test_a_run_that_waits_for_offers_survives_a_restart_of_the_master(mesos):
    mesos.start("node-1", "node-2", **QUICK_LOSS)
    large = ("-m", mesos.master.address, "-Cw", 4)
    with running_tfrun(*large, "-w", 1, "--", "echo up; exec sleep 600") as other:
        read_until(other.stdout, "up")
        with running_tfrun(*large, "-w", 2, "--", "echo", "done") as run:
            read_until(run.stderr, "1 of 2 tasks placed")
            mesos.master.restart()
            other.terminate()
            assert_success(run)
        assert other.wait() == 143


def test_a_frozen_master_does_not_disturb_the_tasks(two_nodes, tasks):
    with run_of_two(two_nodes, tasks) as run:
        two_nodes.master.freeze()
        tasks.release()
        assert_success(run)
        two_nodes.master.thaw()


# The agents


def test_tasks_outlive_the_restart_of_their_agent(two_nodes, tasks):
    with run_of_two(two_nodes, tasks) as run:
        agent = agent_of(two_nodes, "node-1")
        agent.kill()
        two_nodes.master.wait_for("node-2")
        agent.start()
        two_nodes.master.wait_for("node-1", "node-2")
        tasks.release()
        assert_success(run)


def test_a_run_ends_well_although_its_tasks_end_while_their_agent_is_away(two_nodes, tasks):
    """Mesos will say that the task has failed, for its executor could not tell of the end."""
    with run_of_two(two_nodes, tasks) as run:
        agent = agent_of(two_nodes, "node-1")
        agent.kill()
        two_nodes.master.wait_for("node-2")
        tasks.release()
        tasks.wait_until_done()
        two_nodes.wait_until_no_task_runs()
        agent.start()
        assert_success(run)


def test_an_agent_that_is_out_of_reach_for_a_while_is_waited_for(two_nodes, tasks):
    with run_of_two(two_nodes, tasks) as run:
        agent = agent_of(two_nodes, "node-1")
        agent.freeze()
        read_until(run.stderr, "on node-1 is unreachable from the cluster")
        agent.thaw()
        two_nodes.master.wait_for("node-1", "node-2")
        tasks.release()
        assert_success(run)


def test_a_machine_that_is_gone_for_good_fails_the_run(two_nodes, tasks):
    with impatient_run_of_two(two_nodes, tasks) as run:
        kill_machine(two_nodes, "node-1")
        _, err = finish(run)
    assert run.returncode == 1
    assert re.search(r"tfrun: worker:\d lost touch with the launcher .* on node-1", err), err


def test_a_machine_that_comes_back_after_the_run_was_given_up_ends_its_tasks(two_nodes, tasks):
    with impatient_run_of_two(two_nodes, tasks) as run:
        on_it = freeze_machine(two_nodes, "node-1")
        _, err = finish(run)
        assert run.returncode == 1
        assert re.search(r"tfrun: worker:\d is unreachable .* and from the launcher", err), err
        for process in on_it:
            with suppress(psutil.NoSuchProcess):
                process.resume()
        two_nodes.wait_until_no_task_runs()


def machine(mesos, hostname):
    """All processes of an agent, its own the first."""
    agent = psutil.Process(agent_of(mesos, hostname).process.pid)
    return [agent, *agent.children(recursive=True)]


def kill_machine(mesos, hostname):
    on_it = machine(mesos, hostname)
    for process in on_it:
        with suppress(psutil.NoSuchProcess):  # it may end with its parent
            process.kill()
    psutil.wait_procs(on_it)


def freeze_machine(mesos, hostname):
    on_it = machine(mesos, hostname)
    for process in on_it:
        with suppress(psutil.NoSuchProcess):  # an agent and a task have children for a moment
            process.suspend()
    return on_it


def test_tasks_of_an_agent_that_unregisters_are_lost_and_the_run_fails(two_nodes, tasks):
    with run_of_two(two_nodes, tasks) as run:
        agent = agent_of(two_nodes, "node-1")
        agent.unregister()
        _, err = finish(run)
        assert agent.process.wait() == 0
    assert run.returncode == 1, err
    assert re.search(r"tfrun: worker:\d (was lost|is gone).* on node-1\n", err), err


def test_tasks_of_an_agent_that_is_drained_have_failed_however_well_they_end(two_nodes):
    polite = "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done"
    master = two_nodes.master
    with running_tfrun("-m", master.address, "-w", 1, "--", "sh", "-c", polite) as run:
        read_until(run.stdout, "[worker:0] up")
        for agent in master.get("/master/slaves")["slaves"]:
            drain = {"agent_id": {"value": agent["id"]}}
            assert master.post("/api/v1", {"type": "DRAIN_AGENT", "drain_agent": drain}) == 200
        _, err = finish(run)
    assert run.returncode == 75  # another time, or elsewhere, it may end well
    assert "tfrun: worker:0 was ended by its node, which the operator is draining on node-" in err


def test_offers_that_are_rescinded_while_held_are_not_used(mesos):
    mesos.start("node-1", "node-2", **QUICK_LOSS)
    large = ("-m", mesos.master.address, "-Cw", 4)
    there = ("-w", 1, "--constraint", "hostname:IS:node-2")
    with running_tfrun(*large, *there, "--", "echo up; exec sleep 600") as other:
        read_until(other.stdout, "up")
        with running_tfrun(*large, "-w", 2, "--", "echo", "done") as run:
            read_until(run.stderr, "1 of 2 tasks placed")
            agent_of(mesos, "node-1").kill()
            mesos.start_agent("node-3")
            other.terminate()
            out, err = finish(run)
        assert other.wait() == 143
    assert (run.returncode, out.count("done")) == (0, 2), err
    assert "restarting it" not in err


# The launcher


def test_a_killed_launcher_leaves_no_task_after_the_grace(two_nodes, tasks):
    with impatient_run_of_two(two_nodes, tasks) as run:
        assert two_nodes.tasks()
        run.kill()
        two_nodes.wait_until_no_task_runs()


def test_a_frozen_launcher_finds_its_tasks_again(two_nodes, tasks):
    with run_of_two(two_nodes, tasks) as run:
        launcher = psutil.Process(run.pid)
        launcher.suspend()
        wait_until("it is stopped", lambda: launcher.status() == psutil.STATUS_STOPPED)
        tasks.release()
        tasks.wait_until_done()
        launcher.resume()
        assert_success(run)
