"""Our own format: keys are checked and named, jobs and settings come out."""

from __future__ import annotations

import pytest

from tests.sentences import begins, names
from tfmesos.config.job import Job
from tfmesos.errors import SpecError
from tfmesos.jobfiles.formats import translate
from tfmesos.jobfiles.native import changed, checked, jobs_and_settings, key_of
from tfmesos.jobfiles.reading import read
from tfmesos.jobfiles.translation import JobFileError


def jobs_of(document):
    return jobs_and_settings(checked(document))[0]


def test_a_document_becomes_jobs_and_settings():
    document = {
        "name": "mnist",
        "cmd": "python train.py",
        "hang_timeout": 5,
        "jobs": {
            "ps": {"count": 1, "serve": True},
            "worker": {"num": 2, "mem": 64},
            "board": {"command": ["tensorboard"], "cpus": 0.5},
        },
    }
    jobs, settings = jobs_and_settings(checked(document))
    assert jobs == [
        Job("ps", 1),
        Job("worker", 2, mem=64, cmd="python train.py"),
        Job("board", 1, cpus=0.5, cmd=["tensorboard"]),
    ]
    assert settings == {"name": "mnist", "hang_timeout": 5}


def test_a_job_without_fields_is_one_task():
    assert jobs_of({"cmd": "x", "jobs": {"chief": None}}) == [Job("chief", 1, cmd="x")]


WRONG = [
    ("nam: x", "j.yaml:1: nam is not a setting ... name?"),
    ("frobnicate: x", "j.yaml:1: frobnicate is not a setting"),
    ("jobs:\n worker:\n  memm: 5", "j.yaml:3: jobs.worker.memm is not a field ... mem?"),
    ("jobs:\n worker:\n  name: w", "j.yaml:3: jobs.worker.name is not a field"),
    ("jobs: 5", "j.yaml:1: jobs ... names of jobs, ... got 5"),
    ("jobs:\n worker: 2", "j.yaml:2: jobs.worker ... fields of a job, ... got 2"),
    ("cmd: a\ncommand: b", "j.yaml:2: command and cmd mean the same"),
    ("jobs:\n w: {num: 1, count: 2}", "j.yaml:2: jobs.w.count and num mean the same"),
    ("jobs:\n w: {serve: 'yes'}", "j.yaml:2: jobs.w.serve ... true or false, got 'yes'"),
    ("jobs:\n w: {serve: true, cmd: x}", "j.yaml:2: jobs.w.serve and cmd are mutually"),
]


def problem(text):
    with pytest.raises(JobFileError) as caught:
        translate(read(text.encode(), "j.yaml"))
    return str(caught.value)


@pytest.mark.parametrize("text, said", WRONG)
def test_a_wrong_key_is_named_with_its_line_and_the_nearest_right_one(text, said):
    assert begins(problem(text), said)


def test_a_job_needs_a_command_or_serves():
    with pytest.raises(SpecError) as caught:
        jobs_of({"jobs": {"worker": {"num": 2}}})
    assert names(str(caught.value), "jobs.worker.cmd is missing", "the job", "all")


def test_changes_win_job_by_job_and_variable_by_variable():
    document = checked(
        {
            "cmd": "a",
            "image": "one",
            "env": {"A": "1", "B": "1"},
            "volumes": ["/a:/a"],
            "jobs": {"worker": {"num": 2, "mem": 64}, "ps": {}},
        }
    )
    changes = {
        "cmd": ["b"],
        "image": "",
        "name": None,
        "env": {"B": "2"},
        "volumes": ["/b:/b"],
        "jobs": {"worker": {"num": 4}, "chief": {"num": 1}},
    }
    assert changed(document, changes) == {
        "cmd": ["b"],
        "image": "",
        "env": {"A": "1", "B": "2"},
        "volumes": ["/a:/a", "/b:/b"],
        "jobs": {"worker": {"num": 4, "mem": 64}, "ps": {}, "chief": {"num": 1}},
    }


def test_an_error_of_a_value_leads_back_to_its_key():
    document = checked({"hang_timeout": -1, "cmd": "x", "jobs": {"worker": {"mem": 1}}})
    assert key_of(document, SpecError("worker", "mem", "")) == ("jobs", "worker", "mem")
    assert key_of(document, SpecError(None, "hang_timeout", "")) == ("hang_timeout",)
    assert key_of(document, SpecError("worker", "cmd", "")) == ("cmd",)
    assert key_of(document, SpecError("worker", "cpus", "")) is None
    assert key_of(document, SpecError(None, "image", "")) is None


def test_jobs_call_the_entry_but_a_ps_one_that_serves_and_one_with_a_command():
    jobs = {"ps": {}, "chief": {}, "worker": {"serve": True}, "board": {"cmd": "board"}}
    found = {job.name: job.cmd for job in jobs_of({"entry": "train:main", "jobs": jobs})}
    called = ("python3", "-m", "tfmesos.node.entry", "train:main")
    assert found == {"ps": None, "chief": called, "worker": None, "board": "board"}


def test_an_entry_and_a_command_for_the_same_jobs_exclude_each_other():
    with pytest.raises(SpecError, match=r"^entry and a command are mutually exclusive"):
        jobs_of({"entry": "train:main", "cmd": "x", "jobs": {"worker": {}}})


def test_what_is_said_of_the_whole_run_later_wins_over_what_a_job_says():
    document = {
        "image": "one",
        "jobs": {
            "worker": {"num": 2, "image": "two", "restarts": 1, "env": {"A": "1", "B": "1"}},
            "ps": {"cmd": "x", "constraints": ["hostname:UNIQUE"]},
        },
    }
    changes = {"image": "", "env": {"A": "2"}, "constraints": ["a:UNIQUE"], "cmd": "y", "cwd": None}
    found = changed(document, changes)
    assert found["jobs"] == {
        "worker": {"num": 2, "restarts": 1, "env": {"B": "1"}},
        "ps": {"cmd": "x", "constraints": ["hostname:UNIQUE"]},
    }
    assert found["image"] == "" and found["env"] == {"A": "2"}
