"""What an update changes of a run."""

import pytest

from tfmesos.config.changes import changed_jobs, difference, readdressed
from tfmesos.config.job import Job
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.errors import SpecError

FIELDS = {
    "num": 5,
    "cpus": 7,
    "mem": "7G",
    "gpus": 1,
    "cmd": "other",
    "start": 1,
    "disk": "1G",
    "constraints": ["hostname:UNIQUE"],
    "restarts": 7,
    "restart_policy": "task",
    "retry_codes": "7",
    "image": "new",
    "env": {"NEW": "1"},
    "cwd": "/new",
    "port": 2222,
    "reserve_port": False,
    "pod_template": {"a": "b"},
    "task_type": "other",
    "at_least": 1,
}


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
        ({"env": {"A": "secret", "B": "2"}},
         ["ps.env: A set, B set", "worker.env: A changed, B set"]),
        ({"image": "new"}, ["ps.image: none -> new", "worker.image: none -> new"]),
        (
            {"constraints": ["worker=hostname:UNIQUE"]},
            ["worker.constraints: none -> hostname:UNIQUE"],
        ),
        ({"jobs": {"worker": 2}}, []),
        ({"jobs": {"worker": {"restarts": 5}}}, ["worker.restarts: 3 -> 5"]),
        ({"jobs": {"worker": {"restarts": "unlimited"}}}, ["worker.restarts: 3 -> unlimited"]),
        ({"jobs": {"worker": {"restart_policy": "task"}}},
         ["worker.restart_policy: never -> task"]),
        ({"jobs": {"worker": {"retry_codes": "7,9"}}},
         ["worker.retry_codes: 42, 130, 137, 143 -> 7, 9"]),
        ({"jobs": {"worker": {"reserve_port": False}}}, ["worker.reserve_port: True -> False"]),
        ({"jobs": {"worker": {"cmd": ["train"]}}},
         ["worker.command: train -> train, without a shell"]),
        ({"jobs": {"worker": {"restarts": 3, "restart_policy": "never"}}}, []),
    ],
)  # fmt: skip
def test_what_changes_is_said_and_nothing_else_changes(changes, words):
    old = config()
    assert list(difference(old, changed(old, **changes))) == words


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_a_job_changes_without_a_word(field):
    old = config(master="k8s://", image="old")
    assert difference(old, changed(old, jobs={"worker": {field: FIELDS[field]}}))
    assert FIELDS.keys() == set(Job.__match_args__) - {"name", "type_offset"}


def test_of_a_pod_template_it_is_said_only_that_it_changes():
    old = config(master="k8s://", image="old")
    new = changed(old, jobs={"worker": {"pod_template": {"a": "secret"}}})
    assert difference(old, new) == ("worker.pod_template: set",)
    assert difference(new, old) == ("worker.pod_template: removed",)


def test_it_is_said_whether_a_variable_is_set_changed_or_removed_but_no_value():
    def of(**env):
        return config(jobs=(Job("worker", 1, cmd="train", env=env),))

    (line,) = difference(of(A="secret", B="", C="x"), of(B="secret", C="", D=""))
    assert line == "worker.env: A removed, B changed, C changed, D set"


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


def test_a_job_whose_name_is_nearly_that_of_another_is_taken_for_a_mistake():
    for asked in (2, {"num": 2}, {"mem": "2G"}):
        with pytest.raises(SpecError, match="did you mean worker"):
            changed(config(), jobs={"wroker": asked})


@pytest.mark.parametrize(
    "jobs",
    [
        {"wroker": {"num": 2, "task_type": "wroker"}},
        {"worker2": 2},
        {"chief": 1, "evaluator": 1, "tensorboard": 1, "master": 0},
    ],
)
def test_a_new_job_of_another_name_is_added(jobs):
    assert {job.name for job in changed(config(), jobs=jobs).jobs} == {"ps", "worker", *jobs}


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
