"""tfrun with constraints and with wishes that cannot be met, on an embedded Mesos of three."""

import re
import time

import pytest

from tests.commands import finish, read_until, running_tfrun, standing_mesos, tfrun, without_waits
from tests.sentences import names
from tfmesos import ResourcesError, cluster
from tfmesos.engines.mesos.feasibility import ASK_AFTER

NODES = {"node-1": "rack:r1;weight:1", "node-2": "rack:r2;weight:2", "node-3": "rack:r2;span:[1-3]"}


@pytest.fixture(scope="module")
def mesos():
    flags = ["--agents=3", "--resources=cpus:3;mem:4096"]
    for hostname, attributes in NODES.items():
        flags += [f"--hostname={hostname}", f"--attributes={attributes}"]
    with standing_mesos(*flags) as url:
        yield url


def places(done):
    """Host name -> the tasks launched there, as -v tells."""
    assert done.returncode == 0, done.stderr
    found = re.findall(r"launching (.*) on (\S+)$", done.stderr, re.M)
    return {host: sorted(names.split(", ")) for names, host in found}


def run(mesos, *flags):
    return tfrun("-m", mesos, "-v", "-Mw", 256, "-Ms", 256, *flags, "--", "true")


def test_unique_hosts(mesos):
    done = run(mesos, "-w", 3, "--constraint", "hostname:UNIQUE")
    assert sorted(places(done)) == ["node-1", "node-2", "node-3"]


def test_all_in_one_rack_the_one_with_room(mesos):
    assert sorted(places(run(mesos, "-w", 5, "--constraint", "rack:CLUSTER"))) == [
        "node-2",
        "node-3",
    ]


def test_spread_over_racks(mesos):
    found = places(run(mesos, "-w", 4, "--constraint", "rack:GROUP_BY:2"))
    assert len(found["node-1"]) == 2 and sum(map(len, found.values())) == 4


def test_at_most_so_many_on_a_host(mesos):
    found = places(run(mesos, "-w", 5, "--constraint", "hostname:MAX_PER:2"))
    assert sorted(map(len, found.values())) == [1, 2, 2]


@pytest.mark.parametrize(
    "constraint, host",
    [
        ("hostname:LIKE:node-[13]", "node-1"),
        ("hostname:UNLIKE:node-[12]", "node-3"),
        ("weight:IS:2", "node-2"),
        ("span:IS:[1-3]", "node-3"),
    ],
)
def test_hosts_are_chosen_by_name_and_by_every_kind_of_attribute(mesos, constraint, host):
    assert list(places(run(mesos, "-w", 1, "--constraint", constraint))) == [host]


def test_constraints_of_one_job_leave_the_other_alone(mesos):
    flags = ("--constraint", "worker=rack:IS:r2", "--constraint", "worker=hostname:UNIQUE")
    found = places(run(mesos, "-w", 2, "-s", 2, *flags))
    assert "worker:0" in found["node-2"] and "worker:1" in found["node-3"]
    assert found["node-1"] == ["ps:0", "ps:1"]


def test_the_library_takes_the_same_words(mesos):
    jobs = [{"name": "worker", "num": 2, "cmd": "true", "constraints": ["rack:IS:r9"]}]
    with pytest.raises(ResourcesError, match=r"no agent meets rack:IS:r9 \(rack: r1, r2\)"):
        with cluster(jobs, master=mesos, quiet=True):
            pass
    jobs = [{"name": "worker", "num": 1, "cmd": "sleep 60"}]
    with cluster(jobs, master=mesos, quiet=True, constraints=["worker=hostname:IS:node-3"]) as c:
        assert len(c.cluster_def["worker"]) == 1


@pytest.mark.parametrize(
    "flags, reason",
    [
        (
            ["-w", 1, "-Cw", 64],
            "worker:0 needs cpus 64, mem 1024; no agent has more than cpus 3 (node-1)",
        ),
        (
            ["-w", 1, "-Gw", 1],
            "worker:0 needs cpus 1, mem 1024, gpus 1; no agent has more than gpus 0 (node-1)",
        ),
        (
            ["-w", 4, "--constraint", "hostname:UNIQUE"],
            "worker:3: no further host for hostname:UNIQUE; hosts used: node-1, node-2, node-3 "
            "(each needs cpus 1, mem 1024)",
        ),
        (
            ["-w", 1, "--constraint", "rack:IS:r9"],
            "worker:0: no agent meets rack:IS:r9 (rack: r1, r2)",
        ),
        (
            ["-w", 6, "-s", 6],
            "all 12 tasks together need more than the 3 agents have: cpus 9 < 12",
        ),
    ],
)
def test_what_can_never_be_placed_is_said_at_once_with_the_numbers(mesos, flags, reason):
    done = tfrun("-m", mesos, *flags, "--", "true")
    assert (done.returncode, done.stdout) == (75, "")
    assert without_waits(done.stderr) == f"tfrun: the run cannot be placed: {reason}\n"


def test_a_machine_alone_is_one_host(mesos):
    done = tfrun("-w", 2, "--constraint", "hostname:UNIQUE", "--", "true")
    assert done.returncode == 75
    assert names(done.stderr.splitlines()[-1], "worker:1:", "hostname:UNIQUE", "hosts used: ")


def test_a_run_that_is_placed_at_once_does_not_ask_for_the_agents(mesos):
    done = tfrun("-m", mesos, "-vv", "-w", 1, "--", "sleep", ASK_AFTER + 0.5)
    _, launched, later = done.stderr.partition("launching worker:0 on ")
    assert done.returncode == 0 and launched and "CountAgents" not in later


def test_a_wait_for_what_others_use_says_so_and_ends_well(mesos):
    """Two thirds and two thirds: the second one waits for the first."""
    two_thirds = ("-m", mesos, "-w", 2, "-Cw", 3)
    with running_tfrun(*two_thirds, "--", "echo up; exec sleep 600") as first:
        read_until(first.stdout, "[worker:0]", "[worker:1]")
        with running_tfrun(*two_thirds, "--", "true") as second:
            read_until(
                second.stderr,
                "1 of 2 tasks placed; worker:1 needs cpus 3, mem 1024; missing 3 cpus; "
                "largest offer seen: cpus 3, mem 4096 on node-",
            )
            first.terminate()
            _, err = finish(second)
            assert second.returncode == 0, err
        assert first.wait() == 143


def test_the_start_timeout_ends_a_wait_with_the_same_words(mesos):
    with running_tfrun("-m", mesos, "-w", 3, "-Cw", 3, "--", "echo up; exec sleep 600") as first:
        read_until(first.stdout, "[worker:0]", "[worker:1]", "[worker:2]")
        began = time.monotonic()
        done = tfrun("-m", mesos, "-w", 1, "-Cw", 3, "--start-timeout", 15, "--", "true")
        assert time.monotonic() - began >= 15
        first.terminate()
        assert first.wait() == 143
    assert done.returncode == 75
    said = done.stderr.splitlines()[-1]
    assert names(said, "after 15 s", "0 of 1", "worker:0 needs cpus 3, mem 1024", "3 of 3 agents")
    assert re.search(r"'\[tensorflow\] .*' of \S+ \(cpus 9, mem 3072, for \d+ s\)$", said)
