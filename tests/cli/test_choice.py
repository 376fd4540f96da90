"""Which run and which task a command means."""

from __future__ import annotations

import json

import pytest

from tfmesos.cli.commands.choice import NoSuchTask, task_of, tasks_of
from tfmesos.runs.run_directories import Store


@pytest.fixture
def begun(tmp_path):
    """A run whose tasks may speak already, but whose events are not written down yet."""
    run = Store(tmp_path / "runs").create(lambda: "aaaa")
    run.about_file.write_text(json.dumps({"began": 1.0, "jobs": {"ps": 1, "worker": 2}}))
    return run


def test_the_tasks_of_a_run_are_known_before_its_record_has_begun(begun):
    assert tasks_of(begun) == ["ps:0", "worker:0", "worker:1"]
    assert task_of(begun, "worker:1") == "worker:1"


def test_a_task_that_a_run_does_not_have_is_named_with_those_it_has(begun):
    with pytest.raises(NoSuchTask, match="aaaa has no task 'worker:2': it has ps:0, worker:0"):
        task_of(begun, "worker:2")
