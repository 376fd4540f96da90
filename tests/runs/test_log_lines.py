"""A line of a log tells when it came, on which stream, and what it said."""

from hypothesis import given
from hypothesis import strategies as st

from tfmesos.runs.log_lines import Line, parse, written_line

AT = 1_800_000_000.125


@given(st.sampled_from(["stdout", "stderr"]), st.text().map(lambda t: t.replace("\r", "")))
def test_any_line_comes_back_as_it_was(stream, text):
    (line, *rest) = written_line(AT, stream, text + "\n").split(b"\n")[:-1]
    if "\n" not in text:
        safe = text.encode("utf-8", "backslashreplace").decode()
        assert (parse(line + b"\n"), rest) == (Line(AT, stream, safe), [])


def test_every_line_has_its_own_time_and_stream():
    assert written_line(AT, "stderr", "a\nb\n") == (
        b"2027-01-15T08:00:00.125Z err a\n2027-01-15T08:00:00.125Z err b\n"
    )


def test_of_a_progress_bar_the_last_state_is_written():
    assert written_line(AT, "stdout", "10%\r50%\r100%\r\nnext\n").endswith(
        b"Z out 100%\n2027-01-15T08:00:00.125Z out next\n"
    )


def test_what_has_no_time_is_a_note_of_ours():
    note = b"(12 lines left out here: the log of a task is limited)\n"
    assert parse(note) == Line(0.0, "tfrun", note.decode().rstrip())
