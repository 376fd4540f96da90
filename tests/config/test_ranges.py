"""A job may ask for a range of tasks."""

import pytest

from tests.builders import workers
from tfmesos.config.changes import changed_jobs, difference
from tfmesos.config.job import Job
from tfmesos.config.jobs import parse_jobs
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config


@pytest.mark.parametrize("given", ["2:8", " 2 : 8 ", (2, 8), [2, 8]])
def test_a_range_is_a_text_or_a_pair(given):
    job = Job("worker", given)
    assert (job.num, job.at_least, job.size_text) == (8, 2, "2:8")
    optional = [task.index for task in job.tasks if task.is_optional]
    assert optional == [2, 3, 4, 5, 6, 7]
    assert job == Job("worker", 8, at_least=2)


def test_a_range_of_one_number_is_a_number():
    assert Job("worker", "4:4") == Job("worker", 4)


@pytest.mark.parametrize("given", ["8:2", "0:4", "a:b", "1:2:3", ":", "-1:2", (1, 2, 3), (1, 2.5)])
def test_a_wrong_range_is_refused_by_the_field(given):
    with pytest.raises(SpecError) as caught:
        Job("worker", given)
    assert caught.value.field == "num" and "MIN:MAX" in caught.value.problem


def test_one_job_of_a_run_has_a_range_and_no_other_has_its_type():
    for jobs in (
        [Job("ps", "1:2"), Job("worker", "1:2")],
        [Job("a", "1:2", task_type="worker"), Job("worker", 1)],
    ):
        with pytest.raises(SpecError, match="range"):
            parse_jobs(jobs)


def test_an_update_gives_a_job_a_number_or_another_range_and_says_how_many_there_are():
    old = LaunchConfig(jobs=(Job("worker", "2:8", cmd="train"),))
    for given, text in ((4, "worker: 5 -> 4"), ("2:8", "worker: 5 -> 2:8")):
        new = old.in_generation(1, changed_jobs(old, {"jobs": {"worker": given}}))
        assert difference(old, new, {"worker": 5}) == (text,)
    new = old.in_generation(1, changed_jobs(old, {"jobs": {"worker": "2:8"}}))
    assert difference(old, new, {"worker": 8}) == ()


@pytest.mark.parametrize(
    "num, settings, problem",
    [
        (2, {"restart_policy": "all"}, "MIN:MAX"),
        ("2:4", {}, "restart policy 'all'"),
    ],
)
def test_a_run_that_cannot_grow_is_not_asked_to(num, settings, problem):
    with pytest.raises(SpecError, match=problem) as refused:
        make_config([workers(num)], grow_every=60, **settings)
    assert refused.value.field == "grow_every"
