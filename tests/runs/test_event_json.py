"""What is written down of an event is the event."""

import json

import pytest
from hypothesis import given

from tests.engines.mesos.histories import any_event
from tfmesos.config.secret import Secret
from tfmesos.core import events as happened
from tfmesos.engines.mesos import events as mesos
from tfmesos.errors import Interrupted, MasterError, TaskFailed
from tfmesos.runs.event_json import from_json, to_json


def through_a_file(value):
    return from_json(json.loads(json.dumps(to_json(value))))


@given(any_event)
def test_any_event_comes_back_as_it_was(event):
    assert through_a_file(event) == event


@pytest.mark.parametrize(
    "error", [MasterError("gone"), Interrupted("hung up", 129), TaskFailed("worker:0", "died", 3)]
)
def test_an_error_comes_back_with_its_text_and_exit_code(error):
    found = through_a_file(mesos.MasterGaveUp(error)).error
    assert (type(found), str(found), found.exit_code) == (type(error), str(error), error.exit_code)


def test_a_secret_is_not_written_down():
    assert "hunter2" not in json.dumps(to_json(happened.EngineTrouble(Secret("hunter2"))))


@pytest.mark.parametrize(
    "value",
    [
        {"is": "os.system", "command": "true"},
        {"is": "runs.values.to_json"},
        {"is": "record.Nothing"},
        {"is": "..x.Y"},
        {"error": "core.events.TaskReady", "text": "", "code": 1},
        {"neither": 1},
    ],
)
def test_nothing_but_values_of_a_run_is_made_of_what_is_read(value):
    with pytest.raises(ValueError):
        from_json(value)
