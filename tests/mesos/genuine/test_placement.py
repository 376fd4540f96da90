"""Constraints, and what can never be placed, on each kind of master."""

from __future__ import annotations

import json
import re

import pytest

from tests.bounds import HANG
from tests.commands import finish, read_until, running_tfrun, tfrun, without_waits

from .cluster import QUICK_LOSS, wait_until
from .conftest import Node

NODES = (
    Node("node-1", "cpus:2;mem:2048;disk:512", "rack:r1;weight:1.5;span:[1-3]"),
    Node("node-2", "cpus:2;mem:2048;disk:512", "rack:r2;weight:2;span:[1-3,7-9]"),
    Node("node-3", "cpus:2;mem:2048;disk:512", "rack:r2;weight:3"),
)


@pytest.fixture
def nodes(start_master) -> str:
    return start_master(NODES)


def places(master, *flags):
    """Host name -> how many tasks were launched there."""
    done = tfrun("-m", master, "-v", "-Mw", 256, *flags, "--", "true")
    assert done.returncode == 0, done.stderr
    found = re.findall(r"launching (.*) on (\S+)$", done.stderr, re.M)
    return {host: len(names.split(", ")) for names, host in found}


def test_constraints_hold(nodes):
    constraint = "--constraint"
    assert places(nodes, "-w", 3, constraint, "hostname:UNIQUE") == dict.fromkeys(
        ("node-1", "node-2", "node-3"), 1
    )
    found = places(nodes, "-w", 3, constraint, "rack:CLUSTER")
    assert sorted(found) == ["node-2", "node-3"] and sum(found.values()) == 3
    assert places(nodes, "-w", 4, constraint, "rack:GROUP_BY:2")["node-1"] == 2
    assert list(places(nodes, "-w", 1, constraint, "weight:IS:1.5")) == ["node-1"]
    both = (constraint, "rack:LIKE:r[2-9]", constraint, "hostname:UNLIKE:.*2")
    assert list(places(nodes, "-w", 1, *both)) == ["node-3"]
    assert list(places(nodes, "-w", 1, constraint, "weight:LIKE:3")) == ["node-3"]


def test_ranges_are_written_as_mesos_shows_them(mesos):
    """Only the genuine Mesos has several in one attribute."""
    master = mesos.start_master()
    for node in NODES:
        mesos.start_agent(node.hostname, node.with_ports, node.attributes)
    master.wait_for(*(node.hostname for node in NODES))
    found = places(master.address, "-w", 1, "--constraint", "span:IS:[1-3, 7-9]")
    assert list(found) == ["node-2"]
    done = tfrun("-m", master.address, "-w", 1, "--constraint", "span:IS:[5-6]", "--", "true")
    assert (done.returncode, without_waits(done.stderr)) == (
        75,
        "tfrun: the run cannot be placed: worker:0: no agent meets span:IS:[5-6] "
        "(span: [1-3,7-9], [1-3])\n",
    )


@pytest.mark.parametrize(
    "flags, reason",
    [
        (["-w", 1, "-Cw", 64], "worker:0 needs cpus 64, mem 1024; no agent has more than cpus 2 ("),
        (["-w", 4, "--constraint", "hostname:UNIQUE"], "worker:3: no further host for hostname"),
        (["-w", 1, "--constraint", "rack:IS:r9"], "worker:0: no agent meets rack:IS:r9 (rack: r"),
        (["-w", 4, "-s", 3], "all 7 tasks together need more than the 3 agents have: cpus 6 < 7"),
    ],
)
def test_what_can_never_be_placed_is_said_at_once(nodes, flags, reason):
    done = tfrun("-m", nodes, *flags, "--", "true")
    assert done.returncode == 75
    assert without_waits(done.stderr).startswith(f"tfrun: the run cannot be placed: {reason}")


def test_what_others_use_now_is_waited_for(nodes):
    with running_tfrun("-m", nodes, "-w", 3, "-Cw", 2, "--", "echo up; exec sleep 600") as first:
        read_until(first.stdout, "[worker:0]", "[worker:1]", "[worker:2]")
        with running_tfrun("-m", nodes, "-w", 1, "-Cw", 2, "--", "true") as second:
            read_until(
                second.stderr,
                "(cpus 6, mem 3072, for ",
            )
            first.terminate()
            _, err = finish(second)
        assert (second.returncode, first.wait()) == (0, 143), err


def test_a_run_that_has_its_places_holds_no_offer(mesos):
    """What it does not use is left to others, and is not even offered to it."""
    master = mesos.start("node-1", "node-2")
    with running_tfrun("-m", master.address, "-w", 1, "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0]")

        def offered() -> float:
            agents = master.get("/master/slaves")["slaves"]
            return sum(agent["offered_resources"]["cpus"] for agent in agents)

        wait_until("nothing is on offer", lambda: offered() == 0)
        log = master.log.read_text()
        assert "Suppressed offers for roles { * } of framework" in log
        run.terminate()
        assert run.wait() == 143


def test_agents_that_a_new_master_has_yet_to_hear_of_are_waited_for(mesos):
    master = mesos.start_master(**QUICK_LOSS)
    mesos.start_agent("node-1")
    away = mesos.start_agent("node-2")
    master.wait_for("node-1", "node-2")
    away.kill()
    master.restart()
    master.wait_for("node-1")
    assert len(master.get("/master/slaves")["recovered_slaves"]) == 1
    with running_tfrun("-m", master.address, "-w", 2, "-Cw", 4, "--", "echo", "done") as run:
        read_until(run.stderr, "1 of 2 tasks placed")
        away.start()
        out, err = finish(run)
    assert (run.returncode, out.count("done")) == (0, 2), err


def test_what_is_reserved_for_others_can_never_be_had(mesos):
    master = mesos.start_master()
    mesos.start_agent("node-1", "cpus(ml):2;mem(ml):1024;cpus:2;mem:4096")
    master.wait_for("node-1")
    size = ("-w", 1, "-Cw", 4)
    done = tfrun("-m", master.address, "-r", "etl", *size, "--", "true")
    assert (done.returncode, without_waits(done.stderr)) == (
        75,
        "tfrun: the run cannot be placed: worker:0 needs cpus 4, mem 1024; "
        "no agent has more than cpus 2 (node-1)\n",
    )
    done = tfrun("-m", master.address, "-r", "ml/vision", *size, "--", "echo", "x")
    assert (done.returncode, done.stdout) == (0, "[worker:0] x\n"), done.stderr


def test_a_master_that_shows_its_agents_to_nobody_is_waited_for(mesos, tmp_path):
    """Frameworks need no credentials there, readers do."""
    credentials = tmp_path / "credentials"
    credentials.write_text(json.dumps({"credentials": [{"principal": "a", "secret": "b"}]}))
    flags = {"authenticate_http_readonly": "true", "credentials": str(credentials)}
    master = mesos.start_master(**flags)
    mesos.start_agent("node-1")
    with running_tfrun("-m", master.address, "-w", 1, "-Cw", 64, "--", "true") as run:
        read_until(run.stderr, "0 of 1 task placed; worker:0 needs cpus 64")
        run.terminate()
        assert run.wait(HANG) == 143
