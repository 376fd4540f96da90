"""Whatever stands in a foreign document: it is translated, or refused by a key of it."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.errors import SpecError
from tfmesos.jobfiles.marathon import group as marathon
from tfmesos.jobfiles.native import checked, jobs_and_settings
from tfmesos.jobfiles.tfjob import document as tfjob
from tfmesos.jobfiles.translation import JobFileError

from .marathon.groups import group
from .tfjob import tfjobs

V1 = tfjob.from_ours(
    {
        "name": "a",
        "image": "x",
        "env": {"A": "$(B)"},
        "volumes": ["/a:/b:ro"],
        "cwd": "/x",
        "cmd": ["x", "$(A)"],
        "run_timeout": 5,
        "jobs": {"worker": {"num": 2, "port": 5, "gpus": 1}, "ps": {"serve": True, "disk": 5}},
    }
)
WRITTEN = marathon.from_ours({"name": "a", "cmd": "{worker_hosts}", "jobs": {"worker": {"num": 2}}})
DOCUMENTS = [
    *((tfjob, V1), (tfjob, tfjobs.azure_job()), (tfjob, tfjobs.example_job(command=["x"]))),
    *((marathon, group()), (marathon, WRITTEN)),
]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["-1", "{", '{"cmd": 5}', '{"serve": false}', "PS", "9" * 30, "worker-1"]),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=3),
    max_leaves=5,
)  # fmt: skip


def places(tree, key=()):
    yield key
    below = tree if isinstance(tree, dict) else dict(enumerate(tree if type(tree) is list else ()))
    for name, one in below.items():
        yield from places(one, (*key, name))


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
@given(data=st.data())
def test_any_change_of_a_document_is_understood_or_refused(number, data):
    format, document = DOCUMENTS[number]
    tree = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([key for key in places(tree) if key]))
        at = tree
        for name in way:
            at = at[name]
        at[last] = data.draw(values)
    try:
        found = format.to_ours(tree)
    except JobFileError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        return
    try:
        jobs_and_settings(checked(found.document))
    except SpecError as error:  # what it says of our own keys
        assert len(str(error)) < 1000
    json.dumps(found.remarks)
