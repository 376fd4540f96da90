"""What is written down of the messages of runners, and the logs that fit to it."""

from __future__ import annotations

import pytest

from tfmesos.runs.takeover import taken_messages
from tfmesos.runs.takeover.taken_messages import Taken, TakenLog
from tfmesos.runs.task_log import Position, TaskLog


def one(number, task_id="run-worker-0-1", is_last=False):
    return Taken(task_id, number, is_last, "worker:0", Position(0, 10 * number, number, 0))


def test_the_last_line_of_each_attempt_counts(tmp_path):
    log = TakenLog(tmp_path / "taken")
    log.add([one(1), one(7, "run-worker-1-1")])
    log.add([one(2), one(3, is_last=True)])
    assert taken_messages.read(tmp_path / "taken") == [
        one(7, "run-worker-1-1"),
        one(3, is_last=True),
    ]


def test_a_line_that_is_cut_is_none_and_nonsense_is_refused(tmp_path):
    path = tmp_path / "taken"
    TakenLog(path).add([one(1), one(2)])
    path.write_bytes(path.read_bytes()[:-3])
    assert taken_messages.read(path) == [one(1)]
    path.write_text("nonsense\n")
    with pytest.raises(ValueError):
        taken_messages.read(path)
    assert taken_messages.read(tmp_path / "none") == []


def test_the_file_does_not_grow_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(taken_messages, "REWRITE_AT", 2000)
    log = TakenLog(tmp_path / "taken")
    for number in range(1, 1000):
        log.add([one(number)])
    assert (tmp_path / "taken").stat().st_size <= 2000
    assert taken_messages.read(tmp_path / "taken") == [one(999)]
    TakenLog(tmp_path / "taken", taken_messages.read(tmp_path / "taken"))
    assert taken_messages.read(tmp_path / "taken") == [one(999)]


@pytest.mark.parametrize("lines", [0, 3, 40, 200])
def test_a_log_goes_on_after_the_last_message_that_is_written_down(tmp_path, lines):
    """In its beginning, or in one of its pieces."""
    path = tmp_path / "log"
    first, limit = TaskLog(path, 1000), 1000
    for number in range(lines):
        first.append(b"line %04d\n" % number)
    position = first.position
    first.append(b"".join(b"again %04d\n" % number for number in range(60)))
    second = TaskLog(path, limit)
    second.go_on_at(position)
    second.append(b"the end\n")
    second.join()
    kept = path.read_bytes().splitlines()
    assert not any(line.startswith(b"again") for line in kept)
    assert kept[-2:] == ([b"line %04d" % (lines - 1)] if lines else []) + [b"the end"]
    if lines == 200:
        (note,) = [line for line in kept if line.startswith(b"(")]
        left_out = int(note.split()[0][1:])
        assert left_out + len(kept) - 1 == lines + 1


@pytest.mark.parametrize("lines", [0, 3, 200])
def test_a_log_goes_on_where_it_ends(tmp_path, lines):
    first = TaskLog(tmp_path / "log", 1000)
    for number in range(lines):
        first.append(b"line %04d\n" % number)
    second = TaskLog(tmp_path / "log", 1000)
    second.go_on_at_end()
    assert second.position == first.position
