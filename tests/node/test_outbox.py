from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.errors import FrameError
from tfmesos.node import wire
from tfmesos.node.outbox import (
    MAX_LINE,
    TAIL_CHARACTERS,
    TAIL_LINES,
    LineSplitter,
    Outbox,
    Pace,
    Tail,
)


def split(data: bytes, size: int) -> list[str]:
    splitter = LineSplitter()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return lines_of("".join(splitter.feed(piece) for piece in pieces) + splitter.close())


def lines_of(text: str) -> list[str]:
    return text.split("\n")[:-1]


def message(frame: bytes | None) -> dict:
    assert frame is not None
    return wire.decode(frame[4:])


def sent(outbox: Outbox) -> list[dict]:
    return [message(frame) for frame in iter(outbox.next, None)]


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))),
    st.integers(1, 9),
)
def test_lines_come_out_whole_however_the_bytes_are_cut(lines, size):
    data = "".join(line + "\n" for line in lines).encode()
    assert split(data, size) == lines


@given(st.binary(), st.integers(1, 9))
def test_any_bytes_give_the_same_text_however_they_are_cut(data, size):
    assert split(data, size) == split(data, len(data) + 1)
    "\n".join(split(data, size)).encode()  # can always be written


def test_a_last_line_without_its_end_is_not_lost():
    assert split(b"a\r\nb", 100) == ["a", "b"]


def test_bytes_that_are_no_text_are_shown():
    assert split(b"caf\xe9\xff\n", 100) == ["caf\\xe9\\xff"]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_very_long_line_comes_in_pieces(end):
    lines = split(b"x" * (2 * MAX_LINE + 5) + end, 50_000)
    assert [len(line) for line in lines] == [MAX_LINE, MAX_LINE, 5]


def test_the_tail_is_the_last_lines_and_not_too_much_of_them():
    tail = Tail()
    tail.add("".join(f"{number}\n" for number in range(100)))
    assert tail.lines() == [str(number) for number in range(100 - TAIL_LINES, 100)]
    tail.add("y" * TAIL_CHARACTERS + "\n")
    assert tail.lines() == ["y" * TAIL_CHARACTERS]
    tail.add("x" * TAIL_CHARACTERS + "end\n")
    assert tail.lines() == ["x" * (TAIL_CHARACTERS - 3) + "end"]


def test_lines_of_one_stream_share_a_frame_and_the_order_stays():
    outbox = Outbox()
    outbox.add_text("stdout", "a\nb\n")
    outbox.add_text("stderr", "c\n")
    outbox.add_text("stdout", "d\n")
    outbox.add({"type": "exit"})
    assert [(each.get("stream"), each.get("text")) for each in sent(outbox)] == [
        ("stdout", "a\nb\n"),
        ("stderr", "c\n"),
        ("stdout", "d\n"),
        (None, None),
    ]


def test_what_does_not_fit_is_dropped_counted_and_told_where_it_was():
    outbox = Outbox(limit=1000)
    for number in range(50):
        outbox.add_text("stdout", f"{number}\n")
    outbox.add({"type": "exit"})
    first, gap, last = sent(outbox)
    kept = len(lines_of(first["text"]))
    assert lines_of(first["text"]) == [str(number) for number in range(kept)]
    assert gap == {"type": "output", "stream": "stdout", "text": "", "dropped": 50 - kept}
    assert last == {"type": "exit"}


def test_dropping_ends_when_half_of_the_room_is_free_again():
    outbox = Outbox(limit=2000)
    for _ in range(50):
        outbox.add_text("stdout", "x" * 100 + "\n")
    (first,) = sent(outbox)  # the gap is not told yet: it may grow
    outbox.add_text("stdout", "y" * 100 + "\n")
    outbox.acknowledge(1)
    outbox.add_text("stdout", "z\n")
    gap, last = sent(outbox)
    assert gap["dropped"] == 51 - len(lines_of(first["text"]))
    assert (last["text"], last["dropped"]) == ("z\n", 0)


def test_short_lines_take_little_room():
    outbox = Outbox()
    for _ in range(80):
        outbox.add_text("stdout", "x\n" * 30_000)
    assert sum(each["text"].count("\n") for each in sent(outbox)) == 2_400_000


@given(
    st.lists(st.sampled_from(["line", "send", "ack", "break"]), max_size=60), st.integers(200, 2000)
)
def test_whatever_breaks_every_line_arrives_once_or_is_counted(steps, limit):
    outbox = Outbox(limit)
    arrived: list[dict] = []  # in the order of their numbers, as the launcher counts them
    made = 0
    for step in [*steps, "break", "send", "ack", "end"]:
        if step == "line":
            made += 1
            outbox.add_text("stdout", f"{made}\n")
        elif step == "end":
            outbox.add({"type": "exit"})
            arrived += sent(outbox)
        elif step == "send" and (frame := outbox.next()) is not None:
            arrived.append(message(frame))
        elif step == "ack":
            outbox.acknowledge(len(arrived))
        elif step == "break":
            outbox.rewind(len(arrived))
    position = 0
    for each in arrived[:-1]:
        seen = lines_of(each["text"])
        assert seen == [str(position + 1 + at) for at in range(len(seen))]
        position += len(seen) + each["dropped"]
    assert position == made


def test_a_launcher_that_has_more_than_was_made_is_not_believed():
    outbox = Outbox()
    outbox.add({"type": "ready"})
    with pytest.raises(FrameError):
        outbox.acknowledge(1)
    with pytest.raises(FrameError):
        outbox.rewind(2)


def test_a_launcher_is_waited_for_as_long_as_it_takes_output_fast():
    pace = Pace()
    taken, answers = 0, []
    for tick in range(100, 140):  # every tenth of a second it takes 100 kB
        taken += 100_000
        answers.append(pace.is_fast(taken, tick / 10))
    assert all(answers)


def test_a_launcher_that_takes_output_slowly_is_waited_for_half_a_second_and_no_longer():
    pace = Pace()
    answers = [pace.is_fast(1_000 * tick, tick / 10) for tick in range(100, 140)]
    assert answers == [True] * 5 + [False] * 35
    assert pace.is_fast(10_000_000, 60.0)  # it has kept up for a while
