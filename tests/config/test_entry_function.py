"""--entry: which tasks call the function, and what they are told."""

from __future__ import annotations

import json

import pytest

from tests.sentences import names
from tfmesos.config.entry_function import entry_environment, target, with_entry
from tfmesos.config.job import Job
from tfmesos.errors import SpecError

GIVEN = {"entry": "train:main", "context": None, "log_dir": None, "protocol": "grpc"}
CALLED = ("python3", "-m", "tfmesos.node.entry", "train:main")


def commands(jobs, **given):
    return {job.name: job.cmd for job in with_entry(jobs, {**GIVEN, **given})}


def test_every_task_calls_the_function_but_a_ps_and_those_with_a_command():
    jobs = [Job("ps", 1), Job("worker", 2), Job("evaluator", 1), Job("board", 1, cmd="board")]
    called = {"ps": None, "worker": CALLED, "evaluator": CALLED, "board": "board"}
    assert commands(jobs) == called


def test_jobs_beside_one_that_has_the_function_already_are_meant_to_serve():
    jobs = [Job("chief", 1, cmd=CALLED), Job("worker", 2)]
    assert commands(jobs) == {"chief": CALLED, "worker": None}


def test_without_an_entry_jobs_without_a_command_stay_servers():
    assert commands([Job("ps", 1), Job("worker", 2)], entry=None) == {"ps": None, "worker": None}


@pytest.mark.parametrize("jobs", [[Job("ps", 2)], [Job("ps", 1), Job("worker", 1, cmd="true")]])
def test_a_function_that_no_task_would_call_is_refused(jobs):
    with pytest.raises(SpecError, match=r"entry 'train:main' is called by no task"):
        commands(jobs)


def test_a_part_of_a_cluster_cannot_be_told_its_servers():
    with pytest.raises(SpecError, match="entry needs every task of the cluster"):
        commands([Job("worker", 2, start=1)])


@pytest.mark.parametrize("field, value", [("context", {"a": 1}), ("log_dir", "/logs")])
def test_what_only_a_function_is_told_needs_one(field, value):
    with pytest.raises(SpecError, match=f"^{field} is used only with entry"):
        commands([Job("worker", 1)], entry=None, **{field: value})


@pytest.mark.parametrize("good", ["train:main", "a.b.c:f", "demos/poets:main", "/x/y:main"])
def test_a_function_is_named_with_its_module_and_perhaps_a_directory(good):
    assert target(good) == ""


@pytest.mark.parametrize("bad", ["train", "train:", ":main", "train.py", "a b:c", "1:main", "a/:b"])
def test_anything_else_is_refused_with_an_example(bad):
    assert names(target(bad), "MODULE:FUNCTION", "train:main", repr(bad))


def test_the_wrapper_finds_what_was_given_in_its_environment():
    given = {**GIVEN, "context": {"steps": [1, "ü"]}, "log_dir": "/logs"}
    found = entry_environment(given)
    assert json.loads(found.pop("TFMESOS_CONTEXT")) == {"steps": [1, "ü"]}
    assert found == {"TFMESOS_LOG_DIR": "/logs", "TFMESOS_PROTOCOL": "grpc"}
    assert entry_environment({**GIVEN, "entry": None}) == {}


@pytest.mark.parametrize("value", [object(), float("nan")])
def test_a_context_that_is_not_json_is_refused(value):
    with pytest.raises(SpecError, match=r"^context must be a JSON object: "):
        entry_environment({**GIVEN, "context": {"a": value}})
