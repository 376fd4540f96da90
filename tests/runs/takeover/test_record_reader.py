"""However a record is damaged: it leads to the present, or the run is refused in one sentence."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runs.takeover.recorded import record_of_a_run
from tfmesos.launcher.past import CannotTakeOver
from tfmesos.runs.run_directories import Store
from tfmesos.runs.takeover import taken_messages
from tfmesos.runs.takeover.record_reader import past_of
from tfmesos.runs.takeover.taken_messages import Taken
from tfmesos.runs.task_log import Position
from tfmesos.version import __version__

LINES = record_of_a_run().splitlines()
TAKEN = b'["run-worker-0-1", 7, false, "worker:0", [0, 10, 3, 0]]'
GONE = object()
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = Store(tmp_path_factory.mktemp("state") / "runs").create(lambda: "abcd")
    about = {"began": time.time(), "survive": 600, "versions": {"tfmesos": __version__}}
    run.about_file.write_text(json.dumps(about))
    return run


def places(value, path=()):
    """The paths of all that is in *value*, which is JSON."""
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    for key, one in inner:
        yield from places(one, (*path, key))


def changed(value, path, other):
    """*value* with *other* at *path*, or with nothing there if that is GONE."""
    if not path:
        return other
    key, *rest = path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = [(at, changed(one, rest, other) if at == key else one) for at, one in items]
    kept = [(at, one) for at, one in found if one is not GONE]
    return dict(kept) if isinstance(value, dict) else [one for _, one in kept]


@st.composite
def damaged(draw, line):
    """The *line* with one value changed or left out, or with other bytes in it."""
    if draw(st.integers(0, 5)) == 0:
        at, length = draw(st.integers(0, len(line))), draw(st.integers(0, 9))
        return line[:at] + draw(st.binary(max_size=4)) + line[at + length :]
    value = json.loads(line)
    path = draw(st.sampled_from(list(places(value))))
    other = draw(st.just(GONE) | ANYTHING)
    if other is GONE and not path:
        return b""
    return json.dumps(changed(value, path, other)).encode()


def outcome_of(run):
    """Of what the next launcher does with the record before it does anything else."""
    try:
        past = past_of(run, [])
        assert past.last < float("inf")
        past.check()
    except CannotTakeOver as error:
        assert "\n" not in str(error) and error.exit_code == 75
        return str(error)
    return ""


def test_the_record_as_it_was_written_leads_to_the_present(run):
    run.events_file.write_bytes(b"\n".join(LINES) + b"\n")
    assert outcome_of(run) == ""


@settings(max_examples=600)
@given(st.data())
def test_a_damaged_line_of_the_record_is_no_internal_error(run, data):
    number = data.draw(st.integers(0, len(LINES) - 1))
    line = data.draw(damaged(LINES[number]))
    run.events_file.write_bytes(b"\n".join([*LINES[:number], line, *LINES[number + 1 :]]) + b"\n")
    outcome_of(run)


@pytest.mark.parametrize(
    "line",
    [
        b'{"event": {"is": "core.events.Ticked"}}',
        b'{"event": {"is": "core.events.Ticked"}, "at": null}',
        b'{"event": {"is": "core.events.Ticked"}, "at": "5"}',
        b'{"event": {"is": "core.events.Ticked"}, "at": Infinity}',
        b'{"event": {"is": "core.events.Ticked"}, "at": 1' + b"0" * 400 + b"}",
        b'{"event": {"is": "core.events.Nothing"}, "at": 5.0}',
        b"[" * 100_000,
    ],
)
def test_the_damaged_line_is_named(run, line):
    run.events_file.write_bytes(b"\n".join([*LINES, line]) + b"\n")
    assert f"{run.events_file} is damaged: line {len(LINES) + 1}" in outcome_of(run)


@settings(max_examples=600)
@given(damaged(TAKEN))
def test_a_damaged_line_of_what_was_taken_is_refused_or_is_still_one(tmp_path_factory, line):
    path = tmp_path_factory.getbasetemp() / "taken"
    path.write_bytes(line + b"\n")
    try:
        found = taken_messages.read(path)
    except ValueError as error:
        assert "\n" not in str(error)
        return
    for one in found:
        assert [type(value) for value in one._values().values()][:4] == [str, int, bool, str]
        assert one.number >= 0
        assert one.position is None or [type(part) for part in one.position] == [int] * 4


@pytest.mark.parametrize(
    "line",
    [
        b"5",
        b"null",
        b'"abcde"',
        b"[]",
        b'[["a"], 7, false, "worker:0", null]',
        b'["a", true, false, "worker:0", null]',
        b'["a", -1, false, "worker:0", null]',
        b'["a", 7, 0, "worker:0", null]',
        b'["a", Infinity, false, "worker:0", null]',
        b'["a", 7, false, 5, null]',
        b'["a", 7, false, "worker:0", [0, 10, 3]]',
        b'["a", 7, false, "worker:0", [0, 10, 3, null]]',
        b'["a", 7, false, "worker:0", {}]',
    ],
)
def test_what_was_taken_is_refused_with_the_number_of_a_line_that_is_no_entry(tmp_path, line):
    path = tmp_path / "taken.jsonl"
    path.write_bytes(TAKEN + b"\n" + line + b"\n")
    with pytest.raises(ValueError, match=r"taken\.jsonl is damaged: line 2 is malformed"):
        taken_messages.read(path)


def test_a_line_of_what_was_taken_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "taken.jsonl"
    path.write_bytes(TAKEN + b"\n")
    expected = Taken("run-worker-0-1", 7, False, "worker:0", Position(0, 10, 3, 0))
    assert taken_messages.read(path) == [expected]
