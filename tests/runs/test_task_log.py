"""The log of a task keeps its beginning and its end, and says what is missing."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st

from tfmesos.runs.task_log import PIECES, LogReader, TaskLog

LIMIT = 800


def numbered(first, last):
    return [b"line %05d\n" % number for number in range(first, last)]


def size(path):
    return sum(other.stat().st_size for other in path.parent.iterdir())


def test_a_short_log_is_kept_whole(tmp_path):
    log = TaskLog(tmp_path / "log", LIMIT)
    log.append(b"".join(numbered(0, 10)))
    log.join()
    assert (tmp_path / "log").read_bytes() == b"".join(numbered(0, 10))


def test_a_long_log_loses_its_middle_and_says_how_many_lines_that_were(tmp_path):
    path = tmp_path / "log"
    log = TaskLog(path, LIMIT)
    for line in numbered(0, 1000):
        log.append(line)
        assert size(path) <= LIMIT + PIECES * len(b"1000\n")
    log.join()
    lines = path.read_bytes().splitlines(keepends=True)
    (note,) = [line for line in lines if not line.startswith(b"line")]
    missing = int(note[1:].split()[0])
    at = lines.index(note)
    assert lines == [*numbered(0, at), note, *numbered(at + missing, 1000)]
    assert [other.name for other in tmp_path.iterdir()] == ["log"]
    assert path.stat().st_size > LIMIT // 2


def test_the_files_are_for_their_owner_alone(tmp_path):
    TaskLog(tmp_path / "log", LIMIT).append(b"secret\n")
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_a_line_that_is_being_written_is_not_read_yet(tmp_path):
    reader = LogReader(tmp_path / "log")
    assert list(reader.lines()) == []
    (tmp_path / "log").write_bytes(b"one\ntw")
    assert list(reader.lines()) == [b"one\n"]
    (tmp_path / "log").write_bytes(b"one\ntwo\n")
    assert list(reader.lines()) == [b"two\n"]


@example(steps=[*["append"] * 6, "read", *["append"] * 5, "join"])  # read, and then left out
@given(steps=st.lists(st.sampled_from(["append", "append", "read", "join"]), max_size=300))
def test_a_follower_gets_every_line_or_is_told_how_many_it_missed(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("logs") / "log"
    log, reader, written, got = TaskLog(path, LIMIT), LogReader(path), 0, []
    for step in steps:
        if step == "append":
            log.append(b"".join(numbered(written, written + 7)))
            written += 7
        elif step == "read":
            got += reader.lines()
        else:
            log.join()
            break
    got += reader.lines()
    expected = 0
    for line in got:
        if line.startswith(b"line"):
            assert line == b"line %05d\n" % expected
            expected += 1
        else:
            expected += int(line[1:].split()[0])
    assert expected == written


@given(st.integers(0, 400), st.integers(0, 2 * LIMIT), st.integers(1, 60))
def test_a_reader_that_passes_over_the_beginning_reads_the_same_end(lines, keep, more):
    with TemporaryDirectory() as place:
        path = Path(place, "log")
        log, reader, whole = TaskLog(path, LIMIT), LogReader(path), LogReader(path)
        for line in numbered(0, lines):
            log.append(line)
        reader.skip(keep)
        end, everything = list(reader.lines()), list(whole.lines())
        assert end == everything[len(everything) - len(end) :]
        assert sum(map(len, end)) <= keep + len(b"(1000 lines left out ...)\n") * 3
        for line in numbered(lines, lines + more):
            log.append(line)
        log.join()
        assert list(reader.lines()) == list(whole.lines())
