"""What the disk has no room for is counted, and the record says so."""

import re
import resource
from contextlib import contextmanager

import pytest

from tfmesos.core.outcome import Outcome
from tfmesos.runs.following import Output
from tfmesos.runs.listing import as_json, status_of
from tfmesos.runs.log_lines import lines_in, written_line
from tfmesos.runs.page.views import _origin
from tfmesos.runs.recorder import RESERVE, Recorder
from tfmesos.runs.run_directories import Store
from tfmesos.runs.task_log import LogReader, NotWritten, TaskLog, append

NOTE = re.compile(r"\((\d+) lines left out here: (.+)\)")


@contextmanager
def room(size):
    """No file becomes larger than that."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def directory(tmp_path):
    return Store(tmp_path).create(lambda: "aaaa")


@pytest.fixture
def recorder(directory):
    said = []
    about = {"jobs": {"worker": 2}, "cwd": "/"}
    recorder = Recorder(directory, about, said.append, wall=lambda: 1000.0)
    recorder.complaints = said
    yield recorder
    recorder._writer.close(10)


def shown_and_missing(directory, task):
    """Lines of the task in its log, and those that notes in it tell of."""
    shown = missing = 0
    for _, line in Output(directory, [task]).read():
        note = line.stream == "tfrun" and NOTE.fullmatch(line.text)
        missing += int(note[1]) if note else 0
        shown += 0 if note else 1
    return shown, missing


@pytest.mark.parametrize("size", [0, 1, 5, 6, 7, 11, 12, 17, 18])
def test_what_is_not_written_is_known_to_the_line(tmp_path, size):
    data = b"line1\nline2\nline3\n"
    with room(size):
        if size == len(data):
            append(tmp_path / "log", data)
            rest = b""
        else:
            with pytest.raises(NotWritten) as caught:
                append(tmp_path / "log", data)
            rest = caught.value.rest
    assert (tmp_path / "log").read_bytes() + rest == data
    assert len(rest) == -(-(len(data) - size) // 6) * 6


def test_a_note_counts_the_lines_that_it_tells_of():
    text = b"".join(
        written_line(1.0, stream, said)
        for stream, said in [
            ("stdout", "a\nb\n"),
            ("tfrun", "(12 lines left out here: they came too fast)\n"),
            ("stdout", "(13 lines left out here: says the task)\n"),
        ]
    )
    assert lines_in(text) == 2 + 12 + 1


def test_shown_and_missing_lines_are_all_that_were_written(recorder, directory):
    with room(2 * RESERVE):
        for number in range(0, 30_000, 10):
            lines = "".join(f"{n:05d}\n" for n in range(number, number + 10))
            recorder.written("worker:0", "stdout", lines, 0)
        recorder.written("worker:1", "stdout", "after\n", 5)
        recorder.end(Outcome(), [])
    (said,) = recorder.complaints
    assert "File too large" in said
    missing = directory.outcome["missing"]
    assert missing["why"] == "File too large"
    shown, _ = shown_and_missing(directory, "worker:0")
    assert 0 < shown < 30_000
    assert shown + missing["lines"]["worker:0"] == 30_000
    other, noted = shown_and_missing(directory, "worker:1")
    assert other + noted == 6


def test_status_and_page_name_what_is_missing(recorder, directory):
    with room(RESERVE):
        recorder.written("worker:0", "stdout", "x\n" * 20_000, 0)
        recorder.end(Outcome(), [])
    number = directory.outcome["missing"]["lines"]["worker:0"]
    words = f"{number} lines of worker:0"
    assert any(words in line and "File too large" in line for line in status_of(directory, 0))
    assert as_json(directory, 0)["missing"]["lines"]["worker:0"] == number
    assert words in dict(_origin(directory)["facts"])["Missing"]


def test_a_run_that_goes_on_says_that_its_record_does_not(recorder, directory):
    assert directory.missing is None
    with room(RESERVE):
        recorder.written("worker:0", "stdout", "x\n" * 20_000, 0)
        recorder._writer.close(10)
    assert directory.outcome is None
    assert "File too large" in str(directory.missing)


def test_a_whole_record_lacks_nothing(recorder, directory):
    recorder.written("worker:0", "stdout", "x\n", 0)
    recorder.end(Outcome(), [])
    assert (directory.outcome["missing"], directory.missing) == (None, None)


def test_a_piece_that_could_not_be_begun_does_not_stop_its_reader(tmp_path):
    path = tmp_path / "log"
    log, lines = TaskLog(path, 800), [b"line %05d\n" % number for number in range(34)]
    for line in lines:  # fills the beginning
        log.append(line)
    with room(0), pytest.raises(OSError):
        log.append(b"one more line that needs a new piece\n")
    assert list(LogReader(path).lines()) == lines
    path.with_name("log.1").write_bytes(b"")  # as a reader finds it that is fast
    assert list(LogReader(path).lines()) == lines


def test_the_end_of_a_log_says_what_is_missing_there(recorder, directory):
    with room(RESERVE):
        recorder.written("worker:0", "stdout", "x\n" * 20_000, 0)
        assert recorder._writer.close(30)
    recorder.end(Outcome(), [])  # now there is room for it
    shown, noted = shown_and_missing(directory, "worker:0")
    assert (shown + noted, noted) == (20_000, directory.outcome["missing"]["lines"]["worker:0"])
