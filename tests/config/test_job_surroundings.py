"""A job may have an image, variables, a directory and a port of its own."""

from __future__ import annotations

import pytest

from tests.builders import servers, workers
from tests.engines.mesos.offers import an_offer
from tests.sentences import begins, names
from tfmesos.config.job import Job
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.config.volumes import parse_volumes
from tfmesos.engines.mesos.containers import choice
from tfmesos.engines.mesos.placement import place
from tfmesos.engines.mesos.runner_command import runner_command
from tfmesos.engines.mesos.task_info import task_info
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.links.messages import prepare_message, start_message

PLAIN = servers(1, image="")
OWN = workers(1, image="me/gpu", env={"A": "2"}, cwd="/work")


@pytest.fixture
def config():
    jobs = (PLAIN, OWN, Job("chief", 1, cmd="x"))
    usual = {"image": "me/train", "env": {"A": "1", "B": "1"}, "cwd": "/data"}
    return LaunchConfig(
        jobs, "m", own_python="/venv/bin/python", inherited_env={"PATH": "/bin"}, **usual
    )


def surroundings(config, name):
    task = next(task for task in config.tasks if task.job.name == name)
    return prepare_message(config, task)


def test_the_image_of_a_job_is_its_own_that_of_the_run_or_none(config):
    assert [config.image_of(job) for job in config.jobs] == [None, "me/gpu", "me/train"]
    assert config.images == ("me/gpu", "me/train") and not config.all_in_images
    seats = [s for load in place(config.tasks, [an_offer()]).loads for s in load.seats]
    infos = {s.task.job.name: task_info(config, "run", "id", "agent", s, {}) for s in seats}
    assert "container" not in infos["ps"]
    assert infos["worker"]["container"]["mesos"]["image"]["docker"] == {"name": "me/gpu"}
    assert infos["chief"]["container"]["mesos"]["image"]["docker"] == {"name": "me/train"}


def test_a_task_outside_of_an_image_has_our_environment_and_our_python(config):
    assert surroundings(config, "ps")["env"]["PATH"] == "/bin"
    assert "PATH" not in surroundings(config, "worker")["env"]
    assert [surroundings(config, name)["in_image"] for name in ("ps", "worker")] == [False, True]
    commands = [runner_command(config, job, "", "")["value"] for job in config.jobs[:2]]
    assert "/venv/bin/python" in commands[0]
    assert "/venv/bin/python" not in commands[1] and "python3" in commands[1]


def test_the_variables_of_a_job_win_over_those_of_the_run(config):
    assert surroundings(config, "worker")["user_env"] == {"A": "2", "B": "1"}
    assert surroundings(config, "ps")["user_env"] == {"A": "1", "B": "1"}


def test_the_directory_of_a_job_must_be_there(config):
    told = surroundings(config, "worker")
    assert (told["cwd"], told["cwd_is_given"]) == ("/work", True)
    told = surroundings(config, "ps")
    assert (told["cwd"], told["cwd_is_given"]) == ("/data", False)


def test_the_user_is_told_of_all_images(config):
    assert names(choice(config, str), "me/gpu and me/train")


def test_a_volume_needs_an_image_for_every_job(config):
    with pytest.raises(SpecError) as caught:
        config.replace(volumes=parse_volumes(["/a:/b"]))
    assert names(str(caught.value), "volumes /a:/b", "image", "ps has none", "node's own")


def test_a_job_may_reserve_its_port_or_not_whatever_the_run_does():
    jobs = [workers(1), servers(1, reserve_port=False), Job("chief", 1, cmd="x", reserve_port=True)]
    for reserves, expected in ((True, [False, True, False]), (False, [True, True, False])):
        config = make_config(jobs, master="m", reserve_port=reserves)
        told = [start_message(config, task, {})["releases_port"] for task in config.tasks]
        assert told == expected


WRONG_FIELDS = [
    ({"port": 0}, "port ... 2222, or =2222 ... got 0"),
    ({"port": 65536}, "port ... 2222, or =2222 ... got 65536"),
    ({"port": "2222x"}, "port ... 2222, or =2222 ... got '2222x'"),
    ({"port": "=="}, "port ... 2222, or =2222 ... got '=='"),
    ({"port": True}, "port ... 2222, or =2222 ... got True"),
    ({"port": -5}, "port ... 2222, or =2222 ... got -5"),
    ({"image": 5}, "image must be a string, got 5"),
    ({"image": "a b"}, "image ... name of an image, got 'a b'"),
    ({"cwd": 5}, "cwd must be a string, got 5"),
    ({"env": "A=1"}, "env must be a dict, got 'A=1'"),
    ({"env": {"A": 1}}, "env must contain strings, got 1 for A"),
    ({"env": {"1": "1"}}, "env needs a variable name before =, got '1'"),
    ({"reserve_port": "no"}, "reserve_port must be True or False, got 'no'"),
]


@pytest.mark.parametrize("fields, problem", WRONG_FIELDS)
def test_a_wrong_field_is_named(fields, problem):
    assert begins(problem_of(fields), f"job 'worker': {problem}")


def problem_of(fields):
    with pytest.raises(SpecError) as caught:
        workers(1, **fields)
    return str(caught.value)


@pytest.mark.parametrize(
    "port, wanted, insists",
    [(None, 0, False), (22, 22, False), ("22", 22, False), ("=22", 22, True)],
)
def test_a_port_is_a_wish_or_insisted_on(port, wanted, insists):
    job = workers(1, port=port)
    assert (job.wanted_port, job.insists_on_port) == (wanted, insists)


def test_two_tasks_on_one_machine_cannot_insist_on_one_port():
    with pytest.raises(SpecError, match=r"^job 'worker': port =2222 cannot be the port of two"):
        make_config(workers(2, port="=2222"), master="local")
    make_config(workers(2, port=2222), master="local")
    make_config(workers(2, port="=2222"), master="mesos:5050")


def test_a_job_is_shown_with_what_is_its_own():
    assert eval(repr(OWN)) == OWN
    assert repr(OWN) == "Job('worker', 1, cmd='true', image='me/gpu', env={'A': '2'}, cwd='/work')"
    assert {OWN: 1}[workers(1, image="me/gpu", env={"A": "2"}, cwd="/work")] == 1
