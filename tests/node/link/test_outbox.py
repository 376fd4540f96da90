from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.errors import FrameError
from tfmesos.node.link.outbox import Outbox
from tfmesos.shared import wire


def lines_of(text: str) -> list[str]:
    return text.split("\n")[:-1]


def message(frame: bytes | None) -> dict:
    assert frame is not None
    return wire.decode(frame[4:])


def sent(outbox: Outbox) -> list[dict]:
    return [message(frame) for frame in iter(outbox.next, None)]


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
