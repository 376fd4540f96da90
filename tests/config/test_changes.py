"""What an update changes of a run."""

import pytest

from tfmesos.config.changes import changed_jobs, difference, readdressed
from tfmesos.config.job import Job
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.errors import SpecError


def config(**settings):
    jobs = (Job("ps", 1, cmd="serve"), Job("worker", 2, cmd="train", env={"A": "1"}))
    return LaunchConfig(**{"jobs": jobs, **settings})


def changed(old, **changes):
    return old.in_generation(1, changed_jobs(old, changes))


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"jobs": {"worker": 4}}, ["worker: 2 -> 4"]),
        (
            {"jobs": {"worker": {"num": 4, "mem": "4G"}}},
            ["worker: 2 -> 4", "worker.mem: 1024 -> 4096"],
        ),
        ({"jobs": {"worker": {"mem": "20T"}}}, ["worker.mem: 1024 -> 20971520"]),
        ({"jobs": {"ps": 0}}, ["ps: 1 -> 0"]),
        ({"jobs": {"chief": 1}}, ["chief: 0 -> 1"]),
        ({"whole": True, "jobs": {"worker": 2}}, ["ps: 1 -> 0"]),
        ({"cmd": ["a", "b"]}, [f"{job}.command: {old} -> a b" for job, old in
                               (("ps", "serve"), ("worker", "train"))]),
        ({"cmd": ["sh", "-c", "a b"], "jobs": {"ps": 0}},
         ["ps: 1 -> 0", "worker.command: train -> sh -c 'a b'"]),
        ({"env": {"A": "secret", "B": "2"}}, ["ps.env: A, B", "worker.env: A, B"]),
        ({"image": "new"}, ["ps.image: none -> new", "worker.image: none -> new"]),
        (
            {"constraints": ["worker=hostname:UNIQUE"]},
            ["worker.constraints: none -> hostname:UNIQUE"],
        ),
        ({"jobs": {"worker": 2}}, []),
    ],
)  # fmt: skip
def test_what_changes_is_said_and_nothing_else_changes(changes, words):
    old = config()
    assert list(difference(old, changed(old, **changes))) == words


def test_constraints_take_the_place_of_those_that_there_are_or_remove_them():
    old = config(jobs=(Job("worker", 2, cmd="train", constraints=["rack:IS:a"]),))
    for given, left in ((["rack:IS:b"], ["rack:IS:b"]), (["worker=none"], []), (["none"], [])):
        (job,) = changed(old, constraints=given).jobs
        assert [str(one) for one in job.constraints] == left


def test_a_new_job_runs_the_command_of_the_others_and_its_output_is_shown():
    new = changed(config(), jobs={"evaluator": 1})
    job = new.jobs[-1]
    assert (job.name, job.cmd) == ("evaluator", "serve")
    assert job.tasks[0] in new.logs


def test_tasks_of_one_type_are_numbered_anew():
    old = config(jobs=(Job("a", 2, cmd="x", task_type="worker"), Job("worker", 1, cmd="x")))
    assert changed(old, jobs={"a": 3}).jobs[1].tasks[0].number == 3


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"master": "m"}, "master"),
        ({"jobs": {"worker": -1}}, "num"),
        ({"jobs": {"worker": {"nums": 3}}}, "nums"),
        ({"jobs": {"chief": 2}}, "num"),
        ({"jobs": {"chief": {"mem": "2G"}}}, "mem"),
        ({"jobs": {"chief": None}}, "num"),
        ({"jobs": {"worker": 0, "ps": 0}}, "jobs"),
        ({"jobs": [1]}, "jobs"),
        ({"constraints": ["elsewhere=hostname:UNIQUE"]}, "constraints"),
        ({"env": {"A": 1}}, "env"),
    ],
)
def test_a_wrong_change_names_its_field(changes, field):
    with pytest.raises(SpecError) as caught:
        changed(config(), **changes)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"jobs": {"worker": 4}}, "worker: 2 -> 4"),
        ({"jobs": {"worker": "1:2"}}, "worker: 2 -> 1:2"),
        ({"jobs": {"ps": 0}}, "ps: 1 -> 0"),
        ({"jobs": {"chief": 1}}, "chief: 0 -> 1"),
        ({"jobs": {"worker": {"port": 2222}}}, "worker.port: none -> 2222"),
        ({"jobs": {"worker": {"task_type": "boss"}}}, "worker.task_type"),
        ({"jobs": {"worker": {"mem": "4G", "cpus": 2, "gpus": 1, "cwd": "/tmp"}}}, ""),
        ({"cmd": "other", "env": {"A": "2"}, "image": "new", "constraints": ["rack:IS:b"]}, ""),
    ],
)
def test_what_gives_tasks_other_addresses_is_told(changes, word):
    old = config()
    found = readdressed(old, changed(old, **changes))
    assert word in found and bool(word) == bool(found)
