"""The commands about runs by all their names and flags."""

from __future__ import annotations

import json
import re

import pytest

from tests.commands import tfrun
from tests.whole.test_records import detached as detached


@pytest.fixture
def three_runs():
    """Their commands, the newest first."""
    commands = [f"echo {word}" for word in ("one", "two", "three")]
    for command in commands:
        assert tfrun("-w", 1, "--", command).returncode == 0
    return commands[::-1]


def listed(*flags):
    return [run["command"] for run in json.loads(tfrun("list", "--json", *flags).stdout)]


def test_programs_can_read_the_list_and_ask_for_a_part_of_it(three_runs):
    assert [text.strip("'") for text in listed()] == three_runs
    assert len(listed("-n", 1)) == 1
    assert listed("--running") == []
    assert tfrun("list", "--running").stderr == "tfrun: no run is alive\n"
    (run,) = json.loads(tfrun("list", "--json", "-n", 1).stdout)
    assert (run["state"], run["exit_code"], run["jobs"]) == ("succeeded", 0, {"worker": 1})


@pytest.mark.parametrize("name", ["ps", "ls"])
def test_other_names_of_list_list_the_runs(three_runs, name):
    assert tfrun(name).stdout == tfrun("list").stdout != ""


def test_a_run_that_is_over_is_removed_by_its_id_and_no_other(three_runs, detached):
    found = json.loads(tfrun("list", "--json").stdout)
    old = next(run["id"] for run in found if run["state"] == "succeeded")
    assert tfrun("rm", old).returncode == 0
    refused = tfrun("rm", detached)
    assert refused.returncode == 2 and f"tfrun stop {detached}" in refused.stderr
    left = [run["id"] for run in json.loads(tfrun("list", "--json").stdout)]
    assert set(left) == {run["id"] for run in found} - {old}


def test_the_last_lines_are_shown_with_their_times():
    assert tfrun("-w", 1, "--", "seq", 100).returncode == 0
    assert tfrun("logs", "--tail", 2).stdout == "[worker:0] 99\n[worker:0] 100\n"
    (line,) = tfrun("logs", "worker:0", "--tail", 1, "--timestamps").stdout.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 100", line)


def test_without_an_id_the_only_living_run_is_meant_and_named(detached, three_runs):
    for command in ("status", "logs"):
        assert f"run {detached}" in tfrun(command).stderr, command
    late = tfrun("wait", "--timeout", "0.1")
    assert late.returncode == 124 and detached in late.stderr
    stopped = tfrun("cancel")
    assert stopped.returncode == 0 and f"{detached} has stopped" in stopped.stderr
    none = tfrun("stop")
    assert none.returncode == 2 and "no run is alive" in none.stderr


def test_a_restart_returns_when_the_task_runs_again(detached):
    done = tfrun("restart", detached, "worker:1")
    assert done.returncode == 0 and "worker:1 is running again" in done.stderr
    tasks = json.loads(tfrun("describe", detached, "--json").stdout)["tasks"]
    assert {task["name"]: task["restarts"] for task in tasks} == {"worker:0": 0, "worker:1": 1}
    at_once = tfrun("restart", "--no-wait", detached, "worker:0")
    assert at_once.returncode == 0 and "running again" not in at_once.stderr


def test_a_stop_says_what_it_does_and_returns_when_it_is_done(detached):
    done = tfrun("stop", detached)
    said = f"tfrun: {detached} is stopping\ntfrun: {detached} has stopped\n"
    assert (done.returncode, done.stderr) == (0, said)
    assert tfrun("list", "--running").stderr == "tfrun: no run is alive\n"
