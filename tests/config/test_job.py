import pytest

from tests.sentences import begins
from tfmesos.config.job import Job, Resources
from tfmesos.config.jobs import parse_jobs
from tfmesos.config.launch_config import (
    LaunchConfig,
)
from tfmesos.config.parsing import parse_address, parse_extra_config
from tfmesos.config.task_choice import TaskChoice
from tfmesos.config.volumes import Volume, parse_volumes
from tfmesos.errors import SpecError

WRONG_FIELDS = [
    ({"num": -1}, "job 'worker': num must not be negative, got -1"),
    ({"num": 10**6 + 1}, "job 'worker': num ... 1000000, got 1000001"),
    ({"num": 1.5}, "job 'worker': num must be a whole number, got 1.5"),
    ({"num": "2"}, "job 'worker': num must be a number, got '2'"),
    ({"num": 1, "cpus": 0}, "job 'worker': cpus must be above 0, got 0"),
    ({"num": 1, "cpus": float("nan")}, "job 'worker': cpus must be a number, got nan"),
    ({"num": 1, "mem": 1}, "job 'worker': mem must be at least 32 (MiB), got 1"),
    ({"num": 1, "gpus": -2}, "job 'worker': gpus must not be negative, got -2"),
    ({"num": 1, "gpus": 0.5}, "job 'worker': gpus must be a whole number, got 0.5"),
    ({"num": 1, "start": 2}, "job 'worker': start ... 0 to num, got 2"),
    ({"num": 1, "cmd": " "}, "job 'worker': cmd must not be empty"),
    ({"num": 1, "cmd": [1]}, "job 'worker': cmd ... a string or a list"),
]


@pytest.mark.parametrize("fields, message", WRONG_FIELDS)
def test_a_job_that_cannot_be_says_which_field_and_which_value(fields, message):
    assert begins(job_problem(fields), message)


def job_problem(fields):
    with pytest.raises(SpecError) as caught:
        Job("worker", **fields)
    return str(caught.value)


def test_a_job_name_must_be_one_that_tensorflow_accepts():
    with pytest.raises(SpecError, match="letters, digits and _"):
        Job("my-worker", 1)


def test_tensorflow_knows_only_one_chief():
    with pytest.raises(SpecError, match="num must be 0 or 1"):
        Job("chief", 2)


def test_start_leaves_out_the_first_indices():
    assert [task.name for task in Job("worker", 3, start=1).tasks] == ["worker:1", "worker:2"]


@pytest.mark.parametrize("given", [{"name": "ps", "num": 1}, [{"name": "ps", "num": 1}]])
def test_jobs_may_be_given_as_tfmesos_took_them(given):
    assert parse_jobs(given) == [Job("ps", 1)] == parse_jobs(Job("ps", 1))


WRONG_JOBS = [
    ([], "jobs ask for no tasks"),
    ([Job("ps", 0)], "jobs ask for no tasks"),
    ([Job("ps", 1), Job("ps", 1)], "job 'ps': name is given to two jobs"),
    ({"name": "ps", "num": 1, "cpu": 3}, "job 'ps': cpu is not a field ... name, num"),
    ({"name": "ps"}, "job 'ps': num is missing"),
    ({"worker": 1}, "worker is not a field ... name, num"),
    ({"num": 1}, "name is missing"),
    (["ps"], "jobs ... Job objects or dicts, got 'ps'"),
]


@pytest.mark.parametrize("jobs, message", WRONG_JOBS)
def test_wrong_jobs_are_refused_by_name(jobs, message):
    assert begins(jobs_problem(jobs), message) and "None" not in jobs_problem(jobs)


def jobs_problem(jobs):
    with pytest.raises(SpecError) as caught:
        parse_jobs(jobs)
    return str(caught.value)


def test_a_shortage_names_only_what_is_lacking():
    assert Resources.of(2, 100).shortage(Resources.of(4, 64, 1)) == "cpus 2 < 4, gpus 0 < 1"
    assert Resources.of(2, 100).shortage(Resources.of(2, 100)) == ""


@pytest.mark.parametrize(
    "text, volume",
    [
        ("/a:/b", Volume("/a", "/b", False)),
        ("/a:/b:rw", Volume("/a", "/b", False)),
        ("/a:/b:ro", Volume("/a", "/b", True)),
    ],
)
def test_a_volume_may_say_whether_it_can_be_written(text, volume):
    assert Volume.parse(text) == volume


@pytest.mark.parametrize("text", ["/a", "/a:/b:x", "/a:b", "a:/b", "", ":", "/a:/b:ro:rw"])
def test_a_malformed_volume_is_refused_with_its_text(text):
    with pytest.raises(SpecError) as caught:
        Volume.parse(text)
    assert caught.value.field == "volumes" and repr(text) in str(caught.value)


def test_the_same_host_path_can_be_mounted_twice():
    assert len(parse_volumes(["/a:/b", "/a:/c"])) == 2
    assert parse_volumes({"/a": "/b:ro"}) == (Volume("/a", "/b", True),)


def test_a_volume_at_another_place_needs_an_image():
    LaunchConfig(jobs=(Job("ps", 1),), volumes=(Volume("/a", "/a"),))
    with pytest.raises(SpecError, match="needs an image"):
        LaunchConfig(jobs=(Job("ps", 1),), volumes=(Volume("/a", "/b"),))


TASKS = (*Job("worker", 2).tasks, *Job("ps", 2).tasks)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("all", ["worker:0", "worker:1", "ps:0", "ps:1"]),
        ("none", []),
        ("worker:0,ps:*", ["worker:0", "ps:0", "ps:1"]),
        ("ps", ["ps:0", "ps:1"]),
    ],
)
def test_logs_choose_tasks_by_name(text, shown):
    choice = TaskChoice.parse("logs", text, TASKS)
    assert [task.name for task in TASKS if task in choice] == shown


@pytest.mark.parametrize("text", ["chief", "worker:2", "worker:x", "x:*", ","])
def test_logs_of_a_task_that_is_not_there_are_refused(text):
    with pytest.raises(SpecError, match=r"names (no|a) (task|job)"):
        TaskChoice.parse("logs", text, TASKS)


@pytest.mark.parametrize("value", [[], "x", 3, None, {"init": "x"}, {"initializer": 3}])
def test_an_extra_config_that_is_not_one_is_refused(value):
    with pytest.raises(SpecError, match="extra_config"):
        parse_extra_config(value)


def test_an_extra_config_holds_an_initializer_and_a_finalizer():
    assert parse_extra_config({"initializer": "a", "finalizer": "b"}) == ("a", "b")
    assert parse_extra_config({}) == (None, None)


@pytest.mark.parametrize(
    "text, pair",
    [
        ("h", ("h", 0)),
        ("h:80", ("h", 80)),
        ("h:65535", ("h", 65535)),
        ("[::1]:80", ("::1", 80)),
        ("10.0.0.1", ("10.0.0.1", 0)),
    ],
)
def test_an_address_is_a_host_and_perhaps_a_port(text, pair):
    assert parse_address("advertise", text) == pair


@pytest.mark.parametrize("text", ["", ":80", "h:65536", "h:99999", "h:x", "http://h", "::1"])
def test_a_malformed_address_is_refused(text):
    with pytest.raises(SpecError, match="advertise must be HOST or HOST:PORT"):
        parse_address("advertise", text)


def test_the_type_of_a_task_is_its_jobs_name_unless_given():
    assert Job("worker", 1).task_type == "worker"
    job = Job("gpu_worker", 1, task_type="worker")
    assert (job.task_type, repr(job)) == ("worker", "Job('gpu_worker', 1, task_type='worker')")


def test_tasks_of_one_type_are_numbered_one_after_another():
    jobs = parse_jobs([Job("gpu", 2, task_type="worker"), Job("ps", 1), Job("worker", 2)])
    tasks = [task for job in jobs for task in job.tasks]
    assert [task.name for task in tasks] == ["gpu:0", "gpu:1", "ps:0", "worker:0", "worker:1"]
    assert [(task.type, task.number) for task in tasks] == [
        *(("worker", 0), ("worker", 1), ("ps", 0), ("worker", 2), ("worker", 3))
    ]
    assert tasks[3].mesos_name == "/job:worker/task:2"


WRONG_TYPES = [
    (
        [Job("chief", 1), Job("boss", 1, task_type="chief")],
        "job 'boss': task_type 'chief' ... TensorFlow ... only one",
    ),
    (
        [Job("worker", 1), Job("gpu", 2, start=1, task_type="worker")],
        "job 'gpu': start must be 0: worker tasks",
    ),
]


@pytest.mark.parametrize("jobs, problem", WRONG_TYPES)
def test_jobs_that_cannot_share_a_type_are_refused(jobs, problem):
    assert begins(jobs_problem(jobs), problem)


def test_a_task_type_is_a_name():
    with pytest.raises(SpecError, match=r"^job 'a': task_type may contain only letters"):
        Job("a", 1, task_type="a b")
    with pytest.raises(SpecError, match=r"^job 'boss': num must be 0 or 1 .*one chief"):
        Job("boss", 2, task_type="chief")
